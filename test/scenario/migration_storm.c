/* migration_storm.c - migrations again and again under traffic both ways: all arrives once, in order, and right */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-I-4. A storm that fails says its seed; UROCE_STORM_SEED repeats it, UROCE_STORM_RUNS asks for more.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "rule.h"
#include "two_paths.h"

#define SIDE_BYTES (1u << 20)  /* the requests of A use the first of these of both memories, those of B the second */
#define COUNTERS_AT (3u << 20) /* a word for the atomics of each side */
#define BYTES 3000u
#define SOURCE 0u /* where SEND and WRITE of a round take their data, and where the rest goes */
#define SENT_TO 16384u
#define WRITTEN_TO 32768u
#define READ_AT 49152u
#define ORIGINAL_AT 65536u

static void post(struct pair *pair, enum side_name side, enum uroce_wr_opcode opcode, uint64_t wr_id, uint64_t remote,
		 uint64_t local, uint32_t bytes, uint64_t add)
{
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED,
		.imm_data = htonl((uint32_t)wr_id),
		.remote_addr = (uintptr_t)pair->side[!side].memory + remote,
		.compare_add = add,
	};

	cr_assert_eq(pair_post(pair, side, wr, local, bytes), 0);
}

/* One request of each kind from either side; what they move says of which round it is. */
static void post_round(struct pair *pair, uint32_t round)
{
	for (int i = 0; i < 2; i++) {
		enum side_name side = (enum side_name)i, peer = (enum side_name) !i;
		uint64_t base = side * SIDE_BYTES;

		pair_fill(pair, side, base + SOURCE, (uint8_t)(round + 1), BYTES);
		pair_fill(pair, peer, base + READ_AT, (uint8_t)(round + 101), BYTES);
		cr_assert_eq(pair_recv(pair, peer, 50, base + SENT_TO, BYTES), 0);
		post(pair, side, UROCE_WR_SEND, 1, 0, base + SOURCE, BYTES, 0);
		post(pair, side, UROCE_WR_RDMA_READ, 2, base + READ_AT, base + READ_AT, BYTES, 0);
		post(pair, side, UROCE_WR_ATOMIC_FETCH_AND_ADD, 3, COUNTERS_AT + side * 8u, base + ORIGINAL_AT, 8,
		     round);
		post(pair, side, UROCE_WR_RDMA_WRITE, 4, base + WRITTEN_TO, base + SOURCE, BYTES, 0);
	}
}

static void expect_filled(const struct pair *pair, enum side_name side, uint64_t offset, uint8_t value)
{
	for (uint32_t i = 0; i < BYTES; i++)
		cr_assert_eq(pair->side[side].memory[offset + i], value, "byte %u at %lu", i, offset);
}

/* Each request once, in order, with success; each receive once. */
static void check_round(struct pair *pair, uint32_t round, uint64_t sum)
{
	for (int i = 0; i < 2; i++) {
		enum side_name side = (enum side_name)i, peer = (enum side_name) !i;
		uint64_t base = side * SIDE_BYTES, next = 1;
		uint32_t receives = 0;

		expect_done_count(pair, side, 5);
		for (uint32_t k = 0; k < 5; k++) {
			const struct uroce_wc *wc = &pair->side[side].wcs[k];

			cr_assert_eq(wc->status, UROCE_WC_SUCCESS, "%s", pair->side[side].done[k]);
			if (wc->opcode == UROCE_WC_RECV)
				receives++;
			else
				cr_assert_eq(wc->wr_id, next++, "round %u: %s", round, pair->side[side].done[k]);
		}
		cr_assert_eq(receives, 1);
		expect_filled(pair, peer, base + SENT_TO, (uint8_t)(round + 1));
		expect_filled(pair, peer, base + WRITTEN_TO, (uint8_t)(round + 1));
		expect_filled(pair, side, base + READ_AT, (uint8_t)(round + 101));
		cr_assert_eq(pair_word(pair, side, base + ORIGINAL_AT), sum, "round %u", round);
		cr_assert_eq(pair_word(pair, peer, COUNTERS_AT + side * 8u), sum + round, "round %u", round);
	}
}

static struct pair *open_counting(struct two_paths *paths)
{
	struct pair *pair = two_paths_open(paths, &(struct pair_options){ .retry_cnt = 2, .psn_a = 0xFFFF00 });

