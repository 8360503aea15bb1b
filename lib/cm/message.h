/* message.h - a message of connection management as one plain value */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_MESSAGE_H
#define CM_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#define CM_INFO_MAX_BYTES 72u
#define CM_PRIVATE_MAX_BYTES 224u

/* Attribute ids (C-1). */
enum cm_kind {
	CM_REQ = 0x10,
	CM_MRA = 0x11,
	CM_REJ = 0x12,
	CM_REP = 0x13,
	CM_RTU = 0x14,
	CM_DREQ = 0x15,
	CM_DREP = 0x16,
	CM_SIDR_REQ = 0x17,
	CM_SIDR_REP = 0x18,
	CM_LAP = 0x19,
	CM_APR = 0x1A,
	CM_KIND_FIRST = CM_REQ,
	CM_KIND_LAST = CM_APR
};

/* One way between two ports, as REQ and LAP tell it. */
struct cm_way {
	uint16_t local_lid, remote_lid; /* over RoCE FFFFh, not looked at */
	uint8_t local_gid[16], remote_gid[16];
	uint32_t flow_label; /* 20 bits */
	uint8_t rate, traffic_class, hop_limit, sl, subnet_local;
	uint8_t ack_timeout; /* code, 5 bits */
};

/* In host byte order; which members count is told by the kind. */
struct cm_message {
	uint8_t kind; /* enum cm_kind */
	uint64_t transaction_id;
	uint32_t ece_options; /* REQ, REP, SIDR_REP: the attribute modifier */
	uint32_t vendor_id;   /* REQ, REP, SIDR_REP: 24 bits */
	uint32_t local_id;    /* the sender's; of SIDR the request's */
	uint32_t remote_id;   /* the receiver's */
	uint64_t service_id;
	uint64_t ca_guid;
	uint32_t qkey;
	uint32_t qpn; /* REQ, REP, SIDR_REP: the sender's; DREQ, LAP: the receiver's */
	uint32_t eecn, remote_eecn;
	uint32_t psn; /* REQ, REP: with which the receiver of the message begins to send, not its sender */
	uint16_t pkey;
	uint8_t responder_resources, initiator_depth;
	uint8_t remote_response_timeout, local_response_timeout; /* codes: 4.096 us x 2^n */
	uint8_t transport, extended_transport;
	uint8_t flow_control, retry_count, rnr_retry_count, srq;
	uint8_t path_mtu; /* code 1 ... 5: 256 ... 4096 */
	uint8_t rdc_exists, max_cm_retries, sap_supported;
	uint8_t target_ack_delay, failover;
	uint8_t answered;        /* REJ, MRA: which message it is about, enum cm_answered */
	uint8_t service_timeout; /* MRA: code */
	uint8_t status;          /* SIDR_REP, APR */
	uint16_t reason;         /* REJ */
	uint8_t info_bytes;      /* of info that count: 0 ... 72; one that tells more is cut to 72 (C-25) */
	uint8_t info[CM_INFO_MAX_BYTES];
	struct cm_way primary, alternate; /* REQ; LAP: the alternate one */
	uint8_t private_bytes;            /* all that the kind has room for; to build: the rest is zero */
	uint8_t private_data[CM_PRIVATE_MAX_BYTES];
};

/* A path MTU and its code. */
static inline uint8_t cm_mtu_code(uint32_t mtu_bytes)
{
	return (uint8_t)(__builtin_ctz(mtu_bytes) - 7);
}

static inline uint32_t cm_mtu_bytes(uint8_t code)
{
	return 128u << code;
}

/* What a REJ or MRA is about; to a REJ 2 means none, to an MRA LAP. */
enum cm_answered { CM_ANSWERED_REQ, CM_ANSWERED_REP, CM_ANSWERED_NONE, CM_ANSWERED_LAP = CM_ANSWERED_NONE };

#endif
