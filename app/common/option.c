/* option.c - settings of a program: one row each, for the command line, INI files, a prompt and help */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/option.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/types.h>

#include "common/exit.h"
#include "common/option_help.h"

#define TEXT_BYTES 1536u
#define ROW_0 512 /* what getopt_long() returns for the first row */
#define HINT_0 65536

enum { HELP = 256, HELP_TABLE, VERSION };

/* ---- the command line ---- */

void app_option_print_version(const char *program)
{
	printf("%s %d.%d.%d (DPDK %s, libibverbs %s)\n", program, UROCE_VERSION_MAJOR, UROCE_VERSION_MINOR,
	       UROCE_VERSION_PATCH, APP_DPDK_VERSION, APP_IBVERBS_VERSION);
}

size_t app_option_find(const struct option_set *set, const char *name)
{
	size_t i = 0;

	while (set->rows[i].word == NULL || strcmp(set->rows[i].word->name, name) != 0)
		i++;
	return i;
}

bool app_option_is_given(const struct option_set *set, const char *name)
{
	return set->origins[app_option_find(set, name)] == OPTION_FROM_LINE;
}

/* Returns the index of the row with this letter; set->count: no row has it. */
static size_t find_letter(const struct option_set *set, int letter)
{
	size_t i = 0;

	while (i < set->count && (set->rows[i].word == NULL || set->rows[i].word->letter != letter))
		i++;
	return i;
}

/* Returns the index of the row with this word; set->count: no row has it. */
static size_t find_word(const struct option_set *set, const struct option_word *word)
{
	size_t i = 0;

	while (i < set->count && set->rows[i].word != word)
		i++;
	return i;
}

/* Refuses what getopt_long() has answered with '?' or ':'. */
static int refuse(const char *word, int letter)
{
	bool is_long = strncmp(word, "--", 2) == 0;

	if (letter == ':')
		return is_long ? app_complain(APP_EXIT_USAGE, "option '%s' requires an argument", word) :
				 app_complain(APP_EXIT_USAGE, "option requires an argument -- '%c'", optopt);
	if (is_long && optopt)
		return app_complain(APP_EXIT_USAGE, "option '%s' takes no argument", word);
	return optopt ? app_complain(APP_EXIT_USAGE, "invalid option -- '%c'; --help lists the options", optopt) :
			app_complain(APP_EXIT_USAGE, "unrecognized option '%s'; --help lists the options", word);
}

static int refuse_hinted(const struct option_hint *hint, const char *word)
{
	char name[80];

	if (strncmp(word, "--", 2) == 0)
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	else
		snprintf(name, sizeof(name), "-%c", hint->letter);
	if (hint->instead)
		return app_complain(APP_EXIT_USAGE, "%s: %s", name, hint->instead);
	return app_complain(APP_EXIT_USAGE, "%s: use --%s%s%s", name, hint->now->name, hint->now->value ? " " : "",
			    hint->now->value ? hint->now->value : "");
}

/*
 * Is the word that getopt_long() took as a value a long option of the program? Then the value was forgotten. given: the
 * last word that was parsed.
 */
static bool is_option(const struct option_set *set, const char *given)
{
	size_t bytes;

	if (optarg == NULL || optarg != given || strncmp(optarg, "--", 2) != 0)
		return false;
	bytes = strcspn(optarg + 2, "=");
	for (size_t i = 0; i < set->count; i++) {
		const struct option_word *word = set->rows[i].word;

		if (word && bytes == strlen(word->name) && strncmp(word->name, optarg + 2, bytes) == 0)
			return true;
	}
	return false;
}

/* What getopt_long() gets; a hint is an option, so that no longer word is taken for its completion. */
struct getopt_words {
	struct option *options;
	char *letters;
};

static bool is_of(const struct option_set *set, const char *program)
{
	return strcmp(set->program, program) == 0;
}

static void add_hints(const struct option_set *set, struct option *options, char *letters)
{
	for (size_t i = 0; set->hints && set->hints[i].program; i++) {
		const struct option_hint *hint = &set->hints[i];

		if (!is_of(set, hint->program))
			continue;
		if (hint->name)
			*options++ = (struct option){ hint->name, optional_argument, NULL, HINT_0 + (int)i };
		if (hint->letter)
			*letters++ = hint->letter;
	}
}

static bool make_words(const struct option_set *set, struct getopt_words *words)
{
	size_t count = set->count + 4, hints = 0;
	struct option *options;
	char *letters;

	for (const struct option_alias *alias = set->aliases; alias && alias->program; alias++)
		count++;
	while (set->hints && set->hints[hints].program)
		hints++;
	options = words->options = calloc(count + hints, sizeof(*options));
	letters = words->letters = calloc(3 * (count + hints), 1);
	if (options == NULL || letters == NULL)
		return false;
	letters += sprintf(letters, "%s:hV", set->ends_at_word ? "+" : "");
	*options++ = (struct option){ "help", no_argument, NULL, HELP };
	*options++ = (struct option){ "help-table", no_argument, NULL, HELP_TABLE };
	*options++ = (struct option){ "version", no_argument, NULL, VERSION };
	for (size_t i = 0; i < set->count; i++) {
		const struct option_word *word = set->rows[i].word;

		if (word == NULL || set->rows[i].only_in_file)
			continue;
		*options++ = (struct option){ word->name, word->value ? required_argument : no_argument, NULL,
					      ROW_0 + (int)i };
		if (word->letter)
			letters += sprintf(letters, word->value ? "%c:" : "%c", word->letter);
	}
	for (const struct option_alias *alias = set->aliases; alias && alias->program; alias++) {
		if (is_of(set, alias->program))
			*options++ = (struct option){ alias->name, alias->word->value ? required_argument : no_argument,
						      NULL, ROW_0 + (int)find_word(set, alias->word) };
	}
	add_hints(set, options, letters);
	return true;
}