	pair_set_word(pair, A, COUNTERS_AT + 8, 0);
	pair_set_word(pair, B, COUNTERS_AT, 0);
	return pair;
}

/* Some packets of either side arrive, so that what follows meets the traffic at another point each time. */
static void run_a_little(struct pair *pair, uint32_t packets)
{
	for (uint32_t i = 0; i < packets; i++) {
		enum side_name side = i & 1 ? B : A;

		pair_transmit_some(pair, side, 1);
		if (i % 3 != 2)
			pair_deliver(pair, (enum side_name) !side);
	}
	pair_transmit_some(pair, A, 1);
	pair_transmit_some(pair, B, 1);
}

enum trigger { SOFTWARE, PORT_FAILURE, DEAD_PATH, TRIGGERS };

static void trigger_migration(struct pair *pair, enum side_name side, enum trigger trigger)
{
	struct two_paths *paths = pair->user;

	if (trigger == SOFTWARE)
		two_paths_migrate(pair, side);
	else if (trigger == PORT_FAILURE)
		cr_assert(rc_qp_port_failed(pair->side[side].qp));
	else
		paths->dead[side][two_paths_now(pair, side)] = true;
}

/* TC-I-4: each has left for the alternate path on its own account, and there they meet. */
Test(migration_storm, both_sides_migrate_at_the_same_moment)
{
	RULE("A-6");
	RULE("A-4");
	for (uint32_t row = 0; row < 30 * TRIGGERS; row++) {
		enum trigger trigger = (enum trigger)(row % TRIGGERS);
		struct two_paths paths = { .by_port = row & 1 };
		struct pair *pair = open_counting(&paths);

		two_paths_arm(pair);
		post_round(pair, 7);
		/* A dead path is noticed while something is under way. */
		run_a_little(pair, row / TRIGGERS % (trigger == DEAD_PATH ? 6 : 30));
		trigger_migration(pair, A, trigger);
		trigger_migration(pair, B, trigger);
		cr_assert(pair_settle(pair, 10000000000ull));
		check_round(pair, 7, 0);
		expect_events(pair, A, "PATH_MIG");
		expect_events(pair, B, "PATH_MIG");
		two_paths_expect(pair, A, UROCE_PATH_MIGRATED, 1);
		two_paths_expect(pair, B, UROCE_PATH_MIGRATED, 1);
		pair_close(pair);
	}
}

/* There and back a hundred times, begun by either side for any reason, at any point of the traffic. */
static void migrate_a_hundred_times(bool by_port)
{
	struct two_paths paths = { .by_port = by_port };
	struct pair *pair = open_counting(&paths);
	uint64_t sum = 0;

	for (uint32_t round = 0; round < 100; round++) {
		enum side_name initiator = round & 1 ? B : A, peer = (enum side_name) !initiator;
		enum trigger trigger = (enum trigger)(round / 2 % TRIGGERS);
		uint32_t old = two_paths_now(pair, A);

		memset(paths.dead, 0, sizeof(paths.dead));
		two_paths_arm(pair);
		post_round(pair, round);
		run_a_little(pair, trigger == DEAD_PATH ? round / 6 % 6 : round / 3);
		trigger_migration(pair, initiator, trigger);
		cr_assert(pair_settle(pair, 10000000000ull));
		two_paths_expect(pair, initiator, UROCE_PATH_MIGRATED, !old);
		if (two_paths_state(pair, peer) ==
		    UROCE_PATH_ARMED) { /* all had arrived: it follows with the next packet */
			post(pair, initiator, UROCE_WR_RDMA_WRITE, 5, COUNTERS_AT + 64, 0, 8, 0);
			pair_run(pair);
			pair->side[initiator].done_count--;
		}
		two_paths_expect(pair, peer, UROCE_PATH_MIGRATED, !old);
		check_round(pair, round, sum);
		sum += round;
		expect_events(pair, A, "PATH_MIG");
		expect_events(pair, B, "PATH_MIG");
		pair_forget(pair);
	}
	expect_counts(pair, A, CNT_PATH_MIGRATIONS, 100);
	expect_counts(pair, B, CNT_PATH_MIGRATIONS, 100);
	expect_counts(pair, A, CNT_MIGRATION_REFUSED, 0);
	expect_counts(pair, B, CNT_MIGRATION_REFUSED, 0);
	pair_close(pair);
}

Test(migration_storm, a_hundred_migrations_between_two_addresses_of_a_port)
{
	RULE("A-8");
	RULE("A-4");
	migrate_a_hundred_times(false);
}

