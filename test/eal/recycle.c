/* recycle.c - received mbufs are sent again, unless somebody else has a part in them; and a pool nearly empty */
/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API /* rte_pktmbuf_pool_create_extbuf() */

#include <criterion/criterion.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "engine/lcore_state.h"
#include "engine/port_state.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define FRAME_BYTES 200u
#define MESSAGES 3000u
#define NO_TIMEOUT 22
#define POOL_MBUFS 8192u /* more than the loop's pool has */

TestSuite(recycle, .init = test_eal_start, .timeout = 60);

static struct network network;
static struct rte_mbuf *held[POOL_MBUFS];
static uint32_t held_count;

/* A packet that was only thought lost, because this thread stood still, and what answers it: they come in. */
static void let_rest(void)
{
	for (int i = 0; i < 8; i++)
		network_poll(&network);
}

static void connect_both(void)
{
	for (int i = 0; i < 2; i++)
		network_create_qp(&network, i, 64, -1);
	network.timeout = NO_TIMEOUT;
	network_connect(&network, false);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 100), 0); /* finds the MAC addresses */
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	let_rest();
}

static void open_connected(void)
{
	network_open(&network, 1);
	connect_both();
}

/* Both ports send from the same pool, so that they share what is at hand. */
static const struct engine_spare *at_hand(void)
{
	return engine_find_port(uroce_engine_lcore(network.engine, 0), network.ends[0].device)->spare;
}

static bool is_at_hand(const struct rte_mbuf *mbuf)
{
	for (uint32_t i = 0; i < at_hand()->count; i++) {
		if (at_hand()->mbufs[i] == mbuf)
			return true;
	}
	return false;
}

/* Frames of nothing that end 1 drops, all in one poll. */
static void receive(struct rte_mbuf **frames, uint16_t count)
{
	const struct engine_port *port =
		engine_find_port(uroce_engine_lcore(network.engine, 0), network.ends[1].device);
	uint64_t before = port->rx_frames;

	cr_assert_eq(rte_eth_tx_burst(network.loop.ports[0].port_id, 0, frames, count), count);
	network_poll(&network);
	cr_assert_eq(port->rx_frames - before, count);
}

/* All that are not at hand are in the pool, and such that anybody can take them as they are. */
static void expect_all_there(uint32_t elsewhere)
{
	struct rte_mempool *pool = network.loop.pool;
	uint32_t count = 0;
	const char *why;

	let_rest();
	cr_assert_eq(rte_mempool_in_use_count(pool), at_hand()->count + elsewhere, "mbufs are missing");
	while (count < POOL_MBUFS && rte_mempool_get(pool, (void **)&held[count]) == 0) {
		struct rte_mbuf *mbuf = held[count++];

		cr_assert_eq(rte_mbuf_check(mbuf, 0, &why), 0, "%s", why);
		cr_assert(RTE_MBUF_DIRECT(mbuf));
		cr_assert_eq(rte_mbuf_refcnt_read(mbuf), 1);
		cr_assert_eq(mbuf->nb_segs, 1);
		cr_assert_null(mbuf->next);
		cr_assert_not(is_at_hand(mbuf), "in the pool and at hand");
	}
	cr_assert_eq(count + at_hand()->count + elsewhere, pool->size);
	rte_mempool_put_bulk(pool, (void **)held, count);
}

static void close_all(void)
{
	network_close_ends(&network);
	cr_assert_eq(rte_mempool_avail_count(network.loop.pool), network.pool_free);
	cr_assert_eq(rte_mempool_in_use_count(network.loop.pool), 0, "mbufs are missing");
	cr_assert_eq(drivers_loop_close(&network.loop), 0);
}

static struct rte_mbuf *sent;

/* What leaves is as an mbuf is that comes from its pool by the usual way. */
static uint16_t look_at_sent(uint16_t port, uint16_t queue, struct rte_mbuf **frames, uint16_t count, void *nothing)
{
	(void)port, (void)queue, (void)nothing;
	for (uint16_t i = 0; i < count; i++) {
		const char *why;

		cr_assert_eq(rte_mbuf_check(frames[i], 1, &why), 0, "%s", why);
		cr_assert_eq(frames[i]->ol_flags, 0);
		cr_assert_eq(frames[i]->data_off, RTE_PKTMBUF_HEADROOM);
		cr_assert_eq(frames[i]->nb_segs, 1);
		cr_assert_null(frames[i]->next);
		cr_assert_eq(frames[i]->pkt_len, frames[i]->data_len);
		sent = frames[i];
	}
	return count;
}

