/* adversary.c - packets of somebody else: he knows addresses, QPN and P_Key, and guesses the rest */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * TC-G-4 to G-8. What he sends has a right ICRC: anybody can compute one.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "draw.h"
#include "packets.h"
#include "peek.h"
#include "rc/codes.h"
#include "rule.h"

#define SWEEP 1000u /* guesses within which an alarm is due */
#define SECOND_NS 1000000000ull
#define WRONG_KEY 0xBAD00

/* A WRITE that would end the connection if it were believed. */
static struct wire_packet guess(const struct pair *pair, uint32_t psn)
{
	struct wire_packet packet = write_packet(pair, OP_WRITE_ONLY, psn, 0, 8, 8);

	packet.rkey ^= WRONG_KEY;
	return packet;
}

static uint32_t count_events(const struct pair *pair, enum side_name name)
{
	return pair->side[name].event_count;
}

/* TC-G-3: of all PSNs one is executed; every 1021st is tried, and all near it (long: every one). */
Test(adversary, one_psn_of_all_is_executed, .timeout = 600)
{
	struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 0x123456, .receives = 64 });
	uint32_t step = getenv("UROCE_ADVERSARY_SENDS") ? 1 : 1021, executed = 0;

	RULE("P-6");
	RULE("Y-3");
	for (uint32_t ahead = 1; ahead <= 1u << 24; ahead += ahead < 600 || ahead > (1u << 24) - 600 ? 1 : step) {
		pair_inject(pair, B, send_packet(OP_SEND_ONLY, 0x123456 + ahead, 8));
		executed += pair->side[B].done_count;
		pair->side[B].done_count = 0;
		cr_assert_eq(executed, ahead == 1u << 24, "%u ahead", ahead);
	}
	cr_assert_eq(executed, 1);
	pair_close(pair);
}

/* TC-G-4: one after the other, and as if drawn: the alarm comes within the first thousand, and once. */
Test(adversary, a_sweep_of_psns_towards_a_responder_raises_an_alarm)
{
	static const uint32_t starts[] = { 0x100000, 0x7F0000, 0x800000, 0xE00000 };

	RULE("Y-2");
	RULE("V-1");
	for (uint32_t i = 0; i <= sizeof(starts) / sizeof(starts[0]); i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint64_t state = draw_start(i);

		for (uint32_t n = 0; n < SWEEP; n++) {
			uint32_t psn = i < 4 ? starts[i] + n : (uint32_t)draw_next(&state) & 0xFFFFFF;

			pair_inject(pair, B, guess(pair, psn ? psn : 1));
		}
		pair_transmit(pair, B);
		expect_events(pair, B, "ANOMALY");
		cr_assert_leq(pair->side[B].sent_count, 2, "an ACK and a NAK, however many guesses");
		cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
		pair_close(pair);
	}
}

/*
 * A forger who stays below the rate that raises the event is noticed by the number of packets. An honest peer's few are
 * forgotten with time.
 */
Test(adversary, slow_sweep_raises_an_alarm_within_a_thousand_packets)
{
	static const uint64_t gaps_ns[] = { 5000000, 100000000, 3000000000 }; /* 200 and 10 per second, 1 in 3 s */

	RULE("V-1");
	for (uint32_t i = 0; i < 3; i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });
		uint32_t sent = 0;

		while (pair->side[B].event_count == 0 && sent < 2 * ANOMALY_TOTAL) {
			pair_request(pair, guess(pair, 0x200000 + sent++));
			pair->now_ns += gaps_ns[i];
		}
		expect_events(pair, B, "ANOMALY");
		if (i < 2)
			cr_expect_leq(sent, ANOMALY_TOTAL + ANOMALY_TOTAL / 100 * (1 + i * 2), "%u", sent);
		pair_close(pair);
	}
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	for (uint32_t n = 0; n < 2 * ANOMALY_TOTAL; n++) {
		pair_request(pair, guess(pair, 0x200000 + n));
		pair->now_ns += ANOMALY_FORGET_MS * 1000000ull;
	}
	expect_events(pair, B);
	pair_close(pair);
}

