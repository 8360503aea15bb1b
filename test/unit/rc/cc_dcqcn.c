/* cc_dcqcn.c - the rate that congestion notifications lower, and how it comes back (N-2) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/cc.h"
#include "rule.h"

#define LINE 10000u
#define MS 1000000u

static struct rc_qp qp;

static void begin(uint32_t line_mbps)
{
	qp = (struct rc_qp){ .line_mbps = line_mbps, .mtu_bytes = 1024 };
	rc_cc_choose(&qp, UROCE_CC_DCQCN);
	cr_assert(!qp.pace.on && cc_is_open(&qp));
}

static uint32_t rate(void)
{
	return qp.pace.on ? qp.pace.mbps : LINE;
}

static void notify(uint64_t now_ns)
{
	rc_cc_notified(&qp, now_ns);
}

Test(cc_dcqcn, notifications_halve_the_rate_down_to_the_minimum)
{
	RULE("N-2");
	begin(LINE);
	notify(MS);
	cr_expect_eq(rate(), LINE / 2);
	notify(MS + 50000);
	cr_expect_eq(rate(), LINE / 4);
	for (unsigned i = 2; i < 100; i++)
		notify(MS + i * 50000);
	cr_expect_eq(rate(), 1);
}

/* 1024 bytes in a sixteenth of 1.05 ms are 125 Mbit/s. */
Test(cc_dcqcn, minimum_rate_respects_the_timeout_of_the_peer)
{
	RULE("N-2");
	begin(LINE);
	qp.loss.timeout_ns = 4096 << 8;
	for (unsigned i = 1; i < 100; i++)
		notify(MS + i * 50000);
	cr_expect_eq(rate(), 126, "%u", rate());
}

Test(cc_dcqcn, notifications_within_4_us_count_once)
{
	RULE("N-2");
	begin(LINE);
	notify(MS);
	notify(MS + 3999);
	cr_expect_eq(rate(), LINE / 2);
	notify(MS + 4000);
	cr_expect_eq(rate(), LINE / 4);
}

Test(cc_dcqcn, fast_recovery_halves_the_gap_per_period)
{
	RULE("N-2");
	begin(LINE);
	notify(MS);
	rc_cc_elapsed(&qp, MS + 299999);
	cr_expect_eq(rate(), 5000);
	rc_cc_elapsed(&qp, MS + 300000);
	cr_expect_eq(rate(), 7500);
	rc_cc_elapsed(&qp, MS + 600000);
	cr_expect_eq(rate(), 8750);
	rc_cc_elapsed(&qp, MS + 900000);
	cr_expect_eq(rate(), 9375);
}

/* Twice halved: recovery is back at half of the line after its five periods, and goes on 40 Mbit/s at a time. */
Test(cc_dcqcn, later_recovery_uses_small_steps)
{
	RULE("N-2");
	begin(LINE);
	notify(MS);
	notify(MS + 50000);
	rc_cc_elapsed(&qp, MS + 50000 + 5 * 300000);
	cr_expect_leq(rate(), LINE / 2);
	cr_expect_geq(rate(), LINE / 2 - LINE / 100);
	rc_cc_elapsed(&qp, MS + 50000 + 25 * 300000);
	cr_expect_leq(rate(), LINE / 2 + 20 * 40);
	cr_expect_geq(rate(), LINE / 2 + 18 * 40 - LINE / 100);
}

Test(cc_dcqcn, byte_and_time_periods_together_make_large_steps)
{
	uint32_t before;

	RULE("N-2");
	begin(10 * LINE);
	notify(MS);
	notify(MS + 4000);
	rc_cc_sent(&qp, 1, 9999999, MS + 4000);
	cr_expect_eq(rate(), 10 * LINE / 4);
	rc_cc_sent(&qp, 1, 1, MS + 4000);
	cr_expect_eq(rate(), 10 * LINE / 4 + 10 * LINE / 8);
	for (unsigned i = 1; i < 6; i++)
		rc_cc_sent(&qp, 1, 10000000, MS + 4000);
	rc_cc_elapsed(&qp, MS + 4000 + 4 * 300000);
	before = qp.dcqcn.target_mbps;
	rc_cc_elapsed(&qp, MS + 4000 + 5 * 300000);
	cr_expect_eq(qp.dcqcn.target_mbps, before + 40);
	before = qp.dcqcn.target_mbps;
	rc_cc_elapsed(&qp, MS + 4000 + 6 * 300000);
	cr_expect_eq(qp.dcqcn.target_mbps, before + 400);
}

