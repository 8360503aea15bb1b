/* encap_faults.c - each reason for which a frame is refused (W-5) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/encap.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "rule.h"
#include "wire/bytes.h"

Test(encap_faults, an_ipv4_length_below_its_header_is_a_header_fault)
{
	struct test_frame frame = test_frame_roce(false, false);

	RULE("W-5");
	store_be16(frame.data + TEST_IP + 2, 19);
	test_fix_ipv4_checksum(frame.data + TEST_IP);
	test_expect_kind(&frame, WIRE_FRAME_IP_HEADER, "total length 19");
	test_frame_free(&frame);
}

static uint16_t udp_checksum(const uint8_t *ip, bool ipv6, const uint8_t *udp, uint32_t bytes)
{
	const uint8_t *addresses = ip + (ipv6 ? 8 : 12);
	uint32_t sum = 17 + bytes, i;

	for (i = 0; i < (ipv6 ? 32u : 8u); i += 2)
		sum += load_be16(addresses + i);
	for (i = 0; i < bytes; i += 2)
		sum += udp[i] * 256u + (i + 1 < bytes ? udp[i + 1] : 0);
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return sum == 0xFFFF ? 0xFFFF : (uint16_t)~sum;
}

/* TC-A-15 */
Test(encap_faults, nonzero_udp_checksum_must_be_correct)
{
	struct test_frame frame;
	struct wire_encap encap;
	uint16_t right;
	uint8_t *udp;
	uint32_t bit;
	int ipv6;

	RULE("W-5");
	for (ipv6 = 0; ipv6 < 2; ipv6++) {
		frame = test_frame_roce(ipv6, false);
		udp = frame.data + (ipv6 ? TEST_UDP6 : TEST_UDP4);
		right = udp_checksum(frame.data + TEST_IP, ipv6, udp, 8 + 12 + 5 + 3 + 4);
		test_expect_kind(&frame, WIRE_FRAME_ROCE, "checksum zero");
		store_be16(udp + 6, right);
		cr_expect_eq(wire_encap_parse(frame.data, frame.bytes, true, &encap), WIRE_FRAME_ROCE);
		cr_expect_eq(encap.udp_checksum, right);
		for (bit = 0; bit < 16; bit++) {
			store_be16(udp + 6, (uint16_t)(right ^ 1u << bit));
			if ((right ^ 1u << bit) == 0)
				continue;
			test_expect_kind(&frame, WIRE_FRAME_UDP_CHECKSUM, "checksum wrong");
			cr_expect_eq(wire_encap_parse(frame.data, frame.bytes, false, &encap), WIRE_FRAME_ROCE);
		}
		test_frame_free(&frame);
	}
}

static struct test_frame with_checksum(bool ipv6, uint32_t bth_bytes)
{
	struct wire_encap encap = test_encap(ipv6, false);
	uint8_t head[WIRE_ENCAP_MAX_BYTES], *udp;
	struct test_frame frame;
	uint32_t bytes;

	memset(encap.source + 12, 0xDF, 4);
	memset(encap.dest + 12, 0xFF, 4);
	bytes = wire_encap_build(&encap, bth_bytes, head);
	frame.bytes = bytes + bth_bytes;
	frame.data = malloc(frame.bytes);
	cr_assert_not_null(frame.data);
	memset(frame.data, 0xFD, frame.bytes);
	memcpy(frame.data, head, bytes);
	udp = frame.data + bytes - 8;
	store_be16(udp + 6, udp_checksum(frame.data + TEST_IP, ipv6, udp, bth_bytes + 8));
	return frame;
}

Test(encap_faults, a_udp_checksum_is_right_for_odd_and_large_datagrams)
{
	static const uint32_t lengths[] = { 25, 31, 1001, 40001, 60001, 65507 };
	struct test_frame frame;
	size_t i;
	int ipv6;

	RULE("W-5");
	for (ipv6 = 0; ipv6 < 2; ipv6++) {
		for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
			frame = with_checksum(ipv6, lengths[i]);
			test_expect_kind(&frame, WIRE_FRAME_ROCE, "right");
			frame.data[frame.bytes - 1] ^= 1;
			test_expect_kind(&frame, WIRE_FRAME_UDP_CHECKSUM, "last byte changed");
			test_frame_free(&frame);
		}
	}
}

