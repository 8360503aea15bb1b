/* neighbour.c - ARP, neighbour discovery and echo against frames written by hand */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/neighbour.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "frames.h"
#include "rule.h"
#include "wire/bytes.h"

/* Offsets in untagged frames. */
enum { ARP = 14, IP = 14, ICMP4 = 34, ICMP6 = 54 };

static const uint8_t our_mac[6] = { 0x02, 0, 0, 0, 0, 0x0A };
static const uint8_t peer_mac[6] = { 0x02, 0, 0, 0, 0, 0x0B };
static const uint8_t our_ipv4[16] = { [10] = 0xFF, 0xFF, 10, 9, 0, 10 };
static const uint8_t peer_ipv4[16] = { [10] = 0xFF, 0xFF, 10, 9, 0, 11 };
static const uint8_t our_ipv6[16] = { 0xFE, 0x80, [13] = 0x12, 0x34, 0x0A };
static const uint8_t peer_ipv6[16] = { 0xFE, 0x80, [13] = 0x56, 0x78, 0x0B };

/* The peer asks for us. */
static const uint8_t arp_request[] = {
	0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02, 0, 0, 0,  0, 0x0B, 0x08, 0x06, /* Ethernet */
	0,    1,    0x08, 0x00, 6,    4,    0,    1,                             /* Ethernet, IPv4, request */
	0x02, 0,    0,    0,    0,    0x0B, 10,   9, 0, 11,                      /* sender */
	0,    0,    0,    0,    0,    0,    10,   9, 0, 10,                      /* target */
};

/* We answer the peer. */
static const uint8_t arp_reply[] = {
	0x02, 0, 0,    0,    0, 0x0B, 0x02, 0, 0, 0,  0, 0x0A, 0x08, 0x06, /* Ethernet */
	0,    1, 0x08, 0x00, 6, 4,    0,    2,                             /* Ethernet, IPv4, reply */
	0x02, 0, 0,    0,    0, 0x0A, 10,   9, 0, 10,                      /* sender */
	0x02, 0, 0,    0,    0, 0x0B, 10,   9, 0, 11,                      /* target */
};

/* The peer asks for us. */
static const uint8_t solicitation[] = {
	0x33, 0x33, 0xFF, 0x12, 0x34, 0x0A, 0x02, 0,    0, 0, 0, 0x0B, 0x86, 0xDD,             /* Ethernet */
	0x60, 0,    0,    0,    0,    32,   58,   255,                                         /* IPv6 */
	0xFE, 0x80, 0,    0,    0,    0,    0,    0,    0, 0, 0, 0,    0,    0x56, 0x78, 0x0B, /* source */
	0xFF, 0x02, 0,    0,    0,    0,    0,    0,    0, 0, 0, 1,    0xFF, 0x12, 0x34, 0x0A, /* group */
	135,  0,    0x99, 0xF8, 0,    0,    0,    0,                                           /* ICMPv6 */
	0xFE, 0x80, 0,    0,    0,    0,    0,    0,    0, 0, 0, 0,    0,    0x12, 0x34, 0x0A, /* target */
	1,    1,    0x02, 0,    0,    0,    0,    0x0B,                                        /* source MAC */
};

/* We answer the peer. */
static const uint8_t advertisement[] = {
	0x02, 0,    0,    0,    0,    0x0B, 0x02, 0,    0, 0, 0, 0x0A, 0x86, 0xDD,             /* Ethernet */
	0x60, 0,    0,    0,    0,    32,   58,   255,                                         /* IPv6 */
	0xFE, 0x80, 0,    0,    0,    0,    0,    0,    0, 0, 0, 0,    0,    0x12, 0x34, 0x0A, /* source */
	0xFE, 0x80, 0,    0,    0,    0,    0,    0,    0, 0, 0, 0,    0,    0x56, 0x78, 0x0B, /* destination */
	136,  0,    0x37, 0x7D, 0x60, 0,    0,    0,                                           /* solicited, override */
	0xFE, 0x80, 0,    0,    0,    0,    0,    0,    0, 0, 0, 0,    0,    0x12, 0x34, 0x0A, /* target */
	2,    1,    0x02, 0,    0,    0,    0,    0x0A,                                        /* target MAC */
};

