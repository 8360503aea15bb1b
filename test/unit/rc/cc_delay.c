/* cc_delay.c - the window that round trips make smaller, and how it grows again (N-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "rc/cc.h"
#include "rule.h"

#define US 1000u

static struct rc_qp qp;
static uint64_t now_ns;

static void begin(void)
{
	qp = (struct rc_qp){ .mtu_bytes = 1024 };
	now_ns = 1000 * US;
	rc_cc_choose(&qp, UROCE_CC_DELAY);
	cr_assert_eq(cc_window(&qp), 1);
}

/* A whole window leaves, of which the packet that is timed is the first, and is answered in so many us. */
static void trip_of(uint32_t took_us, uint32_t flight)
{
	psn_t first = qp.win.snd_nxt;

	qp.win.snd_nxt = qp.win.snd_max = psn_add(first, flight);
	rtt_begin(&qp.rtt, first, now_ns);
	cc_timed(&qp, 1);
	now_ns += took_us * US;
	qp.win.snd_una = psn_next(first);
	cr_assert(rtt_answered(&qp.rtt, qp.win.snd_una, 0, now_ns));
	cc_trip(&qp, now_ns);
	qp.win.snd_una = qp.win.snd_nxt;
}

static void trip(uint32_t took_us)
{
	trip_of(took_us, cc_window(&qp));
}

static void trips(uint32_t count, uint32_t took_us)
{
	while (count-- > 0)
		trip(took_us);
}

/* 16 packets, and round trips of so many us that are the shortest. */
static void begin_with_16(uint32_t took_us)
{
	begin();
	trips(4, took_us);
	cr_assert_eq(cc_window(&qp), 16);
}

/* 80 us are too long for 20 us and a window of 16 packets: 20 + 10 + 30/4. The window does not double any more. */
static void stop_doubling(void)
{
	uint32_t window = cc_window(&qp);

	trip(80);
	cr_assert_eq(cc_window(&qp), window);
}

Test(cc_delay, new_connection_doubles_its_window_until_delay_grows)
{
	RULE("N-4");
	begin();
	trip(20);
	cr_expect_eq(cc_window(&qp), 2);
	trips(3, 20);
	cr_expect_eq(cc_window(&qp), 16);
	trip(80);
	cr_expect_eq(cc_window(&qp), 16);
	trip(20);
	cr_expect_eq(cc_window(&qp), 17);
}

/* 20 us may be 37.5 with 16 packets. 75 us are 37.5 too long: four fifths of a half of the window. */
Test(cc_delay, excess_delay_shrinks_the_window_in_proportion)
{
	RULE("N-4");
	begin_with_16(20);
	trip(75);
	trip(75);
	cr_expect_eq(cc_window(&qp), 16 * 3 / 5, "%u", cc_window(&qp));
	begin_with_16(20);
	trips(2, 1000000);
	cr_expect_eq(cc_window(&qp), 8, "at most half: %u", cc_window(&qp));
}

/* 20 + 10 + 30 us for one packet, 20 + 10 + 7.5 for 16. */
Test(cc_delay, small_window_tolerates_more_delay)
{
	RULE("N-4");
	begin();
	trip_of(20, 1);
	cr_assert_eq(cc_window(&qp), 2);
	trip(60);
	cr_expect_eq(cc_window(&qp), 4);
	begin_with_16(20);
	trips(2, 40);
	cr_expect_lt(cc_window(&qp), 16);
}

/* A thread that has lost its core makes one round trip long. */
Test(cc_delay, single_long_round_trip_does_not_shrink_the_window)
{
	RULE("N-4");
	begin_with_16(20);
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t window = cc_window(&qp);

		trip(5000);
		cr_expect_geq(cc_window(&qp), window);
		trip(20);
	}
}

Test(cc_delay, window_grows_by_a_packet_or_an_eighth_without_delay)
{
	RULE("N-4");
	begin();
	trips(7, 20);
	stop_doubling();
	cr_assert_eq(cc_window(&qp), 128);
	trip(80); /* 46 us of 80 are too long */
	cr_assert_eq(cc_window(&qp), 68, "%u", cc_window(&qp));
	trip(20);
	cr_expect_eq(cc_window(&qp), 69);
	trips(3, 20);
	cr_expect_eq(cc_window(&qp), 72);
	trip(20);
	cr_expect_eq(cc_window(&qp), 72 + 72 / 8, "%u", cc_window(&qp));
}

