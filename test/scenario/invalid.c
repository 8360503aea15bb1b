/* invalid.c - requests that break the protocol: refused as invalid, in the order of judgement */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A table of wrong packets, each after what may come before it. Wherever two things are wrong at once, the first of
 * S-1 decides. TC-A-6, A-7, A-10, C-1, C-2, D-3, D-4, D-5, D-9.
 */
#include <criterion/criterion.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

#define NEXT 1 /* PSN of the wrong packet: one packet comes before it */

enum before { NOTHING, OPEN_SEND, OPEN_WRITE };

struct row {
	const char *name;
	uint8_t opcode;
	enum before before;
	uint32_t bytes;
	uint32_t dma_length;
	int pad; /* added to the right one */
	uint32_t va_offset;
	bool bad_key;
	bool receives;
	uint32_t access;    /* of the QP; 0: everything */
	const char *leaves; /* NULL: the NAK of K-INV */
};

#define ATOMIC UROCE_ACCESS_REMOTE_ATOMIC
#define READ UROCE_ACCESS_REMOTE_READ
#define WRITE UROCE_ACCESS_REMOTE_WRITE

static const struct row sequences[] = {
	{ "SEND MIDDLE alone", OP_SEND_MIDDLE, NOTHING, 1024, .receives = true },
	{ "SEND LAST alone", OP_SEND_LAST, NOTHING, 8, .receives = true },
	{ "SEND LAST with immediate alone", OP_SEND_LAST_IMM, NOTHING, 8, .receives = true },
	{ "WRITE MIDDLE alone", OP_WRITE_MIDDLE, NOTHING, 1024 },
	{ "WRITE LAST alone", OP_WRITE_LAST, NOTHING, 8 },
	{ "WRITE LAST with immediate alone", OP_WRITE_LAST_IMM, NOTHING, 8, .receives = true },
	{ "SEND FIRST in SEND", OP_SEND_FIRST, OPEN_SEND, 1024, .receives = true },
	{ "SEND ONLY in SEND", OP_SEND_ONLY, OPEN_SEND, 8, .receives = true },
	{ "SEND ONLY with immediate in SEND", OP_SEND_ONLY_IMM, OPEN_SEND, 8, .receives = true },
	{ "WRITE FIRST in SEND", OP_WRITE_FIRST, OPEN_SEND, 1024, 1500, .receives = true },
	{ "WRITE MIDDLE in SEND", OP_WRITE_MIDDLE, OPEN_SEND, 1024, .receives = true },
	{ "WRITE LAST in SEND", OP_WRITE_LAST, OPEN_SEND, 8, .receives = true },
	{ "WRITE LAST with immediate in SEND", OP_WRITE_LAST_IMM, OPEN_SEND, 8, .receives = true },
	{ "WRITE ONLY in SEND", OP_WRITE_ONLY, OPEN_SEND, 8, 8, .receives = true },
	{ "READ in SEND", OP_READ_REQUEST, OPEN_SEND, 0, 8, .receives = true },
	{ "atomic in SEND", OP_FETCH_ADD, OPEN_SEND, 0, 0, .receives = true },
	{ "WRITE FIRST in WRITE", OP_WRITE_FIRST, OPEN_WRITE, 1024, 1500 },
	{ "WRITE ONLY in WRITE", OP_WRITE_ONLY, OPEN_WRITE, 8, 8 },
	{ "SEND FIRST in WRITE", OP_SEND_FIRST, OPEN_WRITE, 1024, .receives = true },
	{ "SEND MIDDLE in WRITE", OP_SEND_MIDDLE, OPEN_WRITE, 1024, .receives = true },
	{ "SEND LAST in WRITE", OP_SEND_LAST, OPEN_WRITE, 8, .receives = true },
	{ "READ in WRITE", OP_READ_REQUEST, OPEN_WRITE, 0, 8 },
	{ "compare-and-swap in WRITE", OP_COMPARE_SWAP, OPEN_WRITE, 0, 0 },
};

