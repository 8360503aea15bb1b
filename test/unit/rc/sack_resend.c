/* sack_resend.c - what leaves because of SACKs: lost packets once more, and PROBEs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rule.h"
#include "sack_flight.h"

/* ---- what is sent again ---- */

Test(sack_resend, lost_packets_are_resent_in_order)
{
	RULE("T-7");
	open_idle();
	send(UROCE_WR_RDMA_WRITE, 3);
	send(UROCE_WR_RDMA_READ, 2);
	send(UROCE_WR_RDMA_WRITE, 1);
	qp->loss.retries_left = 3;
	rtt_begin(&qp->rtt, psn_of(0), T0);
	tell(0, 5, 1 << 5);
	cr_assert_str_eq(known(), "LLLL.K");
	rtt_begin(&qp->rtt, psn_of(0), T0);
	cr_assert_not(rc_sack_resend(qp, T0, &out));
	cr_assert_str_eq(left(), "WRITE_FIRST 0, WRITE_MIDDLE 1, WRITE_LAST 2, READ_REQUEST 3, PROBE 1");
	cr_assert_str_eq(known(), "PPPP.K");
	cr_assert_eq(qp->counters[CNT_RETRANSMITTED_PACKETS], 4);
	cr_assert_eq(qp->counters[CNT_SACK_PROBES], 1);
	cr_assert_not(qp->rtt.timing, "nobody knows which copy is answered");
	cr_assert_eq(qp->flight_past.owed.acks, 3);
	cr_assert_eq(qp->flight_past.owed.responses, 2);
	cr_assert_neq(qp->loss.ack_deadline_ns, RC_NEVER);
}

Test(sack_resend, packets_without_room_leave_later)
{
	RULE("T-7");
	open_flight(5);
	tell(0, 3, 1 << 3);
	make_room(2);
	cr_assert(rc_sack_resend(qp, T0, &out));
	cr_assert_str_eq(left(), "WRITE_ONLY 0, WRITE_ONLY 1");
	cr_assert_str_eq(known(), "SSLK.");
	make_room(1);
	cr_assert_not(rc_sack_resend(qp, T0, &out));
	cr_assert_str_eq(left(), "WRITE_ONLY 2");
	cr_assert_str_eq(known(), "SSSK.", "a PROBE finds no room");
	cr_assert_not(qp->sack.probing);
}

/* Its memory may not be read any more. */
Test(sack_resend, oldest_request_fails_without_its_memory)
{
	struct rc_send_wqe *wqe;

	RULE("T-7");
	RULE("E-2");
	open_idle();
	wqe = send(UROCE_WR_RDMA_WRITE, 1);
	send(UROCE_WR_RDMA_WRITE, 1);
	tell(0, 1, 1 << 1);
	wqe->flags = 0;
	wqe->sge_count = 1;
	wqe->sges[0] = (struct uroce_sge){ .length = MTU, .lkey = 0x100 };
	cr_assert_not(rc_sack_resend(qp, T0, &out));
	cr_assert_str_eq(left(), "");
	cr_assert_eq(qp->state, UROCE_QPS_ERR);
	cr_assert_eq(qp->failure.error.status, UROCE_WC_LOC_PROT_ERR);
	cr_assert_eq(qp->counters[CNT_RETRANSMITTED_PACKETS], 0);
}

Test(sack_resend, newer_request_without_its_memory_fails_when_it_is_oldest)
{
	struct rc_send_wqe *wqe;

	RULE("T-7");
	RULE("E-2");
	for (uint32_t i = 0; i < 2; i++) {
		open_idle();
		send(UROCE_WR_RDMA_WRITE, 1);
		wqe = send(i ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE, 1);
		send(UROCE_WR_RDMA_WRITE, 1);
		send(UROCE_WR_RDMA_WRITE, 1);
		tell(0, 3, 1 << 3);
		wqe->flags = 0;
		wqe->sge_count = 1;
		wqe->sges[0] = (struct uroce_sge){ .length = MTU, .lkey = 0x100 };
		cr_assert_str_eq(resend(), "WRITE_ONLY 0, WRITE_ONLY 2, PROBE 1");
		cr_assert_eq(qp->state, UROCE_QPS_RTS);
		cr_assert_eq(qp->counters[CNT_RETRANSMITTED_PACKETS], 2);
	}
}

/* ---- when a PROBE follows ---- */

Test(sack_resend, probe_follows_only_if_no_new_packet_can)
{
	RULE("T-7");
	open_flight(4);
	tell(0, 1, 1 << 1);
	post(UROCE_WR_RDMA_WRITE, 1);
	cr_assert_str_eq(resend(), "WRITE_ONLY 0", "a new packet will follow");
	open_flight(4);
	tell(0, 1, 1 << 1);
	post(UROCE_WR_RDMA_WRITE, 1);
	cc_set_window(qp, 5);
	cr_assert_str_eq(resend(), "WRITE_ONLY 0");
	open_flight(4);
	tell(0, 1, 1 << 1);
	post(UROCE_WR_RDMA_WRITE, 1);
	cc_set_window(qp, 4);
	cr_assert_str_eq(resend(), "WRITE_ONLY 0, PROBE 1", "the window is full");
	open_flight(4);
	tell(0, 1, 1 << 1);
	cr_assert_str_eq(resend(), "WRITE_ONLY 0, PROBE 1", "nothing is posted");
}

