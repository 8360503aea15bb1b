/* option_help.h - the text of --help and --help-table, made from the rows of options */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_OPTION_HELP_H
#define APP_COMMON_OPTION_HELP_H

#include "common/option_row.h"

/*
 * Prints the meaning of a row, its range and its default, in lines from the column on. at: the length of the line
 * that has been begun.
 */
void app_option_print_help(const struct option_set *set, const struct option_row *row, FILE *out, unsigned at,
			   unsigned column, const char *more);

/* Prints text after the `at` characters that the line has already, in lines from the column on. */
void app_option_print_wrapped(FILE *out, unsigned at, unsigned column, const char *text);

/* Print --help and --help-table. */
void app_option_help(const struct option_set *set);
void app_option_table(const struct option_set *set);

#endif
