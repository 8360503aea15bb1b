/* ack_packet.h - the packet value of an ACK that is held as two words */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_ACK_PACKET_H
#define TEST_ACK_PACKET_H

#include <string.h>

#include "wire/packet.h"

static inline void packet_of_ack(const struct wire_ack *ack, struct wire_packet *packet)
{
	uint8_t bytes[WIRE_ACK_BYTES] = { 0 };

	memcpy(bytes, ack, sizeof(*ack));
	packet_parse(bytes, sizeof(bytes), packet);
	packet->payload = NULL;
}

#endif