/* TC-A-16 */
Test(encap_faults, fragment_is_reported_before_all_other_faults)
{
	struct test_frame frame = test_frame_roce(false, false);

	RULE("W-5");
	test_expect_changed(false, TEST_IP + 6, 0x20, WIRE_FRAME_FRAGMENT, "more fragments");
	test_expect_changed(false, TEST_IP + 6, 0x60, WIRE_FRAME_FRAGMENT, "more fragments and DF");
	test_expect_changed(false, TEST_IP + 7, 0x01, WIRE_FRAME_FRAGMENT, "offset 8");
	test_expect_changed(false, TEST_IP + 6, 0x1F, WIRE_FRAME_FRAGMENT, "offset large");
	test_expect_changed(false, TEST_IP + 6, 0x80, WIRE_FRAME_ROCE, "the reserved bit");
	frame.data[TEST_IP + 6] = 0x20;
	frame.data[TEST_IP + 8] = 0; /* TTL, and a wrong checksum */
	test_expect_kind(&frame, WIRE_FRAME_FRAGMENT, "fragment with a bad header");
	frame.bytes -= 4;
	test_expect_kind(&frame, WIRE_FRAME_FRAGMENT, "fragment with a bad header and cut");
	frame.data[TEST_IP + 6] = 0x40;
	test_expect_kind(&frame, WIRE_FRAME_IP_HEADER, "bad header and cut");
	test_frame_free(&frame);
}

/* TC-A-16 */
Test(encap_faults, ipv4_header_faults)
{
	struct test_frame frame = test_frame_roce(false, false);
	struct wire_encap encap;

	RULE("W-5");
	frame.data[TEST_IP + 10] ^= 1;
	test_expect_kind(&frame, WIRE_FRAME_IP_HEADER, "checksum");
	cr_expect_eq(wire_encap_parse(frame.data, frame.bytes, false, &encap), WIRE_FRAME_ROCE);
	test_frame_free(&frame);
	test_expect_changed(false, TEST_IP, 0x55, WIRE_FRAME_IP_HEADER, "version 5");
	test_expect_changed(false, TEST_IP, 0x65, WIRE_FRAME_IP_HEADER, "version 6");
	test_expect_changed(false, TEST_IP + 8, 0, WIRE_FRAME_IP_HEADER, "TTL 0");
	test_expect_changed(false, TEST_IP + 8, 1, WIRE_FRAME_ROCE, "TTL 1");
	test_expect_changed(false, TEST_IP + 12, 224, WIRE_FRAME_IP_HEADER, "source multicast");
	test_expect_changed(false, TEST_IP + 12, 239, WIRE_FRAME_IP_HEADER, "source multicast, last");
	test_expect_changed(false, TEST_IP + 12, 127, WIRE_FRAME_IP_HEADER, "source loopback");
	test_expect_changed(false, TEST_IP + 12, 126, WIRE_FRAME_ROCE, "source before loopback");
	test_expect_changed(false, TEST_IP + 12, 223, WIRE_FRAME_ROCE, "source before multicast");
	frame = test_frame_roce(false, false);
	memset(frame.data + TEST_IP + 12, 0xFF, 4);
	test_fix_ipv4_checksum(frame.data + TEST_IP);
	test_expect_kind(&frame, WIRE_FRAME_IP_HEADER, "source broadcast");
	/* 4 is no header: its checksum would cover what it does not have. */
	frame.data[TEST_IP] = 0x44;
	test_expect_kind(&frame, WIRE_FRAME_IP_HEADER, "header of 16 bytes");
	test_frame_free(&frame);
}

static struct test_frame with_options(uint16_t dest_port)
{
	struct test_frame plain = test_frame_roce(false, false), frame;

	frame.bytes = plain.bytes + 4;
	frame.data = calloc(1, frame.bytes);
	cr_assert_not_null(frame.data);
	memcpy(frame.data, plain.data, TEST_UDP4);
	memset(frame.data + TEST_UDP4, 1, 4);
	memcpy(frame.data + TEST_UDP4 + 4, plain.data + TEST_UDP4, plain.bytes - TEST_UDP4);
	frame.data[TEST_IP] = 0x46;
	store_be16(frame.data + TEST_IP + 2, (uint16_t)(frame.bytes - TEST_IP));
	store_be16(frame.data + TEST_UDP4 + 4 + 2, dest_port);
	test_fix_ipv4_checksum(frame.data + TEST_IP);
	test_frame_free(&plain);
	return frame;
}

/* TC-A-16 */
Test(encap_faults, ipv4_options_are_a_header_fault_only_of_roce)
{
	struct test_frame frame = with_options(4791);
	struct wire_encap encap;

	RULE("W-5");
	test_expect_kind(&frame, WIRE_FRAME_IP_HEADER, "options");
	/* Not because of a checksum: the port may have found that right. */
	cr_expect_eq(wire_encap_parse(frame.data, frame.bytes, false, &encap), WIRE_FRAME_IP_HEADER);
	test_frame_free(&frame);
	frame = with_options(53);
	test_expect_kind(&frame, WIRE_FRAME_OTHER, "options, another port");
	test_frame_free(&frame);
}

