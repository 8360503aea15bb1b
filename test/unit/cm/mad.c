/* mad.c - messages of connection management: each field at its place, and nothing elsewhere */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/mad.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cm/ip.h"
#include "cm/print.h"
#include "cm/service.h"
#include "draw.h"
#include "fields.h"
#include "rule.h"

#define DATA_AT 24u

/* A header of this kind, and nothing behind it. */
static void header(uint8_t kind, uint8_t mad[CM_MAD_BYTES])
{
	static const uint8_t begin[] = { 1, 7, 2, 3 };

	memset(mad, 0, CM_MAD_BYTES);
	memcpy(mad, begin, sizeof(begin));
	mad[17] = kind;
}

static void zero(uint8_t kind, struct cm_message *message)
{
	memset(message, 0, sizeof(*message));
	message->kind = kind;
	message->private_bytes = (uint8_t)cm_mad_private_bytes(kind);
}

/* One bit after the other, the highest first. */
static void put_bit(uint8_t *mad, uint32_t at, bool bit)
{
	mad[at / 8] |= (uint8_t)(bit << (7 - at % 8));
}

/* Draws a value of a place, into a MAD and a message. */
static void put_value(const struct place *place, uint64_t *seed, uint8_t *mad, struct cm_message *message)
{
	uint8_t *member = (uint8_t *)message + place->member;
	uint32_t at = (uint32_t)((int)DATA_AT + place->byte) * 8 + place->bit, i;
	uint64_t value, all = 0;

	if (place->bits > 64) {
		for (i = 0; i < place->bits / 8; i++)
			mad[at / 8 + i] = member[i] = (uint8_t)draw_below(seed, 256);
		return;
	}
	value = (draw_next(seed) | 1) & UINT64_MAX >> (64 - place->bits);
	for (i = 0; i < place->bits; i++)
		put_bit(mad, at + i, value >> (place->bits - 1 - i) & 1);
	memcpy(&all, member, place->member_bytes);
	all |= value << place->first;
	memcpy(member, &all, place->member_bytes);
}

static void expect_same(const char *where, const struct cm_message *got, const struct cm_message *wanted)
{
	char one[CM_PRINT_MAX_BYTES], other[CM_PRINT_MAX_BYTES];

	cr_assert(memcmp(got, wanted, sizeof(*got)) == 0, "%s:\n%s, not\n%s", where,
		  cm_mad_print(got, one, sizeof(one)), cm_mad_print(wanted, other, sizeof(other)));
}

static void expect_bytes(const char *where, const uint8_t *got, const uint8_t *wanted)
{
	uint32_t i;

	for (i = 0; i < CM_MAD_BYTES; i++)
		cr_assert_eq(got[i], wanted[i], "%s: byte %u is %02x, not %02x", where, i, got[i], wanted[i]);
}

/* Each field alone: its value appears nowhere else. */
Test(mad, every_field_is_read_and_written_at_its_offset)
{
	uint8_t mad[CM_MAD_BYTES], built[CM_MAD_BYTES];
	struct cm_message wanted, got;
	uint64_t seed = draw_start(1);
	char where[64];
	size_t i;

	RULE("C-1");
	for (i = 0; i < PLACES; i++) {
		snprintf(where, sizeof(where), "%s of %s", places[i].name, cm_mad_kind_name(places[i].kind));
		header(places[i].kind, mad);
		zero(places[i].kind, &wanted);
		put_value(&places[i], &seed, mad, &wanted);
		cr_assert_eq(cm_mad_parse(mad, CM_MAD_BYTES, &got), CM_MAD_OK, "%s", where);
		expect_same(where, &got, &wanted);
		cm_mad_build(&wanted, built);
		expect_bytes(where, built, mad);
	}
}

Test(mad, all_fields_of_a_kind_together_are_read_and_written)
{
	uint8_t mad[CM_MAD_BYTES], built[CM_MAD_BYTES], kind;
	struct cm_message wanted, got;
	uint64_t seed = draw_start(2);
	size_t i;

	RULE("C-1");
	for (kind = CM_KIND_FIRST; kind <= CM_KIND_LAST; kind++) {
		header(kind, mad);
		zero(kind, &wanted);
		for (i = 0; i < PLACES; i++) {
			if (places[i].kind == kind)
				put_value(&places[i], &seed, mad, &wanted);
		}
		cr_assert_eq(cm_mad_parse(mad, CM_MAD_BYTES, &got), CM_MAD_OK);
		expect_same(cm_mad_kind_name(kind), &got, &wanted);
		cm_mad_build(&wanted, built);
		expect_bytes(cm_mad_kind_name(kind), built, mad);
	}
}