/* A frame whose mbuf has the flags that a driver, or a program before us, may have left. */
static struct rte_mbuf *create_marked(uint32_t number)
{
	struct rte_mbuf *frame = test_frame_create(network.loop.pool, number, FRAME_BYTES);

	frame->ol_flags = RTE_MBUF_F_RX_VLAN | RTE_MBUF_F_RX_VLAN_STRIPPED | RTE_MBUF_F_RX_RSS_HASH |
			  RTE_MBUF_F_TX_VLAN | RTE_MBUF_F_TX_TCP_SEG | RTE_MBUF_F_TX_IP_CKSUM;
	cr_assert_not_null(rte_pktmbuf_prepend(frame, 14));
	memmove(rte_pktmbuf_mtod(frame, void *), rte_pktmbuf_mtod_offset(frame, void *, 14), FRAME_BYTES);
	return frame;
}

Test(recycle, last_received_mbuf_is_sent_next_without_marks)
{
	struct rte_mbuf *frame;

	open_connected();
	for (int i = 0; i < 2; i++)
		cr_assert_not_null(rte_eth_add_tx_callback(network.loop.ports[i].port_id, 0, look_at_sent, NULL));
	frame = create_marked(1);
	cr_assert_eq(rte_ring_enqueue(network.loop.rings[1][0], frame), 0); /* as if it came from elsewhere */
	network_poll(&network);
	cr_assert_eq(at_hand()->mbufs[at_hand()->count - 1], frame);
	cr_assert_eq(frame->data_off, RTE_PKTMBUF_HEADROOM);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 64), 0);
	sent = NULL;
	network_poll(&network);
	cr_assert_eq(sent, frame, "the WRITE left in it, and then the ACK");
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	expect_all_there(0);
	close_all();
}

Test(recycle, long_traffic_needs_no_more_mbufs)
{
	open_connected();
	for (uint32_t i = 0; i < MESSAGES; i++) {
		enum uroce_wr_opcode opcode = i % 2 ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE;

		cr_assert_eq(network_post(&network, opcode, 1 + i * 40), 0);
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
		if (i % 100 == 0)
			expect_all_there(0);
		cr_assert_leq(at_hand()->count, SPARE_MBUFS);
	}
	close_all();
}

/* More in a poll than are kept; and frames that had marks, whose mbufs lie in the pool as they were. */
Test(recycle, surplus_mbufs_return_to_their_pool)
{
	struct rte_mbuf *frames[2 * SPARE_MBUFS];

	open_connected();
	for (uint32_t i = 0; i < 2 * SPARE_MBUFS; i++)
		frames[i] = create_marked(i);
	receive(frames, 2 * SPARE_MBUFS);
	cr_assert_eq(at_hand()->count, SPARE_MBUFS);
	expect_all_there(0);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 500000), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(network.ends[1].buffer, network.ends[0].buffer, 500000);
	expect_all_there(0);
	close_all();
}

/* ---- mbufs that somebody else has a part in ---- */

Test(recycle, held_mbufs_are_not_recycled)
{
	struct rte_mbuf *frame;

	open_connected();
	frame = test_frame_create(network.loop.pool, 7, FRAME_BYTES);
	rte_mbuf_refcnt_update(frame, 1);
	receive(&frame, 1);
	cr_assert_eq(rte_mbuf_refcnt_read(frame), 1, "given up once");
	cr_assert_not(is_at_hand(frame));
	expect_all_there(1);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 500000), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_eq(test_frame_number(frame), 7, "written to while somebody held it");
	rte_pktmbuf_free(frame);
	expect_all_there(0);
	close_all();
}

