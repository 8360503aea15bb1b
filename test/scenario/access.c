/* access.c - keys, ranges and rights: what a peer may touch, and that it touches nothing else */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * B has a small region inside a guarded area; every request is made up. TC-D-1 to D-9.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

#define AT 8192u /* where the region lies in B's memory */
#define BYTES 4096u
#define GUARD 0x66
#define EVERYTHING \
	(UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC)

enum key { GOOD, UNKNOWN, ZERO, WRONG_TAG, FOREIGN, REMOVED };

struct row {
	const char *name;
	uint8_t opcode;
	int64_t offset; /* from the region's start */
	uint32_t length;
	enum key key;
	uint32_t access; /* of the region; 0: everything */
	bool accepted;
};

static const struct row rows[] = {
	{ "WRITE of the whole", OP_WRITE_FIRST, 0, BYTES, .accepted = true },
	{ "READ of the whole", OP_READ_REQUEST, 0, BYTES, .accepted = true },
	{ "WRITE one byte before", OP_WRITE_ONLY, -1, 1 },
	{ "WRITE from before into it", OP_WRITE_ONLY, -1, 2 },
	{ "WRITE one byte after", OP_WRITE_ONLY, BYTES, 1 },
	{ "WRITE over the end", OP_WRITE_ONLY, BYTES - 1, 2 },
	{ "WRITE of the last byte", OP_WRITE_ONLY, BYTES - 1, 1, .accepted = true },
	{ "WRITE of one byte too many", OP_WRITE_FIRST, 0, BYTES + 1 },
	{ "WRITE of 2^31", OP_WRITE_FIRST, 0, 0x80000000 },
	{ "READ one byte before", OP_READ_REQUEST, -1, 1 },
	{ "READ one byte after", OP_READ_REQUEST, BYTES, 1 },
	{ "READ over the end", OP_READ_REQUEST, BYTES - 1, 2 },
	{ "READ of 2^31", OP_READ_REQUEST, 0, 0x80000000 },
	{ "WRITE of nothing at the end", OP_WRITE_ONLY, BYTES, 0, .accepted = true },
	{ "WRITE of nothing under no key", OP_WRITE_ONLY, 0, 0, UNKNOWN, .accepted = true },
	{ "WRITE of nothing far away under no key", OP_WRITE_ONLY, 1 << 30, 0, ZERO, .accepted = true },
	{ "READ of nothing under no key", OP_READ_REQUEST, 0, 0, UNKNOWN, .accepted = true },
	{ "WRITE under an unknown key", OP_WRITE_ONLY, 0, 8, UNKNOWN },
	{ "WRITE under key 0", OP_WRITE_ONLY, 0, 8, ZERO },
	{ "WRITE under another tag", OP_WRITE_ONLY, 0, 8, WRONG_TAG },
	{ "WRITE under a removed key", OP_WRITE_ONLY, 0, 8, REMOVED },
	{ "WRITE under a key of another domain", OP_WRITE_ONLY, 0, 8, FOREIGN },
	{ "READ under an unknown key", OP_READ_REQUEST, 0, 8, UNKNOWN },
	{ "READ under a removed key", OP_READ_REQUEST, 0, 8, REMOVED },
	{ "READ under a key of another domain", OP_READ_REQUEST, 0, 8, FOREIGN },
	{ "atomic under an unknown key", OP_FETCH_ADD, 0, 0, UNKNOWN },
	{ "atomic under a key of another domain", OP_COMPARE_SWAP, 0, 0, FOREIGN },
	{ "WRITE without the right", OP_WRITE_ONLY, 0, 8, .access = EVERYTHING & ~(uint32_t)UROCE_ACCESS_REMOTE_WRITE },
	{ "READ without the right", OP_READ_REQUEST, 0, 8, .access = EVERYTHING & ~(uint32_t)UROCE_ACCESS_REMOTE_READ },
	{ "atomic without the right", OP_FETCH_ADD, 0, 0,
	  .access = EVERYTHING & ~(uint32_t)UROCE_ACCESS_REMOTE_ATOMIC },
	{ "compare-and-swap without the right", OP_COMPARE_SWAP, 0, 0,
	  .access = EVERYTHING & ~(uint32_t)UROCE_ACCESS_REMOTE_ATOMIC },
	{ "WRITE with that right alone", OP_WRITE_ONLY, 0, 8,
	  .access = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE, .accepted = true },
	{ "READ with that right alone", OP_READ_REQUEST, 0, 8, .access = UROCE_ACCESS_REMOTE_READ, .accepted = true },
	{ "atomic with that right alone", OP_FETCH_ADD, 0, 0,
	  .access = UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_ATOMIC, .accepted = true },
	{ "atomic in the last 8 bytes", OP_FETCH_ADD, BYTES - 8, 0, .accepted = true },
	{ "compare-and-swap in the last 8 bytes", OP_COMPARE_SWAP, BYTES - 8, 0, .accepted = true },
	{ "atomic after the end", OP_FETCH_ADD, BYTES, 0 },
	{ "compare-and-swap before the start", OP_COMPARE_SWAP, -8, 0 },
};