static const struct row opcodes[] = {
	{ "reserved 15", 0x15 },
	{ "reserved 18", 0x18 },
	{ "reserved 19", 0x19 },
	{ "reserved 1A", 0x1A },
	{ "reserved 1B", 0x1B },
	{ "reserved 1E", 0x1E },
	{ "reserved 1F", 0x1F },
	{ "reserved in a message", 0x1F, OPEN_SEND, .receives = true },
	{ "FLUSH of nothing that exists", OP_FLUSH },
	{ "WRITE not enabled", OP_WRITE_ONLY, .bytes = 8, .dma_length = 8, .access = READ | ATOMIC },
	{ "WRITE FIRST not enabled", OP_WRITE_FIRST, .bytes = 1024, .dma_length = 2000, .access = READ | ATOMIC },
	{ "READ not enabled", OP_READ_REQUEST, .dma_length = 8, .access = WRITE | ATOMIC },
	{ "fetch-and-add not enabled", OP_FETCH_ADD, .access = READ | WRITE },
	{ "compare-and-swap not enabled", OP_COMPARE_SWAP, .access = READ | WRITE },
};

static const struct row lengths[] = {
	{ "SEND FIRST short", OP_SEND_FIRST, .bytes = 1020, .receives = true },
	{ "SEND FIRST empty", OP_SEND_FIRST, .bytes = 0, .receives = true },
	{ "SEND FIRST long", OP_SEND_FIRST, .bytes = 1028, .receives = true },
	{ "SEND FIRST padded", OP_SEND_FIRST, .bytes = 1023, .receives = true },
	{ "SEND FIRST with a pad", OP_SEND_FIRST, .bytes = 1024, .pad = 1, .receives = true },
	{ "SEND MIDDLE with a pad", OP_SEND_MIDDLE, OPEN_SEND, 1024, .pad = 2, .receives = true },
	{ "WRITE FIRST with a pad", OP_WRITE_FIRST, .bytes = 1024, .dma_length = 2000, .pad = 3 },
	{ "WRITE MIDDLE with a pad", OP_WRITE_MIDDLE, OPEN_WRITE, 1024, .pad = 1 },
	{ "SEND MIDDLE short", OP_SEND_MIDDLE, OPEN_SEND, 1020, .receives = true },
	{ "SEND MIDDLE long", OP_SEND_MIDDLE, OPEN_SEND, 1028, .receives = true },
	{ "SEND MIDDLE padded", OP_SEND_MIDDLE, OPEN_SEND, 1022, .receives = true },
	{ "SEND LAST empty", OP_SEND_LAST, OPEN_SEND, 0, .receives = true },
	{ "SEND LAST long", OP_SEND_LAST, OPEN_SEND, 1025, .receives = true },
	{ "SEND ONLY long", OP_SEND_ONLY, .bytes = 1025, .receives = true },
	{ "SEND ONLY with immediate long", OP_SEND_ONLY_IMM, .bytes = 1028, .receives = true },
	{ "WRITE FIRST short", OP_WRITE_FIRST, .bytes = 1020, .dma_length = 2000 },
	{ "WRITE MIDDLE short", OP_WRITE_MIDDLE, OPEN_WRITE, 1020 },
	{ "WRITE LAST empty", OP_WRITE_LAST, OPEN_WRITE, 0 },
	{ "WRITE LAST long", OP_WRITE_LAST, OPEN_WRITE, 1028 },
	{ "WRITE ONLY long", OP_WRITE_ONLY, .bytes = 1028, .dma_length = 1028 },
	{ "READ with payload", OP_READ_REQUEST, .bytes = 4, .dma_length = 8 },
	{ "fetch-and-add with payload", OP_FETCH_ADD, .bytes = 8 },
	{ "compare-and-swap with payload", OP_COMPARE_SWAP, .bytes = 8 },
	{ "pad where none is due", OP_SEND_ONLY, .bytes = 16, .pad = 1, .receives = true },
	{ "pad too small", OP_SEND_ONLY, .bytes = 17, .pad = -1, .receives = true },
	{ "pad on an empty WRITE", OP_WRITE_ONLY, .bytes = 0, .pad = 2 },
};

