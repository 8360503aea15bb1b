/* newops_invalid.c - invalid ATOMIC WRITE and FLUSH requests, and long FLUSHes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

#define AT 8192u
#define BYTES 4096u
#define GLOBAL UROCE_FLUSH_GLOBAL
#define PERSISTENT UROCE_FLUSH_PERSISTENT
#define WHOLE 0x10u

static struct wire_packet atomic_write_packet(const struct pair *pair, uint32_t psn, uint64_t offset)
{
	return write_packet(pair, OP_ATOMIC_WRITE, psn, offset, 8, 8);
}

/* B gets one packet and says this, and its word at AT is as it was. */
static void check_refused(struct pair *pair, struct wire_packet packet, const char *nak, const char *event,
			  const char *name)
{
	pair_set_word(pair, B, AT, 5);
	pair_request(pair, packet);
	cr_assert_eq(pair->side[B].sent_count, 1, "%s: %u packets", name, pair->side[B].sent_count);
	cr_assert_str_eq(pair->side[B].sent[0], nak, "%s: %s", name, pair->side[B].sent[0]);
	cr_assert_eq(pair->side[B].event_count, 1, "%s", name);
	cr_assert_str_eq(pair->side[B].events[0], event, "%s: %s", name, pair->side[B].events[0]);
	cr_assert_eq(pair_word(pair, B, AT), 5, "%s: memory was written", name);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_ERR, "%s", name);
	pair_close(pair);
}

/* Lengths, pad, alignment, and values that mean nothing. */
Test(newops_invalid, malformed_atomic_write_is_an_invalid_request)
{
	static const char *const names[] = {
		"4 bytes",  "16 bytes", "no bytes",  "7 bytes and pad", "8 bytes and pad",
		"DMALen 4", "DMALen 0", "DMALen 16", "unaligned",       "unaligned, no key"
	};

	RULE("S-20");
	RULE("K-INV");
	for (uint32_t i = 0; i < 10; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct wire_packet packet = atomic_write_packet(pair, 0, AT);

		packet.payload_bytes = i == 0 ? 4 : i == 1 ? 16 : i == 2 ? 0 : i == 3 ? 7 : 8;
		packet.pad_bytes = i == 3 ? 1 : i == 4 ? 3 : 0;
		packet.dma_length = i == 5 ? 4 : i == 6 ? 0 : i == 7 ? 16 : 8;
		packet.va += i == 8 ? 1 : i == 9 ? 4 : 0;
		packet.rkey ^= i == 9 ? 0xABCD00 : 0; /* judged later (S-1) */
		check_refused(pair, packet, "NAK_INVALID_REQUEST psn=0 msn=0", "QP_REQ_ERR", names[i]);
	}
}

Test(newops_invalid, malformed_flush_is_an_invalid_request)
{
	static const uint32_t unknown[] = { 0, WHOLE, 4, 8, 12, 0x20 | GLOBAL, 0x30 | GLOBAL, 0x20, 0xFFFFFFC0 };

	RULE("S-20");
	RULE("K-INV");
	for (uint32_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });

		check_refused(pair, flush_packet(pair, 0, AT, 64, unknown[i]), "NAK_INVALID_REQUEST psn=0 msn=0",
			      "QP_REQ_ERR", pair_text("FETH %#x", unknown[i]));
	}
	for (uint32_t i = 0; i < 4; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct wire_packet packet = flush_packet(pair, 0, AT, 64, GLOBAL);

		packet.payload_bytes = i == 0 ? 8 : 0;
		packet.pad_bytes = i == 1 ? 1 : 0;
		packet.dma_length = i == 2 ? (1u << 31) + 1 : i == 3 ? UINT32_MAX : 64;
		check_refused(pair, packet, "NAK_INVALID_REQUEST psn=0 msn=0", "QP_REQ_ERR", pair_text("case %u", i));
	}
}

/* Reserved bits of FETH are not looked at. */
Test(newops_invalid, reserved_bits_of_a_flush_are_ignored)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-20");
	pair_request(pair, flush_packet(pair, 0, AT, 64, 0xFFFFFFC0 | GLOBAL));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=0");
	pair_close(pair);
}

/* S-3: only between messages. The entry in use, if any, tells. */
Test(newops_invalid, operations_inside_a_message_are_out_of_sequence)
{
	RULE("S-3");
	RULE("K-INV");
	for (uint32_t i = 0; i < 4; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .receives = i < 2 });

		pair_request(pair, i < 2 ? send_packet(OP_SEND_FIRST, 0, 1024) :
					   write_packet(pair, OP_WRITE_FIRST, 0, 0, 2000, 1024));
		pair_forget(pair);
		check_refused(pair, i & 1 ? flush_packet(pair, 1, AT, 64, GLOBAL) : atomic_write_packet(pair, 1, AT),
			      "NAK_INVALID_REQUEST psn=1 msn=0", i < 2 ? "QP_FATAL" : "QP_REQ_ERR",
			      pair_text("case %u", i));
	}
}

