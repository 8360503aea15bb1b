/* neighbour_others.c - well-formed ARP and ICMP messages that are for routers and other hosts are not malformed */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "frames.h"
#include "rule.h"
#include "wire/bytes.h"
#include "wire/neighbour.h"

enum { BODY_BYTES = 40, HOP_LIMIT = 255 };

static const uint8_t source_mac_option[8] = { 1, 1, 2, 0, 0, 0, 0, 0x0B };
static const uint8_t peer_mac[6] = { 2, 0, 0, 0, 0, 0x0B };

/* An ICMP message of `bytes` bytes, zeros behind type and code, with an option at option_at if that is not 0. */
struct message {
	const char *what;
	bool ipv6;
	uint8_t type, code;
	uint32_t bytes, option_at;
	uint8_t hop_limit;   /* 0: 255 */
	uint8_t option_size; /* in units of 8 bytes; 0: 1 */
	bool malformed;
};

static void fill_ipv6(uint8_t *ip, const struct message *message)
{
	uint8_t *icmp = ip + WIRE_IPV6_BYTES;
	uint32_t sum;

	ip[0] = 0x60;
	store_be16(ip + 4, (uint16_t)message->bytes);
	ip[6] = 58;
	ip[7] = message->hop_limit ? message->hop_limit : HOP_LIMIT;
	memcpy(ip + 8, (const uint8_t[]){ 0xFE, 0x80 }, 2);
	ip[23] = 0x0B;
	memcpy(ip + 24, (const uint8_t[]){ 0xFF, 0x02 }, 2);
	ip[39] = 1;
	sum = wire_encap_sum(0, ip + 8, 32) + message->bytes + 58;
	store_be16(icmp + 2, (uint16_t)~wire_encap_sum(sum, icmp, message->bytes));
}

static void fill_ipv4(uint8_t *ip, const struct message *message)
{
	uint8_t *icmp = ip + WIRE_IPV4_BYTES;

	ip[0] = 0x45;
	store_be16(ip + 2, (uint16_t)(WIRE_IPV4_BYTES + message->bytes));
	ip[8] = 64;
	ip[9] = 1;
	memcpy(ip + 12, (const uint8_t[]){ 10, 9, 0, 11, 10, 9, 0, 10 }, 8);
	test_fix_ipv4_checksum(ip);
	store_be16(icmp + 2, (uint16_t)~wire_encap_sum(0, icmp, message->bytes));
}

static bool parse(const struct message *message, struct wire_neighbour *neighbour)
{
	uint32_t ip_bytes = message->ipv6 ? WIRE_IPV6_BYTES : WIRE_IPV4_BYTES;
	uint8_t bytes[TEST_IP + WIRE_IPV6_BYTES + BODY_BYTES] = { 0 }, *icmp = bytes + TEST_IP + ip_bytes;
	struct test_frame frame;
	bool parsed;

	memcpy(bytes + 6, peer_mac, sizeof(peer_mac));
	store_be16(bytes + TEST_ETHERTYPE, message->ipv6 ? 0x86DD : 0x0800);
	icmp[0] = message->type;
	icmp[1] = message->code;
	if (message->option_at)
		memcpy(icmp + message->option_at, source_mac_option, sizeof(source_mac_option));
	if (message->option_size)
		icmp[message->option_at + 1] = message->option_size;
	(message->ipv6 ? fill_ipv6 : fill_ipv4)(bytes + TEST_IP, message);
	frame = test_frame_copy(bytes, TEST_IP + ip_bytes + message->bytes);
	parsed = wire_neighbour_parse(frame.data, frame.bytes, neighbour);
	test_frame_free(&frame);
	return parsed;
}

