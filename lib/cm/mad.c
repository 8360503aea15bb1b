/* mad.c - the table of where each field of each message lies; parsing, building and printing use it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/mad.h"

#include <string.h>

#include "cm/ip.h"
#include "cm/names.h"
#include "cm/service.h"
#include "wire/bytes.h"

/* The header: 24 bytes. The offsets in the tables below count from its end. */
enum { BASE_VERSION_AT = 0, CLASS_AT = 1, CLASS_VERSION_AT = 2, METHOD_AT = 3, ATTRIBUTE_AT = 16, HEADER_BYTES = 24 };
enum { BASE_VERSION = 1, CLASS = 7, CLASS_VERSION = 2, METHOD_SEND = 3 };

/* Which table has the names of a field's numbers. */
enum naming {
	NO_NAME,
	NAME_SERVICE,
	NAME_REASON,
	NAME_APR_STATUS,
	NAME_SIDR_STATUS,
	NAME_ANSWERED_BY_REJ,
	NAME_ANSWERED_BY_MRA
};

/* A field. If a field lies in several pieces the next row is its next lower piece. */
struct row {
	const char *name; /* NULL: a piece of the field in the row before */
	uint16_t at;      /* first bit within the MAD */
	uint16_t bits;
	uint16_t member; /* offset within struct cm_message */
	uint8_t member_bytes;
	uint8_t form;   /* enum cm_form */
	uint8_t shift;  /* for a piece: how many lower bits of the field the later pieces have */
	uint8_t naming; /* enum naming */
};

#define PLACE(byte, bit, width, of)                                                                            \
	.at = (HEADER_BYTES + (byte)) * 8 + (bit), .bits = (width), .member = offsetof(struct cm_message, of), \
	.member_bytes = sizeof(((struct cm_message *)0)->of)
#define FIELD(byte, bit, width, of, how)                                \
	{                                                               \
		PLACE(byte, bit, width, of), .name = #of, .form = (how) \
	}
#define NAMED(byte, bit, width, of, how, who)                                            \
	{                                                                                \
		PLACE(byte, bit, width, of), .name = #of, .form = (how), .naming = (who) \
	}
#define FIRST_PIECE(byte, bit, width, of, below)                                           \
	{                                                                                  \
		PLACE(byte, bit, width, of), .name = #of, .form = CM_HEX, .shift = (below) \
	}
#define NEXT_PIECE(byte, bit, width, of, below)               \
	{                                                     \
		PLACE(byte, bit, width, of), .shift = (below) \
	}
#define PRIVATE(byte, bytes) FIELD(byte, 0, (bytes)*8, private_data, CM_BYTES)
#define INFO(byte) FIELD(byte, 0, CM_INFO_MAX_BYTES * 8, info, CM_BYTES)
/* Fields of the header. */
#define TRANSACTION_ID FIELD(-16, 0, 64, transaction_id, CM_HEX)
#define ECE_OPTIONS FIELD(-4, 0, 32, ece_options, CM_HEX)
#define IDS FIELD(0, 0, 32, local_id, CM_HEX), FIELD(4, 0, 32, remote_id, CM_HEX)

/* Each row stands on a line of its own. */
/* clang-format off */
#define REQ_PATH(byte, path) \
	FIELD((byte), 0, 16, path.local_lid, CM_HEX), \
	FIELD((byte) + 2, 0, 16, path.remote_lid, CM_HEX), \
	FIELD((byte) + 4, 0, 128, path.local_gid, CM_GID), \
	FIELD((byte) + 20, 0, 128, path.remote_gid, CM_GID), \
	FIELD((byte) + 36, 0, 20, path.flow_label, CM_HEX), \
	FIELD((byte) + 39, 2, 6, path.rate, CM_DECIMAL), \
	FIELD((byte) + 40, 0, 8, path.traffic_class, CM_DECIMAL), \
	FIELD((byte) + 41, 0, 8, path.hop_limit, CM_DECIMAL), \
	FIELD((byte) + 42, 0, 4, path.sl, CM_DECIMAL), \
	FIELD((byte) + 42, 4, 1, path.subnet_local, CM_DECIMAL), \
	FIELD((byte) + 43, 0, 5, path.ack_timeout, CM_DECIMAL)