/*
 * So long after one another that the gap is 500 us on average: ten times the usual. Round trips of three times the
 * shortest one show a queue.
 */
static uint64_t notify_each_500_us(void)
{
	uint64_t now_ns = MS;

	begin(LINE);
	qp.rtt = (struct rc_rtt){ .srtt_ns = 30000, .shortest_ns = 10000 };
	notify(now_ns);
	for (unsigned i = 0; i < 100; i++)
		notify(now_ns += 500000);
	return now_ns;
}

Test(cc_dcqcn, rare_notifications_lengthen_periods)
{
	uint64_t due_ns;
	uint32_t before;

	RULE("N-2");
	notify_each_500_us();
	before = rate();
	cr_assert_geq(qp.dcqcn.gap_us, 490, "%u", qp.dcqcn.gap_us);
	due_ns = qp.dcqcn.time_us * 1000ull + qp.dcqcn.gap_us * 6000ull;
	rc_cc_elapsed(&qp, due_ns - 1000);
	cr_expect_eq(rate(), before);
	rc_cc_elapsed(&qp, due_ns);
	cr_expect_eq(rate(), (before + qp.dcqcn.target_mbps + 1) / 2);
}

/* Notifications can be forged, round trips cannot. */
Test(cc_dcqcn, without_a_queue_periods_have_default_length)
{
	uint64_t due_ns;
	uint32_t before;

	RULE("N-2");
	notify_each_500_us();
	qp.rtt.srtt_ns = 20000;
	before = rate();
	due_ns = (qp.dcqcn.time_us + 300) * 1000ull;
	rc_cc_elapsed(&qp, due_ns - 1000);
	cr_expect_eq(rate(), before);
	rc_cc_elapsed(&qp, due_ns);
	cr_expect_gt(rate(), before);
}

/* A new one counts for an eighth, however long it was silent before. */
Test(cc_dcqcn, bunched_notifications_are_averaged)
{
	uint64_t now_ns = notify_each_500_us();
	uint32_t gap_us = qp.dcqcn.gap_us;

	RULE("N-2");
	notify(now_ns += 1000);
	cr_expect_eq(qp.dcqcn.gap_us, (7 * gap_us + 1) / 8);
	gap_us = qp.dcqcn.gap_us;
	cr_assert(qp.pace.on);
	notify(now_ns += 5 * MS);
	cr_expect_eq(qp.dcqcn.gap_us, (7 * gap_us + 5000) / 8);
	gap_us = qp.dcqcn.gap_us;
	notify(now_ns += 15 * MS);
	cr_assert(qp.pace.on);
	cr_expect_eq(qp.dcqcn.gap_us, (7 * gap_us + 10000) / 8);
	for (unsigned i = 0; i < 200; i++)
		notify(now_ns += 1000);
	cr_expect_eq(qp.dcqcn.gap_us, 50, "never less than usual");
}

Test(cc_dcqcn, each_congestion_starts_with_the_default_gap)
{
	uint64_t now_ns = notify_each_500_us();

	RULE("N-2");
	rc_cc_elapsed(&qp, now_ns + 1000 * MS);
	cr_assert_not(qp.pace.on, "the rate is that of the line again");
	notify(now_ns + 1001 * MS);
	cr_expect_eq(qp.dcqcn.gap_us, 50);
}

/* Each notification moves alpha towards 1; each 55 us without one make it smaller by a 256th. */
Test(cc_dcqcn, alpha_follows_the_notification_frequency)
{
	uint32_t alpha = 1u << 20;

	RULE("N-2");
	begin(LINE);
	notify(MS);
	notify(MS + 50000);
	cr_expect_eq(qp.dcqcn.alpha, alpha);
	notify(MS + 50000 + 100 * 55000);
	for (unsigned i = 0; i < 100; i++)
		alpha -= alpha >> 8;
	alpha += ((1u << 20) - alpha) >> 8;
	cr_expect_eq(qp.dcqcn.alpha, alpha, "%u %u", qp.dcqcn.alpha, alpha);
}

Test(cc_dcqcn, notification_within_a_period_restarts_recovery)
{
	uint32_t target;

	RULE("N-2");
	begin(10 * LINE);
	notify(MS);
	rc_cc_sent(&qp, 1, 10000000, MS);
	rc_cc_sent(&qp, 1, 9999999, MS);
	cr_expect_eq(qp.dcqcn.byte_steps, 1);
	notify(MS + 299000);
	target = qp.dcqcn.target_mbps;
	rc_cc_sent(&qp, 1, 1, MS + 299000);
	cr_expect_eq(qp.dcqcn.byte_steps, 0);
	rc_cc_elapsed(&qp, MS + 299000 + 5 * 300000);
	cr_expect_eq(qp.dcqcn.time_steps, 5);
	cr_expect_eq(qp.dcqcn.target_mbps, target, "five periods of fast recovery");
	rc_cc_sent(&qp, 1, 9999999, MS + 299000 + 5 * 300000);
	rc_cc_sent(&qp, 1, 1, MS + 299000 + 5 * 300000);
	cr_expect_eq(qp.dcqcn.byte_steps, 1);
}