/* TC-G-4: the event is raised again each second while a sweep lasts, and not more often. */
Test(adversary, alarm_counts_per_second)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });

	RULE("V-1");
	for (uint32_t n = 0; n < ANOMALY_PACKETS / 2; n++)
		pair_inject(pair, B, guess(pair, 0x200000 + n));
	pair->now_ns += ANOMALY_NS;
	for (uint32_t n = 0; n < ANOMALY_PACKETS - 1; n++)
		pair_inject(pair, B, guess(pair, 0x200000 + n));
	pair_transmit(pair, B);
	expect_events(pair, B);
	pair_inject(pair, B, guess(pair, 0x200000));
	pair_transmit(pair, B);
	expect_events(pair, B, "ANOMALY");
	for (uint32_t n = 0; n < 5 * ANOMALY_PACKETS; n++)
		pair_inject(pair, B, guess(pair, 0x200000 + n));
	pair->now_ns += ANOMALY_NS - 1000000; /* it is told in milliseconds */
	pair_inject(pair, B, guess(pair, 0x200000));
	pair_transmit(pair, B);
	expect_events(pair, B);
	pair->now_ns += 1000000;
	for (uint32_t n = 0; n < ANOMALY_PACKETS; n++)
		pair_inject(pair, B, guess(pair, 0x200000 + n));
	pair_transmit(pair, B);
	expect_events(pair, B, "ANOMALY");
	pair_close(pair);
}

/* What an honest peer may send is no guess: a flight behind a gap, a flight again, and both at their longest. */
Test(adversary, gaps_and_duplicates_raise_no_alarm)
{
	struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 0x400000 });
	uint32_t epsn = 0x400000;

	RULE("K-SEQ");
	RULE("S-8");
	for (uint32_t n = 0; n < 2 * ANOMALY_PACKETS; n++) {
		pair_inject(pair, B, guess(pair, epsn + 1 + n));
		pair_inject(pair, B, guess(pair, epsn + ANOMALY_DISTANCE));
		pair_inject(pair, B, guess(pair, epsn - 1 - n));
		pair_inject(pair, B, guess(pair, epsn - ANOMALY_DISTANCE));
	}
	pair_transmit(pair, B);
	expect_events(pair, B);
	for (uint32_t n = 0; n < ANOMALY_PACKETS / 2; n++) {
		pair_inject(pair, B, guess(pair, epsn + ANOMALY_DISTANCE + 1));
		pair_inject(pair, B, guess(pair, epsn - ANOMALY_DISTANCE - 1));
	}
	pair_transmit(pair, B);
	expect_events(pair, B, "ANOMALY");
	pair_close(pair);
}

/* A long READ owns many PSNs, so repeated requests for its rest have PSNs far behind. */
Test(adversary, repeated_long_read_raises_no_alarm)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256, .rd_atomic = 16 });
	const uint32_t packets = PAIR_MEMORY_BYTES / 256, reads = ANOMALY_DISTANCE / packets + 2;

	RULE("S-9");
	for (uint32_t i = 0; i < reads; i++)
		pair_inject(pair, B, read_packet(pair, i * packets, 0, PAIR_MEMORY_BYTES));
	cr_assert_gt(peek_expected(pair->side[B].qp), ANOMALY_DISTANCE + packets);
	for (uint32_t n = 0; n < 2 * ANOMALY_PACKETS; n++)
		pair_inject(pair, B, read_packet(pair, n % packets, n * 256, PAIR_MEMORY_BYTES - n * 256));
	pair_transmit_some(pair, B, 1);
	expect_events(pair, B);
	for (uint32_t n = 0; n < ANOMALY_PACKETS; n++) /* nobody asked for this one */
		pair_inject(pair, B, read_packet(pair, n + 1, 0, 8));
	pair_transmit_some(pair, B, 1);
	expect_events(pair, B, "ANOMALY");
	expect_counts(pair, B, CNT_REPLAY_MISMATCH, ANOMALY_PACKETS);
	pair_close(pair);
}

static struct pair *open_with_work(void)
{
	struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 0x400000, .timeout = 20 });

	pair_cut(pair);
	pair_write(pair, 1, 1024);
	pair_write(pair, 2, 3000);
	pair_read(pair, 3, 3000);
	pair_transmit(pair, A);
	pair_forget(pair);
	return pair;
}

static const struct wire_packet *forgeries(uint32_t psn, uint32_t *count)
{
	static struct wire_packet made[8];

	made[0] = ack_packet(psn, SYNDROME_PLAIN_ACK, 0xFFFFFF);
	made[1] = ack_packet(psn, SYNDROME_SEQUENCE, 0);
	made[2] = ack_packet(psn, SYNDROME_RNR, 0);
	made[3] = ack_packet(psn, SYNDROME_INVALID, 0);
	made[4] = ack_packet(psn, SYNDROME_ACCESS, 0);
	made[5] = ack_packet(psn, SYNDROME_OPERATIONAL, 0);
	made[6] = response_packet(OP_READ_RESPONSE_ONLY, psn, 8);
	made[7] = atomic_ack_packet(psn, 5);
	*count = 8;
	return made;
}

