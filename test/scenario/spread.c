/* spread.c - requests that are spread over several paths: W-10 and S-23 */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agreed.h"
#include "packets.h"
#include "peek.h"
#include "rc/scoreboard.h"
#include "rule.h"

#define PATHS 8u
#define HELD 64u

/* What becomes of A's packets, by their ports. */
struct way {
	uint16_t ports[512]; /* of all that A has sent, in their order */
	uint32_t sent;
	uint64_t lost;  /* bit i: the packet of that number never arrives */
	uint16_t slow;  /* packets of this port are held until release() */
	uint64_t dead;  /* bit i: nothing arrives of the port of path i */
	bool data_only; /* dead paths carry PROBEs */
	uint32_t probes[PATHS];
	struct wire_packet held[HELD];
	uint8_t payload[HELD][MTU];
	uint32_t held_count;
};

static struct way way;

static const struct rc_spread *paths_of(const struct pair *pair, enum side_name side)
{
	return spread_of(pair->side[side].qp);
}

/* Which path of A has this port. */
static uint32_t path_with(const struct pair *pair, uint16_t port)
{
	const struct rc_spread *spread = paths_of(pair, A);

	for (uint32_t i = 0; i < spread->count; i++) {
		if (spread->paths[i].port == port)
			return i;
	}
	cr_assert_fail("port %#x is none of A's", port);
	return 0;
}

static int carry(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	uint16_t port = pair->source_port;
	bool probe = packet->opcode == OP_PROBE;
	uint32_t path;

	if (from != A)
		return 1;
	path = path_with(pair, port);
	way.ports[way.sent++ % 512] = port;
	way.probes[path] += probe;
	if ((number < 64 && (way.lost >> number & 1)) || ((way.dead >> path & 1) && !(probe && way.data_only)))
		return 0;
	if (port != way.slow || probe)
		return 1;
	cr_assert_lt(way.held_count, HELD);
	memcpy(way.payload[way.held_count], packet->payload, packet->payload_bytes);
	way.held[way.held_count] = *packet;
	way.held[way.held_count].payload = way.payload[way.held_count];
	way.held_count++;
	return 0;
}

static void release(struct pair *pair)
{
	for (uint32_t i = 0; i < way.held_count; i++)
		pair_inject(pair, B, way.held[i]);
	way.held_count = 0;
	way.slow = 0;
	pair_run(pair);
}

static struct pair *open_ways(uint32_t paths)
{
	struct pair *pair = open_spread(paths, 0);

	memset(&way, 0, sizeof(way));
	pair->copies = carry;
	return pair;
}

static void expect_same_memory(const struct pair *pair, uint32_t bytes)
{
	cr_assert_eq(memcmp(pair->side[B].memory, pair->side[A].memory, bytes), 0);
}

/* ---- what leaves ---- */

Test(spread, each_packet_takes_the_next_path)
{
	struct pair *pair = open_ways(PATHS);

	RULE("W-10");
	pair_write(pair, 1, 3 * PATHS * MTU);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	cr_assert_eq(way.sent, 3 * PATHS);
	for (uint32_t i = 0; i < way.sent; i++) {
		cr_assert_geq(way.ports[i], PORTS_FIRST);
		cr_assert_eq(way.ports[i], paths_of(pair, A)->paths[i % PATHS].port);
		for (uint32_t k = 1; k < PATHS; k++)
			cr_assert_neq(way.ports[i], way.ports[(i + k) % (3 * PATHS)], "%u and %u", i, i + k);
	}
	expect_same_memory(pair, 3 * PATHS * MTU);
	close_agreed(pair);
}

Test(spread, short_requests_reads_and_atomics_use_paths_round_robin)
{
	struct pair *pair = open_ways(4);

	RULE("W-10");
	pair_write(pair, 1, 8);
	pair_read(pair, 2, 8);
	pair_fetch_add(pair, 3, 1);
	pair_write(pair, 4, 8);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 READ SUCCESS len=8", "wr=3 FADD SUCCESS",
			 "wr=4 WRITE SUCCESS");
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(way.ports[i], paths_of(pair, A)->paths[i].port);
	close_agreed(pair);
}

