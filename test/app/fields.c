/* fields.c - what a struct says comes back from JSON, and what is out of range is refused by its name */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stddef.h>
#include <string.h>

#include <uroce/device.h>

#include "common/fields.h"

static const char *const colours[] = { "red", "green", "blue" };

struct values {
	uint32_t count, colour, more;
	uint64_t wide;
	double rate;
	bool on;
	struct uroce_addr addr;
};

static const struct app_field fields[] = {
	{ "count", APP_FIELD_U32, offsetof(struct values, count), 1, 100 },
	{ "wide", APP_FIELD_U64, offsetof(struct values, wide), 0, 1e15 },
	{ "rate", APP_FIELD_REAL, offsetof(struct values, rate), 0.5, 2 },
	{ "on", APP_FIELD_BOOL, offsetof(struct values, on) },
	{ "colour", APP_FIELD_NAME, offsetof(struct values, colour), 0, 2, colours },
	{ "addr", APP_FIELD_ADDR, offsetof(struct values, addr) },
	{ "more", APP_FIELD_U32, offsetof(struct values, more), 0, 9, .optional = true },
};

#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static json_t *good(struct values *values)
{
	json_t *object = json_object();

	*values = (struct values){ .count = 7, .colour = 2, .more = 3, .wide = 1ull << 40, .rate = 1.5, .on = true };
	uroce_addr_parse("fd00::7", &values->addr, NULL);
	app_fields_put(object, fields, FIELDS, values);
	return object;
}

Test(fields, values_survive_the_round_trip_through_json)
{
	struct values in, out = { .more = 8 };
	json_t *object = good(&in);

	cr_assert_null(app_fields_get(object, fields, FIELDS, &out));
	cr_expect(out.count == 7 && out.colour == 2 && out.more == 3 && out.wide == 1ull << 40 && out.on);
	cr_expect(out.rate > 1.49 && out.rate < 1.51);
	cr_expect_eq(memcmp(&out.addr, &in.addr, sizeof(in.addr)), 0);
	json_decref(object);
}

Test(fields, wrong_value_is_refused_by_its_name)
{
	static const struct {
		const char *name, *json;
	} rows[] = { { "count", "0" },    { "count", "101" },  { "count", "1.5" }, { "count", "\"7\"" },
		     { "count", "null" }, { "wide", "-1" },    { "wide", "2e15" }, { "rate", "0.4" },
		     { "rate", "\"1\"" }, { "rate", "3" },     { "colour", "1" },  { "colour", "\"pink\"" },
		     { "addr", "7" },     { "addr", "\"x\"" }, { "more", "10" },   { "more", "\"1\"" } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct values values;
		json_t *object = good(&values);
		const char *wrong;

		json_object_set_new(object, rows[i].name, json_loads(rows[i].json, JSON_DECODE_ANY, NULL));
		wrong = app_fields_get(object, fields, FIELDS, &values);
		cr_expect(wrong && strcmp(wrong, rows[i].name) == 0, "%s: %s", rows[i].name, rows[i].json);
		json_decref(object);
	}
}

Test(fields, only_an_optional_value_may_be_missing)
{
	for (size_t i = 0; i < FIELDS; i++) {
		struct values values;
		json_t *object = good(&values);
		const char *wrong;
		bool may = fields[i].optional || fields[i].kind == APP_FIELD_BOOL;

		json_object_del(object, fields[i].name);
		wrong = app_fields_get(object, fields, FIELDS, &values);
		cr_expect_eq(wrong == NULL, may, "%s", fields[i].name);
		cr_expect_eq(values.more, 3);
		json_decref(object);
	}
}

Test(fields, numbers_must_match_count_and_width)
{
	uint32_t in[] = { 0, 0xFFFFFF }, out[2];
	json_t *object = json_object();

	app_numbers_put(object, "n", in, 2);
	cr_expect(app_numbers_get(object, "n", 24, out, 2));
	cr_expect_eq(memcmp(in, out, sizeof(in)), 0);
	cr_expect_not(app_numbers_get(object, "n", 23, out, 2));
	cr_expect_not(app_numbers_get(object, "n", 24, out, 1));
	cr_expect_not(app_numbers_get(object, "m", 24, out, 0));
	json_decref(object);
}
