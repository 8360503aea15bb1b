/* encap.c - what a frame is, and where it ends */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/encap.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "rule.h"
#include "wire/bytes.h"

Test(encap, destination_of_a_built_frame_is_read_with_and_without_a_tag)
{
	struct wire_encap encap;
	struct test_frame frame;
	uint8_t dest[16];

	RULE("W-8");
	for (int form = 0; form < 4; form++) {
		encap = test_encap(form & 1, form & 2);
		frame = test_frame_roce(form & 1, form & 2);
		cr_assert(wire_encap_dest(frame.data, dest));
		cr_expect_arr_eq(dest, encap.dest, 16);
		store_be16(frame.data + (form & 2 ? 16 : 12), 0x0806);
		cr_expect_not(wire_encap_dest(frame.data, dest), "ARP is no IP packet");
		test_frame_free(&frame);
	}
}

Test(encap, built_headers_parse_to_the_same_value)
{
	struct wire_encap encap, parsed;
	struct test_frame frame;
	int form;

	RULE("W-1");
	for (form = 0; form < 4; form++) {
		encap = test_encap(form & 1, form & 2);
		frame = test_frame_roce(form & 1, form & 2);
		cr_assert_eq(wire_encap_parse(frame.data, frame.bytes, true, &parsed), WIRE_FRAME_ROCE);
		cr_expect_eq(memcmp(parsed.dest_mac, encap.dest_mac, 6), 0);
		cr_expect_eq(memcmp(parsed.source_mac, encap.source_mac, 6), 0);
		cr_expect_eq(memcmp(parsed.source, encap.source, 16), 0);
		cr_expect_eq(memcmp(parsed.dest, encap.dest, 16), 0);
		cr_expect_eq(parsed.vlan, encap.vlan);
		cr_expect_eq(parsed.vlan_tci, encap.vlan_tci);
		cr_expect_eq(parsed.ipv6, encap.ipv6);
		cr_expect_eq(parsed.traffic_class, encap.traffic_class);
		cr_expect_eq(parsed.hop_limit, encap.hop_limit);
		cr_expect_eq(parsed.flow_label, encap.flow_label);
		cr_expect_eq(parsed.ip_id, encap.ip_id);
		cr_expect_eq(parsed.source_port, encap.source_port);
		cr_expect_eq(parsed.dest_port, 4791);
		cr_expect_eq(parsed.udp_checksum, 0);
		cr_expect_eq(parsed.ip_offset, form & 2 ? 18 : 14);
		cr_expect_eq(parsed.bth_offset, parsed.ip_offset + (form & 1 ? 48 : 28));
		cr_expect_eq(parsed.bth_bytes, 12 + 5 + 3 + 4);
		cr_expect_not(parsed.fragmentable);
		test_frame_free(&frame);
	}
}

Test(encap, headers_are_at_their_offsets)
{
	static const char ipv4[] = "\x52\x54\0\0\0\2\x52\x54\0\0\0\1\x81\x00\x60\x05\x08\x00"
				   "\x45\x6A\0\x34\x12\x34\x40\0\x40\x11\x14\x05"
				   "\x0A\x09\0\2\x0A\x09\0\3"
				   "\xC1\x23\x12\xB7\0\x20\0\0";
	static const char ipv6[] = "\x52\x54\0\0\0\2\x52\x54\0\0\0\1\x86\xDD"
				   "\x66\xAA\xBC\xDE\0\x20\x11\x40"
				   "\xFE\x80\0\0\0\0\0\0\x50\0\0\0\0\0\0\2"
				   "\xFE\x80\0\0\0\0\0\0\x50\0\0\0\0\0\0\3"
				   "\xC1\x23\x12\xB7\0\x20\0\0";
	uint8_t out[WIRE_ENCAP_MAX_BYTES];
	struct wire_encap encap = test_encap(false, true);

	RULE("W-2");
	cr_assert_eq(wire_encap_build(&encap, 24, out), sizeof(ipv4) - 1);
	cr_expect_eq(memcmp(out, ipv4, sizeof(ipv4) - 1), 0);
	encap = test_encap(true, false);
	cr_assert_eq(wire_encap_build(&encap, 24, out), sizeof(ipv6) - 1);
	cr_expect_eq(memcmp(out, ipv6, sizeof(ipv6) - 1), 0);
	cr_expect_eq(encap.bth_offset, sizeof(ipv6) - 1);
	cr_expect_eq(encap.bth_bytes, 24);
	cr_expect_eq(encap.ip_offset, 14);
}

