/* option.h - settings of a program: one row each, for the command line, INI files, a prompt and help */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. a word (words.def) gives an option its name, letter, kind, unit, range and meaning: once for all programs
 *   2. a program lists the words that it has, with a place in its settings: { WORD_OF(SIZE), AT(size) }, after
 *      #define AT(member) OPTION_AT(struct settings, member)
 *   3. it sets the settings to their defaults; the set names a second copy of the defaults, for --help
 *   4. app_option_parse(): argv into settings; answers --help and --version
 *   5. app_option_parse_key(): a key of an INI file (ini.h) into the same settings; the key is the option's word, and
 *      the command line has precedence
 * A refusal is one line: option, value, range.
 */
#ifndef APP_COMMON_OPTION_H
#define APP_COMMON_OPTION_H

#include <unistd.h> /* for optind */

#include "common/option_row.h"

/*
 * Returns 0 to go on, with argv[optind] the first word that is no option; or 1 + the exit code, after help or a
 * complaint. --help-table prints a line for each option, for generated pages and shell completion, with tabs between
 * the columns: word, letter (=: only a key of an INI file), value, unit, range, default, section of an INI file,
 * meaning, and the program's addition to it.
 */
int app_option_parse(const struct option_set *set, int argc, char **argv, void *settings);

/*
 * Parses a key of a file's section. Returns APP_EXIT_OK, or complains; the complaint begins with where: "FILE:
 * [section] key".
 */
int app_option_parse_key(const struct option_set *set, const char *section, const char *key, const char *where,
			 const char *text, void *settings);

/* Prints the line of --version. */
void app_option_print_version(const char *program);

/* The index of the row with this word, which must exist. */
size_t app_option_find(const struct option_set *set, const char *name);

/* Was this row's option given on the command line? Only for sets with origins. */
bool app_option_is_given(const struct option_set *set, const char *name);

#endif