static const struct row req_rows[] = {
	TRANSACTION_ID,
	ECE_OPTIONS,
	FIELD(0, 0, 32, local_id, CM_HEX),
	FIELD(5, 0, 24, vendor_id, CM_HEX),
	NAMED(8, 0, 64, service_id, CM_HEX, NAME_SERVICE),
	FIELD(16, 0, 64, ca_guid, CM_HEX),
	FIELD(28, 0, 32, qkey, CM_HEX),
	FIELD(32, 0, 24, qpn, CM_HEX),
	FIELD(35, 0, 8, responder_resources, CM_DECIMAL),
	FIELD(36, 0, 24, eecn, CM_HEX),
	FIELD(39, 0, 8, initiator_depth, CM_DECIMAL),
	FIELD(40, 0, 24, remote_eecn, CM_HEX),
	FIELD(43, 0, 5, remote_response_timeout, CM_DECIMAL),
	FIELD(43, 5, 2, transport, CM_DECIMAL),
	FIELD(43, 7, 1, flow_control, CM_DECIMAL),
	FIELD(44, 0, 24, psn, CM_DECIMAL),
	FIELD(47, 0, 5, local_response_timeout, CM_DECIMAL),
	FIELD(47, 5, 3, retry_count, CM_DECIMAL),
	FIELD(48, 0, 16, pkey, CM_HEX),
	FIELD(50, 0, 4, path_mtu, CM_DECIMAL),
	FIELD(50, 4, 1, rdc_exists, CM_DECIMAL),
	FIELD(50, 5, 3, rnr_retry_count, CM_DECIMAL),
	FIELD(51, 0, 4, max_cm_retries, CM_DECIMAL),
	FIELD(51, 4, 1, srq, CM_DECIMAL),
	FIELD(51, 5, 3, extended_transport, CM_DECIMAL),
	REQ_PATH(52, primary),
	REQ_PATH(96, alternate),
	FIELD(139, 5, 1, sap_supported, CM_DECIMAL),
	PRIVATE(140, 92),
};

static const struct row mra_rows[] = {
	TRANSACTION_ID,
	IDS,
	NAMED(8, 0, 2, answered, CM_DECIMAL, NAME_ANSWERED_BY_MRA),
	FIELD(9, 0, 5, service_timeout, CM_DECIMAL),
	PRIVATE(10, 222),
};

static const struct row rej_rows[] = {
	TRANSACTION_ID,
	IDS,
	NAMED(8, 0, 2, answered, CM_DECIMAL, NAME_ANSWERED_BY_REJ),
	FIELD(9, 0, 7, info_bytes, CM_DECIMAL),
	NAMED(10, 0, 16, reason, CM_DECIMAL, NAME_REASON),
	INFO(12),
	PRIVATE(84, 148),
};

static const struct row rep_rows[] = {
	TRANSACTION_ID,
	ECE_OPTIONS,
	IDS,
	FIELD(8, 0, 32, qkey, CM_HEX),
	FIELD(12, 0, 24, qpn, CM_HEX),
	FIRST_PIECE(15, 0, 8, vendor_id, 16),
	NEXT_PIECE(19, 0, 8, vendor_id, 8),
	NEXT_PIECE(23, 0, 8, vendor_id, 0),
	FIELD(16, 0, 24, eecn, CM_HEX),
	FIELD(20, 0, 24, psn, CM_DECIMAL),
	FIELD(24, 0, 8, responder_resources, CM_DECIMAL),
	FIELD(25, 0, 8, initiator_depth, CM_DECIMAL),
	FIELD(26, 0, 5, target_ack_delay, CM_DECIMAL),
	FIELD(26, 5, 2, failover, CM_DECIMAL),
	FIELD(26, 7, 1, flow_control, CM_DECIMAL),
	FIELD(27, 0, 3, rnr_retry_count, CM_DECIMAL),
	FIELD(27, 3, 1, srq, CM_DECIMAL),
	FIELD(28, 0, 64, ca_guid, CM_HEX),
	PRIVATE(36, 196),
};

static const struct row rtu_rows[] = {
	TRANSACTION_ID,
	IDS,
	PRIVATE(8, 224),
};

static const struct row dreq_rows[] = {
	TRANSACTION_ID,
	IDS,
	FIELD(8, 0, 24, qpn, CM_HEX),
	PRIVATE(12, 220),
};

static const struct row drep_rows[] = {
	TRANSACTION_ID,
	IDS,
	PRIVATE(8, 224),
};

static const struct row sidr_req_rows[] = {
	TRANSACTION_ID,
	FIELD(0, 0, 32, local_id, CM_HEX),
	FIELD(4, 0, 16, pkey, CM_HEX),
	NAMED(8, 0, 64, service_id, CM_HEX, NAME_SERVICE),
	PRIVATE(16, 216),
};

