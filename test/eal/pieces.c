/* pieces.c - frames in several mbufs, cut at every byte: the same as in one piece */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "engine/qp.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define BYTES 100u

TestSuite(pieces, .init = test_eal_start, .timeout = 60);

/* The WRITE that B expects next, with a payload made from number. */
static struct rte_mbuf *create_frame(struct network *network, uint32_t number)
{
	const struct uroce_qp *from = network->ends[0].qp, *to = network->ends[1].qp;
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(network->loop.pool);
	uint8_t data[BYTES];
	struct wire_packet packet = {
		.opcode = OP_WRITE_ONLY,
		.psn = qp_core(to)->responder.epsn.v,
		.dest_qpn = uroce_qp_num(to),
		.pkey = 0xFFFF,
		.va = (uintptr_t)network->ends[1].buffer,
		.rkey = uroce_mr_rkey(network->ends[1].mr),
		.dma_length = BYTES,
		.payload = data,
		.payload_bytes = BYTES,
	};

	cr_assert_not_null(mbuf);
	memset(data, (int)(number % 251 + 1), sizeof(data));
	network_fill_frame(mbuf, &from->template, &packet);
	return mbuf;
}

/* The first `at` bytes stay, the rest goes into mbufs of at most `most` bytes each. */
static void cut(struct network *network, struct rte_mbuf *whole, uint32_t at, uint32_t most)
{
	uint32_t total = whole->pkt_len;
	struct rte_mbuf *last = whole;

	whole->data_len = (uint16_t)at;
	for (uint32_t done = at; done < total;) {
		uint32_t bytes = total - done < most ? total - done : most;
		struct rte_mbuf *piece = rte_pktmbuf_alloc(network->loop.pool);

		cr_assert_not_null(piece);
		memcpy(rte_pktmbuf_mtod(piece, void *), rte_pktmbuf_mtod_offset(whole, void *, done), bytes);
		piece->data_len = piece->pkt_len = (uint16_t)bytes;
		last->next = piece;
		last = piece;
		whole->nb_segs++;
		done += bytes;
	}
}

static void deliver(struct network *network, struct rte_mbuf *frame, uint32_t number, uint32_t at)
{
	cr_assert_eq(rte_eth_tx_burst(network->loop.ports[0].port_id, 0, &frame, 1), 1);
	network_poll(network);
	for (uint32_t i = 0; i < BYTES; i++)
		cr_assert_eq(network->ends[1].buffer[i], number % 251 + 1, "cut at %u: byte %u", at, i);
}

/* TC-A-18 */
Test(pieces, a_frame_may_be_cut_anywhere)
{
	static struct network network;
	uint32_t number = 0;

	RULE("W-1");
	RULE("W-7");
	network_open_connected(&network, 1, 64);
	cr_assert_eq(network_post(&network, UROCE_WR_RDMA_WRITE, 8), 0);
	cr_assert_eq(network_wait(&network, 0).status, UROCE_WC_SUCCESS);
	for (uint32_t at = 1; at < 14 + 20 + 8 + 12 + 16 + BYTES + 4; at++) {
		struct rte_mbuf *two = create_frame(&network, ++number), *many;

		cut(&network, two, at, UINT32_MAX);
		deliver(&network, two, number, at);
		many = create_frame(&network, ++number);
		cut(&network, many, 1 + at % 30, 7);
		deliver(&network, many, number, at);
	}
	cr_assert_eq(network_counter(&network, 1, "rx_write_requests"), 1 + number);
	network_close(&network);
}
