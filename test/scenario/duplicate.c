/* duplicate.c - requests that arrive again: acknowledged, read again, or answered from the replay cache */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An answer was lost, or the peer was too impatient: B has executed the request already. TC-B-6 to B-17.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rule.h"

/* TC-B-6 */
Test(duplicate, duplicate_send_takes_no_receive_and_is_acked_with_the_newest)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 4 });

	RULE("S-8");
	for (uint32_t psn = 0; psn < 3; psn++)
		pair_inject(pair, B, send_packet(OP_SEND_ONLY, psn, 16 + psn));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=2 credit=31 msn=3");
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 16));
	expect_leaves(pair, B, "ACK psn=2 credit=31 msn=3");
	pair_request(pair, send_packet(OP_SEND_ONLY, 2, 16));
	expect_leaves(pair, B, "ACK psn=2 credit=31 msn=3");
	pair_request(pair, send_packet(OP_SEND_ONLY, 3, 5));
	expect_leaves(pair, B, "ACK psn=3 credit=31 msn=4");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=16", "wr=1001 RECV SUCCESS len=17",
			 "wr=1002 RECV SUCCESS len=18", "wr=1003 RECV SUCCESS len=5");
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 2);
	pair_close(pair);
}

/* TC-B-6, TC-B-8: with other bytes or another address, and with a key that never was. */
Test(duplicate, duplicate_write_touches_no_memory_and_checks_no_key)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet again;

	RULE("S-8");
	RULE("K-RULE");
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 0, 0, 64, 64));
	pair_fill(pair, B, 0, 0x22, 4096);
	again = write_packet(pair, OP_WRITE_ONLY, 0, 1024, 64, 64);
	pair_request(pair, again);
	again.rkey ^= 0x100;
	pair_request(pair, again);
	again.rkey = 0;
	again.va = UINT64_MAX;
	pair_request(pair, again);
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1", "ACK psn=0 credit=31 msn=1", "ACK psn=0 credit=31 msn=1",
		      "ACK psn=0 credit=31 msn=1");
	for (uint32_t i = 0; i < 4096; i++)
		cr_assert_eq(pair->side[B].memory[i], 0x22, "byte %u", i);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	pair_close(pair);
}

/* A plain ACK at or after a READ or atomic would say that its response was lost. */
Test(duplicate, the_repeated_acknowledge_stops_before_a_later_read_or_atomic)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 8, .psn_a = 0xFFFFFE });

	RULE("S-8");
	pair_request(pair, send_packet(OP_SEND_ONLY, 0xFFFFFE, 1));
	pair_request(pair, send_packet(OP_SEND_ONLY, 0xFFFFFF, 1));
	pair_request(pair, read_packet(pair, 0, 0, 2048));
	pair_request(pair, send_packet(OP_SEND_ONLY, 2, 1));
	pair_request(pair, fetch_add_packet(pair, 3, 8, 1));
	pair_request(pair, send_packet(OP_SEND_ONLY, 4, 1));
	pair_forget(pair);
	pair_request(pair, send_packet(OP_SEND_ONLY, 0xFFFFFE, 1));
	cr_assert(strncmp(pair->side[B].sent[0], "ACK psn=16777215 ", 17) == 0, "%s", pair->side[B].sent[0]);
	pair_request(pair, send_packet(OP_SEND_ONLY, 2, 1));
	cr_assert(strncmp(pair->side[B].sent[1], "ACK psn=2 ", 10) == 0, "%s", pair->side[B].sent[1]);
	pair_request(pair, send_packet(OP_SEND_ONLY, 4, 1));
	cr_assert(strncmp(pair->side[B].sent[2], "ACK psn=4 ", 10) == 0, "%s", pair->side[B].sent[2]);
	expect_sent_count(pair, B, 3);
	pair_forget(pair);
	/* Both in one burst, the later one first: the ACK that says more is the one that leaves. */
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 4, 1));
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0xFFFFFE, 1));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=4 credit=31 msn=6");
	pair_close(pair);
}