Test(migration_storm, a_hundred_migrations_between_two_ports)
{
	RULE("A-8");
	RULE("A-5");
	migrate_a_hundred_times(true);
}

#define MESSAGES 40

struct plan {
	enum uroce_wr_opcode opcode;
	uint32_t bytes;
	uint64_t add;
};

struct storm {
	struct two_paths paths; /* first: it is the pair's user */
	uint64_t seed, random;
	uint32_t loss, copies, reorder; /* per thousand */
	struct plan plans[2][MESSAGES];
	uint32_t received[2]; /* receives posted for the requests of a side, counted in requests */
	uint32_t migrations;
};

static int fate(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	struct storm *storm = pair->user;
	struct side *side = &pair->side[from];

	if (side->wire_tail - side->wire_head >= 2 && draw_chance(&storm->random, storm->reorder)) {
		struct flight *a = &side->wire[(side->wire_tail - 1) % PAIR_IN_FLIGHT];
		struct flight *b = &side->wire[(side->wire_tail - 2) % PAIR_IN_FLIGHT];
		struct flight swap = *a;

		*a = *b;
		*b = swap;
	}
	if (two_paths_fate(pair, from, number, packet) == 0 || draw_chance(&storm->random, storm->loss))
		return 0;
	return draw_chance(&storm->random, storm->copies) ? 2 : 1;
}

static bool takes_receive(enum uroce_wr_opcode opcode)
{
	return opcode == UROCE_WR_SEND || opcode == UROCE_WR_SEND_WITH_IMM || opcode == UROCE_WR_RDMA_WRITE_WITH_IMM;
}

static uint64_t area_of(enum side_name side, uint32_t message)
{
	return side * SIDE_BYTES + message * 16384ull;
}

static void plan_storm(struct storm *storm, struct pair *pair)
{
	static const enum uroce_wr_opcode opcodes[] = {
		UROCE_WR_SEND,      UROCE_WR_SEND_WITH_IMM,        UROCE_WR_RDMA_WRITE,   UROCE_WR_RDMA_WRITE_WITH_IMM,
		UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_FETCH_AND_ADD, UROCE_WR_ATOMIC_WRITE,
	};

	for (int side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < MESSAGES; i++) {
			struct plan *plan = &storm->plans[side][i];
			uint64_t area = area_of((enum side_name)side, i);
			uint64_t remote = area;

			plan->opcode = opcodes[draw_next(&storm->random) % (sizeof(opcodes) / sizeof(opcodes[0]))];
			plan->bytes = (uint32_t)(draw_next(&storm->random) % 9000);
			plan->add = draw_next(&storm->random) % 1000;
			if (plan->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD || plan->opcode == UROCE_WR_ATOMIC_WRITE)
				plan->bytes = 8;
			if (plan->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD)
				remote = COUNTERS_AT + (uint64_t)side * 8;
			post(pair, (enum side_name)side, plan->opcode, i, remote, area, plan->bytes, plan->add);
		}
	}
}

/* The next receive for requests of a side, if one is still to come. */
static void post_receive(struct pair *pair, struct storm *storm, enum side_name from)
{
	uint32_t i = storm->received[from];

	while (i < MESSAGES && !takes_receive(storm->plans[from][i].opcode))
		i++;
	storm->received[from] = i + 1;
	if (i < MESSAGES)
		cr_assert_eq(pair_recv(pair, (enum side_name) !from, 100 + i, area_of(from, i), 16384), 0);
}

/* Each path has its P_Key; the timeout differs each time. */
static void load_in_storm(struct pair *pair, struct storm *storm, enum side_name side)
{
	uint32_t path_index = !two_paths_now(pair, side), bad = 0;
	struct uroce_qp_attr attr = two_paths_alternate(pair, side, path_index);

	attr.alt_pkey = path_index ? 0x8123 : 0xFFFF;
	attr.alt_timeout = (uint8_t)(8 + draw_next(&storm->random) % 4);
	cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, TWO_PATHS_LOAD, &bad), 0, "%#x", bad);
}

