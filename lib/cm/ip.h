/* ip.h - the header of IP addressing, with which the private data of a REQ or SIDR_REQ to an IP service begin (C-5) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_IP_H
#define CM_IP_H

#include "cm/message.h"

/* Bytes of that header. */
#define CM_IP_BYTES 36u
#define CM_IP_VERSION 0u

struct cm_ip {
	uint8_t version;    /* CM_IP_VERSION */
	uint8_t ip_version; /* 4 or 6 */
	uint16_t source_port;
	uint8_t source[16], dest[16]; /* addresses as on the wire: IPv4 in the last four bytes */
};

/* Parse and build exactly CM_IP_BYTES; nothing is checked. */
void cm_ip_parse(const uint8_t *private_data, struct cm_ip *ip);
void cm_ip_build(const struct cm_ip *ip, uint8_t *private_data);

/* Does the message have a header of IP addressing, of a version that we know? */
bool cm_ip_find(const struct cm_message *message, struct cm_ip *ip);
/* Converts an address of the header to the form of GIDs, with IPv4 mapped. */
void cm_ip_addr(const struct cm_ip *ip, const uint8_t wire[16], uint8_t addr[16]);

#endif
