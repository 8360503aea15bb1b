/* option.c - what is wrong with an option, in a line that says what helps */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/option.h"

#include <string.h>

#include "common/eal.h"

int app_option_refuse(char *const *argv, int letter)
{
	const char *word = argv[optind - 1];
	bool is_long = strncmp(word, "--", 2) == 0;

	if (letter == ':')
		return is_long ? app_complain(APP_EXIT_USAGE, "option '%s' requires an argument", word) :
				 app_complain(APP_EXIT_USAGE, "option requires an argument -- '%c'", optopt);
	if (is_long && optopt)
		return app_complain(APP_EXIT_USAGE, "option '%s' takes no argument", word);
	return optopt ? app_complain(APP_EXIT_USAGE, "invalid option -- '%c'; --help lists them", optopt) :
			app_complain(APP_EXIT_USAGE, "unrecognized option '%s'; --help lists them", word);
}

int app_option_next(int argc, char *const *argv, const char *letters, const struct option *options)
{
	int letter;

	opterr = 0; /* what it would say names neither the program nor what helps */
	letter = getopt_long(argc, argv, letters, options, NULL);
	opterr = 1; /* EAL asks getopt, too */
	if (letter != '?' && letter != ':')
		return letter;
	app_option_refuse(argv, letter);
	return '?';
}