/* The same mbuf twice in a burst: the second time it is the last one. */
Test(recycle, mbuf_received_twice_is_recycled_once)
{
	struct rte_mbuf *frames[2];
	uint32_t before;

	open_connected();
	before = at_hand()->count;
	frames[0] = frames[1] = test_frame_create(network.loop.pool, 7, FRAME_BYTES);
	rte_mbuf_refcnt_update(frames[0], 1);
	receive(frames, 2);
	cr_assert_eq(at_hand()->count, before + 1);
	expect_all_there(0);
	close_all();
}

Test(recycle, mbufs_of_another_pool_return_to_it)
{
	struct rte_mempool *other = rte_pktmbuf_pool_create("other", 63, 0, 0, 2048, SOCKET_ID_ANY);
	struct rte_mbuf *frames[BURST];

	cr_assert_not_null(other);
	open_connected();
	for (uint32_t i = 0; i < BURST; i++)
		frames[i] = test_frame_create(i % 2 ? other : network.loop.pool, i, FRAME_BYTES);
	receive(frames, BURST);
	cr_assert_eq(rte_mempool_in_use_count(other), 0);
	for (uint32_t i = 0; i < BURST; i++)
		cr_assert(i % 2 == 0 || !is_at_hand(frames[i]));
	expect_all_there(0);
	close_all();
	rte_mempool_free(other);
}

Test(recycle, segments_are_separated_and_returned)
{
	struct rte_mbuf *frame, *rest;

	open_connected();
	frame = test_frame_create(network.loop.pool, 1, FRAME_BYTES);
	rest = test_frame_create(network.loop.pool, 2, FRAME_BYTES);
	cr_assert_eq(rte_pktmbuf_chain(frame, rest), 0);
	receive(&frame, 1);
	cr_assert_not(is_at_hand(frame));
	cr_assert_not(is_at_hand(rest));
	expect_all_there(0);
	close_all();
}

/* Nobody may write to the buffer of a clone: it is that of another mbuf. */
Test(recycle, clone_detaches_its_foreign_buffer)
{
	struct rte_mbuf *frame, *clone;

	open_connected();
	frame = test_frame_create(network.loop.pool, 9, FRAME_BYTES);
	clone = rte_pktmbuf_clone(frame, network.loop.pool);
	cr_assert_not_null(clone);
	receive(&clone, 1);
	cr_assert_not(is_at_hand(clone));
	cr_assert_eq(rte_mbuf_refcnt_read(frame), 1);
	expect_all_there(1);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 500000), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	cr_assert_eq(test_frame_number(frame), 9, "written to through its clone");
	/* and the other way round: the clone stays */
	clone = rte_pktmbuf_clone(frame, network.loop.pool);
	cr_assert_not_null(clone);
	receive(&frame, 1);
	cr_assert_not(is_at_hand(frame));
	cr_assert_eq(test_frame_number(clone), 9);
	rte_pktmbuf_free(clone);
	expect_all_there(0);
	close_all();
}

static uint32_t given_back;

static void return_buffer(void *buffer, void *nothing)
{
	(void)buffer, (void)nothing;
	given_back++;
}

Test(recycle, external_buffer_is_returned)
{
	static _Alignas(64) uint8_t buffer[4096];
	uint16_t bytes = sizeof(buffer);
	struct rte_mbuf_ext_shared_info *shared =
		rte_pktmbuf_ext_shinfo_init_helper(buffer, &bytes, return_buffer, NULL);
	struct rte_mbuf *frame, *model;

	open_connected();
	model = test_frame_create(network.loop.pool, 3, FRAME_BYTES);
	frame = rte_pktmbuf_alloc(network.loop.pool);
	cr_assert_not_null(shared);
	rte_pktmbuf_attach_extbuf(frame, buffer, RTE_BAD_IOVA, bytes, shared);
	memcpy(rte_pktmbuf_append(frame, FRAME_BYTES), rte_pktmbuf_mtod(model, void *), FRAME_BYTES);
	rte_pktmbuf_free(model);
	receive(&frame, 1);
	cr_assert_eq(given_back, 1);
	cr_assert_not(is_at_hand(frame));
	expect_all_there(0);
	close_all();
}

#define PINNED_MBUFS 511u
#define PINNED_BYTES 5120u