static uint16_t answer_ports[64];
static uint32_t answers;

static int note_answers(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)number;
	(void)packet;
	if (from == B && answers < 64)
		answer_ports[answers++] = pair->source_port;
	return 1;
}

/* Nothing that B sends over its first path arrives. */
static int lose_first_answers(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)number;
	(void)packet;
	return from == A || pair->source_port != paths_of(pair, B)->paths[0].port;
}

/* All answers use one path; if the peer probes without a gap, they may be lost, and use another path. */
Test(spread, probe_without_a_gap_changes_the_path_of_answers)
{
	struct pair *pair = open_spread(4, 0);

	RULE("W-10");
	pair->copies = note_answers;
	for (uint32_t i = 0; i < 8; i++) {
		pair_write(pair, i, 8);
		pair_run(pair);
		pair->now_ns += 60000;
	}
	cr_assert_eq(answers, 8);
	for (uint32_t i = 1; i < answers; i++)
		cr_assert_eq(answer_ports[i], answer_ports[0]);
	pair_inject(pair, B, (struct wire_packet){ .opcode = OP_PROBE, .control_kind = WIRE_PROBE_KIND });
	pair_transmit(pair, B);
	cr_assert_eq(answers, 11, "%u", answers);
	for (uint32_t i = 8; i < answers; i++)
		cr_assert_eq(answer_ports[i], paths_of(pair, B)->paths[1].port);
	close_agreed(pair);
}

/* The answers' path dies with the first packet: a PROBE, and all is well again. */
Test(spread, a_dead_path_of_answers_costs_no_retry)
{
	struct pair *pair = open_spread(4, 0);

	RULE("W-10");
	pair_measure(pair, 10000);
	pair->copies = lose_first_answers;
	pair_write(pair, 2, 8 * MTU);
	cr_assert(pair_settle(pair, 1000000));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	close_agreed(pair);
}

/* ---- what is lost ---- */

/* Overtaking on another path shows no loss. */
Test(spread, slow_path_causes_no_resend)
{
	struct pair *pair = open_ways(PATHS);

	RULE("S-23");
	way.slow = paths_of(pair, A)->paths[2].port;
	pair_write(pair, 1, 40 * MTU);
	pair_run(pair);
	cr_assert_eq(way.held_count, 5);
	cr_assert_gt(kept_by_b(pair), 30);
	expect_completes(pair, A);
	release(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	cr_assert_eq(kept_by_b(pair), 0);
	expect_same_memory(pair, 40 * MTU);
	close_agreed(pair);
}

/* What left later on its own path shows it, and the copy takes another path. */
Test(spread, lost_packet_is_resent_over_another_path)
{
	struct pair *pair = open_ways(PATHS);

	RULE("S-23");
	way.lost = 1 << 5;
	pair_write(pair, 1, 32 * MTU);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 1);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	cr_assert_neq(way.ports[32], way.ports[5]);
	expect_same_memory(pair, 32 * MTU);
	close_agreed(pair);
}

/* No packet follows on their paths, so PROBEs are sent over these. */
Test(spread, lost_tail_is_probed_over_its_paths)
{
	struct pair *pair = open_ways(PATHS);

	RULE("S-23");
	pair_measure(pair, 10000);
	memset(&way, 0, sizeof(way));
	pair->copies = carry;
	way.lost = 7ull << (pair->side[A].packets + 5);
	pair_write(pair, 2, 8 * MTU);
	cr_assert(pair_settle(pair, 1000000));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 3);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	close_agreed(pair);
}

