/* polls.c - what happens within one poll of an lcore, in which order, and what has to wait for the next one */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_ring.h>

#include "engine/deliver.h"
#include "engine/run_queue.h"
#include "flows.h"
#include "rule.h"
#include "start.h"

#define BYTES 64u
#define REQUESTS (2 * OUTBOX_PACKETS) /* as many as two services send */
#define WRITE_HEADERS_BYTES (14u + 20 + 8 + 12 + 16 + 4)
#define POLL_FRAME_BYTES (16384u / OUTBOX_PACKETS) /* so long each frame of a service that is a poll's worth */
#define FEW 20u                                    /* each with more requests than two polls send of it */

TestSuite(polls, .init = test_eal_start, .timeout = 60);

static struct network network;

static void finish(uint32_t requests)
{
	for (uint32_t i = 0; i < requests; i++)
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
}

static void finish_from(int end)
{
	cr_assert_eq(network_wait(&network, end).status, UROCE_WC_SUCCESS);
}

/* WRITEs of one packet each, more than a service sends. */
static void post_many(uint32_t frame_bytes)
{
	for (uint32_t i = 0; i < REQUESTS; i++)
		cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, frame_bytes - WRITE_HEADERS_BYTES), 0);
}

/* MAC addresses are known, and so many mbufs at hand that they limit nobody. */
static void open_connected(void)
{
	network_open_connected(&network, 1, 128);
	post_many(POLL_FRAME_BYTES);
	finish(REQUESTS);
	for (int i = 0; i < 8; i++)
		network_poll(&network); /* what was only thought lost, because this thread stood still, comes in */
}

static struct uroce_lcore *the_lcore(void)
{
	return uroce_engine_lcore(network.engine, 0);
}

static uint64_t frames_of(int end)
{
	return engine_find_port(the_lcore(), network.ends[end].device)->tx_frames;
}

/* Frames for an end that were not there yet when its port was last looked at. */
static unsigned under_way_to(int end)
{
	return rte_ring_count(network.loop.rings[end][0]);
}

static void post_flagged(int end, enum uroce_wr_opcode opcode, uint32_t flags)
{
	struct uroce_sge sge = {
		.addr = (uintptr_t)network.ends[end].buffer,
		.length = BYTES,
		.lkey = uroce_mr_lkey(network.ends[end].mr),
	};
	struct uroce_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = UROCE_SEND_SIGNALED | flags,
		.remote_addr = (uintptr_t)network.ends[!end].buffer,
		.rkey = uroce_mr_rkey(network.ends[!end].mr),
	};

	cr_assert_eq(uroce_qp_post_send(network.ends[end].qp, &wr, NULL), 0);
}

static void post_from(int end, enum uroce_wr_opcode opcode)
{
	post_flagged(end, opcode, 0);
}

/* One end's port is looked at before the other's, so both have their turn as the requester. */
Test(polls, request_packet_and_answer_leave_in_one_poll)
{
	static const enum uroce_wr_opcode opcodes[] = { UROCE_WR_RDMA_WRITE, UROCE_WR_RDMA_READ };

	RULE("S-18");
	open_connected();
	for (int i = 0; i < 4; i++) {
		int end = i / 2;
		uint64_t asked = frames_of(end), answered = frames_of(!end);
		struct uroce_wc wc;

		memset(network.ends[end].buffer, 1 + i, BYTES);
		memset(network.ends[!end].buffer, 101 + i, BYTES);
		post_from(end, opcodes[i % 2]);
		network_poll(&network);
		cr_assert_eq(frames_of(end) - asked, 1, "row %d: posted before the poll, not sent in it", i);
		cr_assert_eq(under_way_to(!end), 0, "row %d: sent, not received in the same poll", i);
		cr_assert_eq(frames_of(!end) - answered, 1, "row %d: received, not answered in the same poll", i);
		cr_assert_eq(under_way_to(end), 1, "row %d", i);
		cr_assert_eq(uroce_cq_poll(network.ends[end].cq, 1, &wc), 0);
		network_poll(&network);
		cr_assert_eq(uroce_cq_poll(network.ends[end].cq, 1, &wc), 1, "row %d: not done after two polls", i);
		cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
		cr_assert_arr_eq(network.ends[0].buffer, network.ends[1].buffer, BYTES);
	}
	network_close(&network);
}