static const struct row dma_lengths[] = {
	{ "FIRST says less than a packet", OP_WRITE_FIRST, .bytes = 1024, .dma_length = 1000 },
	{ "FIRST says one packet", OP_WRITE_FIRST, .bytes = 1024, .dma_length = 1024 },
	{ "FIRST says nothing", OP_WRITE_FIRST, .bytes = 1024, .dma_length = 0 },
	{ "ONLY carries less", OP_WRITE_ONLY, .bytes = 63, .dma_length = 64 },
	{ "ONLY carries more", OP_WRITE_ONLY, .bytes = 65, .dma_length = 64 },
	{ "ONLY carries nothing", OP_WRITE_ONLY, .bytes = 0, .dma_length = 1 },
	{ "ONLY says nothing", OP_WRITE_ONLY, .bytes = 8, .dma_length = 0 },
	{ "ONLY with immediate carries less", OP_WRITE_ONLY_IMM, .bytes = 60, .dma_length = 64, .receives = true },
	{ "MIDDLE passes it", OP_WRITE_MIDDLE, OPEN_WRITE, 1024 },
	{ "LAST ends early", OP_WRITE_LAST, OPEN_WRITE, 475 },
	{ "LAST ends late", OP_WRITE_LAST, OPEN_WRITE, 477 },
	{ "LAST with immediate ends early", OP_WRITE_LAST_IMM, OPEN_WRITE, 475, .receives = true },
	{ "WRITE of more than 2^31", OP_WRITE_FIRST, .bytes = 1024, .dma_length = 0x80000001 },
	{ "WRITE of all ones", OP_WRITE_FIRST, .bytes = 1024, .dma_length = UINT32_MAX },
	{ "READ of more than 2^31", OP_READ_REQUEST, .dma_length = 0x80000001 },
	{ "READ of all ones", OP_READ_REQUEST, .dma_length = UINT32_MAX },
};

#define RNR "RNR_NAK psn=1 timer=12 msn=1"

static const struct row pairs[] = {
	{ "sequence before key", OP_WRITE_FIRST, OPEN_WRITE, 1024, 2000, .bad_key = true },
	{ "sequence before receive", OP_SEND_MIDDLE, NOTHING, 1024 },
	{ "not enabled before key", OP_WRITE_ONLY, .bytes = 8, .dma_length = 8, .bad_key = true, .access = READ },
	{ "not enabled before receive", OP_WRITE_ONLY_IMM, .bytes = 8, .dma_length = 8, .access = READ },
	{ "READ not enabled before key", OP_READ_REQUEST, .dma_length = 8, .bad_key = true, .access = WRITE },
	{ "length before receive", OP_SEND_FIRST, .bytes = 1020 },
	{ "pad before receive", OP_SEND_ONLY, .bytes = 16, .pad = 3 },
	{ "length before key", OP_WRITE_FIRST, .bytes = 1020, .dma_length = 2000, .bad_key = true },
	{ "payload of a READ before key", OP_READ_REQUEST, .bytes = 4, .dma_length = 8, .bad_key = true },
	{ "alignment before key", OP_FETCH_ADD, .va_offset = 4, .bad_key = true },
	{ "alignment before range", OP_COMPARE_SWAP, .va_offset = PAIR_MEMORY_BYTES + 1 },
	{ "receive before message length", OP_WRITE_ONLY_IMM, .bytes = 8, .dma_length = 9, .leaves = RNR },
	{ "receive before key", OP_WRITE_ONLY_IMM, .bytes = 8, .dma_length = 8, .bad_key = true, .leaves = RNR },
	{ "message length before key", OP_WRITE_ONLY, .bytes = 8, .dma_length = 9, .bad_key = true },
	{ "2^31 before key", OP_READ_REQUEST, .dma_length = 0x80000001, .bad_key = true },
	{ "2^31 before range", OP_WRITE_FIRST, .bytes = 1024, .dma_length = 0x80000001, .va_offset = 64 },
};

/* B after one good packet: a WRITE, or the start of a message. */
static struct pair *open_before(const struct row *row)
{
	struct pair *pair =
		pair_open(&(struct pair_options){ .receives = row->receives ? 3 : 0, .access = row->access });

	switch (row->before) {
	case NOTHING:
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 0, 0, 0, 0));
		break;
	case OPEN_SEND:
		pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
		break;
	case OPEN_WRITE:
		pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 0, 8192, 1500, 1024));
		break;
	}
	if (row->before == NOTHING && row->access != 0 && !(row->access & WRITE)) {
		/* The WRITE was refused: begin with an empty SEND. */
		pair_close(pair);
		pair = pair_open(&(struct pair_options){ .receives = 1, .access = row->access });
		pair_request(pair, send_packet(OP_SEND_ONLY, 0, 0));
	}
	pair_forget(pair);
	pair_fill(pair, B, 0, 0x33, 8192 + 1024);
	return pair;
}