Test(cc_delay, unused_window_does_not_grow)
{
	RULE("N-4");
	begin_with_16(20);
	trip_of(20, 7);
	cr_expect_eq(cc_window(&qp), 16);
	trip_of(20, 8);
	cr_expect_eq(cc_window(&qp), 32);
}

/* With 1024 bytes each 100 us: 82 Mbit/s are one packet a round trip. */
Test(cc_delay, window_below_a_packet_becomes_a_rate)
{
	RULE("N-4");
	begin();
	trip(100);
	trips(30, 1000);
	cr_expect_eq(cc_window(&qp), 1);
	cr_assert(qp.pace.on);
	cr_expect_leq(qp.pace.mbps, 82 / 10, "%u", qp.pace.mbps);
	for (uint32_t i = 0; i < 100 && qp.pace.on; i++)
		trip(100);
	cr_expect(!qp.pace.on, "it has come back");
	cr_expect_geq(cc_window(&qp), 1);
}

/* 1024 bytes in a sixteenth of 1.05 ms are 125 Mbit/s. */
Test(cc_delay, pacing_wait_stays_below_the_timeout_of_the_peer)
{
	RULE("N-4");
	begin();
	qp.loss.timeout_ns = 4096 << 8;
	trip(100);
	trips(40, 1000);
	cr_expect_eq(qp.pace.mbps, 126, "%u", qp.pace.mbps);
}

Test(cc_delay, longer_path_is_detected)
{
	RULE("N-4");
	begin();
	trip(100);
	trips(64, 1000);
	cr_assert(qp.pace.on);
	trips(60, 1000);
	cr_expect(!qp.pace.on, "1 ms is the shortest round trip now");
}

/* 100 Gbit/s: 256 packets of 1024 bytes take 21 us. */
Test(cc_delay, transmission_time_of_a_long_message_is_no_queue)
{
	uint32_t window;

	RULE("N-4");
	begin();
	qp.line_mbps = 100000;
	trips(4, 20);
	window = cc_window(&qp);
	for (uint32_t i = 0; i < 2; i++) {
		rtt_begin(&qp.rtt, qp.win.snd_nxt, now_ns);
		cc_timed(&qp, 257);
		qp.win.snd_nxt = psn_add(qp.win.snd_nxt, 257);
		now_ns += 41 * US;
		qp.win.snd_una = qp.win.snd_nxt;
		cr_assert(rtt_answered(&qp.rtt, qp.win.snd_una, 0, now_ns));
		cc_trip(&qp, now_ns);
	}
	cr_expect_geq(cc_window(&qp), window);
}

Test(cc_delay, loss_halves_the_window_once_per_flight)
{
	uint32_t window;

	RULE("N-4");
	begin_with_16(20);
	window = cc_window(&qp);
	qp.win.snd_nxt = psn_add(qp.win.snd_una, window);
	rc_cc_lost(&qp, now_ns);
	cr_expect_eq(cc_window(&qp), window / 2);
	qp.win.snd_una = psn_next(qp.win.snd_una);
	rc_cc_lost(&qp, now_ns);
	cr_expect_eq(cc_window(&qp), window / 2);
	qp.win.snd_una = qp.win.snd_nxt;
	rc_cc_lost(&qp, now_ns);
	cr_expect_eq(cc_window(&qp), window / 4);
	cr_expect_not(cc_burst_is_full(&qp));
}

Test(cc_delay, timeout_starts_at_one_packet_and_a_slow_peer_recovers)
{
	uint32_t window;

	RULE("N-4");
	begin_with_16(20);
	window = cc_window(&qp);
	rc_cc_timed_out(&qp);
	rc_cc_timed_out(&qp);
	cr_expect_eq(cc_window(&qp), 1);
	trip(20);
	cr_expect_eq(cc_window(&qp), 2);
	rc_cc_undo(&qp);
	cr_expect_eq(cc_window(&qp), window);
	cr_expect(cc_burst_is_full(&qp));
	trip(20);
	cr_expect_eq(cc_window(&qp), window + 1);
}

Test(cc_delay, reads_obey_the_window_and_ecn_is_not_used)
{
	RULE("N-4");
	begin_with_16(20);
	cr_expect_eq(rc_cc_read_window(&qp), 16);
	cr_expect(!cc_is_open(&qp) && !rc_cc_listens(&qp));
	for (uint32_t i = 0; i < 10; i++)
		trip_of(20, rc_cc_read_window(&qp));
	cr_expect_eq(rc_cc_read_window(&qp), 4096, "%u", rc_cc_read_window(&qp));
	cr_expect_eq(cc_window(&qp), WINDOW_PACKETS);
	trips(30, 80);
	cr_expect_lt(rc_cc_read_window(&qp), WINDOW_PACKETS);
}

