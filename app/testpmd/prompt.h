/* prompt.h - the commands of uroce-testpmd, on rte_cmdline */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_PROMPT_H
#define APP_TESTPMD_PROMPT_H

#include "testpmd/traffic.h"

/*
 * Runs the commands of a file, up to the first that is wrong. APP_EXIT_OK, or what to exit with after a complaint that
 * names the line.
 */
int prompt_run_file(struct traffic *traffic, const char *path);

/* Reads commands from the terminal until quit_soon() or the end of input. */
void prompt_interact(struct traffic *traffic);

/*
 * Any thread: prints text, whole lines, to the stream. Where a line is being typed, it stands behind the text
 * afterwards.
 */
void prompt_notice(const char *text, FILE *where);

#endif
