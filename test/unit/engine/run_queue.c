/* run_queue.c - the ring of active QPs: in turn, answers first, holes closed */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "engine/numa_alloc.h"
#include "engine/run_queue.h"
#include "engine/engine.h"
#include "rule.h"

#define QPS 32u
#define CROWD (QPS - 3) /* more than are served soon */

/* The parts of numa_alloc.c that need DPDK and libnuma, as far as the ring sees them. */
void *engine_numa_alloc(uint64_t bytes, int node)
{
	(void)node;
	return calloc(1, bytes);
}

void engine_numa_free(void *memory, uint64_t bytes)
{
	(void)bytes;
	free(memory);
}

static struct engine_run_queue ring;
static struct uroce_qp qps[QPS], *const crowd = qps + 3;

/* Room for QPS on each of two lcores. */
static const struct uroce_engine engine = { .index_count = 2 * QPS, .lcore_mask = 1 };

static void start(void)
{
	cr_assert_eq(engine_run_queue_init(&ring, &engine, -1), 0);
	for (uint32_t i = 0; i < QPS; i++)
		qps[i].run_queue = &ring;
}

static void stop(void)
{
	engine_run_queue_free(&ring);
}

TestSuite(run_queue, .init = start, .fini = stop);

static struct uroce_qp *pop(struct engine_run_queue *queue)
{
	struct uroce_qp *qp = run_queue_pop(queue);

	cr_assert(!qp || qp->rings == 0);
	return qp;
}

/* The n-th QP behind the next one of the ring that is next. */
static struct uroce_qp *look(uint32_t n)
{
	return run_queue_look(&ring, run_queue_next_ring(&ring), n);
}

static void expect_next(uint32_t number)
{
	cr_assert_eq(pop(&ring), &qps[number], "%u", number);
}

static void expect_early(const struct uroce_qp *qp)
{
	cr_assert_eq(run_queue_pop(&ring), qp);
	cr_assert_eq(qp->rings, RING_TURNS);
}

Test(run_queue, order_is_fifo_with_responders_first)
{
	RULE("S-18");
	run_queue_add(&qps[0]);
	run_queue_add(&qps[1]);
	run_queue_add_first(&qps[2]);
	run_queue_add(&qps[0]);
	run_queue_add_first(&qps[1]);
	cr_assert_eq(run_queue_count(&ring), 3, "who has a place keeps it, and has one only");
	cr_assert_eq(look(0), &qps[2]);
	cr_assert_eq(run_queue_look(&ring, &ring.turns, 0), &qps[0]);
	cr_assert_null(look(3));
	expect_next(2);
	run_queue_add(&qps[2]);
	expect_next(0);
	expect_next(1);
	expect_next(2);
	cr_assert_eq(run_queue_count(&ring), 0);
}

Test(run_queue, other_work_clears_the_responder_only_flag)
{
	qps[0].responder_only = true;
	run_queue_add_first(&qps[0]);
	cr_assert(qps[0].responder_only);
	run_queue_add(&qps[0]);
	cr_assert_not(qps[0].responder_only);
}

/* All that were queued before the last one are queued to the end. */
static void add_crowd(void)
{
	for (uint32_t i = 0; i < CROWD; i++)
		run_queue_add(&crowd[i]);
}

Test(run_queue, answers_leave_first_and_requests_keep_their_place)
{
	RULE("S-18");
	add_crowd();
	run_queue_add_first(&crowd[RUN_QUEUE_NEAR]);
	cr_assert_eq(crowd[RUN_QUEUE_NEAR].rings, RING_TURNS, "it is served soon");
	run_queue_add_first(&crowd[CROWD - 1]);
	run_queue_add_first(&crowd[CROWD - 2]);
	run_queue_add_first(&crowd[CROWD - 1]);
	cr_assert_eq(run_queue_count(&ring), CROWD + 2);
	cr_assert_eq(look(1), &crowd[CROWD - 2]);
	cr_assert_null(look(2));
	cr_assert_eq(run_queue_look(&ring, &ring.turns, 0), &crowd[0]);
	expect_early(&crowd[CROWD - 1]);
	expect_early(&crowd[CROWD - 2]);
	for (uint32_t i = 0; i < CROWD; i++)
		cr_assert_eq(pop(&ring), &crowd[i], "%u", i);
	cr_assert_eq(run_queue_count(&ring), 0);
}

/* Who owes the oldest answer sends it first: a peer that waits for the last one of a stack would wait for ever. */
Test(run_queue, answers_leave_in_order)
{
	RULE("S-18");
	for (uint32_t i = 0; i < 3; i++)
		run_queue_add_first(&qps[i]);
	run_queue_add(&qps[1]);
	cr_assert_eq(run_queue_count(&ring), 3, "one entry is enough while nobody waits");
	for (uint32_t i = 0; i < 3; i++)
		expect_next(i);
	add_crowd();
	run_queue_add_first(&qps[0]);
	run_queue_add(&qps[0]);
	expect_early(&qps[0]);
}

Test(run_queue, removal_takes_both_entries)
{
	add_crowd();
	run_queue_add_first(&crowd[CROWD - 1]);
	run_queue_remove(&crowd[CROWD - 1]);
	cr_assert_null(pop(&ring));
	for (uint32_t i = 0; i < CROWD - 1; i++)
		cr_assert_eq(pop(&ring), &crowd[i]);
	cr_assert_null(pop(&ring));
	cr_assert_eq(run_queue_count(&ring), 0);
}

