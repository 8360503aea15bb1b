/* shared.c - a shared receive queue: who takes an entry, what an empty one does, its limit, and QPs that fail on it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-C-6, F-5. Many QPs: srq_contention.c.
 */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opened.h"
#include "packets.h"
#include "peek.h"
#include "rule.h"

#define WHERE 65536u /* in B's memory: entry number n has the 8 KiB from WHERE + n * 8 KiB on */
#define ENTRY_BYTES 8192u

static struct rc_srq *make_srq(uint32_t depth)
{
	void *memory = aligned_alloc(64, rc_srq_bytes(depth, 2));

	memset(memory, 0, rc_srq_bytes(depth, 2));
	return rc_srq_init(memory, depth, 2, memory);
}

static struct pair *open_on(struct rc_srq *srq)
{
	return pair_open(&(struct pair_options){ .srq_b = srq });
}

/* Entry n is wr_id n. */
static int post_entry(struct rc_srq *srq, const struct pair *pair, uint32_t n, uint32_t bytes)
{
	struct uroce_sge sge = {
		.addr = (uintptr_t)pair->side[B].memory + WHERE + n * ENTRY_BYTES,
		.length = bytes,
		.lkey = pair->side[B].key,
	};

	return rc_srq_post(srq, &(struct uroce_recv_wr){ .wr_id = n, .sg_list = &sge, .num_sge = 1 });
}

static void post_entries(struct rc_srq *srq, const struct pair *pair, uint32_t first, uint32_t count)
{
	for (uint32_t n = first; n < first + count; n++)
		cr_assert_eq(post_entry(srq, pair, n, ENTRY_BYTES), 0);
}

/* A second QP on the queue, that may use the entries made for the first one: their memory under the same key. */
static struct pair *open_beside(struct rc_srq *srq, const struct pair *first)
{
	struct pair *pair = open_on(srq);
	int error;

	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, pair->side[B].key), 0);
	memset(pair->side[B].entries, 0, sizeof(pair->side[B].entries));
	pair->side[B].mrs.used = pair->side[B].mrs.hand = 0;
	pair->side[B].key = rc_mr_insert(&pair->side[B].mrs, 1, first->side[B].memory, PAIR_MEMORY_BYTES,
					 first->side[B].entries[0].access & ~MR_ACCESS_LOCAL, &error);
	cr_assert_eq(pair->side[B].key, first->side[B].key);
	return pair;
}

static void close_all(struct rc_srq *srq, struct pair *first, struct pair *second)
{
	pair_close(first);
	if (second)
		pair_close(second);
	free(srq);
}

Test(shared, only_messages_take_entries_and_in_order)
{
	struct rc_srq *srq = make_srq(8);
	struct pair *pair = open_on(srq);
	struct uroce_send_wr wr = { .wr_id = 4, .opcode = UROCE_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(5) };

	RULE("M-4");
	RULE("S-16");
	post_entries(srq, pair, 0, 4);
	pair_send(pair, 1, 3000);
	pair_write(pair, 2, 64);
	pair_fetch_add(pair, 3, 1);
	cr_assert_eq(pair_post(pair, A, wr, 0, 1500), 0);
	pair_read(pair, 5, 64);
	pair_send(pair, 6, 0);
	pair_run(pair);
	expect_completes(pair, B, "wr=0 RECV SUCCESS len=3000", "wr=1 RECV_IMM SUCCESS len=1500 imm=0x5",
			 "wr=2 RECV SUCCESS len=0");
	cr_assert_eq(srq_count(srq), 1);
	cr_assert(memcmp(pair->side[B].memory + WHERE, pair->side[A].memory, 3000) == 0);
	cr_assert_eq(rc_qp_post_recv(pair->side[B].qp, &(struct uroce_recv_wr){ .wr_id = 9 }), -EINVAL,
		     "posted to a QP that takes from a shared queue");
	expect_events(pair, B);
	close_all(srq, pair, NULL);
}

