/* sendwin.c - the send window: who owns which PSN, and what acknowledging and rewinding do to its indexes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rc/sendwin.h"
#include "rule.h"

#define RING 8

static struct rc_sendwin *win;

/* Depth 6 in a ring of 8, 2 pieces, 32 inline bytes, first PSN just before the wrap. */
static void set_up(void)
{
	win = aligned_alloc(64, (sizeof(*win) + 63) & ~63ull);
	*win = (struct rc_sendwin){ .mask = RING - 1, .depth = 6, .sge_limit = 2, .inline_limit = 32 };
	win->slot_bytes = rc_sendwin_slot_bytes(2, 32);
	win->slots = aligned_alloc(16, rc_sendwin_ring_bytes(RING, win->slot_bytes));
	rc_sendwin_reset(win, psn_make(0xFFFFFE));
}

static void tear_down(void)
{
	free(win->slots);
	free(win);
}

static int post(uint64_t wr_id, enum uroce_wr_opcode opcode)
{
	struct uroce_sge sge = { .addr = 1, .length = 8 };
	struct uroce_send_wr wr = { .wr_id = wr_id, .opcode = opcode, .sg_list = &sge, .num_sge = 1 };

	return rc_sendwin_post(win, &wr);
}

/* The next posted request begins. */
static void start(uint32_t count)
{
	sendwin_number(win, sendwin_slot(win, win->started), count);
	win->started++;
}

/* Posts, starts and sends one request that owns `count` PSNs. */
static void send_one(uint64_t wr_id, enum uroce_wr_opcode opcode, uint32_t count)
{
	cr_assert_eq(post(wr_id, opcode), 0);
	sendwin_take_posted(win);
	start(count);
	rc_sendwin_advance(win, psn_add(win->snd_max, count));
}

static void expect_indexes(uint32_t acked, uint32_t started, uint32_t cursor)
{
	cr_assert_eq(win->acked - win->head, acked, "acked %u", win->acked - win->head);
	cr_assert_eq(win->started - win->head, started, "started %u", win->started - win->head);
	cr_assert_eq(win->cursor - win->head, cursor, "cursor %u", win->cursor - win->head);
}

TestSuite(sendwin, .init = set_up, .fini = tear_down);

Test(sendwin, each_request_owns_its_psns)
{
	const struct rc_send_wqe *wqe;

	RULE("P-3");
	RULE("P-1");
	send_one(1, UROCE_WR_SEND, 1);
	send_one(2, UROCE_WR_RDMA_READ, 3);
	send_one(3, UROCE_WR_RDMA_WRITE, 2);
	wqe = sendwin_slot(win, win->head + 1);
	cr_assert_eq(wqe->first_psn.v, 0xFFFFFF);
	cr_assert_eq(sendwin_last_psn(wqe).v, 1);
	cr_assert_eq(sendwin_slot(win, win->head + 2)->first_psn.v, 2);
	cr_assert_eq(sendwin_outstanding(win), 6);
	cr_assert_eq(win->snd_max.v, 4);
	cr_assert_eq(win->snd_nxt.v, 4);
	expect_indexes(0, 3, 3);
}

Test(sendwin, ack_in_the_middle_completes_earlier_messages)
{
	RULE("Q-7");
	send_one(1, UROCE_WR_SEND, 1);
	send_one(2, UROCE_WR_RDMA_WRITE, 3);
	send_one(3, UROCE_WR_SEND, 1);
	cr_assert(rc_sendwin_ack_through(win, psn_make(0)));
	expect_indexes(1, 3, 3);
	cr_assert_eq(win->snd_una.v, 0);
	cr_assert(rc_sendwin_ack_through(win, psn_make(0)), "nothing new");
	cr_assert(rc_sendwin_ack_through(win, psn_make(3)));
	expect_indexes(3, 3, 3);
	cr_assert_eq(sendwin_outstanding(win), 0);
}

Test(sendwin, ack_stops_before_a_request_with_a_response)
{
	RULE("Q-8");
	send_one(1, UROCE_WR_SEND, 1);
	send_one(2, UROCE_WR_RDMA_READ, 2);
	send_one(3, UROCE_WR_ATOMIC_FETCH_AND_ADD, 1);
	send_one(4, UROCE_WR_SEND, 1);
	cr_assert_not(rc_sendwin_ack_through(win, psn_make(3)));
	cr_assert_eq(win->snd_una.v, 0xFFFFFF);
	expect_indexes(1, 4, 4);
	sendwin_take_response(win, sendwin_slot(win, win->acked));
	cr_assert_eq(win->snd_una.v, 0);
	expect_indexes(1, 4, 4);
	sendwin_take_response(win, sendwin_slot(win, win->acked));
	expect_indexes(2, 4, 4);
	cr_assert_not(rc_sendwin_ack_through(win, psn_make(3)));
	sendwin_take_response(win, sendwin_slot(win, win->acked));
	cr_assert(rc_sendwin_ack_through(win, psn_make(3)));
	expect_indexes(4, 4, 4);
}