/* A packet that left before has not been told of. */
Test(cc_delay, algorithm_chosen_during_a_measurement_uses_its_result)
{
	RULE("N-4");
	begin();
	qp.line_mbps = 100000;
	rtt_begin(&qp.rtt, qp.win.snd_nxt, now_ns);
	now_ns += 20 * US;
	qp.win.snd_una = qp.win.snd_nxt = psn_next(qp.win.snd_nxt);
	cr_assert(rtt_answered(&qp.rtt, qp.win.snd_una, 0, now_ns));
	cc_trip(&qp, now_ns);
	cr_expect_eq(qp.delay.shortest_ns, 20 * US, "%u", qp.delay.shortest_ns);
}

/* So much in parts of a packet, and the last round trip took so long; the window does not double. */
static void begin_with_parts(uint32_t frames, uint32_t took_us)
{
	begin();
	trip(20);
	qp.delay.frames = frames;
	qp.delay.last_ns = took_us * US;
	qp.delay.starts = false;
}

/* 151/256 of 1024 bytes in 20 us are 241.6 Mbit/s. */
Test(cc_delay, rate_is_the_window_per_mean_round_trip)
{
	RULE("N-4");
	begin_with_parts(100, 20);
	trip_of(20, 1);
	cr_assert_eq(qp.delay.frames, 151);
	cr_assert_eq(qp.rtt.srtt_ns, 20 * US);
	cr_expect_eq(qp.pace.mbps, 242, "%u", qp.pace.mbps);
}

Test(cc_delay, reset_ends_rate_and_burst)
{
	RULE("N-4");
	begin();
	trip(100);
	trips(30, 1000);
	rc_cc_lost(&qp, now_ns);
	cr_assert(qp.pace.on && !cc_burst_is_full(&qp));
	rc_cc_reset(&qp);
	cr_expect(!qp.pace.on && cc_burst_is_full(&qp));
	cr_expect_eq(cc_window(&qp), 1);
}

Test(cc_delay, window_cut_ends_doubling)
{
	RULE("N-4");
	begin_with_16(20);
	rc_cc_lost(&qp, now_ns);
	cr_assert_eq(cc_window(&qp), 8);
	trip(20);
	cr_expect_eq(cc_window(&qp), 9);
}

/* The 64th long one in a row, and short ones begin the count anew. */
Test(cc_delay, long_round_trips_are_counted_at_the_minimum_window)
{
	RULE("N-4");
	begin_with_parts(4, 1000);
	qp.delay.stuck = 62;
	trip(1000);
	cr_expect_eq(qp.delay.shortest_ns, 20 * US);
	cr_expect_eq(qp.delay.stuck, 63);
	trip(1000);
	cr_expect_eq(qp.delay.shortest_ns, 1000 * US);
	cr_expect_eq(qp.delay.stuck, 0);
	begin_with_parts(4, 20);
	qp.delay.stuck = 62;
	trip(20);
	cr_expect_eq(qp.delay.stuck, 0);
}

Test(cc_delay, window_grows_by_half_below_a_packet_then_by_a_packet)
{
	RULE("N-4");
	begin_with_parts(100, 20);
	trip_of(20, 1);
	cr_expect_eq(qp.delay.frames, 151);
	begin_with_parts(256, 20);
	trip_of(20, 1);
	cr_expect_eq(qp.delay.frames, 512);
}

Test(cc_delay, without_delay_the_window_grows_by_an_eighth)
{
	uint32_t frames = 100 * 256;

	RULE("N-4");
	begin_with_parts(frames, 20);
	qp.delay.calm = 5;
	for (uint32_t i = 0; i < 4; i++) {
		trip_of(20, 1000);
		frames += frames / 8;
		cr_expect_eq(qp.delay.frames, frames, "%u", qp.delay.frames);
	}
}

/* 100 Gbit/s: 256 packets of 1024 bytes take 20971 ns. */
Test(cc_delay, measured_delay_is_at_least_a_nanosecond)
{
	RULE("N-4");
	begin();
	qp.line_mbps = 100000;
	rtt_begin(&qp.rtt, qp.win.snd_nxt, now_ns);
	cc_timed(&qp, 257);
	now_ns += 20971;
	qp.win.snd_una = qp.win.snd_nxt = psn_add(qp.win.snd_nxt, 257);
	cr_assert(rtt_answered(&qp.rtt, qp.win.snd_una, 0, now_ns));
	cc_trip(&qp, now_ns);
	cr_expect_eq(qp.delay.shortest_ns, 1, "%u", qp.delay.shortest_ns);
}