/* Of a MAD full of ones only the fields are kept. */
Test(mad, bytes_outside_of_fields_are_ignored_and_sent_as_zero)
{
	uint8_t mad[CM_MAD_BYTES], wanted[CM_MAD_BYTES], built[CM_MAD_BYTES], kind;
	struct cm_message message;
	uint32_t at, bit;
	size_t i;

	RULE("C-1");
	for (kind = CM_KIND_FIRST; kind <= CM_KIND_LAST; kind++) {
		memset(mad, 0xFF, sizeof(mad));
		header(kind, wanted);
		memcpy(mad, wanted, 4);
		memcpy(mad + 16, wanted + 16, 2);
		for (i = 0; i < PLACES; i++) {
			at = (uint32_t)((int)DATA_AT + places[i].byte) * 8 + places[i].bit;
			for (bit = 0; places[i].kind == kind && bit < places[i].bits; bit++)
				put_bit(wanted, at + bit, true);
		}
		for (i = 0; i < INFOS; i++) {
			if (infos[i].kind != kind)
				continue;
			wanted[DATA_AT + infos[i].length_byte] = (uint8_t)(72u << (8 - infos[i].length_bits));
			memset(wanted + DATA_AT + infos[i].byte, 0xFF, 72);
		}
		cr_assert_eq(cm_mad_parse(mad, CM_MAD_BYTES, &message), CM_MAD_OK);
		cm_mad_build(&message, built);
		expect_bytes(cm_mad_kind_name(kind), built, wanted);
	}
}

Test(mad, reject_info_has_its_stated_length_up_to_its_room)
{
	uint8_t mad[CM_MAD_BYTES], built[CM_MAD_BYTES], *length;
	struct cm_message message;
	uint32_t told, kept, i;
	size_t row;

	RULE("C-25");
	for (row = 0; row < INFOS; row++) {
		for (told = 0; told < 1u << infos[row].length_bits; told++) {
			header(infos[row].kind, mad);
			length = mad + DATA_AT + infos[row].length_byte;
			*length = (uint8_t)(told << (8 - infos[row].length_bits));
			for (i = 0; i < 72; i++)
				mad[DATA_AT + infos[row].byte + i] = (uint8_t)(i + 1);
			cr_assert_eq(cm_mad_parse(mad, CM_MAD_BYTES, &message), CM_MAD_OK);
			kept = told < 72 ? told : 72;
			cr_assert_eq(message.info_bytes, kept, "%u told, %u kept", told, message.info_bytes);
			for (i = 0; i < 72; i++)
				cr_assert_eq(message.info[i], i < kept ? i + 1 : 0, "%u told: byte %u", told, i);
			*length = (uint8_t)(kept << (8 - infos[row].length_bits));
			memset(mad + DATA_AT + infos[row].byte + kept, 0, 72 - kept);
			cm_mad_build(&message, built);
			expect_bytes(cm_mad_kind_name(infos[row].kind), built, mad);
		}
	}
}

/* The first fault is reported, whatever follows. */
Test(mad, invalid_message_reports_its_first_fault)
{
	static const struct {
		enum cm_mad_fault fault;
		uint32_t byte;
		uint8_t good;
	} rows[] = {
		{ CM_MAD_BASE_VERSION, 0, 1 }, { CM_MAD_CLASS, 1, 7 },           { CM_MAD_CLASS_VERSION, 2, 2 },
		{ CM_MAD_METHOD, 3, 3 },       { CM_MAD_ATTRIBUTE, 17, CM_REQ },
	};
	uint8_t mad[CM_MAD_BYTES];
	struct cm_message message;
	uint32_t value, i;
	size_t row;

	RULE("U-2");
	header(CM_REQ, mad);
	for (i = 0; i < CM_MAD_BYTES; i++)
		cr_expect_eq(cm_mad_parse(mad, i, &message), CM_MAD_LENGTH, "%u bytes", i);
	cr_expect_eq(cm_mad_parse(mad, CM_MAD_BYTES + 1, &message), CM_MAD_LENGTH);
	for (row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		memset(mad, 0xEE, sizeof(mad)); /* everything behind is wrong */
		for (i = 0; i < row; i++)
			mad[rows[i].byte] = rows[i].good;
		mad[16] = 0;
		for (value = 0; value < 256; value++) {
			mad[rows[row].byte] = (uint8_t)value;
			if (value == rows[row].good ||
			    (rows[row].fault == CM_MAD_ATTRIBUTE && value >= 0x10 && value <= 0x1A))
				continue;
			cr_expect_eq(cm_mad_parse(mad, CM_MAD_BYTES, &message), rows[row].fault, "%s: %u",
				     cm_mad_fault_name(rows[row].fault), value);
		}
	}
	header(CM_REQ, mad);
	mad[16] = 1;
	cr_expect_eq(cm_mad_parse(mad, CM_MAD_BYTES, &message), CM_MAD_ATTRIBUTE, "0110h is no REQ");
}

