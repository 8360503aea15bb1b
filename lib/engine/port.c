/* port.c - buffered sending that loses nothing when the port or the pool is exhausted */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "engine/port.h"

void engine_port_fetch(struct engine_port *port)
{
	unsigned wanted = OUTBOX_PACKETS - port->spare_count;
	struct rte_mempool *pool = port->device->config.pool;

	if (rte_pktmbuf_alloc_bulk(pool, &port->spare[port->spare_count], wanted) == 0) {
		port->spare_count = OUTBOX_PACKETS;
		return;
	}
	/* Not all at once: as many as there are. */
	while (port->spare_count < OUTBOX_PACKETS) {
		struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);

		if (mbuf == NULL)
			break;
		port->spare[port->spare_count++] = mbuf;
	}
	if (port->spare_count == 0)
		port->counters[CNT_PORT_NO_MBUF]++;
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

void engine_port_release(struct engine_port *port)
{
	rte_pktmbuf_free_bulk(port->spare, port->spare_count);
	rte_pktmbuf_free_bulk(port->pending, port->pending_count);
	port->spare_count = port->pending_count = 0;
}
