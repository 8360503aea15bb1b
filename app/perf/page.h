/* page.h - the results for people: one HTML page of what json.h has gathered */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_PAGE_H
#define APP_PERF_PAGE_H

#include <jansson.h>
#include <math.h>

struct perf_page;

/* Checks that the file can be written, and leaves what is in it until then. NULL: complained. */
struct perf_page *perf_page_open(const char *path);

/* Writes the page of root (NULL: none) and frees it. 0, or -1 after a complaint; nothing for NULL. */
int perf_page_close(struct perf_page *page, const json_t *root);

/* A number of a result, or NAN where it does not apply. */
static inline double number_at(const json_t *result, const char *key)
{
	const json_t *value = json_object_get(result, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static inline const char *word_at(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

#endif
