/* packets.h - made-up packets for pair_request() and pair_respond() */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each is right for its opcode, so that a test says only what it makes wrong:
 *   packet = send_packet(OP_SEND_MIDDLE, 5, 1024);
 *   packet.pad_bytes = 1;
 *   pair_request(pair, packet);
 */
#ifndef TEST_PACKETS_H
#define TEST_PACKETS_H

#include <string.h>

#include "pair.h"

#define PACKETS_DATA 0xD7 /* every byte of a made-up payload */

static inline const uint8_t *packets_data(void)
{
	static uint8_t data[8192];

	if (data[0] == 0)
		memset(data, PACKETS_DATA, sizeof(data));
	return data;
}

/* A SEND of any position, or any other packet with only a BTH and a payload. */
static inline struct wire_packet send_packet(uint8_t opcode, uint32_t psn, uint32_t bytes)
{
	return (struct wire_packet){
		.opcode = opcode,
		.flags = WIRE_ACKREQ,
		.psn = psn & 0xFFFFFF,
		.pad_bytes = packet_pad_bytes(bytes),
		.payload_bytes = bytes,
		.payload = packets_data(),
	};
}

/* Into B's memory at offset; va, rkey and dma_length count on FIRST and ONLY. */
static inline struct wire_packet write_packet(const struct pair *pair, uint8_t opcode, uint32_t psn, uint64_t offset,
					      uint32_t dma_length, uint32_t bytes)
{
	struct wire_packet packet = send_packet(opcode, psn, bytes);

	packet.va = (uintptr_t)pair->side[B].memory + offset;
	packet.rkey = pair->side[B].key;
	packet.dma_length = dma_length;
	return packet;
}

static inline struct wire_packet read_packet(const struct pair *pair, uint32_t psn, uint64_t offset, uint32_t bytes)
{
	return write_packet(pair, OP_READ_REQUEST, psn, offset, bytes, 0);
}

static inline struct wire_packet fetch_add_packet(const struct pair *pair, uint32_t psn, uint64_t offset, uint64_t add)
{
	struct wire_packet packet = write_packet(pair, OP_FETCH_ADD, psn, offset, 0, 0);

	packet.swap_add = add;
	return packet;
}

static inline struct wire_packet compare_swap_packet(const struct pair *pair, uint32_t psn, uint64_t offset,
						     uint64_t compare, uint64_t swap)
{
	struct wire_packet packet = write_packet(pair, OP_COMPARE_SWAP, psn, offset, 0, 0);

	packet.compare = compare;
	packet.swap_add = swap;
	return packet;
}

/* feth: what is to be flushed, and how far. */
static inline struct wire_packet flush_packet(const struct pair *pair, uint32_t psn, uint64_t offset, uint32_t bytes,
					      uint32_t feth)
{
	struct wire_packet packet = write_packet(pair, OP_FLUSH, psn, offset, bytes, 0);

	packet.feth = feth;
	return packet;
}

#define SYNDROME_PLAIN_ACK 0x1F
#define SYNDROME_RNR 0x20 /* plus the timer code */
#define SYNDROME_SEQUENCE 0x60
#define SYNDROME_INVALID 0x61
#define SYNDROME_ACCESS 0x62
#define SYNDROME_OPERATIONAL 0x63

static inline struct wire_packet ack_packet(uint32_t psn, uint8_t syndrome, uint32_t msn)
{
	return (struct wire_packet){
		.opcode = OP_ACKNOWLEDGE,
		.psn = psn & 0xFFFFFF,
		.syndrome = syndrome,
		.msn = msn,
	};
}

/* With a plain AETH where the opcode has one. */
static inline struct wire_packet response_packet(uint8_t opcode, uint32_t psn, uint32_t bytes)
{
	struct wire_packet packet = send_packet(opcode, psn, bytes);

	packet.flags = 0;
	packet.syndrome = SYNDROME_PLAIN_ACK;
	packet.msn = 1;
	return packet;
}

static inline struct wire_packet atomic_ack_packet(uint32_t psn, uint64_t original)
{
	struct wire_packet packet = response_packet(OP_ATOMIC_ACKNOWLEDGE, psn, 0);

	packet.original = original;
	return packet;
}

#endif
