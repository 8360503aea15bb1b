/* away.c - an lcore whose thread has no core is counted, logged and reported; an application that pauses is not */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <rte_lcore.h>

#include <uroce/inspect.h>

#include "network.h"
#include "rule.h"
#include "start.h"

#define MS_NS 1000000u
#define S_NS 1000000000ull
#define PAIRS 150u

TestSuite(away, .init = test_eal_start, .timeout = 60);

static struct network network;
static char logged[4096];

/* The kernel's clock and what it counts of the thread, as the test sets them. */
static uint64_t now_ns, ran_ns, starved_ns;
static long sleeps;

uint64_t __wrap_engine_now_ns(void);
uint64_t __real_engine_now_ns(void);
int __wrap_getrusage(int who, struct rusage *usage);
ssize_t __wrap_pread64(int fd, void *text, size_t bytes, off_t offset);

uint64_t __wrap_engine_now_ns(void)
{
	return now_ns ? now_ns : __real_engine_now_ns();
}

int __wrap_getrusage(int who, struct rusage *usage)
{
	cr_assert_eq(who, RUSAGE_THREAD);
	*usage = (struct rusage){
		.ru_utime = { (time_t)(ran_ns / S_NS), (long)(ran_ns % S_NS / 1000) },
		.ru_nvcsw = sleeps,
	};
	return 0;
}

/* pread(), as the C library names it in a program with large files. Nothing else reads a file in this way. */
ssize_t __wrap_pread64(int fd, void *text, size_t bytes, off_t offset)
{
	cr_assert(fd >= 0 && offset == 0);
	return snprintf(text, bytes, "%lu %lu 7\n", ran_ns, starved_ns);
}

static void keep_warning(void *context, enum uroce_log_level level, const char *text)
{
	size_t at = strlen(logged);

	(void)context;
	if (level == UROCE_LOG_WARNING)
		snprintf(logged + at, sizeof(logged) - at, "%s\n", text);
}

/* The thread polls for ms milliseconds. */
static void poll_for(unsigned ms)
{
	for (unsigned i = 0; i < ms; i++) {
		now_ns += MS_NS;
		ran_ns += MS_NS;
		network_poll(&network);
	}
}

/* The next poll comes `ms` later, of which the thread had a core for ran_ms. */
static void pause_for(uint64_t ms, uint64_t ran_ms, long slept)
{
	now_ns += ms * MS_NS;
	ran_ns += ran_ms * MS_NS;
	sleeps += slept;
	network_poll(&network);
	poll_for(200);
}

static struct uroce_lcore_view view_of(unsigned lcore)
{
	struct uroce_lcore_view view;

	cr_assert_eq(uroce_inspect_lcore(network.engine, lcore, &view), 0);
	return view;
}

static void open_connected(bool connected)
{
	now_ns = 1000 * S_NS;
	logged[0] = '\0';
	uroce_log_set(keep_warning, NULL);
	network_open_ends(&network);
	if (connected)
		network_connect(&network, false);
	poll_for(200);
}

static void close_network(void)
{
	uroce_log_set(NULL, NULL);
	network_close(&network);
}

static void expect_away(uint64_t count, uint64_t ms)
{
	struct uroce_lcore_view view = view_of(0);

	cr_expect_eq(view.away_count, count, "%lu", view.away_count);
	cr_expect(view.away_ns / MS_NS >= ms && view.away_ns / MS_NS <= ms + 50 * count, "%lu ms",
		  view.away_ns / MS_NS);
}

Test(away, lcore_without_a_core_is_counted_and_logged)
{
	open_connected(true);
	pause_for(412, 0, 0);
	expect_away(1, 412);
	cr_expect_str_eq(logged, "lcore 0 was away for 412 ms: the lcore's thread was not scheduled, or was stopped; "
				 "give the lcore a core of its own\n");
	pause_for(99, 0, 0);
	expect_away(1, 412);
	close_network();
}

Test(away, log_has_one_line_per_ten_seconds)
{
	open_connected(true);
	for (int i = 0; i < 4; i++)
		pause_for(200 + 100 * (uint64_t)i, 0, 0);
	expect_away(4, 1400);
	cr_expect_null(strstr(strchr(logged, '\n') + 1, "lcore"), "%s", logged);
	poll_for(10000);
	logged[0] = '\0';
	pause_for(150, 0, 0);
	expect_away(5, 1550);
	cr_expect(strncmp(logged, "lcore 0 was away 4 times, for up to 500 ms: ", 44) == 0, "%s", logged);
	close_network();
}