/* The peer pings us; 5 bytes of data, an odd sum. */
static const uint8_t echo_ipv4[] = {
	0x02, 0, 0,    0,    0,    0x0A, 0x02, 0,  0,   0,   0,    0x0B, 0x08, 0x00, /* Ethernet */
	0x45, 0, 0,    33,   0,    7,    0x40, 0,  3,   1,   0x63, 0xAF,             /* IPv4, TTL 3 */
	10,   9, 0,    11,   10,   9,    0,    10,                                   /* addresses */
	8,    0, 0xA1, 0xF8, 0x12, 0x34, 0,    1,  'h', 'e', 'l',  'l',  'o',        /* echo request */
};

/* The peer pings us. */
static const uint8_t echo_ipv6[] = {
	0x02, 0,    0,    0,    0,    0x0A, 0x02, 0, 0,   0,   0,   0x0B, 0x86, 0xDD, /* Ethernet */
	0x60, 0,    0,    0,    0,    13,   58,   3,                                  /* IPv6, hop limit 3 */
	0xFE, 0x80, 0,    0,    0,    0,    0,    0, 0,   0,   0,   0,    0,    0x56, 0x78, 0x0B, /* source */
	0xFE, 0x80, 0,    0,    0,    0,    0,    0, 0,   0,   0,   0,    0,    0x12, 0x34, 0x0A, /* destination */
	128,  0,    0x80, 0x31, 0x12, 0x34, 0,    1, 'h', 'e', 'l', 'l',  'o',                    /* echo request */
};

static bool parse(const struct test_frame *frame, struct wire_neighbour *neighbour)
{
	return wire_neighbour_parse(frame->data, frame->bytes, neighbour);
}

/* The sum in the plainest way; protocol 0: ICMP over IPv4, without a pseudo header. */
static uint16_t icmp_checksum(const uint8_t *ip, uint32_t bytes)
{
	bool ipv6 = ip[0] >> 4 == 6;
	const uint8_t *icmp = ip + (ipv6 ? 40 : 20);
	uint32_t sum = ipv6 ? 58 + bytes : 0, i;

	for (i = 8; ipv6 && i < 40; i += 2)
		sum += load_be16(ip + i);
	for (i = 0; i < bytes; i++)
		sum += i == 2 || i == 3 ? 0 : (uint32_t)icmp[i] << (i % 2 ? 0 : 8);
	while (sum >> 16)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return (uint16_t)~sum;
}

/* A copy with right IPv4 and ICMPv6 checksums, after what the test changes in it. */
static struct test_frame copy_changed(const uint8_t *data, uint32_t bytes, uint32_t at, uint8_t value)
{
	struct test_frame frame = test_frame_copy(data, bytes);

	frame.data[at] = value;
	if (load_be16(frame.data + 12) == 0x86DD)
		store_be16(frame.data + ICMP6 + 2, icmp_checksum(frame.data + IP, bytes - ICMP6));
	else if (load_be16(frame.data + 12) == 0x0800)
		test_fix_ipv4_checksum(frame.data + IP);
	return frame;
}

static void expect_refused(const uint8_t *data, uint32_t bytes, uint32_t at, uint8_t value, const char *what)
{
	struct test_frame frame = copy_changed(data, bytes, at, value);
	struct wire_neighbour neighbour;

	cr_expect_not(parse(&frame, &neighbour), "%s", what);
	cr_expect_eq(neighbour.kind, WIRE_NEIGHBOUR_NONE, "%s", what);
	test_frame_free(&frame);
}

static void expect_bytes(const uint8_t *got, uint32_t got_bytes, const uint8_t *expected, uint32_t bytes)
{
	uint32_t i;

	cr_assert_eq(got_bytes, bytes, "%u bytes, not %u", got_bytes, bytes);
	for (i = 0; i < bytes; i++)
		cr_expect_eq(got[i], expected[i], "byte %u: %02x, not %02x", i, got[i], expected[i]);
}