Test(sendwin, rewind_resends_from_the_oldest_and_an_ack_overtakes_it)
{
	RULE("T-2");
	send_one(1, UROCE_WR_RDMA_WRITE, 3);
	send_one(2, UROCE_WR_RDMA_WRITE, 3);
	cr_assert(rc_sendwin_ack_through(win, psn_make(0xFFFFFF)));
	cr_assert(rc_sendwin_go_to(win, win->snd_una));
	cr_assert_eq(win->snd_nxt.v, 0xFFFFFF);
	cr_assert_eq(win->snd_max.v, 4);
	expect_indexes(0, 2, 0);
	rc_sendwin_advance(win, psn_make(0));
	expect_indexes(0, 2, 0);
	rc_sendwin_advance(win, psn_make(1));
	expect_indexes(0, 2, 1);
	cr_assert_eq(win->snd_max.v, 4, "what was sent once stays the limit");
	cr_assert(rc_sendwin_ack_through(win, psn_make(3)));
	cr_assert_eq(win->snd_nxt.v, 3, "nothing acknowledged goes out again");
	expect_indexes(1, 2, 1);
	cr_assert(rc_sendwin_ack_through(win, psn_make(4)));
	cr_assert_not(rc_sendwin_go_to(win, win->snd_una), "nothing is left to send");
	expect_indexes(2, 2, 2);
}

/* The answer arrives before the READ is requested again. */
Test(sendwin, an_answer_overtakes_the_rewind)
{
	RULE("T-2");
	send_one(1, UROCE_WR_RDMA_READ, 2);
	send_one(2, UROCE_WR_SEND, 1);
	cr_assert(rc_sendwin_go_to(win, win->snd_una));
	sendwin_take_response(win, sendwin_slot(win, win->acked));
	cr_assert_eq(win->snd_nxt.v, 0xFFFFFF);
	expect_indexes(0, 2, 0);
	sendwin_take_response(win, sendwin_slot(win, win->acked));
	cr_assert_eq(win->snd_nxt.v, 0);
	expect_indexes(1, 2, 1);
}

/* P-5: what lies behind snd_una and was once ours. */
Test(sendwin, rewind_records_how_far_it_went_back)
{
	RULE("P-5");
	cr_assert_not(sendwin_was_acked(win, psn_make(0xFFFFFE)));
	send_one(1, UROCE_WR_RDMA_WRITE, 4);
	rc_sendwin_ack_through(win, psn_make(1));
	cr_assert(sendwin_was_acked(win, psn_make(0)));
	cr_assert(sendwin_was_acked(win, psn_make(0xFFFFFE)));
	cr_assert_not(sendwin_was_acked(win, psn_make(0xFFFFFD)));
	cr_assert_not(sendwin_was_acked(win, psn_make(1)));
	rc_sendwin_ack_through(win, psn_make(2));
	/* Half of all PSNs later the window ends 2^23 behind the newest sent. */
	send_one(2, UROCE_WR_RDMA_WRITE, 1u << 23);
	rc_sendwin_ack_through(win, psn_make(2 + (1u << 23)));
	cr_assert(sendwin_was_acked(win, psn_make(2)));
	cr_assert_not(sendwin_was_acked(win, psn_make(1)));
	send_one(3, UROCE_WR_SEND, 1);
	cr_assert(sendwin_was_acked(win, psn_make(3)));
	cr_assert_not(sendwin_was_acked(win, psn_make(2)));
	rc_sendwin_reset(win, psn_make(5));
	cr_assert_not(sendwin_was_acked(win, psn_make(4)));
}

Test(sendwin, posts_are_limited_by_the_depth)
{
	RULE("Q-6");
	for (uint64_t i = 0; i < 6; i++)
		cr_assert_eq(post(i, UROCE_WR_SEND), 0);
	cr_assert_eq(post(6, UROCE_WR_SEND), -ENOMEM);
	rc_sendwin_reset(win, psn_make(0));
	for (uint64_t i = 0; i < 6; i++)
		cr_assert_eq(post(i, UROCE_WR_SEND), 0, "reset gives the slots back");
}