/* TC-D-5: an operation forbidden by the QP is invalid, one forbidden by the region is an access error. */
Test(newops_invalid, rights_are_required_of_the_qp_and_the_region)
{
	static const struct {
		uint32_t feth; /* 0: ATOMIC WRITE */
		uint32_t right;
	} rows[] = {
		{ 0, UROCE_ACCESS_REMOTE_WRITE },
		{ GLOBAL, UROCE_ACCESS_FLUSH_GLOBAL },
		{ PERSISTENT, UROCE_ACCESS_FLUSH_PERSISTENT },
		{ GLOBAL | PERSISTENT, UROCE_ACCESS_FLUSH_GLOBAL },
		{ GLOBAL | PERSISTENT, UROCE_ACCESS_FLUSH_PERSISTENT },
		{ GLOBAL | WHOLE, UROCE_ACCESS_FLUSH_GLOBAL },
		{ PERSISTENT | WHOLE, UROCE_ACCESS_FLUSH_PERSISTENT },
	};
	const uint32_t everything = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC |
				    UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT;

	RULE("K-INV");
	RULE("K-ACC");
	RULE("S-20");
	for (uint32_t i = 0; i < 3 * sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t missing = rows[i / 3].right;
		struct pair *pair = pair_open(&(struct pair_options){
			.access = i % 3 == 0 ? everything & ~missing : everything,
			.mr_access = (i % 3 == 1 ? everything & ~missing : everything) | UROCE_ACCESS_LOCAL_WRITE });
		struct wire_packet packet = rows[i / 3].feth ? flush_packet(pair, 0, AT, 64, rows[i / 3].feth) :
							       atomic_write_packet(pair, 0, AT);

		if (i % 3 == 2) {
			pair_request(pair, packet);
			expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=0");
			pair_close(pair);
			continue;
		}
		check_refused(pair, packet, i % 3 ? "NAK_REMOTE_ACCESS psn=0 msn=0" : "NAK_INVALID_REQUEST psn=0 msn=0",
			      i % 3 ? "QP_ACCESS_ERR" : "QP_REQ_ERR", pair_text("row %u without %#x", i / 3, missing));
	}
}

/* Of a region of [AT, AT + BYTES): as for any other access, but a whole region has no range, and nothing no key. */
Test(newops_invalid, range_is_judged_like_a_write)
{
	static const struct {
		const char *name;
		int64_t offset;
		uint32_t bytes;
		uint32_t feth; /* 0: ATOMIC WRITE */
		bool unknown_key, accepted;
	} rows[] = {
		{ "last 8 bytes", BYTES - 8, 8, 0, .accepted = true },
		{ "behind the end", BYTES, 8, 0 },
		{ "before the start", -8, 8, 0 },
		{ "unknown key", 0, 8, 0, .unknown_key = true },
		{ "all of it", 0, BYTES, GLOBAL, .accepted = true },
		{ "all of it, to the memory behind", 0, BYTES, PERSISTENT, .accepted = true },
		{ "a byte too many", 0, BYTES + 1, GLOBAL },
		{ "a byte before", -1, 8, PERSISTENT },
		{ "2^31", 0, 1u << 31, GLOBAL },
		{ "a FLUSH under an unknown key", 0, 8, GLOBAL, .unknown_key = true },
		{ "nothing, under an unknown key", 0, 0, GLOBAL, .unknown_key = true, .accepted = true },
		{ "nothing, somewhere", 1 << 30, 0, PERSISTENT, .accepted = true },
		{ "the whole, whatever the range says", -100, 1u << 30, GLOBAL | WHOLE, .accepted = true },
		{ "the whole, of no range", 0, 0, PERSISTENT | WHOLE, .accepted = true },
		{ "the whole under an unknown key", 0, 0, GLOBAL | WHOLE, .unknown_key = true },
	};

	RULE("S-20");
	RULE("S-4");
	RULE("K-ACC");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint64_t at = (uint64_t)(AT + rows[i].offset);
		struct wire_packet packet = rows[i].feth ? flush_packet(pair, 0, at, rows[i].bytes, rows[i].feth) :
							   atomic_write_packet(pair, 0, at);

		packet.rkey = pair_region(pair, B, 1, AT, BYTES, pair->side[B].entries[0].access & ~MR_ACCESS_LOCAL) ^
			      (rows[i].unknown_key ? 0xABCD00 : 0);
		if (!rows[i].accepted) {
			check_refused(pair, packet, "NAK_REMOTE_ACCESS psn=0 msn=0", "QP_ACCESS_ERR", rows[i].name);
			continue;
		}
		pair_request(pair, packet);
		cr_assert_eq(pair->side[B].sent_count, 1, "%s", rows[i].name);
		cr_assert_str_eq(pair->side[B].sent[0], "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=0", "%s",
				 rows[i].name);
		pair_close(pair);
	}
}