Test(neighbour, the_frames_written_by_hand_have_right_checksums)
{
	cr_expect_eq(load_be16(solicitation + ICMP6 + 2), icmp_checksum(solicitation + IP, 32), "%04x",
		     icmp_checksum(solicitation + IP, 32));
	cr_expect_eq(load_be16(advertisement + ICMP6 + 2), icmp_checksum(advertisement + IP, 32), "%04x",
		     icmp_checksum(advertisement + IP, 32));
	cr_expect_eq(load_be16(echo_ipv4 + ICMP4 + 2), icmp_checksum(echo_ipv4 + IP, 13), "%04x",
		     icmp_checksum(echo_ipv4 + IP, 13));
	cr_expect_eq(load_be16(echo_ipv6 + ICMP6 + 2), icmp_checksum(echo_ipv6 + IP, 13), "%04x",
		     icmp_checksum(echo_ipv6 + IP, 13));
}

Test(neighbour, an_arp_request_parses)
{
	struct test_frame frame = test_frame_copy(arp_request, sizeof(arp_request));
	struct wire_neighbour neighbour;

	RULE("W-8");
	cr_assert(parse(&frame, &neighbour));
	cr_expect_eq(neighbour.kind, WIRE_NEIGHBOUR_REQUEST);
	cr_expect(neighbour.has_sender_mac);
	cr_expect_not(neighbour.probe);
	cr_expect_not(neighbour.vlan);
	cr_expect_eq(memcmp(neighbour.sender_mac, peer_mac, 6), 0);
	cr_expect_eq(memcmp(neighbour.sender, peer_ipv4, 16), 0);
	cr_expect_eq(memcmp(neighbour.target, our_ipv4, 16), 0);
	memset(frame.data + ARP + 14, 0, 4);
	cr_assert(parse(&frame, &neighbour));
	cr_expect(neighbour.probe);
	test_frame_free(&frame);
}

/* Only an all-zero MAC is invalid. */
Test(neighbour, a_mac_may_have_zeros)
{
	static const uint8_t macs[][6] = { { 0, 0, 1, 2, 3, 4 }, { 2, 3, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0, 0 } };

	RULE("W-8");
	for (uint32_t i = 0; i < 3; i++) {
		struct test_frame frame = test_frame_copy(arp_request, sizeof(arp_request));

		memcpy(frame.data + 6, macs[i], 6);
		memcpy(frame.data + 22, macs[i], 6);
		cr_expect_eq(parse(&frame, &(struct wire_neighbour){ 0 }), i < 2, "MAC %u", i);
		test_frame_free(&frame);
	}
}

Test(neighbour, an_arp_reply_parses)
{
	struct test_frame frame = test_frame_copy(arp_reply, sizeof(arp_reply));
	struct wire_neighbour neighbour;

	RULE("W-8");
	cr_assert(parse(&frame, &neighbour));
	cr_expect_eq(neighbour.kind, WIRE_NEIGHBOUR_REPLY);
	cr_expect(neighbour.solicited);
	cr_expect_eq(memcmp(neighbour.sender_mac, our_mac, 6), 0);
	cr_expect_eq(memcmp(neighbour.sender, our_ipv4, 16), 0);
	cr_expect_eq(memcmp(neighbour.target, our_ipv4, 16), 0);
	/* An announcement: sender and target are the same. */
	memcpy(frame.data + ARP + 24, frame.data + ARP + 14, 4);
	cr_assert(parse(&frame, &neighbour));
	cr_expect_not(neighbour.solicited);
	test_frame_free(&frame);
}

