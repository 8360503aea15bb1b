/* option_row.h - an option as a row: its meaning, its place in the settings of a program, its values as text */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_OPTION_ROW_H
#define APP_COMMON_OPTION_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
	OPTION_FLAG,        /* no value; sets a bool or an integer to 1; in a file 0 or 1 */
	OPTION_NUMBER,      /* low ... high, into an integer of 32 or 64 bits */
	OPTION_SIZE,        /* the same, in bytes: 64k, 1M */
	OPTION_DURATION,    /* low ... high, in units of the word: 5s, 200ms; into a double, in seconds */
	OPTION_REAL,        /* low ... high, into a double */
	OPTION_PROBABILITY, /* 0.01 or 1%, into a double */
	OPTION_MTU,         /* a path MTU in bytes, into 32 bits */
	OPTION_NAME,        /* one of names[low] ... names[high]: its index, into 32 bits */
	OPTION_NAMES,       /* names[low] ... names[high], repeatable: each sets its element in an array of bool */
	OPTION_TEXT /* into a const char *, which stays as long as argv or as ini.h says; or a copy into char[] */
};

/* What an option means, in every program that has it. */
struct option_word {
	const char *name; /* without its dashes */
	char letter;      /* 0: no letter */
	enum option_kind kind;
	const char *value; /* what help calls the value; NULL: the option has none */
	const char *unit;  /* "bytes", "s"; NULL: a pure number, or no number */
	long double low, high;
	const char *const *names;
	const char *help; /* a noun phrase; NULL: not in --help */
};

/* How one program stores it. */
struct option_row {
	const struct option_word *word; /* NULL: a title */
	/* OPTION_AT(): the value's place in the settings; points: the place is a const char * */
	size_t offset, bytes;
	bool points;
	const char *more;         /* help of this program, after the word's */
	long double low, high;    /* this program's range; 0, 0: the word's */
	const char *const *names; /* NULL: the word's */
	const char *usual;        /* what help calls the default, instead of the value; "": nothing */
	const char *section;      /* of an INI file; "": each section read with these rows; NULL: not in a file */
	bool only_in_file;
	const char *title; /* a heading for the rows that follow */
	/*
	 * Reads a value that is not stored as its kind says. name: "--size" or "FILE: [section] size", for complaints.
	 * place: where the row's offset lies in the settings. Returns APP_EXIT_OK, or the exit code after a complaint.
	 */
	int (*parse)(const char *name, const char *text, void *place);
};

#define OPTION_AT(type, member) \
	offsetof(type, member), sizeof(((type *)0)->member), _Generic( \
		((type *)0)->member, const char *: true, default: false)

/* Another spelling of a word, as the tool has it that the program imitates. */
struct option_alias {
	const char *program, *name;
	const struct option_word *word;
	const char *tool;
};

/* An option of the imitated tool, or an earlier spelling, that is refused with what to use instead. */
struct option_hint {
	const char *program;
	char letter;         /* 0: no letter */
	const char *name;    /* NULL: a letter alone */
	const char *instead; /* NULL: the option is another spelling of `now` */
	const struct option_word *now;
};

enum option_origin { OPTION_DEFAULT, OPTION_FROM_FILE, OPTION_FROM_LINE, OPTION_FROM_PROMPT };

struct option_set {
	const char *program; /* "uroce-perf" */
	const struct option_row *rows;
	size_t count;
	const struct option_alias *aliases; /* those of all programs, ended by a row of zeros; NULL: none */
	const struct option_hint *hints;    /* likewise */
	const char *head, *tail;            /* text above and below the rows in --help */
	const void *usual;                  /* the settings with their defaults */
	enum option_origin *origins;        /* for each row; NULL: not kept */
	/* parsing stops at the first word that is no option; the program reads the words from there on */
	bool ends_at_word;
	bool by_letter; /* complaints name an option by its letter, if it has one */
};

/* Sets the rows of a set, and their number, from an array of rows. */
#define OPTION_ROWS(array) .rows = (array), .count = sizeof(array) / sizeof((array)[0])

#define OPTION_VALUE_BYTES 256

/* Parses one value. name: as for parse() of a row. Returns APP_EXIT_OK, or complains. */
int app_option_parse_value(const struct option_row *row, const char *name, const char *text, void *settings);

/*
 * Returns the value as a user would type it: in text, which has room for OPTION_VALUE_BYTES, or in the settings. "" for
 * rows that parse() reads.
 */
const char *app_option_format(const struct option_row *row, const void *settings, char *text);

/* Writes which values are allowed: "1 ... 4096". */
void app_option_format_range(const struct option_row *row, char *text, size_t room);

/* Writes the meaning of the row: the word's help, its unit, and the program's `more`. */
void app_option_format_help(const struct option_row *row, char *text, size_t room);

/* The range of a row, and its names: its own, or the word's. */
long double app_option_low(const struct option_row *row);
long double app_option_high(const struct option_row *row);
const char *const *app_option_names(const struct option_row *row);

/* Writes "poll, yield or sleep". */
void app_option_list_names(const struct option_row *row, char *text, size_t room);

#endif