/* An address that is aligned for the peer and not in memory: eight bytes there are not seen at once by everybody. */
Test(newops_invalid, atomic_write_needs_aligned_memory)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet packet = atomic_write_packet(pair, 0, 0);

	RULE("S-20");
	RULE("S-7");
	packet.rkey = pair_region(pair, B, 1, AT + 4, BYTES,
				  UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_ZERO_BASED);
	packet.va = 0;
	pair_set_word(pair, B, AT + 8, 6);
	check_refused(pair, packet, "NAK_INVALID_REQUEST psn=0 msn=0", "QP_REQ_ERR", "zero-based");
}

/* ---- FLUSHes that take long ---- */

/* Polls of B's QP until it says that there is no more, with room for many packets each. */
static uint32_t count_polls(struct pair *pair)
{
	uint32_t polls = 1;

	while (pair_transmit_some(pair, B, OUTBOX_PACKETS)) {
		cr_assert_leq(pair->side[B].sent_count, 4);
		polls++;
	}
	return polls;
}

/* Four megabytes by range or whole: many polls, in which the host serves others; this QP's own requests go on too. */
Test(newops_invalid, a_long_flush_is_done_in_slices)
{
	RULE("S-20");
	RULE("Y-1");
	for (uint32_t whole = 0; whole < 2; whole++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		struct uroce_send_wr wr = { .wr_id = 1, .opcode = UROCE_WR_RDMA_WRITE };
		uint32_t polls;

		pair_inject(pair, B,
			    flush_packet(pair, 0, 0, whole ? 0 : PAIR_MEMORY_BYTES, PERSISTENT | (whole ? WHOLE : 0)));
		pair_inject(pair, B, write_packet(pair, OP_WRITE_ONLY, 1, AT, 8, 8));
		pair_post(pair, B, wr, 0, 8);
		cr_assert(pair_transmit_some(pair, B, OUTBOX_PACKETS), "it was done at once");
		expect_leaves(pair, B, "WRITE_ONLY psn=0 ackreq va=0x0 len=8 bytes=8");
		polls = count_polls(pair);
		cr_assert_geq(polls, 16, "%u polls", polls);
		cr_assert_leq(polls, PAIR_MEMORY_BYTES / 4096, "%u polls", polls);
		expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=0", "ACK psn=1 credit=31 msn=2");
		/* Again: from the start, and the same answer. */
		pair_inject(pair, B,
			    flush_packet(pair, 0, 0, whole ? 0 : PAIR_MEMORY_BYTES, PERSISTENT | (whole ? WHOLE : 0)));
		cr_assert_geq(count_polls(pair), polls);
		expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=0");
		pair_close(pair);
	}
}

/* A duplicate that comes while it is at work does not start it over, and draws no answer of its own. */
Test(newops_invalid, repeated_requests_do_not_delay_a_long_flush)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet flush = flush_packet(pair, 0, 0, PAIR_MEMORY_BYTES, PERSISTENT);
	uint32_t polls = 0;

	RULE("S-20");
	RULE("S-10");
	pair_inject(pair, B, flush);
	while (pair_transmit_some(pair, B, OUTBOX_PACKETS)) {
		pair_inject(pair, B, flush);
		cr_assert_lt(++polls, PAIR_MEMORY_BYTES / 4096, "it never ends");
	}
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=0");
	pair_close(pair);
}

/* K-ACC: the key is removed during the FLUSH. A duplicate draws no NAK (K-RULE). */
Test(newops_invalid, long_flush_with_a_removed_key_is_refused)
{
	RULE("K-ACC");
	RULE("S-4");
	RULE("K-RULE");
	for (uint32_t i = 0; i < 4; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		bool repeated = i & 1, whole = i & 2;
		struct wire_packet flush =
			flush_packet(pair, 0, 0, whole ? 0 : PAIR_MEMORY_BYTES / 2, PERSISTENT | (whole ? WHOLE : 0));

		flush.rkey = pair_region(pair, B, 1, 0, PAIR_MEMORY_BYTES / 2,
					 pair->side[B].entries[0].access & ~MR_ACCESS_LOCAL);
		pair_inject(pair, B, flush);
		if (repeated) {
			pair_transmit(pair, B);
			pair_inject(pair, B, flush);
		}
		pair_transmit_some(pair, B, OUTBOX_PACKETS);
		pair_forget(pair);
		cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, flush.rkey), 0);
		cr_assert(!pair_transmit_some(pair, B, OUTBOX_PACKETS), "it goes on without a key");
		if (repeated) {
			expect_leaves(pair, B);
			expect_events(pair, B);
			expect_counts(pair, B, CNT_REPLAY_KEY, 1);
			cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
		} else {
			expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=0 msn=1");
			expect_events(pair, B, "QP_ACCESS_ERR");
			expect_counts(pair, B, CNT_RESP_REMOTE_ACCESS_ERRORS, 1);
		}
		pair_close(pair);
	}
}

/* Visibility alone takes no time, however long the range. */
Test(newops_invalid, flush_for_visibility_completes_at_once)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-20");
	pair_inject(pair, B, flush_packet(pair, 0, 0, PAIR_MEMORY_BYTES, GLOBAL));
	cr_assert(!pair_transmit_some(pair, B, OUTBOX_PACKETS));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=0");
	pair_close(pair);
}
