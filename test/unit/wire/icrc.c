/* icrc.c - the ICRC against a bitwise CRC, and what it covers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/icrc.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "frames.h"
#include "rule.h"
#include "wire/bytes.h"

/* Printed, and in each message: a failure is repeated by writing it here. */
static unsigned int seed_random(void)
{
	unsigned int seed = (unsigned int)time(NULL);

	srandom(seed);
	fprintf(stderr, "seed %u\n", seed);
	return seed;
}

static void fill_random(uint8_t *data, uint32_t bytes)
{
	while (bytes-- > 0)
		*data++ = (uint8_t)random();
}

Test(icrc, start_value_is_the_crc_of_eight_bytes_of_ones)
{
	static const uint8_t ones[8] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };

	RULE("W-3");
	cr_expect_eq(WIRE_ICRC_START, ~test_crc_bitwise(~0u, ones, 8));
	cr_expect_eq(WIRE_ICRC_START, wire_icrc_continue(0, ones, 8));
}

Test(icrc, icrc_equals_a_bitwise_crc_for_every_length)
{
	enum { LENGTHS = 5000 };
	unsigned int seed = seed_random();
	uint32_t i, got, expected = 0xFFFFFFFF;
	uint8_t *data = malloc(LENGTHS), *exact;

	RULE("W-3");
	cr_assert_not_null(data);
	fill_random(data, LENGTHS);
	for (i = 0; i <= LENGTHS; i++) {
		exact = malloc(i > 0 ? i : 1);
		cr_assert_not_null(exact);
		memcpy(exact, data, i);
		got = wire_icrc_continue(0, exact, i);
		cr_assert_eq(got, ~expected, "%u bytes, seed %u: %08x, not %08x", i, seed, got, ~expected);
		free(exact);
		if (i < LENGTHS)
			expected = test_crc_bitwise(expected, data + i, 1);
	}
	free(data);
}

Test(icrc, pieces_may_be_cut_anywhere)
{
	unsigned int seed = seed_random();
	uint32_t i, at, piece, crc, whole;
	uint8_t data[4200];

	RULE("W-3");
	for (i = 0; i < 500; i++) {
		fill_random(data, sizeof(data));
		whole = ~test_crc_bitwise(~0u, data, sizeof(data));
		crc = 0;
		for (at = 0; at < sizeof(data); at += piece) {
			piece = (uint32_t)random() % (i % 2 ? 40 : 1500);
			if (piece > sizeof(data) - at)
				piece = (uint32_t)sizeof(data) - at;
			crc = wire_icrc_continue(crc, data + at, piece);
		}
		cr_assert_eq(crc, whole, "round %u, seed %u: %08x, not %08x", i, seed, crc, whole);
	}
}

/* The rule by hand: a masked copy behind 8 bytes of ones, a bit at a time. */
static uint32_t icrc_by_hand(const uint8_t *ip, uint32_t bytes)
{
	uint8_t copy[8 + 512];
	uint8_t *p = copy + 8;

	cr_assert(bytes <= 512);
	memset(copy, 0xFF, 8);
	memcpy(p, ip, bytes);
	if (p[0] == 0x45) {
		p[1] = p[8] = p[10] = p[11] = 0xFF;
		p += 20;
	} else {
		p[0] |= 0x0F;
		p[1] = p[2] = p[3] = p[7] = 0xFF;
		p += 40;
	}
	p[6] = p[7] = 0xFF;
	p[8 + 4] = 0xFF;
	return ~test_crc_bitwise(~0u, copy, 8 + bytes);
}

static struct test_frame random_frame(bool ipv6, uint32_t payload_bytes)
{
	struct wire_encap encap = test_encap(ipv6, false);
	struct wire_packet packet = test_packet(OP_WRITE_ONLY_IMM, payload_bytes);
	uint8_t payload[512];

	fill_random(payload, payload_bytes);
	packet.payload = payload;
	return test_frame_build(&encap, &packet);
}

