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

/* What decides whose a message is, before it is looked at: of the 256 bytes of a MAD, whatever they are. */
uint8_t cm_mad_kind(const uint8_t mad[CM_MAD_BYTES]);
uint32_t cm_mad_local_id(const uint8_t mad[CM_MAD_BYTES]);
uint32_t cm_mad_remote_id(const uint8_t mad[CM_MAD_BYTES]);
uint32_t cm_mad_sender_qpn(const uint8_t mad[CM_MAD_BYTES]); /* of a REQ */

/*
 * Reads nothing beyond bytes. Unless it is OK or CLASS_VERSION, *message is undefined. With CLASS_VERSION its kind is 0
 * when it is no Send of a kind we know. Of info only info_bytes are kept, the rest is zero.
 */
enum cm_mad_fault cm_mad_parse(const uint8_t *mad, uint32_t bytes, struct cm_message *message);

/*
 * Writes all 256 bytes. Numbers wider than their fields on the wire are cut, private_bytes and info_bytes beyond what
 * the kind has room for, too.
 */
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
/* What a REJ or MRA is about: "REQ", "REP", "LAP", "none"; never NULL. */
const char *cm_mad_answered_name(uint8_t kind, uint8_t answered);
/* "loaded" for APR 0, never NULL. */
const char *cm_mad_apr_status_name(uint8_t status);
/* "valid" for SIDR_REP 0, never NULL. */
const char *cm_mad_sidr_status_name(uint8_t status);

/* Room that no message exceeds as text. */
#define CM_PRINT_MAX_BYTES 2048u

/*
 * "ConnectRequest transaction_id=0x... local_id=0x... service_id=0x...(tcp:7174) qpn=0x000011 ... private_data=..."
 * Numbers that are 0 and have no name, and private data that is all zero, are left out; so are the zeros at the end of
 * private data. Cut to out_bytes if need be, always ended; returns out.
 */
char *cm_mad_print(const struct cm_message *message, char *out, size_t out_bytes);

enum cm_form { CM_DECIMAL, CM_HEX, CM_GID, CM_BYTES };

/* A field with its value; what it points to is there during the visit. */
struct cm_field {
	const char *name; /* "local_id", "primary.local_gid", "ip.source" */
	enum cm_form form;
	uint64_t number;      /* DECIMAL, HEX */
	const char *text;     /* what the number is called: "invalid_service_id", "tcp:7174"; NULL: it has no name */
	const uint8_t *bytes; /* GID: 16, an address of IPv4 mapped; BYTES */
	uint32_t byte_count;
	uint32_t digits; /* HEX: that the field has room for */
};

/*
 * Calls visit for each field of the kind in the order of the wire. Where a REQ or SIDR_REQ to a service of IP begins
 * its private data with addresses (C-5), they come as fields "ip...", and private_data is what follows them.
 */
typedef void cm_mad_visit(void *context, const struct cm_field *field);
void cm_mad_fields(const struct cm_message *message, cm_mad_visit *visit, void *context);

/* The header of IP addressing at the beginning of a REQ's or SIDR_REQ's private data (C-5). */
#define CM_IP_BYTES 36u
#define CM_IP_VERSION 0u

struct cm_ip {
	uint8_t version;    /* CM_IP_VERSION */
	uint8_t ip_version; /* 4 or 6 */
	uint16_t source_port;
	uint8_t source[16], dest[16]; /* as they are on the wire: IPv4 in the last four */
};

/* Both of CM_IP_BYTES; nothing is judged. */
void cm_ip_parse(const uint8_t *private_data, struct cm_ip *ip);
void cm_ip_build(const struct cm_ip *ip, uint8_t *private_data);

/* Whether a message has such a header, one that we know. */
bool cm_mad_ip(const struct cm_message *message, struct cm_ip *ip);
/* One of its addresses as GIDs and encapsulations have them: IPv4 mapped. */
void cm_ip_addr(const struct cm_ip *ip, const uint8_t wire[16], uint8_t addr[16]);

/* Of a service id: 0000 0000 01pp nnnn, pp the port space, nnnn the destination port. */
enum cm_port_space { CM_SPACE_TCP = 0x06, CM_SPACE_UDP = 0x11 };

#define CM_SERVICE_MAX_BYTES 24u

/* "tcp:7174", or the number of one that is not of IP; returns out. */
char *cm_service_print(uint64_t service_id, char *out, size_t out_bytes);

static inline uint64_t cm_service_id(enum cm_port_space space, uint16_t port)
{
	return 0x01000000ull | (uint64_t)space << 16 | port;
}

static inline bool cm_service_is_ip(uint64_t service_id)
{
	return service_id >> 24 == 1;
}

static inline uint16_t cm_service_port(uint64_t service_id)
{
	return (uint16_t)service_id;
}

#endif