Test(duplicate, repeated_ack_waits_for_earlier_responses)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });

	RULE("S-8");
	RULE("S-14");
	RULE("S-15");
	pair_inject(pair, B, read_packet(pair, 0, 0, 4000));
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 4, 1));
	cr_assert(pair_transmit_some(pair, B, 2));
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=0 credit=31 msn=1 bytes=1024",
		      "READ_RESPONSE_MIDDLE psn=1 bytes=1024");
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 4, 1));
	cr_assert(pair_transmit_some(pair, B, 0), "a full ring forgot what was to be sent");
	expect_leaves(pair, B);
	cr_assert(pair_transmit_some(pair, B, 2));
	expect_leaves(pair, B, "READ_RESPONSE_MIDDLE psn=2 bytes=1024",
		      "READ_RESPONSE_LAST psn=3 credit=31 msn=1 bytes=928");
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=4 credit=31 msn=2");
	pair_close(pair);
}

/* TC-B-11, TC-B-9: the part from each packet on, and shorter than it was. */
Test(duplicate, duplicate_read_is_answered_from_any_of_its_packets)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-9");
	RULE("S-11");
	pair_request(pair, read_packet(pair, 0, 100, 3000));
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 3, 0, 8, 8));
	pair_forget(pair);
	pair_request(pair, read_packet(pair, 0, 100, 3000));
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=0 credit=31 msn=1 bytes=1024",
		      "READ_RESPONSE_MIDDLE psn=1 bytes=1024", "READ_RESPONSE_LAST psn=2 credit=31 msn=1 bytes=952");
	pair_request(pair, read_packet(pair, 1, 1124, 1976));
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=1 credit=31 msn=1 bytes=1024",
		      "READ_RESPONSE_LAST psn=2 credit=31 msn=1 bytes=952");
	pair_request(pair, read_packet(pair, 2, 2148, 952));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=2 credit=31 msn=1 bytes=952");
	pair_request(pair, read_packet(pair, 1, 1124, 1024));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=1 credit=31 msn=1 bytes=1024");
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 4);
	expect_counts(pair, B, CNT_RX_READ_REQUESTS, 1);
	/* Nothing of this moved the expected PSN or the message number. */
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 4, 0, 8, 8));
	expect_leaves(pair, B, "ACK psn=4 credit=31 msn=3");
	pair_close(pair);
}

Test(duplicate, duplicate_read_returns_current_memory)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint8_t *bytes;

	RULE("S-9");
	pair_fill(pair, B, 0, 0x01, 16);
	pair_request(pair, read_packet(pair, 0, 0, 16));
	pair_fill(pair, B, 0, 0x02, 16);
	pair_request(pair, read_packet(pair, 0, 0, 16));
	cr_assert_eq(pair->side[B].wire_tail, 2);
	bytes = pair->side[B].wire[0].bytes;
	cr_assert_eq(bytes[WIRE_BTH_BYTES + 4], 0x01);
	bytes = pair->side[B].wire[1].bytes;
	cr_assert_eq(bytes[WIRE_BTH_BYTES + 4], 0x02);
	pair_close(pair);
}