/* Both are armed on the same path: it dies in one direction or both, or somebody has another reason to leave it. */
static void leave_the_path(struct pair *pair, struct storm *storm)
{
	struct two_paths *paths = &storm->paths;
	uint32_t path_index = two_paths_now(pair, A), what = (uint32_t)(draw_next(&storm->random) % 8);
	bool a = what & 1, b = what & 2;

	paths->dead[A][!path_index] = paths->dead[B][!path_index] = false;
	for (int side = 0; side < 2; side++) {
		if (what != 0 && !(side == A ? a : b))
			continue;
		if (what < 4)
			paths->dead[side][path_index] = true;
		else if (draw_chance(&storm->random, 500))
			two_paths_migrate(pair, (enum side_name)side);
		else
			rc_qp_port_failed(pair->side[side].qp);
	}
}

/* Whenever both are armed the path may fail; whenever both are on the new one each may load the old one again. */
static void steer(struct pair *pair, struct storm *storm)
{
	if (two_paths_now(pair, A) != two_paths_now(pair, B))
		return;
	if (two_paths_state(pair, A) == UROCE_PATH_ARMED && two_paths_state(pair, B) == UROCE_PATH_ARMED) {
		if (draw_chance(&storm->random, 100))
			leave_the_path(pair, storm);
		return;
	}
	for (int side = 0; side < 2; side++)
		if (two_paths_state(pair, (enum side_name)side) == UROCE_PATH_MIGRATED &&
		    rc_migration_may_rearm(pair->side[side].qp) && draw_chance(&storm->random, 300))
			load_in_storm(pair, storm, (enum side_name)side);
}

static bool wire_is_empty(const struct side *side)
{
	return side->wire_head == side->wire_tail;
}

/* Some packets of each side, of which what is on the wire arrives; when there are none, the next timer. */
static void poll_once(struct pair *pair, struct storm *storm)
{
	bool more = pair_transmit_some(pair, A, 1 + (uint32_t)(draw_next(&storm->random) % 6));

	more |= pair_transmit_some(pair, B, 1 + (uint32_t)(draw_next(&storm->random) % 6));
	pair->now_ns += pair->step_ns;
	if (!more && wire_is_empty(&pair->side[A]) && wire_is_empty(&pair->side[B])) {
		uint64_t a = rc_qp_deadline(pair->side[A].qp), b = rc_qp_deadline(pair->side[B].qp);

		if (a != RC_NEVER || b != RC_NEVER)
			pair->now_ns = a < b ? a : b;
	}
	for (int side = 0; side < 2; side++) {
		if (draw_chance(&storm->random, 700))
			pair_deliver(pair, (enum side_name)side);
		if (rc_qp_deadline(pair->side[side].qp) <= pair->now_ns)
			rc_qp_timeout(pair->side[side].qp, pair->now_ns);
	}
}

/* All data where it belongs, atomics counted once each and answered with what was there before. */
static void check_data(struct pair *pair, const struct storm *storm, enum side_name side)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < MESSAGES; i++) {
		const struct plan *plan = &storm->plans[side][i];
		uint64_t area = area_of(side, i);

		if (plan->opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD) {
			cr_assert_eq(pair_word(pair, side, area), sum, "seed %lu: %c, atomic %u", storm->seed,
				     "AB"[side], i);
			sum += plan->add;
		} else {
			cr_assert_eq(memcmp(pair->side[A].memory + area, pair->side[B].memory + area, plan->bytes), 0,
				     "seed %lu: %c, request %u moved wrong bytes", storm->seed, "AB"[side], i);
		}
	}
	cr_assert_eq(pair_word(pair, (enum side_name) !side, COUNTERS_AT + side * 8u), sum, "seed %lu: counter of %c",
		     storm->seed, "AB"[side]);
}

/* Requests in posting order, receives in the order of the requests that took them, all with success. */
static void check_completions(struct pair *pair, const struct storm *storm, enum side_name side)
{
	uint32_t next = 0, receive = 0;

	for (uint32_t k = 0; k < pair->side[side].done_count; k++) {
		const struct uroce_wc *wc = &pair->side[side].wcs[k];
		const char *line = pair->side[side].done[k];

		cr_assert_eq(wc->status, UROCE_WC_SUCCESS, "seed %lu: %c, %s", storm->seed, "AB"[side], line);
		if (wc->opcode < UROCE_WC_RECV) {
			cr_assert_eq(wc->wr_id, next++, "seed %lu: %c, %s", storm->seed, "AB"[side], line);
			continue;
		}
		while (!takes_receive(storm->plans[!side][receive].opcode))
			receive++;
		cr_assert_eq(wc->wr_id, 100 + receive, "seed %lu: %c, %s", storm->seed, "AB"[side], line);
		cr_assert_eq(wc->byte_len, storm->plans[!side][receive++].bytes, "seed %lu: %c, %s", storm->seed,
			     "AB"[side], line);
	}
	cr_assert_eq(next, MESSAGES, "seed %lu: %c has %u completions", storm->seed, "AB"[side], next);
	while (receive < MESSAGES)
		cr_assert_not(takes_receive(storm->plans[!side][receive++].opcode), "seed %lu: %c", storm->seed,
			      "AB"[side]);
}

