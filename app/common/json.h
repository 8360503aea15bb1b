/* json.h - numbers in JSON objects */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_JSON_H
#define APP_COMMON_JSON_H

#include <jansson.h>
#include <stdint.h>

/* JSON numbers are signed here: 2^63 and more would be negative. */
static inline void json_set_number(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

#endif