/* A timer has probed a READ, and the answer arrives when later packets are in flight: it does not cover them. */
Test(spread, late_probe_answer_reveals_no_later_loss)
{
	struct pair *pair = open_ways(PATHS);
	struct wire_packet answer = { .opcode = OP_SACK, .control_kind = WIRE_SACK_OF_PROBE, .cack_psn = 0xFFFFFD };

	RULE("S-23");
	pair_cut(pair);
	pair_read(pair, 1, 8);
	pair_transmit(pair, A);
	while (pair->side[A].qp->counters[CNT_EARLY_PROBES] == 0)
		cr_assert(pair_fire(pair));
	cr_assert_neq(paths_of(pair, A)->paths[1].probe, 0);
	answer.probe_id = (uint16_t)(paths_of(pair, A)->paths[1].probe * SPREAD_MOST + 1);
	pair_respond(pair, (struct wire_packet){ .opcode = OP_READ_RESPONSE_ONLY,
						 .psn = 0xFFFFFD,
						 .payload_bytes = 8,
						 .payload = pair->side[A].memory });
	expect_completes(pair, A, "wr=1 READ SUCCESS len=8");
	pair_write(pair, 2, 8 * MTU);
	pair_transmit(pair, A);
	answer.sack_offset = 1;
	pair_respond(pair, answer);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 0);
	close_agreed(pair);
}

/* ---- paths that die ---- */

static uint32_t bad_paths(const struct pair *pair)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < PATHS; i++)
		count += paths_of(pair, A)->paths[i].state == SPREAD_BAD;
	return count;
}

/* Sends so many WRITEs one after the other, each of so many packets. */
static void send_writes(struct pair *pair, uint32_t first, uint32_t count, uint32_t packets)
{
	for (uint32_t i = first; i < first + count; i++) {
		pair_write(pair, i, packets * MTU);
		pair_run(pair);
		for (uint32_t k = 0; k < 20 && peek_outstanding(pair->side[A].qp) != 0; k++)
			cr_assert(pair_fire(pair));
		cr_assert_eq(peek_outstanding(pair->side[A].qp), 0, "WRITE %u is not done", i);
	}
}

Test(spread, dead_path_costs_no_retry_and_is_unused_until_probed)
{
	struct pair *pair = open_ways(PATHS);
	const struct rc_spread_path *dead = &paths_of(pair, A)->paths[3];
	uint32_t probes;

	RULE("S-23");
	RULE("W-10");
	pair_measure(pair, 10000);
	pair->copies = carry;
	way.dead = 1 << 3;
	send_writes(pair, 2, 4, 32);
	cr_assert_eq(bad_paths(pair), 1);
	cr_assert_eq(dead->state, SPREAD_BAD);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	cr_assert_eq(peek_retries_left(pair->side[A].qp), 7);
	memset(&way, 0, sizeof(way));
	way.dead = 1 << 3;
	send_writes(pair, 10, 1, 32);
	for (uint32_t i = 0; i < way.sent; i++)
		cr_assert(way.ports[i] != dead->port || way.probes[3] > 0);
	probes = way.probes[3];
	pair->now_ns += 2 * SPREAD_RETRY_NS;
	send_writes(pair, 20, 1, 32);
	cr_assert_gt(way.probes[3], probes);
	cr_assert_eq(dead->state, SPREAD_BAD);
	way.dead = 0;
	pair->now_ns += 8 * SPREAD_RETRY_NS;
	send_writes(pair, 30, 2, 32);
	cr_assert_eq(bad_paths(pair), 0);
	expect_same_memory(pair, 32 * MTU);
	close_agreed(pair);
}

/*
 * The peer reports packets after the first lost one of the dead path. A PROBE is sent after half the expected
 * response time, not only after silence; with further SACKs no timer is needed.
 */
