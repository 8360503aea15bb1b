/* mad.h - a message of connection management as one plain value: parse it, build it, name its fields */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message travels as one MAD, 256 bytes, in a UD SEND_ONLY to QP 1 (U-1). The same value is made by parsing bytes and
 * by the manager that wants bytes sent. Where a field lies is told by one table (mad.c), from which parsing, building
 * and printing follow.
 *   1. cm_mad_parse(): judges the header (U-2), then fills the value
 *   2. cm_mad_build(): writes all 256 bytes; what no field covers is zero (C-1)
 */
#ifndef CM_MAD_H
#define CM_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CM_MAD_BYTES 256u
#define CM_QPN 1u
#define CM_QKEY 0x80010000u
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
	uint32_t ece_options; /* REQ, REP, SIDR_REP: the attribute modifier (C-32) */
	uint32_t vendor_id;   /* REQ, REP, SIDR_REP: 24 bits */
	uint32_t local_id;    /* the sender's; of SIDR the request's */
	uint32_t remote_id;   /* the receiver's */
	uint64_t service_id;
	uint64_t ca_guid;
	uint32_t qkey;
	uint32_t qpn; /* REQ, REP, SIDR_REP: the sender's; DREQ, LAP: the receiver's */
	uint32_t eecn, remote_eecn;
	uint32_t psn;
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

/* What a REJ or MRA is about; to a REJ 2 means none, to an MRA LAP. */
enum cm_answered { CM_ANSWERED_REQ, CM_ANSWERED_REP, CM_ANSWERED_NONE, CM_ANSWERED_LAP = CM_ANSWERED_NONE };

/* Why bytes are no message of CM, in the order of judgement (U-2). */
enum cm_mad_fault {
	CM_MAD_OK,
	CM_MAD_LENGTH,        /* not 256 bytes */
	CM_MAD_BASE_VERSION,  /* not 1 */
	CM_MAD_CLASS,         /* not 7 */
	CM_MAD_CLASS_VERSION, /* not 2; the value is complete: a REQ may be answered REJ 31 */
	CM_MAD_METHOD,        /* not Send */
	CM_MAD_ATTRIBUTE,     /* none of enum cm_kind */
	CM_MAD_FAULTS
};

/* Reads nothing beyond bytes. Unless it is OK or CLASS_VERSION, *message is undefined. */
enum cm_mad_fault cm_mad_parse(const uint8_t *mad, uint32_t bytes, struct cm_message *message);

/* Fields wider than theirs on the wire are cut; private_bytes and info_bytes are at most what the kind has room for. */
void cm_mad_build(const struct cm_message *message, uint8_t mad[CM_MAD_BYTES]);

/* Bytes of private data a kind has room for; 0: no such kind. */
uint32_t cm_mad_private_bytes(uint8_t kind);

/* "ConnectRequest" for CM_REQ, as people and tshark call it; never NULL. */
const char *cm_mad_kind_name(uint8_t kind);
/* "REQ"; never NULL. */
const char *cm_mad_kind_short(uint8_t kind);
/* "class_version"; never NULL. */
const char *cm_mad_fault_name(enum cm_mad_fault fault);
/* "invalid_service_id" for REJ 8, never NULL: 34 reasons have names. */
const char *cm_mad_reason_name(uint16_t reason);
/* "loaded" for APR 0. */
const char *cm_mad_apr_status_name(uint8_t status);
/* "valid" for SIDR_REP 0. */
const char *cm_mad_sidr_status_name(uint8_t status);

/* Kind and fields as text, "ConnectRequest local_id=0x... qpn=0x..."; addresses of IP CM (C-5) too. Returns out. */
char *cm_mad_print(const struct cm_message *message, char *out, size_t out_bytes);

/* Calls visit(context, name, value, bytes) for each field of the kind in the order of the wire: for JSON and tests. */
typedef void cm_mad_visit(void *context, const char *name, const void *value, uint32_t value_bytes);
void cm_mad_fields(const struct cm_message *message, cm_mad_visit *visit, void *context);

/* The header of IP addressing at the beginning of a REQ's or SIDR_REQ's private data (C-5). */
#define CM_IP_BYTES 36u

struct cm_ip {
	uint8_t version;    /* 0 */
	uint8_t ip_version; /* 4 or 6 */
	uint16_t source_port;
	uint8_t source[16], dest[16]; /* as they are on the wire: IPv4 in the last four */
};

void cm_ip_parse(const uint8_t *private_data, struct cm_ip *ip);
void cm_ip_build(const struct cm_ip *ip, uint8_t *private_data);

#endif
