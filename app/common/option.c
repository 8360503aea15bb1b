/* option.c - settings of programs as a table of rows, for command line, file and help */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/option.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/types.h>

#include "common/exit.h"
#include "common/number.h"

#define WIDTH 110u
#define COLUMN 29u
#define TEXT_BYTES 1536u
#define ROW_0 256 /* what getopt_long() returns for the first row */

enum { HELP = ROW_0 - 2, VERSION };

/* ---- values ---- */

static void store(const struct option_row *row, void *place, uint64_t value)
{
	if (row->bytes == sizeof(bool))
		*(bool *)place = value;
	else if (row->bytes == sizeof(uint32_t))
		*(uint32_t *)place = (uint32_t)value;
	else
		*(uint64_t *)place = value;
}

static uint64_t load(const struct option_row *row, const void *place)
{
	return row->bytes == sizeof(bool)     ? *(const bool *)place :
	       row->bytes == sizeof(uint32_t) ? *(const uint32_t *)place :
						*(const uint64_t *)place;
}

/* "poll, yield or sleep" */
static void list_names(const struct option_row *row, char *text, size_t room)
{
	size_t bytes = 0;

	for (uint64_t i = row->low; i <= row->high && bytes < room; i++)
		bytes += (size_t)snprintf(text + bytes, room - bytes, "%s%s",
					  i == row->low  ? "" :
					  i == row->high ? " or " :
							   ", ",
					  row->names[i]);
}

static int parse_name(const struct option_row *row, const char *name, const char *text, void *place)
{
	char names[OPTION_VALUE_BYTES];

	for (uint64_t i = row->low; i <= row->high; i++) {
		if (strcmp(text, row->names[i]) != 0)
			continue;
		if (row->kind == OPTION_NAMES)
			((bool *)place)[i] = true;
		else
			*(uint32_t *)place = (uint32_t)i;
		return APP_EXIT_OK;
	}
	list_names(row, names, sizeof(names));
	return app_complain(APP_EXIT_USAGE, "%s %s: use %s", name, text, names);
}

