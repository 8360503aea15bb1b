/* srq.c - the shared receive queue: order, room, what is refused, and when the limit is reached */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rc/srq.h"
#include "rule.h"

#define PIECES 3

static struct rc_srq *srq;
static void *memory;

static void open_srq(uint32_t depth)
{
	memory = aligned_alloc(64, rc_srq_bytes(depth, PIECES));
	memset(memory, 0, rc_srq_bytes(depth, PIECES));
	srq = rc_srq_init(memory, depth, PIECES, &memory);
}

static void tear_down(void)
{
	free(memory);
}

TestSuite(srq, .fini = tear_down);

/* An entry whose every field tells its number. */
static int post(uint64_t number, uint32_t pieces)
{
	struct uroce_sge sges[PIECES + 1];
	struct uroce_recv_wr wr = { .wr_id = number, .sg_list = sges, .num_sge = pieces };

	for (uint32_t i = 0; i < PIECES + 1; i++)
		sges[i] = (struct uroce_sge){ .addr = number << 8 | i,
					      .length = (uint32_t)number + i,
					      .lkey = ~(uint32_t)number };
	return rc_srq_post(srq, &wr);
}

static struct rc_recv_wqe *take(void)
{
	static _Alignas(16) uint8_t room[sizeof(struct rc_recv_wqe) + PIECES * sizeof(struct uroce_sge)];

	return rc_srq_pop(srq, (struct rc_recv_wqe *)(void *)room) ? (struct rc_recv_wqe *)(void *)room : NULL;
}

static void check_taken(uint64_t number, uint32_t pieces)
{
	const struct rc_recv_wqe *wqe = take();
	uint32_t total = 0;

	cr_assert_not_null(wqe, "entry %lu is not there", number);
	cr_assert_eq(wqe->wr_id, number);
	cr_assert_eq(wqe->sge_count, pieces);
	for (uint32_t i = 0; i < pieces; i++) {
		cr_assert_eq(wqe->sges[i].addr, number << 8 | i, "entry %lu, piece %u", number, i);
		cr_assert_eq(wqe->sges[i].length, number + i, "entry %lu, piece %u", number, i);
		cr_assert_eq(wqe->sges[i].lkey, ~(uint32_t)number, "entry %lu, piece %u", number, i);
		total += wqe->sges[i].length;
	}
	cr_assert_eq(wqe->total_bytes, total);
}

/* Depths that are no power of two as well; many times around, and over the wrap of the indexes. */
Test(srq, entries_are_taken_whole_and_in_the_order_of_their_posts)
{
	static const uint32_t depths[] = { 1, 2, 3, 5, 8, 100 };

	RULE("M-4");
	for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
		uint64_t posted = 0, taken = 0;

		open_srq(depths[d]);
		srq->posted = srq->taken = UINT32_MAX - 20;
		cr_assert_null(take());
		while (taken < 1000) {
			for (uint32_t i = 0; i < posted % 7 + 1; i++)
				posted += post(posted + 1, (uint32_t)(posted + 1) % (PIECES + 1)) == 0;
			cr_assert_eq(srq_count(srq), posted - taken);
			for (uint32_t i = 0; i < posted % 5 + 1 && taken < posted; i++) {
				taken++;
				check_taken(taken, (uint32_t)taken % (PIECES + 1));
			}
		}
		while (taken++ < posted)
			check_taken(taken, (uint32_t)taken % (PIECES + 1));
		cr_assert_null(take());
		tear_down();
	}
	memory = NULL;
}

Test(srq, full_queue_refuses_until_an_entry_is_taken)
{
	RULE("M-4");
	open_srq(5);
	for (uint64_t i = 0; i < 5; i++)
		cr_assert_eq(post(i, 1), 0);
	cr_assert_eq(post(5, 1), -ENOMEM);
	cr_assert_eq(srq_count(srq), 5);
	check_taken(0, 1);
	cr_assert_eq(post(5, 1), 0);
	cr_assert_eq(post(6, 1), -ENOMEM);
	for (uint64_t i = 1; i < 6; i++)
		check_taken(i, 1);
	cr_assert_null(take());
}