/* no progress until there is an entry. A WRITE with immediate needs it at its last packet. */
Test(shared, empty_queue_draws_an_rnr_nak_until_a_post)
{
	struct rc_srq *srq = make_srq(8);
	struct pair *pair = open_on(srq);

	RULE("R-1");
	RULE("M-4");
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	pair_request(pair, send_packet(OP_SEND_LAST, 1, 8));
	expect_leaves(pair, B, "RNR_NAK psn=0 timer=12 msn=0");
	post_entries(srq, pair, 0, 1);
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	cr_assert_eq(srq_count(srq), 0);
	pair_request(pair, send_packet(OP_SEND_LAST, 1, 8));
	pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 2, 0, 1500, 1024));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=0", "ACK psn=1 credit=31 msn=1", "ACK psn=2 credit=31 msn=1");
	pair_request(pair, write_packet(pair, OP_WRITE_LAST_IMM, 3, 0, 0, 476));
	expect_leaves(pair, B, "RNR_NAK psn=3 timer=12 msn=1");
	post_entries(srq, pair, 1, 1);
	pair_request(pair, write_packet(pair, OP_WRITE_LAST_IMM, 3, 0, 0, 476));
	expect_leaves(pair, B, "ACK psn=3 credit=31 msn=2");
	expect_completes(pair, B, "wr=0 RECV SUCCESS len=1032", "wr=1 RECV_IMM SUCCESS len=1500 imm=0x0");
	expect_counts(pair, B, CNT_OUT_OF_BUFFER, 2);
	close_all(srq, pair, NULL);
}

/* Dropped, repeated and refused requests take no entry. */
Test(shared, only_the_start_of_a_message_takes_an_entry)
{
	struct rc_srq *srq = make_srq(8);
	struct pair *pair = open_on(srq);

	RULE("M-4");
	RULE("S-8");
	post_entries(srq, pair, 0, 4);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8));
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8)); /* again */
	pair_request(pair, send_packet(OP_SEND_ONLY, 5, 8)); /* ahead */
	pair_request(pair, send_packet(OP_SEND_FIRST, 1, 1024));
	pair_request(pair, send_packet(OP_SEND_FIRST, 1, 1024)); /* again, while it is under way */
	pair_request(pair, send_packet(OP_SEND_MIDDLE, 2, 1024));
	cr_assert_eq(srq_count(srq), 2);
	pair_request(pair, send_packet(OP_SEND_LAST, 3, 8));
	expect_completes(pair, B, "wr=0 RECV SUCCESS len=8", "wr=1 RECV SUCCESS len=2056");
	pair_request(pair, send_packet(0x15, 4, 8)); /* no such opcode */
	cr_assert_eq(srq_count(srq), 2);
	expect_completes(pair, B);
	close_all(srq, pair, NULL);
}

/* Two QPs: an entry is its QP's until the message ends, and the data of each lies where its own entry says. */
Test(shared, taken_entry_belongs_to_its_qp_until_the_message_ends)
{
	struct rc_srq *srq = make_srq(8);
	struct pair *one = open_on(srq), *two = open_beside(srq, one);
	uint8_t *memory = one->side[B].memory + WHERE;

	RULE("M-4");
	post_entries(srq, one, 0, 3);
	memset(memory, 0, 3 * ENTRY_BYTES);
	pair_request(one, send_packet(OP_SEND_FIRST, 0, 1024));
	pair_request(two, send_packet(OP_SEND_FIRST, 0, 1024));
	pair_request(two, send_packet(OP_SEND_LAST, 1, 100));
	pair_request(two, send_packet(OP_SEND_ONLY, 2, 7));
	expect_completes(two, B, "wr=1 RECV SUCCESS len=1124", "wr=2 RECV SUCCESS len=7");
	expect_completes(one, B);
	pair_request(two, send_packet(OP_SEND_ONLY, 3, 7));
	expect_counts(two, B, CNT_OUT_OF_BUFFER, 1);
	pair_request(one, send_packet(OP_SEND_LAST, 1, 200));
	expect_completes(one, B, "wr=0 RECV SUCCESS len=1224");
	cr_assert_eq(memory[1223], PACKETS_DATA);
	cr_assert_eq(memory[1224], 0);
	cr_assert_eq(memory[ENTRY_BYTES + 1123], PACKETS_DATA);
	cr_assert_eq(memory[ENTRY_BYTES + 1124], 0);
	cr_assert_eq(memory[2 * ENTRY_BYTES + 6], PACKETS_DATA);
	cr_assert_eq(memory[2 * ENTRY_BYTES + 7], 0);
	close_all(srq, one, two);
}

