/* conflict.c - another station uses an address of a port: counted, reported, and the address is defended */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "engine/device_state.h"
#include "network.h"
#include "rule.h"
#include "start.h"
#include "ticks.h"
#include "wire/neighbour.h"

TestSuite(conflict, .init = test_eal_start, .timeout = 60);

static struct network network;
static const uint8_t other_mac[6] = { 2, 0, 0, 0, 0, 99 };

/* Another station at the other end of the wire announces an address of end 0. */
static void announce(const char *address)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(network.loop.pool);
	struct uroce_addr addr = network_address(address);
	uint8_t frame[WIRE_NEIGHBOUR_MAX_BYTES];
	uint32_t bytes = wire_neighbour_announce(other_mac, addr.bytes, frame);

	cr_assert_not_null(mbuf);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)bytes), frame, bytes);
	cr_assert_eq(rte_eth_tx_burst(network.loop.ports[1].port_id, 0, &mbuf, 1), 1);
	for (int i = 0; i < 20; i++)
		network_poll(&network);
}

static void expect_defended_once_in_ten_seconds(const char *address)
{
	struct uroce_event event = { .type = UROCE_EVENT_TYPES };
	uint64_t sent;

	network_open(&network, 1);
	ticks_start(10000000); /* ten milliseconds per poll */
	sent = network_frames_sent(&network, 0);
	for (unsigned i = 1; i <= 3; i++) {
		announce(address);
		cr_expect_eq(network_counter(&network, 0, "address_conflicts"), i);
		cr_expect_eq(network_frames_sent(&network, 0), sent + 1, "one announcement");
		cr_expect_eq(uroce_event_poll(network.ends[0].device, &event), i == 1);
		cr_expect_eq(event.type, UROCE_EVENT_ADDRESS_CONFLICT);
		cr_expect_eq(network_counter(&network, 1, "rx_neighbour"), 1, "end 1 sees it");
	}
	ticks_start(1000000000); /* a second per poll: 20 pass behind each message */
	announce(address);
	cr_expect_eq(network_frames_sent(&network, 0), sent + 1);
	announce(address);
	cr_expect_eq(network_frames_sent(&network, 0), sent + 2, "ten seconds have passed");
	cr_expect(uroce_event_poll(network.ends[0].device, &event));
	cr_expect_eq(network_counter(&network, 0, "address_conflicts"), 5);
	network_close(&network);
}

Test(conflict, address_is_defended_once_in_ten_seconds)
{
	RULE("W-8");
	expect_defended_once_in_ten_seconds("10.0.0.1");
}

Test(conflict, ipv6_address_is_defended_once_in_ten_seconds)
{
	RULE("W-8");
	expect_defended_once_in_ten_seconds("fe80::1");
}

/* RFC 5227 2.1.1: whoever has the address answers a probe; that is no conflict. */
Test(conflict, probe_of_another_station_is_answered)
{
	const struct uroce_addr addr = network_address("10.0.0.1");
	uint8_t frame[WIRE_NEIGHBOUR_MAX_BYTES];
	struct rte_mbuf *mbuf;
	uint32_t bytes = wire_neighbour_probe(other_mac, addr.bytes, frame);

	RULE("W-8");
	network_open(&network, 1);
	mbuf = rte_pktmbuf_alloc(network.loop.pool);
	memcpy(rte_pktmbuf_append(mbuf, (uint16_t)bytes), frame, bytes);
	cr_assert_eq(rte_eth_tx_burst(network.loop.ports[1].port_id, 0, &mbuf, 1), 1);
	for (int i = 0; i < 20; i++)
		network_poll(&network);
	cr_expect_eq(network_counter(&network, 0, "address_conflicts"), 0);
	cr_expect_eq(network_frames_sent(&network, 0), 1);
	network_close(&network);
}