Test(encap, cleared_df_is_parsed_but_never_built)
{
	struct test_frame frame = test_frame_roce(false, false);
	uint8_t out[WIRE_ENCAP_MAX_BYTES];
	struct wire_encap encap;

	RULE("W-2");
	frame.data[TEST_IP + 6] = 0;
	test_fix_ipv4_checksum(frame.data + TEST_IP);
	cr_assert_eq(wire_encap_parse(frame.data, frame.bytes, true, &encap), WIRE_FRAME_ROCE);
	cr_expect(encap.fragmentable);
	wire_encap_build(&encap, encap.bth_bytes, out);
	cr_expect_eq(memcmp(out, frame.data, TEST_UDP4 + 8), 0);
	test_frame_free(&frame);
}

/* TC-A-1 */
Test(encap, truncated_frame_is_reported_without_overread)
{
	struct test_frame whole, cut;
	uint32_t bytes;
	int form;

	RULE("W-4");
	for (form = 0; form < 4; form++) {
		whole = test_frame_roce(form & 1, form & 2);
		for (bytes = 0; bytes < whole.bytes; bytes++) {
			cut = test_frame_copy(whole.data, bytes);
			cr_expect_eq(test_frame_kind(&cut), WIRE_FRAME_TRUNCATED, "form %d, %u bytes", form, bytes);
			test_frame_free(&cut);
		}
		test_frame_free(&whole);
	}
}

/* TC-A-1 */
Test(encap, truncation_consistent_with_the_ip_length_is_reported)
{
	struct test_frame whole, cut;
	uint32_t bytes, udp;
	int ipv6;

	RULE("W-4");
	for (ipv6 = 0; ipv6 < 2; ipv6++) {
		whole = test_frame_roce(ipv6, false);
		udp = ipv6 ? TEST_UDP6 : TEST_UDP4;
		for (bytes = udp; bytes < whole.bytes; bytes++) {
			cut = test_frame_copy(whole.data, bytes);
			if (ipv6)
				store_be16(cut.data + TEST_IP + 4, (uint16_t)(bytes - udp));
			else
				store_be16(cut.data + TEST_IP + 2, (uint16_t)(bytes - TEST_IP));
			if (!ipv6)
				test_fix_ipv4_checksum(cut.data + TEST_IP);
			test_expect_kind(&cut, WIRE_FRAME_TRUNCATED, "the UDP length does not fit");
			test_frame_free(&cut);
		}
		test_frame_free(&whole);
	}
}

/* The IP and the UDP length of a frame whose bytes are all there. */
static struct test_frame with_lengths(bool ipv6, uint32_t ip_payload, uint32_t udp_bytes)
{
	struct test_frame frame = test_frame_roce(ipv6, false);

	if (ipv6) {
		store_be16(frame.data + TEST_IP + 4, (uint16_t)ip_payload);
		store_be16(frame.data + TEST_UDP6 + 4, (uint16_t)udp_bytes);
	} else {
		store_be16(frame.data + TEST_IP + 2, (uint16_t)(20 + ip_payload));
		store_be16(frame.data + TEST_UDP4 + 4, (uint16_t)udp_bytes);
		test_fix_ipv4_checksum(frame.data + TEST_IP);
	}
	return frame;
}