/* The entry in use reports the failure on its QP; the other QP continues with the next one. */
Test(shared, a_failed_send_completes_its_entry_on_its_own_qp)
{
	struct rc_srq *srq = make_srq(8);
	struct pair *one = open_on(srq), *two = open_beside(srq, one);

	RULE("M-4");
	RULE("K-RESP");
	RULE("V-1");
	cr_assert_eq(post_entry(srq, one, 0, 1500), 0);
	post_entries(srq, one, 1, 2);
	pair_request(one, send_packet(OP_SEND_FIRST, 0, 1024));
	pair_request(one, send_packet(OP_SEND_MIDDLE, 1, 1024)); /* too long */
	expect_leaves(one, B, "ACK psn=0 credit=31 msn=0", "NAK_INVALID_REQUEST psn=1 msn=0");
	expect_completes(one, B, "wr=0 RECV LOC_LEN_ERR");
	cr_assert_eq(one->side[B].done_at_event[1], 1, "the last one is told of before its completion");
	expect_events(one, B, "QP_FATAL", "QP_LAST_WQE_REACHED");
	cr_assert_eq(srq_count(srq), 2, "the entries of the others are gone");
	pair_request(two, send_packet(OP_SEND_ONLY, 0, 9));
	expect_completes(two, B, "wr=1 RECV SUCCESS len=9");
	pair_transmit(one, B);
	expect_completes(one, B);
	expect_events(one, B);
	close_all(srq, one, two);
}

/* K-OP: an entry whose memory is not this QP's to use, because it is of another domain. */
Test(shared, unusable_entry_is_an_operational_error_of_its_qp)
{
	struct rc_srq *srq = make_srq(8);
	struct pair *pair = open_on(srq);
	struct uroce_sge sge = {
		.addr = (uintptr_t)pair->side[B].memory,
		.length = 64,
		.lkey = pair_region(pair, B, 2, 0, 4096, UROCE_ACCESS_LOCAL_WRITE),
	};

	RULE("M-4");
	RULE("K-OP");
	cr_assert_eq(rc_srq_post(srq, &(struct uroce_recv_wr){ .wr_id = 70, .sg_list = &sge, .num_sge = 1 }), 0);
	post_entries(srq, pair, 1, 1);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8));
	expect_leaves(pair, B, "NAK_REMOTE_OPERATIONAL psn=0 msn=0");
	expect_completes(pair, B, "wr=70 RECV LOC_QP_OP_ERR");
	expect_events(pair, B, "QP_FATAL", "QP_LAST_WQE_REACHED");
	cr_assert_eq(srq_count(srq), 1);
	close_all(srq, pair, NULL);
}

/* A peer that breaks the protocol, at every step of its message: the entry in hand, if any, says so. */
Test(shared, failed_qp_reports_last_wqe_reached_once)
{
	RULE("M-4");
	RULE("V-1");
	RULE("K-RESP");
	for (uint32_t step = 0; step < 5; step++) {
		static const uint8_t message[] = { OP_SEND_FIRST, OP_SEND_MIDDLE, OP_SEND_LAST, OP_SEND_FIRST };
		struct rc_srq *srq = make_srq(8);
		struct pair *pair = open_on(srq);
		bool in_hand = step == 1 || step == 2 || step == 4;

		post_entries(srq, pair, 0, 4);
		for (uint32_t psn = 0; psn < step; psn++)
			pair_request(pair, send_packet(message[psn], psn, 1024));
		pair_forget(pair);
		pair_request(pair, send_packet(0x15, step, 0)); /* no such opcode */
		cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_ERR);
		cr_assert_eq(pair->side[B].done_at_event[1], in_hand, "step %u", step);
		if (in_hand)
			expect_completes(pair, B, pair_text("wr=%u RECV REM_INV_REQ_ERR", step / 3));
		else
			expect_completes(pair, B);
		expect_events(pair, B, in_hand ? "QP_FATAL" : "QP_REQ_ERR", "QP_LAST_WQE_REACHED");
		cr_assert_eq(srq_count(srq), step == 0 ? 4 : step < 4 ? 3 : 2, "step %u", step);
		pair_set_state(pair, B, UROCE_QPS_ERR);
		pair_transmit(pair, B);
		expect_events(pair, B);
		expect_completes(pair, B);
		close_all(srq, pair, NULL);
	}
}