/* Indexes have 32 bits and wrap: after four billion requests, and half-way, where two of them add up to little. */
Test(sendwin, depth_holds_at_all_index_values)
{
	static const uint32_t starts[] = { 0, (1u << 31) - 4, (1u << 31) - 2, 1u << 31, UINT32_MAX - 3, UINT32_MAX };

	RULE("Q-6");
	for (uint32_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		win->head = win->acked = win->started = win->cursor = win->tail = starts[i];
		win->posting = win->free_up_to = starts[i];
		atomic_store(&win->posted, starts[i]);
		atomic_store(&win->freed, starts[i]);
		for (uint32_t round = 0; round < 3; round++) {
			for (uint64_t n = 0; n < 6; n++)
				cr_assert_eq(post(n, UROCE_WR_SEND), 0, "start %#x, request %lu", starts[i], n);
			cr_assert_eq(post(6, UROCE_WR_SEND), -ENOMEM, "start %#x", starts[i]);
			atomic_store(&win->freed, win->posting - 1);
			cr_assert_eq(post(6, UROCE_WR_SEND), 0);
			cr_assert_eq(post(7, UROCE_WR_SEND), 0);
			atomic_store(&win->freed, win->posting);
		}
	}
}

Test(sendwin, invalid_request_is_refused)
{
	struct uroce_sge sges[3] = { { .length = 8 }, { .length = 8 }, { .length = 8 } };
	static const struct {
		const char *name;
		struct uroce_send_wr wr;
	} rows[] = {
		{ "three pieces", { .opcode = UROCE_WR_SEND, .num_sge = 3 } },
		{ "atomic without a piece", { .opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD, .num_sge = 0 } },
		{ "atomic with two", { .opcode = UROCE_WR_ATOMIC_CMP_AND_SWP, .num_sge = 2 } },
		{ "inline READ", { .opcode = UROCE_WR_RDMA_READ, .num_sge = 1, .send_flags = UROCE_SEND_INLINE } },
		{ "unknown opcode", { .opcode = UROCE_WR_OPCODES, .num_sge = 1 } },
		{ "unknown flag", { .opcode = UROCE_WR_SEND, .num_sge = 1, .send_flags = 1u << 9 } },
	};

	RULE("Q-2");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct uroce_send_wr wr = rows[i].wr;

		wr.sg_list = sges;
		cr_assert_eq(rc_sendwin_post(win, &wr), -EINVAL, "%s", rows[i].name);
	}
	cr_assert_eq(rc_sendwin_post(win, &(struct uroce_send_wr){ .opcode = UROCE_WR_SEND, .num_sge = 1 }), -EINVAL,
		     "a count without a list");
	sges[0].length = 4;
	cr_assert_eq(rc_sendwin_post(win, &(struct uroce_send_wr){ .opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD,
								   .num_sge = 1,
								   .sg_list = sges }),
		     -EINVAL, "half a word");
	sendwin_take_posted(win);
	cr_assert_eq(win->tail, win->head);
}

/* Each PSN in flight has one owner, also when the last request has started and not been sent. */
Test(sendwin, the_owner_of_a_psn_is_found)
{
	static const uint64_t owners[] = { 1, 2, 2, 2, 3 };

	RULE("Q-10");
	for (uint32_t unsent = 0; unsent < 2; unsent++) {
		send_one(1, UROCE_WR_RDMA_WRITE, 1);
		send_one(2, UROCE_WR_RDMA_WRITE, 3);
		send_one(3, UROCE_WR_RDMA_WRITE, 1);
		if (unsent) {
			cr_assert_eq(post(4, UROCE_WR_RDMA_WRITE), 0);
			sendwin_take_posted(win);
			start(2);
		}
		for (uint32_t i = 0; i < 5; i++)
			cr_assert_eq(sendwin_slot(win, rc_sendwin_owner(win, psn_add(win->snd_una, i)))->wr_id,
				     owners[i]);
		rc_sendwin_reset(win, psn_make(0xFFFFFE));
	}
}

/* TC-E-22: all requests are reported, with or without their flag. */
Test(sendwin, a_queue_may_signal_all)
{
	RULE("Q-6");
	for (uint32_t all = 0; all < 2; all++) {
		win->signal_all = all;
		cr_assert_eq(post(1, UROCE_WR_RDMA_WRITE), 0);
		sendwin_take_posted(win);
		cr_assert_eq(sendwin_slot(win, win->tail - 1)->flags, all ? UROCE_SEND_SIGNALED : 0);
	}
}