Test(neighbour, malformed_or_poisoning_arp_is_refused)
{
	struct test_frame frame = test_frame_copy(arp_request, sizeof(arp_request));
	const uint32_t bytes = sizeof(arp_request);
	struct wire_neighbour neighbour;

	RULE("W-8");
	expect_refused(arp_request, bytes, ARP + 4, 8, "hardware length");
	expect_refused(arp_request, bytes, ARP + 5, 16, "protocol length");
	expect_refused(arp_request, bytes, ARP + 7, 0, "operation 0");
	expect_refused(arp_request, bytes, ARP + 8, 0x03, "sender MAC is a group");
	expect_refused(arp_request, bytes, ARP + 14, 224, "sender is a group");
	expect_refused(arp_request, bytes, ARP + 14, 127, "sender is loopback");
	expect_refused(arp_request, bytes, ARP + 24, 255, "target is no host");
	expect_refused(arp_reply, bytes, ARP + 14, 0, "reply of nobody");
	memset(frame.data + ARP + 8, 0, 6);
	cr_expect_not(parse(&frame, &neighbour), "sender MAC zero");
	test_frame_free(&frame);
}

Test(neighbour, an_arp_request_and_reply_are_built)
{
	uint8_t out[WIRE_NEIGHBOUR_MAX_BYTES];
	struct wire_neighbour request;
	uint32_t bytes;

	RULE("W-8");
	memset(out, 0xEE, sizeof(out));
	bytes = wire_neighbour_request(peer_mac, peer_ipv4, our_ipv4, out);
	expect_bytes(out, bytes, arp_request, sizeof(arp_request));
	cr_assert(wire_neighbour_parse(arp_request, sizeof(arp_request), &request));
	memset(out, 0xEE, sizeof(out));
	bytes = wire_neighbour_reply(our_mac, our_ipv4, &request, request.sender_mac, out);
	expect_bytes(out, bytes, arp_reply, sizeof(arp_reply));
}

Test(neighbour, a_solicitation_parses)
{
	struct test_frame frame = test_frame_copy(solicitation, sizeof(solicitation));
	struct wire_neighbour neighbour;

	RULE("W-8");
	cr_assert(parse(&frame, &neighbour));
	cr_expect_eq(neighbour.kind, WIRE_NEIGHBOUR_REQUEST);
	cr_expect(neighbour.has_sender_mac);
	cr_expect_not(neighbour.probe);
	cr_expect_eq(memcmp(neighbour.sender_mac, peer_mac, 6), 0);
	cr_expect_eq(memcmp(neighbour.sender, peer_ipv6, 16), 0);
	cr_expect_eq(memcmp(neighbour.target, our_ipv6, 16), 0);
	test_frame_free(&frame);
}

Test(neighbour, solicitation_without_option_is_answered_to_its_source)
{
	struct test_frame frame = test_frame_copy(solicitation, sizeof(solicitation) - 8);
	struct wire_neighbour neighbour;

	RULE("W-8");
	store_be16(frame.data + IP + 4, 24);
	store_be16(frame.data + ICMP6 + 2, icmp_checksum(frame.data + IP, 24));
	cr_assert(parse(&frame, &neighbour));
	cr_expect_not(neighbour.has_sender_mac);
	cr_expect_eq(memcmp(neighbour.sender_mac, peer_mac, 6), 0);
	test_frame_free(&frame);
}

/* A nonce, or what an advertisement has: of the same length, and no MAC of the sender. */
Test(neighbour, other_option_is_skipped)
{
	RULE("W-8");
	for (uint32_t i = 0; i < 2; i++) {
		struct test_frame frame = copy_changed(solicitation, sizeof(solicitation), ICMP6 + 24, i ? 2 : 14);
		struct wire_neighbour neighbour;

		cr_assert(parse(&frame, &neighbour));
		cr_expect_not(neighbour.has_sender_mac, "option %u", i);
		test_frame_free(&frame);
	}
}

/* From nobody, to the group of the address asked for, without a MAC. */
static struct test_frame probe(void)
{
	struct test_frame frame = test_frame_copy(solicitation, sizeof(solicitation) - 8);

	memset(frame.data + IP + 8, 0, 16);
	store_be16(frame.data + IP + 4, 24);
	store_be16(frame.data + ICMP6 + 2, icmp_checksum(frame.data + IP, 24));
	return frame;
}

