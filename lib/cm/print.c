/* print.c - what the numbers of connection management are called, and a message as one line of text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/print.h"

#include <inttypes.h>
#include <stdio.h>

#include "cm/mad.h"

/* Never NULL. */
static const char *name_at(const char *const *names, uint32_t count, uint32_t number)
{
	return number < count && names[number] ? names[number] : "unknown";
}

#define NAME_AT(names, number) name_at(names, sizeof(names) / sizeof((names)[0]), number)

static const char *const fault_names[CM_MAD_FAULTS] = {
	[CM_MAD_OK] = "ok",
	[CM_MAD_LENGTH] = "length",
	[CM_MAD_BASE_VERSION] = "base_version",
	[CM_MAD_CLASS] = "class",
	[CM_MAD_CLASS_VERSION] = "class_version",
	[CM_MAD_METHOD] = "method",
	[CM_MAD_ATTRIBUTE] = "attribute",
};

static const char *const reason_names[] = {
	[1] = "no_qp",
	[2] = "no_eec",
	[3] = "no_resources",
	[4] = "timeout",
	[5] = "unsupported_request",
	[6] = "invalid_communication_id",
	[7] = "invalid_communication_instance",
	[8] = "invalid_service_id",
	[9] = "invalid_transport_type",
	[10] = "stale_connection",
	[11] = "rdc_does_not_exist",
	[12] = "primary_gid_rejected",
	[13] = "primary_lid_rejected",
	[14] = "invalid_primary_sl",
	[15] = "invalid_primary_traffic_class",
	[16] = "invalid_primary_hop_limit",
	[17] = "invalid_primary_rate",
	[18] = "alternate_gid_rejected",
	[19] = "alternate_lid_rejected",
	[20] = "invalid_alternate_sl",
	[21] = "invalid_alternate_traffic_class",
	[22] = "invalid_alternate_hop_limit",
	[23] = "invalid_alternate_rate",
	[24] = "port_and_cm_redirection",
	[25] = "port_redirection",
	[26] = "invalid_path_mtu",
	[27] = "insufficient_responder_resources",
	[28] = "consumer_reject",
	[29] = "rnr_retry_count_rejected",
	[30] = "duplicate_local_communication_id",
	[31] = "unsupported_class_version",
	[32] = "invalid_primary_flow_label",
	[33] = "invalid_alternate_flow_label",
	[35] = "vendor_option_not_supported",
};

static const char *const apr_status_names[] = {
	"loaded",
	"invalid_communication_instance",
	"not_supported",
	"port_rejected",
	"redirect",
	"is_the_current_path",
	"qpn_mismatch",
	"lid_rejected",
	"gid_rejected",
	"flow_label_rejected",
	"traffic_class_rejected",
	"hop_limit_rejected",
	"rate_rejected",
	"sl_rejected",
};

static const char *const sidr_status_names[] = {
	"valid", "service_id_not_supported", "rejected", "no_qp", "redirected", "class_version_not_supported",
};

const char *cm_mad_fault_name(enum cm_mad_fault fault)
{
	return NAME_AT(fault_names, fault);
}

const char *cm_mad_reason_name(uint16_t reason)
{
	return NAME_AT(reason_names, reason);
}

const char *cm_mad_apr_status_name(uint8_t status)
{
	return NAME_AT(apr_status_names, status);
}

const char *cm_mad_sidr_status_name(uint8_t status)
{
	return NAME_AT(sidr_status_names, status);
}

const char *cm_mad_answered_name(uint8_t kind, uint8_t answered)
{
	static const char *const by_rej[] = { "REQ", "REP", "none" };
	static const char *const by_mra[] = { "REQ", "REP", "LAP" };

	return kind == CM_REJ ? NAME_AT(by_rej, answered) : NAME_AT(by_mra, answered);
}

char *cm_service_print(uint64_t service_id, char *out, size_t out_bytes)
{
	uint32_t space = service_id >> 16 & 0xFF;

	if (!cm_service_is_ip(service_id))
		snprintf(out, out_bytes, "0x%016" PRIx64, service_id);
	else if (space == CM_SPACE_TCP || space == CM_SPACE_UDP)
		snprintf(out, out_bytes, "%s:%u", space == CM_SPACE_TCP ? "tcp" : "udp", cm_service_port(service_id));
	else
		snprintf(out, out_bytes, "space_%02x:%u", space, cm_service_port(service_id));
	return out;
}

static bool is_zero(const struct cm_field *field)
{
	uint32_t i;

	for (i = 0; i < field->byte_count; i++) {
		if (field->bytes[i] != 0)
			return false;
	}
	return field->number == 0;
}

static void print_field(void *context, const struct cm_field *field)
{
	struct wire_line *line = context;
	uint32_t i, count = field->byte_count;

	if (is_zero(field) && !field->text)
		return;
	wire_print_append(line, " %s=", field->name);
	switch (field->form) {
	case CM_DECIMAL:
		wire_print_append(line, "%" PRIu64, field->number);
		break;
	case CM_HEX:
		wire_print_append(line, "0x%0*" PRIx64, (int)field->digits, field->number);
		break;
	case CM_GID:
		wire_print_addr(line, field->bytes);
		break;
	case CM_BYTES:
		while (count > 0 && field->bytes[count - 1] == 0)
			count--;
		for (i = 0; i < count; i++)
			wire_print_append(line, "%02x", field->bytes[i]);
		break;
	}
	if (field->text)
		wire_print_append(line, "(%s)", field->text);
}

char *cm_mad_print(const struct cm_message *message, char *out, size_t out_bytes)
{
	struct wire_line line = { out, out_bytes, 0 };

	wire_print_append(&line, "%s", cm_mad_kind_name(message->kind));
	cm_mad_fields(message, print_field, &line);
	return out;
}