static uint32_t key_of(struct pair *pair, const struct row *row)
{
	uint32_t key =
		pair_region(pair, B, row->key == FOREIGN ? 2 : 1, AT, BYTES, row->access ? row->access : EVERYTHING);

	switch (row->key) {
	case GOOD:
	case FOREIGN:
		break;
	case UNKNOWN:
		return key ^ 0xABCD00;
	case ZERO:
		return 0;
	case WRONG_TAG:
		return key ^ 1;
	case REMOVED:
		cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, key), 0);
		break;
	}
	return key;
}

static void check_refused(struct pair *pair, const char *name)
{
	cr_assert_str_eq(pair->side[B].sent[0], "NAK_REMOTE_ACCESS psn=0 msn=0", "%s: %s", name, pair->side[B].sent[0]);
	cr_assert_eq(pair->side[B].sent_count, 1, "%s", name);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_ERR, "%s", name);
	expect_counts(pair, B, CNT_RESP_REMOTE_ACCESS_ERRORS, 1);
	expect_events(pair, B, "QP_ACCESS_ERR");
	for (uint32_t i = 0; i < 4 * BYTES; i++)
		cr_assert_eq(pair->side[B].memory[AT - BYTES + i], GUARD, "%s touched byte %u", name, i);
}

static void check_row(const struct row *row)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet packet = write_packet(pair, row->opcode, 0, (uint64_t)(AT + row->offset), row->length, 0);

	if (wire_opcode(row->opcode)->payload) {
		packet.payload_bytes = row->opcode == OP_WRITE_FIRST ? 1024 : row->length;
		packet.pad_bytes = packet_pad_bytes(packet.payload_bytes);
	}
	packet.rkey = key_of(pair, row);
	pair_fill(pair, B, AT - BYTES, GUARD, 4 * BYTES);
	pair_request(pair, packet);
	if (row->accepted) {
		cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS, "%s", row->name);
		cr_assert_geq(pair->side[B].sent_count, 1, "%s", row->name);
		cr_assert_eq(strncmp(pair->side[B].sent[0], "NAK", 3) == 0, false, "%s", row->name);
	} else {
		check_refused(pair, row->name);
	}
	pair_close(pair);
}

/* TC-C-10, TC-D-2, TC-D-5, TC-D-6, TC-D-8, TC-D-9 */
Test(access, access_is_limited_to_the_range_of_the_key)
{
	RULE("S-4");
	RULE("K-ACC");
	RULE("K-RESP");
	RULE("M-1");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_row(&rows[i]);
}

/* TC-D-1: a sum that wraps. */
Test(access, wrapping_address_is_refused)
{
	static const struct {
		uint8_t opcode;
		uint64_t va;
		uint32_t length;
	} wraps[] = {
		{ OP_WRITE_ONLY, UINT64_MAX, 2 },
		{ OP_WRITE_ONLY, UINT64_MAX, 1 },
		{ OP_READ_REQUEST, UINT64_MAX, 2 },
		{ OP_READ_REQUEST, UINT64_MAX - 4094, 4096 },
		{ OP_WRITE_FIRST, UINT64_MAX - 10, 0x80000000 },
		{ OP_FETCH_ADD, UINT64_MAX - 7, 0 },
	};

	RULE("S-4");
	for (int zero_based = 0; zero_based < 2; zero_based++) {
		for (size_t i = 0; i < sizeof(wraps) / sizeof(wraps[0]); i++) {
			struct pair *pair = pair_open(&(struct pair_options){ 0 });
			uint32_t bytes = wraps[i].opcode == OP_WRITE_FIRST ? 1024 :
					 wraps[i].opcode == OP_WRITE_ONLY  ? wraps[i].length :
									     0;
			struct wire_packet packet = write_packet(pair, wraps[i].opcode, 0, 0, wraps[i].length, bytes);

			packet.va = wraps[i].va;
			packet.rkey = pair_region(pair, B, 1, AT, BYTES,
						  EVERYTHING | (zero_based ? UROCE_ACCESS_ZERO_BASED : 0u));
			pair_fill(pair, B, AT - BYTES, GUARD, 4 * BYTES);
			pair_request(pair, packet);
			check_refused(pair, pair_text("wrap %zu", i));
			pair_close(pair);
		}
	}
}