static int parse_mtu(const char *name, const char *text, uint32_t *bytes)
{
	uint64_t value;

	if (!app_number_parse(text, 256, 4096, &value) || (value & (value - 1)) != 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: use 256, 512, 1024, 2048 or 4096", name, text);
	*bytes = (uint32_t)value;
	return APP_EXIT_OK;
}

static int parse_number(const struct option_row *row, const char *name, const char *text, void *place)
{
	uint64_t value = 0;
	int code = row->kind == OPTION_SIZE ? app_size_expect(name, text, row->low, row->high, &value) :
		   row->kind == OPTION_FLAG ? app_number_expect(name, text, 0, 1, &value) :
					      app_number_expect(name, text, row->low, row->high, &value);

	if (code == APP_EXIT_OK)
		store(row, place, value);
	return code;
}

int app_option_parse_value(const struct option_row *row, const char *name, const char *text, void *settings)
{
	void *place = (char *)settings + row->offset;

	switch (row->kind) {
	case OPTION_FLAG:
	case OPTION_NUMBER:
	case OPTION_SIZE:
		return parse_number(row, name, text, place);
	case OPTION_REAL:
		return app_number_expect_real(name, text, row->least, row->most, place);
	case OPTION_PROBABILITY:
		return app_probability_parse(text, place) ?
			       APP_EXIT_OK :
			       app_complain(APP_EXIT_USAGE, "%s %s: use 0 ... 1, or 0%% ... 100%%", name, text);
	case OPTION_MTU:
		return parse_mtu(name, text, place);
	case OPTION_NAME:
	case OPTION_NAMES:
		return parse_name(row, name, text, place);
	case OPTION_WORD:
		*(const char **)place = text;
		return APP_EXIT_OK;
	case OPTION_TEXT:
		if (strlen(text) >= row->bytes)
			return app_complain(APP_EXIT_USAGE, "%s %s: at most %zu characters", name, text,
					    row->bytes - 1);
		strcpy(place, text);
		return APP_EXIT_OK;
	case OPTION_OTHER:
		return row->parse(name, text, place);
	case OPTION_SAME:
	case OPTION_INSTEAD:
	case OPTION_TITLE:
		break;
	}
	return APP_EXIT_INTERNAL;
}

const char *app_option_format(const struct option_row *row, const void *settings, char *text)
{
	const void *place = (const char *)settings + row->offset;
	const char *word;

	switch (row->kind) {
	case OPTION_FLAG:
	case OPTION_NUMBER:
	case OPTION_SIZE:
	case OPTION_MTU:
		snprintf(text, OPTION_VALUE_BYTES, "%" PRIu64, load(row, place));
		return text;
	case OPTION_REAL:
	case OPTION_PROBABILITY:
		snprintf(text, OPTION_VALUE_BYTES, "%g", *(const double *)place);
		return text;
	case OPTION_NAME:
		return row->names[*(const uint32_t *)place];
	case OPTION_WORD:
		word = *(const char *const *)place;
		return word ? word : "";
	case OPTION_TEXT:
		return place;
	case OPTION_NAMES:
	case OPTION_OTHER:
	case OPTION_SAME:
	case OPTION_INSTEAD:
	case OPTION_TITLE:
		break;
	}
	return "";
}

/* ---- help ---- */

void app_option_format_range(const struct option_row *row, char *text, size_t room)
{
	if (row->kind == OPTION_NUMBER || row->kind == OPTION_SIZE) {
		snprintf(text, room, "%" PRIu64 " ... %" PRIu64, row->low, row->high);
	} else if (row->kind == OPTION_REAL) {
		snprintf(text, room, "%g ... %g", row->least, row->most);
	} else {
		snprintf(text, room, "%s",
			 row->kind == OPTION_PROBABILITY ? "0 ... 1, or 0% ... 100%" :
			 row->kind == OPTION_FLAG        ? "0 ... 1" :
			 row->kind == OPTION_MTU         ? "256, 512, 1024, 2048 or 4096" :
							   "text");
	}
}

/* A tab stands for a blank at which no line may end. */
static void keep_together(char *text)
{
	for (; *text; text++)
		*text = *text == ' ' ? '\t' : *text;
}

/* Writes the range and the default in brackets into text, or leaves text as it is if the row has neither. */
static void format_bounds(const struct option_set *set, const struct option_row *row, char *text, size_t room)
{
	bool ranged = row->kind == OPTION_NUMBER || row->kind == OPTION_SIZE || row->kind == OPTION_REAL ||
		      row->kind == OPTION_PROBABILITY || row->kind == OPTION_MTU;
	char value[OPTION_VALUE_BYTES], range[64] = "";
	const char *usual = row->usual ? row->usual : "";

	if (row->usual == NULL && row->kind != OPTION_FLAG && row->kind != OPTION_OTHER) {
		usual = app_option_format(row, set->usual, value);
		usual = *usual ? usual : "none";
	}
	if (ranged)
		app_option_format_range(row, range, sizeof(range));
	keep_together(range);
	if (ranged || *usual)
		snprintf(text, room, "(%s%s%s%s)", range, ranged && *usual ? "; " : "", *usual ? "default " : "",
			 usual);
	if (row->usual == NULL)
		keep_together(text);
}

/* Prints words after the `at` characters that the line has already; further lines begin at the column. */
static void print_wrapped(FILE *out, unsigned at, unsigned column, const char *text)
{
	if (at + 2 > column + 1)
		at = (unsigned)fprintf(out, "\n") - 1;
	for (; at < column; at++)
		fputc(' ', out);
	while (*text) {
		unsigned bytes = (unsigned)strcspn(text, " ");
		bool first = at == column;

		if (!first && at + 1 + bytes > WIDTH) {
			fprintf(out, "\n%*s", (int)column, "");
			at = column;
			first = true;
		}
		at += (unsigned)fprintf(out, "%s", first ? "" : " ");
		for (unsigned i = 0; i < bytes; i++, at++)
			fputc(text[i] == '\t' ? ' ' : text[i], out);
		text += bytes + (text[bytes] == ' ');
	}
	fputc('\n', out);
}

void app_option_print_help(const struct option_set *set, const struct option_row *row, FILE *out, unsigned at,
			   unsigned column, const char *more)
{
	char text[TEXT_BYTES], bounds[TEXT_BYTES / 2] = "";

	format_bounds(set, row, bounds, sizeof(bounds));
	snprintf(text, sizeof(text), "%s%s%s%s", row->help, *bounds ? " " : "", bounds, more);
	print_wrapped(out, at, column, text);
}

static void print_help(const struct option_set *set)
{
	bool has_version_letter = true;

	fputs(set->head, stdout);
	for (size_t i = 0; i < set->count; i++) {
		const struct option_row *row = &set->rows[i];
		char letter[8] = "    ";
		int at;

		has_version_letter &= row->letter != 'V';
		if (row->kind == OPTION_TITLE)
			printf("\n%s\n", row->help);
		if (row->kind == OPTION_TITLE || row->kind == OPTION_INSTEAD || row->help == NULL)
			continue;
		if (row->letter)
			snprintf(letter, sizeof(letter), row->name ? "-%c, " : "-%c  ", row->letter);
		at = printf("  %s%s%s%s%s", letter, row->name ? "--" : "", row->name ? row->name : "",
			    row->value ? " " : "", row->value ? row->value : "");
		app_option_print_help(set, row, stdout, (unsigned)at, COLUMN, "");
	}
	printf("  -h, --help                 this text\n  %s--version\n%s", has_version_letter ? "-V, " : "    ",
	       set->tail);
}

/* ---- the command line ---- */

size_t app_option_find(const struct option_set *set, const char *name)
{
	size_t i = 0;

	while (!(set->rows[i].name && strcmp(set->rows[i].name, name) == 0) &&
	       !(set->rows[i].key && strcmp(set->rows[i].key, name) == 0))
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

	while (i < set->count && (set->rows[i].letter != letter || set->rows[i].kind == OPTION_SAME ||
				  set->rows[i].kind == OPTION_INSTEAD))
		i++;
	return i;
}

/* What to use instead of this option; NULL: nothing is known. word: without dashes, perhaps with "=value". */
static const char *find_instead(const struct option_set *set, int letter, const char *word)
{
	size_t bytes = strcspn(word, "=");

	for (size_t i = 0; i < set->count; i++) {
		const struct option_row *row = &set->rows[i];

		if (row->kind != OPTION_INSTEAD)
			continue;
		if (letter ? row->letter == letter :
			     row->name && strncmp(row->name, word, bytes) == 0 && row->name[bytes] == '\0')
			return row->help;
	}
	return NULL;
}

/* Refuses what getopt_long() has answered with '?' or ':'. */
static int refuse(const struct option_set *set, const char *word, int letter)
{
	bool is_long = strncmp(word, "--", 2) == 0;
	const char *instead = letter == ':' || (is_long && optopt) ? NULL : find_instead(set, optopt, word + 2);

	if (letter == ':')
		return is_long ? app_complain(APP_EXIT_USAGE, "option '%s' requires an argument", word) :
				 app_complain(APP_EXIT_USAGE, "option requires an argument -- '%c'", optopt);
	if (is_long && optopt)
		return app_complain(APP_EXIT_USAGE, "option '%s' takes no argument", word);
	if (instead)
		return optopt ? app_complain(APP_EXIT_USAGE, "-%c: %s", optopt, instead) :
				app_complain(APP_EXIT_USAGE, "%s: %s", word, instead);
	return optopt ? app_complain(APP_EXIT_USAGE, "invalid option -- '%c'; --help lists them", optopt) :
			app_complain(APP_EXIT_USAGE, "unrecognized option '%s'; --help lists them", word);
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
		const char *name = set->rows[i].name;

		if (name && bytes == strlen(name) && strncmp(name, optarg + 2, bytes) == 0)
			return true;
	}
	return false;
}