/* TC-A-16 */
Test(encap_faults, ipv6_header_faults)
{
	static const uint8_t mapped[16] = { [10] = 0xFF, 0xFF, 10, 9, 0, 2 }, loopback[16] = { [15] = 1 };
	struct test_frame frame = test_frame_roce(true, false);

	RULE("W-5");
	test_expect_changed(true, TEST_IP, 0x46, WIRE_FRAME_IP_HEADER, "version 4");
	test_expect_changed(true, TEST_IP + 7, 0, WIRE_FRAME_IP_HEADER, "hop limit 0");
	test_expect_changed(true, TEST_IP + 7, 1, WIRE_FRAME_ROCE, "hop limit 1");
	test_expect_changed(true, TEST_IP + 8, 0xFF, WIRE_FRAME_IP_HEADER, "source multicast");
	memcpy(frame.data + TEST_IP + 8, loopback, 16);
	test_expect_kind(&frame, WIRE_FRAME_IP_HEADER, "source loopback");
	memcpy(frame.data + TEST_IP + 8, mapped, 16);
	test_expect_kind(&frame, WIRE_FRAME_IP_HEADER, "source mapped");
	test_frame_free(&frame);
	frame = test_frame_roce(true, false);
	memcpy(frame.data + TEST_IP + 24, mapped, 16);
	test_expect_kind(&frame, WIRE_FRAME_IP_HEADER, "destination mapped");
	test_frame_free(&frame);
}

static struct test_frame with_extensions(uint8_t next, const uint8_t *headers, uint32_t bytes)
{
	struct test_frame plain = test_frame_roce(true, false), frame;

	frame.bytes = plain.bytes + bytes;
	frame.data = malloc(frame.bytes);
	cr_assert_not_null(frame.data);
	memcpy(frame.data, plain.data, TEST_UDP6);
	memcpy(frame.data + TEST_UDP6, headers, bytes);
	memcpy(frame.data + TEST_UDP6 + bytes, plain.data + TEST_UDP6, plain.bytes - TEST_UDP6);
	frame.data[TEST_IP + 6] = next;
	store_be16(frame.data + TEST_IP + 4, (uint16_t)(frame.bytes - TEST_UDP6));
	test_frame_free(&plain);
	return frame;
}

static const struct {
	const char *what;
	uint8_t next;
	uint8_t bytes;
	uint8_t headers[24];
	enum wire_frame kind;
} extensions[] = {
	{ "hop by hop", 0, 8, { 17 }, WIRE_FRAME_IP_HEADER },
	{ "routing", 43, 8, { 17 }, WIRE_FRAME_IP_HEADER },
	{ "destination options", 60, 16, { 17, 1 }, WIRE_FRAME_IP_HEADER },
	{ "authentication of 24 bytes", 51, 24, { 17, 4 }, WIRE_FRAME_IP_HEADER },
	{ "a length past the frame", 60, 8, { 17, 255 }, WIRE_FRAME_IP_HEADER },
	{ "first fragment", 44, 8, { 17, 0, 0, 1 }, WIRE_FRAME_FRAGMENT },
	{ "atomic fragment", 44, 8, { 17, 0, 0, 0 }, WIRE_FRAME_FRAGMENT },
	{ "later fragment", 44, 8, { 17, 0, 0, 9 }, WIRE_FRAME_FRAGMENT },
	{ "later fragment of more headers", 44, 8, { 60, 0, 0, 9 }, WIRE_FRAME_FRAGMENT },
	{ "fragment behind hop by hop", 0, 16, { 44, [8] = 17, [11] = 1 }, WIRE_FRAME_FRAGMENT },
	{ "options in a fragment", 44, 16, { 60, [3] = 1, [8] = 17 }, WIRE_FRAME_FRAGMENT },
	{ "listener report", 0, 8, { 58 }, WIRE_FRAME_OTHER },
	{ "fragment of TCP", 44, 8, { 6, 0, 0, 1 }, WIRE_FRAME_OTHER },
	{ "encryption", 50, 8, { 17 }, WIRE_FRAME_OTHER },
	{ "no next header", 59, 8, { 17 }, WIRE_FRAME_OTHER },
};

/* TC-A-16 */
Test(encap_faults, ipv6_extension_headers_are_faults_or_other_protocols)
{
	struct test_frame frame, cut;
	uint32_t bytes;
	size_t i;

	RULE("W-5");
	for (i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		frame = with_extensions(extensions[i].next, extensions[i].headers, extensions[i].bytes);
		test_expect_kind(&frame, extensions[i].kind, extensions[i].what);
		for (bytes = TEST_UDP6; bytes < frame.bytes; bytes++) {
			cut = test_frame_copy(frame.data, bytes);
			cr_expect_neq(test_frame_kind(&cut), WIRE_FRAME_ROCE, "%s", extensions[i].what);
			test_frame_free(&cut);
		}
		test_frame_free(&frame);
	}
}