Test(neighbour, an_ipv6_probe_is_answered_to_all_nodes)
{
	struct test_frame frame = probe();
	uint8_t out[WIRE_NEIGHBOUR_MAX_BYTES];
	struct wire_neighbour neighbour;
	uint32_t bytes;

	RULE("W-8");
	cr_assert(parse(&frame, &neighbour));
	cr_expect(neighbour.probe);
	bytes = wire_neighbour_reply(our_mac, our_ipv6, &neighbour, peer_mac, out);
	cr_expect_eq(bytes, sizeof(advertisement));
	cr_expect_eq(memcmp(out, "\x33\x33\0\0\0\1", 6), 0);
	cr_expect_eq(memcmp(out + IP + 24, "\xFF\2\0\0\0\0\0\0\0\0\0\0\0\0\0\1", 16), 0);
	cr_expect_eq(out[ICMP6 + 4], 0x20, "override without solicited");
	cr_assert(wire_neighbour_parse(out, bytes, &neighbour));
	cr_expect_eq(neighbour.kind, WIRE_NEIGHBOUR_REPLY);
	cr_expect_not(neighbour.solicited);
	test_frame_free(&frame);
}

Test(neighbour, an_ipv6_probe_that_breaks_its_rules_is_refused)
{
	struct test_frame frame = probe();
	uint32_t bytes = frame.bytes;

	RULE("W-8");
	expect_refused(frame.data, bytes, IP + 39, 0x0B, "to the group of another address");
	test_frame_free(&frame);
	frame = test_frame_copy(solicitation, sizeof(solicitation));
	memset(frame.data + IP + 8, 0, 16);
	expect_refused(frame.data, frame.bytes, IP + 8, 0, "with a source MAC");
	test_frame_free(&frame);
}

Test(neighbour, an_advertisement_parses)
{
	struct test_frame frame = test_frame_copy(advertisement, sizeof(advertisement));
	struct wire_neighbour neighbour;

	RULE("W-8");
	cr_assert(parse(&frame, &neighbour));
	cr_expect_eq(neighbour.kind, WIRE_NEIGHBOUR_REPLY);
	cr_expect(neighbour.solicited);
	cr_expect(neighbour.has_sender_mac);
	cr_expect_eq(memcmp(neighbour.sender_mac, our_mac, 6), 0);
	cr_expect_eq(memcmp(neighbour.target, our_ipv6, 16), 0);
	test_frame_free(&frame);
	frame = copy_changed(advertisement, sizeof(advertisement), ICMP6 + 4, 0x20);
	cr_assert(parse(&frame, &neighbour));
	cr_expect_not(neighbour.solicited);
	test_frame_free(&frame);
}

/* The time limit is for an option without length, on which a reader can stay for ever. */
Test(neighbour, malformed_or_forwarded_discovery_is_refused, .timeout = 20)
{
	const uint32_t bytes = sizeof(solicitation);
	struct test_frame frame;

	RULE("W-8");
	expect_refused(solicitation, bytes, IP + 7, 254, "hop limit: a router has passed it on");
	expect_refused(solicitation, bytes, ICMP6 + 1, 1, "code");
	expect_refused(solicitation, bytes, ICMP6 + 8, 0xFF, "target is a group");
	expect_refused(solicitation, bytes, ICMP6 + 25, 0, "an option without length");
	expect_refused(solicitation, bytes, ICMP6 + 25, 2, "an option longer than the message");
	expect_refused(solicitation, bytes, ICMP6 + 26, 0x03, "the MAC is a group");
	expect_refused(advertisement, bytes, IP + 24, 0xFF, "solicited, but to a group");
	frame = test_frame_copy(solicitation, bytes);
	frame.data[ICMP6 + 2] ^= 1;
	cr_expect_not(parse(&frame, &(struct wire_neighbour){ 0 }), "checksum");
	test_frame_free(&frame);
}

