/* names.c - names of the numbers in REJ, MRA, APR and SIDR_REP */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/names.h"

#include "cm/message.h"

/* Returns "unknown" for a number without a name. */
static const char *name_at(const char *const *names, uint32_t count, uint32_t number)
{
	return number < count && names[number] ? names[number] : "unknown";
}

#define NAME_AT(names, number) name_at(names, sizeof(names) / sizeof((names)[0]), number)

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

const char *cm_names_reason(uint16_t reason)
{
	return NAME_AT(reason_names, reason);
}

const char *cm_names_apr_status(uint8_t status)
{
	return NAME_AT(apr_status_names, status);
}

const char *cm_names_sidr_status(uint8_t status)
{
	return NAME_AT(sidr_status_names, status);
}

const char *cm_names_answered(uint8_t kind, uint8_t answered)
{
	static const char *const by_rej[] = { "REQ", "REP", "none" };
	static const char *const by_mra[] = { "REQ", "REP", "LAP" };

	return kind == CM_REJ ? NAME_AT(by_rej, answered) : NAME_AT(by_mra, answered);
}