/* TC-G-8: of 2^24 PSNs only those under way are believed; a response with any other one does nothing at all. */
Test(adversary, response_outside_the_window_changes_nothing)
{
	struct pair *pair = open_with_work();
	uint32_t count, sent = 0, outstanding = 1 + 3 + 3;
	uint64_t deadline = rc_qp_deadline(pair->side[A].qp);

	RULE("P-5");
	RULE("Y-3");
	for (uint32_t distance = outstanding; distance < 1u << 24; distance += distance < 40 ? 1 : 65521) {
		const struct wire_packet *made = forgeries(0x400000 + distance, &count);

		for (uint32_t i = 0; i < count; i++, sent++)
			pair_respond(pair, made[i]);
	}
	for (uint32_t behind = 1; behind < 40; behind++) {
		const struct wire_packet *made = forgeries(0x400000 - behind, &count);

		for (uint32_t i = 0; i < count; i++, sent++)
			pair_respond(pair, made[i]);
	}
	expect_leaves(pair, A);
	expect_completes(pair, A);
	expect_counts(pair, A, CNT_GHOST_RESPONSE, sent);
	cr_assert_eq(rc_qp_deadline(pair->side[A].qp), deadline);
	cr_assert_eq(peek_state(pair->side[A].qp), UROCE_QPS_RTS);
	expect_events(pair, A, "ANOMALY");
	pair_mend(pair);
	cr_assert(pair_settle(pair, 60 * SECOND_NS));
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE SUCCESS", "wr=3 READ SUCCESS len=3000");
	pair_close(pair);
}

/* TC-G-8: a sweep towards a requester; half of it is older than anything under way. */
Test(adversary, a_sweep_of_psns_towards_a_requester_raises_an_alarm)
{
	for (uint32_t run = 0; run < 3; run++) {
		struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 0x300000 });
		uint64_t state = draw_start(run);

		RULE("P-5");
		pair_write(pair, 1, PAIR_MEMORY_BYTES / 8);
		pair_run(pair);
		pair->side[A].event_count = 0;
		for (uint32_t n = 0; n < SWEEP; n++) {
			uint32_t psn = (uint32_t)draw_next(&state) & 0xFFFFFF;

			pair_inject(pair, A,
				    ack_packet(run == 2 ? psn :
					       run == 1 ? 0x500000 + n :
							  0xB00000 + n,
					       0x1F, 0));
		}
		pair_transmit(pair, A);
		cr_assert_eq(count_events(pair, A), 1, "run %u", run);
		expect_events(pair, A, "ANOMALY");
		pair_close(pair);
	}
}

/* TC-G-8: what was acknowledged long ago is no honest answer either, though it was once sent. */
Test(adversary, responses_to_long_completed_requests_raise_an_alarm)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });
	const uint32_t packets = 4096, reads = ANOMALY_DISTANCE / packets + 1;

	RULE("P-5");
	for (uint32_t i = 0; i < reads; i++) {
		pair_read(pair, i, packets * 256);
		pair_run(pair);
	}
	expect_events(pair, A);
	for (uint32_t n = 0; n < ANOMALY_PACKETS; n++) {
		pair_inject(pair, A, ack_packet(packets + n, 0x1F, 0)); /* as far as a flight reaches, and less */
		pair_inject(pair, A, ack_packet(n % packets, 0x1F, 0));
		pair_transmit(pair, A);
		cr_assert_eq(count_events(pair, A), n + 1 == ANOMALY_PACKETS, "%u", n);
	}
	expect_counts(pair, A, CNT_STALE_RESPONSE, 2 * ANOMALY_PACKETS);
	expect_events(pair, A, "ANOMALY");
	pair_close(pair);
}

