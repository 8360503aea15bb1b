/* peer.h - counts how much of the buffers the hosts at one address use together */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_PEER_H
#define NVMET_PEER_H

#include <uroce/uroce.h>

struct peer {
	struct uroce_addr addr;
	uint32_t queues;
	uint64_t held_bytes;
	struct peer *next;
};

/* enter: a queue of a host at this address begins. leave: it ends. NULL: no memory. */
struct peer *peer_enter(struct peer **list, const struct uroce_addr *addr);
void peer_leave(struct peer **list, struct peer *peer);

#endif
