/* window.c - memory windows: bound, used by the peer, and made invalid by their owner, all in the order of the queue */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-D-6, D-8. B has the windows, A is the peer that uses them. A peer's SEND with invalidate: invalidate.c.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "opened.h"
#include "packets.h"
#include "rule.h"

#define AT 8192u /* where windows lie in B's memory */
#define BYTES 4096u
#define REMOTE (UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC)

static uint32_t next_key(uint32_t key)
{
	return (key & ~0xFFu) | ((key + 1) & 0xFF);
}

static uint32_t make_window(struct pair *pair, enum rc_mr_kind kind)
{
	uint32_t key = rc_mr_insert_window(&pair->side[B].mrs, 1, kind);

	cr_assert_neq(key, 0);
	return next_key(key);
}

/* Posts a bind of a side's window to [AT, AT + BYTES) of its region. */
static int post_bind(struct pair *pair, enum side_name side, uint64_t wr_id, uint32_t key, uint64_t bytes)
{
	const struct uroce_send_wr wr = { .wr_id = wr_id, .send_flags = UROCE_SEND_SIGNALED };
	const struct rc_mr_bind bind = {
		.va = (uintptr_t)pair->side[side].memory + AT,
		.bytes = bytes,
		.region_key = pair->side[side].key,
		.access = REMOTE,
		.key = key,
	};

	return rc_qp_post_bind(pair->side[side].qp, &wr, &bind);
}

static int post_invalidate(struct pair *pair, enum side_name side, uint64_t wr_id, uint32_t key)
{
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = UROCE_WR_LOCAL_INV,
		.send_flags = UROCE_SEND_SIGNALED,
		.rkey = key,
	};

	return pair_post(pair, side, wr, 0, 0);
}

/* B has bound a window of this type. */
static uint32_t open_window(struct pair *pair, enum rc_mr_kind kind)
{
	uint32_t key = make_window(pair, kind);

	cr_assert_eq(post_bind(pair, B, 99, key, BYTES), 0);
	pair_transmit(pair, B);
	expect_leaves(pair, B);
	expect_completes(pair, B, "wr=99 BIND SUCCESS");
	return key;
}

static bool is_open(struct pair *pair, enum side_name side, uint32_t key)
{
	uint8_t *host;

	return qp_check_memory(pair->side[side].qp, key, (uintptr_t)pair->side[side].memory + AT, 8, 0, &host) == MR_OK;
}

static struct wire_packet write_under(const struct pair *pair, uint32_t key, uint32_t psn, uint64_t offset)
{
	struct wire_packet packet = write_packet(pair, OP_WRITE_ONLY, psn, offset, 8, 8);

	packet.rkey = key;
	return packet;
}

/* WRITE, READ and atomic through it, and not a byte beyond it. */
Test(window, peer_accesses_only_the_bound_range)
{
	RULE("M-3");
	RULE("Q-1");
	for (int kind = MR_WINDOW_1; kind <= MR_WINDOW_2; kind++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint32_t key = open_window(pair, (enum rc_mr_kind)kind);
		struct wire_packet read = read_packet(pair, 1, AT + BYTES - 8, 8);
		struct wire_packet add = fetch_add_packet(pair, 2, AT, 1);

		pair_set_word(pair, B, AT + 8, 0);
		pair_request(pair, write_under(pair, key, 0, AT));
		read.rkey = add.rkey = key;
		pair_request(pair, read);
		pair_request(pair, add);
		expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1", "READ_RESPONSE_ONLY psn=1 credit=31 msn=2 bytes=8",
			      "ATOMIC_ACKNOWLEDGE psn=2 credit=31 msn=3 original=0xd7d7d7d7d7d7d7d7");
		cr_assert_eq(pair_word(pair, B, AT), 0xD7D7D7D7D7D7D7D8);
		pair_request(pair, write_under(pair, key, 3, AT + 1 + BYTES - 8));
		expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=3 msn=3");
		expect_events(pair, B, "QP_ACCESS_ERR");
		pair_close(pair);
	}
}

