/* probe_backoff.c - an early question is for a peer that owes an answer, and who answers slowly is given more time */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A question too many costs two packets, and with every packet of a window the peer's time as well: a peer that is only
 * slow must not be asked again and again.
 */
#include <criterion/criterion.h>

#include "draw.h"
#include "packets.h"
#include "peek.h"
#include "rule.h"

#define USUAL_NS 5000ull /* a round trip at first */

static uint32_t psn; /* of A's next packet */

static void answer(struct pair *pair, uint32_t behind)
{
	pair_inject(pair, A, ack_packet(behind - 1, SYNDROME_PLAIN_ACK, behind));
}

/* Nothing arrives by itself; A asks early. */
static struct pair *open_cut(void)
{
	struct pair *pair = pair_open(&(struct pair_options){ .depth = 64 });

	poke_probes(pair->side[A].qp, true);
	pair_cut(pair);
	psn = 0;
	return pair;
}

static void post_unsignaled(struct pair *pair, uint32_t bytes)
{
	cr_assert_eq(pair_post(pair, A, (struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, 0, bytes), 0);
}

/* A message that is answered after so long; whoever loses patience asks meanwhile. Returns how often it did. */
static uint64_t exchange(struct pair *pair, uint64_t round_trip_ns)
{
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t before = qp->counters[CNT_EARLY_PROBES], end = pair->now_ns + round_trip_ns;

	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	while (rc_qp_deadline(qp) < end) {
		pair_timeout_at(pair, qp, rc_qp_deadline(qp));
		pair_transmit(pair, A);
	}
	pair->now_ns = end;
	answer(pair, ++psn);
	pair_transmit(pair, A);
	expect_done_count(pair, A, 1);
	pair->side[A].done_count = 0;
	pair_forget(pair);
	return qp->counters[CNT_EARLY_PROBES] - before;
}

/* The last packet with AckReq is answered; the others draw no answer. */
Test(probe_backoff, no_probe_runs_for_packets_without_ackreq)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("Q-5");
	RULE("T-1");
	exchange(pair, USUAL_NS);
	for (uint32_t i = 0; i < 9; i++)
		post_unsignaled(pair, 8);
	pair_transmit_some(pair, A, 3);
	cr_assert_neq(peek_ask_ns(qp), RC_NEVER, "the third asks");
	pair_transmit_some(pair, A, 3);
	answer(pair, psn + 3);
	cr_assert(peek_ask_is_deferred(qp), "three unsignaled ones are in flight: somebody will ask about them, later");
	cr_assert_neq(peek_resend_ns(qp), RC_NEVER, "T-1: they have a timer all the same");
	pair->now_ns += 1000;
	pair_transmit_some(pair, A, 2);
	cr_assert_gt(peek_ask_ns(qp), pair->now_ns, "a question begins the wait");
	cr_assert_not(peek_ask_is_deferred(qp));
	answer(pair, psn + 5); /* not yet what asked */
	cr_assert_neq(peek_ask_ns(qp), RC_NEVER);
	answer(pair, psn + 8);
	cr_assert_eq(rc_qp_deadline(qp), RC_NEVER, "nothing is in flight");
	expect_counts(pair, A, CNT_EARLY_PROBES, 0);
	pair_close(pair);
}

/*
 * Each probe is sent before the answer to the preceding one arrives, so no round trip is timed (T-5). From any round
 * trip to any other, exact or drawn: in the end no probe is sent.
 */
Test(probe_backoff, slower_peer_is_given_more_time)
{
	static const uint64_t usual_us[] = { 1, 5, 20, 50, 100, 500 };

	RULE("T-5");
	for (uint32_t i = 0; i < sizeof(usual_us) / sizeof(usual_us[0]); i++) {
		for (uint64_t tenths = 11; usual_us[i] * tenths / 10 < 4000; tenths += 1 + tenths / 8) {
			for (uint32_t drawn = 0; drawn < 2; drawn++) {
				struct pair *pair = open_cut();
				uint64_t random = draw_start(tenths), asked = 0;

				for (uint32_t n = 0; n < 20; n++)
					exchange(pair, usual_us[i] * 1000);
				for (uint32_t n = 0; n < 200; n++) {
					uint64_t slow = usual_us[i] * tenths * 100, questions;

					slow += drawn ? draw_below(&random, (uint32_t)(slow / 3)) : 0;
					questions = exchange(pair, slow);
					asked += n >= 100 ? questions : 0;
				}
				cr_assert_leq(asked, drawn ? 5 : 0, "%lu us, then %lu tenths of that, drawn %u: %lu",
					      usual_us[i], tenths, drawn, asked);
				pair_close(pair);
			}
		}
	}
}

