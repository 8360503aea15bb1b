/* silent_peer.c - a peer that is silent for a timeout may only be slow: which requests are repeated or probed */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "packets.h"
#include "peek.h"
#include "rc/loss.h"
#include "rule.h"

#define MTU 256u
#define TIMEOUT_NS 67108864ull /* code 14 */

/* A asks early, and has measured a round trip; PSN 0 is used then. Nothing that is sent arrives by itself. */
static struct pair *open_cut_of(uint64_t rtt_ns)
{
	struct pair *pair =
		pair_open(&(struct pair_options){ .mtu = MTU, .rd_atomic = 8, .depth = 64, .no_boards = true });

	poke_probes(pair->side[A].qp, true);
	pair_cut(pair);
	pair_measure_alone(pair, rtt_ns);
	return pair;
}

static struct pair *open_cut(void)
{
	return open_cut_of(10000);
}

/* Nothing comes for a timeout, whatever is asked meanwhile. */
static void time_out(struct pair *pair)
{
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t before = qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR];

	while (qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR] == before) {
		pair_forget(pair);
		pair_timeout_at(pair, qp, rc_qp_deadline(qp));
		pair_transmit(pair, A);
	}
}

static void answer(struct pair *pair, uint32_t psn, uint32_t first, uint32_t last)
{
	uint8_t opcode = psn == first ? OP_READ_RESPONSE_FIRST :
			 psn == last  ? OP_READ_RESPONSE_LAST :
					OP_READ_RESPONSE_MIDDLE;

	pair_respond(pair, response_packet(opcode, psn, MTU));
}

/* Nothing shows that the peer has any of them. It has them all, and each copy would be answered in full. */
Test(silent_peer, timeout_repeats_only_one_of_several_reads)
{
	struct pair *pair = open_cut();

	RULE("T-2");
	RULE("T-5");
	for (uint64_t i = 0; i < 3; i++)
		pair_read(pair, i, 100 * MTU);
	pair_transmit(pair, A);
	time_out(pair);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=25600");
	time_out(pair);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	for (uint32_t psn = 1; psn < 301; psn++)
		answer(pair, psn, (psn - 1) / 100 * 100 + 1, (psn - 1) / 100 * 100 + 100);
	expect_leaves(pair, A);
	expect_completes(pair, A, "wr=0 READ SUCCESS len=25600", "wr=1 READ SUCCESS len=25600",
			 "wr=2 READ SUCCESS len=25600");
	cr_assert_eq(peek_retries_left(pair->side[A].qp), 7);
	pair_close(pair);
}

/* It has answered the first, and the others were lost after all: asking early finds that. */
Test(silent_peer, lost_reads_after_a_timeout_are_found_by_a_probe)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("Q-8");
	RULE("T-6");
	for (uint64_t i = 0; i < 2; i++)
		pair_read(pair, i, 20 * MTU);
	pair_transmit(pair, A);
	time_out(pair);
	for (uint32_t psn = 1; psn < 21; psn++)
		answer(pair, psn, 1, 20);
	pair_forget(pair);
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=20 ackreq va=0x0 len=0 bytes=0");
	pair_respond(pair, ack_packet(20, SYNDROME_PLAIN_ACK, 2));
	while (qp->counters[CNT_IMPLIED_NAK_SEQ_ERR] == 0 && pair->now_ns < 10 * TIMEOUT_NS) {
		pair_timeout_at(pair, qp, peek_ask_ns(qp));
		pair_transmit(pair, A);
		pair_respond(pair, ack_packet(20, SYNDROME_PLAIN_ACK, 2));
	}
	cr_assert(strncmp(pair->side[A].sent[pair->side[A].sent_count - 1], "READ_REQUEST psn=21 ", 20) == 0);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 1);
	pair_close(pair);
}

/* The peer was answering. A part suffices as a sign of life; if the answer continues, nothing more is requested. */
Test(silent_peer, timeout_in_a_running_read_requests_a_part)
{
	struct pair *pair = open_cut();

	RULE("Q-10");
	RULE("T-2");
	pair_read(pair, 1, 100 * MTU);
	pair_transmit(pair, A);
	for (uint32_t psn = 1; psn < 51; psn++)
		answer(pair, psn, 1, 100);
	time_out(pair);
	expect_leaves(pair, A, "READ_REQUEST psn=51 ackreq va=0x3200 len=2048");
	for (uint32_t psn = 51; psn < 101; psn++)
		answer(pair, psn, 1, 100);
	expect_leaves(pair, A);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=25600");
	pair_close(pair);
}

