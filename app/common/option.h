/* option.h - settings of programs as a table of rows, for command line, file and help */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. write a row for each option: { "size", 's', OPTION_SIZE, AT(size), 1, 1 << 30, "N", "bytes of a message" }
 *      with #define AT(member) OPTION_AT(struct settings, member)
 *   2. set the settings to their defaults; the set names a second copy of the defaults, for --help
 *   3. app_option_parse(): argv into settings; answers --help and --version
 *   4. app_option_parse_key(): a key of a file (ini.h) into the same settings; the command line has precedence
 * A refusal is one line: option, value, range.
 */
#ifndef APP_COMMON_OPTION_H
#define APP_COMMON_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h> /* for optind */

enum option_kind {
	OPTION_FLAG,        /* without a value; sets a bool or an integer to 1; in a file 0 or 1 */
	OPTION_NUMBER,      /* low ... high, into an integer of 32 or 64 bits */
	OPTION_SIZE,        /* the same, in bytes: 64k, 1M */
	OPTION_REAL,        /* least ... most, into a double */
	OPTION_PROBABILITY, /* 0.01 or 1%, into a double */
	OPTION_MTU,         /* a path MTU in bytes, into 32 bits */
	OPTION_NAME,        /* one of names[low] ... names[high]: its index, into 32 bits */
	OPTION_NAMES,       /* names[low] ... names[high], repeatable: each sets its element in an array of bool */
	OPTION_WORD,        /* the word, into a const char *; it stays as long as argv, or as ini.h says */
	OPTION_TEXT,        /* a copy of the word, into an array of characters */
	OPTION_OTHER,       /* read by parse() */
	OPTION_SAME,        /* another name for the row with this letter */
	OPTION_INSTEAD,     /* an option of other programs: refused, with what to use instead */
	OPTION_TITLE        /* a heading for the rows that follow in --help */
};

struct option_row {
	const char *name; /* without its dashes; NULL: a letter alone, or a title */
	char letter;      /* 0: no letter */
	enum option_kind kind;
	size_t offset, bytes; /* OPTION_AT(): the value's place in the settings */
	uint64_t low, high;
	/* value: a word for the value, NULL: the option has none; help: what the option does, NULL: not in --help */
	const char *value, *help;
	double least, most;
	const char *const *names;
	const char *usual; /* what help tells as the default, instead of the value; "": nothing */
	/* place in a file; section NULL: each section read with these rows; key NULL: not in a file */
	const char *section, *key;
	/*
	 * name: "--size" or "FILE: [section] size", for complaints. place: where the row's offset lies in the settings.
	 * Returns APP_EXIT_OK, or the exit code after a complaint.
	 */
	int (*parse)(const char *name, const char *text, void *place);
};

#define OPTION_AT(type, member) offsetof(type, member), sizeof(((type *)0)->member)

enum option_origin { OPTION_DEFAULT, OPTION_FROM_FILE, OPTION_FROM_LINE, OPTION_FROM_PROMPT };

struct option_set {
	const char *program; /* "uroce-perf" */
	const struct option_row *rows;
	size_t count;
	const char *head, *tail;     /* text above and below the rows in --help */
	const void *usual;           /* the settings with their defaults */
	enum option_origin *origins; /* for each row; NULL: not kept */
	/* parsing stops at the first word that is no option; the program reads the words from there on */
	bool ends_at_word;
	bool by_letter; /* complaints name an option by its letter, if it has one */
};

/* Sets the rows of a set, and their number, from an array of rows. */
#define OPTION_ROWS(array) .rows = (array), .count = sizeof(array) / sizeof((array)[0])

#define OPTION_VALUE_BYTES 256

/*
 * Returns 0 to go on, with argv[optind] the first word that is no option; or 1 + the exit code, after help or a
 * complaint.
 */
int app_option_parse(const struct option_set *set, int argc, char **argv, void *settings);

/*
 * Parses a key of a file's section. Returns APP_EXIT_OK, or complains; the complaint begins with where: "FILE:
 * [section] key".
 */
int app_option_parse_key(const struct option_set *set, const char *section, const char *key, const char *where,
			 const char *text, void *settings);

/* Parses one value. name: as for parse() of a row. Returns APP_EXIT_OK, or complains. */
int app_option_parse_value(const struct option_row *row, const char *name, const char *text, void *settings);

/* The index of the row with this name or key, which must exist. */
size_t app_option_find(const struct option_set *set, const char *name);

/* Was this row's option given on the command line? Only for sets with origins. */
bool app_option_is_given(const struct option_set *set, const char *name);

/* Returns the value as a user would type it: in text, which has room for OPTION_VALUE_BYTES, or in the settings. */
const char *app_option_format(const struct option_row *row, const void *settings, char *text);

/* Writes which values are allowed: "1 ... 4096". */
void app_option_format_range(const struct option_row *row, char *text, size_t room);

/*
 * Prints what a row does, its range and its default, in lines from the column on. at: the length of the line that has
 * been begun.
 */
void app_option_print_help(const struct option_set *set, const struct option_row *row, FILE *out, unsigned at,
			   unsigned column, const char *more);

#endif
