/* option_help.h - ranges and help of options: what option.c refuses by, and prints */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_OPTION_HELP_H
#define APP_COMMON_OPTION_HELP_H

#include "common/option.h"

/* The range of a row, and its names: its own, or the word's. */
long double app_option_low(const struct option_row *row);
long double app_option_high(const struct option_row *row);
const char *const *app_option_names(const struct option_row *row);

/* Writes "poll, yield or sleep". */
void app_option_list_names(const struct option_row *row, char *text, size_t room);

/* Print --help and --help-table. */
void app_option_help(const struct option_set *set);
void app_option_table(const struct option_set *set);

#endif