/* WRITEs: eight were resent when the peer acknowledges more. New ones leave next. */
Test(silent_peer, packets_answered_by_a_slow_peer_are_not_resent)
{
	struct pair *pair = open_cut();

	RULE("T-2");
	RULE("T-5");
	for (uint64_t i = 0; i < 40; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	time_out(pair);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 8);
	pair_respond(pair, ack_packet(20, SYNDROME_PLAIN_ACK, 21));
	pair_forget(pair);
	pair_write(pair, 40, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=41 ackreq va=0x0 len=8 bytes=8");
	pair_respond(pair, ack_packet(41, SYNDROME_PLAIN_ACK, 42));
	expect_done_count(pair, A, 21); /* behind the 20 that were forgotten */
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 8);
	pair_close(pair);
}

/* The second time-out cuts off more than the first one did: what is not sent again ends where that ended. */
Test(silent_peer, each_timeout_cuts_off_its_own_flight)
{
	struct pair *pair = open_cut();

	RULE("T-5");
	for (uint64_t i = 0; i < 8; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	time_out(pair);
	pair_respond(pair, ack_packet(8, SYNDROME_PLAIN_ACK, 9));
	for (uint64_t i = 8; i < 24; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	time_out(pair);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 8 + 8);
	pair_respond(pair, ack_packet(18, SYNDROME_PLAIN_ACK, 19));
	cr_assert_eq(peek_acked(pair->side[A].qp), 19);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 8 + 8);
	pair_close(pair);
}

/* A message interrupted by the timeout continues where it stopped. */
Test(silent_peer, partly_sent_message_continues_where_it_stopped)
{
	struct pair *pair = open_cut();

	RULE("T-2");
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 300 * MTU); /* more than the window holds */
	pair_transmit(pair, A);
	expect_sent_count(pair, A, 256);
	time_out(pair);
	pair_forget(pair);
	pair_respond(pair, ack_packet(100, SYNDROME_PLAIN_ACK, 2));
	expect_sent(pair, A, 0, "WRITE_MIDDLE psn=257 bytes=256");
	pair_respond(pair, ack_packet(301, SYNDROME_PLAIN_ACK, 3));
	expect_done_count(pair, A, 2);
	expect_counts(pair, A, CNT_RETRANSMITTED_PACKETS, 8);
	pair_close(pair);
}

/*
 * The timer of a stalled thread expires, then an ACK without progress arrives: the empty WRITE that cost a retry
 * leaves all the same, for each retry is a packet (seed 810001958).
 */
Test(silent_peer, empty_write_that_cost_a_retry_always_leaves)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-3");
	pair_read(pair, 1, 100 * MTU);
	pair_transmit(pair, A);
	time_out(pair);
	pair_forget(pair);
	pair_timeout_at(pair, qp, peek_resend_ns(qp));
	cr_assert_eq(peek_asked(qp), 1);
	qp->ask.unsure = 1; /* the ACK may be the answer to an earlier copy */
	pair_inject(pair, A, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	pair_close(pair);
}

/* An empty WRITE that is no longer needed, because an earlier one was answered, refunds its retry. */
Test(silent_peer, unsent_empty_write_costs_no_retry)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;
	uint8_t left;

	RULE("T-3");
	pair_read(pair, 1, 100 * MTU);
	pair_transmit(pair, A);
	time_out(pair);
	time_out(pair);
	left = peek_retries_left(qp);
	pair_forget(pair);
	poke_answer_is_expected(qp, 1); /* the next such ACK is the answer to the ask that has left */
	pair_timeout_at(pair, qp, peek_resend_ns(qp));
	cr_assert_eq(peek_retries_left(qp), left - 1);
	pair_inject(pair, A, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	cr_assert(peek_ask_is_answered(qp));
	cr_assert_eq(peek_retries_left(qp), left);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	cr_assert(rc_loss_echo_arrived(qp, false, pair->now_ns));
	cr_assert_eq(peek_retries_left(qp), 7, "a sign of life gives back what is spent still, and no more");
	pair_close(pair);
}

