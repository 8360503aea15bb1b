/* fields.c - values of JSON objects by tables: their names, ranges, and places in a struct */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/fields.h"

#include <string.h>

#include <uroce/device.h>

#include "common/json.h"

void app_fields_put(json_t *object, const struct app_field *fields, size_t count, const void *values)
{
	for (const struct app_field *field = fields; field < fields + count; field++) {
		const void *at = (const char *)values + field->offset;
		char addr[64];

		switch (field->kind) {
		case APP_FIELD_U32:
			json_set_number(object, field->name, *(const uint32_t *)at);
			break;
		case APP_FIELD_U64:
			json_set_number(object, field->name, *(const uint64_t *)at);
			break;
		case APP_FIELD_REAL:
			json_object_set_new(object, field->name, json_real(*(const double *)at));
			break;
		case APP_FIELD_BOOL:
			json_object_set_new(object, field->name, json_boolean(*(const bool *)at));
			break;
		case APP_FIELD_NAME:
			json_object_set_new(object, field->name, json_string(field->names[*(const uint32_t *)at]));
			break;
		case APP_FIELD_ADDR:
			json_object_set_new(object, field->name,
					    json_string(uroce_addr_format(at, addr, sizeof(addr))));
			break;
		}
	}
}

static bool get_name(const json_t *value, const struct app_field *field, uint32_t *out)
{
	const char *text = json_string_value(value);

	for (uint32_t i = 0; text && i <= (uint32_t)field->high; i++) {
		if (strcmp(text, field->names[i]) == 0) {
			*out = i;
			return true;
		}
	}
	return false;
}

/* Numbers in their range, and addresses as text. */
static bool get_value(const json_t *value, const struct app_field *field, void *at)
{
	double number = json_number_value(value);
	bool fits = number >= field->low && number <= field->high;

	switch (field->kind) {
	case APP_FIELD_U32:
		if (json_is_integer(value) && fits)
			*(uint32_t *)at = (uint32_t)json_integer_value(value);
		return json_is_integer(value) && fits;
	case APP_FIELD_U64:
		if (json_is_integer(value) && fits)
			*(uint64_t *)at = (uint64_t)json_integer_value(value);
		return json_is_integer(value) && fits;
	case APP_FIELD_REAL:
		if (json_is_number(value) && fits)
			*(double *)at = number;
		return json_is_number(value) && fits;
	case APP_FIELD_BOOL:
		*(bool *)at = json_is_true(value);
		return true;
	case APP_FIELD_NAME:
		return get_name(value, field, at);
	case APP_FIELD_ADDR:
		return json_is_string(value) && uroce_addr_parse(json_string_value(value), at, NULL) == 0;
	}
	return false;
}

const char *app_fields_get(const json_t *object, const struct app_field *fields, size_t count, void *values)
{
	for (const struct app_field *field = fields; field < fields + count; field++) {
		const json_t *value = json_object_get(object, field->name);

		if (field->optional && value == NULL)
			continue;
		if (!get_value(value, field, (char *)values + field->offset))
			return field->name;
	}
	return NULL;
}

void app_numbers_put(json_t *object, const char *name, const uint32_t *numbers, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, json_integer(numbers[i]));
	json_object_set_new(object, name, array);
}

bool app_numbers_get(const json_t *object, const char *name, unsigned bits, uint32_t *numbers, uint32_t count)
{
	const json_t *array = json_object_get(object, name);

	if (!json_is_array(array) || json_array_size(array) != count)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		const json_t *number = json_array_get(array, i);
		json_int_t wide = json_integer_value(number);

		if (!json_is_integer(number) || wide < 0 || wide >= (json_int_t)1 << bits)
			return false;
		numbers[i] = (uint32_t)wide;
	}
	return true;
}