Test(away, application_that_sleeps_or_computes_is_not_away)
{
	open_connected(true);
	for (int i = 0; i < 10; i++)
		pause_for(412 + 100 * (uint64_t)i, 1, 1);
	pause_for(2000, 2000, 0); /* computed */
	pause_for(2000, 1950, 0); /* computed, and other threads had the core for a moment */
	expect_away(0, 0);
	cr_expect_str_empty(logged);
	close_network();
}

/* The kernel counts a stop as a sleep. */
Test(away, busy_lcore_of_a_stopped_process_is_away)
{
	open_connected(true);
	poll_for(1500);
	pause_for(412, 0, 1);
	expect_away(1, 412);
	pause_for(412, 0, 1); /* it has slept, or was stopped, just now */
	expect_away(1, 412);
	poll_for(1500);
	uroce_lcore_wait(uroce_engine_lcore(network.engine, 0), NULL, 0, 1000);
	pause_for(412, 0, 1);
	expect_away(1, 412);
	close_network();
}

Test(away, sleeping_lcore_that_waits_for_a_core_is_away)
{
	open_connected(true);
	starved_ns += 412 * MS_NS;
	pause_for(1412, 0, 1);
	expect_away(1, 412);
	starved_ns += 90 * MS_NS;
	pause_for(1412, 0, 1);
	expect_away(1, 412);
	starved_ns += 5000 * MS_NS; /* also in polls before; an absence is no longer than the time between two polls */
	pause_for(412, 0, 1);
	expect_away(2, 824);
	close_network();
}

/* Attributes of a QP whose peer's address does not exist. */
static struct uroce_qp_attr without_station(void)
{
	return (struct uroce_qp_attr){
		.dest_qp_num = 2,
		.timeout = 8,
		.retry_cnt = 3,
		.path = { .source = network_address("10.0.0.1"), .dest = network_address("10.0.0.77") },
	};
}

/* How long requests wait for a MAC while nobody polls the lcore says nothing about the peer. */
Test(away, absence_does_not_count_as_the_silence_of_a_station)
{
	struct uroce_qp_attr attr = without_station();
	struct uroce_wc wc;

	RULE("W-8");
	open_connected(false);
	cr_assert_eq(uroce_qp_connect(network.ends[0].qp, &attr, NULL), 0, "%s", uroce_last_error());
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	for (int i = 0; i < 3; i++) {
		now_ns += 4 * S_NS;
		poll_for(800);
		cr_expect_eq(uroce_cq_poll(network.ends[0].cq, 1, &wc), 0, "absence %d", i);
	}
	poll_for(310);
	cr_assert_eq(uroce_cq_poll(network.ends[0].cq, 1, &wc), 1);
	cr_expect_eq(wc.status, UROCE_WC_RETRY_EXC_ERR);
	close_network();
}

/* An application that polls only five times a second does not wait for ever. */
Test(away, rarely_polled_lcore_reports_a_missing_station)
{
	struct uroce_qp_attr attr = without_station();
	struct uroce_wc wc;
	int polls = 0;

	RULE("W-8");
	open_connected(false);
	cr_assert_eq(uroce_qp_connect(network.ends[0].qp, &attr, NULL), 0, "%s", uroce_last_error());
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	for (; polls < 40 && uroce_cq_poll(network.ends[0].cq, 1, &wc) == 0; polls++) {
		now_ns += 200 * MS_NS;
		network_poll(&network);
	}
	cr_expect(polls > 25 && polls < 35, "%d", polls);
	close_network();
}

Test(away, lcore_without_connected_qps_is_not_away)
{
	open_connected(false);
	pause_for(412, 0, 0);
	expect_away(0, 0);
	close_network();
}

/* A thread that takes an lcore over is not measured against the thread before. */
Test(away, lcore_of_another_thread_restarts_its_measurement)
{
	open_connected(true);
	ran_ns = 0;
	pause_for(412, 0, 0);
	expect_away(0, 0);
	pause_for(412, 0, 0);
	expect_away(1, 412);
	close_network();
}

static void open_sacks(uint16_t window)
{
	network_sack_window = window;
	open_connected(true);
	network_sack_window = 0;
}

/* What end 0 knows of the absence of its peer's lcore, which is its own lcore as well. */
static struct uroce_qp_view view_of_qp(void)
{
	struct uroce_qp_view view;

	cr_assert_eq(uroce_inspect_qp(network.engine, uroce_qp_num(network.ends[0].qp), &view), 0);
	return view;
}