/* TC-B-9 */
Test(duplicate, duplicate_read_that_differs_is_dropped)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet other;

	RULE("S-9");
	RULE("K-RULE");
	pair_request(pair, read_packet(pair, 0, 0, 3000));
	expect_sent_count(pair, B, 3);
	pair_forget(pair);
	pair_request(pair, read_packet(pair, 0, 8, 3000));    /* another address */
	pair_request(pair, read_packet(pair, 1, 0, 1976));    /* the address of packet 0 */
	pair_request(pair, read_packet(pair, 1, 1023, 1000)); /* not at a packet's start */
	pair_request(pair, read_packet(pair, 0, 0, 3001));    /* past the end */
	pair_request(pair, read_packet(pair, 2, 2048, 953));
	pair_request(pair, read_packet(pair, 1, 1024, 0xFFFFFFFF));
	other = read_packet(pair, 0, 0, 3000);
	other.rkey = pair_region(pair, B, 1, 0, 4096, UROCE_ACCESS_REMOTE_READ);
	pair_request(pair, other);
	expect_leaves(pair, B);
	expect_counts(pair, B, CNT_REPLAY_MISMATCH, 7);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	pair_request(pair, read_packet(pair, 0, 0, 3000));
	expect_sent_count(pair, B, 3);
	pair_close(pair);
}

/* TC-B-10 */
Test(duplicate, duplicate_read_aborts_the_running_response_stream)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-9");
	pair_inject(pair, B, read_packet(pair, 0, 0, 5 * 1024));
	cr_assert(pair_transmit_some(pair, B, 3));
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=0 credit=31 msn=1 bytes=1024",
		      "READ_RESPONSE_MIDDLE psn=1 bytes=1024", "READ_RESPONSE_MIDDLE psn=2 bytes=1024");
	pair_request(pair, read_packet(pair, 1, 1024, 4 * 1024));
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=1 credit=31 msn=1 bytes=1024",
		      "READ_RESPONSE_MIDDLE psn=2 bytes=1024", "READ_RESPONSE_MIDDLE psn=3 bytes=1024",
		      "READ_RESPONSE_LAST psn=4 credit=31 msn=1 bytes=1024");
	pair_close(pair);
}

/* TC-B-17: no NAK for a failure while serving a duplicate. */
Test(duplicate, duplicate_read_with_a_deregistered_key_is_dropped)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t key = pair_region(pair, B, 1, 0, 4096, UROCE_ACCESS_REMOTE_READ);
	struct wire_packet read = read_packet(pair, 0, 0, 3000);

	RULE("S-9");
	RULE("K-RULE");
	RULE("M-2");
	read.rkey = key;
	pair_request(pair, read);
	expect_sent_count(pair, B, 3);
	pair_forget(pair);
	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, key), 0);
	pair_request(pair, read);
	expect_leaves(pair, B);
	expect_counts(pair, B, CNT_REPLAY_KEY, 1);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 3, 0, 4, 4));
	expect_leaves(pair, B, "ACK psn=3 credit=31 msn=2");
	pair_close(pair);
}

/* The key is removed during a duplicate READ: its responses stop, and later requests are answered. */
Test(duplicate, key_removed_during_a_duplicate_read_draws_no_nak)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint32_t key = pair_region(pair, B, 1, 0, 4096, UROCE_ACCESS_REMOTE_READ);
	struct wire_packet read = read_packet(pair, 0, 0, 3000);

	RULE("S-9");
	RULE("K-RULE");
	read.rkey = key;
	pair_request(pair, read);
	pair_forget(pair);
	pair_inject(pair, B, read);
	pair_transmit_some(pair, B, 1);
	expect_leaves(pair, B, "READ_RESPONSE_FIRST psn=0 credit=31 msn=1 bytes=1024");
	cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, key), 0);
	pair_transmit(pair, B);
	expect_leaves(pair, B);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 3, 0, 4, 4));
	expect_leaves(pair, B, "ACK psn=3 credit=31 msn=2");
	pair_close(pair);
}

