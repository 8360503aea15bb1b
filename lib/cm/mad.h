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

#include "cm/message.h"

#define CM_MAD_BYTES 256u
#define CM_QPN 1u
#define CM_QKEY 0x80010000u

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

#endif