/* A signaled request gives back its own entry and those of the unsignaled ones before it. */
Test(polls, a_send_queue_reports_its_free_entries)
{
	struct uroce_qp_init_attr init;
	struct uroce_qp *qp;

	RULE("Q-6");
	open_connected();
	qp = network.ends[0].qp;
	uroce_qp_query_init(qp, &init);
	cr_expect_eq(uroce_qp_send_free_count(qp), init.max_send_wr);
	for (uint32_t posted = 1; posted <= init.max_send_wr; posted++) {
		struct uroce_send_wr wr = { .opcode = UROCE_WR_RDMA_WRITE };

		wr.send_flags = posted == init.max_send_wr ? UROCE_SEND_SIGNALED : 0;
		cr_assert_eq(uroce_qp_post_send(qp, &wr, NULL), 0);
		cr_assert_eq(uroce_qp_send_free_count(qp), init.max_send_wr - posted);
	}
	cr_expect_eq(uroce_qp_post_send(qp, &(struct uroce_send_wr){ .opcode = UROCE_WR_RDMA_WRITE }, NULL), -ENOMEM);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_expect_eq(uroce_qp_send_free_count(qp), init.max_send_wr);
	network_close(&network);
}

Test(polls, small_sender_is_served_twice_per_poll)
{
	uint64_t before;

	open_connected();
	before = frames_of(0);
	post_many(POLL_FRAME_BYTES - 4);
	network_poll(&network);
	cr_assert_eq(frames_of(0) - before, REQUESTS);
	cr_assert_eq(under_way_to(1), REQUESTS / 2, "half of it after the poll had received");
	finish(REQUESTS);
	network_close(&network);
}

Test(polls, sender_of_16_kib_waits_for_the_next_poll)
{
	uint64_t before;

	open_connected();
	before = frames_of(0);
	post_many(POLL_FRAME_BYTES);
	network_poll(&network);
	cr_assert_eq(frames_of(0) - before, REQUESTS / 2);
	cr_assert_eq(under_way_to(1), 0, "nothing after the poll has received");
	network_poll(&network);
	cr_assert_eq(frames_of(0) - before, REQUESTS, "the next poll is another one");
	finish(REQUESTS);
	network_close(&network);
}

/* The answer begins behind the reception; from then on it is what a poll begins with. */
Test(polls, read_responder_is_served_once_per_poll)
{
	uint64_t before;

	open_connected();
	before = frames_of(1);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_READ, 5 * OUTBOX_PACKETS * 4096), 0);
	for (uint32_t poll = 1; poll <= 5; poll++) {
		network_poll(&network);
		cr_assert_eq(frames_of(1) - before, poll * OUTBOX_PACKETS, "poll %u", poll);
	}
	finish(1);
	network_close(&network);
}

/* All of them come in one burst. */
Test(polls, burst_draws_one_ack_or_one_per_message_with_ack_each)
{
	RULE("S-14");
	for (int each = 0; each < 2; each++) {
		uint64_t before;

		network_acks_each = each;
		open_connected();
		before = frames_of(1);
		for (uint32_t i = 0; i < 10; i++)
			post_from(0, UROCE_WR_RDMA_WRITE);
		network_poll(&network);
		cr_assert_eq(frames_of(1) - before, each ? 10 : 1);
		finish(10);
		network_close(&network);
	}
	network_acks_each = false;
}

static uint32_t most_completions; /* in the outbox, seen when port 1 sends */

static uint16_t see_outbox(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t count, void *nothing)
{
	(void)port, (void)queue, (void)frames, (void)nothing;
	if (most_completions < the_lcore()->out.completion_count)
		most_completions = the_lcore()->out.completion_count;
	return count;
}

/* For 64 messages; where those go that end 1 sends. */
static void post_receives(struct uroce_qp *qp)
{
	struct uroce_sge sge = {
		.addr = (uintptr_t)network.ends[0].buffer,
		.length = BYTES,
		.lkey = uroce_mr_lkey(network.ends[0].mr),
	};
	const struct uroce_recv_wr wr = { .sg_list = &sge, .num_sge = qp == network.ends[0].qp };

	for (uint32_t i = 0; i < FLOW_DEPTH; i++)
		cr_assert_eq(uroce_qp_post_recv(qp, &wr, NULL), 0);
}

