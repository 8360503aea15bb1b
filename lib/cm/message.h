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

/* One path between two ports, as REQ and LAP describe it. */
struct cm_path {
	uint16_t local_lid, remote_lid; /* over RoCE FFFFh, and ignored */
	uint8_t local_gid[16], remote_gid[16];
	uint32_t flow_label; /* 20 bits */
	uint8_t rate, traffic_class, hop_limit, sl, subnet_local;
	uint8_t ack_timeout; /* a code of 5 bits */
};

/* All in host byte order. The kind tells which members are valid. */
struct cm_message {
	uint8_t kind; /* enum cm_kind */
	uint64_t transaction_id;
	uint32_t ece_options; /* REQ, REP, SIDR_REP: the attribute modifier */
	uint32_t vendor_id;   /* REQ, REP, SIDR_REP: 24 bits */
	uint32_t local_id;    /* the sender's id; in a SIDR_REQ or SIDR_REP the id of the request */
	uint32_t remote_id;   /* the receiver's id */
	uint64_t service_id;
	uint64_t ca_guid;
	uint32_t qkey;
	uint32_t qpn; /* REQ, REP, SIDR_REP: the sender's QPN; DREQ, LAP: the receiver's QPN */
	uint32_t eecn, remote_eecn;
	uint32_t psn; /* REQ, REP: the first PSN that the sender of the message will receive */
	uint16_t pkey;
	uint8_t responder_resources, initiator_depth;
	uint8_t remote_response_timeout, local_response_timeout; /* codes: 4.096 us x 2^n */
	uint8_t transport, extended_transport;
	uint8_t flow_control, retry_count, rnr_retry_count, srq;
	uint8_t path_mtu; /* code 1 ... 5: 256 ... 4096 */
	uint8_t rdc_exists, max_cm_retries, sap_supported;
	uint8_t target_ack_delay, failover;
	uint8_t answered;        /* REJ, MRA: enum cm_answered, the message that it is about */
	uint8_t service_timeout; /* MRA: code */
	uint8_t status;          /* SIDR_REP, APR */
	uint16_t reason;         /* REJ */
	uint8_t info_bytes;      /* valid bytes of info, 0 ... 72; a message that says more is cut to 72 (C-25) */
	uint8_t info[CM_INFO_MAX_BYTES];
	struct cm_path primary, alternate; /* REQ: both paths; LAP: the alternate one */
	uint8_t private_bytes;             /* valid bytes of private data; building sets the other bytes to zero */
	uint8_t private_data[CM_PRIVATE_MAX_BYTES];
};

/* The code of a path MTU, and the path MTU of a code. */
static inline uint8_t cm_mtu_code(uint32_t mtu_bytes)
{
	return (uint8_t)(__builtin_ctz(mtu_bytes) - 7);
}

static inline uint32_t cm_mtu_bytes(uint8_t code)
{
	return 128u << code;
}

/* Which message a REJ or MRA is about. 2 means none in a REJ, and LAP in an MRA. */
enum cm_answered { CM_ANSWERED_REQ, CM_ANSWERED_REP, CM_ANSWERED_NONE, CM_ANSWERED_LAP = CM_ANSWERED_NONE };

#endif