static const struct row sidr_rep_rows[] = {
	TRANSACTION_ID,
	ECE_OPTIONS,
	FIELD(0, 0, 32, local_id, CM_HEX),
	NAMED(4, 0, 8, status, CM_DECIMAL, NAME_SIDR_STATUS),
	FIELD(5, 0, 8, info_bytes, CM_DECIMAL),
	FIRST_PIECE(6, 0, 16, vendor_id, 8),
	NEXT_PIECE(11, 0, 8, vendor_id, 0),
	FIELD(8, 0, 24, qpn, CM_HEX),
	NAMED(12, 0, 64, service_id, CM_HEX, NAME_SERVICE),
	FIELD(20, 0, 32, qkey, CM_HEX),
	INFO(24),
	PRIVATE(96, 136),
};

static const struct row lap_rows[] = {
	TRANSACTION_ID,
	IDS,
	FIELD(12, 0, 24, qpn, CM_HEX),
	FIELD(15, 0, 5, remote_response_timeout, CM_DECIMAL),
	FIELD(20, 0, 16, alternate.local_lid, CM_HEX),
	FIELD(22, 0, 16, alternate.remote_lid, CM_HEX),
	FIELD(24, 0, 128, alternate.local_gid, CM_GID),
	FIELD(40, 0, 128, alternate.remote_gid, CM_GID),
	FIELD(56, 0, 20, alternate.flow_label, CM_HEX),
	FIELD(59, 0, 8, alternate.traffic_class, CM_DECIMAL),
	FIELD(60, 0, 8, alternate.hop_limit, CM_DECIMAL),
	FIELD(61, 2, 6, alternate.rate, CM_DECIMAL),
	FIELD(62, 0, 4, alternate.sl, CM_DECIMAL),
	FIELD(62, 4, 1, alternate.subnet_local, CM_DECIMAL),
	FIELD(63, 0, 5, alternate.ack_timeout, CM_DECIMAL),
	PRIVATE(64, 168),
};

static const struct row apr_rows[] = {
	TRANSACTION_ID,
	IDS,
	FIELD(8, 0, 8, info_bytes, CM_DECIMAL),
	NAMED(9, 0, 8, status, CM_DECIMAL, NAME_APR_STATUS),
	INFO(12),
	PRIVATE(84, 148),
};

struct kind_row {
	const char *brief, *name;
	const struct row *rows; /* private data is the last row */
	uint32_t row_count;
};

#define KIND(kind, short_name, long_name, table) \
	[(kind) - CM_KIND_FIRST] = { short_name, long_name, table, sizeof(table) / sizeof((table)[0]) }

static const struct kind_row kinds[] = {
	KIND(CM_REQ, "REQ", "ConnectRequest", req_rows),
	KIND(CM_MRA, "MRA", "MsgRcptAck", mra_rows),
	KIND(CM_REJ, "REJ", "ConnectReject", rej_rows),
	KIND(CM_REP, "REP", "ConnectReply", rep_rows),
	KIND(CM_RTU, "RTU", "ReadyToUse", rtu_rows),
	KIND(CM_DREQ, "DREQ", "DisconnectRequest", dreq_rows),
	KIND(CM_DREP, "DREP", "DisconnectReply", drep_rows),
	KIND(CM_SIDR_REQ, "SIDR_REQ", "ServiceIDResReq", sidr_req_rows),
	KIND(CM_SIDR_REP, "SIDR_REP", "ServiceIDResReqResp", sidr_rep_rows),
	KIND(CM_LAP, "LAP", "LoadAlternatePath", lap_rows),
	KIND(CM_APR, "APR", "AlternatePathResponse", apr_rows),
};
/* clang-format on */

static const struct kind_row *kind_row(uint8_t kind)
{
	static const struct kind_row unknown = { "unknown", "unknown", NULL, 0 };

	return kind >= CM_KIND_FIRST && kind <= CM_KIND_LAST ? &kinds[kind - CM_KIND_FIRST] : &unknown;
}

/* `bits` is at most 64, and these bits lie in at most 8 bytes. */
static uint64_t load_bits(const uint8_t *mad, uint32_t at, uint32_t bits)
{
	uint32_t byte = at / 8, last = (at + bits - 1) / 8, below = 7 - (at + bits - 1) % 8;
	uint64_t value = 0;

	for (; byte <= last; byte++)
		value = value << 8 | mad[byte];
	return value >> below & UINT64_MAX >> (64 - bits);
}

