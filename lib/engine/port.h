/* port.h - sends on one lcore's side of a port: spare mbufs, and frames that wait to leave */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PORT_H
#define ENGINE_PORT_H

#include <rte_mbuf.h>

#include "engine/lcore_state.h"
#include "rc/ack.h"

struct rc_origin;

#define PORT_FRAME_MAX_BYTES 16384u
#define PORT_SPARE_LITTLE (OUTBOX_PACKETS / 2) /* with fewer spare mbufs new ones are fetched */

/* Offers the waiting frames to the port; frames that it does not take go on waiting, in order (S-15). */
void engine_port_flush(struct engine_port *port);

/*
 * The part of port_make_room() that is seldom needed. If need be, fetches empty mbufs until OUTBOX_PACKETS are at hand
 * or the pool is empty, which is counted; and, if need be, flushes the waiting frames. Returns false if there is no
 * room.
 */
bool engine_port_make_room(struct engine_port *port);

/* As port_make_room(), for a frame whose bytes are not limited by the path MTU. */
bool engine_port_make_room_for(struct engine_port *port, uint32_t bytes);

/*
 * Takes back received frames that nobody reads any more. Some of the mbufs stay at hand to be sent next, because their
 * lines are in the caches; the others return to their pool. The array is overwritten.
 */
void engine_port_recycle(struct engine_port *port, struct rte_mbuf **mbufs, unsigned count);

/*
 * Drops the waiting frames, as a cable that is not plugged in would, and adds their number to the counter of this
 * reason.
 */
void engine_port_drop(struct engine_port *port, enum rc_counter reason);

/*
 * Counts a frame that was refused for `drop`. If no QP or path of ours was found, and the frame was sent to an address
 * that the port does not have, it counts as one for others: programs that share an interface see each other's frames.
 * Returns false in that case, and true if the frame was for this port.
 */
bool engine_port_refuse(struct engine_port *port, enum rc_counter drop, const struct rc_origin *origin);

/*
 * Gives a received frame to the lcore that owns its QP. Returns true if that lcore now owns the mbuf, false if its ring
 * is full.
 */
bool engine_port_hand_over(struct engine_port *port, struct uroce_lcore *owner, struct rte_mbuf *mbuf);

/*
 * Calls for the lcore of the port, a struct engine_port: attach makes the lcore serve it; detach ends that, and returns
 * all mbufs.
 */
int engine_port_attach(void *port);
int engine_port_detach(void *port);

/* Flushes the waiting frames. Usually no frame waits: then the call costs a comparison. */
static inline void port_flush(struct engine_port *port)
{
	if (port->pending_count)
		engine_port_flush(port);
}

/*
 * May a frame be built now? port_room() says how many. Mbufs are fetched and frames flushed only when little room is
 * left, because most QPs send one frame at a service.
 */
static inline bool port_make_room(struct engine_port *port)
{
	return __builtin_expect(port->spare->count >= PORT_SPARE_LITTLE && port->pending_count <= OUTBOX_PACKETS, 1) ||
	       engine_port_make_room(port);
}

/* How many frames may be built now: each needs an mbuf, and a place to wait. */
static inline uint32_t port_room(const struct engine_port *port)
{
	uint32_t places = TX_PENDING - port->pending_count;

	return places < port->spare->count ? places : port->spare->count;
}

/* Returns the number of frames that the port has taken since it was attached, plus the number of waiting frames. */
static inline uint64_t port_frames_out(const struct engine_port *port)
{
	return port->tx_frames + port->pending_count;
}

/* Where the next frame is written: in the uppermost spare mbuf, after port_make_room() has returned true. */
static inline uint8_t *port_frame(const struct engine_port *port)
{
	return port->spare->places[port->spare->count - 1];
}

/*
 * `count` frames have been written, each into the spare mbuf below the one before: queues these frames. Returns the sum
 * of their bytes.
 */
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

/* One frame of `bytes` bytes has been written at port_frame(): queues it. */
static inline void port_send(struct engine_port *port, uint32_t bytes)
{
	port_send_frames(port, &(uint16_t){ (uint16_t)bytes }, 1);
}

/* Sends the ACK or NAK that is the only work of a resolved QP. Its port has room. */
static inline void port_send_ack(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	const struct wire_ack ack = qp_take_ack(qp_core(qp));

	port_send(qp->port, wire_frame_build_ack(&qp->template, &ack, port_frame(qp->port)));
	lcore->work++;
}

#endif