/* An idle QP sends nothing, so its elapsed periods are computed late. */
Test(cc_dcqcn, notification_applies_to_the_recovered_rate)
{
	uint32_t rate_mbps, target;

	RULE("N-2");
	begin(LINE);
	notify(MS);
	rc_cc_elapsed(&qp, MS + 650000);
	notify(MS + 650000);
	rate_mbps = rate();
	target = qp.dcqcn.target_mbps;
	begin(LINE);
	notify(MS);
	notify(MS + 650000);
	cr_expect_eq(rate(), rate_mbps);
	cr_expect_eq(qp.dcqcn.target_mbps, target);
	cr_expect_eq(target, 8750);
}

/* However long it takes, what was five periods ago is no fast recovery again. */
Test(cc_dcqcn, step_counters_saturate)
{
	uint32_t target;

	RULE("N-2");
	begin(40 * LINE);
	notify(MS);
	notify(MS + 50000);
	rc_cc_elapsed(&qp, MS + 50000 + 255 * 300000);
	target = qp.dcqcn.target_mbps;
	rc_cc_elapsed(&qp, MS + 50000 + 256 * 300000);
	cr_expect_eq(qp.dcqcn.target_mbps, target + 40);
}

Test(cc_dcqcn, smallest_rates_recover)
{
	RULE("N-2");
	begin(2);
	notify(MS);
	cr_expect(qp.pace.on && qp.pace.mbps == 1);
	rc_cc_elapsed(&qp, MS + 300000);
	cr_expect(!qp.pace.on);
}

Test(cc_dcqcn, rate_changes_once_per_round_trip)
{
	RULE("N-2");
	begin(LINE);
	qp.rtt.srtt_ns = 2 * MS;
	notify(10 * MS);
	notify(10 * MS + 40000);
	cr_expect_eq(rate(), LINE / 2);
	notify(12 * MS - 1000);
	cr_expect_eq(rate(), LINE / 2);
	rc_cc_elapsed(&qp, 14 * MS - 2000);
	cr_expect_eq(rate(), LINE / 2);
	rc_cc_elapsed(&qp, 14 * MS - 1000);
	cr_expect_eq(rate(), LINE / 2 + LINE / 4,
		     "a round trip after the last notification, though that lowered nothing");
	notify(14 * MS);
	cr_expect_lt(rate(), LINE / 2);
}

/* `behind` PSNs have been answered, and `flight` more have left. */
static void have_sent(uint32_t behind, uint32_t flight)
{
	qp.win.snd_una = psn_make(behind);
	qp.win.snd_nxt = psn_make(behind + flight);
}

/* So often that the rate does not rise in between. */
static void keep_notifying(uint64_t from_ns, uint64_t to_ns)
{
	for (uint64_t now_ns = from_ns; now_ns <= to_ns; now_ns += 50000)
		notify(now_ns);
}

Test(cc_dcqcn, packets_in_flight_lower_the_rate_once)
{
	RULE("N-2");
	begin(LINE);
	have_sent(PSN_MASK - 9, 100);
	notify(MS);
	have_sent(PSN_MASK - 9 + 99, 100);
	keep_notifying(MS + 50000, 2 * MS);
	cr_expect_eq(rate(), LINE / 2);
	have_sent(PSN_MASK - 9 + 100, 100);
	notify(2 * MS + 1000);
	cr_expect_eq(rate(), LINE / 4);
	notify(2 * MS + 50000);
	cr_expect_eq(rate(), LINE / 4, "100 more were in flight then");
}

/* As where a receive is missing at the peer. */
Test(cc_dcqcn, unanswered_flight_blocks_rate_cuts_up_to_a_timeout)
{
	RULE("N-2");
	begin(LINE);
	qp.loss.timeout_ns = 4096 << 10;
	have_sent(0, 100);
	notify(MS);
	keep_notifying(MS + 50000, 5 * MS + 150000);
	notify(5 * MS + 193000);
	cr_expect_eq(rate(), LINE / 2);
	notify(5 * MS + 194000);
	cr_expect_eq(rate(), LINE / 4);
	qp.loss.timeout_ns = 0;
	keep_notifying(5 * MS + 200000, 72 * MS + 300000);
	notify(72 * MS + 301000);
	cr_expect_eq(rate(), LINE / 4);
	notify(72 * MS + 302000);
	cr_expect_eq(rate(), LINE / 8);
}

