/* fields.h - where the fields lie, written down a second time: what mad.c says is compared with it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_CM_FIELDS_H
#define TEST_CM_FIELDS_H

#include "cm/mad.h"

/* Bits `first` to `first + bits - 1` of the number are at this byte and bit of the 232 bytes behind the header. */
struct place {
	uint8_t kind;
	int byte;
	uint32_t bit, bits, first;
	const char *name;
	size_t member, member_bytes;
};

#define PIECE(kind, byte, bit, bits, first, of)                                     \
	{                                                                           \
		kind, byte, bit, bits, first, #of, offsetof(struct cm_message, of), \
			sizeof(((struct cm_message *)0)->of)                        \
	}
#define P(kind, byte, bit, bits, of) PIECE(kind, byte, bit, bits, 0, of)

/* A row is read across. */
/* clang-format off */
static const struct place places[] = {
	P(CM_REQ, -16, 0, 64, transaction_id), P(CM_REQ, -4, 0, 32, ece_options),
	P(CM_REQ, 0, 0, 32, local_id), P(CM_REQ, 5, 0, 24, vendor_id), P(CM_REQ, 8, 0, 64, service_id),
	P(CM_REQ, 16, 0, 64, ca_guid), P(CM_REQ, 28, 0, 32, qkey), P(CM_REQ, 32, 0, 24, qpn),
	P(CM_REQ, 35, 0, 8, responder_resources), P(CM_REQ, 36, 0, 24, eecn), P(CM_REQ, 39, 0, 8, initiator_depth),
	P(CM_REQ, 40, 0, 24, remote_eecn), P(CM_REQ, 43, 0, 5, remote_response_timeout),
	P(CM_REQ, 43, 5, 2, transport), P(CM_REQ, 43, 7, 1, flow_control), P(CM_REQ, 44, 0, 24, psn),
	P(CM_REQ, 47, 0, 5, local_response_timeout), P(CM_REQ, 47, 5, 3, retry_count), P(CM_REQ, 48, 0, 16, pkey),
	P(CM_REQ, 50, 0, 4, path_mtu), P(CM_REQ, 50, 4, 1, rdc_exists), P(CM_REQ, 50, 5, 3, rnr_retry_count),
	P(CM_REQ, 51, 0, 4, max_cm_retries), P(CM_REQ, 51, 4, 1, srq), P(CM_REQ, 51, 5, 3, extended_transport),
	P(CM_REQ, 52, 0, 16, primary.local_lid), P(CM_REQ, 54, 0, 16, primary.remote_lid),
	P(CM_REQ, 56, 0, 128, primary.local_gid), P(CM_REQ, 72, 0, 128, primary.remote_gid),
	P(CM_REQ, 88, 0, 20, primary.flow_label), P(CM_REQ, 91, 2, 6, primary.rate),
	P(CM_REQ, 92, 0, 8, primary.traffic_class), P(CM_REQ, 93, 0, 8, primary.hop_limit),
	P(CM_REQ, 94, 0, 4, primary.sl), P(CM_REQ, 94, 4, 1, primary.subnet_local),
	P(CM_REQ, 95, 0, 5, primary.ack_timeout),
	P(CM_REQ, 96, 0, 16, alternate.local_lid), P(CM_REQ, 98, 0, 16, alternate.remote_lid),
	P(CM_REQ, 100, 0, 128, alternate.local_gid), P(CM_REQ, 116, 0, 128, alternate.remote_gid),
	P(CM_REQ, 132, 0, 20, alternate.flow_label), P(CM_REQ, 135, 2, 6, alternate.rate),
	P(CM_REQ, 136, 0, 8, alternate.traffic_class), P(CM_REQ, 137, 0, 8, alternate.hop_limit),
	P(CM_REQ, 138, 0, 4, alternate.sl), P(CM_REQ, 138, 4, 1, alternate.subnet_local),
	P(CM_REQ, 139, 0, 5, alternate.ack_timeout), P(CM_REQ, 139, 5, 1, sap_supported),
	P(CM_REQ, 140, 0, 92 * 8, private_data),

	P(CM_MRA, -16, 0, 64, transaction_id), P(CM_MRA, 0, 0, 32, local_id), P(CM_MRA, 4, 0, 32, remote_id),
	P(CM_MRA, 8, 0, 2, answered), P(CM_MRA, 9, 0, 5, service_timeout), P(CM_MRA, 10, 0, 222 * 8, private_data),

	P(CM_REJ, -16, 0, 64, transaction_id), P(CM_REJ, 0, 0, 32, local_id), P(CM_REJ, 4, 0, 32, remote_id),
	P(CM_REJ, 8, 0, 2, answered), P(CM_REJ, 10, 0, 16, reason), P(CM_REJ, 84, 0, 148 * 8, private_data),

	P(CM_REP, -16, 0, 64, transaction_id), P(CM_REP, -4, 0, 32, ece_options), P(CM_REP, 0, 0, 32, local_id),
	P(CM_REP, 4, 0, 32, remote_id), P(CM_REP, 8, 0, 32, qkey), P(CM_REP, 12, 0, 24, qpn),
	PIECE(CM_REP, 15, 0, 8, 16, vendor_id), PIECE(CM_REP, 19, 0, 8, 8, vendor_id),
	PIECE(CM_REP, 23, 0, 8, 0, vendor_id), P(CM_REP, 16, 0, 24, eecn), P(CM_REP, 20, 0, 24, psn),
	P(CM_REP, 24, 0, 8, responder_resources), P(CM_REP, 25, 0, 8, initiator_depth),
	P(CM_REP, 26, 0, 5, target_ack_delay), P(CM_REP, 26, 5, 2, failover), P(CM_REP, 26, 7, 1, flow_control),
	P(CM_REP, 27, 0, 3, rnr_retry_count), P(CM_REP, 27, 3, 1, srq), P(CM_REP, 28, 0, 64, ca_guid),
	P(CM_REP, 36, 0, 196 * 8, private_data),

	P(CM_RTU, -16, 0, 64, transaction_id), P(CM_RTU, 0, 0, 32, local_id), P(CM_RTU, 4, 0, 32, remote_id),
	P(CM_RTU, 8, 0, 224 * 8, private_data),

	P(CM_DREQ, -16, 0, 64, transaction_id), P(CM_DREQ, 0, 0, 32, local_id), P(CM_DREQ, 4, 0, 32, remote_id),
	P(CM_DREQ, 8, 0, 24, qpn), P(CM_DREQ, 12, 0, 220 * 8, private_data),

	P(CM_DREP, -16, 0, 64, transaction_id), P(CM_DREP, 0, 0, 32, local_id), P(CM_DREP, 4, 0, 32, remote_id),
	P(CM_DREP, 8, 0, 224 * 8, private_data),

	P(CM_SIDR_REQ, -16, 0, 64, transaction_id), P(CM_SIDR_REQ, 0, 0, 32, local_id), P(CM_SIDR_REQ, 4, 0, 16, pkey),
	P(CM_SIDR_REQ, 8, 0, 64, service_id), P(CM_SIDR_REQ, 16, 0, 216 * 8, private_data),

	P(CM_SIDR_REP, -16, 0, 64, transaction_id), P(CM_SIDR_REP, -4, 0, 32, ece_options),
	P(CM_SIDR_REP, 0, 0, 32, local_id), P(CM_SIDR_REP, 4, 0, 8, status),
	PIECE(CM_SIDR_REP, 6, 0, 16, 8, vendor_id), PIECE(CM_SIDR_REP, 11, 0, 8, 0, vendor_id),
	P(CM_SIDR_REP, 8, 0, 24, qpn), P(CM_SIDR_REP, 12, 0, 64, service_id), P(CM_SIDR_REP, 20, 0, 32, qkey),
	P(CM_SIDR_REP, 96, 0, 136 * 8, private_data),

	P(CM_LAP, -16, 0, 64, transaction_id), P(CM_LAP, 0, 0, 32, local_id), P(CM_LAP, 4, 0, 32, remote_id),
	P(CM_LAP, 12, 0, 24, qpn), P(CM_LAP, 15, 0, 5, remote_response_timeout),
	P(CM_LAP, 20, 0, 16, alternate.local_lid), P(CM_LAP, 22, 0, 16, alternate.remote_lid),
	P(CM_LAP, 24, 0, 128, alternate.local_gid), P(CM_LAP, 40, 0, 128, alternate.remote_gid),
	P(CM_LAP, 56, 0, 20, alternate.flow_label), P(CM_LAP, 59, 0, 8, alternate.traffic_class),
	P(CM_LAP, 60, 0, 8, alternate.hop_limit), P(CM_LAP, 61, 2, 6, alternate.rate),
	P(CM_LAP, 62, 0, 4, alternate.sl), P(CM_LAP, 62, 4, 1, alternate.subnet_local),
	P(CM_LAP, 63, 0, 5, alternate.ack_timeout), P(CM_LAP, 64, 0, 168 * 8, private_data),

	P(CM_APR, -16, 0, 64, transaction_id), P(CM_APR, 0, 0, 32, local_id), P(CM_APR, 4, 0, 32, remote_id),
	P(CM_APR, 9, 0, 8, status), P(CM_APR, 84, 0, 148 * 8, private_data),
};

/* Additional information: its length, then 72 bytes of it. */
static const struct {
	uint8_t kind;
	uint32_t length_byte, length_bits, byte;
} infos[] = {
	{ CM_REJ, 9, 7, 12 },
	{ CM_APR, 8, 8, 12 },
	{ CM_SIDR_REP, 5, 8, 24 },
};
/* clang-format on */

#define PLACES (sizeof(places) / sizeof(places[0]))
#define INFOS (sizeof(infos) / sizeof(infos[0]))

#endif