/* A retry is not refunded after the budget was refilled. */
Test(silent_peer, retry_is_refunded_once)
{
	RULE("T-3");
	for (int how = 0; how < 2; how++) {
		struct pair *pair = open_cut();
		struct rc_qp *qp = pair->side[A].qp;

		pair_read(pair, 1, 100 * MTU);
		pair_transmit(pair, A);
		time_out(pair);
		pair_timeout_at(pair, qp, peek_resend_ns(qp));
		cr_assert_eq(peek_asked(qp), 1);
		if (how == 0)
			rc_loss_set_retry_count(qp, 7);
		else
			cr_assert(rc_loss_echo_arrived(qp, false, pair->now_ns)); /* a sign of life gives all back */
		cr_assert_eq(peek_retries_left(qp), 7);
		poke_answer_is_expected(qp, 1);
		pair_inject(pair, A, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
		cr_assert_eq(peek_retries_left(qp), 7, "%u, %d", peek_retries_left(qp), how);
		cr_assert_eq(peek_asked(qp), 0);
		pair_close(pair);
	}
}

/* An unanswered READ is sent once more as a whole; then it is only probed, until the last retry. */
Test(silent_peer, long_read_is_repeated_once_and_then_probed)
{
	struct pair *pair = open_cut();

	RULE("T-2");
	RULE("T-3");
	pair_read(pair, 1, 100 * MTU);
	pair_transmit(pair, A);
	time_out(pair);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=25600");
	for (uint32_t i = 0; i < 5; i++) {
		time_out(pair);
		expect_leaves(pair, A, "WRITE_ONLY psn=0 ackreq va=0x0 len=0 bytes=0");
	}
	time_out(pair);
	expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=25600");
	expect_completes(pair, A);
	time_out(pair);
	expect_completes(pair, A, "wr=1 READ RETRY_EXC_ERR");
	pair_close(pair);
}

/* A READ of up to eight packets is repeated each time, like a part of a longer one. */
Test(silent_peer, short_read_is_repeated_at_each_timeout)
{
	struct pair *pair = open_cut();

	RULE("T-2");
	pair_read(pair, 1, 8 * MTU);
	pair_transmit(pair, A);
	for (uint32_t i = 0; i < 7; i++) {
		time_out(pair);
		expect_leaves(pair, A, "READ_REQUEST psn=1 ackreq va=0x0 len=2048");
	}
	pair_close(pair);
}

/* A long READ of which nothing is heard for so many time-outs. */
static void ask_for_long(struct pair *pair, uint32_t timeouts)
{
	pair_read(pair, 1, 100 * MTU);
	pair_transmit(pair, A);
	for (uint32_t i = 0; i < timeouts; i++)
		time_out(pair);
	pair_forget(pair);
}

/* All copies were lost, and the peer says so after so many time-outs: another one goes out at once. */
static void lack_the_read(uint64_t rtt_ns, uint32_t timeouts, uint32_t copies)
{
	struct pair *pair = open_cut_of(rtt_ns);
	struct rc_qp *qp = pair->side[A].qp;

	ask_for_long(pair, timeouts);
	while (!peek_ask_is_answered(qp)) /* each of the empty WRITEs is answered, the newest last */
		pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	while (copies--)
		pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	pair_transmit(pair, A);
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, timeouts);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	cr_assert(pair->side[A].sent_count && strncmp(pair->side[A].sent[pair->side[A].sent_count - 1],
						      "READ_REQUEST psn=1 ackreq va=0x0 len=25600", 42) == 0);
	pair_close(pair);
}

Test(silent_peer, a_peer_that_lacks_the_read_gets_it_again_at_once)
{
	RULE("Q-8");
	lack_the_read(10000, 2, 0);
}

/* The network doubles the answer: that says the same again (seed 932002038). */
Test(silent_peer, copy_of_the_answer_does_not_delay_the_read)
{
	RULE("Q-8");
	RULE("T-6");
	lack_the_read(10000, 2, 3);
}

/* Five empty WRITEs are no restarts: their answers are younger than the copies, and no echoes (seed 932002038). */
Test(silent_peer, lost_read_is_repeated_after_a_long_silence)
{
	RULE("Q-8");
	RULE("T-5");
	lack_the_read(TIMEOUT_NS / 4, 5, 0);
}

