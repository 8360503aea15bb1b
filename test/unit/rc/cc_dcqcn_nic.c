/* cc_dcqcn_nic.c - notifications that no congestion draws: what dcqcn keeps of a link, and what a NIC keeps (N-2) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/cc.h"
#include "rule.h"

#define LINE 100000u /* Mbit/s, or bits per us */
#define MTU 1024u
#define MS 1000000u
#define STEP_US 10u /* the round trip, too */

/*
 * DCQCN as NICs have it: the fields are those of the paper, the numbers are the defaults of their settings. A
 * notification restarts the byte counter and the alpha timer. The rate timer and the stages go on.
 */
struct nic {
	double current, target; /* R_C, R_T, Mbit/s */
	double alpha, bytes;
	uint32_t alpha_us, time_us; /* when the timers expire */
	uint32_t time_stage, byte_stage;
};

static void nic_increase(struct nic *nic)
{
	uint32_t more = nic->time_stage > nic->byte_stage ? nic->time_stage : nic->byte_stage;
	uint32_t fewer = nic->time_stage + nic->byte_stage - more;

	nic->target += fewer > 5 ? 400 : more > 5 ? 40 : 0;
	if (nic->target > LINE)
		nic->target = LINE;
	nic->current = (nic->current + nic->target) / 2;
}

static void nic_step(struct nic *nic, uint32_t now_us)
{
	nic->bytes += nic->current * STEP_US / 8;
	if (now_us >= nic->alpha_us) {
		nic->alpha -= nic->alpha / 256;
		nic->alpha_us += 55;
	}
	if (now_us >= nic->time_us) {
		nic->time_us += 300;
		nic->time_stage++;
		nic_increase(nic);
	}
	if (nic->bytes >= 10000000) {
		nic->bytes = 0;
		nic->byte_stage++;
		nic_increase(nic);
	}
}

static void nic_notified(struct nic *nic, uint32_t now_us)
{
	nic->target = nic->current;
	nic->current *= 1 - nic->alpha / 2;
	if (nic->current < 1)
		nic->current = 1;
	nic->alpha += (1 - nic->alpha) / 256;
	nic->alpha_us = now_us + 55;
	nic->bytes = 0;
}

static struct rc_qp qp;
static double packets; /* parts of a packet that have left */

/* What left in the last step is answered, and as much leaves as the rate allows. Returns the bits. */
static double our_step(uint64_t now_us)
{
	double bits;

	if (qp.pace.on)
		rc_cc_elapsed(&qp, now_us * 1000);
	bits = (double)(qp.pace.on ? qp.pace.mbps : LINE) * STEP_US;
	packets += bits / 8 / MTU;
	qp.win.snd_una = qp.win.snd_nxt;
	qp.win.snd_nxt = qp.win.snd_max = psn_add(qp.win.snd_nxt, (uint32_t)packets);
	rc_cc_sent(&qp, (uint32_t)packets, (uint64_t)packets * MTU, now_us * 1000);
	packets -= (uint32_t)packets;
	return bits;
}

static struct nic nic;

/*
 * From from_s to to_s seconds so many notifications arrive per second. Returns the mean rates of the second half of
 * that time.
 */
static void run(uint32_t from_s, uint32_t to_s, uint32_t per_second, double *ours, double *theirs)
{
	const uint32_t second_half_us = (from_s + to_s) * 500000u, end_us = to_s * 1000000u;

	*ours = *theirs = 0;
	for (uint32_t us = from_s * 1000000u + STEP_US; us <= end_us; us += STEP_US) {
		double our_bits = our_step(us);

		nic_step(&nic, us);
		if (us % (1000000 / per_second) == 0) {
			if (rc_cc_expects(&qp))
				rc_cc_notified(&qp, us * 1000ull);
			nic_notified(&nic, us);
		}
		if (us <= second_half_us)
			continue;
		*ours += our_bits / (end_us - second_half_us);
		*theirs += nic.current * STEP_US / (end_us - second_half_us);
	}
}

static void begin(void)
{
	nic = (struct nic){ .current = LINE, .target = LINE, .alpha = 1, .alpha_us = 55, .time_us = 300 };
	qp = (struct rc_qp){ .line_mbps = LINE, .mtu_bytes = MTU };
	qp.rtt = (struct rc_rtt){ .srtt_ns = STEP_US * 1000, .shortest_ns = STEP_US * 1000 };
	packets = 0;
	rc_cc_choose(&qp, UROCE_CC_DCQCN);
}

static const uint32_t rates[] = { 100, 1000, 10000, 20000 };