/* Nothing was executed, the QP is dead, and whoever had an entry in use is told by its completion. */
static void check_refused(struct pair *pair, const struct row *row)
{
	uint32_t receives = row->receives ? 3 : 0;
	bool in_use = row->before == OPEN_SEND;

	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_ERR, "%s", row->name);
	cr_assert_eq(pair->side[B].event_count, 1, "%s: %u events", row->name, pair->side[B].event_count);
	expect_done_count(pair, B, receives);
	for (uint32_t i = 0; i < receives; i++) {
		const struct uroce_wc *wc = &pair->side[B].wcs[i];
		uint8_t first = in_use ? UROCE_WC_REM_INV_REQ_ERR : UROCE_WC_WR_FLUSH_ERR;

		cr_assert_eq(wc->wr_id, 1000 + i, "%s", row->name);
		cr_assert(wc->status == (i == 0 ? first : UROCE_WC_WR_FLUSH_ERR) ||
				  (i == 0 && wc->status == UROCE_WC_REM_INV_REQ_ERR &&
				   row->opcode == OP_WRITE_ONLY_IMM) ||
				  (i == 0 && wc->status == UROCE_WC_REM_INV_REQ_ERR &&
				   row->opcode == OP_WRITE_LAST_IMM),
			  "%s: %s", row->name, pair->side[B].done[i]);
		in_use |= i == 0 && wc->status == UROCE_WC_REM_INV_REQ_ERR;
	}
	/* Without a completion to tell why, the event does (V-1). */
	cr_assert_str_eq(pair->side[B].events[0], in_use ? "QP_FATAL" : "QP_REQ_ERR", "%s", row->name);
	cr_assert_eq(pair->side[B].done_at_event[0], receives, "%s: the event overtook the flush", row->name);
}

static void check_row(const struct row *row)
{
	struct pair *pair = open_before(row);
	struct wire_packet packet = write_packet(pair, row->opcode, NEXT, row->va_offset, row->dma_length, row->bytes);
	uint32_t msn = row->before == NOTHING;

	packet.pad_bytes = (uint8_t)(packet.pad_bytes + row->pad);
	packet.rkey ^= row->bad_key ? 0x5500 : 0;
	if (!wire_opcode(row->opcode)->reth && !wire_opcode(row->opcode)->atomic)
		packet.va = 0;
	pair_request(pair, packet);
	cr_assert_eq(pair->side[B].sent_count, 1, "%s: %u packets left", row->name, pair->side[B].sent_count);
	cr_assert_str_eq(pair->side[B].sent[0],
			 row->leaves ? row->leaves : pair_text("NAK_INVALID_REQUEST psn=%u msn=%u", NEXT, msn),
			 "%s: %s", row->name, pair->side[B].sent[0]);
	for (uint32_t i = 0; i < 8192 + 1024; i++)
		cr_assert_eq(pair->side[B].memory[i], 0x33, "%s wrote byte %u", row->name, i);
	if (row->leaves == NULL) {
		check_refused(pair, row);
		expect_counts(pair, B, CNT_RESP_REMOTE_INVALID_REQUEST, 1);
		pair_forget(pair);
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, NEXT, 0, 8, 8));
		pair_request(pair, send_packet(OP_SEND_ONLY, NEXT - 1, 8));
		expect_leaves(pair, B);
		expect_completes(pair, B);
	}
	pair_close(pair);
}

#define CHECK_ROWS(rows)                                                      \
	do {                                                                  \
		for (size_t i = 0; i < sizeof(rows) / sizeof((rows)[0]); i++) \
			check_row(&(rows)[i]);                                \
	} while (0)

/* TC-C-1 */
Test(invalid, packet_outside_its_message_is_refused)
{
	RULE("S-3");
	RULE("K-INV");
	RULE("K-RESP");
	CHECK_ROWS(sequences);
}

/* TC-A-10, TC-D-5 */
Test(invalid, reserved_unsupported_or_disabled_opcode_is_refused)
{
	RULE("K-INV");
	RULE("K-RESP");
	CHECK_ROWS(opcodes);
}

/* TC-A-6, TC-A-7 */
Test(invalid, a_wrong_payload_length_or_pad_is_refused)
{
	RULE("W-6");
	RULE("K-INV");
	CHECK_ROWS(lengths);
}

/* TC-D-3, TC-D-4 */
Test(invalid, write_exceeding_its_length_is_refused_at_that_packet)
{
	RULE("S-5");
	RULE("K-INV");
	CHECK_ROWS(dma_lengths);
}

Test(invalid, of_two_faults_the_first_in_the_order_of_judgement_decides)
{
	RULE("S-1");
	RULE("R-1");
	CHECK_ROWS(pairs);
}