/* The bits must be zero before. */
static void store_bits(uint8_t *mad, uint32_t at, uint32_t bits, uint64_t value)
{
	uint32_t first = at / 8, byte = (at + bits - 1) / 8, below = 7 - (at + bits - 1) % 8;

	value = (value & UINT64_MAX >> (64 - bits)) << below;
	for (; byte > first; byte--, value >>= 8)
		mad[byte] |= (uint8_t)value;
	mad[first] |= (uint8_t)value;
}

static bool is_number(const struct row *row)
{
	return row->form == CM_DECIMAL || row->form == CM_HEX;
}

/* Numbers are at most 64 bits wide and are stored with the lowest byte first. */
static uint64_t load_member(const struct row *row, const struct cm_message *message)
{
	uint64_t value = 0;

	memcpy(&value, (const uint8_t *)message + row->member, row->member_bytes);
	return value;
}

static void parse_field(const struct row *row, const uint8_t *mad, struct cm_message *message)
{
	uint8_t *member = (uint8_t *)message + row->member;
	uint64_t value;

	if (!is_number(row)) {
		memcpy(member, mad + row->at / 8, row->bits / 8);
		return;
	}
	value = load_member(row, message) | load_bits(mad, row->at, row->bits) << row->shift;
	memcpy(member, &value, row->member_bytes);
}

static void parse_fields(const uint8_t *mad, struct cm_message *message)
{
	const struct kind_row *kind = kind_row(message->kind);
	uint32_t i;

	for (i = 0; i < kind->row_count; i++)
		parse_field(&kind->rows[i], mad, message);
	if (message->info_bytes > CM_INFO_MAX_BYTES) /* C-25 */
		message->info_bytes = CM_INFO_MAX_BYTES;
	memset(message->info + message->info_bytes, 0, CM_INFO_MAX_BYTES - message->info_bytes);
	message->private_bytes = (uint8_t)cm_mad_private_bytes(message->kind);
}

uint8_t cm_mad_kind(const uint8_t mad[CM_MAD_BYTES])
{
	return mad[ATTRIBUTE_AT + 1];
}

uint32_t cm_mad_local_id(const uint8_t mad[CM_MAD_BYTES])
{
	return load_be32(mad + HEADER_BYTES);
}

uint32_t cm_mad_remote_id(const uint8_t mad[CM_MAD_BYTES])
{
	return load_be32(mad + HEADER_BYTES + 4);
}

uint32_t cm_mad_sender_qpn(const uint8_t mad[CM_MAD_BYTES])
{
	return load_be24(mad + HEADER_BYTES + 32);
}

enum cm_mad_fault cm_mad_parse(const uint8_t *mad, uint32_t bytes, struct cm_message *message)
{
	uint32_t attribute;

	if (bytes != CM_MAD_BYTES)
		return CM_MAD_LENGTH;
	if (mad[BASE_VERSION_AT] != BASE_VERSION)
		return CM_MAD_BASE_VERSION;
	if (mad[CLASS_AT] != CLASS)
		return CM_MAD_CLASS;
	attribute = load_be16(mad + ATTRIBUTE_AT);
	if (attribute < CM_KIND_FIRST || attribute > CM_KIND_LAST)
		attribute = 0;
	memset(message, 0, sizeof(*message));
	message->kind = mad[METHOD_AT] == METHOD_SEND ? (uint8_t)attribute : 0;
	parse_fields(mad, message);
	if (mad[CLASS_VERSION_AT] != CLASS_VERSION)
		return CM_MAD_CLASS_VERSION;
	if (mad[METHOD_AT] != METHOD_SEND)
		return CM_MAD_METHOD;
	return attribute ? CM_MAD_OK : CM_MAD_ATTRIBUTE;
}

static void build_field(const struct row *row, const struct cm_message *message, uint8_t *mad)
{
	const uint8_t *member = (const uint8_t *)message + row->member;
	uint32_t bytes = row->bits / 8;

	if (is_number(row)) {
		store_bits(mad, row->at, row->bits, load_member(row, message) >> row->shift);
		return;
	}
	if (row->member == offsetof(struct cm_message, private_data) && message->private_bytes < bytes)
		bytes = message->private_bytes;
	if (row->member == offsetof(struct cm_message, info) && message->info_bytes < bytes)
		bytes = message->info_bytes;
	memcpy(mad + row->at / 8, member, bytes);
}

