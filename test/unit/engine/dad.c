/* dad.c - duplicate address detection, in time that the test tells */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/dad.h"
#include "rule.h"
#include "wire/neighbour.h"

#define MS 1000000ull

static const struct engine_dad_claim claim = {
	.addr = { { [10] = 0xFF, 0xFF, 192, 0, 2, 9 } },
	.vlan_id = 7,
	.mac = { { 2, 0, 0, 0, 0, 1 } },
};
static const struct uroce_addr other = { { [10] = 0xFF, 0xFF, 192, 0, 2, 10 } };
static const uint8_t other_mac[6] = { 2, 0, 0, 0, 0, 2 };

/* A message of another station in the VLAN of the address. */
static struct wire_neighbour message(enum wire_neighbour_kind kind, const struct uroce_addr *sender,
				     const struct uroce_addr *target)
{
	struct wire_neighbour heard = { .kind = (uint8_t)kind, .vlan = true, .vlan_tci = 3 << 13 | 7 };

	heard.probe = sender == NULL;
	if (sender)
		memcpy(heard.sender, sender, sizeof(heard.sender));
	memcpy(heard.target, target, sizeof(heard.target));
	memcpy(heard.sender_mac, other_mac, sizeof(heard.sender_mac));
	return heard;
}

Test(dad, address_is_free_after_three_probes_within_half_a_second)
{
	uint64_t start_ns = 5000 * MS, now_ns = start_ns;
	enum engine_dad_state state;
	struct engine_dad dad;
	unsigned probes = 0;

	RULE("W-8");
	engine_dad_begin(&dad, &claim, now_ns);
	for (; (state = engine_dad_step(&dad, now_ns)) != DAD_FREE; now_ns += MS) {
		probes += state == DAD_PROBE;
		cr_assert(state == DAD_PROBE || state == DAD_WAIT);
	}
	cr_assert_eq(probes, 3);
	cr_assert_eq(now_ns - start_ns, 450 * MS);
	cr_assert_eq(engine_dad_step(&dad, now_ns), DAD_FREE, "it stays free");
}

static enum engine_dad_state state_after(const struct wire_neighbour *heard)
{
	struct engine_dad dad;

	engine_dad_begin(&dad, &claim, MS);
	cr_assert_eq(engine_dad_step(&dad, MS), DAD_PROBE);
	engine_dad_hear(&dad, heard);
	if (dad.held)
		cr_assert_arr_eq(dad.holder.bytes, heard->sender_mac, 6);
	return engine_dad_step(&dad, 2 * MS);
}

Test(dad, station_that_uses_or_probes_the_address_holds_it)
{
	const struct wire_neighbour reply = message(WIRE_NEIGHBOUR_REPLY, &claim.addr, &claim.addr),
				    request = message(WIRE_NEIGHBOUR_REQUEST, &claim.addr, &other),
				    announcement = message(WIRE_NEIGHBOUR_REQUEST, &claim.addr, &claim.addr),
				    probe = message(WIRE_NEIGHBOUR_REQUEST, NULL, &claim.addr);

	RULE("W-8");
	cr_expect_eq(state_after(&reply), DAD_HELD);
	cr_expect_eq(state_after(&request), DAD_HELD);
	cr_expect_eq(state_after(&announcement), DAD_HELD);
	cr_expect_eq(state_after(&probe), DAD_HELD);
	cr_expect(engine_dad_contradicts(&claim, &reply));
	cr_expect(engine_dad_contradicts(&claim, &request));
	cr_expect(engine_dad_contradicts(&claim, &announcement));
	cr_expect_not(engine_dad_contradicts(&claim, &probe), "a probe for an address in use is answered");
}

Test(dad, other_messages_are_no_conflict)
{
	struct wire_neighbour rows[] = {
		message(WIRE_NEIGHBOUR_REPLY, &other, &other),
		message(WIRE_NEIGHBOUR_REQUEST, &other, &claim.addr),
		message(WIRE_NEIGHBOUR_REQUEST, NULL, &other),
		message(WIRE_NEIGHBOUR_ECHO, &claim.addr, &other),
		message(WIRE_NEIGHBOUR_REPLY, &claim.addr, &claim.addr), /* in another VLAN */
		message(WIRE_NEIGHBOUR_REPLY, &claim.addr, &claim.addr), /* ours, sent back */
		message(WIRE_NEIGHBOUR_REQUEST, NULL, &claim.addr),      /* ours, sent back */
	};

	RULE("W-8");
	rows[4].vlan_tci = 8;
	memcpy(rows[5].sender_mac, claim.mac.bytes, 6);
	memcpy(rows[6].sender_mac, claim.mac.bytes, 6);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(state_after(&rows[i]), DAD_WAIT, "row %zu", i);
		cr_expect_not(engine_dad_contradicts(&claim, &rows[i]), "row %zu", i);
	}
}

Test(dad, address_is_defended_at_most_once_in_ten_seconds)
{
	uint64_t defended_ns = 0;
	unsigned count = 0;

	RULE("W-8");
	for (uint64_t now_ns = MS; now_ns <= 30001 * MS; now_ns += 100 * MS)
		count += engine_dad_may_defend(&defended_ns, now_ns);
	cr_assert_eq(count, 4, "at 0, 10, 20 and 30 s");
	cr_assert_not(engine_dad_may_defend(&defended_ns, 30000 * MS), "another lcore's poll began a little earlier");
}
