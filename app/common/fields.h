/* fields.h - values of JSON objects by tables: their names, ranges, and places in a struct */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_FIELDS_H
#define APP_COMMON_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum app_field_kind { APP_FIELD_U32, APP_FIELD_U64, APP_FIELD_REAL, APP_FIELD_BOOL, APP_FIELD_NAME, APP_FIELD_ADDR };

/* A value of a message, and where it is in a struct. An enum is a NAME, which is an index of `names` up to high. */
struct app_field {
	const char *name;
	enum app_field_kind kind;
	size_t offset;
	double low, high;
	const char *const *names;
	bool optional; /* may be missing: the struct keeps the value that it has; bools may always be, and are false */
};

void app_fields_put(json_t *object, const struct app_field *fields, size_t count, const void *values);

/* Returns NULL, or the name of the field that is missing or wrong. */
const char *app_fields_get(const json_t *object, const struct app_field *fields, size_t count, void *values);

void app_numbers_put(json_t *object, const char *name, const uint32_t *numbers, uint32_t count);

/* Are these exactly `count` numbers, each of at most `bits` bits? */
bool app_numbers_get(const json_t *object, const char *name, unsigned bits, uint32_t *numbers, uint32_t count);

#endif
