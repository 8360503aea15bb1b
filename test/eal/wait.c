/* wait.c - who polls an lcore itself and sleeps meanwhile: what ends the sleep, and what does not */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/if_ether.h>
#include <linux/if_packet.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "network.h"
#include "start.h"

#define LONG_NS 30000000000ull
#define SHORT_NS 100000000ull
#define SOON_S 15.0 /* far from both: a wait that was ended early, and one of LONG_NS */

TestSuite(wait, .init = test_eal_start, .timeout = 60);

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* How often this thread went to sleep. */
static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Returns when the main thread, the number of which is that of the process, has slept for five looks, or did not. */
static void let_main_thread_sleep(void)
{
	char path[64], state;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", getpid());
	for (int asleep = 0, looks = 0; asleep < 5 && looks < 10000; looks++) {
		FILE *file = fopen(path, "r");

		cr_assert_not_null(file);
		cr_assert_eq(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
		fclose(file);
		asleep = state == 'S' ? asleep + 1 : 0;
		usleep(1000);
	}
}

static double wait_for(struct uroce_lcore *lcore, const int *fds, unsigned count, uint64_t most_ns)
{
	double began = seconds(CLOCK_MONOTONIC);

	uroce_lcore_wait(lcore, fds, count, most_ns);
	return seconds(CLOCK_MONOTONIC) - began;
}

/* Since there were `before`. One who polls on never sleeps, and one who takes naps sleeps more often. */
static void expect_sleeps(long before, long least, long most)
{
	long count = sleeps() - before;

	cr_assert(least <= count && count <= most, "%ld sleeps", count);
}

/* ---- a port of a packet socket, with nobody but the kernel at its other end ---- */

struct site {
	struct uroce_engine *engine;
	struct uroce_lcore *lcore;
	struct uroce_port *port;
};

static void open_site(struct site *site)
{
	struct uroce_engine_config engine = { .lcore_count = 1 };
	struct uroce_port_config config = { .addresses = { "10.0.0.1/24" } };
	struct uroce_error error = { "" };

	if (geteuid() != 0 || unshare(CLONE_NEWNET) != 0)
		cr_skip_test("needs root for a network namespace");
	/* Without addresses of its own the kernel says nothing by itself. */
	if (system("ip link add ua type veth peer name ub && ip link set ua addrgenmode none up && "
		   "ip link set ub addrgenmode none up") != 0)
		cr_skip_test("needs iproute2 and veth");
	cr_assert_eq(uroce_engine_create(&engine, &site->engine), 0);
	config.engine = site->engine;
	cr_assert_eq(uroce_port_open("ua", &config, &site->port, &error), 0, "%s", error.text);
	site->lcore = uroce_engine_lcore(site->engine, 0);
	uroce_lcore_poll(site->lcore);
}

static void close_site(struct site *site)
{
	cr_assert_eq(uroce_port_close(site->port), 0);
	cr_assert_eq(uroce_engine_destroy(site->engine), 0);
}

/* Takes what has come, such as what the kernel says when an interface comes up, until nothing more does. */
static void calm_down(const struct site *site)
{
	double until = seconds(CLOCK_MONOTONIC) + 0.3, end = until + 10;

	while (seconds(CLOCK_MONOTONIC) < until && seconds(CLOCK_MONOTONIC) < end) {
		if (uroce_lcore_poll(site->lcore))
			until = seconds(CLOCK_MONOTONIC) + 0.3;
	}
}

static void *send_frame(void *nothing)
{
	const struct sockaddr_ll address = { .sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("ub") };
	uint8_t frame[64] = { [0] = 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, [12] = 0x88, 0xB5 };
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	let_main_thread_sleep();
	sendto(fd, frame, sizeof(frame), 0, (const struct sockaddr *)&address, sizeof(address));
	close(fd);
	return nothing;
}

/* The waiting thread polls the lcore, and sleeps between polls. */
Test(wait, wait_for_a_connection_event_leaves_the_core_to_others)
{
	struct uroce_cm_channel *channel;
	struct uroce_cm_event event;
	struct network network;
	long before;

	network_open(&network, 1);
	cr_assert_eq(uroce_cm_channel_create(network.engine, &channel), 0);
	before = sleeps();
	cr_expect_eq(uroce_cm_wait(channel, 200, &event), -ETIMEDOUT);
	expect_sleeps(before, 1, 1000);
	cr_assert_eq(uroce_cm_channel_destroy(channel), 0);
	network_close(&network);
}

Test(wait, frame_to_a_packet_socket_ends_the_wait)
{
	struct site site;
	long before;
	pthread_t sender;

	open_site(&site);
	cr_assert(uroce_lcore_wakes(site.lcore));
	calm_down(&site);
	before = sleeps();
	cr_assert_geq(wait_for(site.lcore, NULL, 0, SHORT_NS), 1e-9 * SHORT_NS);
	expect_sleeps(before, 1, 5);
	cr_assert_eq(pthread_create(&sender, NULL, send_frame, NULL), 0);
	cr_assert_lt(wait_for(site.lcore, NULL, 0, LONG_NS), SOON_S);
	pthread_join(sender, NULL);
	cr_assert_geq(uroce_lcore_poll(site.lcore), 1);
	cr_assert_geq(wait_for(site.lcore, NULL, 0, SHORT_NS), 1e-9 * SHORT_NS, "the frame was taken");
	close_site(&site);
}

Test(wait, interface_down_ends_only_one_wait)
{
	struct site site;
	int returns = 0;
	double began;

	open_site(&site);
	cr_assert_eq(system("ip link set ua down"), 0);
	began = seconds(CLOCK_MONOTONIC);
	while (seconds(CLOCK_MONOTONIC) - began < 1) {
		uroce_lcore_poll(site.lcore);
		wait_for(site.lcore, NULL, 0, SHORT_NS);
		returns++;
	}
	cr_assert_leq(returns, 20);
	close_site(&site);
}

Test(wait, descriptor_of_the_caller_ends_the_wait)
{
	struct network network;
	int fds[2] = { eventfd(0, 0), eventfd(1, 0) };

	network_open(&network, 1);
	cr_assert_not(uroce_lcore_wakes(uroce_engine_lcore(network.engine, 0)), "frames of a loop wake nobody");
	network_poll(&network);
	cr_assert_geq(wait_for(uroce_engine_lcore(network.engine, 0), fds, 1, SHORT_NS), 1e-9 * SHORT_NS);
	cr_assert_lt(wait_for(uroce_engine_lcore(network.engine, 0), fds, 2, LONG_NS), SOON_S);
	network_close(&network);
	close(fds[0]);
	close(fds[1]);
}

/* ---- other threads ---- */

static void *post_later(void *argument)
{
	struct network *network = argument;

	let_main_thread_sleep();
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_WRITE, 64), 0);
	return NULL;
}

