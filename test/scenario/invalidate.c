/* invalidate.c - a SEND that makes a key of its receiver invalid */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-C-9. B has bound a window of type 2; A has used it and gives it back with its last SEND.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

#define AT 8192u
#define BYTES 4096u

static uint32_t next_key(uint32_t key)
{
	return (key & ~0xFFu) | ((key + 1) & 0xFF);
}

static bool bind_for(struct pair *pair, uint32_t key, uint32_t qpn)
{
	const struct rc_mr_bind bind = {
		.va = (uintptr_t)pair->side[B].memory + AT,
		.bytes = BYTES,
		.region_key = pair->side[B].key,
		.access = UROCE_ACCESS_REMOTE_WRITE,
		.key = key,
	};

	return rc_mr_bind(&pair->side[B].mrs, 1, qpn, &bind);
}

static uint32_t make_window(struct pair *pair, enum rc_mr_kind kind)
{
	return next_key(rc_mr_insert_window(&pair->side[B].mrs, 1, kind));
}

/* A window that B's QP has bound. */
static uint32_t open_window(struct pair *pair, enum rc_mr_kind kind)
{
	uint32_t key = make_window(pair, kind);

	cr_assert(bind_for(pair, key, pair->side[B].qp->qpn));
	return key;
}

static bool is_open(struct pair *pair, uint32_t qpn, uint32_t key)
{
	uint8_t *host;

	return rc_mr_check(&pair->side[B].mrs, key, 1, qpn, (uintptr_t)pair->side[B].memory + AT, 8, 0, &host) == MR_OK;
}

static int post_send(struct pair *pair, uint64_t wr_id, uint32_t bytes, uint32_t key, uint32_t flags)
{
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = UROCE_WR_SEND_WITH_INV,
		.send_flags = UROCE_SEND_SIGNALED | flags,
		.rkey = key,
	};

	return pair_post(pair, A, wr, 0, bytes);
}

static struct wire_packet send_inv_packet(uint8_t opcode, uint32_t psn, uint32_t bytes, uint32_t key)
{
	struct wire_packet packet = send_packet(opcode, psn, bytes);

	packet.invalidate_key = key;
	return packet;
}

static struct wire_packet write_under(const struct pair *pair, uint32_t key, uint32_t psn)
{
	struct wire_packet packet = write_packet(pair, OP_WRITE_ONLY, psn, AT, 8, 8);

	packet.rkey = key;
	return packet;
}

/* Of one packet, of none, of several: the key travels with the last one. */
Test(invalidate, last_packet_carries_the_key_and_the_completion_reports_it)
{
	static const uint32_t sizes[] = { 100, 0, 1024, 2500 };

	RULE("Q-1");
	RULE("M-3");
	RULE("S-16");
	for (uint32_t i = 0; i < 4; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });
		uint32_t key = open_window(pair, MR_WINDOW_2);

		post_send(pair, 7, sizes[i], key, UROCE_SEND_SOLICITED);
		pair_run(pair);
		if (i == 3)
			expect_leaves(pair, A, "SEND_FIRST psn=0 bytes=1024", "SEND_MIDDLE psn=1 bytes=1024",
				      pair_text("SEND_LAST_INV psn=2 solicited ackreq invalidate=0x%08x bytes=452",
						key));
		else
			expect_leaves(pair, A,
				      pair_text("SEND_ONLY_INV psn=0 solicited ackreq invalidate=0x%08x bytes=%u", key,
						sizes[i]));
		expect_completes(pair, A, "wr=7 SEND SUCCESS");
		cr_assert_eq(pair->side[B].wcs[0].wc_flags, UROCE_WC_WITH_INV | UROCE_WC_SOLICITED);
		cr_assert_eq(pair->side[B].wcs[0].invalidated_rkey, key);
		expect_completes(pair, B, pair_text("wr=1000 RECV SUCCESS len=%u inv=0x%x solicited", sizes[i], key));
		cr_assert(!is_open(pair, 0x12, key));
		cr_assert(memcmp(pair->side[B].memory + PAIR_MEMORY_BYTES / 2, pair->side[A].memory, sizes[i]) == 0);
		pair_close(pair);
	}
}

