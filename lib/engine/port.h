/* port.h - one lcore's side of a port: empty mbufs at hand, frames that wait to leave */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PORT_H
#define ENGINE_PORT_H

#include <rte_mbuf.h>

#include "engine/lcore_state.h"
#include "rc/ack.h"

#define PORT_FRAME_MAX_BYTES 16384u
#define PORT_SPARE_LITTLE (OUTBOX_PACKETS / 2) /* fewer spare mbufs than so many: others are fetched */

/* Offers the port the frames that wait; those that it does not take stay, in order (S-15). */
void engine_port_flush(struct engine_port *port);

/*
 * For port_make_room(): fetches empty mbufs until OUTBOX_PACKETS are at hand, or as many as there are, and flushes what
 * waits, each if there is need; counts an empty pool. false: there is no room.
 */
bool engine_port_make_room(struct engine_port *port);

/*
 * Nobody reads the received frames any more. Some of the mbufs stay at hand to be sent next, for they are in the
 * caches; the others go back to their pool. The array is overwritten.
 */
void engine_port_recycle(struct engine_port *port, struct rte_mbuf **mbufs, unsigned count);

/* The frames that wait are lost, as on a cable that is not plugged in, and counted as reason. */
void engine_port_drop(struct engine_port *port, enum rc_counter reason);

/* Gives a received frame to the lcore that owns its QP. true: that lcore has it; false: its ring is full. */
bool engine_port_hand_over(struct engine_port *port, struct uroce_lcore *owner, struct rte_mbuf *mbuf);

/* Calls for the lcore of a port, a struct engine_port: it serves the port; no more, and all its mbufs go back. */
int engine_port_attach(void *port);
int engine_port_detach(void *port);

/* Most of the time no frame waits. */
static inline void port_flush(struct engine_port *port)
{
	if (port->pending_count)
		engine_port_flush(port);
}

/*
 * May one or more frames be built now? port_room() says how many. Fetching and flushing wait until there is little
 * room, for most QPs send one frame at a service.
 */
static inline bool port_make_room(struct engine_port *port)
{
	return __builtin_expect(port->spare->count >= PORT_SPARE_LITTLE && port->pending_count <= OUTBOX_PACKETS, 1) ||
	       engine_port_make_room(port);
}

/* How many frames may be built now: each has an mbuf and a place to wait. */
static inline uint32_t port_room(const struct engine_port *port)
{
	uint32_t places = TX_PENDING - port->pending_count;

	return places < port->spare->count ? places : port->spare->count;
}

/* Frames that the port has taken or that wait for it, since it is there. */
static inline uint64_t port_frames_out(const struct engine_port *port)
{
	return port->tx_frames + port->pending_count;
}

/* Where the next frame is written: in the spare mbuf on top, if port_make_room() has said that there is room. */
static inline uint8_t *port_frame(const struct engine_port *port)
{
	return port->spare->places[port->spare->count - 1];
}

/* So many frames were written there, each below the one before it: they wait behind the others. Returns their bytes. */
static inline uint64_t port_send_frames(struct engine_port *port, const uint16_t *frame_bytes, uint32_t count)
{
	struct rte_mbuf **top = &port->spare->mbufs[port->spare->count],
			**waiting = &port->pending[port->pending_count];
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct rte_mbuf *mbuf = *--top;

		mbuf->data_len = frame_bytes[i];
		mbuf->pkt_len = frame_bytes[i];
		bytes += frame_bytes[i];
		*waiting++ = mbuf;
	}
	port->spare->count -= count;
	port->pending_count = (uint16_t)(port->pending_count + count);
	port->tx_bytes += bytes;
	return bytes;
}

/* The frame that was written there, of so many bytes, waits behind the others. */
static inline void port_send(struct engine_port *port, uint32_t bytes)
{
	port_send_frames(port, &(uint16_t){ (uint16_t)bytes }, 1);
}

/* Sends the ACK or NAK that is all that a resolved QP has to send; its port has room. */
static inline void port_send_ack(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	const struct wire_ack ack = qp_take_ack(qp_core(qp));

	port_send(qp->port, wire_frame_build_ack(&qp->template, &ack, port_frame(qp->port)));
	lcore->work++;
}

#endif