/* 20 + 10 + 30/2 us for four packets. */
Test(cc_delay, round_trip_at_the_threshold_grows_the_window)
{
	RULE("N-4");
	begin_with_parts(4 * 256, 45);
	trip_of(45, 4);
	cr_expect_eq(qp.delay.frames, 5 * 256, "%u", qp.delay.frames);
	begin_with_parts(4 * 256, 46);
	trip_of(46, 4);
	cr_expect_lt(qp.delay.frames, 4 * 256, "%u", qp.delay.frames);
}

/* Half of all PSNs lie ahead of another one: the end of what was in flight at a loss must not stay behind. */
Test(cc_delay, loss_long_after_the_last_halves_the_window)
{
	RULE("N-4");
	begin_with_16(20);
	rc_cc_lost(&qp, now_ns);
	cr_assert_eq(cc_window(&qp), 8);
	for (uint32_t i = 0; i < 3; i++)
		trip_of(20, 1u << 22);
	cr_assert_eq(cc_window(&qp), 11);
	rc_cc_lost(&qp, now_ns);
	cr_expect_eq(cc_window(&qp), 5);
}

Test(cc_delay, round_trip_within_the_lost_flight_keeps_its_end)
{
	RULE("N-4");
	begin_with_16(20);
	qp.win.snd_nxt = psn_add(qp.win.snd_una, 16);
	rc_cc_lost(&qp, now_ns);
	cr_assert_eq(cc_window(&qp), 8);
	rtt_begin(&qp.rtt, qp.win.snd_una, now_ns);
	qp.win.snd_una = psn_next(qp.win.snd_una);
	now_ns += 20 * US;
	cr_assert(rtt_answered(&qp.rtt, qp.win.snd_una, 0, now_ns));
	cc_trip(&qp, now_ns);
	rc_cc_lost(&qp, now_ns);
	cr_expect_geq(cc_window(&qp), 8, "%u", cc_window(&qp));
}

Test(cc_delay, timeout_shrinks_the_burst_and_restarts_doubling)
{
	RULE("N-4");
	begin_with_16(20);
	stop_doubling();
	rc_cc_timed_out(&qp);
	cr_expect_not(cc_burst_is_full(&qp));
	trips(3, 20);
	cr_expect_eq(cc_window(&qp), 8, "%u", cc_window(&qp));
}

/* The window that is given back is that before the last time-out, and once. */
Test(cc_delay, window_is_restored_once_and_only_to_a_larger_one)
{
	RULE("N-4");
	begin_with_16(20);
	rc_cc_timed_out(&qp);
	rc_cc_undo(&qp);
	cr_assert_eq(cc_window(&qp), 16);
	rc_cc_lost(&qp, now_ns);
	rc_cc_undo(&qp);
	cr_expect_eq(cc_window(&qp), 8);
	begin();
	trip(20);
	rc_cc_timed_out(&qp);
	trip(20);
	cr_assert_eq(cc_window(&qp), 2);
	rc_cc_undo(&qp);
	trip(20);
	cr_expect_eq(cc_window(&qp), 4, "it goes on doubling: %u", cc_window(&qp));
}

Test(cc_delay, deliveries_and_sent_packets_change_nothing)
{
	struct rc_qp before;

	RULE("N-4");
	begin();
	trip(100);
	trips(30, 1000);
	cr_assert(qp.pace.on && qp.cc.limited);
	before = qp;
	cc_delivered(&qp);
	rc_cc_elapsed(&qp, now_ns + 1000000);
	rc_cc_sent(&qp, 1, 100000000, now_ns + 2000000);
	cr_expect_eq(memcmp(&before, &qp, sizeof(qp)), 0);
}

Test(cc_delay, changed_algorithm_drops_window_and_rate)
{
	RULE("N-4");
	begin();
	trip(100);
	trips(30, 1000);
	cr_assert(qp.pace.on);
	rc_cc_choose(&qp, UROCE_CC_FIXED);
	cr_expect(!qp.pace.on && cc_is_open(&qp));
	cr_expect_eq(cc_window(&qp), WINDOW_PACKETS);
}