Test(neighbour, a_solicitation_and_an_advertisement_are_built)
{
	uint8_t out[WIRE_NEIGHBOUR_MAX_BYTES];
	struct wire_neighbour request;
	uint32_t bytes;

	RULE("W-8");
	bytes = wire_neighbour_request(peer_mac, peer_ipv6, our_ipv6, out);
	expect_bytes(out, bytes, solicitation, sizeof(solicitation));
	cr_assert(wire_neighbour_parse(solicitation, sizeof(solicitation), &request));
	memset(out, 0xEE, sizeof(out));
	bytes = wire_neighbour_reply(our_mac, our_ipv6, &request, request.sender_mac, out);
	expect_bytes(out, bytes, advertisement, sizeof(advertisement));
}

Test(neighbour, a_reply_has_the_tag_of_its_request)
{
	struct test_frame frame = test_frame_copy(arp_request, sizeof(arp_request));
	uint8_t out[WIRE_NEIGHBOUR_MAX_BYTES];
	struct wire_neighbour request;
	uint32_t bytes;

	RULE("W-8");
	frame.data = realloc(frame.data, frame.bytes + 4);
	cr_assert_not_null(frame.data);
	frame.bytes = wire_neighbour_tag(frame.data, frame.bytes, 0x2005);
	cr_expect_eq(memcmp(frame.data + 12, "\x81\x00\x20\x05\x08\x06\0\1", 8), 0);
	cr_assert(parse(&frame, &request));
	cr_expect(request.vlan);
	bytes = wire_neighbour_reply(our_mac, our_ipv4, &request, peer_mac, out);
	cr_expect_eq(bytes, sizeof(arp_reply) + 4);
	cr_expect_eq(memcmp(out, arp_reply, 12), 0);
	cr_expect_eq(load_be32(out + 12), 0x81002005);
	cr_expect_eq(memcmp(out + 16, arp_reply + 12, sizeof(arp_reply) - 12), 0);
	test_frame_free(&frame);
}

/* What the reply must be: ends exchanged, type and hop limit of a reply, everything else kept. */
static void expect_echo_reply(const struct test_frame *request, uint32_t tag)
{
	struct test_frame reply = test_frame_copy(request->data, request->bytes);
	const uint8_t *ip = request->data + 14 + tag, *out = reply.data + 14 + tag;
	bool ipv6 = ip[0] >> 4 == 6;
	uint32_t header = ipv6 ? 40 : 20, at = ipv6 ? 8 : 12, size = ipv6 ? 16 : 4;
	uint32_t icmp_bytes = ipv6 ? load_be16(ip + 4) : load_be16(ip + 2) - 20u;
	struct wire_neighbour neighbour;

	wire_neighbour_echo_reply(reply.data, reply.bytes);
	cr_expect_eq(memcmp(reply.data, request->data + 6, 6), 0);
	cr_expect_eq(memcmp(reply.data + 6, request->data, 6), 0);
	cr_expect_eq(memcmp(out + at, ip + at + size, size), 0);
	cr_expect_eq(memcmp(out + at + size, ip + at, size), 0);
	cr_expect_eq(out[ipv6 ? 7 : 8], 64);
	cr_expect_eq(out[header], ipv6 ? 129 : 0);
	cr_expect_eq(load_be16(out + header + 2), icmp_checksum(out, icmp_bytes));
	cr_expect_eq(memcmp(out + header + 4, ip + header + 4, icmp_bytes - 4), 0);
	cr_expect_eq(test_frame_kind(&reply), ipv6 ? WIRE_FRAME_ICMP6 : WIRE_FRAME_ICMP);
	/* A reply is no request: two stacks cannot ping each other for ever. */
	cr_expect(parse(&reply, &neighbour) && neighbour.kind == WIRE_NEIGHBOUR_ECHOED);
	cr_expect_eq(neighbour.echo, load_be32(ip + header + 4));
	test_frame_free(&reply);
}