/* So that it can be refused by name. */
Test(mad, message_of_another_class_version_is_still_parsed)
{
	uint8_t mad[CM_MAD_BYTES];
	struct cm_message message;

	RULE("U-2");
	header(CM_REQ, mad);
	mad[2] = 1;
	mad[DATA_AT + 3] = 0x77;
	cr_expect_eq(cm_mad_parse(mad, CM_MAD_BYTES, &message), CM_MAD_CLASS_VERSION);
	cr_expect_eq(message.kind, CM_REQ);
	cr_expect_eq(message.local_id, 0x77);
	mad[3] = 0x81;
	cr_expect_eq(cm_mad_parse(mad, CM_MAD_BYTES, &message), CM_MAD_CLASS_VERSION);
	cr_expect_eq(message.kind, 0, "a response to a Get is no REQ");
	header(0x1B, mad);
	mad[2] = 3;
	cr_expect_eq(cm_mad_parse(mad, CM_MAD_BYTES, &message), CM_MAD_CLASS_VERSION);
	cr_expect_eq(message.kind, 0);
}

/* In memory of exactly its length, so that AddressSanitizer sees a byte too far. */
Test(mad, random_bytes_are_read_within_their_length_and_rebuilt)
{
	struct cm_message message, again;
	char text[CM_PRINT_MAX_BYTES];
	uint8_t built[CM_MAD_BYTES], *mad;
	uint64_t seed = draw_start(3);
	uint32_t round, bytes, i, taken = 0;

	RULE("C-25");
	for (round = 0; round < 20000; round++) {
		bytes = draw_below(&seed, 4) ? CM_MAD_BYTES : (uint32_t)draw_below(&seed, CM_MAD_BYTES);
		mad = malloc(bytes ? bytes : 1);
		cr_assert(mad);
		for (i = 0; i < bytes; i++)
			mad[i] = (uint8_t)draw_below(&seed, 256);
		if (bytes == CM_MAD_BYTES) {
			memcpy(mad, "\1\7\2\3", 4);
			mad[16] = 0;
			mad[17] = (uint8_t)(CM_KIND_FIRST + draw_below(&seed, 12));
		}
		if (cm_mad_parse(mad, bytes, &message) == CM_MAD_OK) {
			taken++;
			cm_mad_build(&message, built);
			cr_assert_eq(cm_mad_parse(built, CM_MAD_BYTES, &again), CM_MAD_OK);
			expect_same("built again", &again, &message);
			cr_assert_lt(strlen(cm_mad_print(&message, text, sizeof(text))), CM_PRINT_MAX_BYTES - 1);
		}
		free(mad);
	}
	cr_expect_gt(taken, 10000, "%u", taken);
}

/* A value that is too wide does not change adjacent fields. */
Test(mad, numbers_and_lengths_out_of_range_are_truncated)
{
	uint8_t mad[CM_MAD_BYTES], kind;
	struct cm_message message, got;

	RULE("C-25");
	for (kind = CM_KIND_FIRST; kind <= CM_KIND_LAST; kind++) {
		memset(&message, 0xFF, sizeof(message));
		message.kind = kind;
		cm_mad_build(&message, mad);
		cr_assert_eq(cm_mad_parse(mad, CM_MAD_BYTES, &got), CM_MAD_OK);
		cr_expect_eq(got.transaction_id, UINT64_MAX);
		if (kind == CM_REQ) {
			cr_expect_eq(got.qpn, 0xFFFFFF);
			cr_expect_eq(got.remote_response_timeout, 31);
			cr_expect_eq(got.primary.flow_label, 0xFFFFF);
		}
	}
	zero(CM_RTU, &message);
	memset(message.private_data, 0xAA, sizeof(message.private_data));
	message.private_bytes = 3;
	cm_mad_build(&message, mad);
	cr_expect_eq(mad[DATA_AT + 10], 0xAA);
	cr_expect_eq(mad[DATA_AT + 11], 0, "private data beyond its length");
	zero(CM_REJ, &message);
	memset(message.info, 0xAA, sizeof(message.info));
	message.info_bytes = 3;
	cm_mad_build(&message, mad);
	cr_expect_eq(mad[DATA_AT + 14], 0xAA);
	cr_expect_eq(mad[DATA_AT + 15], 0, "additional information beyond its length");
}

