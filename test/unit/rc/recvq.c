/* recvq.c - the receive queue: first in, first out, never more than its depth */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>

#include "rc/recvq.h"
#include "rule.h"

static struct rc_recvq queue;

/* Depth 3 in a ring of 4. */
static void set_up(void)
{
	queue = (struct rc_recvq){ .slot_bytes = recv_wqe_slot_bytes(2), .mask = 3, .depth = 3, .sge_limit = 2 };
	queue.slots = calloc(4, queue.slot_bytes);
}

static void tear_down(void)
{
	free(queue.slots);
}

static int post(uint64_t wr_id, uint32_t first, uint32_t second)
{
	struct uroce_sge sges[2] = { { .length = first }, { .length = second } };
	struct uroce_recv_wr wr = { .wr_id = wr_id, .sg_list = sges, .num_sge = 2 };

	return rc_recvq_post(&queue, &wr);
}

TestSuite(recvq, .init = set_up, .fini = tear_down);

Test(recvq, entries_leave_in_posted_order_over_many_rounds)
{
	RULE("Q-2");
	cr_assert_null(recvq_peek(&queue));
	for (uint64_t i = 0; i < 100; i++) {
		cr_assert_eq(post(3 * i, 10, 20), 0);
		cr_assert_eq(post(3 * i + 1, 1, 2), 0);
		cr_assert_eq(post(3 * i + 2, 0, 0), 0);
		cr_assert_eq(post(99, 1, 1), -ENOMEM);
		for (uint64_t j = 0; j < 3; j++) {
			const struct rc_recv_wqe *wqe = recvq_peek(&queue);

			cr_assert_eq(wqe, recvq_peek(&queue), "peeking takes nothing");
			cr_assert_eq(wqe->wr_id, 3 * i + j);
			cr_assert_eq(wqe->total_bytes, j == 0 ? 30 : j == 1 ? 3 : 0);
			cr_assert_eq(wqe->sge_count, 2);
			recvq_pop(&queue);
		}
		cr_assert_null(recvq_peek(&queue));
	}
}

Test(recvq, too_long_or_missing_list_is_refused)
{
	struct uroce_sge sges[3] = { { 0 } };
	struct uroce_recv_wr wr = { .sg_list = sges, .num_sge = 3 };

	RULE("Q-2");
	cr_assert_eq(rc_recvq_post(&queue, &wr), -EINVAL);
	wr.num_sge = 1;
	wr.sg_list = NULL;
	cr_assert_eq(rc_recvq_post(&queue, &wr), -EINVAL);
	wr.num_sge = 0;
	cr_assert_eq(rc_recvq_post(&queue, &wr), 0);
	cr_assert_eq(recvq_peek(&queue)->total_bytes, 0);
	post(1, 1, 1);
	post(2, 1, 1);
	wr.num_sge = 3;
	cr_assert_eq(rc_recvq_post(&queue, &wr), -EINVAL, "a full queue refuses it for what it is, too");
	wr.num_sge = 0;
	cr_assert_eq(rc_recvq_post(&queue, &wr), -ENOMEM);
}

Test(recvq, a_length_beyond_32_bits_does_not_wrap)
{
	RULE("S-6");
	cr_assert_eq(post(1, UINT32_MAX, 2), 0);
	cr_assert_eq(recvq_peek(&queue)->total_bytes, UINT32_MAX);
}

Test(recvq, reset_drops_all_entries_and_frees_their_slots)
{
	RULE("X-1");
	for (int i = 0; i < 2; i++)
		post(1, 1, 1);
	recvq_peek(&queue);
	post(1, 1, 1); /* not seen yet */
	rc_recvq_reset(&queue);
	cr_assert_null(recvq_peek(&queue));
	for (int i = 0; i < 3; i++)
		cr_assert_eq(post(7, 1, 1), 0);
	cr_assert_eq(recvq_peek(&queue)->wr_id, 7);
}

/* Two counts of 32 bits go round, each by itself and their sum: the depth is what it was. */
Test(recvq, depth_holds_across_counter_wrap)
{
	static const uint32_t starts[] = { UINT32_MAX - 5, UINT32_MAX / 2 - 5 };

	RULE("Q-2");
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		queue.head = queue.tail = queue.posting = queue.free_up_to = starts[i];
		queue.posted = queue.freed = starts[i];
		for (uint32_t round = 0; round < 12; round++) {
			while (post(round, 1, 1) == 0)
				;
			cr_assert_eq(queue.posting - queue.head, 3, "start %#x, round %u", starts[i], round);
			cr_assert_not_null(recvq_peek(&queue));
			recvq_pop(&queue);
		}
	}
}
