/* help.h - what "help" says at the prompt of uroce-testpmd, and what answers a wrong line */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_HELP_H
#define APP_TESTPMD_HELP_H

#include <stdio.h>

/* The sections' names, as a token of rte_cmdline. */
#define HELP_SECTIONS "traffic#show#faults#capture#peers#prompt"

/* All sections, or the one of that name. */
void help_print(const char *name, FILE *out);

/*
 * The ways to write a command that begins as this line does: those with the same first two words, or the same first
 * word when there are none.
 */
void help_print_usage(const char *line, FILE *out);

#endif