/* From the moment on that it takes effect, and not before: a WRITE before it, in the same burst, still lands. */
Test(invalidate, key_opens_memory_up_to_the_send_only)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });
	uint32_t key = open_window(pair, MR_WINDOW_2);

	RULE("M-3");
	RULE("S-17");
	RULE("K-ACC");
	pair_set_word(pair, B, AT, 0);
	pair_inject(pair, B, write_under(pair, key, 0));
	pair_inject(pair, B, send_packet(OP_SEND_FIRST, 1, 1024));
	cr_assert(is_open(pair, 0x12, key));
	pair_inject(pair, B, send_inv_packet(OP_SEND_LAST_INV, 2, 8, key));
	cr_assert(!is_open(pair, 0x12, key));
	cr_assert_eq(pair_word(pair, B, AT), 0xD7D7D7D7D7D7D7D7);
	pair_set_word(pair, B, AT, 0);
	pair_inject(pair, B, write_under(pair, key, 3));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=3 msn=2");
	expect_completes(pair, B, pair_text("wr=1000 RECV SUCCESS len=1032 inv=0x%x", key),
			 "wr=1001 RECV WR_FLUSH_ERR");
	cr_assert_eq(pair_word(pair, B, AT), 0);
	pair_close(pair);
}

/* S-8: the window has been bound anew since, to the very key that the SEND named. */
Test(invalidate, duplicate_send_invalidates_nothing)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });
	uint32_t key = open_window(pair, MR_WINDOW_2);

	RULE("M-3");
	RULE("S-8");
	RULE("K-RULE");
	pair_request(pair, send_inv_packet(OP_SEND_ONLY_INV, 0, 8, key));
	pair_request(pair, send_inv_packet(OP_SEND_ONLY_INV, 0, 8, key)); /* it is not valid any more: no matter */
	cr_assert(bind_for(pair, next_key(key), 0x12));
	cr_assert(rc_mr_invalidate(&pair->side[B].mrs, next_key(key), 1, 0x12));
	cr_assert(bind_for(pair, key, 0x12));
	pair_request(pair, send_inv_packet(OP_SEND_ONLY_INV, 0, 8, key));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1", "ACK psn=0 credit=31 msn=1", "ACK psn=0 credit=31 msn=1");
	expect_completes(pair, B, pair_text("wr=1000 RECV SUCCESS len=8 inv=0x%x", key));
	cr_assert(is_open(pair, 0x12, key));
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	pair_close(pair);
}

/* TC-C-9: each kind of key that this SEND may not touch; what was valid stays so. */
Test(invalidate, a_key_that_cannot_be_invalidated_is_refused_and_stays_valid)
{
	static const char *const names[] = { "a region", "type 1", "not bound", "other QP", "nothing", "an old tag" };

	RULE("K-ACC");
	RULE("K-RESP");
	RULE("M-3");
	for (uint32_t i = 0; i < 6; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });
		uint32_t key = i == 0 ? pair->side[B].key :
			       i == 1 ? open_window(pair, MR_WINDOW_1) :
			       i == 4 ? 0x12345678 :
			       i == 5 ? open_window(pair, MR_WINDOW_2) :
					make_window(pair, MR_WINDOW_2);
		uint32_t owner = i == 3 ? 0x13 : 0x12;

		if (i == 3)
			cr_assert(bind_for(pair, key, 0x13));
		pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
		pair_forget(pair);
		pair_request(pair, send_inv_packet(OP_SEND_LAST_INV, 1, 8, i == 5 ? key ^ 0x10 : key));
		cr_assert_str_eq(pair->side[B].sent[0], "NAK_REMOTE_ACCESS psn=1 msn=0", "%s", names[i]);
		expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=1 msn=0");
		expect_completes(pair, B, "wr=1000 RECV REM_ACCESS_ERR", "wr=1001 RECV WR_FLUSH_ERR");
		expect_events(pair, B, "QP_FATAL");
		expect_counts(pair, B, CNT_RESP_REMOTE_ACCESS_ERRORS, 1);
		cr_assert_eq(pair->side[B].wcs[0].vendor_err, UROCE_CAUSE_REMOTE_KEY, "%s", names[i]);
		cr_assert_eq(is_open(pair, owner, key), i != 2 && i != 4, "%s", names[i]);
		pair_close(pair);
	}
}