/* clang-format off */
static const struct message messages[] = {
	{ "destination unreachable", false, 3, 4, 36 },
	{ "timestamp request", false, 13, 0, 20 },
	{ "shorter than a header", false, 3, 4, 4, .malformed = true },
	{ "destination unreachable", true, 1, 4, 40 },
	{ "multicast listener report", true, 131, 0, 24 },
	{ "shorter than a header", true, 1, 0, 4, .malformed = true },
	{ "router solicitation", true, 133, 0, 8 },
	{ "router solicitation with a MAC", true, 133, 0, 16, 8 },
	{ "router advertisement", true, 134, 0, 16 },
	{ "router advertisement with a MAC", true, 134, 0, 24, 16 },
	{ "router advertisement, forwarded", true, 134, 0, 24, 16, .hop_limit = 254, .malformed = true },
	{ "router advertisement with a code", true, 134, 1, 24, 16, .malformed = true },
	{ "router advertisement, cut", true, 134, 0, 12, .malformed = true },
	{ "router advertisement, option too long", true, 134, 0, 24, 16, .option_size = 2, .malformed = true },
	{ "router advertisement, option without length", true, 134, 0, 24, .malformed = true },
	{ "redirect", true, 137, 0, 40 },
	{ "redirect, shorter than its addresses", true, 137, 0, 32, .malformed = true },
};
/* clang-format on */

Test(neighbour_others, icmp_for_other_hosts_is_not_malformed)
{
	RULE("W-8");
	for (uint32_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
		struct wire_neighbour neighbour;

		cr_expect_neq(parse(&messages[i], &neighbour), messages[i].malformed, "%s", messages[i].what);
		cr_expect_eq(neighbour.kind, messages[i].malformed ? WIRE_NEIGHBOUR_NONE : WIRE_NEIGHBOUR_OTHER, "%s",
			     messages[i].what);
	}
}

/* ARP of `bytes` bytes that begins with these. */
static enum wire_neighbour_kind arp_kind(const uint8_t *begin, uint32_t begin_bytes, uint32_t bytes)
{
	uint8_t data[TEST_IP + BODY_BYTES] = { 0 };
	struct wire_neighbour neighbour;
	struct test_frame frame;

	memcpy(data + 6, peer_mac, sizeof(peer_mac));
	store_be16(data + TEST_ETHERTYPE, 0x0806);
	memcpy(data + TEST_IP, begin, begin_bytes);
	memcpy(data + TEST_IP + 8, peer_mac, sizeof(peer_mac));
	frame = test_frame_copy(data, TEST_IP + bytes);
	cr_expect_eq(wire_neighbour_parse(frame.data, frame.bytes, &neighbour), neighbour.kind != WIRE_NEIGHBOUR_NONE);
	test_frame_free(&frame);
	return (enum wire_neighbour_kind)neighbour.kind;
}

Test(neighbour_others, arp_for_other_hosts_is_not_malformed)
{
	const uint8_t reverse[] = { 0, 1, 8, 0, 6, 4, 0, 3 }, hardware[] = { 0, 6, 8, 0, 8, 4, 0, 1 };
	const uint8_t protocol[] = { 0, 1, 0x86, 0, 6, 8, 0, 1 }, none[] = { 0, 6, 8, 0, 8, 4, 0, 0 };
	const uint8_t empty[] = { 0, 6, 8, 0, 0, 4, 0, 1 };

	RULE("W-8");
	cr_expect_eq(arp_kind(reverse, 8, 28), WIRE_NEIGHBOUR_OTHER, "reverse ARP");
	cr_expect_eq(arp_kind(hardware, 8, 32), WIRE_NEIGHBOUR_OTHER, "another hardware");
	cr_expect_eq(arp_kind(hardware, 8, 31), WIRE_NEIGHBOUR_NONE, "cut");
	cr_expect_eq(arp_kind(protocol, 8, 36), WIRE_NEIGHBOUR_OTHER, "another protocol");
	cr_expect_eq(arp_kind(none, 8, 32), WIRE_NEIGHBOUR_NONE, "no operation");
	cr_expect_eq(arp_kind(empty, 8, 32), WIRE_NEIGHBOUR_NONE, "addresses without length");
	cr_expect_eq(arp_kind(reverse, 8, 7), WIRE_NEIGHBOUR_NONE, "shorter than its header");
}
