/* restarted_peer.c - a peer restarted at the same address and QPN executes no request to its previous connection */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/qp.h"
#include "engine/steer.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define ACK_TIMEOUT 8 /* 1 ms, so that the survivor gives up soon */
#define BYTES 20000u

TestSuite(restarted_peer, .init = test_eal_start, .timeout = 60);

/* Gives qp, which nobody knows yet, the number of another that is no more: chance would need 2^24 tries. */
static void take_number(struct uroce_engine *engine, struct uroce_qp *qp, uint32_t qpn)
{
	uint32_t index = qpn & (engine->index_count - 1);

	atomic_store(&engine->qps[qp->index].qp, NULL);
	engine->qps[qp->index].taken = false;
	atomic_store(&engine->qps[index].qpn, qpn);
	atomic_store(&engine->qps[index].qp, qp);
	engine->qps[index].taken = true;
	qp->index = index;
	qp->qpn = qp_core(qp)->qpn = qpn;
}

/* Connects a new QP of end 0, which begins at psn, with a new one of end 1 that has this number. */
static void connect_anew(struct network *network, uint32_t qpn, uint32_t psn)
{
	for (int i = 0; i < 2; i++)
		network_create_qp(network, i, 64, -1);
	take_number(network->engine, network->ends[1].qp, qpn);
	rc_qp_renew_psn(qp_core(network->ends[0].qp), psn);
	cr_assert_eq(uroce_qp_query(network->ends[0].qp, &network->ends[0].attr), 0);
	cr_assert_eq(network->ends[0].attr.sq_psn, psn);
	network_connect(network, false);
}

/* The survivor of the first connection sends to whoever has its peer's number, until it gives up. */
static void expect_given_up(struct network *network, uint32_t requests)
{
	for (uint32_t i = 0; i < requests; i++)
		cr_assert_eq(network_wait(network, 0).status, i ? UROCE_WC_WR_FLUSH_ERR : UROCE_WC_RETRY_EXC_ERR);
	network_event(network, 0, UROCE_EVENT_QP_FATAL);
}

static void expect_untouched(const uint8_t *memory)
{
	for (uint32_t i = 0; i < BYTES; i++)
		cr_assert_eq(memory[i], 0x55, "byte %u was written by a request of the earlier life", i);
}

/* TC-F-10, TC-F-7: the requests of then are ahead of what is expected now, or behind it, as far as can be. */
Test(restarted_peer, requests_to_a_previous_connection_are_never_executed)
{
	static const struct {
		uint32_t ahead;
		const char *counter;
	} rows[] = {
		{ 1000, "out_of_sequence" },
		{ (1u << 23) - 100, "out_of_sequence" },
		{ 1u << 23, "duplicate_request" },
		{ (1u << 24) - 1000, "duplicate_request" },
	};

	RULE("P-6");
	for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++) {
		static struct network network;
		struct uroce_qp *survivor;
		uint32_t qpn, psn;

		network_open(&network, 1);
		network.timeout = ACK_TIMEOUT;
		for (int i = 0; i < 2; i++)
			network_create_qp(&network, i, 64, -1);
		network_connect(&network, false);
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
		survivor = network.ends[0].qp;
		psn = qp_core(survivor)->win.snd_max.v;
		for (int i = 0; i < 4; i++)
			cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, BYTES), 0);
		qpn = uroce_qp_num(network.ends[1].qp);
		cr_assert_eq(uroce_qp_destroy(network.ends[1].qp), 0);
		connect_anew(&network, qpn, (psn - rows[row].ahead) & 0xFFFFFF);
		memset(network.ends[1].buffer, 0x55, BYTES);
		expect_given_up(&network, 4);
		expect_untouched(network.ends[1].buffer);
		cr_assert_gt(network_counter(&network, 1, rows[row].counter), 0, "row %zu: none arrived", row);
		cr_assert_eq(network_counter(&network, 1, "rx_write_requests"), 1);
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, BYTES), 0);
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
		cr_assert_arr_eq(network.ends[1].buffer, network.ends[0].buffer, BYTES);
		cr_assert_eq(uroce_qp_destroy(survivor), 0);
		network_close(&network);
	}
}