/* The responses of an old flight, and credits told before the first request, are no guesses. */
Test(adversary, stale_responses_and_first_credits_raise_no_alarm)
{
	struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 0x300000 });

	RULE("P-5");
	RULE("F-4");
	for (uint32_t n = 0; n < 2 * ANOMALY_PACKETS; n++)
		pair_inject(pair, A, ack_packet(0x2FFFFF, 5, 0));
	pair_write(pair, 1, 1024 * 600);
	pair_run(pair);
	for (uint32_t n = 0; n < 2 * ANOMALY_PACKETS; n++)
		pair_inject(pair, A, ack_packet(0x300000 + n % 600, 0x1F, 0));
	pair_transmit(pair, A);
	expect_events(pair, A);
	for (uint32_t n = 0; n < ANOMALY_PACKETS - 1; n++)
		pair_inject(pair, A, ack_packet(0x300000 + 600, 0x1F, 0));
	pair_transmit(pair, A);
	expect_events(pair, A);
	pair_inject(pair, A, ack_packet(0x2FFFFE, 0x1F, 0));
	pair_transmit(pair, A);
	expect_events(pair, A, "ANOMALY");
	pair_close(pair);
}

/*
 * TC-G-8: an RNR NAK with the longest wait, and its PSN is right. However many follow for it, or for what is not under
 * way, and NAKs of other kinds between them, requests go out again after that one wait.
 */
Test(adversary, forged_rnr_naks_stall_at_most_one_wait)
{
	struct pair *pair = open_with_work();
	uint64_t end = pair->now_ns + rc_codes_rnr_ns(0), slack = rc_codes_rnr_ns(0) / 10;
	uint32_t forged = 0;

	RULE("R-4");
	RULE("T-5");
	pair_respond(pair, ack_packet(0x400000, SYNDROME_RNR, 0));
	expect_leaves(pair, A);
	while (pair->now_ns + SECOND_NS / 100 < end) {
		pair->now_ns += SECOND_NS / 100;
		for (uint32_t psn = 0x3FFFFF; psn < 0x400010; psn += psn == 0x400000 ? 7 : 1, forged++) {
			pair_respond(pair, ack_packet(psn, SYNDROME_RNR, 0));
			pair_respond(pair, ack_packet(0x400000, SYNDROME_SEQUENCE, 0));
		}
	}
	expect_leaves(pair, A);
	expect_counts(pair, A, CNT_RNR_NAK_RETRY_ERR, 1);
	cr_assert_gt(forged, 500);
	pair_mend(pair);
	cr_assert_leq(rc_qp_deadline(pair->side[A].qp), end + slack);
	pair_fire(pair);
	cr_assert_leq(pair->now_ns, end + slack);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS", "wr=2 WRITE SUCCESS", "wr=3 READ SUCCESS len=3000");
	expect_counts(pair, A, CNT_RNR_NAK_RETRY_ERR, 1);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 0);
	pair_close(pair);
}

/* TC-G-8: and the true ACK ends even that wait. */
Test(adversary, true_ack_ends_a_forged_wait)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint64_t start = pair->now_ns;

	RULE("R-4");
	pair_write(pair, 1, 64);
	pair_transmit(pair, A);
	pair_respond(pair, ack_packet(0, SYNDROME_RNR, 0));
	pair_run(pair);
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	pair_write(pair, 2, 64);
	pair_run(pair);
	expect_completes(pair, A, "wr=2 WRITE SUCCESS");
	cr_assert_lt(pair->now_ns, start + SECOND_NS / 1000);
	pair_close(pair);
}

/*
 * TC-G-6: the forged WRITE arrives one packet earlier. Its data stays; the true WRITE arrives as a duplicate with
 * other data and is counted.
 */
Test(adversary, write_injected_before_the_true_one_shows_as_duplicate)
{
	static const uint8_t evil[1024] = { 0xEE };
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	struct wire_packet forged = write_packet(pair, OP_WRITE_ONLY, 0, 0, 1024, 1024);

	RULE("S-8");
	RULE("P-8");
	RULE("O-1");
	forged.payload = evil;
	pair_request(pair, forged);
	expect_counts(pair, B, CNT_SUSPICIOUS_DUPLICATE, 0);
	pair_write(pair, 1, 1024);
	pair_run(pair);
	expect_counts(pair, B, CNT_SUSPICIOUS_DUPLICATE, 1);
	expect_counts(pair, B, CNT_DUPLICATE_REQUEST, 1);
	cr_assert_eq(pair->side[B].memory[0], 0xEE, "nothing in the protocol can tell (P-8)");
	expect_completes(pair, A, "wr=1 WRITE SUCCESS");
	pair_write(pair, 2, 1024);
	pair_run(pair);
	expect_counts(pair, B, CNT_SUSPICIOUS_DUPLICATE, 1);
	cr_assert_arr_eq(pair->side[A].memory, pair->side[B].memory, 1024);
	pair_close(pair);
}