/* A response arrives after the answer that reported the READ as missing: the READ is being answered. */
Test(silent_peer, read_being_answered_is_not_repeated)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t verdict_ns;

	RULE("Q-8");
	ask_for_long(pair, 2);
	while (!peek_ask_is_answered(qp))
		pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	verdict_ns = peek_ask_ns(qp);
	answer(pair, 2, 1, 100); /* the one before it comes late */
	pair->now_ns = verdict_ns;
	rc_qp_timeout(qp, pair->now_ns);
	pair_transmit(pair, A);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 0);
	expect_leaves(pair, A);
	pair_close(pair);
}

/* The probe's cost counts until the READ progresses, and not for later losses. */
Test(silent_peer, gap_after_a_probe_and_progress_is_a_new_loss)
{
	struct pair *pair = open_cut();

	RULE("T-5");
	ask_for_long(pair, 3);
	answer(pair, 1, 1, 100);
	answer(pair, 3, 1, 100);
	expect_counts(pair, A, CNT_IMPLIED_NAK_SEQ_ERR, 1);
	pair_close(pair);
}

/* A budget refilled by software is not increased by a sign of life. */
Test(silent_peer, refilled_budget_gets_no_refund)
{
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_SQD, .retry_cnt = 5 };
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;
	uint32_t wrong;

	RULE("T-3");
	ask_for_long(pair, 3);
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE, &wrong), 0);
	cr_assert_eq(rc_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_RETRY_CNT, &wrong), 0);
	pair_respond(pair, ack_packet(0, SYNDROME_PLAIN_ACK, 1));
	cr_assert_eq(peek_retries_left(qp), 5);
	pair_close(pair);
}

/*
 * The peer stalls repeatedly while it answers copies of completed requests: the next answer refunds the retries of
 * each silence. The refunds are bounded by the packets owed at the first silence, so endless repetition ends.
 */
Test(silent_peer, sign_of_life_refunds_retries_of_silence)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;
	uint32_t rounds = 0;

	RULE("T-3");
	RULE("T-4");
	pair_read(pair, 1, 20 * MTU);
	pair_transmit(pair, A);
	time_out(pair);
	for (uint32_t psn = 1; psn < 21; psn++)
		answer(pair, psn, 1, 20);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=5120");
	pair_read(pair, 2, 20 * MTU);
	pair_transmit(pair, A);
	for (; rounds < 1000; rounds++) {
		for (uint32_t i = 0; i < 6 && peek_state(qp) == UROCE_QPS_RTS; i++)
			time_out(pair);
		if (peek_state(qp) != UROCE_QPS_RTS)
			break;
		answer(pair, 1 + rounds % 20, 1, 20);
		cr_assert_eq(peek_retries_left(qp), rounds < 40 ? 7 : 1, "round %u", rounds);
	}
	cr_assert_eq(rounds, 41); /* 20 for the copy of the first, 20 for that of the second, and one is in vain */
	cr_assert_eq(pair->side[A].wcs[pair->side[A].done_count - 1].status, UROCE_WC_RETRY_EXC_ERR);
	pair_close(pair);
}

/* The new path has a full budget, to which the silence of the old one adds nothing. */
Test(silent_peer, retries_of_silence_on_the_old_path_are_not_refunded)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-3");
	RULE("A-4");
	pair_read(pair, 1, 20 * MTU);
	pair_transmit(pair, A);
	time_out(pair);
	for (uint32_t psn = 1; psn < 21; psn++)
		answer(pair, psn, 1, 20);
	pair_read(pair, 2, 20 * MTU);
	pair_transmit(pair, A);
	for (uint32_t i = 0; i < 3; i++)
		time_out(pair);
	rc_loss_path_changed(qp);
	pair_transmit(pair, A);
	answer(pair, 1, 1, 20);
	cr_assert_eq(peek_retries_left(qp), 7);
	pair_close(pair);
}

/* Long READs were requested twice, and the second answer has PSNs far behind: it is no PSN sweep. */
Test(silent_peer, late_answers_to_copies_raise_no_alarm)
{
	struct pair *pair = open_cut();
	const uint32_t packets = PAIR_MEMORY_BYTES / MTU, reads = ANOMALY_DISTANCE / packets + 1;

	RULE("T-5");
	for (uint64_t i = 0; i < reads; i++)
		pair_read(pair, i, PAIR_MEMORY_BYTES);
	pair_transmit(pair, A);
	time_out(pair);
	for (uint32_t psn = 1; psn <= reads * packets; psn++)
		answer(pair, psn, (psn - 1) / packets * packets + 1, (psn - 1) / packets * packets + packets);
	pair_read(pair, reads, 8);
	pair_transmit(pair, A);
	for (uint32_t psn = 1; psn <= 2 * ANOMALY_PACKETS; psn++)
		answer(pair, psn, 1, packets);
	pair_transmit(pair, A);
	expect_events(pair, A);
	pair->side[A].qp->flight_past.owed.responses = 0;
	for (uint32_t psn = 1; psn <= ANOMALY_PACKETS; psn++)
		answer(pair, psn, 1, packets);
	pair_transmit(pair, A);
	expect_events(pair, A, "ANOMALY");
	pair_close(pair);
}