Test(access, a_zero_based_region_is_addressed_from_zero)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet packet = write_packet(pair, OP_WRITE_ONLY, 0, 0, 16, 16);

	RULE("M-1");
	packet.rkey = pair_region(pair, B, 1, AT, BYTES, EVERYTHING | UROCE_ACCESS_ZERO_BASED);
	pair_fill(pair, B, AT - BYTES, GUARD, 4 * BYTES);
	packet.va = BYTES - 16;
	pair_request(pair, packet);
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	cr_assert_eq(pair->side[B].memory[AT + BYTES - 17], GUARD);
	cr_assert_eq(pair->side[B].memory[AT + BYTES - 16], PACKETS_DATA);
	cr_assert_eq(pair->side[B].memory[AT + BYTES - 1], PACKETS_DATA);
	cr_assert_eq(pair->side[B].memory[AT + BYTES], GUARD);
	packet.psn = 1;
	packet.va = BYTES - 15;
	pair_request(pair, packet);
	expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=1 msn=1");
	pair_close(pair);
}

/* TC-D-7: gone in mid-message. */
Test(access, write_is_refused_at_the_packet_after_deregistration)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t key = pair_region(pair, B, 1, AT, BYTES, EVERYTHING);
	struct wire_packet first = write_packet(pair, OP_WRITE_FIRST, 0, AT, 3000, 1024);

	RULE("S-4");
	RULE("M-2");
	RULE("K-ACC");
	first.rkey = key;
	pair_fill(pair, B, AT, GUARD, BYTES);
	pair_request(pair, first);
	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, key), 0);
	pair_request(pair, write_packet(pair, OP_WRITE_MIDDLE, 1, 0, 0, 1024));
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=0", "NAK_REMOTE_ACCESS psn=1 msn=0");
	cr_assert_eq(pair->side[B].memory[AT + 1023], PACKETS_DATA);
	cr_assert_eq(pair->side[B].memory[AT + 1024], GUARD);
	expect_events(pair, B, "QP_ACCESS_ERR");
	pair_close(pair);
}

/* The PSN is that of the first response that is not sent (K-ACC), and no data goes with it (K-0). */
Test(access, read_is_refused_at_the_first_unsent_response)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });
	uint32_t key = pair_region(pair, B, 1, AT, BYTES, EVERYTHING);
	struct wire_packet read = read_packet(pair, 0, AT, 4000);

	RULE("K-ACC");
	RULE("K-0");
	read.rkey = key;
	pair_inject(pair, B, read);
	pair_inject(pair, B, fetch_add_packet(pair, 4, 0, 1)); /* executed already, but its answer may not leave now */
	cr_assert(pair_transmit_some(pair, B, 2));
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=0 credit=31 msn=1 bytes=1024",
		      "READ_RESPONSE_MIDDLE psn=1 bytes=1024");
	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, key), 0);
	pair_transmit(pair, B);
	cr_assert(strncmp(pair->side[B].sent[0], "NAK_REMOTE_ACCESS psn=2 ", 24) == 0, "%s", pair->side[B].sent[0]);
	expect_sent_count(pair, B, 1);
	expect_completes(pair, B, "wr=1000 RECV WR_FLUSH_ERR");
	expect_events(pair, B, "QP_ACCESS_ERR");
	pair_close(pair);
}

/* A repeated READ: responses that have left once count as sent, because the peer may be past them (K-ACC). */
Test(access, restarted_read_is_refused_at_the_first_unsent_response)
{
	RULE("K-ACC");
	RULE("S-9");
	for (uint32_t again = 0; again < 3; again++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint32_t key = pair_region(pair, B, 1, AT, BYTES, EVERYTHING);
		struct wire_packet read = read_packet(pair, 0, AT, 4000);
		struct wire_packet rest = read_packet(pair, again, AT + again * 1024, 4000 - again * 1024);

		read.rkey = rest.rkey = key;
		pair_inject(pair, B, read);
		pair_transmit_some(pair, B, 2);
		pair_inject(pair, B, rest);
		pair_forget(pair);
		cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, key), 0);
		pair_transmit(pair, B);
		expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=2 msn=1");
		pair_close(pair);
	}
}

