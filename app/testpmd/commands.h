/* commands.h - what can be typed at the prompt of uroce-testpmd */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_COMMANDS_H
#define APP_TESTPMD_COMMANDS_H

#include <stdio.h>

#include <cmdline_parse.h>
#include <cmdline_parse_string.h>

#include "testpmd/traffic.h"

/* All commands, for cmdline_new(); NULL is behind the last one. */
cmdline_parse_ctx_t *commands_all(void);

/*
 * Prints how the commands are written that begin with the same two words as the line or, if there are none, with the
 * same first word.
 */
void commands_print_usage(const char *line, FILE *out);

/* From now on the commands act on this traffic. */
void commands_use(struct traffic *traffic);

/* Copies the path of the file that a "load" has asked for since the last call. Returns false if there is none. */
bool commands_file_to_load(cmdline_fixed_string_t path);

#endif
