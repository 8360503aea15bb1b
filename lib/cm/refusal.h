/* refusal.h - what was said to those who were refused, to be said again when they ask again (C-11) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A refused connection keeps neither its place nor its id. What is kept of it is its answer, in a ring of its own, for
 * a time that its peer does not choose. When the ring is full the oldest answer is forgotten: if that peer asks again,
 * the user is asked again. So a flood of requests that are refused takes nothing from anybody but from others like it.
 */
#ifndef CM_REFUSAL_H
#define CM_REFUSAL_H

#include "cm/cm.h"
#include "cm/quota.h"

struct cm_refusal {
	struct cm_route route;
	uint32_t remote_id, qpn; /* what its REQ told */
	uint32_t next;
	uint16_t source;
	uint64_t until_ns;
	uint8_t mad[CM_MAD_BYTES]; /* the REJ; zeros: the peer gave up before anything was said */
};

struct cm_refusals {
	struct cm_refusal *ring; /* the oldest first, and that is the one whose time is over first */
	uint32_t *by_peer;       /* heads of chains */
	uint32_t room, head;
	struct cm_quota quota; /* counts them */
	uint8_t key[16];
};

uint64_t cm_refusals_bytes(uint32_t room);
/* Cuts what it needs off *memory. */
void cm_refusals_init(struct cm_refusals *refusals, uint8_t **memory, uint32_t room, const uint8_t key[16]);
/* route, ids and mad are the caller's. false: one was forgotten before its time. */
bool cm_refusals_keep(struct cm_refusals *refusals, const struct cm_refusal *refusal, uint64_t now_ns);
/* Of the REQ of this QP and id that came by the route; NULL: none is known. */
const struct cm_refusal *cm_refusals_find(struct cm_refusals *refusals, const struct cm_route *route,
					  uint32_t remote_id, uint32_t qpn, uint64_t now_ns);

#endif