static void *call_later(void *argument)
{
	struct network *network = argument;
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_ERR };

	let_main_thread_sleep();
	cr_assert_eq(uroce_qp_modify(network->ends[0].qp, &attr, UROCE_QP_STATE, NULL), 0);
	return NULL;
}

static void sleeps_until(void *(*begin)(void *), struct network *network)
{
	struct uroce_lcore *lcore = uroce_engine_lcore(network->engine, 0);
	bool joined = false;
	pthread_t thread;
	double began;
	long before;

	while (uroce_lcore_poll(lcore))
		;
	before = sleeps();
	cr_assert_eq(pthread_create(&thread, NULL, begin, network), 0);
	began = wait_for(lcore, NULL, 0, LONG_NS);
	cr_assert_lt(began, SOON_S);
	expect_sleeps(before, 1, 20);
	cr_assert_gt(uroce_lcore_poll(lcore), 0);
	while (!joined || uroce_lcore_poll(lcore)) {
		uroce_lcore_poll(lcore);
		joined = joined || pthread_tryjoin_np(thread, NULL) == 0;
	}
}

/* What woke it was taken: it does not wake for that again. A timer of seconds is looked at now and then before. */
static void expect_calm(struct uroce_lcore *lcore)
{
	double began = seconds(CLOCK_MONOTONIC);
	int waits = 0;

	for (; seconds(CLOCK_MONOTONIC) - began < 1e-9 * SHORT_NS; waits++) {
		wait_for(lcore, NULL, 0, SHORT_NS);
		uroce_lcore_poll(lcore);
	}
	cr_assert_leq(waits, 10);
}

Test(wait, post_or_call_of_another_thread_ends_the_wait)
{
	struct network network;

	network_open(&network, 1);
	network_create_qp(&network, 0, 64, -1);
	network_create_qp(&network, 1, 64, -1);
	network.timeout = 20; /* 4.3 s: no timer is due meanwhile */
	network_connect(&network, false);
	sleeps_until(post_later, &network);
	network_wait(&network, 0);
	expect_calm(uroce_engine_lcore(network.engine, 0));
	sleeps_until(call_later, &network);
	network_close(&network);
}

/* ---- timers ---- */

static uint16_t drop_all(uint16_t port, uint16_t queue, struct rte_mbuf **burst, uint16_t count, uint16_t max,
			 void *nothing)
{
	(void)port, (void)queue, (void)max, (void)nothing;
	rte_pktmbuf_free_bulk(burst, count);
	return 0;
}

Test(wait, due_timer_ends_the_wait)
{
	struct uroce_wc wc = { .wr_id = 0 };
	struct network network;
	double began;
	long before;
	int polls = 0;

	network_open(&network, 1);
	network_create_qp(&network, 0, 64, -1);
	network_create_qp(&network, 1, 64, -1);
	network.timeout = 12; /* 17 ms */
	network_connect(&network, false);
	cr_assert_not_null(rte_eth_add_rx_callback(network.loop.ports[1].port_id, 0, drop_all, NULL));
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 64), 0);
	began = seconds(CLOCK_MONOTONIC);
	before = sleeps();
	while (uroce_cq_poll(network.ends[0].cq, 1, &wc) == 0) {
		polls++;
		if (uroce_lcore_poll(uroce_engine_lcore(network.engine, 0)) == 0)
			uroce_lcore_wait(uroce_engine_lcore(network.engine, 0), NULL, 0, LONG_NS);
		cr_assert_lt(seconds(CLOCK_MONOTONIC) - began, 2 * SOON_S, "a timer was slept over");
	}
	cr_assert_eq(wc.status, UROCE_WC_RETRY_EXC_ERR);
	cr_assert_lt(seconds(CLOCK_MONOTONIC) - began, SOON_S, "each try came late");
	expect_sleeps(before, 1, 100);
	cr_assert_leq(polls, 100);
	network_close(&network);
}