Test(sendwin, an_atomic_has_one_piece_of_eight_bytes)
{
	struct uroce_sge sges[2] = { { .addr = 1, .length = 8 }, { .addr = 9, .length = 8 } };
	struct uroce_send_wr wr = { .opcode = UROCE_WR_ATOMIC_FETCH_AND_ADD, .sg_list = sges };

	RULE("S-7");
	for (wr.num_sge = 0; wr.num_sge < 3; wr.num_sge++)
		cr_assert_eq(rc_sendwin_post(win, &wr), wr.num_sge == 1 ? 0 : -EINVAL, "%u pieces", wr.num_sge);
	wr.num_sge = 1;
	sges[0].length = 4;
	cr_assert_eq(rc_sendwin_post(win, &wr), -EINVAL);
	sges[0].length = 8;
	wr.send_flags = UROCE_SEND_INLINE;
	cr_assert_eq(rc_sendwin_post(win, &wr), -EINVAL);
}

Test(sendwin, empty_inline_pieces_need_no_memory)
{
	struct uroce_sge sges[2] = { { .addr = 0, .length = 0 }, { .addr = 0, .length = 0 } };
	struct uroce_send_wr wr = { .opcode = UROCE_WR_SEND, .sg_list = sges, .send_flags = UROCE_SEND_INLINE };

	RULE("Q-2");
	for (wr.num_sge = 1; wr.num_sge <= 2; wr.num_sge++) {
		const struct rc_send_wqe *wqe = sendwin_slot(win, win->posting);

		cr_assert_eq(rc_sendwin_post(win, &wr), 0);
		cr_assert_eq(wqe->length_bytes, 0);
		cr_assert_eq(wqe->sge_count, 0);
	}
}

/* ---- an application that writes to a request while it is posted ---- */

#define CHANGING_PIECES 64u
#define CHANGES 20000000u

static uint8_t source[4096];
static struct uroce_sge changing_list[CHANGING_PIECES];
static struct uroce_send_wr changing = { .opcode = UROCE_WR_RDMA_WRITE,
					 .sg_list = changing_list,
					 .num_sge = LIMIT_SGE };
static _Atomic uint32_t changes;

static void *keep_changing(void *nothing)
{
	for (uint32_t i = 0; i < CHANGES; i++) {
		uint32_t bits = i * 0x9E3779B1u >> 29;

		__atomic_store_n(&changing.num_sge, bits & 1 ? CHANGING_PIECES : LIMIT_SGE, __ATOMIC_RELAXED);
		__atomic_store_n(&changing_list[LIMIT_SGE - 1].length, bits & 2 ? sizeof(source) : 8, __ATOMIC_RELAXED);
		__atomic_store_n(&changing.opcode, bits & 4 ? UROCE_WR_RDMA_WRITE : UROCE_WR_RDMA_READ,
				 __ATOMIC_RELAXED);
		atomic_store_explicit(&changes, i + 1, memory_order_relaxed);
	}
	return nothing;
}

/* What was posted is one request, whichever: its length is that of its pieces, and it is allowed. */
static void check_posted(uint32_t flags)
{
	const struct rc_send_wqe *wqe = sendwin_slot(win, win->tail - 1);
	uint32_t sum = 0;

	if (flags & UROCE_SEND_INLINE) {
		cr_assert_eq(wqe->opcode, UROCE_WR_RDMA_WRITE, "inline data of a READ");
		cr_assert_eq(wqe->length_bytes, 8 * LIMIT_SGE);
		return;
	}
	cr_assert_leq(wqe->sge_count, LIMIT_SGE);
	for (uint32_t i = 0; i < wqe->sge_count; i++)
		sum += wqe->sges[i].length;
	cr_assert_eq(wqe->length_bytes, sum);
}

/* One slot alone: whoever writes more than was checked writes beyond the end of the memory. */
Test(sendwin, list_changed_during_a_post_is_read_once)
{
	pthread_t thread;

	RULE("M-6");
	free(win->slots);
	win->slot_bytes = rc_sendwin_slot_bytes(LIMIT_SGE, 8 * LIMIT_SGE);
	win->slots = aligned_alloc(16, rc_sendwin_ring_bytes(1, win->slot_bytes));
	win->sge_limit = LIMIT_SGE;
	win->inline_limit = 8 * LIMIT_SGE;
	win->mask = 0;
	win->depth = 1;
	for (uint32_t i = 0; i < CHANGING_PIECES; i++)
		changing_list[i] = (struct uroce_sge){ .addr = (uintptr_t)source, .length = 8 };
	cr_assert_eq(pthread_create(&thread, NULL, keep_changing, NULL), 0);
	for (uint32_t i = 0; changes < CHANGES; i++) {
		uint32_t flags = i & 1 ? UROCE_SEND_INLINE : 0;

		changing.send_flags = flags;
		if (rc_sendwin_post(win, &changing) == 0) {
			sendwin_take_posted(win);
			check_posted(flags);
		}
		rc_sendwin_reset(win, psn_make(0));
	}
	pthread_join(thread, NULL);
}
