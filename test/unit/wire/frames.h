/* frames.h - whole frames for the wire tests, in memory of exactly their size */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_WIRE_FRAMES_H
#define TEST_WIRE_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/encap.h"
#include "wire/packet.h"

/* A frame of its own malloc, so that AddressSanitizer sees a byte read behind it. */
struct test_frame {
	uint8_t *data;
	uint32_t bytes;
};

/* A usual encapsulation between two hosts. */
struct wire_encap test_encap(bool ipv6, bool vlan);

/* A packet of this opcode with a distinct value in every field that the row has; payload of the bytes wanted. */
struct wire_packet test_packet(uint8_t opcode, uint32_t payload_bytes);

/* Encapsulation, packet, payload (from packet->payload, or zeros if it is NULL), pad and ICRC. */
struct test_frame test_frame_build(const struct wire_encap *encap, const struct wire_packet *packet);

struct test_frame test_frame_copy(const uint8_t *data, uint32_t bytes);
void test_frame_free(struct test_frame *frame);

/* Parses, without checking the ICRC: what the receiver sees of a frame. */
enum wire_frame test_frame_kind(const struct test_frame *frame);

/* CRC-32 a bit at a time, from the polynomial alone: start with ~0u, invert at the end. */
uint32_t test_crc_bitwise(uint32_t crc, const uint8_t *data, uint64_t bytes);

#endif