/* A 1000th less is a matter of whole packets and whole Mbit/s. */
static void expect_no_less(const char *when, uint32_t per_second, double ours, double theirs)
{
	cr_expect_geq(ours, theirs * 0.999, "%s %u per second: %.0f Mbit/s, a NIC %.0f", when, per_second, ours,
		      theirs);
}

Test(cc_dcqcn_nic, notifications_without_congestion_cost_no_more_than_on_a_nic)
{
	double ours, theirs;

	RULE("N-2");
	for (uint32_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		begin();
		run(0, 10, rates[i], &ours, &theirs);
		expect_no_less("from the beginning", rates[i], ours, theirs);
	}
}

/* The rate comes back when notifications become as seldom, however low it was. */
Test(cc_dcqcn_nic, flood_of_notifications_has_no_lasting_effect)
{
	double ours, theirs;

	RULE("N-2");
	for (uint32_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		begin();
		run(0, 1, 20000, &ours, &theirs);
		run(1, 11, rates[i], &ours, &theirs);
		expect_no_less("behind a flood", rates[i], ours, theirs);
	}
}

/* As the timers of a NIC do; a period of bytes begins anew. */
Test(cc_dcqcn_nic, time_periods_continue_over_a_notification_a_period_apart)
{
	RULE("N-2");
	begin();
	rc_cc_notified(&qp, MS);
	rc_cc_sent(&qp, 1, 10000000, MS);
	rc_cc_sent(&qp, 1, 9999999, MS);
	rc_cc_notified(&qp, MS + 300000);
	cr_expect_eq(qp.dcqcn.time_steps, 1);
	cr_expect_eq(qp.dcqcn.byte_steps, 1);
	rc_cc_sent(&qp, 1, 9999999, MS + 300000);
	cr_expect_eq(qp.dcqcn.byte_steps, 1);
	rc_cc_notified(&qp, MS + 650000);
	cr_expect_eq(qp.dcqcn.time_steps, 2);
	rc_cc_elapsed(&qp, MS + 899000);
	cr_expect_eq(qp.dcqcn.time_steps, 2);
	rc_cc_elapsed(&qp, MS + 900000);
	cr_expect_eq(qp.dcqcn.time_steps, 3);
}

/* A round trip is longer than a period here. */
Test(cc_dcqcn_nic, notification_within_a_round_trip_ends_the_period)
{
	RULE("N-2");
	begin();
	qp.rtt = (struct rc_rtt){ .srtt_ns = MS, .shortest_ns = MS };
	rc_cc_notified(&qp, MS);
	rc_cc_elapsed(&qp, 3 * MS);
	cr_expect_eq(qp.dcqcn.time_steps, 2);
	rc_cc_notified(&qp, 3 * MS);
	cr_expect_eq(qp.dcqcn.time_steps, 2);
	rc_cc_notified(&qp, 4 * MS - 1000);
	cr_expect_eq(qp.dcqcn.time_steps, 0);
}

/* Each frame that has left explains one notification. */
Test(cc_dcqcn_nic, expected_notifications_are_limited_by_sent_frames)
{
	RULE("N-2");
	begin();
	qp.win.snd_una = psn_make(PSN_MASK);
	qp.win.snd_nxt = psn_make(1);
	cr_assert(rc_cc_expects(&qp));
	rc_cc_notified(&qp, MS);
	for (uint32_t i = 0; i < 2; i++)
		cr_expect(rc_cc_expects(&qp), "two were in flight");
	cr_expect_not(rc_cc_expects(&qp));
	rc_cc_sent(&qp, 3, 3000, MS);
	for (uint32_t i = 0; i < 3; i++)
		cr_expect(rc_cc_expects(&qp));
	cr_expect_not(rc_cc_expects(&qp));
	rc_cc_sent(&qp, 2047, 3000, MS);
	rc_cc_sent(&qp, 2047, 3000, MS);
	for (uint32_t i = 0; i < 2047; i++)
		cr_expect(rc_cc_expects(&qp));
	cr_expect_not(rc_cc_expects(&qp));
}

/* Nobody knows how many responses of READs are on their way. */
Test(cc_dcqcn_nic, read_responses_may_draw_notifications)
{
	RULE("N-2");
	begin();
	qp.replay.used = 1;
	rc_cc_notified(&qp, MS);
	for (uint32_t i = 0; i < 2047; i++)
		cr_expect(rc_cc_expects(&qp));
	cr_expect_not(rc_cc_expects(&qp));
	rc_cc_choose(&qp, UROCE_CC_FIXED);
	cr_expect(rc_cc_expects(&qp));
}