/*
 * A response drawn by an earlier request is a sign of life without progress: it postpones the timer, once per packet
 * requested twice.
 */
Test(silent_peer, answers_to_copies_postpone_the_timer_a_bounded_number)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-3");
	RULE("T-5");
	pair_read(pair, 1, 20 * MTU);
	pair_transmit(pair, A);
	time_out(pair);
	time_out(pair); /* asked for twice, and about once */
	for (uint32_t psn = 1; psn < 21; psn++)
		answer(pair, psn, 1, 20);
	expect_completes(pair, A, "wr=1 READ SUCCESS len=5120");
	pair_read(pair, 2, 20 * MTU);
	pair_transmit(pair, A);
	poke_probes(qp, false);
	for (uint32_t i = 0; i < 20; i++) { /* twenty for the copy, hardly faster than the timer */
		pair->now_ns += TIMEOUT_NS - 1000;
		answer(pair, 1 + i % 20, 1, 20);
		cr_assert_eq(peek_resend_ns(qp), pair->now_ns + TIMEOUT_NS, "%u", i);
	}
	expect_counts(pair, A, CNT_LOCAL_ACK_TIMEOUT_ERR, 2);
	cr_assert_eq(peek_retries_left(qp), 7);
	pair->now_ns += TIMEOUT_NS - 1000;
	answer(pair, 20, 1, 20); /* nobody owes it */
	cr_assert_eq(peek_resend_ns(qp), pair->now_ns + 1000);
	for (uint32_t i = 0; i < 8; i++)
		time_out(pair);
	cr_assert_eq(pair->side[A].wcs[pair->side[A].done_count - 1].status, UROCE_WC_RETRY_EXC_ERR);
	pair_close(pair);
}

/*
 * A peer that has answered a request newer than all copies has answered those: stale responses are no sign of life
 * from then on.
 */
Test(silent_peer, answer_to_a_newer_request_clears_owed_copies)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t deadline_ns;

	RULE("T-5");
	pair_read(pair, 1, 4 * MTU);
	pair_transmit(pair, A);
	time_out(pair);
	for (uint32_t psn = 1; psn < 5; psn++)
		answer(pair, psn, 1, 4);
	pair_read(pair, 2, 4 * MTU);
	pair_transmit(pair, A);
	answer(pair, 5, 5, 8);
	deadline_ns = peek_resend_ns(qp);
	pair->now_ns += 1000;
	answer(pair, 2, 1, 4);
	cr_assert_eq(peek_resend_ns(qp), deadline_ns);
	pair_close(pair);
}

/* Perhaps the SEND was refused and all behind it dropped, and then its copy found a receive. */
Test(silent_peer, copy_without_a_receive_resends_all_later_requests)
{
	struct pair *pair = open_cut();

	RULE("T-5");
	RULE("R-5");
	pair_fetch_add(pair, 1, 1);
	pair_read(pair, 2, 6 * MTU);
	pair_send(pair, 3, 8);
	pair_send(pair, 4, 8);
	pair_transmit(pair, A);
	time_out(pair);
	expect_leaves(pair, A, "FETCH_ADD psn=1 ackreq va=0x0 add=0x1", "READ_REQUEST psn=2 ackreq va=0x0 len=1536",
		      "SEND_ONLY psn=8 ackreq bytes=8");
	time_out(pair);
	expect_leaves(pair, A, "FETCH_ADD psn=1 ackreq va=0x0 add=0x1");
	pair_respond(pair, atomic_ack_packet(1, 0));
	pair_send(pair, 5, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=2 ackreq va=0x0 len=1536", "SEND_ONLY psn=8 ackreq bytes=8",
		      "SEND_ONLY psn=9 ackreq bytes=8");
	pair_close(pair);
}