/* TC-D-7: earlier requests are answered first, though all came in one burst. */
Test(access, refusal_follows_answers_to_earlier_requests)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });
	struct wire_packet bad = write_packet(pair, OP_WRITE_ONLY, 4, 0, 8, 8);

	RULE("K-0");
	RULE("S-14");
	bad.rkey ^= 0x100;
	pair_set_word(pair, B, 0, 3);
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 8));
	pair_inject(pair, B, read_packet(pair, 1, 0, 1025));
	pair_inject(pair, B, fetch_add_packet(pair, 3, 0, 1));
	pair_inject(pair, B, bad);
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 5, 8));
	while (pair_transmit_some(pair, B, 1))
		;
	pair_transmit(pair, B);
	if (strncmp(pair->side[B].sent[0], "ACK ", 4) == 0)
		expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1",
			      "READ_RESPONSE_FIRST psn=1 credit=31 msn=2 bytes=1024",
			      "READ_RESPONSE_LAST psn=2 credit=31 msn=2 bytes=1",
			      "ATOMIC_ACKNOWLEDGE psn=3 credit=31 msn=3 original=0x3", "NAK_REMOTE_ACCESS psn=4 msn=3");
	else
		expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=1 credit=31 msn=2 bytes=1024",
			      "READ_RESPONSE_LAST psn=2 credit=31 msn=2 bytes=1",
			      "ATOMIC_ACKNOWLEDGE psn=3 credit=31 msn=3 original=0x3", "NAK_REMOTE_ACCESS psn=4 msn=3");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=8", "wr=1001 RECV WR_FLUSH_ERR");
	expect_events(pair, B, "QP_ACCESS_ERR");
	pair_close(pair);
}

/* The entry that the WRITE would have used tells of it, and the event is the general one. */
Test(access, write_with_immediate_and_bad_key_completes_its_receive)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });
	struct wire_packet bad = write_packet(pair, OP_WRITE_ONLY_IMM, 0, 0, 8, 8);

	RULE("K-RESP");
	RULE("V-1");
	bad.rkey ^= 0x100;
	pair_request(pair, bad);
	expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=0 msn=0");
	expect_completes(pair, B, "wr=1000 RECV REM_ACCESS_ERR", "wr=1001 RECV WR_FLUSH_ERR");
	expect_events(pair, B, "QP_FATAL");
	pair_close(pair);
}

/* A fatal request follows the READ, then the READ's key is removed: one failure, one event, and the READ's NAK. */
Test(access, refused_read_overrides_a_later_failure)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet read = read_packet(pair, 0, AT, 3000);
	struct uroce_qp_error error;

	RULE("K-0");
	RULE("V-1");
	RULE("E-4");
	read.rkey = pair_region(pair, B, 1, AT, BYTES, EVERYTHING);
	pair_inject(pair, B, read);
	pair_inject(pair, B, send_packet(OP_SEND_LAST, 3, 8));
	pair_transmit_some(pair, B, 1);
	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, read.rkey), 0);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=0 credit=31 msn=1 bytes=1024", "NAK_REMOTE_ACCESS psn=1 msn=1");
	expect_events(pair, B, "QP_REQ_ERR");
	rc_qp_last_error(pair->side[B].qp, &error);
	cr_assert_eq(error.cause, UROCE_CAUSE_INVALID_REQUEST);
	pair_close(pair);
}

/* A duplicate's ACK is owed after a READ whose key is removed: the NAK covers both. */
Test(access, refusal_replaces_a_repeated_ack)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });
	uint32_t key = pair_region(pair, B, 1, AT, BYTES, EVERYTHING);
	struct wire_packet read = read_packet(pair, 1, AT, 4000);

	RULE("K-0");
	RULE("S-14");
	read.rkey = key;
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8));
	pair_inject(pair, B, read);
	pair_transmit_some(pair, B, 1);
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 8));
	pair_forget(pair);
	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, key), 0);
	pair_transmit(pair, B);
	expect_sent_count(pair, B, 1);
	cr_assert(strncmp(pair->side[B].sent[0], "NAK_REMOTE_ACCESS psn=2 ", 24) == 0, "%s", pair->side[B].sent[0]);
	pair_close(pair);
}

/* The slot of a removed region holds key 0 with its old fields: a request with key 0 must not reach it. */
Test(access, key_zero_is_refused_even_in_a_used_slot)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct side *target = &pair->side[B];
	struct uroce_sge sge = { (uintptr_t)pair->side[A].memory, 8, pair->side[A].key };
	struct uroce_send_wr wr = {
		.wr_id = 1,
		.opcode = UROCE_WR_RDMA_WRITE,
		.send_flags = UROCE_SEND_SIGNALED,
		.sg_list = &sge,
		.num_sge = 1,
		.remote_addr = (uintptr_t)target->memory,
	};

	RULE("S-4");
	cr_assert_eq(rc_mr_slot(&target->mrs, target->key), &target->entries[0]);
	cr_assert_eq(rc_mr_remove(&target->mrs, target->key), 0);
	memset(pair->side[A].memory, 0x11, 8);
	memset(target->memory, 0x22, 8);
	cr_assert_eq(rc_qp_post_send(pair->side[A].qp, &wr), 0);
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE REM_ACCESS_ERR");
	cr_assert_eq(target->memory[0], 0x22);
	pair_close(pair);
}
