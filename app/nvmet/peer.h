/* peer.h - the hosts at an address: how much of the buffers they have together */
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

/* For a queue that comes, which leaves again. NULL: no memory. */
struct peer *peer_enter(struct peer **list, const struct uroce_addr *addr);
void peer_leave(struct peer **list, struct peer *peer);

#endif