void cm_mad_build(const struct cm_message *message, uint8_t mad[CM_MAD_BYTES])
{
	const struct kind_row *kind = kind_row(message->kind);
	uint32_t i;

	memset(mad, 0, CM_MAD_BYTES);
	mad[BASE_VERSION_AT] = BASE_VERSION;
	mad[CLASS_AT] = CLASS;
	mad[CLASS_VERSION_AT] = CLASS_VERSION;
	mad[METHOD_AT] = METHOD_SEND;
	store_be16(mad + ATTRIBUTE_AT, message->kind);
	for (i = 0; i < kind->row_count; i++)
		build_field(&kind->rows[i], message, mad);
}

uint32_t cm_mad_private_bytes(uint8_t kind)
{
	const struct kind_row *row = kind_row(kind);

	return row->row_count ? row->rows[row->row_count - 1].bits / 8u : 0;
}

const char *cm_mad_kind_name(uint8_t kind)
{
	return kind_row(kind)->name;
}

const char *cm_mad_kind_short(uint8_t kind)
{
	return kind_row(kind)->brief;
}

const char *cm_mad_fault_name(enum cm_mad_fault fault)
{
	static const char *const names[CM_MAD_FAULTS] = {
		[CM_MAD_OK] = "ok",
		[CM_MAD_LENGTH] = "length",
		[CM_MAD_BASE_VERSION] = "base_version",
		[CM_MAD_CLASS] = "class",
		[CM_MAD_CLASS_VERSION] = "class_version",
		[CM_MAD_METHOD] = "method",
		[CM_MAD_ATTRIBUTE] = "attribute",
	};

	return fault < CM_MAD_FAULTS ? names[fault] : "unknown";
}

/* The name of a number; `service` has room for the name of a service. */
static const char *name_number(enum naming naming, uint64_t number, char service[CM_SERVICE_MAX_BYTES])
{
	switch (naming) {
	case NO_NAME:
		return NULL;
	case NAME_SERVICE:
		return cm_service_is_ip(number) ? cm_service_print(number, service, CM_SERVICE_MAX_BYTES) : NULL;
	case NAME_REASON:
		return cm_names_reason((uint16_t)number);
	case NAME_APR_STATUS:
		return cm_names_apr_status((uint8_t)number);
	case NAME_SIDR_STATUS:
		return cm_names_sidr_status((uint8_t)number);
	case NAME_ANSWERED_BY_REJ:
		return cm_names_answered(CM_REJ, (uint8_t)number);
	case NAME_ANSWERED_BY_MRA:
		return cm_names_answered(CM_MRA, (uint8_t)number);
	}
	return NULL;
}

static void visit_ip(const struct cm_ip *ip, cm_mad_visit *visit, void *context)
{
	struct cm_field field = { .name = "ip.version", .number = ip->version };
	uint8_t addr[16];

	visit(context, &field);
	field = (struct cm_field){ .name = "ip.ip_version", .number = ip->ip_version };
	visit(context, &field);
	field = (struct cm_field){ .name = "ip.source_port", .number = ip->source_port };
	visit(context, &field);
	field = (struct cm_field){ .name = "ip.source", .form = CM_GID, .bytes = addr, .byte_count = 16 };
	cm_ip_addr(ip, ip->source, addr);
	visit(context, &field);
	field.name = "ip.dest";
	cm_ip_addr(ip, ip->dest, addr);
	visit(context, &field);
}

void cm_mad_fields(const struct cm_message *message, cm_mad_visit *visit, void *context)
{
	const struct kind_row *kind = kind_row(message->kind);
	const struct row *row;
	char service[CM_SERVICE_MAX_BYTES];
	struct cm_field field;
	struct cm_ip ip;

	for (row = kind->rows; row < kind->rows + kind->row_count; row++) {
		if (!row->name)
			continue;
		field = (struct cm_field){ .name = row->name, .form = row->form };
		if (is_number(row)) {
			field.number = load_member(row, message);
			field.text = name_number(row->naming, field.number, service);
			field.digits = (row->bits + row->shift + 3u) / 4;
		} else {
			field.bytes = (const uint8_t *)message + row->member;
			field.byte_count = row->bits / 8;
		}
		if (row->member == offsetof(struct cm_message, info))
			field.byte_count = message->info_bytes;
		if (row->member == offsetof(struct cm_message, private_data) && cm_ip_find(message, &ip)) {
			visit_ip(&ip, visit, context);
			field.bytes += CM_IP_BYTES;
			field.byte_count -= CM_IP_BYTES;
		}
		visit(context, &field);
	}
}