/* TC-B-13, TC-B-14 */
Test(duplicate, duplicate_atomic_is_replayed_and_not_executed)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-10");
	pair_set_word(pair, B, 64, 100);
	pair_request(pair, fetch_add_packet(pair, 0, 64, 5));
	pair_request(pair, compare_swap_packet(pair, 1, 64, 105, 7));
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=0 credit=31 msn=1 original=0x64",
		      "ATOMIC_ACKNOWLEDGE psn=1 credit=31 msn=2 original=0x69");
	pair_set_word(pair, B, 64, 105);
	pair_request(pair, fetch_add_packet(pair, 0, 64, 5));
	pair_request(pair, compare_swap_packet(pair, 1, 64, 105, 7));
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=0 credit=31 msn=1 original=0x64",
		      "ATOMIC_ACKNOWLEDGE psn=1 credit=31 msn=2 original=0x69");
	cr_assert_eq(pair_word(pair, B, 64), 105);
	expect_counts(pair, B, CNT_RX_ATOMIC_REQUESTS, 2);
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 2);
	pair_close(pair);
}

/* TC-B-14 */
Test(duplicate, duplicate_atomic_that_differs_is_dropped)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet other;

	RULE("S-10");
	pair_set_word(pair, B, 64, 1);
	pair_set_word(pair, B, 72, 1);
	pair_request(pair, compare_swap_packet(pair, 0, 64, 1, 2));
	pair_forget(pair);
	pair_request(pair, compare_swap_packet(pair, 0, 64, 2, 2));
	pair_request(pair, compare_swap_packet(pair, 0, 64, 1, 3));
	pair_request(pair, compare_swap_packet(pair, 0, 72, 1, 2));
	other = compare_swap_packet(pair, 0, 64, 1, 2);
	other.opcode = OP_FETCH_ADD;
	pair_request(pair, other);
	other = compare_swap_packet(pair, 0, 64, 1, 2);
	other.rkey = pair_region(pair, B, 1, 0, 4096, UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_ATOMIC);
	pair_request(pair, other);
	pair_request(pair, read_packet(pair, 0, 64, 8));
	pair_request(pair, read_packet(pair, 0, 64, 0));
	expect_leaves(pair, B);
	expect_counts(pair, B, CNT_REPLAY_MISMATCH, 7);
	cr_assert_eq(pair_word(pair, B, 64), 2);
	cr_assert_eq(pair_word(pair, B, 72), 1);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	pair_close(pair);
}

/* Only a READ may come again from within: an atomic at such a PSN was never accepted, nor a READ behind the last. */
Test(duplicate, request_inside_no_earlier_read_is_a_replay_miss)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-10");
	RULE("S-11");
	pair_request(pair, read_packet(pair, 0, 0, 3000));
	pair_forget(pair);
	pair_request(pair, fetch_add_packet(pair, 1, 0, 1));
	expect_leaves(pair, B);
	expect_counts(pair, B, CNT_REPLAY_MISS, 1);
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 3, 0, 0, 0));
	pair_forget(pair);
	pair_request(pair, read_packet(pair, 3, 0, 8));
	expect_leaves(pair, B);
	expect_counts(pair, B, CNT_REPLAY_MISS, 2);
	expect_counts(pair, B, CNT_REPLAY_MISMATCH, 0);
	pair_close(pair);
}

/* TC-B-14, TC-B-12: the cache holds max_dest_rd_atomic entries, the oldest goes first, used or not. */
Test(duplicate, oldest_replay_entry_is_evicted_first)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 2 });

	RULE("S-11");
	pair_set_word(pair, B, 0, 0);
	pair_request(pair, fetch_add_packet(pair, 0, 0, 1));
	pair_request(pair, read_packet(pair, 1, 0, 2000));
	pair_request(pair, fetch_add_packet(pair, 0, 0, 1)); /* asked for again: no younger for it */
	pair_request(pair, fetch_add_packet(pair, 3, 0, 1));
	pair_forget(pair);
	pair_request(pair, fetch_add_packet(pair, 0, 0, 1));
	expect_leaves(pair, B);
	expect_counts(pair, B, CNT_REPLAY_MISS, 1);
	pair_request(pair, read_packet(pair, 2, 1024, 976));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=2 credit=31 msn=2 bytes=976");
	pair_request(pair, fetch_add_packet(pair, 3, 0, 1));
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=3 credit=31 msn=3 original=0x1");
	cr_assert_eq(pair_word(pair, B, 0), 2);
	pair_close(pair);
}