/* Each key that opens nothing to this QP, and the rights that the window was not bound with. */
Test(window, invalid_window_key_is_refused)
{
	static const char *const names[] = { "never bound", "unbound",      "invalidated", "an old tag",
					     "other QP",    "other domain", "no right" };

	RULE("M-3");
	RULE("K-ACC");
	for (uint32_t i = 0; i < 7; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct rc_mr_table *mrs = &pair->side[B].mrs;
		uint32_t key = i == 0 ? make_window(pair, MR_WINDOW_1) :
					open_window(pair, i == 1 || i == 3 ? MR_WINDOW_1 : MR_WINDOW_2);
		struct rc_mr_bind bind = { .va = (uintptr_t)pair->side[B].memory + AT,
					   .bytes = BYTES,
					   .access = REMOTE };

		bind.region_key = pair->side[B].key;
		if (i == 1 || i == 3)
			post_bind(pair, B, 1, next_key(key), i == 1 ? 0 : BYTES);
		if (i == 2)
			post_invalidate(pair, B, 1, key);
		if (i == 4 || i == 6) {
			cr_assert(rc_mr_invalidate(mrs, key, 1, 0x12));
			bind.key = key = next_key(key);
			bind.access = i == 6 ? UROCE_ACCESS_REMOTE_READ : REMOTE;
			cr_assert(rc_mr_bind(mrs, 1, i == 4 ? 0x13 : 0x12, &bind));
		}
		if (i == 5) {
			bind.key = key = next_key(rc_mr_insert_window(mrs, 2, MR_WINDOW_1));
			bind.region_key = pair_region(pair, B, 2, AT, BYTES,
						      REMOTE | UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_MW_BIND);
			cr_assert(rc_mr_bind(mrs, 2, 0x12, &bind));
		}
		pair_transmit(pair, B);
		pair_set_word(pair, B, AT, 5);
		pair_request(pair, write_under(pair, key, 0, AT));
		cr_assert_eq(pair->side[B].sent_count, 1, "%s", names[i]);
		cr_assert_str_eq(pair->side[B].sent[0], "NAK_REMOTE_ACCESS psn=0 msn=0", "%s", names[i]);
		cr_assert_eq(pair_word(pair, B, AT), 5, "%s", names[i]);
		pair_close(pair);
	}
}

/* Gone in mid-message: of a WRITE the next packet is refused, of a READ the next response (S-4). */
Test(window, message_is_stopped_when_its_window_key_is_removed)
{
	RULE("S-4");
	RULE("M-3");
	for (int read = 0; read < 2; read++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint32_t key = open_window(pair, MR_WINDOW_2);
		struct wire_packet packet =
			read ? read_packet(pair, 0, AT, 3000) : write_packet(pair, OP_WRITE_FIRST, 0, AT, 3000, 1024);

		packet.rkey = key;
		pair_inject(pair, B, packet);
		pair_transmit_some(pair, B, 1);
		pair_forget(pair);
		post_invalidate(pair, B, 1, key);
		if (read) {
			cr_assert(rc_mr_invalidate(&pair->side[B].mrs, key, 1, 0x12));
		} else {
			pair_transmit(pair, B);
			expect_completes(pair, B, "wr=1 LOCAL_INV SUCCESS");
			pair_inject(pair, B, write_packet(pair, OP_WRITE_MIDDLE, 1, 0, 0, 1024));
		}
		pair_transmit(pair, B);
		expect_leaves(pair, B, read ? "NAK_REMOTE_ACCESS psn=1 msn=1" : "NAK_REMOTE_ACCESS psn=1 msn=0");
		expect_events(pair, B, "QP_ACCESS_ERR");
		pair_close(pair);
	}
}

