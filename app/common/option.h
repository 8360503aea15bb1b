/* option.h - settings of programs as rows: command line, file and help are read from the same table */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. A row for each option: { "size", 's', OPTION_SIZE, AT(size), 1, 1 << 30, "N", "bytes of a message" }
 *      with #define AT(member) OPTION_AT(struct settings, member)
 *   2. settings are set to what they are when nothing is said, a second copy of which the set names for --help
 *   3. app_option_parse(): argv into settings; --help and --version are answered
 *   4. app_option_take_key(): a key of a file (ini.h) into the same settings; the command line wins
 * What is refused is told in one line: option, value, range.
 */
#ifndef APP_COMMON_OPTION_H
#define APP_COMMON_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h> /* optind */

enum option_kind {
	OPTION_FLAG,        /* 1 in a bool or an integer, without a value; 0 or 1 in a file */
	OPTION_NUMBER,      /* of low ... high, in an integer of 32 or 64 bits */
	OPTION_SIZE,        /* the same in bytes: 64k, 1M */
	OPTION_REAL,        /* of least ... most, in a double */
	OPTION_PROBABILITY, /* 0.01 or 1%, in a double */
	OPTION_MTU,         /* a path MTU in bytes, in 32 bits */
	OPTION_NAME,        /* names[low] ... names[high]: the index, in 32 bits */
	OPTION_WORD,        /* the word itself, in a const char * */
	OPTION_TEXT,        /* a copy, in an array of characters */
	OPTION_OTHER,       /* take() reads it */
	OPTION_SAME,        /* another name of the row with this letter */
	OPTION_INSTEAD,     /* what users of other programs try: help says what there is instead, and it is refused */
	OPTION_TITLE        /* help is a line above the rows that follow, in --help */
};

struct option_row {
	const char *name; /* without its dashes; NULL: a letter alone, or a title */
	char letter;      /* 0: there is none */
	enum option_kind kind;
	size_t offset, bytes; /* OPTION_AT(): the value's place in the settings */
	uint64_t low, high;
	const char *value, *help; /* what the value is called, NULL: there is none; what it does, NULL: not in --help */
	double least, most;
	const char *const *names;
	const char *usual;         /* told as its default, in the place of the value itself; "": nothing is told */
	const char *section, *key; /* in a file; NULL: not there, or in each section that is read with these rows */
	/* name: "--size" or "FILE: [section] size", for complaints. place: offset of the settings. An exit code. */
	int (*take)(const char *name, const char *text, void *place);
};

#define OPTION_AT(type, member) offsetof(type, member), sizeof(((type *)0)->member)

enum option_origin { OPTION_DEFAULT, OPTION_FROM_FILE, OPTION_FROM_LINE, OPTION_FROM_PROMPT };

struct option_set {
	const char *program; /* "uroce-perf" */
	const struct option_row *rows;
	size_t count;
	const char *head, *tail;     /* of --help, above and below the rows */
	const void *usual;           /* settings as they are when nothing is said */
	enum option_origin *origins; /* of each row; NULL: nobody asks */
	bool ends_at_word;           /* the first word that is no option, and all behind it, are not ours */
	bool by_letter;              /* complaints call an option -s, not --size, where it has a letter */
};

#define OPTION_VALUE_BYTES 256

/* 0 to go on at argv[optind], the first word that is no option; or 1 + what to exit with: help, or a complaint. */
int app_option_parse(const struct option_set *set, int argc, char **argv, void *settings);

/* A key of a section of a file: APP_EXIT_OK, or a complaint that begins with where: "FILE: [section] key". */
int app_option_take_key(const struct option_set *set, const char *section, const char *key, const char *where,
			const char *text, void *settings);

/* One value. name: as for take() of a row. APP_EXIT_OK, or a complaint. */
int app_option_take(const struct option_row *row, const char *name, const char *text, void *settings);

/* The row with this name or key, which there has to be: an index. */
size_t app_option_find(const struct option_set *set, const char *name);

/* Has the command line said it? For sets with origins. */
bool app_option_is_given(const struct option_set *set, const char *name);

/* The value as one would type it, in text of OPTION_VALUE_BYTES or where it stands. */
const char *app_option_format(const struct option_row *row, const void *settings, char *text);

/* "1 ... 4096", or what else a value may be. */
void app_option_format_range(const struct option_row *row, char *text, size_t room);

/* What a row does, its range and its default, in lines from the column on; at: how long the line is that has begun. */
void app_option_print_help(const struct option_set *set, const struct option_row *row, FILE *out, unsigned at,
			   unsigned column, const char *more);

#endif