/* TC-A-1 */
Test(encap, lengths_must_be_consistent_and_udp_ends_the_datagram)
{
	const uint32_t real = 8 + 12 + 5 + 3 + 4;
	uint32_t ip_payload, udp_bytes;
	struct test_frame frame;
	struct wire_encap encap;
	enum wire_frame kind;
	bool good;
	int ipv6;

	RULE("W-4");
	for (ipv6 = 0; ipv6 < 2; ipv6++) {
		for (ip_payload = 0; ip_payload <= real + 2; ip_payload++) {
			for (udp_bytes = 0; udp_bytes <= real + 2; udp_bytes++) {
				frame = with_lengths(ipv6, ip_payload, udp_bytes);
				good = ip_payload <= real && udp_bytes >= 8 && udp_bytes <= ip_payload;
				kind = wire_encap_parse(frame.data, frame.bytes, true, &encap);
				cr_assert_eq(kind, good ? WIRE_FRAME_ROCE : WIRE_FRAME_TRUNCATED,
					     "ipv6 %d, IP %u, UDP %u: %d", ipv6, ip_payload, udp_bytes, kind);
				if (good)
					cr_assert_eq(encap.bth_bytes, udp_bytes - 8);
				test_frame_free(&frame);
			}
		}
	}
}

/* TC-A-17 */
Test(encap, ethernet_padding_is_ignored)
{
	struct test_frame frame, padded;
	struct wire_encap encap;
	int form;

	RULE("W-4");
	for (form = 0; form < 4; form++) {
		frame = test_frame_roce(form & 1, form & 2);
		padded = test_frame_copy(frame.data, frame.bytes);
		padded.data = realloc(padded.data, frame.bytes + 9);
		cr_assert_not_null(padded.data);
		memset(padded.data + frame.bytes, 0xEE, 9);
		padded.bytes += 9;
		cr_expect_eq(wire_encap_parse(padded.data, padded.bytes, true, &encap), WIRE_FRAME_ROCE);
		cr_expect_eq(encap.bth_bytes, 12 + 5 + 3 + 4, "form %d", form);
		test_frame_free(&padded);
		test_frame_free(&frame);
	}
}

/* TC-A-14 */
Test(encap, any_source_port_is_accepted)
{
	struct test_frame frame;
	struct wire_encap encap;
	uint32_t port;

	RULE("W-2");
	for (port = 0; port <= 0xFFFF; port += 0x1111) {
		frame = test_frame_roce(false, false);
		store_be16(frame.data + TEST_UDP4, (uint16_t)port);
		cr_expect_eq(wire_encap_parse(frame.data, frame.bytes, true, &encap), WIRE_FRAME_ROCE);
		cr_expect_eq(encap.source_port, port);
		test_frame_free(&frame);
	}
}

/* RFC 768 over the pseudo header, in the plainest way: 16-bit words. */
/* A frame with a right UDP checksum, of addresses and bytes that make the sum carry. */
/* An IPv4 frame with one word of options between header and UDP. */
/* An IPv6 frame with extension headers between IP and UDP, whatever they claim. */
Test(encap, other_protocols_and_ports_are_no_fault)
{
	struct test_frame frame = test_frame_roce(false, false);

	RULE("W-1");
	test_expect_changed(false, TEST_UDP4 + 3, 0xB8, WIRE_FRAME_OTHER, "UDP port 4792");
	test_expect_changed(true, TEST_UDP6 + 3, 0xB8, WIRE_FRAME_OTHER, "UDP port 4792");
	test_expect_changed(false, TEST_IP + 9, 6, WIRE_FRAME_OTHER, "TCP");
	test_expect_changed(true, TEST_IP + 6, 6, WIRE_FRAME_OTHER, "TCP");
	test_expect_changed(false, TEST_IP + 9, 58, WIRE_FRAME_OTHER, "ICMPv6 in IPv4");
	test_expect_changed(true, TEST_IP + 6, 1, WIRE_FRAME_OTHER, "ICMP in IPv6");
	test_expect_changed(false, TEST_IP + 9, 1, WIRE_FRAME_ICMP, "ICMP");
	test_expect_changed(true, TEST_IP + 6, 58, WIRE_FRAME_ICMP6, "ICMPv6");
	store_be16(frame.data + TEST_ETHERTYPE, 0x0806);
	test_expect_kind(&frame, WIRE_FRAME_ARP, "ARP");
	store_be16(frame.data + TEST_ETHERTYPE, 0x88CC);
	test_expect_kind(&frame, WIRE_FRAME_OTHER, "LLDP");
	store_be16(frame.data + TEST_ETHERTYPE, 46);
	test_expect_kind(&frame, WIRE_FRAME_OTHER, "IEEE 802.3 length");
	test_frame_free(&frame);
}

