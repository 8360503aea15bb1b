/* neigh.c - the address table of a device */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "engine/neigh.h"
#include "rule.h"

static struct engine_neigh neigh;
static const struct uroce_addr peer = { { 1, [15] = 2 } };

/* The last byte of the MAC that is known; 0: none. */
static uint8_t known_as(uint16_t vlan_id, uint64_t now_ns, bool *ask)
{
	struct uroce_mac mac;

	return engine_neigh_resolve(&neigh, &peer, vlan_id, now_ns, &mac, ask) ? mac.bytes[5] : 0;
}

static void learn(uint16_t vlan_id, uint8_t last, bool wanted)
{
	const struct uroce_mac mac = { { 2, 0, 0, 0, 0, last } };

	engine_neigh_learn(&neigh, &peer, vlan_id, &mac, wanted, 1);
}

/* Two networks on one cable may use the same addresses. */
Test(neigh, address_is_distinct_in_each_vlan)
{
	bool ask;

	RULE("W-8");
	engine_neigh_init(&neigh);
	for (uint16_t vlan_id = 0; vlan_id < 100; vlan_id++) {
		cr_assert_eq(known_as(vlan_id, 1, &ask), 0);
		cr_assert(ask, "nobody has asked in VLAN %u", vlan_id);
		cr_assert_eq(known_as(vlan_id, 2, &ask), 0);
		cr_assert_not(ask);
	}
	for (uint16_t vlan_id = 0; vlan_id < 100; vlan_id += 2)
		learn(vlan_id, (uint8_t)(vlan_id + 1), false);
	for (uint16_t vlan_id = 0; vlan_id < 100; vlan_id++)
		cr_assert_eq(known_as(vlan_id, 3, &ask), vlan_id % 2 ? 0 : vlan_id + 1);
}

Test(neigh, only_requested_neighbours_are_learned)
{
	bool ask;

	RULE("W-8");
	engine_neigh_init(&neigh);
	learn(5, 1, false);
	cr_assert_eq(known_as(5, 1, &ask), 0);
	learn(6, 1, true);
	cr_assert_eq(known_as(6, 1, &ask), 1);
	learn(6, 2, false);
	cr_assert_eq(known_as(6, 2, &ask), 2, "a known one may move");
}

/* A question is repeated, but not before its time. */
Test(neigh, unanswered_request_is_repeated_after_its_interval)
{
	bool ask;

	engine_neigh_init(&neigh);
	known_as(0, 1, &ask);
	cr_assert(ask);
	known_as(0, NEIGH_ASK_INTERVAL_NS, &ask);
	cr_assert_not(ask);
	known_as(0, NEIGH_ASK_INTERVAL_NS + 1, &ask);
	cr_assert(ask);
}