Test(encap_faults, later_fragment_has_no_ports)
{
	struct test_frame frame = test_frame_roce(false, false);

	RULE("W-5");
	store_be16(frame.data + TEST_UDP4 + 2, 53);
	store_be16(frame.data + TEST_IP + 6, 1);
	test_fix_ipv4_checksum(frame.data + TEST_IP);
	test_expect_kind(&frame, WIRE_FRAME_FRAGMENT, "later fragment");
	store_be16(frame.data + TEST_IP + 6, 0x2000);
	test_fix_ipv4_checksum(frame.data + TEST_IP);
	test_expect_kind(&frame, WIRE_FRAME_OTHER, "first fragment to another port");
	test_frame_free(&frame);
	frame = with_extensions(44, (const uint8_t[8]){ 17, 0, 0, 9 }, 8);
	store_be16(frame.data + TEST_UDP6 + 8 + 2, 53);
	test_expect_kind(&frame, WIRE_FRAME_FRAGMENT, "later IPv6 fragment");
	store_be16(frame.data + TEST_UDP6 + 2, 1);
	test_expect_kind(&frame, WIRE_FRAME_OTHER, "first IPv6 fragment to another port");
	test_frame_free(&frame);
}

Test(encap_faults, long_extension_header_chain_is_not_followed)
{
	uint8_t headers[800] = { 0 };
	struct test_frame frame;
	uint32_t i;

	RULE("W-5");
	for (i = 0; i < sizeof(headers); i += 8)
		headers[i] = 60;
	headers[sizeof(headers) - 8] = 58;
	frame = with_extensions(60, headers, sizeof(headers));
	test_expect_kind(&frame, WIRE_FRAME_IP_HEADER, "100 headers");
	test_frame_free(&frame);
}

static void receive(const struct test_frame *frame)
{
	struct wire_packet packet;
	struct wire_encap encap;
	const uint8_t *payload;
	uint32_t sum = 0, i;
	const uint8_t *bth;

	if (wire_encap_parse(frame->data, frame->bytes, true, &encap) != WIRE_FRAME_ROCE)
		return;
	cr_assert_leq(encap.bth_offset + encap.bth_bytes, frame->bytes);
	bth = frame->data + encap.bth_offset;
	if (wire_packet_parse(bth, encap.bth_bytes, &packet) == WIRE_PACKET_TRUNCATED)
		return;
	cr_assert_eq(packet_bytes(&packet), encap.bth_bytes);
	payload = packet.payload;
	for (i = 0; i < packet.payload_bytes + packet.pad_bytes + WIRE_ICRC_BYTES; i++)
		sum += payload[i];
	cr_assert_leq(sum, i * 255);
}

/* TC-A-1 */
Test(encap_faults, random_damage_causes_no_overread)
{
	const unsigned int seed = 4791;
	struct test_frame whole, frame;
	uint32_t round, bytes, i;

	RULE("W-5");
	fprintf(stderr, "seed %u\n", seed);
	srandom(seed);
	for (round = 0; round < 20000; round++) {
		whole = test_frame_roce(round & 1, round & 2);
		bytes = round & 4 ? whole.bytes : (uint32_t)random() % (whole.bytes + 1);
		frame = test_frame_copy(whole.data, bytes);
		for (i = 0; bytes > 0 && i < 1 + round % 5; i++)
			frame.data[(uint32_t)random() % bytes] = (uint8_t)random();
		receive(&frame);
		test_frame_free(&frame);
		test_frame_free(&whole);
	}
}

/* The header of a fragment has eight bytes: with all of them, and nothing behind, it is known for one. */
Test(encap_faults, ipv6_fragment_is_identified_by_its_header_alone)
{
	struct test_frame whole = test_frame_roce(true, false), cut;
	uint32_t later;

	RULE("W-5");
	whole.data[TEST_IP + 6] = 44;
	whole.data[TEST_UDP6] = 17;
	for (later = 0; later < 2; later++) {
		store_be16(whole.data + TEST_UDP6 + 2, (uint16_t)(later * 8));
		cut = test_frame_copy(whole.data, TEST_UDP6 + 8);
		test_expect_kind(&cut, WIRE_FRAME_FRAGMENT, "all of it");
		test_frame_free(&cut);
		cut = test_frame_copy(whole.data, TEST_UDP6 + 7);
		test_expect_kind(&cut, WIRE_FRAME_IP_HEADER, "a byte less");
		test_frame_free(&cut);
	}
	test_frame_free(&whole);
}
