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

/* Offsets in an untagged frame. */
enum { TEST_ETHERTYPE = 12, TEST_IP = 14, TEST_UDP4 = TEST_IP + 20, TEST_UDP6 = TEST_IP + 40 };

/* A usual encapsulation between two hosts. */
struct wire_encap test_encap(bool ipv6, bool vlan);

/* A packet of this opcode with a distinct value in every field that the row has. */
struct wire_packet test_packet(uint8_t opcode, uint32_t payload_bytes);

/* Encapsulation, packet, payload (from packet->payload, or zeros if it is NULL), pad and ICRC. */
struct test_frame test_frame_build(const struct wire_encap *encap, const struct wire_packet *packet);

/* A SEND of 5 bytes. */
struct test_frame test_frame_roce(bool ipv6, bool vlan);

struct test_frame test_frame_copy(const uint8_t *data, uint32_t bytes);
void test_frame_free(struct test_frame *frame);

/* Parses, without checking the ICRC: what the receiver sees of a frame. */
enum wire_frame test_frame_kind(const struct test_frame *frame);
void test_expect_kind(const struct test_frame *frame, enum wire_frame expected, const char *what);

/* Changes one byte of a RoCE frame, puts a right IPv4 checksum behind it and looks what it is then. */
void test_expect_changed(bool ipv6, uint32_t at, uint8_t value, enum wire_frame expected, const char *what);

/* After a change of an IPv4 header that is meant to be a sound one. */
void test_fix_ipv4_checksum(uint8_t *ip);

/* CRC-32 a bit at a time, from the polynomial alone: start with ~0u, invert at the end. */
uint32_t test_crc_bitwise(uint32_t crc, const uint8_t *data, uint64_t bytes);

#endif