/* A pool whose buffers all lie in memory of its own. */
static struct rte_mempool *create_pinned(void)
{
	static _Alignas(4096) uint8_t memory[(PINNED_MBUFS + 1) * PINNED_BYTES];
	const struct rte_pktmbuf_extmem extmem = {
		.buf_ptr = memory,
		.buf_iova = RTE_BAD_IOVA,
		.buf_len = sizeof(memory),
		.elt_size = PINNED_BYTES,
	};
	struct rte_mempool *pool =
		rte_pktmbuf_pool_create_extbuf("pinned", PINNED_MBUFS, 0, 0, PINNED_BYTES, SOCKET_ID_ANY, &extmem, 1);

	cr_assert_not_null(pool);
	return pool;
}

/* The mbufs of this pool have their data outside of them, and their flag must stay: none is kept as a spare mbuf. */
Test(recycle, mbufs_with_pinned_external_buffers_are_not_recycled)
{
	struct rte_mempool *pool = create_pinned();
	struct rte_mempool *const pools[2] = { pool, pool };

	network_open_on(&network, 1, pools);
	connect_both();
	for (uint32_t i = 0; i < 30; i++) {
		cr_assert_eq(network_post(&network, i % 2 ? UROCE_WR_RDMA_READ : UROCE_WR_RDMA_WRITE, 300000), 0);
		cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
		cr_assert_arr_eq(network.ends[1].buffer, network.ends[0].buffer, 300000);
		let_rest();
		cr_assert_eq(rte_mempool_in_use_count(pool), at_hand()->count, "mbufs are missing");
	}
	network_close(&network);
	cr_assert_eq(rte_mempool_in_use_count(pool), 0);
	for (held_count = 0; held_count < PINNED_MBUFS; held_count++) {
		cr_assert_eq(rte_mempool_get(pool, (void **)&held[held_count]), 0);
		cr_assert(RTE_MBUF_HAS_PINNED_EXTBUF(held[held_count]));
		cr_assert(RTE_MBUF_HAS_EXTBUF(held[held_count]));
		cr_assert_eq(rte_mbuf_ext_refcnt_read(held[held_count]->shinfo), 1);
	}
	rte_mempool_put_bulk(pool, (void **)held, held_count);
	rte_mempool_free(pool);
}

/* ---- fewer mbufs than a burst ---- */

static void hold_all_but(uint32_t few)
{
	held_count = 0;
	while (rte_mempool_avail_count(network.loop.pool) > few)
		held[held_count++] = rte_pktmbuf_alloc(network.loop.pool);
}

static void expect_moved(enum uroce_wr_opcode opcode, uint32_t few)
{
	uint32_t packets = 100, polls = 0;
	struct uroce_wc wc;

	memset(network.ends[opcode == UROCE_WR_RDMA_WRITE].buffer, (int)few, packets * 4096);
	cr_assert_eq(network_post(&network, opcode, packets * 4096), 0);
	while (uroce_cq_poll(network.ends[0].cq, 1, &wc) == 0) {
		cr_assert_lt(polls++, 2 * (packets / few + 8), "%u mbufs: it takes too many polls", few);
		network_poll(&network);
	}
	cr_assert_eq(wc.status, UROCE_WC_SUCCESS);
	cr_assert_arr_eq(network.ends[0].buffer, network.ends[1].buffer, packets * 4096);
}

/* Each poll as many frames as there are mbufs. */
Test(recycle, traffic_continues_with_fewer_mbufs_than_a_burst)
{
	static const uint32_t rows[] = { 2, 5, BURST / 2 + 1, BURST - 1 };

	RULE("S-15");
	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		network_open(&network, 1);
		hold_all_but(rows[i]);
		connect_both();
		expect_moved(UROCE_WR_RDMA_WRITE, rows[i]);
		expect_moved(UROCE_WR_RDMA_READ, rows[i]);
		cr_assert_eq(network_counter(&network, 0, "local_ack_timeout_err"), 0);
		rte_mempool_put_bulk(network.loop.pool, (void **)held, held_count);
		expect_all_there(0);
		close_all();
	}
}