/* SENDs from both ends in one poll, more than the outbox has room for before it is to be emptied. */
Test(polls, ack_each_delivers_all_completions)
{
	const struct flow_work work = { .opcode = UROCE_WR_SEND, .depth = FLOW_DEPTH };
	struct flow flows[POLL_FRAMES / OUTBOX_PACKETS];
	const uint32_t count = POLL_FRAMES / OUTBOX_PACKETS;

	network_acks_each = true;
	open_connected();
	post_receives(network.ends[0].qp);
	for (uint32_t i = 0; i < count; i++) {
		flow_open(&network, &flows[i], &work);
		post_receives(flows[i].qps[1]);
		flow_poll(&network, &flows[i]);
	}
	for (uint32_t i = 0; i < FLOW_DEPTH; i++)
		post_from(1, UROCE_WR_SEND);
	cr_assert_not_null(rte_eth_add_tx_callback(network.loop.ports[1].port_id, 0, see_outbox, NULL));
	network_poll(&network);
	cr_assert_leq(most_completions, COMPLETIONS_DRAIN);
	cr_assert_gt(most_completions, COMPLETIONS_DRAIN / 2, "nothing was seen");
	for (uint32_t i = 0; i < count; i++) {
		flow_drain(&network, &flows[i]);
		flow_close(&flows[i]);
	}
	network_close(&network);
	network_acks_each = false;
}

/* The response of a READ comes to a QP that owes an ACK, for its port had no room, and holds a request back. */
Test(polls, ack_each_does_not_stall_requests)
{
	struct uroce_wc wc[2];
	int done = 0;

	network_acks_each = true;
	open_connected();
	post_from(0, UROCE_WR_RDMA_READ);
	post_flagged(0, UROCE_WR_RDMA_WRITE, UROCE_SEND_FENCE);
	network_poll(&network); /* asks and answers */
	qp_core(network.ends[0].qp)->responder.ack.due |= WORK_ACK;
	for (int i = 0; i < 100; i++) {
		network_poll(&network);
		done += uroce_cq_poll(network.ends[0].cq, 2 - done, &wc[done]);
	}
	cr_assert_eq(done, 2);
	network_close(&network);
	network_acks_each = false;
}

static void post_all(struct flow *flows, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		flow_poll(&network, &flows[i]);
}

static void open_few(struct flow *flows)
{
	const struct flow_work work = { .opcode = UROCE_WR_RDMA_WRITE, .bytes = 8, .depth = FLOW_DEPTH };

	network_max_qps = 4096;
	open_connected();
	for (uint32_t i = 0; i < FEW; i++)
		flow_open(&network, &flows[i], &work);
	post_all(flows, FEW);
	for (uint32_t i = 0; i < FEW; i++)
		flow_drain(&network, &flows[i]); /* the MAC addresses are known */
}

static void close_few(struct flow *flows)
{
	for (uint32_t i = 0; i < FEW; i++) {
		flow_drain(&network, &flows[i]);
		flow_close(&flows[i]);
	}
	network_close(&network);
	network_max_qps = 0;
}

/* But for the rest of a service. So much that is on its way stays in the caches; an answer does not wait behind it. */
Test(polls, poll_sends_at_most_received_frames_plus_answers)
{
	struct flow flows[FEW];
	uint64_t before;

	RULE("S-18");
	open_few(flows);
	post_all(flows, FEW);
	before = frames_of(0);
	network_poll(&network);
	cr_assert_eq(frames_of(0) - before, POLL_FRAMES);
	cr_assert_eq(under_way_to(1), 0, "all of it was received in the same poll");
	before = frames_of(0);
	post_from(1, UROCE_WR_RDMA_WRITE);
	network_poll(&network);
	cr_assert_geq(frames_of(0) - before, POLL_FRAMES, "it was no poll in full");
	cr_assert_leq(frames_of(0) - before, POLL_FRAMES + OUTBOX_PACKETS);
	cr_assert_not(qp_core(network.ends[0].qp)->responder.ack.due & WORK_ACK);
	finish_from(1);
	close_few(flows);
}

