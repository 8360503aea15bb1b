/* loss.c - what loss detection notes of each thing that happens, without a peer */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "rc/cc.h"
#include "rc/loss.h"
#include "rc/qp.h"
#include "rc/spread.h"
#include "rule.h"

#define SLOTS 8u
#define SLOT_BYTES 128u
#define FIRST 0xFFFFFEu
#define TIMEOUT_NS 67108864ull
#define T0 1000000ull

static _Alignas(64) uint8_t slots[SLOTS * SLOT_BYTES];
static struct rc_board boards[2];
static struct rc_boards pool;
static struct rc_qp at;
static struct rc_qp *const qp = &at;

static psn_t psn_of(uint32_t index)
{
	return psn_make(FIRST + index);
}

/* Four WRITEs of a packet each have left, and nothing has come. */
static void open_waiting(void)
{
	memset(qp, 0, sizeof(*qp));
	memset(slots, 0, sizeof(slots));
	boards_init(&pool, boards, 2);
	qp->board.pool = &pool;
	qp->state = UROCE_QPS_RTS;
	qp->win.slots = slots;
	qp->win.slot_bytes = SLOT_BYTES;
	qp->win.mask = SLOTS - 1;
	qp->win.snd_una = psn_of(0);
	for (uint32_t i = 0; i < 4; i++) {
		struct rc_send_wqe *wqe = sendwin_slot(&qp->win, i);

		wqe->opcode = UROCE_WR_RDMA_WRITE;
		wqe->first_psn = psn_of(i);
		wqe->psn_count = 1;
	}
	qp->win.started = qp->win.tail = qp->win.cursor = 4;
	qp->win.snd_nxt = qp->win.snd_max = psn_of(4);
	qp->loss.timeout_ns = TIMEOUT_NS;
	qp->loss.retry_cnt = qp->loss.rnr_retry = 7;
	rc_loss_reset(qp);
	rc_loss_set_probes(qp, true);
	rc_cc_reset(qp);
}

/* What was dropped leaves anew behind all copies, so no later answer is doubted because of these. */
Test(loss, an_rnr_nak_begins_anew_with_what_was_refused)
{
	RULE("R-3");
	open_waiting();
	rc_echoes_copy_sent(qp, 0, 1);
	cr_assert_eq(qp->loss.owed.first.v, psn_of(4).v);
	rc_loss_rnr_nak(qp, psn_of(1), 1, T0);
	cr_assert_eq(qp->loss.owed.first.v, psn_of(0).v);
	cr_assert_eq(qp->loss.rnr_psn.v, psn_of(1).v);
	cr_assert(qp->loss.after_rnr);
	cr_assert_eq(qp->loss.rnr_left, 7, "7 is without limit");
	cr_assert_eq(qp->loss.rnr_deadline_ns, T0 + 10000);
	rc_loss_rnr_nak(qp, psn_of(1), 1, T0);
	cr_assert_eq(qp->counters[CNT_RNR_NAK_RETRY_ERR], 1);
	cr_assert_eq(qp->counters[CNT_REPEATED_NAK], 1);
}

/* A rewind forgets what SACKs have told of the paths. */
Test(loss, a_rewind_forgets_what_sacks_have_told)
{
	RULE("S-23");
	open_waiting();
	rc_spread_over(qp, 4);
	spread_of(qp)->seen_is_known = true;
	rc_loss_rnr_nak(qp, psn_of(0), 1, T0);
	cr_assert_not(spread_of(qp)->seen_is_known);
}