Test(icrc, frame_has_the_icrc_of_its_masked_copy)
{
	unsigned int seed = seed_random();
	struct test_frame frame, covered;
	uint32_t bytes, got, expected;
	int ipv6;

	RULE("W-3");
	for (ipv6 = 0; ipv6 < 2; ipv6++) {
		for (bytes = 0; bytes < 300; bytes++) {
			frame = random_frame(ipv6, bytes);
			/* Only what the calculation may read, so that reading the ICRC itself is seen. */
			covered = test_frame_copy(frame.data + 14, frame.bytes - 14 - WIRE_ICRC_BYTES);
			got = wire_icrc_frame(covered.data, covered.bytes);
			expected = icrc_by_hand(covered.data, covered.bytes);
			cr_assert_eq(got, expected, "ipv6 %d, %u bytes, seed %u: %08x, not %08x", ipv6, bytes, seed,
				     got, expected);
			cr_assert_eq(memcmp(covered.data, frame.data + 14, covered.bytes), 0);
			test_frame_free(&covered);
			test_frame_free(&frame);
		}
	}
}

Test(icrc, headers_continued_over_the_payload_give_the_frame_value)
{
	struct test_frame frame = random_frame(true, 100), head;
	uint32_t covered = frame.bytes - 14 - WIRE_ICRC_BYTES, cut, crc;

	RULE("W-3");
	for (cut = 40 + 8 + 12; cut <= WIRE_ICRC_HEADERS_MAX_BYTES; cut++) {
		head = test_frame_copy(frame.data + 14, cut);
		crc = wire_icrc_headers(head.data, cut);
		crc = wire_icrc_continue(crc, frame.data + 14 + cut, covered - cut);
		cr_expect_eq(crc, load_le32(frame.data + frame.bytes - WIRE_ICRC_BYTES), "cut at %u", cut);
		test_frame_free(&head);
	}
	test_frame_free(&frame);
}

/* The bits that routers and hosts may change on the way; bit 0 is the first on the wire. */
static bool is_masked(const uint8_t *ip, uint32_t bit)
{
	uint32_t byte = bit / 8, udp = ip[0] >> 4 == 4 ? 20 : 40;

	if (byte == udp + 6 || byte == udp + 7 || byte == udp + 8 + 4)
		return true;
	if (udp == 20)
		return byte == 1 || byte == 8 || byte == 10 || byte == 11;
	return (bit >= 4 && bit < 32) || byte == 7;
}

/* TC-A-2 */
Test(icrc, every_bit_except_the_masked_ones_changes_the_icrc)
{
	struct test_frame frame;
	uint32_t bit, bytes, got, right;
	uint8_t *ip, whole;
	int ipv6;

	RULE("W-3");
	for (ipv6 = 0; ipv6 < 2; ipv6++) {
		frame = random_frame(ipv6, 61);
		ip = frame.data + 14;
		whole = ip[0];
		bytes = frame.bytes - 14 - WIRE_ICRC_BYTES;
		right = load_le32(frame.data + frame.bytes - WIRE_ICRC_BYTES);
		cr_assert_eq(wire_icrc_frame(ip, bytes), right);
		/* The version decides what is masked, so its bits cannot be flipped alone. */
		for (bit = 4; bit < bytes * 8; bit++) {
			ip[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
			got = wire_icrc_frame(ip, bytes);
			ip[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
			cr_assert_eq(got == right, is_masked(ip, bit), "ipv6 %d, bit %u", ipv6, bit);
		}
		cr_assert_eq(ip[0], whole);
		test_frame_free(&frame);
	}
}

/* TC-A-2 */
Test(icrc, icrc_is_little_endian_in_the_frame)
{
	struct wire_encap encap = test_encap(false, false);
	struct wire_packet packet = test_packet(OP_ACKNOWLEDGE, 0);
	struct test_frame frame = test_frame_build(&encap, &packet);
	uint32_t value = icrc_by_hand(frame.data + 14, frame.bytes - 14 - WIRE_ICRC_BYTES);
	const uint8_t *icrc = frame.data + frame.bytes - WIRE_ICRC_BYTES;

	RULE("W-3");
	cr_expect_eq(icrc[0], value & 0xFF);
	cr_expect_eq(icrc[1], value >> 8 & 0xFF);
	cr_expect_eq(icrc[2], value >> 16 & 0xFF);
	cr_expect_eq(icrc[3], value >> 24);
	test_frame_free(&frame);
}
