/* help.h - the text of "help" at the prompt of uroce-testpmd, and of the answer to a wrong line */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_HELP_H
#define APP_TESTPMD_HELP_H

#include <stdio.h>

/* The sections' names, as a token of rte_cmdline. */
#define HELP_SECTIONS "traffic#show#faults#capture#peers#prompt"

/* Prints all sections, or the section with this name. */
void help_print(const char *name, FILE *out);

/*
 * Prints how the commands are written that begin with the same two words as the line or, if there are none, with the
 * same first word.
 */
void help_print_usage(const char *line, FILE *out);

#endif
