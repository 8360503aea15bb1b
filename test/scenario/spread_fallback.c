/* spread_fallback.c - a peer without out-of-order receive gets all packets over one path (W-10) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "agreed.h"
#include "packets.h"
#include "rule.h"

#define PATHS 8u
#define HELD 64u

/* The source ports of A's packets, in their order, and packets that are still on their way. */
static struct {
	uint16_t ports[1024];
	uint32_t sent;
	struct wire_packet held[HELD];
	uint8_t payload[HELD][MTU];
	uint32_t held_count;
} way;

static const struct rc_spread *paths_of(const struct pair *pair, enum side_name side)
{
	return spread_of(pair->side[side].qp);
}

static uint32_t path_with(const struct pair *pair, uint16_t port)
{
	return ports_index(pair->side[B].qp, port);
}

/* Packets over all paths but the first one are one step slower. */
static int delay_others(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)number;
	if (from != A)
		return 1;
	way.ports[way.sent++ % 1024] = pair->source_port;
	if (path_with(pair, pair->source_port) == 0 || packet->opcode == OP_PROBE)
		return 1;
	cr_assert_lt(way.held_count, HELD);
	memcpy(way.payload[way.held_count], packet->payload, packet->payload_bytes);
	way.held[way.held_count] = *packet;
	way.held[way.held_count].payload = way.payload[way.held_count];
	way.held_count++;
	return 0;
}

/* Packets of the step before arrive behind those that took the first path now. */
static void step(struct pair *pair, uint32_t burst, bool answers_arrive)
{
	uint32_t held = way.held_count;

	pair_transmit_some(pair, A, burst);
	pair_deliver(pair, B);
	for (uint32_t i = 0; i < held; i++)
		pair_inject(pair, B, way.held[i]);
	memmove(way.held, way.held + held, (way.held_count - held) * sizeof(way.held[0]));
	memmove(way.payload, way.payload + held, (way.held_count - held) * sizeof(way.payload[0]));
	way.held_count -= held;
	for (uint32_t i = 0; i < way.held_count; i++)
		way.held[i].payload = way.payload[i];
	pair_transmit(pair, B);
	if (answers_arrive)
		pair_deliver(pair, A);
	pair->now_ns += 20000;
	if (rc_qp_deadline(pair->side[A].qp) <= pair->now_ns)
		rc_qp_timeout(pair->side[A].qp, pair->now_ns);
}

/*
 * The wire loses nothing, but the store of B is full: after the first SACK packets take one path, where they stay in
 * order.
 */
Test(spread_fallback, peer_that_keeps_no_packets_receives_over_one_path)
{
	struct pair *pair = open_spread(PATHS, 0);
	uint32_t steps = 0, before;

	RULE("W-10");
	pair->copies = delay_others;
	pair->side[B].pool.store->kept.pool.size = 0;
	pair->now_ns = 1000000;
	pair_write(pair, 1, 400 * MTU);
	step(pair, 32, true);
	step(pair, 32, true);
	before = way.sent;
	while (pair->side[A].done_count == 0 && steps < 1000) {
		step(pair, 32, true);
		steps++;
	}
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	cr_expect_leq(way.sent, 400 + 200, "%u packets for 400", way.sent);
	cr_expect_leq(steps, 40, "%u steps", steps);
	for (uint32_t i = before; i < way.sent && i < 1024; i++)
		cr_expect_eq(path_with(pair, way.ports[i]), path_with(pair, way.ports[before]), "packet %u", i);
	cr_expect_eq(paths_of(pair, A)->turns, 1);
	close_agreed(pair);
}

/*
 * Packets of the repeated flight arrive late and draw SACKs without kept packets: these are no sequence NAKs, so no
 * request fails even without retries. Both ends answer at every pace.
 */
Test(spread_fallback, late_packets_of_the_first_flight_cost_no_retry)
{
	RULE("W-10");
	RULE("S-22");
	for (uint32_t burst = 2; burst <= 32; burst *= 2) {
		for (uint32_t pause = 1; pause <= 16; pause *= 2) {
			struct pair *pair = open_with((struct pair_options){ .timeout = 18, .retry_cnt = 255 });
			uint32_t steps = 0;

			rc_spread_over(pair->side[A].qp, 4);
			way.held_count = way.sent = 0;
			pair->copies = delay_others;
			pair->side[B].pool.store->kept.pool.size = 0;
			pair->now_ns = 1000000;
			pair_write(pair, 1, 400 * MTU);
			while (pair->side[A].done_count == 0 && steps < 20000) {
				step(pair, burst, ++steps % pause == 0);
			}
			cr_expect_eq(pair->side[A].qp->counters[CNT_PACKET_SEQ_ERR], 0, "burst %u, pause %u", burst,
				     pause);
			expect_completes(pair, A, "wr=1 WRITE SUCCESS");
			close_agreed(pair);
		}
	}
}

/* After a while several paths are tried again, and kept if the peer keeps packets now. */
Test(spread_fallback, several_paths_are_tried_again_and_kept_on_success)
{
	struct pair *pair = open_spread(PATHS, 0);
	uint64_t waits_ns[2];

	RULE("W-10");
	pair->now_ns = 1000000;
	for (uint32_t i = 0; i < 2; i++) {
		rc_spread_kept(pair->side[A].qp, false, pair->now_ns);
		cr_expect_eq(paths_of(pair, A)->turns, 1);
		waits_ns[i] = paths_of(pair, A)->alone_ns - pair->now_ns;
		pair->now_ns = paths_of(pair, A)->alone_ns;
		pair_write(pair, i, PATHS * MTU);
		pair_run(pair);
		cr_expect_eq(paths_of(pair, A)->turns, PATHS);
	}
	cr_expect_eq(waits_ns[1], 2 * waits_ns[0]);
	rc_spread_kept(pair->side[A].qp, true, pair->now_ns);
	rc_spread_kept(pair->side[A].qp, false, pair->now_ns);
	cr_expect_eq(paths_of(pair, A)->alone_ns - pair->now_ns, waits_ns[0]);
	close_agreed(pair);
}
