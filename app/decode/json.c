/* json.c - prints findings as JSON objects, one a line */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "decode/json.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "wire/print.h"

/* Many readers cannot hold 64 bits in a JSON number, so such values are hexadecimal text. */
static void set_hex(json_t *object, const char *key, uint64_t value)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_object_set_new(object, key, json_string(text));
}

static void set_address(json_t *object, const char *key, const uint8_t addr[16])
{
	char text[INET6_ADDRSTRLEN];
	struct wire_line line = { text, sizeof(text), 0 };

	wire_print_addr(&line, addr);
	json_object_set_new(object, key, json_string(text));
}

static json_t *flags_json(uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = { { WIRE_MIGREQ, "migreq" },
		      { WIRE_SOLICITED, "solicited" },
		      { WIRE_BECN, "becn" },
		      { WIRE_FECN, "fecn" },
		      { WIRE_ACKREQ, "ackreq" } };
	json_t *array = json_array();
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (flags & names[i].flag)
			json_array_append_new(array, json_string(names[i].name));
	}
	return array;
}

static void set_extensions(json_t *object, const struct wire_packet *packet)
{
	const struct wire_opcode_row *row = wire_opcode(packet->opcode);

	/* clang-format off */
#define HEADER(flag, BYTES, bytes) if (row->flag) {
#define FIELD(bits, member, key, ...) ((bits) > 32 ? set_hex : json_set_number)(object, key, packet->member);
#define HEADER_END }
#include "wire/opcodes.def"
	/* clang-format on */
	if (packet->opcode == OP_FETCH_ADD)
		json_object_del(object, "compare");
}

/* Finds the object for a field such as "primary.local_gid", and its name there. */
static json_t *place_of(json_t *object, const char *name, const char **last)
{
	const char *dot = strchr(name, '.');
	char outer[16];
	json_t *inner;

	*last = name;
	if (!dot)
		return object;
	snprintf(outer, sizeof(outer), "%.*s", (int)(dot - name), name);
	inner = json_object_get(object, outer);
	if (!inner) {
		inner = json_object();
		json_object_set_new(object, outer, inner);
	}
	*last = dot + 1;
	return inner;
}

/* Leaves out zeros at the end, since the message does not tell how long its private data is meant to be. */
static void set_bytes(json_t *object, const char *key, const uint8_t *bytes, uint32_t count)
{
	char text[2 * CM_PRIVATE_MAX_BYTES + 1] = "";
	uint32_t i;

	while (count > 0 && bytes[count - 1] == 0)
		count--;
	for (i = 0; i < count; i++)
		snprintf(text + (size_t)2 * i, 3, "%02x", bytes[i]);
	json_object_set_new(object, key, json_string(text));
}

static void set_field(void *context, const struct cm_field *field)
{
	const char *name;
	json_t *object = place_of(context, field->name, &name);
	char key[64];

	switch (field->form) {
	case CM_DECIMAL:
		json_set_number(object, name, field->number);
		break;
	case CM_HEX:
		(field->digits > 8 ? set_hex : json_set_number)(object, name, field->number);
		break;
	case CM_GID:
		set_address(object, name, field->bytes);
		break;
	case CM_BYTES:
		set_bytes(object, name, field->bytes, field->byte_count);
		break;
	}
	if (field->text) {
		snprintf(key, sizeof(key), "%s_name", name);
		json_object_set_new(object, key, json_string(field->text));
	}
}

static json_t *mad_json(const struct finding *finding)
{
	json_t *object = json_object();

	if (finding->mad_fault != CM_MAD_OK) {
		json_object_set_new(object, "fault", json_string(cm_mad_fault_name(finding->mad_fault)));
		return object;
	}
	json_object_set_new(object, "kind", json_string(cm_mad_kind_short(finding->message.kind)));
	json_object_set_new(object, "name", json_string(cm_mad_kind_name(finding->message.kind)));
	cm_mad_fields(&finding->message, set_field, object);
	return object;
}

static void print_object(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
	printf("\n");
	json_decref(object);
}

void decode_json_frame(const struct finding *finding)
{
	const struct wire_packet *packet = &finding->packet;
	json_t *object = json_object();

	json_set_number(object, "frame", finding->frame->number);
	set_address(object, "source", finding->encap.source);
	set_address(object, "dest", finding->encap.dest);
	if (finding->encap.vlan)
		json_set_number(object, "vlan", finding->encap.vlan_tci & 0xFFF);
	json_set_number(object, "source_port", finding->encap.source_port);
	if (finding->has_packet) {
		json_object_set_new(object, "opcode",
				    json_sprintf("%s%s", finding->service, wire_opcode(packet->opcode)->name));
		json_set_number(object, "opcode_number", finding->opcode);
		json_set_number(object, "qpn", packet->dest_qpn);
		json_set_number(object, "psn", packet->psn);
		json_object_set_new(object, "flags", flags_json(packet->flags));
		json_set_number(object, "pkey", packet->pkey);
		if (finding->has_headers)
			set_extensions(object, packet);
		if (finding->has_srq)
			json_set_number(object, "srq", finding->srq);
		if (!finding->is_foreign)
			json_set_number(object, "payload_bytes", packet->payload_bytes);
		json_set_number(object, "pad_bytes", packet->pad_bytes);
		if (finding->has_mad)
			json_object_set_new(object, "cm", mad_json(finding));
		json_object_set_new(object, "icrc", json_string(decode_finding_icrc(finding)));
	}
	if (finding->fault)
		json_object_set_new(object, "fault", json_string(finding->fault));
	if (finding->frame->bytes < finding->frame->original_bytes) {
		json_set_number(object, "captured_bytes", finding->frame->bytes);
		json_set_number(object, "original_bytes", finding->frame->original_bytes);
	}
	if (finding->rebuilt)
		json_object_set_new(object, "rebuilds", json_boolean(!finding->differs));
	if (finding->differs)
		json_set_number(object, "differs_at", finding->differs_at);
	print_object(object);
}

void decode_json_totals(const struct decode_totals *totals)
{
	json_t *object = json_object(), *passed = json_array();

	json_set_number(object, "frames", totals->frames);
	json_set_number(object, "roce", totals->roce);
	json_set_number(object, "bad", totals->bad);
	if (totals->cut)
		json_set_number(object, "cut", totals->cut);
	for (uint32_t i = 0; i < totals->passed_count; i++)
		json_array_append_new(passed, json_pack("{s:I, s:I}", "link_type", (json_int_t)totals->passed[i].link,
							"packets", (json_int_t)totals->passed[i].packets));
	if (totals->passed_count)
		json_object_set(object, "not_looked_at", passed);
	json_decref(passed);
	print_object(object);
}