/*
 * So many SENDs that ePSN and MSN come round to where they were (UROCE_ADVERSARY_SENDS; 2^24 in the long test). If they
 * ask for ACKs, those come to the true peer, who never sent such PSNs. If not, what he did shows in the receives alone,
 * and in that more SENDs came than were sent.
 */
static uint64_t inject_sends(struct pair *pair, uint32_t flags)
{
	const char *given = getenv("UROCE_ADVERSARY_SENDS");
	uint32_t sends = given ? (uint32_t)strtoul(given, NULL, 0) : 2000;

	for (uint32_t n = 0; n < sends; n++) {
		struct wire_packet packet = send_packet(OP_SEND_ONLY, n, 8);

		packet.flags = flags;
		if (n % 32 == 0)
			for (uint32_t i = 0; i < 32; i++)
				pair_recv(pair, B, n + i, PAIR_MEMORY_BYTES / 2, 64);
		pair_inject(pair, B, packet);
		if (flags) {
			pair_transmit(pair, B);
			pair_deliver(pair, A);
		}
		pair->side[A].sent_count = pair->side[B].sent_count = pair->side[B].done_count = 0;
	}
	return sends;
}

/* TC-G-5 */
Test(adversary, injected_sends_with_ackreq_alarm_the_true_peer, .timeout = 600)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint64_t sends;

	RULE("P-5");
	RULE("P-8");
	sends = inject_sends(pair, WIRE_ACKREQ);
	pair_transmit(pair, A);
	expect_counts(pair, A, CNT_GHOST_RESPONSE,
		      sends > 1u << 23 ? pair->side[A].qp->counters[CNT_GHOST_RESPONSE] : sends);
	expect_completes(pair, A);
	expect_events(pair, A, "ANOMALY");
	if (sends < 1u << 23) { /* His work does not pretend to succeed: it comes as a duplicate. */
		pair_send(pair, 1, 16);
		cr_assert(pair_settle(pair, 600 * SECOND_NS));
		expect_completes(pair, A, "wr=1 SEND RETRY_EXC_ERR");
	}
	pair_close(pair);
}

/* TC-G-5 */
Test(adversary, injected_sends_without_ackreq_show_in_receive_counters, .timeout = 600)
{
	struct pair *pair = pair_open(&(struct pair_options){ 0 });
	uint64_t sends;

	RULE("P-8");
	RULE("O-1");
	sends = inject_sends(pair, 0);
	expect_counts(pair, B, CNT_RX_SEND_REQUESTS, sends);
	expect_counts(pair, A, CNT_GHOST_RESPONSE, 0);
	cr_assert_eq(peek_expected(pair->side[B].qp), sends & 0xFFFFFF);
	cr_assert_eq(peek_msn(pair->side[B].qp), sends & 0xFFFFFF, "the MSN comes round with it");
	pair_recv(pair, B, 1, PAIR_MEMORY_BYTES / 2, 64);
	pair_send(pair, 1, 16);
	cr_assert(pair_settle(pair, 600 * SECOND_NS));
	if (sends == 1u << 24)
		expect_completes(pair, A, "wr=1 SEND SUCCESS"); /* the risk that remains */
	else
		expect_completes(pair, A, "wr=1 SEND RETRY_EXC_ERR");
	pair_close(pair);
}

static const uint8_t keyed[] = { OP_WRITE_ONLY,   OP_READ_REQUEST, OP_FETCH_ADD,
				 OP_COMPARE_SWAP, OP_FLUSH,        OP_ATOMIC_WRITE };

static struct wire_packet keyed_packet(const struct pair *pair, uint8_t opcode, uint32_t psn, uint32_t key)
{
	bool payload = opcode == OP_WRITE_ONLY || opcode == OP_ATOMIC_WRITE;
	struct wire_packet packet = write_packet(pair, opcode, psn, 0, 8, payload ? 8 : 0);

	packet.rkey = key;
	packet.feth = 1;
	return packet;
}

