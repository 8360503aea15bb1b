/* ports.c - the sets of UDP source ports of two ends that have agreed to SACKs (W-2, W-10) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/ports.h"
#include "rule.h"

#define PSNS 200u

/* A is one end, B the other one. */
static struct rc_qp a, b;

static void open_ends(uint32_t psn_a, uint32_t psn_b, uint16_t window)
{
	a = (struct rc_qp){ .qpn = 0x11, .dest_qpn = 0x22, .sq_psn = { psn_a }, .rq_psn = { psn_b } };
	b = (struct rc_qp){ .qpn = 0x22, .dest_qpn = 0x11, .sq_psn = { psn_b }, .rq_psn = { psn_a } };
	a.kept.window = b.kept.window = window;
	rc_ports_expect(&a);
	rc_ports_expect(&b);
}

Test(ports, each_end_derives_the_ports_of_its_peer)
{
	RULE("W-2");
	RULE("W-10");
	for (uint32_t psn = 0; psn < PSNS; psn++) {
		open_ends(psn * 7919, 0xFFFFFF - psn, 256);
		for (uint32_t i = 0; i < SPREAD_MOST; i++) {
			cr_assert_geq(rc_ports_own(&a, i), PORTS_FIRST);
			cr_assert_eq(ports_index(&b, rc_ports_own(&a, i)), i);
			cr_assert_eq(ports_index(&a, rc_ports_own(&b, i)), i);
		}
	}
}

/* A forger has one chance in 512 to choose one of them, among the ports that are used at all. */
Test(ports, sixty_four_ports_are_admitted)
{
	RULE("W-2");
	for (uint32_t psn = 0; psn < PSNS; psn++) {
		uint32_t admitted = 0;

		open_ends(psn * 7919, psn * 104729 & 0xFFFFFF, 256);
		for (uint32_t port = 0; port < 0x10000; port++)
			admitted += rc_ports_admit(&b, (uint16_t)port);
		cr_assert_eq(admitted, SPREAD_MOST);
	}
}

static uint16_t port_of(uint32_t from_qpn, uint32_t to_qpn, uint32_t to_psn, uint32_t index)
{
	struct ports_set set = ports_draw(from_qpn, to_qpn, psn_make(to_psn));

	return ports_at(&set, index);
}

Test(ports, port_set_depends_on_both_qpns_and_the_receivers_start_psn)
{
	RULE("W-10");
	for (uint32_t i = 0; i < 2; i++) {
		uint16_t port = port_of(2, 4, 5, i);

		cr_expect_eq(port_of(2, 4, 5, i), port);
		cr_expect_neq(port_of(3, 4, 5, i), port);
		cr_expect_neq(port_of(2, 5, 5, i), port);
		cr_expect_neq(port_of(2, 4, 6, i), port);
		cr_expect_neq(port_of(4, 2, 5, i), port, "each direction has its own");
	}
}

/* The usual ports of connections with consecutive PSNs are spread evenly over the range. */
Test(ports, usual_ports_are_spread_evenly)
{
	uint32_t counts[16] = { 0 };

	RULE("W-2");
	for (uint32_t psn = 0; psn < 16000; psn++)
		counts[(port_of(2, 4, psn, 0) - PORTS_FIRST) / (PORTS_COUNT / 16)]++;
	for (uint32_t i = 0; i < 16; i++)
		cr_expect(counts[i] > 850 && counts[i] < 1150, "%u: %u", i, counts[i]);
}

/* Every other peer may send from any port, and is sent packets from the port that follows from the QPNs alone. */
Test(ports, without_sacks_any_port_is_admitted)
{
	RULE("W-2");
	open_ends(1, 2, 0);
	for (uint32_t port = 0; port < 0x10000; port++)
		cr_assert(rc_ports_admit(&b, (uint16_t)port));
	cr_expect_eq(rc_ports_own(&a, 0), path_source_port(a.qpn, a.dest_qpn));
	open_ends(1, 2, 256);
	rc_ports_forget(&b);
	cr_expect(rc_ports_admit(&b, 1));
}

/* However many paths the peer uses, and up to the least number of them that it can have. */
Test(ports, acceptable_psn_and_port_pairs_do_not_exceed_the_ports)
{
	RULE("S-21");
	for (uint32_t paths = 1; paths <= SPREAD_MOST; paths++) {
		uint32_t at_epsn = SPREAD_MOST, near = KEPT_NEAR * SPREAD_MOST;
		uint32_t far = (ports_reach(paths) - KEPT_NEAR) * paths;

		cr_expect_leq(at_epsn + near + far, PORTS_COUNT, "%u paths", paths);
	}
	cr_expect_geq(ports_reach(8), 2047 + 64, "eight paths have the whole map");
}
