/* cc_fixed.c - how much may be in flight after losses: packets sent, and responses that READs ask for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/cc.h"
#include "rc/pace.h"
#include "rule.h"

static struct rc_qp qp; /* of which only the window and where it begins are used */

static void begin(uint32_t snd_una)
{
	qp.win.snd_una = psn_make(snd_una);
	rc_cc_fixed.reset(&qp);
	cr_assert(cc_is_open(&qp));
}

static void lose(uint32_t snd_una, uint64_t trip_ns, uint64_t now_ns)
{
	qp.win.snd_una = psn_make(snd_una);
	rc_cc_fixed.lost(&qp, trip_ns, now_ns);
}

/* What is asked is asked as requesters do, who let the window grow first. */
static void expect_window(uint32_t snd_una, uint32_t window)
{
	qp.win.snd_una = psn_make(snd_una);
	cr_assert_eq(rc_cc_read_window(&qp), window, "%u", qp.cc_past.limit);
	cr_assert_eq(cc_window(&qp), window < WINDOW_PACKETS ? window : WINDOW_PACKETS);
}

/*
 * The packets delivered since the last loss are kept; a single loss at most halves them, and at least the minimum
 * stays.
 */
Test(cc_fixed, loss_leaves_twice_the_packets_since_the_last_loss)
{
	RULE("Q-10");
	begin(0xFFFFF0);
	lose(0xFFFFF0 + 1000, 0, 1);
	expect_window(0xFFFFF0 + 1000, 2000);
	lose(0xFFFFF0 + 1010, 0, 1);
	expect_window(0xFFFFF0 + 1010, 256);
	lose(0xFFFFF0 + 1020, 0, 1);
	expect_window(0xFFFFF0 + 1020, 128);
	for (uint32_t i = 0; i < 10; i++)
		lose(0xFFFFF0 + 1020, 0, 1);
	expect_window(0xFFFFF0 + 1020, CC_LEAST);
	lose(0xFFFFF0 + 1060, 0, 1);
	expect_window(0xFFFFF0 + 1060, 80);
}

/* Packets beyond the path capacity wait in a queue before the peer, and are dropped after the next loss. */
Test(cc_fixed, loss_with_a_queue_leaves_twice_the_path_capacity)
{
	RULE("Q-10");
	begin(100);
	lose(100, 0, 1000000);
	lose(100 + 400, 50000, 2000000);
	expect_window(100 + 400, 40); /* 400 in 1 ms are 20 in 50 us */
	lose(100 + 800, 0, 3000000);
	expect_window(100 + 800, 800); /* no queue */
	lose(100 + 900, 2000000, 4000000);
	expect_window(100 + 900, 256); /* as much as without a queue at the most */
	lose(100 + 1000, 1000, 5000000);
	expect_window(100 + 1000, CC_LEAST);
	lose(100 + 1100, 1000, 5000000);
	expect_window(100 + 1100, 200); /* at the same instant: no rate */
}

Test(cc_fixed, window_without_a_loss_doubles)
{
	uint32_t snd_una = 15 + 256;

	RULE("Q-10");
	begin(5);
	lose(15, 0, 1);
	expect_window(15, 256);
	expect_window(15 + 255, 256);
	expect_window(15 + 256, 512);
	expect_window(15 + 257, 512);
	for (uint32_t i = 0; i < 20 && !cc_is_open(&qp); i++) {
		snd_una += qp.cc_past.limit;
		qp.win.snd_una = psn_make(snd_una);
		rc_cc_read_window(&qp);
	}
	cr_assert(cc_is_open(&qp), "%u", qp.cc_past.limit);
}

Test(cc_fixed, packets_before_a_loss_are_bounded_by_the_open_window)
{
	RULE("Q-10");
	begin(0);
	lose(PSN_WINDOW - 1, 0, 1);
	expect_window(PSN_WINDOW - 1, CC_OPEN);
}

/* Silence does not show the path capacity: the window restarts with the minimum. */
Test(cc_fixed, timeout_leaves_the_minimum_and_undo_restores_it)
{
	RULE("T-2");
	begin(7);
	lose(7 + 1000, 0, 1);
	rc_cc_fixed.timed_out(&qp);
	expect_window(7 + 1000, CC_LEAST);
	cr_assert(!cc_burst_is_full(&qp));
	lose(7 + 1010, 100, 1000000);
	expect_window(7 + 1010, 20); /* of the loss before it no time is known any more */
	rc_cc_fixed.undo(&qp);
	expect_window(7 + 1010, CC_OPEN);
	cr_assert(cc_burst_is_full(&qp));
}

/* A row need not have all functions: whoever has set a rate for a QP with this algorithm keeps it. */
Test(cc_fixed, missing_hooks_of_an_algorithm_are_skipped)
{
	RULE("N-3");
	rc_cc_choose(&qp, UROCE_CC_FIXED);
	rc_pace_set(&qp, 100, 0);
	rc_cc_elapsed(&qp, 1000000);
	rc_cc_sent(&qp, 1, 100000000, 2000000);
	cr_assert(qp.pace.on);
	cr_assert_eq(qp.pace.mbps, 100);
}