/* Its send side failed: nothing to do with receives, but it will not take one any more. */
Test(shared, qp_with_a_failed_send_reports_last_wqe_reached)
{
	struct rc_srq *srq = make_srq(8);
	struct pair *pair = pair_open(&(struct pair_options){ .srq_b = srq, .retry_cnt = 255 });
	struct uroce_send_wr wr = { .wr_id = 60, .opcode = UROCE_WR_RDMA_WRITE };

	RULE("M-4");
	post_entries(srq, pair, 0, 2);
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	pair_cut(pair);
	pair_post(pair, B, wr, 0, 8);
	pair_transmit(pair, B);
	pair_fire(pair);
	expect_completes(pair, B, "wr=60 WRITE RETRY_EXC_ERR", "wr=0 RECV WR_FLUSH_ERR");
	expect_events(pair, B, "QP_FATAL", "QP_LAST_WQE_REACHED");
	cr_assert_eq(srq_count(srq), 1);
	close_all(srq, pair, NULL);
}

static uint32_t count_done(const struct pair *pair, uint8_t status)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pair->side[B].done_count; i++)
		count += pair->side[B].wcs[i].status == status;
	return count;
}

/* TC-F-5: at every step of an exchange; entries not taken stay for others, and for the QP after a reset. */
Test(shared, err_flushes_only_the_entry_in_use)
{
	RULE("M-4");
	RULE("E-6");
	RULE("V-1");
	for (uint32_t step = 0; step < 14; step++) {
		struct rc_srq *srq = make_srq(8);
		struct pair *pair = open_on(srq);
		bool in_hand;

		post_entries(srq, pair, 0, 3);
		pair_send(pair, 1, 2500);
		pair_read(pair, 2, 2500);
		pair_send(pair, 3, 10);
		for (uint32_t i = 0; i < step; i++) {
			pair_transmit_some(pair, i & 1 ? B : A, 1);
			pair_deliver(pair, i & 1 ? A : B);
		}
		in_hand = pair->side[B].qp->responder.in_progress == WIRE_KIND_SEND;
		pair_set_state(pair, B, UROCE_QPS_ERR);
		pair_transmit(pair, B);
		pair_transmit(pair, B);
		cr_assert_eq(count_done(pair, UROCE_WC_WR_FLUSH_ERR), in_hand, "step %u", step);
		cr_assert_eq(srq_count(srq), 3 - pair->side[B].done_count, "step %u", step);
		for (uint32_t i = 0; i < pair->side[B].done_count; i++)
			cr_assert_eq(pair->side[B].wcs[i].wr_id, i, "step %u", step);
		cr_assert_eq(pair->side[B].done_at_event[0], pair->side[B].done_count, "step %u", step);
		expect_events(pair, B, "QP_LAST_WQE_REACHED");
		pair_set_state(pair, B, UROCE_QPS_RESET);
		pair_transmit(pair, B);
		expect_events(pair, B);
		close_all(srq, pair, NULL);
	}
}

/* RESET drops the entry in use silently; after each reset the event is raised once. */
Test(shared, each_reset_allows_one_more_last_wqe_event)
{
	struct rc_srq *srq = make_srq(8);
	struct pair *pair = open_on(srq);
	uint32_t bad;

	RULE("M-4");
	RULE("X-1");
	post_entries(srq, pair, 0, 3);
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	for (uint32_t life = 0; life < 2; life++) {
		pair_set_state(pair, B, UROCE_QPS_RESET);
		pair_transmit(pair, B);
		expect_completes(pair, B);
		expect_events(pair, B);
		cr_assert_eq(rc_qp_modify(pair->side[B].qp, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_INIT },
					  UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, &bad),
			     0);
		pair_set_state(pair, B, UROCE_QPS_ERR);
		pair_transmit(pair, B);
		expect_completes(pair, B);
		expect_events(pair, B, "QP_LAST_WQE_REACHED");
	}
	cr_assert_eq(srq_count(srq), 2);
	close_all(srq, pair, NULL);
}