/* What the requester makes of it. */
Test(invalidate, requester_receives_an_error_for_a_refused_key)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });

	RULE("K-REQ");
	pair_send(pair, 1, 8);
	post_send(pair, 2, 8, pair->side[B].key, 0);
	pair_send(pair, 3, 8);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 SEND SUCCESS", "wr=2 SEND REM_ACCESS_ERR", "wr=3 SEND WR_FLUSH_ERR");
	expect_counts(pair, A, CNT_REQ_REMOTE_ACCESS_ERRORS, 1);
	pair_close(pair);
}

/* S-1: what is judged before the key decides; the key is as it was. */
Test(invalidate, send_refused_for_another_reason_keeps_the_key)
{
	RULE("S-1");
	RULE("M-3");
	RULE("R-1");
	for (uint32_t i = 0; i < 4; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint32_t key = open_window(pair, MR_WINDOW_2);
		struct wire_packet packet = send_inv_packet(OP_SEND_ONLY_INV, 0, 100, key);

		if (i == 1) {
			pair_recv(pair, B, 5, 0, 99);
			packet.invalidate_key ^= 1; /* that would be K-ACC */
		}
		if (i == 2)
			packet.psn = 1;
		if (i == 3)
			packet.opcode = OP_SEND_LAST_INV;
		pair_request(pair, packet);
		if (i == 0)
			expect_leaves(pair, B, "RNR_NAK psn=0 timer=12 msn=0");
		if (i == 1)
			expect_completes(pair, B, "wr=5 RECV LOC_LEN_ERR");
		if (i == 2)
			expect_leaves(pair, B, "NAK_SEQUENCE psn=0 msn=0");
		if (i == 1 || i == 3)
			expect_leaves(pair, B, "NAK_INVALID_REQUEST psn=0 msn=0");
		cr_assert(is_open(pair, 0x12, key), "case %u", i);
		pair_close(pair);
	}
}

/* An RNR NAK, then a lost ACK: it is invalidated once, and completes once. */
Test(invalidate, repeated_send_invalidates_once)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t key = open_window(pair, MR_WINDOW_2);

	RULE("M-3");
	RULE("Q-10");
	post_send(pair, 1, 1500, key, 0);
	pair_run(pair);
	pair_recv(pair, B, 5, 0, 2000);
	pair_fire(pair);
	expect_completes(pair, A, "wr=1 SEND SUCCESS");
	expect_completes(pair, B, pair_text("wr=5 RECV SUCCESS len=1500 inv=0x%x", key));
	cr_assert(!is_open(pair, 0x12, key));
	key = next_key(key);
	cr_assert(bind_for(pair, key, 0x12));
	pair_recv(pair, B, 6, 0, 2000);
	pair_forget(pair);
	post_send(pair, 2, 8, key, UROCE_SEND_INLINE);
	pair_transmit(pair, A);
	pair_deliver(pair, B);
	pair_cut(pair);
	pair_transmit(pair, B);
	pair_mend(pair);
	cr_assert(bind_for(pair, next_key(key), 0x12));
	pair_fire(pair);
	expect_leaves(pair, A, pair_text("SEND_ONLY_INV psn=2 ackreq invalidate=0x%08x bytes=8", key),
		      pair_text("SEND_ONLY_INV psn=2 ackreq invalidate=0x%08x bytes=8", key));
	expect_completes(pair, A, "wr=2 SEND SUCCESS");
	expect_completes(pair, B, pair_text("wr=6 RECV SUCCESS len=8 inv=0x%x", key));
	cr_assert(is_open(pair, 0x12, next_key(key)));
	pair_close(pair);
}