/* TC-C-2 */
Test(invalid, send_longer_than_its_receive_completes_with_length_error)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-6");
	RULE("K-RESP");
	RULE("V-1");
	pair_fill(pair, B, 0, 0x44, 4096);
	pair_recv(pair, B, 1, 0, 32);
	pair_recv(pair, B, 2, 0, 64);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 33));
	expect_leaves(pair, B, "NAK_INVALID_REQUEST psn=0 msn=0");
	expect_completes(pair, B, "wr=1 RECV LOC_LEN_ERR", "wr=2 RECV WR_FLUSH_ERR");
	expect_events(pair, B, "QP_FATAL");
	for (uint32_t i = 32; i < 4096; i++)
		cr_assert_eq(pair->side[B].memory[i], 0x44, "byte %u", i);
	expect_counts(pair, B, CNT_RESP_LOCAL_LENGTH_ERROR, 1);
	expect_counts(pair, B, CNT_RESP_CQE_ERROR, 1);
	expect_counts(pair, B, CNT_RESP_CQE_FLUSH_ERROR, 1);
	pair_close(pair);
}

Test(invalid, a_send_is_found_too_long_at_the_packet_that_does_not_fit)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-6");
	pair_fill(pair, B, 0, 0x44, 4096);
	pair_recv(pair, B, 1, 0, 2047);
	pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
	pair_request(pair, send_packet(OP_SEND_MIDDLE, 1, 1024));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=0", "NAK_INVALID_REQUEST psn=1 msn=0");
	expect_completes(pair, B, "wr=1 RECV LOC_LEN_ERR");
	cr_assert_eq(pair->side[B].memory[2047], 0x44);
	pair_close(pair);
}

/* TC-B-15 */
Test(invalid, read_beyond_the_depth_is_refused_after_earlier_answers)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 2 });

	RULE("S-12");
	RULE("K-0");
	pair_set_word(pair, B, 8, 9);
	pair_inject(pair, B, read_packet(pair, 0, 0, 1500));
	pair_inject(pair, B, fetch_add_packet(pair, 2, 8, 1));
	pair_inject(pair, B, fetch_add_packet(pair, 3, 8, 1));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=0 credit=31 msn=1 bytes=1024",
		      "READ_RESPONSE_LAST psn=1 credit=31 msn=1 bytes=476",
		      "ATOMIC_ACKNOWLEDGE psn=2 credit=31 msn=2 original=0x9", "NAK_INVALID_REQUEST psn=3 msn=2");
	cr_assert_eq(pair_word(pair, B, 8), 10);
	expect_events(pair, B, "QP_REQ_ERR");
	pair_close(pair);
}

/* What has been answered counts no longer; and depth is judged before the key. */
Test(invalid, an_answered_read_makes_room_for_the_next)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 1 });
	struct wire_packet bad = read_packet(pair, 5, 0, 8);

	RULE("S-12");
	RULE("S-1");
	for (uint32_t psn = 0; psn < 4; psn++)
		pair_request(pair, read_packet(pair, psn, 0, 8));
	expect_sent_count(pair, B, 4);
	pair_forget(pair);
	pair_inject(pair, B, read_packet(pair, 4, 0, 8));
	bad.rkey ^= 0x100;
	pair_inject(pair, B, bad);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=4 credit=31 msn=5 bytes=8", "NAK_INVALID_REQUEST psn=5 msn=5");
	pair_close(pair);
}

Test(invalid, with_depth_zero_reads_and_atomics_are_unsupported)
{
	RULE("S-12");
	for (int atomic = 0; atomic < 2; atomic++) {
		struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 255 });

		pair_request(pair, atomic ? fetch_add_packet(pair, 0, 0, 1) : read_packet(pair, 0, 0, 8));
		expect_leaves(pair, B, "NAK_INVALID_REQUEST psn=0 msn=0");
		expect_events(pair, B, "QP_REQ_ERR");
		pair_close(pair);
	}
}

/* Its length is judged before an entry is taken (S-1): at the first packet none is in use, later one is (K-RESP). */
Test(invalid, send_of_a_wrong_length_fails_only_a_taken_receive)
{
	RULE("S-1");
	RULE("K-RESP");
	for (int later = 0; later < 2; later++) {
		struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });

		if (later)
			pair_request(pair, send_packet(OP_SEND_FIRST, 0, 1024));
		pair_request(pair, send_packet(later ? OP_SEND_MIDDLE : OP_SEND_FIRST, (uint32_t)later, 1000));
		expect_completes(pair, B, later ? "wr=1000 RECV REM_INV_REQ_ERR" : "wr=1000 RECV WR_FLUSH_ERR",
				 "wr=1001 RECV WR_FLUSH_ERR");
		expect_events(pair, B, later ? "QP_FATAL" : "QP_REQ_ERR");
		pair_close(pair);
	}
}
