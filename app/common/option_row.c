/* option_row.c - an option as a row: its values, parsed and as text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/option_row.h"

#include <inttypes.h>
#include <string.h>

#include "common/exit.h"
#include "common/number.h"

long double app_option_low(const struct option_row *row)
{
	return row->high > 0 ? row->low : row->word->low;
}

long double app_option_high(const struct option_row *row)
{
	return row->high > 0 ? row->high : row->word->high;
}

const char *const *app_option_names(const struct option_row *row)
{
	return row->names ? row->names : row->word->names;
}

void app_option_list_names(const struct option_row *row, char *text, size_t room)
{
	size_t bytes = 0, low = (size_t)app_option_low(row), high = (size_t)app_option_high(row);

	for (size_t i = low; i <= high && bytes < room; i++)
		bytes += (size_t)snprintf(text + bytes, room - bytes, "%s%s",
					  i == low  ? "" :
					  i == high ? " or " :
						      ", ",
					  app_option_names(row)[i]);
}

void app_option_format_range(const struct option_row *row, char *text, size_t room)
{
	const char *unit = row->word->kind == OPTION_DURATION ? row->word->unit : "";

	switch (row->word->kind) {
	case OPTION_NUMBER:
	case OPTION_SIZE:
		snprintf(text, room, "%.0Lf ... %.0Lf", app_option_low(row), app_option_high(row));
		break;
	case OPTION_DURATION:
	case OPTION_REAL:
		snprintf(text, room, "%.10Lg%s ... %.10Lg%s", app_option_low(row), unit, app_option_high(row), unit);
		break;
	case OPTION_PROBABILITY:
		snprintf(text, room, "0 ... 1, or 0%% ... 100%%");
		break;
	case OPTION_FLAG:
		snprintf(text, room, "0 ... 1");
		break;
	case OPTION_MTU:
		snprintf(text, room, "256, 512, 1024, 2048 or 4096");
		break;
	case OPTION_NAME:
	case OPTION_NAMES:
		app_option_list_names(row, text, room);
		break;
	case OPTION_TEXT:
		snprintf(text, room, "text");
		break;
	}
}

void app_option_format_help(const struct option_row *row, char *text, size_t room)
{
	const char *unit = row->word->unit;

	if (unit && row->word->kind == OPTION_DURATION)
		unit = strcmp(unit, "us") == 0 ? "N microseconds, or 5ms, 1s" : "N seconds, or 200ms, 5m";
	snprintf(text, room, "%s%s%s%s%s", row->word->help, unit ? ", " : "", unit ? unit : "", row->more ? "; " : "",
		 row->more ? row->more : "");
}

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

static int parse_name(const struct option_row *row, const char *name, const char *text, void *place)
{
	char names[OPTION_VALUE_BYTES];

	for (size_t i = (size_t)app_option_low(row); i <= (size_t)app_option_high(row); i++) {
		if (strcmp(text, app_option_names(row)[i]) != 0)
			continue;
		if (row->word->kind == OPTION_NAMES)
			((bool *)place)[i] = true;
		else
			*(uint32_t *)place = (uint32_t)i;
		return APP_EXIT_OK;
	}
	app_option_list_names(row, names, sizeof(names));
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
	enum option_kind kind = row->word->kind;
	uint64_t low = (uint64_t)app_option_low(row), high = (uint64_t)app_option_high(row), value = 0;
	int code = kind == OPTION_SIZE ? app_size_expect(name, text, low, high, &value) :
		   kind == OPTION_FLAG ? app_number_expect(name, text, 0, 1, &value) :
					 app_number_expect(name, text, low, high, &value);

	if (code == APP_EXIT_OK)
		store(row, place, value);
	return code;
}

static int parse_text(const struct option_row *row, const char *name, const char *text, void *place)
{
	if (row->points)
		*(const char **)place = text;
	else if (strlen(text) >= row->bytes)
		return app_complain(APP_EXIT_USAGE, "%s %s: use up to %zu characters", name, text, row->bytes - 1);
	else
		strcpy(place, text);
	return APP_EXIT_OK;
}

int app_option_parse_value(const struct option_row *row, const char *name, const char *text, void *settings)
{
	void *place = (char *)settings + row->offset;

	if (row->parse)
		return row->parse(name, text, place);
	switch (row->word->kind) {
	case OPTION_FLAG:
	case OPTION_NUMBER:
	case OPTION_SIZE:
		return parse_number(row, name, text, place);
	case OPTION_DURATION:
		return app_duration_expect(name, text, row->word->unit, (double)app_option_low(row),
					   (double)app_option_high(row), place);
	case OPTION_REAL:
		return app_number_expect_real(name, text, (double)app_option_low(row), (double)app_option_high(row),
					      place);
	case OPTION_PROBABILITY:
		return app_probability_parse(text, place) ?
			       APP_EXIT_OK :
			       app_complain(APP_EXIT_USAGE, "%s %s: use 0 ... 1, or 0%% ... 100%%", name, text);
	case OPTION_MTU:
		return parse_mtu(name, text, place);
	case OPTION_NAME:
	case OPTION_NAMES:
		return parse_name(row, name, text, place);
	case OPTION_TEXT:
		return parse_text(row, name, text, place);
	}
	return APP_EXIT_INTERNAL;
}

const char *app_option_format(const struct option_row *row, const void *settings, char *text)
{
	const void *place = (const char *)settings + row->offset;
	const char *word;

	if (row->parse)
		return "";
	switch (row->word->kind) {
	case OPTION_FLAG:
	case OPTION_NUMBER:
	case OPTION_SIZE:
	case OPTION_MTU:
		snprintf(text, OPTION_VALUE_BYTES, "%" PRIu64, load(row, place));
		return text;
	case OPTION_DURATION:
		snprintf(text, OPTION_VALUE_BYTES, "%.15gs", *(const double *)place);
		return text;
	case OPTION_REAL:
	case OPTION_PROBABILITY:
		snprintf(text, OPTION_VALUE_BYTES, "%.15g", *(const double *)place);
		return text;
	case OPTION_NAME:
		return app_option_names(row)[*(const uint32_t *)place];
	case OPTION_NAMES:
		return "";
	case OPTION_TEXT:
		if (!row->points)
			return place;
		memcpy(&word, place, sizeof(word));
		return word ? word : "";
	}
	return "";
}