Test(spread, overtaken_path_is_probed_early)
{
	for (uint32_t more = 0; more < 2; more++) {
		struct pair *pair = open_ways(PATHS);
		struct rc_qp *qp = pair->side[A].qp;
		uint64_t began_ns;

		RULE("S-23");
		pair_measure(pair, 10000);
		pair->copies = carry;
		way.dead = 1 << 3;
		pair_write(pair, 2, 32 * MTU);
		began_ns = pair->now_ns;
		pair_run(pair);
		expect_completes(pair, A);
		expect_counts(pair, A, CNT_EARLY_PROBES, 0);
		cr_assert_eq(rc_qp_deadline(qp), pair->now_ns + rtt_bound_ns(&qp->rtt, 0) / 2);
		if (more) {
			pair->now_ns += rtt_bound_ns(&qp->rtt, 0) / 2;
			pair_write(pair, 3, 4 * MTU);
			pair_run(pair);
		} else {
			cr_assert(pair_fire(pair));
		}
		cr_assert_gt(qp->counters[CNT_EARLY_PROBES], 0);
		cr_assert_leq(qp->counters[CNT_EARLY_PROBES], more ? 6 : 3, "that path and two more, each time");
		for (uint32_t i = 0; i < 20 && peek_outstanding(qp) != 0; i++)
			cr_assert(pair_fire(pair));
		expect_completes(pair, A, "wr=2 WRITE SUCCESS", more ? "wr=3 WRITE SUCCESS" : NULL);
		cr_assert_lt(pair->now_ns, began_ns + 30000, "%lu", pair->now_ns - began_ns);
		expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
		expect_same_memory(pair, 4 * MTU);
		close_agreed(pair);
	}
}

/* The copy of a lost packet leaves over a path that has just died, and nothing new leaves behind it. */
Test(spread, path_of_a_resent_packet_is_probed_early)
{
	struct pair *pair = open_ways(PATHS);
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t began_ns;

	RULE("S-23");
	pair_measure(pair, 10000);
	memset(&way, 0, sizeof(way));
	pair->copies = carry;
	way.lost = 1ull << (pair->side[A].packets + 5);
	pair_write(pair, 2, 32 * MTU);
	began_ns = pair->now_ns;
	pair_transmit(pair, A);
	way.lost = 0;
	way.dead = 1ull << paths_of(pair, A)->turn[paths_of(pair, A)->next % PATHS];
	cr_assert_eq(way.sent, 32);
	for (uint32_t i = 0; i < 20 && peek_outstanding(qp) != 0; i++) {
		pair_run(pair);
		if (peek_outstanding(qp) != 0)
			cr_assert(pair_fire(pair));
	}
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	cr_assert_lt(pair->now_ns, began_ns + 60000, "%lu", pair->now_ns - began_ns);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 2);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	expect_same_memory(pair, 32 * MTU);
	close_agreed(pair);
}

/* PROBEs are answered, data is lost, then data passes as well: the least bad path is used (W-10). */
Test(spread, one_path_remains_in_use_while_all_are_bad)
{
	struct pair *pair = open_ways(4);
	struct rc_qp *qp = pair->side[A].qp;

	RULE("W-10");
	pair_measure(pair, 10000);
	pair->copies = carry;
	pair_write(pair, 2, 32 * MTU);
	way.dead = 15;
	pair_transmit(pair, A);
	for (uint32_t i = 0; i < 32; i++)
		rc_spread_lost(qp, psn_add(qp->win.snd_una, i));
	cr_assert_eq(paths_of(pair, A)->turns, 1);
	for (uint32_t i = 0; i < 4; i++)
		cr_assert_eq(paths_of(pair, A)->paths[i].state, SPREAD_BAD);
	way.dead = 0;
	cr_assert(pair_settle(pair, 10000000000));
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	expect_same_memory(pair, 32 * MTU);
	close_agreed(pair);
}

/* PROBEs over several paths may arrive in one poll: each is answered. */
Test(spread, each_probe_of_a_poll_is_answered)
{
	struct pair *pair = open_ways(PATHS);
	struct wire_packet probe = { .opcode = OP_PROBE, .control_kind = WIRE_PROBE_KIND };

	RULE("S-23");
	pair_write(pair, 1, 2 * MTU);
	pair_run(pair);
	pair_forget(pair);
	for (uint16_t i = 0; i < 3; i++) {
		probe.probe_id = 64 + i;
		pair_inject(pair, B, probe);
	}
	pair_transmit(pair, B);
	cr_assert_eq(pair->side[B].sent_count, 7, "%u", pair->side[B].sent_count);
	for (uint32_t id = 64; id < 67; id++) {
		char wanted[16];
		uint32_t found = 0;

		snprintf(wanted, sizeof(wanted), "probe=%u ", id);
		for (uint32_t i = 0; i < pair->side[B].sent_count; i++)
			found += strstr(pair->side[B].sent[i], wanted) != NULL;
		cr_assert_eq(found, 2, "%u answers to %u", found, id);
	}
	close_agreed(pair);
}