/* Converts the rows for getopt_long(): count + 3 options, 3 * count + 6 letters. */
static void make_options(const struct option_set *set, struct option *options, char *letters)
{
	bool has_version_letter = find_letter(set, 'V') == set->count;

	letters += sprintf(letters, "%s:h%s", set->ends_at_word ? "+" : "", has_version_letter ? "V" : "");
	*options++ = (struct option){ "help", no_argument, NULL, HELP };
	*options++ = (struct option){ "version", no_argument, NULL, VERSION };
	for (size_t i = 0; i < set->count; i++) {
		const struct option_row *row = &set->rows[i];
		size_t same = row->kind == OPTION_SAME ? find_letter(set, row->letter) : i;
		bool valued = set->rows[same].value != NULL;

		if (row->kind == OPTION_TITLE || row->kind == OPTION_INSTEAD)
			continue;
		if (row->name)
			*options++ = (struct option){ row->name, valued ? required_argument : no_argument, NULL,
						      ROW_0 + (int)same };
		if (row->letter && row->kind != OPTION_SAME)
			letters += sprintf(letters, valued ? "%c:" : "%c", row->letter);
	}
	*options = (struct option){ NULL, 0, NULL, 0 };
}

/* last: the last word that was parsed. */
static int parse_option(const struct option_set *set, size_t i, const char *last, void *settings)
{
	const struct option_row *row = &set->rows[i];
	char name[64];

	if (row->letter && (set->by_letter || row->name == NULL))
		snprintf(name, sizeof(name), "-%c", row->letter);
	else
		snprintf(name, sizeof(name), "--%s", row->name);
	if (row->value && is_option(set, last))
		return app_complain(APP_EXIT_USAGE, "option '%s' requires an argument, and '%s' is an option", name,
				    optarg);
	if (set->origins)
		set->origins[i] = OPTION_FROM_LINE;
	return app_option_parse_value(row, name, row->kind == OPTION_FLAG ? "1" : optarg, settings);
}