/* A region that windows are bound to stays; then type 1 is bound to nothing, and type 2 made invalid. */
Test(window, region_with_bound_windows_cannot_be_removed)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t one = open_window(pair, MR_WINDOW_1), two = open_window(pair, MR_WINDOW_2);
	struct rc_mr_table *mrs = &pair->side[B].mrs;

	RULE("M-3");
	RULE("M-2");
	cr_assert_eq(rc_mr_remove(mrs, pair->side[B].key), -EBUSY);
	post_bind(pair, B, 1, next_key(one), 0);
	pair_transmit(pair, B);
	cr_assert_eq(rc_mr_remove(mrs, pair->side[B].key), -EBUSY);
	post_invalidate(pair, B, 2, two);
	pair_transmit(pair, B);
	expect_completes(pair, B, "wr=1 BIND SUCCESS", "wr=2 LOCAL_INV SUCCESS");
	cr_assert_eq(rc_mr_remove(mrs, pair->side[B].key), 0);
	pair_close(pair);
}

/* ---- in the send queue ---- */

/* the WRITE before it is not acknowledged, so the key still opens; what is behind it waits as well. */
Test(window, a_local_invalidate_waits_for_all_earlier_requests)
{
	RULE("Q-4");
	RULE("Q-6");
	for (int signaled = 0; signaled < 2; signaled++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE };
		uint32_t key = open_window(pair, MR_WINDOW_2);

		wr.send_flags = signaled ? UROCE_SEND_SIGNALED : 0;
		pair_cut(pair);
		pair_post(pair, B, wr, 0, 2000);
		post_invalidate(pair, B, 2, key);
		wr.wr_id = 3;
		wr.send_flags = UROCE_SEND_SIGNALED;
		pair_post(pair, B, wr, 0, 8);
		pair_transmit(pair, B);
		if (signaled)
			expect_leaves(pair, B, "WRITE_FIRST psn=0 va=0x0 len=2000 bytes=1024",
				      "WRITE_LAST psn=1 ackreq bytes=976");
		else
			expect_leaves(pair, B, "WRITE_FIRST psn=0 va=0x0 len=2000 bytes=1024",
				      "WRITE_LAST psn=1 bytes=976",
				      "WRITE_ONLY psn=16777215 ackreq va=0x0 len=0 bytes=0");
		pair_inject(pair, B, ack_packet(0, SYNDROME_PLAIN_ACK, 0));
		pair_transmit(pair, B);
		expect_leaves(pair, B);
		expect_completes(pair, B);
		cr_assert(is_open(pair, B, key));
		pair_inject(pair, B, ack_packet(1, SYNDROME_PLAIN_ACK, 1));
		pair_transmit(pair, B);
		cr_assert(!is_open(pair, B, key));
		expect_leaves(pair, B, "WRITE_ONLY psn=2 ackreq va=0x0 len=8 bytes=8");
		if (signaled)
			expect_completes(pair, B, "wr=1 WRITE SUCCESS", "wr=2 LOCAL_INV SUCCESS");
		else
			expect_completes(pair, B, "wr=2 LOCAL_INV SUCCESS");
		expect_counts(pair, B, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
		pair_close(pair);
	}
}

/* Requests sent without AckReq, because more were to follow; then a request follows that waits for their ACK. */
Test(window, bind_after_unsignaled_requests_needs_no_timeout)
{
	struct pair *pair = pair_open(&(struct pair_options){ .retry_cnt = 255 });
	struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE };
	uint32_t key = open_window(pair, MR_WINDOW_2);
	uint64_t start = pair->now_ns;

	RULE("Q-4");
	RULE("Q-5");
	for (uint32_t i = 0; i < 5; i++)
		pair_post(pair, B, wr, 0, 100 * i);
	post_bind(pair, B, 2, make_window(pair, MR_WINDOW_1), BYTES);
	pair_post(pair, B, wr, 0, 8);
	post_invalidate(pair, B, 3, key);
	pair_post(pair, B, wr, 0, 8);
	pair_run(pair);
	expect_completes(pair, B, "wr=2 BIND SUCCESS", "wr=3 LOCAL_INV SUCCESS");
	cr_assert_lt(pair->now_ns - start, 100000);
	expect_counts(pair, B, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	cr_assert_eq(pair->side[A].qp->counters[CNT_RX_WRITE_REQUESTS], 7);
	pair_close(pair);
}

