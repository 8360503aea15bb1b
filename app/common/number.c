/* number.c - parses numbers: decimal, or hexadecimal with 0x; sizes may end with k, M, G or T */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/types.h>

#include "common/eal.h"

bool app_number_parse(const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	unsigned long long number;
	char *end;

	if (text[0] < '0' || text[0] > '9') /* strtoull() would accept a space or a sign */
		return false;
	errno = 0;
	number = strtoull(text, &end, 0);
	if (errno || *end || number < low || number > high)
		return false;
	*value = number;
	return true;
}

bool app_size_parse(const char *text, uint64_t low, uint64_t high, uint64_t *bytes)
{
	static const char units[] = "kMGT";
	size_t digits = strspn(text, "0123456789");
	char number[32];
	const char *unit;
	unsigned shift;
	uint64_t value;

	if (text[digits] == '\0' || digits == 0 || digits >= sizeof(number) || text[digits + 1])
		return app_number_parse(text, low, high, bytes);
	unit = text[digits] == 'K' ? units : strchr(units, text[digits]);
	if (unit == NULL)
		return false;
	shift = 10 * ((unsigned)(unit - units) + 1);
	memcpy(number, text, digits);
	number[digits] = '\0';
	if (!app_number_parse(number, 0, UINT64_MAX >> shift, &value) || value << shift < low || value << shift > high)
		return false;
	*bytes = value << shift;
	return true;
}

int app_number_expect(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *value)
{
	if (app_number_parse(text, low, high, value))
		return APP_EXIT_OK;
	return app_complain(APP_EXIT_USAGE, "%s %s: use a number from %" PRIu64 " to %" PRIu64, option, text, low,
			    high);
}

int app_size_expect(const char *option, const char *text, uint64_t low, uint64_t high, uint64_t *bytes)
{
	if (app_size_parse(text, low, high, bytes))
		return APP_EXIT_OK;
	return app_complain(APP_EXIT_USAGE,
			    "%s %s: use a size in bytes such as 512, 64k, 16M or 1G, from %" PRIu64 " to %" PRIu64,
			    option, text, low, high);
}

int app_size_expect32(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *bytes)
{
	uint64_t number = 0;
	int code = app_size_expect(option, text, low, high, &number);

	if (code == APP_EXIT_OK)
		*bytes = (uint32_t)number;
	return code;
}

int app_number_expect_real(const char *option, const char *text, double low, double high, double *value)
{
	char *end;
	double number = strtod(text, &end);

	/* Written so that a NaN is refused. */
	if (end == text || *end || !(number >= low && number <= high))
		return app_complain(APP_EXIT_USAGE, "%s %s: use a number from %g to %g", option, text, low, high);
	*value = number;
	return APP_EXIT_OK;
}

/* Seconds of a unit of time; 0: there is no such unit. */
static double seconds_of(const char *unit)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = { { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 }, { "m", 60 }, { "h", 3600 } };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(unit, units[i].unit) == 0)
			return units[i].seconds;
	}
	return 0;
}

int app_duration_expect(const char *option, const char *text, const char *unit, double low, double high,
			double *seconds)
{
	double scale = seconds_of(unit), value;
	char *end;

	value = strtod(text, &end) * (*end ? seconds_of(end) : scale);
	/* written so that a NaN is refused; an unknown unit gives 0 */
	if (text[0] < '0' || text[0] > '9' || (*end && seconds_of(end) == 0) ||
	    !(value >= low * scale && value <= high * scale))
		return app_complain(APP_EXIT_USAGE, "%s %s: use a time such as 5s or 200ms, from %.10g%s to %.10g%s",
				    option, text, low, unit, high, unit);
	*seconds = value;
	return APP_EXIT_OK;
}

bool app_probability_parse(const char *text, double *value)
{
	char *end;
	double number = strtod(text, &end);
	bool per_cent = strcmp(end, "%") == 0;

	if (text[0] < '0' || text[0] > '9' || (*end && !per_cent))
		return false;
	number /= per_cent ? 100 : 1;
	if (!(number >= 0 && number <= 1)) /* written so that a NaN is refused */
		return false;
	*value = number;
	return true;
}

/*
 * Returns the number at *text, and moves *text behind it. If there is no number, or one above `most`, returns most + 1.
 */
static unsigned long take_number(const char **text, unsigned long most)
{
	char *end;
	unsigned long value = strtoul(*text, &end, 10);

	if (**text < '0' || **text > '9' || value > most)
		return most + 1;
	*text = end;
	return value;
}

int app_vlan_expect(const char *option, const char *text, void *vlan)
{
	const char *at = text;
	unsigned long id = take_number(&at, UROCE_VLAN_ID_MAX), priority = 0;

	if (id <= UROCE_VLAN_ID_MAX && *at == ':') {
		at++;
		priority = take_number(&at, UROCE_VLAN_PRIORITY_MAX);
	}
	if (id > UROCE_VLAN_ID_MAX || priority > UROCE_VLAN_PRIORITY_MAX || *at)
		return app_complain(APP_EXIT_USAGE,
				    "%s %s: use ID or ID:PRIORITY, with ID from 0 (none) to %u and PRIORITY from 0 to "
				    "%u, such as 100 or 100:3",
				    option, text, UROCE_VLAN_ID_MAX, UROCE_VLAN_PRIORITY_MAX);
	*(struct uroce_vlan *)vlan = (struct uroce_vlan){ .id = (uint16_t)id, .priority = (uint8_t)priority };
	return APP_EXIT_OK;
}
