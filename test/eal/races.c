/* races.c - what happens at the same moment as its opposite: an answer and its timeout, a timer and its QP, a stop */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_eal.h>

#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "flows.h"
#include "rule.h"

#define ACK_TIMEOUT 10 /* 4.2 ms */
#define ACK_TIMEOUT_NS (4096ull << ACK_TIMEOUT)
#define SECOND_NS 1000000000ull

/* Two workers besides, on the same core. */
static void start_with_workers(void)
{
	char *arguments[] = { (char *)"eal", (char *)"--no-huge", (char *)"--no-shconf",          (char *)"--no-pci",
			      (char *)"-m",  (char *)"64",        (char *)"--lcores=0@0,1@0,2@0", NULL };

	cr_assert_geq(rte_eal_init(7, arguments), 0, "EAL does not start");
}

TestSuite(races, .init = start_with_workers, .timeout = 60);

static void open_connected(struct network *network)
{
	network_open(network, 1);
	network->timeout = ACK_TIMEOUT;
	network_create_qp(network, 0, 64, -1);
	network_create_qp(network, 1, 64, -1);
	network_connect(network, false);
	/* the peer's address is found */
	cr_assert_eq(network_post(network, UROCE_WR_RDMA_WRITE, 8), 0);
	cr_assert_eq(network_wait(network, 0).status, UROCE_WC_SUCCESS);
}

static void let_time_pass(uint64_t ns)
{
	for (uint64_t end = engine_now_ns() + ns; engine_now_ns() < end;)
		rte_pause();
}

/* The answer lies in the port when the timer is due. false: it was due before, for the machine had other work. */
static bool race_answer_and_timeout(struct network *network)
{
	uint64_t expiries = network_counter(network, 0, "local_ack_timeout_err");
	uint64_t resent = network_counter(network, 0, "retransmitted_packets");
	bool waits = false;
	struct uroce_wc wc;

	cr_assert_eq(network_post(network, UROCE_WR_RDMA_WRITE, 8), 0);
	for (int i = 0; i < 3 && !waits; i++) {
		network_poll(network);
		waits = rte_ring_count(network->loop.rings[0][0]) > 0;
	}
	cr_assert(waits, "no answer");
	let_time_pass(2 * ACK_TIMEOUT_NS);
	if (network_counter(network, 0, "retransmitted_packets") != resent) {
		network_wait(network, 0);
		return false;
	}
	network_poll(network);
	cr_assert_eq(uroce_cq_poll(network->ends[0].cq, 1, &wc), 1);
	cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
	cr_assert_eq(network_counter(network, 0, "local_ack_timeout_err"), expiries);
	cr_assert_eq(network_counter(network, 0, "retransmitted_packets"), resent);
	return true;
}

/* TC-L-1 */
Test(races, answer_in_the_poll_of_its_timeout_is_in_time)
{
	static struct network network;
	uint64_t end = engine_now_ns() + 30 * SECOND_NS;
	uint32_t rounds = 0;

	RULE("T-1");
	open_connected(&network);
	while (rounds < 20 && engine_now_ns() < end)
		rounds += race_answer_and_timeout(&network);
	cr_assert_eq(rounds, 20);
	network_close(&network);
}

/* TC-L-2: the timer is due, and its QP goes before it fires; another one takes its memory. */
Test(races, due_timer_is_cancelled_with_its_qp)
{
	static struct network network;
	struct end *end = &network.ends[0];
	struct uroce_event event;
	struct uroce_wc wc;
	uint64_t sent;

	RULE("X-4");
	open_connected(&network);
	for (int round = 0; round < 10; round++) {
		const struct uroce_lcore *lcore = uroce_engine_lcore(network.engine, 0);

		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
		network_poll(&network);
		cr_assert_gt(lcore->wheel.armed, 0);
		let_time_pass(2 * ACK_TIMEOUT_NS);
		for (int i = 0; i < 2; i++)
			cr_assert_eq(uroce_qp_destroy(network.ends[i].qp), 0);
		cr_assert_eq(lcore->wheel.armed, 0);
		network_create_qp(&network, 0, 64, -1);
		network_create_qp(&network, 1, 64, -1);
		sent = network_frames_sent(&network, 0);
		for (int i = 0; i < 100; i++)
			network_poll(&network);
		cr_assert_eq(network_frames_sent(&network, 0), sent);
		cr_assert_eq(uroce_cq_poll(end->cq, 1, &wc), 0);
		cr_assert_not(uroce_event_poll(end->device, &event));
		network_connect(&network, false);
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	}
	network_close(&network);
}