/* The duplicate lies before a READ, the new request behind it: one ACK cannot answer both (S-8). */
Test(polls, two_answers_do_not_wait_behind_requests)
{
	struct flow flows[FEW];
	struct rc_responder *resp;
	uint64_t before;

	RULE("S-18");
	open_few(flows);
	resp = &qp_core(network.ends[0].qp)->responder;
	post_from(1, UROCE_WR_RDMA_WRITE);
	post_from(1, UROCE_WR_RDMA_READ);
	finish_from(1);
	finish_from(1);
	resp->ack.due |= WORK_REPEAT_ACK;
	resp->ack.repeat_psn = psn_previous(psn_previous(resp->epsn));
	post_all(flows, FEW);
	post_from(1, UROCE_WR_RDMA_WRITE);
	before = frames_of(0);
	network_poll(&network);
	cr_assert_eq(frames_of(0) - before, POLL_FRAMES + 2, "and two ACKs, %lu", frames_of(0) - before);
	finish_from(1);
	close_few(flows);
}

#define STEADY (POLL_FRAMES / OUTBOX_PACKETS) /* flows that always have more to send: their services fill a poll */
#define SHORT 4u                              /* others, one of which posts a little less than a service each poll */

/* What is left of a poll is not enough for the last of four; it would be the same one in each poll. */
Test(polls, shortened_service_is_shared_fairly)
{
	struct flow flows[STEADY + SHORT];
	uint64_t least = UINT64_MAX, most = 0;

	network_mtu_bytes = 256;
	network_open(&network, 1);
	for (uint32_t i = 0; i < STEADY + SHORT; i++) {
		const struct flow_work work = {
			.opcode = UROCE_WR_RDMA_WRITE,
			.bytes = i < STEADY ? 32 * 256 : 8,
			.depth = i < STEADY ? FLOW_DEPTH : OUTBOX_PACKETS - 1,
		};

		flow_open(&network, &flows[i], &work);
	}
	for (uint32_t poll = 0; poll < 400; poll++) {
		for (uint32_t i = 0; i < STEADY; i++)
			flow_poll(&network, &flows[i]);
		flow_poll(&network, &flows[STEADY + poll % SHORT]);
		network_poll(&network);
	}
	for (uint32_t i = 0; i < STEADY; i++) {
		least = flows[i].completed < least ? flows[i].completed : least;
		most = flows[i].completed > most ? flows[i].completed : most;
	}
	cr_assert_lt(most, 2 * least, "one has sent %lu, another one %lu", most, least);
	for (uint32_t i = 0; i < STEADY + SHORT; i++) {
		flow_drain(&network, &flows[i]);
		flow_close(&flows[i]);
	}
	network_close(&network);
	network_mtu_bytes = 0;
}

static struct rte_mbuf *held; /* comes in behind what comes to port 0 next */

static uint16_t add_held(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t count, uint16_t most,
			 void *nothing)
{
	(void)port, (void)queue, (void)nothing;
	if (held && count > 0 && count < most) {
		frames[count++] = held;
		held = NULL;
	}
	return count;
}

/* The ACK after the request leaves no work to do. */
Test(polls, answer_with_a_received_ack_does_not_wait_behind_requests)
{
	struct flow flows[FEW];
	uint64_t before;

	RULE("S-18");
	open_few(flows);
	post_from(0, UROCE_WR_RDMA_WRITE);
	network_poll(&network);
	cr_assert_eq(rte_ring_dequeue(network.loop.rings[0][0], (void **)&held), 0);
	cr_assert_not_null(rte_eth_add_rx_callback(network.loop.ports[0].port_id, 0, add_held, NULL));
	post_all(flows, FEW);
	post_from(1, UROCE_WR_RDMA_WRITE);
	before = frames_of(0);
	network_poll(&network);
	cr_assert_null(held);
	cr_assert_geq(frames_of(0) - before, POLL_FRAMES, "it was no poll in full");
	cr_assert_not(qp_core(network.ends[0].qp)->responder.ack.due & WORK_ACK);
	finish(1);
	finish_from(1);
	close_few(flows);
}
