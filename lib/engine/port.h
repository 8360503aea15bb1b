/* port.h - one lcore's side of a port: empty mbufs at hand, frames that wait to leave */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PORT_H
#define ENGINE_PORT_H

#include <rte_mbuf.h>

#include "engine/engine.h"

#define PORT_FRAME_MAX_BYTES 16384u

/* Offers the port what waits; what it does not take stays, in order (S-15). */
void engine_port_flush(struct engine_port *port);

/* Fetches empty mbufs until OUTBOX_PACKETS are at hand, or as many as there are; counts an empty pool. */
void engine_port_fetch(struct engine_port *port);

/*
 * What was received is done with. Some of it stays at hand to be sent next, for it is in the caches; the rest goes back
 * to its pool. The array is overwritten.
 */
void engine_port_recycle(struct engine_port *port, struct rte_mbuf **mbufs, unsigned count);

/* What waits is lost, as on a cable that is not plugged in: the port may never take it. It is counted as reason. */
void engine_port_drop(struct engine_port *port, enum rc_counter reason);

/* On the lcore: the port is one of its ports from now on; or no more, and all its mbufs go back. */
void engine_port_attach(struct engine_port *port, struct uroce_lcore *lcore);
void engine_port_detach(struct engine_port *port, struct uroce_lcore *lcore);

/* Most of the time nothing does. */
static inline void port_flush(struct engine_port *port)
{
	if (port->pending_count)
		engine_port_flush(port);
}

/* How many frames may be built now: each has an mbuf and a place to wait. */
static inline uint32_t port_room(struct engine_port *port)
{
	uint32_t places;

	/* not at every service: most QPs send one frame */
	if (port->spare->count < OUTBOX_PACKETS / 2)
		engine_port_fetch(port);
	if (port->pending_count > OUTBOX_PACKETS)
		engine_port_flush(port);
	places = TX_PENDING - port->pending_count;
	return places < port->spare->count ? places : port->spare->count;
}

/* So many were sent, or wait for the port, since it is there. */
static inline uint64_t port_frames_out(const struct engine_port *port)
{
	return port->tx_frames + port->pending_count;
}

/* An mbuf to be filled, whose lengths are those of a frame before; only as many as port_room() said. */
static inline struct rte_mbuf *port_take_spare(struct engine_port *port)
{
	return port->spare->mbufs[--port->spare->count];
}

/* Sends mbuf after all that wait. */
static inline void port_send(struct engine_port *port, struct rte_mbuf *mbuf)
{
	port->tx_bytes += rte_pktmbuf_pkt_len(mbuf);
	port->pending[port->pending_count++] = mbuf;
}

#endif