Test(duplicate, a_message_in_progress_is_not_disturbed)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });

	RULE("S-11");
	pair_set_word(pair, B, 0, 0);
	pair_request(pair, fetch_add_packet(pair, 0, 0, 1));
	pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 1, 4096, 1500, 1024));
	pair_request(pair, write_packet(pair, OP_WRITE_LAST, 2, 0, 0, 476));
	pair_request(pair, send_packet(OP_SEND_FIRST, 3, 1024));
	pair_forget(pair);
	pair_request(pair, fetch_add_packet(pair, 0, 0, 1));
	pair_request(pair, write_packet(pair, OP_WRITE_FIRST, 1, 4096, 1500, 1024));
	pair_request(pair, send_packet(OP_SEND_LAST, 4, 10));
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=0 credit=31 msn=1 original=0x0", "ACK psn=3 credit=31 msn=2",
		      "ACK psn=4 credit=31 msn=3");
	expect_completes(pair, B, "wr=1000 RECV SUCCESS len=1034");
	pair_close(pair);
}

/* A PSN half the space back compares as newer than the duplicate: such an old entry must not end the ACK before it. */
Test(duplicate, a_read_from_half_the_psn_space_ago_does_not_hold_back_an_ack)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 1024 });
	struct wire_packet write = { .opcode = OP_WRITE_ONLY, .flags = WIRE_ACKREQ, .psn = 0x800001 };

	RULE("S-8");
	RULE("P-1");
	pair_read(pair, 1, 8);
	pair_run(pair);
	pair_forget(pair);
	poke_expected(pair->side[B].qp, 0x800001); /* as after so many WRITEs */
	pair_inject(pair, B, write);
	pair_transmit(pair, B);
	expect_sent(pair, B, 0, "ACK psn=8388609 credit=31 msn=2");
	pair_inject(pair, B, write);
	pair_transmit(pair, B);
	expect_sent(pair, B, 1, "ACK psn=8388609 credit=31 msn=2");
	pair_close(pair);
}

/* Nor does it hide a newer one from the search by what each owns. */
Test(duplicate, read_half_the_psn_space_ago_hides_no_newer_read)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-9");
	RULE("S-11");
	pair_request(pair, read_packet(pair, 0, 0, 8));
	poke_expected(pair->side[B].qp, 0x800001); /* as after so many WRITEs */
	pair_request(pair, read_packet(pair, 0x800001, 0, 3000));
	pair_forget(pair);
	pair_request(pair, read_packet(pair, 0x800003, 2048, 952));
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=8388611 credit=31 msn=2 bytes=952");
	pair_close(pair);
}

/* A repeated atomic whose READ behind it is still being answered: its answer leaves first (S-14). */
Test(duplicate, repeated_answer_precedes_a_later_running_read)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("S-14");
	RULE("S-9");
	pair_set_word(pair, B, 0, 40);
	pair_inject(pair, B, fetch_add_packet(pair, 0, 0, 2));
	pair_inject(pair, B, read_packet(pair, 1, 0, 5000));
	pair_transmit_some(pair, B, 2);
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=0 credit=31 msn=1 original=0x28",
		      "READ_RESPONSE_FIRST psn=1 credit=31 msn=2 bytes=1024");
	/* The atomic's answer was lost: the requester asks for both again. */
	pair_inject(pair, B, fetch_add_packet(pair, 0, 0, 2));
	pair_inject(pair, B, read_packet(pair, 1, 0, 5000));
	pair_transmit_some(pair, B, 2);
	expect_leaves(pair, B, "ATOMIC_ACKNOWLEDGE psn=0 credit=31 msn=1 original=0x28",
		      "READ_RESPONSE_FIRST psn=1 credit=31 msn=2 bytes=1024");
	pair_close(pair);
}