/* QPs owe answers and go, again and again, while one waits: the ring has room again when its holes are closed. */
Test(run_queue, holes_among_answers_are_closed)
{
	run_queue_add_first(&qps[0]);
	for (uint32_t i = 0; i < 10 * QPS; i++) {
		run_queue_add_first(&qps[1]);
		run_queue_remove(&qps[1]);
	}
	expect_next(0);
	while (run_queue_count(&ring) > 0)
		cr_assert_null(pop(&ring));
}

/* Whoever counts on the entries of a queue before it adds one must look again. */
Test(run_queue, closing_holes_corrects_the_count)
{
	for (uint32_t i = 0; i < 2 * QPS; i++) {
		run_queue_add(&qps[1]);
		run_queue_remove(&qps[1]);
	}
	run_queue_add_first(&qps[0]);
	cr_assert_eq(run_queue_count(&ring), 2 * QPS + 1);
	expect_next(0);
	run_queue_add(&qps[0]);
	cr_assert_eq(run_queue_count(&ring), 1);
	expect_next(0);
	cr_assert_eq(run_queue_count(&ring), 0);
}

Test(run_queue, removed_entry_leaves_a_hole)
{
	for (uint32_t i = 0; i < 3; i++)
		run_queue_add(&qps[i]);
	run_queue_remove(&qps[1]);
	run_queue_remove(&qps[3]); /* was never there */
	expect_next(0);
	cr_assert_null(pop(&ring));
	expect_next(2);
}

/* A QP that is made and destroyed again and again, while two others wait. */
Test(run_queue, holes_never_fill_the_ring)
{
	run_queue_add(&qps[0]);
	for (uint32_t i = 0; i < 10 * QPS; i++) {
		run_queue_add(&qps[1 + i % 2]);
		run_queue_remove(&qps[1 + i % 2]);
		cr_assert_leq(run_queue_count(&ring), 2 * QPS);
		if (i == QPS / 2)
			run_queue_add(&qps[QPS - 1]);
	}
	for (uint32_t i = 1; i < QPS; i++)
		run_queue_add(&qps[i]);
	for (uint32_t turn = 0; turn < QPS;) {
		const struct uroce_qp *qp = pop(&ring);
		uint32_t expected = turn < 2 ? turn * (QPS - 1) : turn - 1;

		cr_assert(qp == NULL || qp == &qps[expected], "turn %u", turn);
		turn += qp != NULL;
	}
}

/* All places are taken, most of them by holes: two QPs stand at the end. */
static void fill_with_holes(void)
{
	while (run_queue_count(&ring) < 2 * QPS - 2) {
		run_queue_add(&qps[2]);
		run_queue_remove(&qps[2]);
	}
	run_queue_add(&qps[0]);
	run_queue_add(&qps[1]);
	cr_assert_eq(run_queue_count(&ring), 2 * QPS);
}

/*
 * A caller that counts the entries and removes as many may put each back meanwhile: its place is reserved, and no
 * hole is closed. Entries added by others are not covered.
 */
Test(run_queue, removed_entry_keeps_a_reserved_place)
{
	fill_with_holes();
	for (uint32_t left = run_queue_count(&ring); left > 0; left--) {
		struct uroce_qp *qp = pop(&ring);

		if (qp)
			run_queue_add(qp);
		cr_assert_geq(run_queue_count(&ring), left - 1);
	}
	cr_assert_eq(run_queue_count(&ring), 2);
	expect_next(0);
	expect_next(1);
	fill_with_holes();
	run_queue_add(&qps[3]);
	cr_assert_eq(run_queue_count(&ring), 3);
	expect_next(0);
	expect_next(1);
	expect_next(3);
}

/* Places are counted without end: around zero, and around the largest. */
Test(run_queue, positions_wrap_around)
{
	ring.answers.head = ring.answers.tail = UINT32_MAX - 1;
	for (uint32_t i = 0; i < 4; i++)
		run_queue_add_first(&qps[i]);
	for (uint32_t i = 0; i < 4; i++)
		expect_next(i);
	ring.turns.head = ring.turns.tail = UINT32_MAX;
	for (uint32_t i = 0; i < 4; i++)
		run_queue_add(&qps[i]);
	for (uint32_t i = 0; i < 4; i++)
		expect_next(i);
}

/* Only entries of the old ring are moved, to the end of the new one. */
Test(run_queue, moved_qp_waits_in_the_ring_of_its_new_port)
{
	struct engine_run_queue other;

	cr_assert_eq(engine_run_queue_init(&other, &engine, -1), 0);
	qps[2].run_queue = &other;
	run_queue_add(&qps[2]);
	run_queue_add(&qps[0]);
	run_queue_move(&qps[0], &other);
	run_queue_move(&qps[1], &other);
	cr_assert_null(pop(&ring), "a hole");
	cr_assert_eq(run_queue_count(&ring), 0);
	cr_assert_eq(pop(&other), &qps[2]);
	cr_assert_eq(pop(&other), &qps[0]);
	cr_assert_eq(run_queue_count(&other), 0, "who had nothing to do has nothing to do there");
	run_queue_add(&qps[1]);
	cr_assert_eq(pop(&other), &qps[1]);
	engine_run_queue_free(&other);
}
