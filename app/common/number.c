/* number.c - parses numbers: decimal, or hexadecimal with 0x; sizes may end with k, M, G or T */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
			    "%s %s: use a size such as 512, 64k, 16M or 1G, from %" PRIu64 " to %" PRIu64, option, text,
			    low, high);
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