int app_option_parse(const struct option_set *set, int argc, char **argv, void *settings)
{
	struct option *options = calloc(set->count + 3, sizeof(*options));
	char *letters = calloc(3 * set->count + 6, 1);
	int letter, code = options && letters ? APP_EXIT_OK : APP_EXIT_INTERNAL;
	bool told = false;

	opterr = 0; /* getopt's own message names neither the program nor a remedy */
	if (code == APP_EXIT_OK)
		make_options(set, options, letters);
	while (code == APP_EXIT_OK && !told && (letter = getopt_long(argc, argv, letters, options, NULL)) != -1) {
		told = letter == 'h' || letter == HELP || letter == VERSION ||
		       (letter == 'V' && find_letter(set, 'V') == set->count);
		if (letter == '?' || letter == ':')
			code = refuse(set, argv[optind - 1], letter);
		else if (letter == 'h' || letter == HELP)
			print_help(set);
		else if (told)
			printf("%s %d.%d.%d\n", set->program, UROCE_VERSION_MAJOR, UROCE_VERSION_MINOR,
			       UROCE_VERSION_PATCH);
		else
			code = parse_option(set, letter < ROW_0 ? find_letter(set, letter) : (size_t)(letter - ROW_0),
					    argv[optind - 1], settings);
	}
	opterr = 1; /* for EAL, which uses getopt, too */
	free(options);
	free(letters);
	return told || code ? 1 + code : 0;
}

/* ---- a file ---- */

/* "service, io-queues and pool" */
static void list_keys(const struct option_set *set, const char *section, char *text, size_t room)
{
	size_t bytes = 0, last = set->count;

	for (size_t i = 0; i < set->count; i++) {
		if (set->rows[i].key && (set->rows[i].section == NULL || strcmp(set->rows[i].section, section) == 0))
			last = i;
	}
	for (size_t i = 0; i < set->count && bytes < room; i++) {
		if (set->rows[i].key && (set->rows[i].section == NULL || strcmp(set->rows[i].section, section) == 0))
			bytes += (size_t)snprintf(text + bytes, room - bytes, "%s%s",
						  bytes == 0 ? "" :
						  i == last  ? " and " :
							       ", ",
						  set->rows[i].key);
	}
}

int app_option_parse_key(const struct option_set *set, const char *section, const char *key, const char *where,
			 const char *text, void *settings)
{
	char keys[TEXT_BYTES] = "";

	for (size_t i = 0; i < set->count; i++) {
		const struct option_row *row = &set->rows[i];

		if (row->key == NULL || strcmp(row->key, key) != 0 ||
		    (row->section && strcmp(row->section, section) != 0))
			continue;
		if (set->origins && set->origins[i] == OPTION_FROM_LINE)
			return APP_EXIT_OK; /* the command line has precedence */
		if (set->origins)
			set->origins[i] = OPTION_FROM_FILE;
		return app_option_parse_value(row, where, text, settings);
	}
	list_keys(set, section, keys, sizeof(keys));
	return *keys ? app_complain(APP_EXIT_USAGE, "%s: no such key; %s are", where, keys) :
		       app_complain(APP_EXIT_USAGE, "%s: no such section", where);
}