/* TC-L-3: the wait for a receive is over in the poll in which software gives up. */
Test(races, expired_rnr_wait_sends_nothing_after_err)
{
	static struct network network;
	struct uroce_qp_attr err = { .qp_state = UROCE_QPS_ERR };
	struct uroce_event event;
	struct uroce_wc wc;
	uint64_t sent;

	RULE("R-5");
	RULE("E-6");
	open_connected(&network);
	cr_assert_eq(network_post(&network, UROCE_WR_SEND, 8), 0);
	while (network_counter(&network, 0, "rnr_nak_retry_err") == 0)
		network_poll(&network);
	let_time_pass(ACK_TIMEOUT_NS);
	cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &err, UROCE_QP_STATE, NULL), 0);
	sent = network_frames_sent(&network, 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_WR_FLUSH_ERR);
	let_time_pass(ACK_TIMEOUT_NS);
	for (int i = 0; i < 100; i++)
		network_poll(&network);
	cr_assert_eq(network_frames_sent(&network, 0), sent);
	cr_assert_eq(uroce_cq_poll(network.ends[0].cq, 1, &wc), 0, "it was flushed once");
	cr_assert_not(uroce_event_poll(network.ends[0].device, &event), "ERR by software is no event");
	network_close(&network);
}

/* ---- lcores that are stopped and started ---- */

#define FLOWS 4u
#define STOPS 100u

static uint32_t frames_under_way(const struct network *network)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < 2; i++) {
		count += rte_ring_count(network->engine->lcores[i]->handover);
		for (unsigned queue = 0; queue < 2; queue++)
			count += rte_ring_count(network->loop.rings[i][queue]);
	}
	return count;
}

static bool work_for_a_while(struct network *network, struct flow *flows, bool post, uint64_t ns)
{
	bool busy = false;

	for (uint64_t end = engine_now_ns() + ns; engine_now_ns() < end; usleep(50)) {
		busy = false;
		for (uint32_t i = 0; i < FLOWS; i++) {
			if (post)
				flow_poll(network, &flows[i]);
			else
				flow_reap(&flows[i]);
			busy |= flows[i].completed < flows[i].posted;
		}
		if (!busy)
			break;
	}
	return busy;
}

/* TC-L-6: what lies in rings when the lcores stop is taken when they run again, on whichever lcore it belongs to. */
Test(races, lcores_may_stop_with_frames_in_every_ring)
{
	static const unsigned workers[] = { 1, 2 };
	static struct network network;
	struct flow flows[FLOWS];
	uint32_t caught = 0;

	RULE("Y-1");
	network_lcore_ids = workers;
	network_open(&network, 2);
	for (uint32_t i = 0; i < FLOWS; i++) {
		const struct flow_work work = {
			.opcode = i % 2 ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE,
			.bytes = 20000,
			.depth = 16,
			.lcore = (int)i / 2,
			.far_lcore = 1 - (int)i / 2,
		};

		flow_open(&network, &flows[i], &work);
	}
	for (uint32_t stop = 0; stop < STOPS; stop++) {
		cr_assert_eq(uroce_engine_start(network.engine), 0);
		work_for_a_while(&network, flows, true, 100000 + stop * 10000);
		uroce_engine_stop(network.engine);
		caught += frames_under_way(&network) > 0;
	}
	cr_expect_gt(caught, 0, "no stop met a frame");
	cr_assert_eq(uroce_engine_start(network.engine), 0);
	cr_assert_not(work_for_a_while(&network, flows, false, 30 * SECOND_NS), "a request never completed");
	uroce_engine_stop(network.engine);
	for (uint32_t i = 0; i < FLOWS; i++)
		flow_close(&flows[i]);
	network_close(&network);
}
