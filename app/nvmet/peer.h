/* peer.h - counts which part of the shared buffers and CQ entries the hosts at one address use */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_PEER_H
#define NVMET_PEER_H

#include "nvmet/lane_state.h"

struct peer {
	struct uroce_addr addr;
	uint32_t queues;
	uint64_t held_bytes;                  /* of the buffers */
	uint32_t completions[LANE_PORTS_MAX]; /* entries of the CQ of each port */
	struct turn turn;                     /* its work that goes on */
	struct turn file_turn;                /* its requests that wait for the ring */
	LIST_ENTRY(peer) next;
};

/* enter: a queue of a host at this address begins. leave: it ends. NULL: no memory. */
struct peer *peer_enter(struct peers *peers, const struct uroce_addr *addr);
void peer_leave(struct peer *peer);

#endif