/* A READ is not done before its data is there, an atomic not before its value is; a resend changes nothing. */
Test(window, a_local_operation_waits_for_answers_too)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t key = open_window(pair, MR_WINDOW_2);
	struct uroce_send_wr read = { .wr_id = 1, .opcode = UROCE_WR_RDMA_READ, .send_flags = UROCE_SEND_SIGNALED };

	RULE("Q-4");
	pair_cut(pair);
	pair_post(pair, B, read, 0, 2000);
	post_invalidate(pair, B, 2, key);
	pair_post(pair, B, read, 0, 8);
	pair_transmit(pair, B);
	pair_fire(pair);
	expect_leaves(pair, B, "READ_REQUEST psn=0 ackreq va=0x0 len=2000",
		      "READ_REQUEST psn=0 ackreq va=0x0 len=2000");
	pair_inject(pair, B, response_packet(OP_READ_RESPONSE_FIRST, 0, 1024));
	pair_transmit(pair, B);
	cr_assert(is_open(pair, B, key));
	pair_inject(pair, B, response_packet(OP_READ_RESPONSE_LAST, 1, 976));
	pair_transmit(pair, B);
	cr_assert(!is_open(pair, B, key));
	expect_completes(pair, B, "wr=1 READ SUCCESS len=2000", "wr=2 LOCAL_INV SUCCESS");
	expect_leaves(pair, B, "READ_REQUEST psn=2 ackreq va=0x0 len=8");
	pair_close(pair);
}

/* Local operations only: none needs the peer. */
Test(window, local_operations_alone_need_no_packet)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 8 });
	uint32_t key = make_window(pair, MR_WINDOW_2);

	RULE("M-3");
	RULE("Q-6");
	for (uint32_t i = 0; i < 40; i++) {
		cr_assert_eq(post_bind(pair, B, 2 * i, key, BYTES), 0);
		cr_assert_eq(post_invalidate(pair, B, 2 * i + 1, key), 0);
		pair_transmit(pair, B);
		key = next_key(key);
	}
	expect_leaves(pair, B);
	expect_done_count(pair, B, 80);
	cr_assert_eq(rc_qp_deadline(pair->side[B].qp), RC_NEVER);
	for (uint32_t i = 0; i < 80; i++)
		cr_assert_eq(pair->side[B].wcs[i].wr_id, i);
	pair_close(pair);
}

