/* mad.h - a message of connection management as one plain value: parse it, build it, name its fields */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A message travels as one MAD of 256 bytes in a UD SEND_ONLY to QP 1 (U-1). A received MAD is parsed to a struct
 * cm_message, and the manager fills in such a struct to send a message. One table (mad.c) tells where each field is;
 * parsing, building and printing use it.
 *   1. cm_mad_parse(): judges the header (U-2), then fills the struct
 *   2. cm_mad_build(): writes all 256 bytes; bytes that belong to no field are zero (C-1)
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

/* Why bytes are not a message of CM, in the order in which they are judged (U-2). */
enum cm_mad_fault {
	CM_MAD_OK,
	CM_MAD_LENGTH,        /* not 256 bytes */
	CM_MAD_BASE_VERSION,  /* not 1 */
	CM_MAD_CLASS,         /* not 7 */
	CM_MAD_CLASS_VERSION, /* class version not 2; *message is filled in, so that a REQ can be answered by REJ 31 */
	CM_MAD_METHOD,        /* not Send */
	CM_MAD_ATTRIBUTE,     /* none of enum cm_kind */
	CM_MAD_FAULTS
};

/* These read a MAD that was not judged yet, to find its manager: its kind, two ids, and the sender's QPN. */
uint8_t cm_mad_kind(const uint8_t mad[CM_MAD_BYTES]);
uint32_t cm_mad_local_id(const uint8_t mad[CM_MAD_BYTES]);
uint32_t cm_mad_remote_id(const uint8_t mad[CM_MAD_BYTES]);
uint32_t cm_mad_sender_qpn(const uint8_t mad[CM_MAD_BYTES]); /* only in a REQ */

/*
 * Reads nothing beyond `bytes`. Fills in *message for CM_MAD_OK and CM_MAD_CLASS_VERSION; for other faults *message is
 * undefined. With CM_MAD_CLASS_VERSION the kind is 0 if the message is no Send of a known kind. info is zero beyond
 * info_bytes.
 */
enum cm_mad_fault cm_mad_parse(const uint8_t *mad, uint32_t bytes, struct cm_message *message);

/*
 * Writes all 256 bytes. A number that is wider than its field is cut, and so are private_bytes and info_bytes that
 * exceed the room of the kind.
 */
void cm_mad_build(const struct cm_message *message, uint8_t mad[CM_MAD_BYTES]);

/* Returns how many bytes of private data a kind has room for, or 0 if there is no such kind. */
uint32_t cm_mad_private_bytes(uint8_t kind);

/* "ConnectRequest" for CM_REQ, as people and tshark call it; never NULL. */
const char *cm_mad_kind_name(uint8_t kind);
/* "REQ"; never NULL. */
const char *cm_mad_kind_short(uint8_t kind);
/* "class_version"; never NULL. */
const char *cm_mad_fault_name(enum cm_mad_fault fault);
enum cm_form { CM_DECIMAL, CM_HEX, CM_GID, CM_BYTES };

/* A field with its value. Pointers are valid during the visit. */
struct cm_field {
	const char *name; /* "local_id", "primary.local_gid", "ip.source" */
	enum cm_form form;
	uint64_t number;      /* DECIMAL, HEX */
	const char *text;     /* name of the number: "invalid_service_id", "tcp:7174"; NULL: it has none */
	const uint8_t *bytes; /* GID: 16 bytes, IPv4 mapped; BYTES */
	uint32_t byte_count;
	uint32_t digits; /* HEX: how many digits the field has */
};

/*
 * Calls visit for each field of the kind, in the order of the wire. If the private data of a REQ or SIDR_REQ to an IP
 * service begin with addresses (C-5), those come as fields "ip...", and private_data is what follows.
 */
typedef void cm_mad_visit(void *context, const struct cm_field *field);
void cm_mad_fields(const struct cm_message *message, cm_mad_visit *visit, void *context);

#endif