/* The rewind has stopped the timer: what is asked for starts it, and what runs is left alone. */
Test(loss, a_hole_that_is_asked_for_starts_the_timer)
{
	RULE("T-1");
	open_waiting();
	rc_loss_hole_asked(qp, 2, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert_eq(qp->loss.owed.responses, 2);
	rc_loss_hole_asked(qp, 2, T0 + 5);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	qp->loss.timeout_ns = 0;
	qp->loss.ack_deadline_ns = RC_NEVER;
	rc_loss_hole_asked(qp, 1, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, RC_NEVER, "there is no timer");
}

Test(loss, a_new_path_is_not_known_to_lose)
{
	RULE("A-4");
	open_waiting();
	qp->loss.loses = true;
	qp->timeout = 14;
	rc_loss_path_changed(qp);
	cr_assert_not(qp->loss.loses);
}

/* When the oldest packet has left for the first time: the error record tells since when nothing has come. */
Test(loss, the_oldest_packet_begins_the_time_without_an_answer)
{
	RULE("T-1");
	RULE("E-4");
	open_waiting();
	qp->loss.ack_deadline_ns = T0 - 1;
	qp->loss.beside = true;
	rc_loss_sent(qp, psn_of(0), 1, true, true, T0);
	cr_assert_eq(qp->loss.since_ns, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert_not(qp->loss.beside);
	rc_loss_sent(qp, psn_of(1), 1, true, true, T0 + 5);
	cr_assert_eq(qp->loss.since_ns, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
}

Test(loss, progress_answers_no_empty_write)
{
	RULE("T-6");
	open_waiting();
	rc_loss_empty_write_sent(qp, false);
	cr_assert_eq(qp->probe.behind_una, 1);
	cr_assert_eq(qp->loss.owed.acks, 1);
	qp->win.snd_una = psn_of(1);
	qp->win.acked = 1;
	qp->probe.unsure = 3;
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->probe.behind_una, 0);
	cr_assert_eq(qp->loss.since_ns, T0);
	cr_assert_eq(qp->probe.unsure, 0, "the oldest in flight has left before the copy");
	qp->win.snd_una = psn_of(4);
	qp->win.acked = 4;
	rc_loss_acknowledged(qp, T0);
	cr_assert_eq(qp->probe.unsure, 1, "an answer to the copy may come before one to what leaves now");
}

Test(loss, a_response_that_came_early_tells_what_the_peer_has)
{
	RULE("Q-15");
	open_waiting();
	qp->loss.ack_deadline_ns = T0;
	qp->loss.retries_left = 2;
	rc_loss_response_came_early(qp, psn_of(3), false, T0);
	cr_assert_eq(qp->loss.heard.v, psn_of(3).v);
	cr_assert_eq(qp->loss.retries_left, 2);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	rc_loss_response_came_early(qp, psn_of(3), true, T0);
	cr_assert_eq(qp->loss.retries_left, 7);
}

/* A timer that is to run at once runs from the next look at the clock on. */
Test(loss, a_timer_is_started_by_the_first_look_at_the_clock)
{
	RULE("T-1");
	open_waiting();
	qp->loss.ack_deadline_ns = LOSS_AT_ONCE;
	cr_assert_not(rc_loss_timer(qp, T0));
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert(rc_loss_timer(qp, T0 + TIMEOUT_NS));
}

/* A probe that cost a retry has not left when another answer comes: the retry is given back, once. */
Test(loss, a_retry_for_a_probe_that_is_not_needed_comes_back)
{
	RULE("T-3");
	open_waiting();
	qp->loss.retries_left = 5;
	qp->loss.asked = 1;
	qp->loss.silences = 2;
	qp->probe.behind_una = 1;
	probe_ask_for_retry(&qp->probe);
	rc_loss_una_still_missing(qp, false, T0);
	cr_assert_eq(qp->loss.retries_left, 6);
	cr_assert_eq(qp->loss.asked, 0);
	cr_assert_eq(qp->loss.silences, 1);
}

Test(loss, a_packet_beside_the_window_has_a_timer_and_an_answer)
{
	RULE("C-33");
	open_waiting();
	qp->probe.due = true;
	rc_loss_asked_beside(qp, 5000, T0);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + 5000);
	cr_assert_eq(qp->loss.owed.acks, 1);
	cr_assert(qp->loss.beside);
	cr_assert_not(qp->probe.due);
	rc_loss_answered_beside(qp, T0 + 1000);
	cr_assert_eq(qp->loss.owed.acks, 0);
	cr_assert_not(qp->loss.beside);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + 1000 + TIMEOUT_NS, "others are in flight");
}

/* Of a long READ that has left twice the peer is asked only whether it has it. */
Test(loss, after_one_copy_of_a_long_read_silence_only_asks)
{
	struct rc_send_wqe *wqe;

	RULE("T-3");
	open_waiting();
	wqe = sendwin_slot(&qp->win, 0);
	wqe->opcode = UROCE_WR_RDMA_READ;
	wqe->needs = NEEDS_RESPONSE;
	wqe->psn_count = CC_LEAST + 1;
	qp->win.started = qp->win.tail = qp->win.cursor = 1;
	qp->win.snd_nxt = qp->win.snd_max = psn_of(CC_LEAST + 1);
	qp->loss.rewound = qp->loss.resent = qp->loss.timed_out = true;
	qp->loss.heard = qp->win.snd_una;
	qp->loss.retries_left = 3;
	rc_loss_timer_expired(qp, T0);
	cr_assert_eq(qp->counters[CNT_LOCAL_ACK_TIMEOUT_ERR], 1);
	cr_assert_eq(qp->loss.retries_left, 2);
	cr_assert_eq(qp->loss.silences, 1);
	cr_assert_eq(qp->loss.asked, 1);
	cr_assert_eq(qp->loss.ack_deadline_ns, T0 + TIMEOUT_NS);
	cr_assert(qp->probe.due && qp->probe.paid);
	cr_assert_eq(qp->win.snd_nxt.v, qp->win.snd_max.v, "nothing is sent again");
}