static void check_echo(const uint8_t *data, uint32_t bytes, const uint8_t *sender, const uint8_t *target)
{
	struct test_frame frame = test_frame_copy(data, bytes);
	struct wire_neighbour neighbour;

	cr_assert(parse(&frame, &neighbour));
	cr_expect_eq(neighbour.kind, WIRE_NEIGHBOUR_ECHO);
	cr_expect_eq(memcmp(neighbour.sender, sender, 16), 0);
	cr_expect_eq(memcmp(neighbour.target, target, 16), 0);
	cr_expect_eq(memcmp(neighbour.sender_mac, peer_mac, 6), 0);
	expect_echo_reply(&frame, 0);
	frame.data = realloc(frame.data, bytes + 4);
	cr_assert_not_null(frame.data);
	frame.bytes = wire_neighbour_tag(frame.data, bytes, 5);
	cr_assert(parse(&frame, &neighbour));
	expect_echo_reply(&frame, 4);
	test_frame_free(&frame);
}

Test(neighbour, a_ping_is_read_and_answered)
{
	RULE("W-8");
	check_echo(echo_ipv4, sizeof(echo_ipv4), peer_ipv4, our_ipv4);
	check_echo(echo_ipv6, sizeof(echo_ipv6), peer_ipv6, our_ipv6);
}

Test(neighbour, a_ping_may_be_empty)
{
	uint8_t empty[14 + 40 + 8];
	struct test_frame frame;

	RULE("W-8");
	memcpy(empty, echo_ipv6, sizeof(empty));
	store_be16(empty + 14 + 4, 8);
	store_be16(empty + 14 + 40 + 2, icmp_checksum(empty + 14, 8));
	check_echo(empty, sizeof(empty), peer_ipv6, our_ipv6);
	frame = copy_changed(echo_ipv4, ICMP4 + 8, IP + 3, 28);
	store_be16(frame.data + ICMP4 + 2, icmp_checksum(frame.data + IP, 8));
	check_echo(frame.data, frame.bytes, peer_ipv4, our_ipv4);
	test_frame_free(&frame);
}

Test(neighbour, padded_ping_is_answered_with_its_padding)
{
	struct test_frame frame = test_frame_copy(echo_ipv4, sizeof(echo_ipv4));

	RULE("W-8");
	frame.data = realloc(frame.data, 60);
	cr_assert_not_null(frame.data);
	memset(frame.data + frame.bytes, 0xEE, 60 - frame.bytes);
	frame.bytes = 60;
	cr_assert(parse(&frame, &(struct wire_neighbour){ 0 }));
	expect_echo_reply(&frame, 0);
	test_frame_free(&frame);
}

Test(neighbour, malformed_ping_is_refused)
{
	const uint32_t bytes = sizeof(echo_ipv4);
	struct test_frame frame;

	RULE("W-8");
	expect_refused(echo_ipv4, bytes, ICMP4 + 1, 1, "code");
	expect_refused(echo_ipv4, bytes, ICMP4 + 2, 0, "checksum");
	expect_refused(echo_ipv4, bytes, IP + 3, 27, "shorter than an ICMP header");
	expect_refused(echo_ipv4, bytes, IP + 12, 0, "from no host");
	expect_refused(echo_ipv6, sizeof(echo_ipv6), ICMP6 + 1, 1, "code");
	expect_refused(echo_ipv6, sizeof(echo_ipv6), IP + 8, 0xFF, "from a group");
	frame = test_frame_copy(echo_ipv6, sizeof(echo_ipv6));
	memset(frame.data + IP + 8, 0, 16);
	expect_refused(frame.data, frame.bytes, IP + 8, 0, "from nobody");
	test_frame_free(&frame);
}