/* The consequence: one lost answer in a healthy network costs the whole budget. */
static int lose_first_of_b(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	(void)pair;
	(void)packet;
	return from == A || number != 0;
}

Test(duplicate, lost_answer_before_a_long_read_costs_one_retry)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("Q-8");
	RULE("T-3");
	pair->copies = lose_first_of_b;
	pair_fetch_add(pair, 1, 2);
	pair_read(pair, 2, 100000);
	while (pair->side[A].done_count < 2) {
		pair_transmit(pair, A);
		pair_transmit_some(pair, B, 4); /* a port with little room, or a fair share of a poll */
		pair->now_ns += 1000;
		pair_deliver(pair, B);
		pair_deliver(pair, A);
	}
	expect_completes(pair, A, "wr=1 FADD SUCCESS", "wr=2 READ SUCCESS len=100000");
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	pair_close(pair);
}

/* TC-B-8: the first WRITE was not the peer's, perhaps; nothing is done about it but counting. */
Test(duplicate, duplicate_write_with_other_data_raises_a_suspicion)
{
	static const uint8_t other[1024] = { 1 };
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 2 });
	struct wire_packet first = write_packet(pair, OP_WRITE_FIRST, 0, 0, 1500, 1024), only;

	RULE("S-8");
	RULE("O-1");
	pair_request(pair, first);
	pair_request(pair, write_packet(pair, OP_WRITE_LAST, 1, 0, 0, 476));
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 2, 4096, 8, 8));
	pair_request(pair, send_packet(OP_SEND_ONLY, 3, 8));
	for (uint32_t i = 0; i < 3; i++) {
		pair_request(pair, first);
		pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 2, 4096, 8, 8));
		expect_counts(pair, B, CNT_SUSPICIOUS_DUPLICATE, 0);
	}
	first.payload = other;
	pair_request(pair, first);
	expect_counts(pair, B, CNT_SUSPICIOUS_DUPLICATE, 1);
	only = write_packet(pair, OP_WRITE_ONLY, 2, 4096, 8, 8);
	only.payload = other;
	pair_request(pair, only);
	expect_counts(pair, B, CNT_SUSPICIOUS_DUPLICATE, 2);
	/* Nothing to compare with: no address, no data, no key, another address that cannot be looked at. */
	only = write_packet(pair, OP_WRITE_LAST, 1, 0, 0, 476);
	only.payload = other;
	pair_request(pair, only);
	pair_request(pair, write_packet(pair, OP_WRITE_ONLY, 2, 4096, 0, 0));
	only = write_packet(pair, OP_WRITE_ONLY, 2, 4096, 8, 8);
	only.payload = other;
	only.rkey ^= 0x100;
	pair_request(pair, only);
	only.rkey ^= 0x100;
	only.va = (uintptr_t)pair->side[B].memory + PAIR_MEMORY_BYTES - 4;
	pair_request(pair, only);
	only = send_packet(OP_SEND_ONLY, 3, 8);
	only.payload = other;
	pair_request(pair, only);
	expect_counts(pair, B, CNT_SUSPICIOUS_DUPLICATE, 2);
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 13);
	cr_assert_eq(pair->side[B].memory[1], PACKETS_DATA);
	cr_assert_eq(pair->side[B].memory[4097], PACKETS_DATA);
	cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
	pair_close(pair);
}

/* S-15: no room for it now. */
Test(duplicate, repeated_ack_without_room_leaves_later)
{
	struct pair *pair = pair_open(&(struct pair_options){ .receives = 1 });

	RULE("S-8");
	RULE("S-15");
	pair_request(pair, send_packet(OP_SEND_ONLY, 0, 8));
	pair_forget(pair);
	pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0, 8));
	cr_assert(pair_transmit_some(pair, B, 0));
	cr_assert_not(pair_transmit_some(pair, B, 1));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "ACK psn=0 credit=31 msn=1");
	pair_close(pair);
}