/* ---- its state ---- */

/* Goes to RTR with these attributes of a QP in RESET. Returns the result; *bad: what is to blame. */
static int ask_for(struct pair *pair, uint8_t paths, uint16_t window, uint32_t *bad, uint8_t *told)
{
	struct rc_qp *qp = pair->side[A].qp;
	struct uroce_qp_attr attr = { .path_mtu = MTU, .dest_qp_num = 0x12, .paths = paths, .sack_window = window };
	uint32_t mask = UROCE_QP_STATE | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN |
			UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_PATHS | UROCE_QP_SACK_WINDOW;
	int result;

	attr.qp_state = UROCE_QPS_RESET;
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE, bad), 0);
	attr.qp_state = UROCE_QPS_INIT;
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, bad), 0);
	attr.qp_state = UROCE_QPS_RTR;
	*bad = 0;
	result = rc_qp_modify(qp, &attr, mask, bad);
	rc_qp_query(qp, &attr);
	*told = attr.paths;
	return result;
}

Test(spread, four_to_sixty_four_paths_are_accepted_with_sacks)
{
	static const struct {
		uint8_t paths;
		uint16_t window;
		int result;
	} rows[] = { { 0, 0, 0 },       { 1, 0, 0 },         { 4, 256, 0 },       { 64, 2048, 0 },
		     { 4, 0, -EINVAL }, { 2, 256, -EINVAL }, { 3, 256, -EINVAL }, { 65, 256, -EINVAL } };
	struct pair *pair = open_ways(PATHS);
	uint32_t bad;
	uint8_t told;

	RULE("W-10");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_assert_eq(ask_for(pair, rows[i].paths, rows[i].window, &bad, &told), rows[i].result, "row %u", i);
		cr_assert_eq(told, rows[i].result || rows[i].paths < 2 ? 0 : rows[i].paths, "row %u", i);
		cr_assert_eq(bad, rows[i].result ? UROCE_QP_PATHS : 0);
	}
	close_agreed(pair);
}

Test(spread, without_memory_for_several_paths_the_qp_has_one)
{
	struct pair *pair = open_ways(PATHS);
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_RESET };
	uint32_t bad;
	uint8_t told;

	RULE("W-10");
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_STATE, &bad), 0);
	pair->side[A].pool.boards.pool.size = 0;
	cr_assert_eq(ask_for(pair, 8, 256, &bad, &told), 0);
	cr_assert_eq(told, 0);
	close_agreed(pair);
}

Test(spread, migration_begins_with_good_paths)
{
	struct pair *pair = open_ways(PATHS);
	struct rc_qp *qp = pair->side[A].qp;

	RULE("W-10");
	RULE("A-4");
	pair->copies = NULL;
	pair_write(pair, 1, 32 * MTU);
	pair_transmit(pair, A);
	for (uint32_t i = 0; i < 32; i++)
		rc_spread_lost(qp, psn_add(qp->win.snd_una, i));
	cr_assert_eq(bad_paths(pair), PATHS);
	rc_loss_migrate(qp);
	cr_assert_eq(bad_paths(pair), 0);
	cr_assert_eq(paths_of(pair, A)->turns, PATHS);
	close_agreed(pair);
}

Test(spread, reset_returns_borrowed_boards)
{
	struct pair *pair = open_ways(PATHS);
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_RESET };
	uint32_t bad;

	RULE("W-10");
	cr_assert_eq(rc_spread_count(pair->side[A].qp), PATHS);
	cr_assert_eq(rc_qp_modify(pair->side[A].qp, &attr, UROCE_QP_STATE, &bad), 0);
	cr_assert_eq(rc_spread_count(pair->side[A].qp), 0);
	cr_assert_not(pair->side[A].qp->seldom);
	cr_assert_eq(pair->side[A].pool.boards.pool.used, 0);
	close_agreed(pair);
}