/* Karn's rule: progress alone does not make the wait short again, for whether it answers the question nobody knows. */
Test(probe_backoff, probe_keeps_waits_long_until_an_rtt_is_measured)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t first;

	RULE("T-5");
	exchange(pair, USUAL_NS);
	first = peek_ask_delay_ns(qp);
	cr_assert_eq(exchange(pair, 4 * first), 2);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	cr_assert_eq(peek_ask_ns(qp) - pair->now_ns, 4 * first);
	pair->now_ns += USUAL_NS;
	answer(pair, ++psn);
	cr_assert_leq(peek_ask_delay_ns(qp), first);
	pair_close(pair);
}

/* Where packets are lost it was right to ask, and is the next time. */
Test(probe_backoff, loss_shortens_the_next_probe_wait)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t first;

	RULE("T-5");
	exchange(pair, USUAL_NS);
	first = peek_ask_delay_ns(qp);
	poke_timed_out(qp);
	exchange(pair, 4 * first);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	cr_assert_eq(peek_ask_ns(qp) - pair->now_ns, first);
	pair_close(pair);
}

/* The thread was away for a second while a round trip was timed: it goes on asking within the timeout. */
Test(probe_backoff, stalled_thread_keeps_probing_within_the_timeout)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-1");
	for (uint32_t i = 0; i < 20; i++)
		exchange(pair, USUAL_NS);
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	pair->now_ns += 1000000000;
	answer(pair, ++psn); /* taken before the deadlines that have passed */
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	cr_assert_lt(peek_ask_ns(qp), peek_resend_ns(qp));
	pair_close(pair);
}

/* The very first packet is lost: what its second copy takes is no measure, as long as there is no other. */
Test(probe_backoff, lost_first_packet_does_not_shorten_the_wait)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;
	uint64_t first;

	RULE("T-5");
	pair_write(pair, 1, 8);
	pair_transmit(pair, A);
	first = peek_ask_ns(qp) - pair->now_ns;
	cr_assert_eq(first, 67108864 / 2, "half of the timeout");
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	pair_transmit(pair, A);
	pair->now_ns += USUAL_NS;
	answer(pair, ++psn);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	cr_assert_eq(peek_ask_ns(qp), RC_NEVER, "twice as long is the ACK timer's: as after any question");
	pair_close(pair);
}

/* The probe finds no room, and an answer arrives: it is a sign of life, so nothing is resent. */
Test(probe_backoff, probe_without_room_does_not_become_a_restart)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-2");
	exchange(pair, USUAL_NS);
	for (uint32_t i = 0; i < 6; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	pair_transmit_some(pair, A, 0);
	pair_forget(pair);
	answer(pair, psn + 2);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	/* all of it answered: nothing is left to be asked about */
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	pair_transmit_some(pair, A, 0);
	answer(pair, psn + 6);
	post_unsignaled(pair, 8);
	post_unsignaled(pair, 8);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "WRITE_ONLY psn=7 va=0x0 len=8 bytes=8", "WRITE_ONLY psn=8 va=0x0 len=8 bytes=8");
	pair_close(pair);
}

/* Progress between the deadline and the next transmission cancels the probe. */
Test(probe_backoff, progress_cancels_a_due_probe)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-1");
	exchange(pair, USUAL_NS);
	post_unsignaled(pair, 8);
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	pair_timeout_at(pair, qp, peek_ask_ns(qp));
	answer(pair, psn + 2);
	pair_forget(pair);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	expect_counts(pair, A, CNT_EARLY_PROBES, 0);
	cr_assert_gt(peek_ask_ns(qp), pair->now_ns, "the newest has not been answered: a new wait");
	cr_assert_neq(peek_ask_ns(qp), RC_NEVER);
	pair_close(pair);
}