/* Makes IP length and checksums of a cut frame agree with what is left, as a sender of so little would. */
static bool agree(struct test_frame *cut)
{
	uint16_t type = cut->bytes >= ICMP4 ? load_be16(cut->data + 12) : 0;
	uint8_t *ip = cut->data + IP;

	if (type == 0x0800) {
		store_be16(ip + 2, (uint16_t)(cut->bytes - IP));
		test_fix_ipv4_checksum(ip);
		if (cut->bytes >= ICMP4 + 4)
			store_be16(ip + 20 + 2, icmp_checksum(ip, cut->bytes - ICMP4));
		return true;
	}
	if (type != 0x86DD || cut->bytes < ICMP6)
		return false;
	store_be16(ip + 4, (uint16_t)(cut->bytes - ICMP6));
	if (cut->bytes >= ICMP6 + 4)
		store_be16(ip + 40 + 2, icmp_checksum(ip, cut->bytes - ICMP6));
	return true;
}

/* The bytes below which a frame of this kind cannot be sound. */
static uint32_t least(const uint8_t *data)
{
	if (load_be16(data + 12) == 0x0800)
		return ICMP4 + 8;
	return data[ICMP6] == 128 ? ICMP6 + 8 : ICMP6 + 24;
}

Test(neighbour, every_truncation_is_refused_without_overread)
{
	static const struct {
		const uint8_t *data;
		uint32_t bytes;
	} frames[] = {
		{ arp_request, sizeof(arp_request) },   { arp_reply, sizeof(arp_reply) },
		{ solicitation, sizeof(solicitation) }, { advertisement, sizeof(advertisement) },
		{ echo_ipv4, sizeof(echo_ipv4) },       { echo_ipv6, sizeof(echo_ipv6) },
	};
	struct wire_neighbour neighbour;
	struct test_frame cut;
	uint32_t bytes;
	size_t i;

	RULE("W-8");
	for (i = 0; i < sizeof(frames) / sizeof(frames[0]); i++) {
		for (bytes = 0; bytes < frames[i].bytes; bytes++) {
			cut = test_frame_copy(frames[i].data, bytes);
			cr_expect_not(parse(&cut, &neighbour), "frame %zu, %u bytes", i, bytes);
			if (agree(&cut))
				cr_expect_not(parse(&cut, &neighbour) && bytes < least(frames[i].data),
					      "frame %zu, %u bytes, lengths agree", i, bytes);
			test_frame_free(&cut);
		}
	}
}

Test(neighbour, roce_frame_is_no_neighbour_message)
{
	struct test_frame frame = test_frame_roce(false, false);
	struct wire_neighbour neighbour;

	RULE("W-8");
	cr_expect_not(parse(&frame, &neighbour));
	cr_expect_eq(neighbour.kind, WIRE_NEIGHBOUR_NONE);
	test_frame_free(&frame);
}

Test(neighbour, probe_has_no_source_address_and_announcement_has_ours)
{
	struct wire_neighbour heard;
	uint8_t out[WIRE_NEIGHBOUR_MAX_BYTES];
	uint32_t bytes;

	RULE("W-8");
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		const uint8_t *addr = ipv6 ? our_ipv6 : our_ipv4;
		const uint8_t *all = ipv6 ? (const uint8_t[]){ 0x33, 0x33, 0, 0, 0, 1 } :
					    (const uint8_t[]){ 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };

		bytes = wire_neighbour_probe(our_mac, addr, out);
		cr_assert(wire_neighbour_parse(out, bytes, &heard));
		cr_expect_eq(heard.kind, WIRE_NEIGHBOUR_REQUEST);
		cr_expect(heard.probe);
		cr_expect_arr_eq(heard.sender_mac, our_mac, 6);
		cr_expect_arr_eq(heard.target, addr, 16);
		cr_expect_eq(heard.has_sender_mac, !ipv6, "RFC 4861 4.3: no option from the unspecified address");
		bytes = wire_neighbour_announce(our_mac, addr, out);
		cr_assert(wire_neighbour_parse(out, bytes, &heard));
		cr_expect_not(heard.probe);
		cr_expect_arr_eq(out, all, 6);
		cr_expect_arr_eq(heard.sender, addr, 16);
		cr_expect_arr_eq(heard.target, addr, 16);
		cr_expect_arr_eq(heard.sender_mac, our_mac, 6);
	}
}
