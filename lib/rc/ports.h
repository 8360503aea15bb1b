/* ports.h - the UDP source ports of two ends that have agreed to SACKs: a set of its own for each direction */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * With SACKs a request may be kept before ePSN has reached it, so a forger has many PSNs to hit instead of one. The
 * source port makes up for that: each direction of a connection has SPREAD_MOST ports out of PORTS_COUNT. They follow
 * from both QPNs and the start PSN of the receiver's requests, so both ends know them and nothing is exchanged. The
 * sender knows that PSN from RTR on; the start PSN of its own requests may come with RTS only. Port 0 of the set is the
 * usual one; a QP that spreads its packets takes others as well (spread.h). A frame from a port outside the set is
 * dropped before its ICRC is computed (W-2). How far ahead of ePSN a request is kept depends on its port: see kept.c.
 *
 * The ports are an arithmetic progression modulo PORTS_COUNT with an odd step, so the number of a port in its set is
 * one multiplication by the inverse of the step.
 */
#ifndef RC_PORTS_H
#define RC_PORTS_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/path.h"
#include "rc/qp_state.h"

#define PORTS_FIRST 0x8000u /* the ports of all sets lie from here on */
#define PORTS_COUNT 0x8000u

static_assert((PORTS_COUNT & (PORTS_COUNT - 1)) == 0,
	      "PORTS_COUNT must be a power of two, so that an odd step visits every port");

/*
 * Of all PSNs and ports, so many pairs make a request acceptable at a time, as many as there are ports: one of 2^24
 * frames with a random PSN and port. Besides ePSN from any port of the set these are KEPT_NEAR PSNs from any of them,
 * and up to ports_reach() PSNs from ports that have been used.
 */
static_assert((1 + KEPT_NEAR) * SPREAD_MOST + KEPT_PAIRS <= PORTS_COUNT,
	      "multipath must not accept more PSN and port pairs than plain RC");

/* How far ahead of ePSN a request is kept when the peer uses so many paths. */
static inline uint32_t ports_reach(uint32_t paths)
{
	return KEPT_NEAR + KEPT_PAIRS / paths;
}

struct ports_set {
	uint16_t first, step;
};

static inline uint64_t ports_mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
	x = (x ^ x >> 27) * 0x94D049BB133111EBull;
	return x ^ x >> 31;
}

/* The set of packets to the QP to_qpn, whose first request has to_psn. */
static inline struct ports_set ports_draw(uint32_t from_qpn, uint32_t to_qpn, psn_t to_psn)
{
	uint64_t drawn = ports_mix(ports_mix((uint64_t)to_psn.v << 16 | 1) ^ ((uint64_t)from_qpn << 24 | to_qpn));

	return (struct ports_set){
		.first = (uint16_t)(drawn & (PORTS_COUNT - 1)),
		.step = (uint16_t)((drawn >> 16 & (PORTS_COUNT - 1)) | 1),
	};
}

static inline uint16_t ports_at(const struct ports_set *set, uint32_t index)
{
	return (uint16_t)(PORTS_FIRST | ((set->first + index * set->step) & (PORTS_COUNT - 1)));
}

/*
 * Port number `index` of the packets that the QP sends. A QP without SACKs has only one, which follows from the QPNs.
 */
static inline uint16_t rc_ports_own(const struct rc_qp *qp, uint32_t index)
{
	struct ports_set set;

	if (qp->kept.window == 0)
		return path_source_port(qp->qpn, qp->dest_qpn);
	set = ports_draw(qp->qpn, qp->dest_qpn, qp->rq_psn);
	return ports_at(&set, index);
}

/* From now on only packets from the peer's set are admitted; without SACKs, packets from any port. */
static inline void rc_ports_expect(struct rc_qp *qp)
{
	struct ports_set set;
	uint32_t inverse;

	qp->peer_ports = (struct rc_peer_ports){ 0 };
	if (qp->kept.window == 0)
		return;
	set = ports_draw(qp->dest_qpn, qp->qpn, qp->sq_psn);
	inverse = set.step; /* right in the lowest three bits; each step doubles their number */
	for (uint32_t bits = 3; bits < 15; bits *= 2)
		inverse *= 2 - set.step * inverse;
	qp->peer_ports = (struct rc_peer_ports){ .first = ports_at(&set, 0), .known = 0xFFFF };
	qp->peer_step.inverse = (uint16_t)(inverse & (PORTS_COUNT - 1));
}

/* RESET, and while the start PSN of the requests is not known: packets are admitted from any port. */
static inline void rc_ports_forget(struct rc_qp *qp)
{
	qp->peer_ports = (struct rc_peer_ports){ 0 };
}

/* Does the QP know the ports of its peer? */
static inline bool ports_are_known(const struct rc_qp *qp)
{
	return qp->peer_ports.known;
}

/* Is it the usual port of the peer, or is the peer's port not known? */
static inline bool ports_is_usual(const struct rc_qp *qp, uint16_t port)
{
	return !((port ^ qp->peer_ports.first) & qp->peer_ports.known);
}

/* The number of a port in the peer's set; SPREAD_MOST or more: the port is outside the set. */
static inline uint32_t ports_index(const struct rc_qp *qp, uint16_t port)
{
	uint32_t distance = (uint32_t)(port - qp->peer_ports.first);

	return port < PORTS_FIRST ? SPREAD_MOST : distance * qp->peer_step.inverse & (PORTS_COUNT - 1);
}

/* May a packet from this source port come from the peer? */
static inline bool rc_ports_admit(const struct rc_qp *qp, uint16_t port)
{
	if (ports_is_usual(qp, port))
		return true;
	return ports_index(qp, port) < SPREAD_MOST;
}

#endif