static void expect_why(const char *sentence)
{
	char why[UROCE_WHY_BYTES];

	cr_assert_eq(uroce_qp_why(network.engine, uroce_qp_num(network.ends[0].qp), why, sizeof(why)), 0);
	if (sentence)
		cr_expect(strstr(why, sentence), "\"%s\" is not in: %s", sentence, why);
	else
		cr_expect_null(strstr(why, "the peer reported"), "%s", why);
}

Test(away, peer_learns_how_long_an_lcore_was_away)
{
	struct uroce_qp_view view;

	RULE("C-33");
	open_sacks(256);
	cr_expect_eq(view_of_qp().peer_away_ns, 0);
	expect_why(NULL);
	pause_for(412, 0, 0);
	view = view_of_qp();
	expect_away(1, view.peer_away_ns / MS_NS);
	cr_expect_geq(view.peer_away_ns, 412 * MS_NS);
	cr_expect_eq(view.peer_away_age_ns, 200 * MS_NS, "%lu", view.peer_away_age_ns);
	cr_expect_eq(network_counter(&network, 0, "rx_peer_away"), 1);
	cr_expect_eq(network_counter(&network, 0, "keepalives"), 1);
	cr_expect_eq(network_counter(&network, 0, "local_ack_timeout_err"), 0);
	poll_for(1800);
	expect_why("the peer reported 2.0 s ago that the peer's lcore was not scheduled for 4");
	poll_for(60000);
	expect_why(NULL);
	close_network();
}

Test(away, peer_gets_one_report_per_second)
{
	RULE("C-33");
	open_sacks(256);
	for (int i = 0; i < 3; i++) /* each takes 0.4 s */
		pause_for(200, 0, 0);
	cr_expect_eq(network_counter(&network, 0, "rx_peer_away"), 1);
	pause_for(200, 0, 0);
	cr_expect_eq(network_counter(&network, 0, "rx_peer_away"), 2);
	close_network();
}

Test(away, peer_without_sacks_gets_no_report)
{
	RULE("C-33");
	open_sacks(0);
	pause_for(412, 0, 0);
	expect_away(1, 412);
	cr_expect_eq(view_of_qp().peer_away_ns, 0);
	cr_expect_eq(network_counter(&network, 0, "keepalives"), 0);
	expect_why(NULL);
	close_network();
}

/* The report does not follow the failure, however late a person queries its cause. */
Test(away, failed_qp_names_the_absence_of_its_peer)
{
	struct uroce_wc wc;

	RULE("C-33");
	RULE("E-4");
	open_sacks(256);
	pause_for(412, 0, 0);
	poll_for(800);
	cr_assert_eq(uroce_qp_destroy(network.ends[1].qp), 0);
	network.ends[1].qp = NULL;
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	while (uroce_cq_poll(network.ends[0].cq, 1, &wc) == 0)
		poll_for(1);
	cr_assert_eq(wc.status, UROCE_WC_RETRY_EXC_ERR);
	expect_why(" s before the failure that the peer's lcore was not scheduled for 4");
	poll_for(100000);
	expect_why(" s before the failure that the peer's lcore was not scheduled for 4");
	close_network();
}

/* Each absence costs a frame per QP and its ACK: all at once they would cost a starved lcore its CPU time. */
Test(away, reports_to_many_peers_are_spread_over_time)
{
	struct uroce_qp *qps[2][PAIRS];

	RULE("C-33");
	network_max_qps = 4 * PAIRS;
	network_sack_window = 256;
	now_ns = 1000 * S_NS;
	network_open(&network, 1);
	for (unsigned i = 0; i < PAIRS; i++) {
		for (int end = 0; end < 2; end++) {
			network_create_qp(&network, end, 4 * PAIRS, 0);
			qps[end][i] = network.ends[end].qp;
		}
		network_connect(&network, false);
	}
	network_max_qps = network_sack_window = 0;
	poll_for(200);
	now_ns += 412 * MS_NS;
	network_poll(&network);
	poll_for(40);
	cr_expect_eq(network_counter(&network, 0, "keepalives") + network_counter(&network, 1, "keepalives"), 50);
	poll_for(1000);
	for (int end = 0; end < 2; end++) {
		cr_expect_eq(network_counter(&network, end, "keepalives"), PAIRS);
		cr_expect_eq(network_counter(&network, end, "rx_peer_away"), PAIRS);
		for (unsigned i = 0; i + 1 < PAIRS; i++)
			cr_assert_eq(uroce_qp_destroy(qps[end][i]), 0);
	}
	close_network();
}