/* 15 packets of 1024 bytes in 50 us are 2458 Mbit/s, 17 in 55 us 2532, in 60 us 2321, in 200 us 696, in 300 us 464. */
Test(cc_dcqcn, full_window_limits_the_rate_to_the_delivery_rate)
{
	psn_t start = psn_make(PSN_MASK - 9);

	RULE("N-2");
	begin(LINE);
	have_sent(start.v, 256);
	notify(MS);
	have_sent(start.v + 16, 256);
	notify(MS);
	cr_expect_eq(rate(), LINE / 2, "nor was it sent since");
	have_sent(start.v + 15, 256);
	notify(MS + 50000);
	cr_expect_eq(rate(), LINE / 2, "15 packets tell nothing");
	have_sent(start.v + 17, 256);
	notify(MS + 55000);
	cr_expect_eq(rate(), LINE / 2, "half of the rate and more may be chance");
	have_sent(start.v + 17, 255);
	notify(MS + 60000);
	cr_expect_eq(rate(), LINE / 2, "a window with room in it tells nothing");
	have_sent(start.v + 17, 256);
	notify(MS + 200000);
	cr_expect_eq(rate(), 697, "%u", rate());
	cr_expect_eq(qp.dcqcn.target_mbps, 697);
	notify(MS + 300000);
	cr_expect_eq(rate(), 697, "the same flight");
	have_sent(start.v + 255, 1);
	keep_notifying(MS + 350000, 17 * MS - 50000);
	have_sent(start.v + 256, 256);
	notify(17 * MS);
	cr_expect_eq(qp.dcqcn.target_mbps, 132, "256 packets in 16 ms: %u", qp.dcqcn.target_mbps);
	cr_expect_eq(rate(), 67, "alpha has become a little smaller before: %u", rate());
}

/* 18 packets of 1024 bytes in 59 us are 2500 Mbit/s, in 60 us 2458. */
Test(cc_dcqcn, delivery_rate_counts_below_half_of_the_rate)
{
	RULE("N-2");
	begin(LINE);
	have_sent(0, 256);
	notify(MS);
	have_sent(18, 256);
	notify(MS + 59000);
	cr_expect_eq(rate(), LINE / 2);
	begin(LINE);
	have_sent(0, 256);
	notify(MS);
	have_sent(18, 256);
	notify(MS + 60000);
	cr_expect_eq(rate(), 2458, "%u", rate());
}

/* The delivered part may be small while the peer READs at the same time. */
Test(cc_dcqcn, single_cut_leaves_at_least_a_sixteenth)
{
	RULE("N-2");
	begin(LINE);
	have_sent(0, 256);
	notify(MS);
	have_sent(16, 240);
	keep_notifying(MS + 50000, 50 * MS);
	cr_expect_eq(rate(), LINE / 2);
	have_sent(16, 256);
	notify(50 * MS + 50000);
	cr_expect_eq(rate(), LINE / 2 / 16);
	qp.loss.timeout_ns = 4096;
	notify(50 * MS + 100000);
	cr_expect_eq(qp.dcqcn.target_mbps, LINE / 2 / 16 / 16);
}

/* Bunched answers may exceed the sent packets. */
Test(cc_dcqcn, delivery_rate_never_raises_the_rate)
{
	RULE("N-2");
	begin(LINE);
	have_sent(0, 256);
	notify(MS);
	have_sent(256, 256);
	notify(MS + 50000);
	cr_expect_eq(qp.dcqcn.target_mbps, LINE / 2);
	cr_expect_eq(rate(), LINE / 4);
}

Test(cc_dcqcn, rate_increase_does_not_end_a_flight)
{
	RULE("N-2");
	begin(LINE);
	have_sent(0, 100);
	notify(MS);
	have_sent(99, 100);
	rc_cc_elapsed(&qp, MS + 300000);
	notify(MS + 310000);
	cr_expect_eq(rate(), LINE / 2 + LINE / 4);
}

/* Deliveries before a rate increase do not apply after it. */
Test(cc_dcqcn, rate_increase_restarts_the_delivery_measurement)
{
	RULE("N-2");
	begin(LINE);
	notify(MS);
	have_sent(16, 256);
	rc_cc_elapsed(&qp, MS + 300000);
	cr_expect_eq(rate(), LINE / 2 + LINE / 4);
	notify(MS + 310000);
	cr_expect_eq(qp.dcqcn.target_mbps, LINE / 2 + LINE / 4);
}