/* Probes are disabled while one waits for room: nothing is resent. */
Test(probe_backoff, disabling_cancels_a_probe_without_room)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;
	struct uroce_qp_attr on = { .no_probe = false }, off = { .no_probe = true };
	uint64_t deadline_ns;
	uint32_t bad;

	RULE("T-2");
	exchange(pair, USUAL_NS);
	for (uint32_t i = 0; i < 6; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	deadline_ns = peek_ask_ns(qp);
	cr_assert_eq(rc_qp_modify(qp, &on, UROCE_QP_NO_PROBE, &bad), 0);
	cr_assert_eq(peek_ask_ns(qp), deadline_ns, "it was on");
	pair->now_ns = deadline_ns;
	rc_qp_timeout(qp, pair->now_ns);
	pair_transmit_some(pair, A, 0);
	pair_forget(pair);
	cr_assert_eq(rc_qp_modify(qp, &off, UROCE_QP_NO_PROBE, &bad), 0);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	pair_close(pair);
}

/* A hole was requested and the peer falls silent: only that hole is requested again. */
Test(probe_backoff, requested_hole_is_probed_early)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256 });
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-6");
	RULE("Q-15");
	poke_probes(qp, true);
	poke_read_repair(qp, UROCE_READ_REPAIR_UPWARDS);
	pair_cut(pair);
	pair_measure_alone(pair, USUAL_NS);
	pair_read(pair, 1, 4 * 256);
	pair_transmit(pair, A);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_FIRST, 1, 256));
	pair_forget(pair);
	pair_respond(pair, response_packet(OP_READ_RESPONSE_MIDDLE, 3, 256));
	expect_leaves(pair, A, "READ_REQUEST psn=2 ackreq va=0x100 len=256");
	cr_assert_lt(peek_ask_ns(qp), peek_resend_ns(qp));
	pair_timeout_at(pair, qp, peek_ask_ns(qp) - 1);
	pair_transmit(pair, A);
	expect_leaves(pair, A);
	pair->now_ns++;
	rc_qp_timeout(qp, pair->now_ns);
	pair_transmit(pair, A);
	expect_leaves(pair, A, "READ_REQUEST psn=2 ackreq va=0x100 len=256");
	cr_assert_eq(peek_retries_left(qp), 7, "no retry is spent");
	pair_close(pair);
}

/* The peer of a new connection misses the first packet: its NAK shows how long a round trip takes. */
Test(probe_backoff, nak_of_the_first_flight_measures_a_round_trip)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-5");
	pair_write(pair, 1, 8);
	pair_write(pair, 2, 8);
	pair_transmit(pair, A);
	cr_assert_eq(rc_qp_deadline(qp) - pair->now_ns, 67108864 / 2, "half of the timeout");
	pair->now_ns += USUAL_NS;
	pair_inject(pair, A, ack_packet(0, syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE), 0));
	pair_transmit(pair, A);
	cr_assert_eq(rc_qp_deadline(qp) - pair->now_ns, ASK_SHORTEST_NS, "the second copy is probed for soon");
	pair_close(pair);
}

/* A timeout sent the first flight again, so no round trip is known. The NAK answers a copy, not the new packet. */
Test(probe_backoff, nak_of_a_copy_measures_no_round_trip)
{
	struct pair *pair = open_cut();
	struct rc_qp *qp = pair->side[A].qp;

	RULE("T-5");
	for (uint64_t i = 0; i < 3; i++)
		pair_write(pair, i, 8);
	pair_transmit(pair, A);
	pair_timeout_at(pair, qp, peek_resend_ns(qp));
	pair_transmit(pair, A);
	answer(pair, 1);
	pair_write(pair, 3, 8);
	pair_transmit(pair, A);
	pair->now_ns += USUAL_NS;
	pair_inject(pair, A, ack_packet(1, syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE), 1));
	pair_transmit(pair, A);
	expect_counts(pair, A, CNT_PACKET_SEQ_ERR, 1);
	cr_assert_gt(rc_qp_deadline(qp) - pair->now_ns, ASK_SHORTEST_NS, "no round trip is known");
	pair_close(pair);
}