Test(sack_resend, no_probe_leaves_without_a_lost_packet)
{
	RULE("T-7");
	open_flight(4);
	tell(1, 1, 1 << 1);
	cr_assert_str_eq(known(), ".K..");
	cr_assert_not(rc_sack_resend(qp, T0, &out));
	cr_assert_str_eq(left(), "");
}

Test(sack_resend, no_probe_follows_another_in_flight)
{
	RULE("T-7");
	open_flight(4);
	probe(CNT_EARLY_PROBES);
	tell(0, 1, 1 << 1);
	cr_assert_str_eq(resend(), "WRITE_ONLY 0");
	answer(1, 0, 1 << 1);
	cr_assert_str_eq(known(), "SKLL");
	cr_assert_str_eq(resend(), "WRITE_ONLY 2, WRITE_ONLY 3, PROBE 2");
}

Test(sack_resend, after_eight_answers_without_news_a_probe_waits_for_its_timer)
{
	RULE("T-7");
	open_flight(2);
	tell(0, 1, 1 << 1);
	for (uint16_t i = 0; i <= SACK_IDLE_PROBES; i++) {
		char line[64];

		snprintf(line, sizeof(line), "WRITE_ONLY 0, PROBE %u", i + 1);
		cr_assert_str_eq(resend(), line);
		cr_assert_eq(qp_board(qp, BOARD_SACK)->sack.idle_probes, i);
		answer(qp->sack.probe_id, 0, 1 << 1);
	}
	cr_assert_str_eq(resend(), "WRITE_ONLY 0");
}

/* ---- the PROBE ---- */

Test(sack_resend, a_probe_has_the_next_id_and_never_0)
{
	RULE("T-7");
	open_flight(2);
	qp->sack.probe_id = UINT16_MAX - 1;
	rc_sack_probe(qp, CNT_EARLY_PROBES, &out);
	cr_assert_str_eq(left(), "PROBE 65535");
	rc_sack_probe(qp, CNT_SACK_PROBES, &out);
	cr_assert_str_eq(left(), "PROBE 1");
	cr_assert_eq(qp->counters[CNT_EARLY_PROBES], 1);
	cr_assert_eq(qp->counters[CNT_SACK_PROBES], 1);
	cr_assert(qp->sack.probing);
	cr_assert_eq(qp->sack.probe_end.v, psn_of(2).v);
}

Test(sack_resend, probe_covers_all_earlier_copies)
{
	RULE("T-7");
	open_flight(4);
	tell(0, 1, 1 << 1);
	post(UROCE_WR_RDMA_WRITE, 1);
	resend();
	cr_assert_str_eq(known(), "SK..");
	rc_sack_probe(qp, CNT_EARLY_PROBES, &out);
	cr_assert_str_eq(known(), "PK..");
	cr_assert_not(qp_board(qp, BOARD_SACK)->sack.news);
}

/* ---- over several paths ---- */

Test(sack_resend, probe_leaves_over_each_path_with_missing_packets)
{
	struct rc_spread *spread = open_spread_flight(4);

	RULE("S-23");
	tell(0, 2, 3 << 1);
	rc_sack_probe(qp, CNT_SACK_PROBES, &out);
	cr_assert_str_eq(left(), "PROBE 64, PROBE 131");
	cr_assert_not(spread->asked);
	cr_assert_eq(qp->counters[CNT_SACK_PROBES], 2);
	cr_assert_eq(qp->sack.probe_id, 0, "each path has an id of its own");
}

Test(sack_resend, timer_probe_leaves_over_two_more_paths)
{
	struct rc_spread *spread = open_spread_flight(1);

	RULE("S-23");
	rc_sack_probe(qp, CNT_EARLY_PROBES, &out);
	cr_assert(spread->asked);
	cr_assert_str_eq(left(), "PROBE 64, PROBE 129");
}

Test(sack_resend, room_limits_the_number_of_probed_paths)
{
	RULE("S-23");
	open_spread_flight(4);
	make_room(3);
	rc_sack_probe(qp, CNT_EARLY_PROBES, &out);
	cr_assert_str_eq(left(), "PROBE 64, PROBE 129, PROBE 194");
}

Test(sack_resend, bad_path_is_probed_if_room_permits)
{
	struct rc_spread *spread = open_spread_flight(4);

	RULE("W-10");
	spread->paths[2].state = SPREAD_BAD;
	spread->turns = 3;
	spread->now_ns = T0;
	make_room(0);
	rc_sack_try_paths(qp, &out);
	cr_assert_eq(spread->paths[2].tries, 0);
	make_room(1);
	rc_sack_try_paths(qp, &out);
	cr_assert_str_eq(left(), "PROBE 66");
	cr_assert_eq(spread->paths[2].tries, 1);
	cr_assert_eq(qp->counters[CNT_SACK_PROBES], 1);
}