Test(cc_dcqcn, rate_cut_survives_psn_wrap)
{
	RULE("N-2");
	begin(LINE);
	notify(MS);
	have_sent(1u << 22, 0);
	rc_cc_elapsed(&qp, MS + 300000);
	have_sent((1u << 23) + 1, 0);
	notify(MS + 310000);
	cr_expect_lt(rate(), LINE / 2);
}

/* 250 packets of 1024 bytes in flight in 2 ms are 1024 Mbit/s. */
Test(cc_dcqcn, first_notification_halves_the_measured_send_rate)
{
	RULE("N-2");
	begin(LINE);
	qp.rtt.srtt_ns = 2 * MS;
	qp.win.snd_una = psn_make(PSN_MASK - 99);
	qp.win.snd_nxt = psn_make(150);
	notify(MS);
	cr_expect_eq(rate(), 513);
}

Test(cc_dcqcn, a_step_is_at_most_a_sixteenth)
{
	RULE("N-2");
	begin(LINE);
	for (unsigned i = 0; i < 8; i++)
		notify(MS + i * 50000);
	rc_cc_elapsed(&qp, 2 * MS - 650000 + 5 * 300000);
	cr_expect_eq(qp.dcqcn.target_mbps, 79);
	rc_cc_elapsed(&qp, 2 * MS - 650000 + 6 * 300000);
	cr_expect_eq(qp.dcqcn.target_mbps, 79 + 79 / 16 + 1);
}

Test(cc_dcqcn, limit_ends_at_the_line_rate)
{
	RULE("N-2");
	begin(LINE);
	notify(MS);
	cr_expect(qp.seldom);
	rc_cc_elapsed(&qp, MS + 1000 * MS);
	cr_expect(!qp.pace.on && !qp.seldom);
	rc_cc_sent(&qp, 1, 20000000, MS + 1000 * MS);
	cr_expect(!qp.pace.on);
}

/* A QP that is told again after a long time without a notification is slowed down less than at first. */
Test(cc_dcqcn, rare_marks_slow_down_little)
{
	RULE("N-2");
	begin(LINE);
	notify(MS);
	rc_cc_elapsed(&qp, 1000 * MS);
	notify(1000 * MS);
	cr_expect_gt(rate(), LINE - LINE / 100);
	cr_expect_lt(rate(), LINE);
}

Test(cc_dcqcn, new_path_starts_without_a_rate_limit)
{
	RULE("N-2");
	begin(LINE);
	notify(MS);
	rc_cc_reset(&qp);
	cr_expect(!qp.pace.on && !qp.seldom);
	notify(2 * MS);
	cr_expect_eq(rate(), LINE / 2);
}

Test(cc_dcqcn, link_without_a_speed_counts_as_100_gbit)
{
	RULE("N-2");
	begin(0);
	notify(MS);
	cr_expect_eq(qp.pace.mbps, 50000);
}

Test(cc_dcqcn, dcqcn_is_the_default_on_a_link_with_known_speed)
{
	RULE("N-2");
	begin(LINE);
	rc_cc_choose(&qp, UROCE_CC_DEFAULT);
	cr_expect_eq(rc_cc_chosen(&qp), UROCE_CC_DCQCN);
	notify(MS);
	rc_cc_choose(&qp, UROCE_CC_FIXED);
	cr_expect_eq(rc_cc_chosen(&qp), UROCE_CC_FIXED);
	cr_expect(!qp.pace.on && !rc_cc_listens(&qp));
	qp.line_mbps = 0;
	rc_cc_choose(&qp, UROCE_CC_DEFAULT);
	cr_expect_eq(rc_cc_chosen(&qp), UROCE_CC_FIXED);
}

/* Losses are answered as by `fixed`. */
Test(cc_dcqcn, dcqcn_uses_the_window_of_fixed)
{
	RULE("N-2");
	begin(LINE);
	rc_cc_lost(&qp, MS);
	cr_expect_eq(cc_window(&qp), 256);
	rc_cc_timed_out(&qp);
	cr_expect_eq(cc_window(&qp), CC_LEAST);
	qp.win.snd_una = psn_make(CC_LEAST);
	cc_delivered(&qp);
	cr_expect_eq(cc_window(&qp), 2 * CC_LEAST);
	rc_cc_undo(&qp);
	cr_expect(cc_is_open(&qp));
}