/* TC-G-7: the first wrong key ends the connection; the right one, guessed next, comes to a QP that listens no more. */
Test(adversary, guessed_key_has_one_try_per_connection)
{
	RULE("K-ACC");
	RULE("K-RESP");
	RULE("Y-3");
	for (uint32_t i = 0; i < sizeof(keyed); i++) {
		struct pair *pair = pair_open(&(struct pair_options){ 0 });

		pair_set_word(pair, B, 0, 7);
		pair_request(pair, keyed_packet(pair, keyed[i], 0, pair->side[B].key ^ WRONG_KEY));
		expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=0 msn=0");
		expect_events(pair, B, "QP_ACCESS_ERR");
		cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_ERR);
		for (uint32_t psn = 0; psn < 3; psn++)
			pair_request(pair, keyed_packet(pair, keyed[i], psn, pair->side[B].key));
		expect_leaves(pair, B);
		cr_assert_eq(pair->side[B].drops[CNT_PORT_QP_STATE], 3);
		cr_assert_eq(pair_word(pair, B, 0), 7, "opcode %#x", keyed[i]);
		pair_close(pair);
	}
}

/* TC-G-16: the answer is equal for a key of a used, a former and a never used slot, and for no slot. */
Test(adversary, refusal_does_not_reveal_key_slots)
{
	RULE("K-ACC");
	for (uint32_t i = 0; i < sizeof(keyed); i++) {
		for (uint32_t hit = 0; hit < 4; hit++) {
			struct pair *pair = pair_open(&(struct pair_options){ 0 });
			uint32_t other = pair_region(pair, B, 1, 0, 64, UROCE_ACCESS_LOCAL_WRITE), tried[4];

			tried[0] = pair->side[B].key ^ 1;
			tried[1] = pair_region(pair, B, 1, 0, 64, UROCE_ACCESS_LOCAL_WRITE);
			cr_assert_eq(rc_mr_remove(&pair->side[B].mrs, tried[1]), 0);
			tried[2] = other ^ 0x12345600;
			tried[3] = other; /* in use, without the right */
			pair_request(pair, keyed_packet(pair, keyed[i], 0, tried[hit]));
			expect_leaves(pair, B, "NAK_REMOTE_ACCESS psn=0 msn=0");
			pair_close(pair);
		}
	}
}

/*
 * TC-G-7: what would not end the connection says nothing about keys. A duplicate is answered, or is not, alike with any
 * key, and so is a request of no bytes.
 */
Test(adversary, key_cannot_be_tried_without_ending_the_connection)
{
	RULE("K-RULE");
	RULE("S-4");
	for (uint32_t i = 0; i < sizeof(keyed); i++) {
		static const uint32_t wrong[] = { WRONG_KEY, 1, 0x80000000 };
		uint32_t answers[3];

		for (uint32_t w = 0; w < 3; w++) {
			struct pair *pair = pair_open(&(struct pair_options){ 0 });

			pair_request(pair, keyed_packet(pair, OP_WRITE_ONLY, 0, pair->side[B].key));
			pair_request(pair, keyed_packet(pair, OP_WRITE_ONLY, 1, pair->side[B].key));
			pair_forget(pair);
			pair_request(pair, keyed_packet(pair, keyed[i], 0, pair->side[B].key ^ (w ? wrong[w] : 0)));
			answers[w] = pair->side[B].sent_count;
			if (keyed[i] == OP_WRITE_ONLY)
				expect_leaves(pair, B, "ACK psn=1 credit=31 msn=2");
			cr_assert_eq(peek_state(pair->side[B].qp), UROCE_QPS_RTS);
			pair_close(pair);
		}
		cr_assert(answers[0] == answers[1] && answers[0] == answers[2], "opcode %#x", keyed[i]);
	}
}

/* Of any kind, also of one that there is not: far behind, none of them is of an honest peer. */
Test(adversary, stale_psns_raise_an_alarm_with_any_opcode)
{
	static const uint8_t opcodes[] = { OP_SEND_ONLY, OP_WRITE_ONLY, OP_FETCH_ADD, 0x15 };

	RULE("V-1");
	RULE("P-6");
	for (size_t i = 0; i < sizeof(opcodes); i++) {
		struct pair *pair = pair_open(&(struct pair_options){ .psn_a = 0x400000, .receives = 1 });

		for (uint32_t n = 0; n < ANOMALY_PACKETS; n++)
			pair_inject(pair, B, write_packet(pair, opcodes[i], 0x300000 + n, 0, 8, 8));
		pair_transmit(pair, B);
		expect_events(pair, B, "ANOMALY");
		expect_counts(pair, B, CNT_DUPLICATE_REQUEST, ANOMALY_PACKETS);
		pair_close(pair);
	}
}
