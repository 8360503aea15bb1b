/* option_help.c - the text of --help and --help-table, made from the rows of options */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/option_help.h"

#include <string.h>

#define WIDTH 110u
#define COLUMN 29u
#define TEXT_BYTES 1536u

/* A tab stands for a blank at which no line may end. */
static void keep_together(char *text)
{
	for (; *text; text++)
		*text = *text == ' ' ? '\t' : *text;
}

/* Writes the default, or nothing if the row has none. */
static const char *format_usual(const struct option_set *set, const struct option_row *row, char *text)
{
	const char *usual = row->usual ? row->usual : "";

	if (row->usual == NULL && row->word->kind != OPTION_FLAG && row->parse == NULL && set->usual) {
		usual = app_option_format(row, set->usual, text);
		usual = *usual ? usual : "none";
	}
	return usual;
}

/* Writes the range and the default in brackets into text, or leaves text as it is if the row has neither. */
static void format_bounds(const struct option_set *set, const struct option_row *row, char *text, size_t room)
{
	bool ranged = row->word->kind != OPTION_FLAG && row->word->kind != OPTION_TEXT &&
		      (row->parse == NULL || app_option_high(row) > 0);
	char value[OPTION_VALUE_BYTES], range[OPTION_VALUE_BYTES] = "";
	const char *usual = format_usual(set, row, value);

	if (ranged)
		app_option_format_range(row, range, sizeof(range));
	if (row->word->kind != OPTION_NAMES)
		keep_together(range);
	if (ranged || *usual)
		snprintf(text, room, "(%s%s%s%s)", range, ranged && *usual ? "; " : "", *usual ? "default " : "",
			 usual);
	if (row->usual == NULL && row->word->kind != OPTION_NAMES)
		keep_together(text);
}

void app_option_print_wrapped(FILE *out, unsigned at, unsigned column, const char *text)
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
	char help[TEXT_BYTES], text[2 * TEXT_BYTES], bounds[TEXT_BYTES / 2] = "";

	format_bounds(set, row, bounds, sizeof(bounds));
	app_option_format_help(row, help, sizeof(help));
	snprintf(text, sizeof(text), "%s%s%s%s", help, *bounds ? " " : "", bounds, more);
	app_option_print_wrapped(out, at, column, text);
}

void app_option_help(const struct option_set *set)
{
	fputs(set->head, stdout);
	for (size_t i = 0; i < set->count; i++) {
		const struct option_row *row = &set->rows[i];
		const struct option_word *word = row->word;
		char letter[8] = "    ";
		int at;

		if (row->title)
			printf("\n%s\n", row->title);
		if (word == NULL || word->help == NULL || row->only_in_file)
			continue;
		if (word->letter)
			snprintf(letter, sizeof(letter), "-%c, ", word->letter);
		at = printf("  %s--%s%s%s", letter, word->name, word->value ? " " : "", word->value ? word->value : "");
		app_option_print_help(set, row, stdout, (unsigned)at, COLUMN, "");
	}
	printf("  -h, --help                 this text\n  -V, --version              versions of uroce, DPDK and "
	       "libibverbs\n%s",
	       set->tail);
}

static void print_row(const struct option_set *set, const struct option_row *row)
{
	const struct option_word *word = row->word;
	char value[OPTION_VALUE_BYTES], range[OPTION_VALUE_BYTES];

	app_option_format_range(row, range, sizeof(range));
	printf("%s\t%.1s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", word->name, row->only_in_file ? "=" : &word->letter,
	       word->value ? word->value : "", word->unit ? word->unit : "", range, format_usual(set, row, value),
	       row->section ? row->section : "", word->help, row->more ? row->more : "");
}

void app_option_table(const struct option_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		if (set->rows[i].word && set->rows[i].word->help)
			print_row(set, &set->rows[i]);
	}
	for (const struct option_alias *alias = set->aliases; alias && alias->program; alias++) {
		if (strcmp(alias->program, set->program) == 0)
			printf("%s\t\t%s\t\t\t\t\t--%s, as in %s\t\n", alias->name,
			       alias->word->value ? alias->word->value : "", alias->word->name, alias->tool);
	}
}
