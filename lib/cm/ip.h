/* ip.h - the addresses that a REQ or SIDR_REQ to a service of IP tells before its private data (C-5) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CM_IP_H
#define CM_IP_H

#include "cm/message.h"

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
bool cm_ip_find(const struct cm_message *message, struct cm_ip *ip);
/* One of its addresses as GIDs and encapsulations have them: IPv4 mapped. */
void cm_ip_addr(const struct cm_ip *ip, const uint8_t wire[16], uint8_t addr[16]);

#endif