Test(srq, too_long_or_missing_list_is_refused)
{
	struct uroce_recv_wr wr = { .num_sge = 1 };

	RULE("M-4");
	RULE("Q-2");
	open_srq(4);
	cr_assert_eq(post(1, PIECES + 1), -EINVAL);
	cr_assert_eq(rc_srq_post(srq, &wr), -EINVAL);
	cr_assert_eq(srq_count(srq), 0);
	cr_assert_null(take());
	cr_assert_eq(post(1, PIECES), 0);
	cr_assert_eq(post(2, 0), 0);
	check_taken(1, PIECES);
	check_taken(2, 0);
}

/* The list is the application's again when the post returns. */
Test(srq, an_entry_is_a_copy)
{
	struct uroce_sge sges[PIECES] = { { .addr = 1, .length = 2, .lkey = 3 } };
	struct uroce_recv_wr wr = { .wr_id = 7, .sg_list = sges, .num_sge = 1 };
	const struct rc_recv_wqe *wqe;

	RULE("M-6");
	open_srq(2);
	cr_assert_eq(rc_srq_post(srq, &wr), 0);
	sges[0] = (struct uroce_sge){ .addr = 9, .length = 9, .lkey = 9 };
	wr.num_sge = 17;
	wqe = take();
	cr_assert_not_null(wqe);
	cr_assert_eq(wqe->sges[0].addr, 1);
	cr_assert_eq(wqe->sges[0].length, 2);
	cr_assert_eq(wqe->sges[0].lkey, 3);
	cr_assert_eq(wqe->total_bytes, 2);
}

/* More than a message can have is as good as that (P-4): it may not come out as little. */
Test(srq, excessive_length_counts_as_the_maximum)
{
	struct uroce_sge sges[PIECES] = { { .length = UINT32_MAX }, { .length = UINT32_MAX }, { .length = 2 } };
	struct uroce_recv_wr wr = { .sg_list = sges, .num_sge = 3 };
	const struct rc_recv_wqe *wqe;

	RULE("M-4");
	open_srq(2);
	cr_assert_eq(rc_srq_post(srq, &wr), 0);
	wqe = take();
	cr_assert_not_null(wqe);
	cr_assert_eq(wqe->total_bytes, UINT32_MAX);
}

/* TC-C-6: armed with 10 when 9 are there: at once, and once. */
Test(srq, limit_already_reached_is_reported_at_once_and_once)
{
	RULE("M-4");
	open_srq(16);
	for (uint64_t i = 0; i < 9; i++)
		post(i, 0);
	cr_assert(!rc_srq_limit_reached(srq), "never armed");
	rc_srq_arm(srq, 10);
	cr_assert(rc_srq_limit_reached(srq));
	cr_assert(!rc_srq_limit_reached(srq));
	take();
	cr_assert(!rc_srq_limit_reached(srq), "told for one arming once");
	/* In the handler: armed again. */
	rc_srq_arm(srq, 10);
	cr_assert(rc_srq_limit_reached(srq));
	cr_assert(!rc_srq_limit_reached(srq));
}

Test(srq, the_limit_is_reached_when_fewer_are_left)
{
	RULE("M-4");
	open_srq(16);
	for (uint64_t i = 0; i < 12; i++)
		post(i, 0);
	for (uint32_t round = 0; round < 3; round++) {
		rc_srq_arm(srq, 10);
		cr_assert_eq(srq->limit, 10);
		cr_assert(!rc_srq_limit_reached(srq), "12 are left");
		take();
		cr_assert(!rc_srq_limit_reached(srq), "11 are left");
		take();
		cr_assert(!rc_srq_limit_reached(srq), "10 are left");
		take();
		cr_assert(rc_srq_limit_reached(srq), "9 are left");
		cr_assert_eq(srq->limit, 0, "a query says that none is armed");
		take();
		cr_assert(!rc_srq_limit_reached(srq));
		for (uint64_t i = 0; i < 4; i++)
			cr_assert_eq(post(i, 0), 0);
	}
}

Test(srq, limit_of_zero_disarms)
{
	RULE("M-4");
	open_srq(16);
	for (uint64_t i = 0; i < 2; i++)
		post(i, 0);
	rc_srq_arm(srq, 2);
	rc_srq_arm(srq, 0);
	take();
	take();
	cr_assert(!rc_srq_limit_reached(srq));
	rc_srq_arm(srq, 1);
	cr_assert(rc_srq_limit_reached(srq), "an empty queue has fewer than one");
}