/* after the earlier ones, before the later ones, and an error completes whether it was asked for or not. */
Test(window, local_invalidate_of_another_key_fails_in_order)
{
	static const char *const names[] = { "a region", "nothing", "type 1", "other QP", "not bound" };

	RULE("Q-13");
	RULE("E-9");
	RULE("E-4");
	for (uint32_t i = 0; i < 5; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct uroce_send_wr write = { .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE };
		struct uroce_send_wr invalidate = { .wr_id = 2, .opcode = UROCE_WR_LOCAL_INV };
		uint32_t key = i == 2 ? open_window(pair, MR_WINDOW_1) : make_window(pair, MR_WINDOW_2);

		invalidate.rkey = i == 0 ? pair->side[B].key : i == 1 ? 0x12345678 : key;
		if (i == 3) {
			const struct rc_mr_bind bind = { .va = (uintptr_t)pair->side[B].memory + AT,
							 .bytes = BYTES,
							 .region_key = pair->side[B].key,
							 .key = key };

			cr_assert(rc_mr_bind(&pair->side[B].mrs, 1, 0x13, &bind));
		}
		pair_cut(pair);
		pair_post(pair, B, write, 0, 8);
		pair_post(pair, B, invalidate, 0, 0);
		pair_post(pair, B, write, 0, 8);
		pair_transmit(pair, B);
		expect_completes(pair, B);
		pair_inject(pair, B, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
		pair_transmit(pair, B);
		cr_assert_eq(pair->side[B].wcs[0].vendor_err, UROCE_CAUSE_WINDOW, "%s", names[i]);
		expect_completes(pair, B, "wr=2 LOCAL_INV LOC_QP_OP_ERR", "wr=1 WRITE WR_FLUSH_ERR");
		expect_events(pair, B, "QP_FATAL");
		cr_assert_eq(is_open(pair, B, invalidate.rkey), i == 0 || i == 2, "%s", names[i]);
		pair_close(pair);
	}
}

Test(window, refused_bind_fails_in_order)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_send_wr write = { .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE, .send_flags = UROCE_SEND_SIGNALED };
	uint32_t key = open_window(pair, MR_WINDOW_2);

	RULE("Q-13");
	RULE("M-3");
	RULE("E-4");
	pair_cut(pair);
	pair_post(pair, B, write, 0, 8);
	cr_assert_eq(post_bind(pair, B, 2, next_key(key), BYTES), 0); /* it is bound */
	cr_assert_eq(post_invalidate(pair, B, 3, key), 0);
	pair_transmit(pair, B);
	expect_completes(pair, B);
	pair_inject(pair, B, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	pair_transmit(pair, B);
	cr_assert_eq(pair->side[B].wcs[1].vendor_err, UROCE_CAUSE_WINDOW);
	expect_completes(pair, B, "wr=1 WRITE SUCCESS", "wr=2 BIND MW_BIND_ERR", "wr=3 LOCAL_INV WR_FLUSH_ERR");
	expect_events(pair, B, "QP_FATAL");
	cr_assert(is_open(pair, B, key), "what was flushed was done");
	pair_close(pair);
}

Test(window, invalid_bind_posts_are_refused)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 2 });
	const struct uroce_send_wr odd = { .send_flags = 1u << 20 };
	struct uroce_send_wr wr = { .opcode = UROCE_WR_BIND_MW };
	uint32_t key = make_window(pair, MR_WINDOW_2);

	RULE("Q-14");
	RULE("Q-13");
	cr_assert_eq(rc_qp_post_bind(pair->side[B].qp, &odd, &(struct rc_mr_bind){ 0 }), -EINVAL);
	cr_assert_eq(pair_post(pair, B, wr, 0, 0), -EINVAL, "a bind has a call of its own");
	wr.opcode = UROCE_WR_LOCAL_INV;
	cr_assert_eq(pair_post(pair, B, wr, 0, 8), -EINVAL, "it has no data");
	wr.send_flags = UROCE_SEND_INLINE;
	cr_assert_eq(pair_post(pair, B, wr, 0, 0), -EINVAL);
	pair_set_state(pair, B, UROCE_QPS_SQD);
	cr_assert_eq(post_bind(pair, B, 1, key, BYTES), 0);
	cr_assert_eq(post_invalidate(pair, B, 2, key), 0);
	cr_assert_eq(post_bind(pair, B, 3, key, BYTES), -ENOMEM);
	pair_transmit(pair, B);
	cr_assert(!is_open(pair, B, key), "nothing new starts in SQD");
	expect_completes(pair, B);
	pair_set_state(pair, B, UROCE_QPS_ERR);
	pair_transmit(pair, B);
	expect_completes(pair, B, "wr=1 BIND WR_FLUSH_ERR", "wr=2 LOCAL_INV WR_FLUSH_ERR");
	pair_set_state(pair, B, UROCE_QPS_RESET);
	cr_assert_eq(post_bind(pair, B, 1, key, BYTES), -EINVAL);
	pair_close(pair);
}

/* SQD with a local operation next: it waits, SQD drains, and RTS goes on with it. */
Test(window, sqd_drains_before_a_local_operation_and_rts_executes_it)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct uroce_send_wr write = { .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE };
	uint32_t key = open_window(pair, MR_WINDOW_2);

	RULE("X-2");
	RULE("Q-4");
	pair_post(pair, B, write, 0, 8);
	post_invalidate(pair, B, 2, key);
	pair_transmit(pair, B);
	pair_set_state(pair, B, UROCE_QPS_SQD);
	pair_run(pair);
	expect_events(pair, B, "SQ_DRAINED");
	cr_assert(is_open(pair, B, key));
	pair_set_state(pair, B, UROCE_QPS_RTS);
	pair_run(pair);
	cr_assert(!is_open(pair, B, key));
	expect_completes(pair, B, "wr=2 LOCAL_INV SUCCESS");
	pair_close(pair);
}