Test(mad, each_kind_has_room_for_its_private_data)
{
	static const uint32_t bytes[] = { 92, 222, 148, 196, 224, 220, 224, 216, 136, 168, 148 };
	uint32_t kind;

	RULE("C-1");
	for (kind = 0; kind < 256; kind++)
		cr_expect_eq(cm_mad_private_bytes((uint8_t)kind),
			     kind >= CM_KIND_FIRST && kind <= CM_KIND_LAST ? bytes[kind - CM_KIND_FIRST] : 0, "%u",
			     kind);
}

/* A visit of all fields: what comes, and behind what. */
struct visited {
	const struct cm_message *message;
	uint32_t count;
	uint32_t private_bytes, info_bytes, ip_fields;
	int last_bit;
};

static void visit(void *context, const struct cm_field *field)
{
	struct visited *visited = context;
	const struct place *place = places;
	uint64_t value = 0;

	if (strcmp(field->name, "private_data") == 0)
		visited->private_bytes = field->byte_count;
	if (strcmp(field->name, "info") == 0)
		visited->info_bytes = field->byte_count;
	visited->ip_fields += strncmp(field->name, "ip.", 3) == 0;
	if (strncmp(field->name, "info", 4) == 0 || strncmp(field->name, "ip.", 3) == 0)
		return;
	while (place->kind != visited->message->kind || strcmp(place->name, field->name) != 0)
		cr_assert_lt(++place, places + PLACES, "%s has no %s", cm_mad_kind_name(visited->message->kind),
			     field->name);
	cr_expect_gt(place->byte * 8 + (int)place->bit, visited->last_bit, "%s comes too late", field->name);
	visited->last_bit = place->byte * 8 + (int)place->bit;
	visited->count++;
	if (field->form == CM_GID || field->form == CM_BYTES)
		return;
	memcpy(&value, (const uint8_t *)visited->message + place->member, place->member_bytes);
	cr_expect_eq(field->number, value, "%s", field->name);
}

Test(mad, each_field_is_visited_once_in_the_order_of_the_wire)
{
	struct cm_message message;
	uint64_t seed = draw_start(4);
	struct visited visited;
	uint8_t mad[CM_MAD_BYTES] = { 0 }, kind;
	uint32_t fields;
	size_t i;

	for (kind = CM_KIND_FIRST; kind <= CM_KIND_LAST; kind++) {
		zero(kind, &message);
		message.info_bytes = 5;
		fields = 0;
		for (i = 0; i < PLACES; i++) {
			if (places[i].kind != kind)
				continue;
			put_value(&places[i], &seed, mad, &message);
			/* Of those in pieces the highest one counts, which comes first. */
			fields += i == 0 || places[i].member != places[i - 1].member;
		}
		visited = (struct visited){ .message = &message, .last_bit = INT32_MIN };
		cm_mad_fields(&message, visit, &visited);
		cr_expect_eq(visited.count, fields, "%s: %u fields", cm_mad_kind_name(kind), visited.count);
		cr_expect_eq(visited.private_bytes, cm_mad_private_bytes(kind));
		cr_expect_eq(visited.info_bytes, kind == CM_REJ || kind == CM_APR || kind == CM_SIDR_REP ? 5 : 0);
	}
}

Test(mad, ip_addresses_precede_the_private_data)
{
	struct cm_message message;
	struct visited visited = { .message = &message, .last_bit = INT32_MIN };
	struct cm_ip ip = { .ip_version = 4 };

	RULE("C-5");
	zero(CM_REQ, &message);
	message.service_id = cm_service_id(CM_SPACE_TCP, 1);
	cm_ip_build(&ip, message.private_data);
	cm_mad_fields(&message, visit, &visited);
	cr_expect_eq(visited.private_bytes, 56, "%u", visited.private_bytes);
	cr_expect_eq(visited.ip_fields, 5, "%u", visited.ip_fields);
	visited = (struct visited){ .message = &message, .last_bit = INT32_MIN };
	message.kind = CM_SIDR_REQ;
	cm_mad_fields(&message, visit, &visited);
	cr_expect_eq(visited.private_bytes, 180, "%u", visited.private_bytes);
}
