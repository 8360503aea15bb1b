/* prompt.h - the prompt of uroce-testpmd, with rte_cmdline */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_PROMPT_H
#define APP_TESTPMD_PROMPT_H

#include "testpmd/traffic.h"

/*
 * Runs the commands of a file, up to the first wrong one. Returns APP_EXIT_OK, or the exit code after a complaint that
 * names the line.
 */
int prompt_run_file(struct traffic *traffic, const char *path);

/* Reads commands from the terminal until app_stop() or the end of input. */
void prompt_interact(struct traffic *traffic);

/*
 * For any thread: prints text, in whole lines, to the stream. If a line is being typed, it is shown again behind the
 * text.
 */
void prompt_notice(const char *text, FILE *where);

#endif
