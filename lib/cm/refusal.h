/* refusal.h - refusals that were sent, to be repeated when the same request comes again (C-11) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A refused connection keeps neither its memory nor its id. Only its answer is kept, in a ring of its own, for a time
 * that the peer does not choose. Each address has a share of the ring (C-22). When the ring is full, an address that
 * has no answer in it evicts the oldest one: an answer forgotten costs only another question to the user. So a flood of
 * refused requests uses up nothing but the room of other refused requests.
 */
#ifndef CM_REFUSAL_H
#define CM_REFUSAL_H

#include "cm/cm.h"
#include "share/share.h"

struct cm_refusal {
	struct cm_route route;
	uint32_t remote_id, qpn; /* as in its REQ */
	uint32_t next;
	uint16_t source;
	uint64_t until_ns;
	uint8_t mad[CM_MAD_BYTES]; /* the REJ; zeros: the peer gave up before it was answered */
};

struct cm_refusals {
	struct cm_refusal *ring; /* oldest first, which is also the first to expire */
	uint32_t *by_peer;       /* heads of the chains */
	uint32_t head;
	struct share_peers room;
	uint8_t key[16];
};

uint64_t cm_refusals_bytes(uint32_t room);
/* Takes the ring's memory from the front of *memory, and moves *memory behind it. */
void cm_refusals_init(struct cm_refusals *refusals, uint8_t **memory, uint32_t room, const uint8_t key[16]);
/* The caller fills in route, ids and mad. Returns false if it is not kept, or evicts an older one. */
bool cm_refusals_keep(struct cm_refusals *refusals, const struct cm_refusal *refusal, uint64_t now_ns);
/* Finds the refusal of the REQ with this QPN and id that arrived along this route; NULL: none is kept. */
const struct cm_refusal *cm_refusals_find(struct cm_refusals *refusals, const struct cm_route *route,
					  uint32_t remote_id, uint32_t qpn, uint64_t now_ns);

#endif
