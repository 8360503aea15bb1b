/* port.c - buffered sending that loses nothing when the port or the pool is exhausted */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "engine/port.h"

void engine_port_fetch(struct engine_port *port)
{
	struct engine_spare *spare = port->spare;

	if (rte_pktmbuf_alloc_bulk(spare->pool, &spare->mbufs[spare->count], OUTBOX_PACKETS - spare->count) == 0) {
		spare->count = OUTBOX_PACKETS;
		return;
	}
	/* Not all at once: as many as there are. */
	while (spare->count < OUTBOX_PACKETS) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(spare->pool);

		if (mbuf == NULL)
			break;
		spare->mbufs[spare->count++] = mbuf;
	}
	if (spare->count == 0)
		port->counters[CNT_PORT_NO_MBUF]++;
}

void engine_port_recycle(struct engine_port *port, struct rte_mbuf **mbufs, unsigned count)
{
	struct engine_spare *spare = port->spare;
	unsigned left = 0;

	for (unsigned i = 0; i < count; i++) {
		struct rte_mbuf *mbuf = mbufs[i];

		if (spare->count == SPARE_MBUFS || mbuf->pool != spare->pool || mbuf->nb_segs > 1) {
			mbufs[left++] = mbuf;
			continue;
		}
		mbuf = rte_pktmbuf_prefree_seg(mbuf); /* NULL: somebody else still has it */
		if (mbuf) {
			rte_pktmbuf_reset(mbuf);
			spare->mbufs[spare->count++] = mbuf;
		}
	}
	rte_pktmbuf_free_bulk(mbufs, left);
}

void engine_port_flush(struct engine_port *port)
{
	uint16_t taken;

	taken = rte_eth_tx_burst(port->device->port_id, port->queue, port->pending, port->pending_count);
	port->tx_frames += taken;
	port->pending_count = (uint16_t)(port->pending_count - taken);
	if (port->pending_count)
		memmove(port->pending, port->pending + taken, port->pending_count * sizeof(port->pending[0]));
}

void engine_port_drop(struct engine_port *port)
{
	port->counters[CNT_PORT_LINK_DOWN] += port->pending_count;
	rte_pktmbuf_free_bulk(port->pending, port->pending_count);
	port->pending_count = 0;
}

/* Where the lcore has mbufs of the pool at hand; a place of its own when there is none yet. */
static struct engine_spare *find_spare(struct uroce_lcore *lcore, const struct rte_mempool *pool)
{
	struct engine_spare *unused = NULL;

	for (unsigned i = 0; i < ENGINE_DEVICES; i++) {
		if (lcore->spares[i].pool == pool)
			return &lcore->spares[i];
		if (lcore->spares[i].pool == NULL && unused == NULL)
			unused = &lcore->spares[i];
	}
	return unused; /* there are as many as ports */
}

void engine_port_attach(struct engine_port *port, struct uroce_lcore *lcore)
{
	port->spare = find_spare(lcore, port->device->config.pool);
	port->spare->pool = port->device->config.pool;
	port->spare->users++;
	lcore->ports[lcore->port_count++] = port;
}

void engine_port_detach(struct engine_port *port, struct uroce_lcore *lcore)
{
	struct engine_spare *spare = port->spare;

	for (unsigned i = 0; i < lcore->port_count; i++) {
		if (lcore->ports[i] == port)
			lcore->ports[i] = lcore->ports[--lcore->port_count];
	}
	rte_pktmbuf_free_bulk(port->pending, port->pending_count);
	if (--spare->users > 0)
		return;
	rte_pktmbuf_free_bulk(spare->mbufs, spare->count);
	spare->count = 0;
	spare->pool = NULL;
}
