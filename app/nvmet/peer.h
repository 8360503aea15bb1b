/* peer.h - counts what the hosts at one address hold of the pools of a lane */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_PEER_H
#define NVMET_PEER_H

#include "nvmet/lane_state.h"

struct peer {
	struct uroce_addr addr;
	/* what it holds of the pools of the lane */
	uint32_t queues;
	uint32_t buffers; /* units of struct pool */
	uint32_t entries[LANE_PORTS_MAX];
	struct turn turn;      /* its work that goes on */
	struct turn file_turn; /* its requests that wait for the ring */
	LIST_ENTRY(peer) next;
};

/*
 * enter: a queue of a host at this address begins, and takes one of the lane's places. leave: it ends, and has given
 * back its other shares. NULL: no memory, or the address has its share of the places.
 */
struct peer *peer_enter(struct lane *lane, const struct uroce_addr *addr);
void peer_leave(struct lane *lane, struct peer *peer);

#endif