static void set_depth(struct pair *pair, uint8_t depth)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_SQD, .max_dest_rd_atomic = depth };
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(pair->side[B].qp, &attr, UROCE_QP_STATE | UROCE_QP_MAX_DEST_RD_ATOMIC, &bad), 0,
		     "%#x", bad);
}

/* In SQD the depth may change. A READ that is being answered is answered to its end, a cached one goes by its age. */
Test(duplicate, reduced_depth_evicts_cached_answers_but_none_owed)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 4 });
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_SQD };
	uint32_t bad;

	RULE("S-11");
	RULE("S-12");
	RULE("X-2");
	cr_assert_eq(rc_qp_modify(pair->side[B].qp, &attr, UROCE_QP_STATE, &bad), 0);
	pair_set_word(pair, B, 0, 0);
	pair_request(pair, fetch_add_packet(pair, 0, 0, 1));
	pair_request(pair, fetch_add_packet(pair, 1, 0, 1));
	pair_inject(pair, B, read_packet(pair, 2, 4096, 3000));
	pair_inject(pair, B, read_packet(pair, 5, 4096, 8));
	pair_transmit_some(pair, B, 1);
	pair_forget(pair);
	set_depth(pair, 1);
	pair_request(pair, fetch_add_packet(pair, 1, 0, 1)); /* forgotten */
	expect_leaves(pair, B, "READ_RESPONSE_MIDDLE psn=3 bytes=1024",
		      "READ_RESPONSE_LAST psn=4 credit=31 msn=3 bytes=952",
		      "READ_RESPONSE_ONLY psn=5 credit=31 msn=4 bytes=8");
	expect_counts(pair, B, CNT_REPLAY_MISS, 1);
	set_depth(pair, 3);
	pair_request(pair, fetch_add_packet(pair, 6, 0, 1));
	pair_forget(pair);
	pair_request(pair, read_packet(pair, 2, 4096, 3000));
	expect_sent_count(pair, B, 3); /* the newest three of before and after are there */
	pair_forget(pair);
	pair_inject(pair, B, read_packet(pair, 7, 4096, 8));
	pair_inject(pair, B, read_packet(pair, 8, 4096, 8));
	pair_inject(pair, B, fetch_add_packet(pair, 9, 0, 1));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=7 credit=31 msn=6 bytes=8",
		      "READ_RESPONSE_ONLY psn=8 credit=31 msn=7 bytes=8",
		      "ATOMIC_ACKNOWLEDGE psn=9 credit=31 msn=8 original=0x3");
	pair_close(pair);
}

/* More are owed than the new depth allows: they are answered, and a new one is too many until then. */
Test(duplicate, reduced_depth_applies_after_owed_answers)
{
	struct pair *pair = pair_open(&(struct pair_options){ .rd_atomic = 4 });
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_SQD };
	uint32_t bad;

	RULE("S-12");
	RULE("X-2");
	cr_assert_eq(rc_qp_modify(pair->side[B].qp, &attr, UROCE_QP_STATE, &bad), 0);
	for (uint32_t psn = 0; psn < 3; psn++)
		pair_inject(pair, B, read_packet(pair, psn, 0, 8));
	set_depth(pair, 1);
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=0 credit=31 msn=1 bytes=8",
		      "READ_RESPONSE_ONLY psn=1 credit=31 msn=2 bytes=8",
		      "READ_RESPONSE_ONLY psn=2 credit=31 msn=3 bytes=8");
	pair_inject(pair, B, read_packet(pair, 3, 0, 8));
	pair_inject(pair, B, read_packet(pair, 4, 0, 8));
	pair_transmit(pair, B);
	expect_leaves(pair, B, "READ_RESPONSE_ONLY psn=3 credit=31 msn=4 bytes=8", "NAK_INVALID_REQUEST psn=4 msn=4");
	pair_close(pair);
}
