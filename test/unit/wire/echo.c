/* echo.c - echo requests of ours: built, answered, and known again by their number */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "frames.h"
#include "rule.h"
#include "wire/bytes.h"
#include "wire/neighbour.h"

TestSuite(echo, .timeout = 10);

static const uint8_t our_mac[6] = { 0x02, 0, 0, 0, 0, 0x0A };
static const uint8_t peer_mac[6] = { 0x02, 0, 0, 0, 0, 0x0B };
static const uint8_t ours[2][16] = { { [10] = 0xFF, 0xFF, 10, 9, 0, 10 }, { 0xFE, 0x80, [15] = 0x0A } };
static const uint8_t peers[2][16] = { { [10] = 0xFF, 0xFF, 10, 9, 0, 11 }, { 0xFE, 0x80, [15] = 0x0B } };

static struct wire_neighbour parse(const uint8_t *data, uint32_t bytes)
{
	struct test_frame frame = test_frame_copy(data, bytes);
	struct wire_neighbour neighbour;

	cr_assert(wire_neighbour_parse(frame.data, frame.bytes, &neighbour));
	test_frame_free(&frame);
	return neighbour;
}

/* There and back, with or without a VLAN tag. */
static void check(int ipv6, uint32_t ip_bytes, uint16_t tci)
{
	const uint32_t number = 0xC0FFEE00 + ip_bytes;
	uint8_t data[10000];
	uint32_t bytes = wire_neighbour_echo(our_mac, ours[ipv6], peer_mac, peers[ipv6], number, ip_bytes, data);
	struct wire_neighbour neighbour;

	cr_expect_eq(bytes, 14 + ip_bytes);
	if (!ipv6)
		cr_expect_eq(load_be16(data + 14 + 6), 0x4000, "a router may not fragment it");
	if (tci)
		bytes = wire_neighbour_tag(data, bytes, tci);
	neighbour = parse(data, bytes);
	cr_expect_eq(neighbour.kind, WIRE_NEIGHBOUR_ECHO);
	cr_expect_eq(memcmp(neighbour.sender_mac, our_mac, 6), 0);
	cr_expect_eq(memcmp(neighbour.sender, ours[ipv6], 16), 0);
	cr_expect_eq(memcmp(neighbour.target, peers[ipv6], 16), 0);
	cr_expect_eq(neighbour.vlan_tci, tci);
	cr_expect_eq(neighbour.echo, number);
	wire_neighbour_echo_reply(data, bytes);
	neighbour = parse(data, bytes);
	cr_expect_eq(neighbour.kind, WIRE_NEIGHBOUR_ECHOED);
	cr_expect_eq(memcmp(neighbour.sender_mac, peer_mac, 6), 0);
	cr_expect_eq(memcmp(neighbour.sender, peers[ipv6], 16), 0);
	cr_expect_eq(memcmp(neighbour.target, ours[ipv6], 16), 0);
	cr_expect_eq(neighbour.echo, number);
}

Test(echo, echo_returns_with_its_number)
{
	RULE("W-8");
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		check(ipv6, WIRE_ECHO_MIN_BYTES, 0);
		check(ipv6, WIRE_ECHO_MIN_BYTES + 1, 7);
		check(ipv6, 4096 + 60, 0);
		check(ipv6, 9000, 7);
	}
}

Test(echo, damaged_echo_is_rejected)
{
	uint8_t data[2000];

	RULE("W-8");
	for (int ipv6 = 0; ipv6 < 2; ipv6++) {
		uint32_t bytes = wire_neighbour_echo(our_mac, ours[ipv6], peer_mac, peers[ipv6], 1, 1500, data);
		struct test_frame frame = test_frame_copy(data, bytes);
		struct wire_neighbour neighbour;

		wire_neighbour_echo_reply(frame.data, frame.bytes);
		frame.data[bytes - 1] ^= 1;
		cr_expect_not(wire_neighbour_parse(frame.data, frame.bytes, &neighbour));
		test_frame_free(&frame);
	}
}