/* F-2: the number of entries does not bound the share of this QP. */
Test(shared, qp_on_a_shared_queue_advertises_no_limit)
{
	struct rc_srq *srq = make_srq(8);
	struct pair *pair = open_on(srq);

	RULE("F-2");
	for (int i = 0; i < 2; i++)
		qp_set_flow_control(pair->side[i].qp, true);
	post_entries(srq, pair, 0, 3);
	for (uint64_t i = 1; i <= 3; i++)
		pair_send(pair, i, 2000);
	pair_read(pair, 4, 8);
	pair_fetch_add(pair, 5, 1);
	pair_run(pair);
	for (uint32_t i = 0; i < pair->side[B].sent_count; i++)
		cr_assert_not_null(strstr(pair->side[B].sent[i], " credit=31 "), "%s", pair->side[B].sent[i]);
	expect_completes(pair, A, "wr=1 SEND SUCCESS", "wr=2 SEND SUCCESS", "wr=3 SEND SUCCESS",
			 "wr=4 READ SUCCESS len=8", "wr=5 FADD SUCCESS");
	close_all(srq, pair, NULL);
}

/* TC-C-6 */
Test(shared, limit_event_is_raised_by_the_qp_that_took_the_entry)
{
	struct rc_srq *srq = make_srq(16);
	struct pair *one = open_on(srq), *two = open_beside(srq, one);

	RULE("M-4");
	RULE("V-1");
	post_entries(srq, one, 0, 12);
	rc_srq_arm(srq, 10);
	for (uint32_t psn = 0; psn < 2; psn++) {
		pair_request(one, send_packet(OP_SEND_ONLY, psn, 8));
		pair_transmit(two, B);
		expect_events(one, B);
		expect_events(two, B);
	}
	pair_request(two, send_packet(OP_SEND_ONLY, 0, 8));
	cr_assert_eq(two->out.events[0].srq, (void *)srq);
	cr_assert_eq(two->side[B].done_at_event[0], 1, "the event comes before the completion that made it");
	expect_events(two, B, "SRQ_LIMIT_REACHED");
	pair_request(one, send_packet(OP_SEND_ONLY, 2, 8));
	expect_events(one, B);
	/* In the handler: fewer are left already, so it is told at once, and once. */
	rc_srq_arm(srq, 10);
	pair_transmit(one, B);
	expect_events(one, B, "SRQ_LIMIT_REACHED");
	pair_transmit(one, B);
	pair_transmit(two, B);
	expect_events(one, B);
	expect_events(two, B);
	rc_srq_arm(srq, 10);
	rc_srq_arm(srq, 0);
	pair_request(one, send_packet(OP_SEND_ONLY, 3, 8));
	expect_events(one, B);
	close_all(srq, one, two);
}

/* Nobody has room for the event now: it is not lost. */
Test(shared, event_without_room_is_delivered_later)
{
	struct rc_srq *srq = make_srq(16);
	struct pair *pair = open_on(srq);
	struct rc_outbox *out = &pair->out;

	RULE("V-1");
	RULE("M-4");
	rc_srq_arm(srq, 10);
	pair_set_state(pair, B, UROCE_QPS_ERR);
	for (uint32_t room = 0; room < 2; room++) {
		outbox_reset(out);
		out->event_count = OUTBOX_EVENTS - room;
		cr_assert(rc_qp_transmit(pair->side[B].qp, pair->now_ns, out), "room for %u of two", room);
		cr_assert_eq(out->event_count, OUTBOX_EVENTS);
	}
	cr_assert_eq(out->events[OUTBOX_EVENTS - 1].type, UROCE_EVENT_QP_LAST_WQE_REACHED);
	pair_transmit(pair, B);
	expect_events(pair, B, "SRQ_LIMIT_REACHED");
	close_all(srq, pair, NULL);
}