/* What the events tell is what has happened. */
static void check_events(struct pair *pair, const struct storm *storm, enum side_name side)
{
	uint64_t migrated = 0;

	for (uint32_t i = 0; i < pair->side[side].event_count; i++) {
		const char *event = pair->side[side].events[i];

		migrated += strcmp(event, "PATH_MIG") == 0;
		cr_assert(strncmp(event, "PATH_MIG", 8) == 0, "seed %lu: %c, %s", storm->seed, "AB"[side], event);
	}
	if (pair->side[side].event_count < 64)
		cr_assert_eq(migrated, pair->side[side].qp->counters[CNT_PATH_MIGRATIONS], "seed %lu: %c", storm->seed,
			     "AB"[side]);
}

static uint32_t sends_done(const struct side *side)
{
	uint32_t count = 0;

	for (uint32_t k = 0; k < side->done_count; k++)
		count += side->wcs[k].opcode < UROCE_WC_RECV;
	return count;
}

static uint64_t run_storm(uint64_t seed)
{
	struct storm storm = { .seed = seed, .random = draw_start(seed) };
	static const uint32_t mtus[] = { 256, 512, 1024, 4096 };
	struct pair *pair;
	uint64_t migrations;

	storm.loss = (uint32_t)(draw_next(&storm.random) % 50);
	storm.copies = (uint32_t)(draw_next(&storm.random) % 50);
	storm.reorder = (uint32_t)(draw_next(&storm.random) % 50);
	storm.paths.by_port = draw_chance(&storm.random, 500);
	pair = two_paths_open(&storm.paths, &(struct pair_options){
						    .mtu = mtus[draw_next(&storm.random) % 4],
						    .psn_a = (uint32_t)draw_next(&storm.random) & 0xFFFFFF,
						    .psn_b = (uint32_t)draw_next(&storm.random) & 0xFFFFFF,
						    .rd_atomic = (uint8_t)(1 + draw_next(&storm.random) % 16),
						    .timeout = 10,
						    .rnr_timer = 1,
					    });
	pair->copies = fate;
	pair_set_word(pair, A, COUNTERS_AT + 8, 0);
	pair_set_word(pair, B, COUNTERS_AT, 0);
	plan_storm(&storm, pair);
	for (uint32_t i = 0; i < 20000; i++) {
		if (sends_done(&pair->side[A]) >= MESSAGES && sends_done(&pair->side[B]) >= MESSAGES)
			break;
		for (int side = 0; side < 2; side++)
			if (draw_chance(&storm.random, 100))
				post_receive(pair, &storm, (enum side_name)side);
		steer(pair, &storm);
		poll_once(pair, &storm);
	}
	cr_assert(pair_settle(pair, 60000000000ull), "seed %lu: not settled", seed);
	migrations = pair->side[A].qp->counters[CNT_PATH_MIGRATIONS];
	for (int side = 0; side < 2; side++) {
		check_completions(pair, &storm, (enum side_name)side);
		check_data(pair, &storm, (enum side_name)side);
		check_events(pair, &storm, (enum side_name)side);
	}
	pair_close(pair);
	return migrations;
}

Test(migration_storm, requests_of_both_sides_survive_alternating_path_failures, .timeout = 120)
{
	const char *given = getenv("UROCE_STORM_SEED");
	const char *runs = getenv("UROCE_STORM_RUNS");
	uint64_t first = given ? strtoull(given, NULL, 0) : 1;
	uint64_t count = given ? 1 : runs ? strtoull(runs, NULL, 0) : 100;
	uint64_t migrations = 0;

	RULE("A-8");
	RULE("A-4");
	RULE("A-2");
	for (uint64_t seed = first; seed < first + count; seed++)
		migrations += run_storm(seed);
	if (!given)
		cr_assert_gt(migrations, count, "%lu migrations in %lu storms", migrations, count);
}
