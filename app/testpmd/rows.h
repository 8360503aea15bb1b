/* rows.h - the settings of uroce-testpmd, a row each, and what is printed of them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_TESTPMD_ROWS_H
#define APP_TESTPMD_ROWS_H

#include <stddef.h>
#include <stdio.h>

#include "testpmd/settings.h"

enum kind { NUMBER, SIZE, FLAG, TEXT, IDLE, PROBABILITY };

struct row {
	const char *option;        /* "--size" without the dashes */
	int letter;                /* short option, or a number of its own */
	const char *section, *key; /* in the file; NULL: not there */
	enum kind kind;
	uint64_t low, high;
	size_t offset;
	const char *value, *help; /* what the value is called; NULL: there is none */
};

#define AT(member) offsetof(struct settings, member)
#define ROWS 39

extern const struct row *const rows; /* ROWS of them */
extern const struct settings rows_defaults;
extern const char *const rows_idle_names[3]; /* of enum uroce_idle */

#define ROWS_VALUE_BYTES SETTINGS_TEXT_BYTES

/* The setting's value as one would type it, into text of ROWS_VALUE_BYTES; returns text. */
const char *rows_format(const struct row *row, const struct settings *settings, char *text);

void rows_print_help(void);
/* A line for each key that a file may have: "[traffic] size: 1 ... 1048576: 4096: bytes of a message". */
void rows_print_keys(void);
/* The lines of "help" about what "set" changes. */
void rows_print_changes(FILE *out);

/* May "set" change it? */
bool rows_can_change(const struct row *row);

#endif