/* TC-A-16 */
Test(encap, one_tag_is_parsed_and_two_are_rejected)
{
	struct test_frame frame = test_frame_roce(false, true);

	RULE("W-1");
	store_be16(frame.data + 14, 0);
	test_expect_kind(&frame, WIRE_FRAME_ROCE, "priority tag");
	store_be16(frame.data + 16, 0x8100);
	test_expect_kind(&frame, WIRE_FRAME_OTHER, "two 802.1Q tags");
	store_be16(frame.data + 16, 0x0800);
	store_be16(frame.data + 12, 0x88A8);
	test_expect_kind(&frame, WIRE_FRAME_OTHER, "802.1ad");
	test_frame_free(&frame);
}

Test(encap, truncated_icmp_frame_is_reported)
{
	struct test_frame frame = test_frame_roce(false, false);

	RULE("W-4");
	frame.data[TEST_IP + 9] = 1;
	test_fix_ipv4_checksum(frame.data + TEST_IP);
	frame.bytes--;
	test_expect_kind(&frame, WIRE_FRAME_TRUNCATED, "ICMP");
	test_frame_free(&frame);
}

/* Parses a frame as a receiver does, and reads all that it is promised. */
Test(encap, checksum_continues_over_even_pieces_with_carry)
{
	uint8_t data[64];
	uint32_t cut;

	RULE("W-5");
	memset(data, 0xFF, sizeof(data));
	cr_expect_eq(wire_encap_sum(0, data, 0), 0);
	cr_expect_eq(wire_encap_sum(0, data, 64), 0xFFFF);
	cr_expect_eq(wire_encap_sum(0, data, 1), 0xFF00);
	cr_expect_eq(wire_encap_sum(0x1FFFF, data, 0), 1);
	cr_expect_eq(wire_encap_sum(0xFFFFFFFF, data, 0), 0xFFFF);
	for (cut = 0; cut < 64; cut++)
		data[cut] = (uint8_t)(cut * 37);
	for (cut = 0; cut <= 63; cut += 2)
		cr_expect_eq(wire_encap_sum(wire_encap_sum(0, data, cut), data + cut, 63 - cut),
			     wire_encap_sum(0, data, 63), "cut at %u", cut);
}

/* One byte marks the frame as another protocol, and nothing follows its header. */
Test(encap, frame_of_another_protocol_may_end_at_its_type)
{
	static const struct {
		bool ipv6, vlan;
		uint32_t at, value, bytes;
	} rows[] = {
		{ false, false, TEST_ETHERTYPE, 0x88, TEST_IP },
		{ false, true, TEST_ETHERTYPE + 4, 0x88, TEST_IP + 4 },
		{ false, false, TEST_IP + 9, 6, TEST_UDP4 },
		{ true, false, TEST_IP + 6, 6, TEST_UDP6 },
		{ false, false, TEST_UDP4 + 2, 0x13, TEST_UDP4 + 4 },
		{ true, false, TEST_UDP6 + 2, 0x13, TEST_UDP6 + 4 },
	};
	size_t i;

	RULE("W-4");
	RULE("W-5");
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct test_frame whole = test_frame_roce(rows[i].ipv6, rows[i].vlan), cut;

		whole.data[rows[i].at] = (uint8_t)rows[i].value;
		cut = test_frame_copy(whole.data, rows[i].bytes);
		cr_expect_eq(test_frame_kind(&cut), WIRE_FRAME_OTHER, "row %zu", i);
		test_frame_free(&cut);
		cut = test_frame_copy(whole.data, rows[i].bytes - 1);
		cr_expect_eq(test_frame_kind(&cut), WIRE_FRAME_TRUNCATED, "row %zu, a byte less", i);
		test_frame_free(&cut);
		test_frame_free(&whole);
	}
}