/* last: the last word that was parsed. */
static int parse_option(const struct option_set *set, size_t i, const char *last, void *settings)
{
	const struct option_row *row = &set->rows[i];
	char name[64];

	if (row->word->letter && set->by_letter)
		snprintf(name, sizeof(name), "-%c", row->word->letter);
	else
		snprintf(name, sizeof(name), "--%s", row->word->name);
	if (row->word->value && is_option(set, last))
		return app_complain(APP_EXIT_USAGE, "option '%s' requires an argument, but '%s' is an option", name,
				    optarg);
	if (set->origins)
		set->origins[i] = OPTION_FROM_LINE;
	return app_option_parse_value(row, name, row->word->value ? optarg : "1", settings);
}

/* letter: what getopt_long() returned. last: the last word that was parsed. */
static int parse_letter(const struct option_set *set, int letter, const char *last, void *settings)
{
	size_t i;

	if (letter == '?' || letter == ':')
		return refuse(last, letter);
	if (letter >= HINT_0)
		return refuse_hinted(&set->hints[letter - HINT_0], last);
	if (letter >= ROW_0)
		return parse_option(set, (size_t)(letter - ROW_0), last, settings);
	i = find_letter(set, letter);
	if (i < set->count)
		return parse_option(set, i, last, settings);
	for (i = 0; set->hints[i].letter != letter || !is_of(set, set->hints[i].program); i++)
		;
	return refuse_hinted(&set->hints[i], "-");
}

/* Answers an option that every program has. Returns true if it is one of them. */
static bool answer(const struct option_set *set, int letter)
{
	if (letter == 'h' || letter == HELP)
		app_option_help(set);
	else if (letter == HELP_TABLE)
		app_option_table(set);
	else if (letter == 'V' || letter == VERSION)
		app_option_print_version(set->program);
	else
		return false;
	return true;
}

int app_option_parse(const struct option_set *set, int argc, char **argv, void *settings)
{
	struct getopt_words words;
	int letter, code = make_words(set, &words) ? APP_EXIT_OK : APP_EXIT_INTERNAL;
	bool answered = false;

	opterr = 0; /* getopt's own message names neither the program nor a remedy */
	while (code == APP_EXIT_OK && !answered &&
	       (letter = getopt_long(argc, argv, words.letters, words.options, NULL)) != -1) {
		answered = answer(set, letter);
		if (!answered)
			code = parse_letter(set, letter, argv[optind - 1], settings);
	}
	opterr = 1; /* for EAL, which uses getopt, too */
	free(words.options);
	free(words.letters);
	return answered || code ? 1 + code : 0;
}

/* ---- a file ---- */

static bool is_key_of(const struct option_row *row, const char *section)
{
	return row->word && row->section && (*row->section == '\0' || strcmp(row->section, section) == 0);
}

/* "port, io-queues and pool" */
static void list_keys(const struct option_set *set, const char *section, char *text, size_t room)
{
	size_t bytes = 0, last = set->count;

	for (size_t i = 0; i < set->count; i++)
		last = is_key_of(&set->rows[i], section) ? i : last;
	for (size_t i = 0; i < set->count && bytes < room; i++) {
		if (is_key_of(&set->rows[i], section))
			bytes += (size_t)snprintf(text + bytes, room - bytes, "%s%s",
						  bytes == 0 ? "" :
						  i == last  ? " and " :
							       ", ",
						  set->rows[i].word->name);
	}
}

/* Refuses a key that the section does not have. */
static int refuse_key(const struct option_set *set, const char *section, const char *key, const char *where)
{
	char keys[TEXT_BYTES] = "";

	list_keys(set, section, keys, sizeof(keys));
	for (const struct option_hint *hint = set->hints; *keys && hint && hint->program; hint++) {
		if (is_of(set, hint->program) && hint->name && strcmp(hint->name, key) == 0)
			return hint->instead ? app_complain(APP_EXIT_USAGE, "%s: %s", where, hint->instead) :
					       app_complain(APP_EXIT_USAGE, "%s: use %s=", where, hint->now->name);
	}
	return *keys ? app_complain(APP_EXIT_USAGE, "%s: unknown key; valid keys: %s", where, keys) :
		       app_complain(APP_EXIT_USAGE, "%s: unknown section", where);
}

int app_option_parse_key(const struct option_set *set, const char *section, const char *key, const char *where,
			 const char *text, void *settings)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct option_row *row = &set->rows[i];

		if (!is_key_of(row, section) || strcmp(row->word->name, key) != 0)
			continue;
		if (set->origins && set->origins[i] == OPTION_FROM_LINE)
			return APP_EXIT_OK; /* the command line has precedence */
		if (set->origins)
			set->origins[i] = OPTION_FROM_FILE;
		return app_option_parse_value(row, where, text, settings);
	}
	return refuse_key(set, section, key, where);
}
