/* option.h - options of programs: getopt_long() whose complaints say what helps */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_OPTION_H
#define APP_COMMON_OPTION_H

#include <getopt.h>

/*
 * As getopt_long() does; letters begin with a colon. '?': the option is none, or its value is missing or too much, and
 * that has been said in a line.
 */
int app_option_next(int argc, char *const *argv, const char *letters, const struct option *options);

/* Says that of what getopt_long() has just refused with '?' or ':'. Returns APP_EXIT_USAGE. */
int app_option_refuse(char *const *argv, int letter);

#endif
