/* peer.c - counts which part of the shared buffers and CQ entries the hosts at one address use */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/peer.h"

#include <stdlib.h>
#include <string.h>

struct peer *peer_enter(struct peers *peers, const struct uroce_addr *addr)
{
	struct peer *peer = LIST_FIRST(peers);

	while (peer && memcmp(&peer->addr, addr, sizeof(*addr)) != 0)
		peer = LIST_NEXT(peer, next);
	if (peer == NULL) {
		peer = calloc(1, sizeof(*peer));
		if (peer == NULL)
			return NULL;
		peer->addr = *addr;
		STAILQ_INIT(&peer->turn.works);
		STAILQ_INIT(&peer->file_turn.works);
		LIST_INSERT_HEAD(peers, peer, next);
	}
	peer->queues++;
	return peer;
}

void peer_leave(struct peer *peer)
{
	if (--peer->queues > 0)
		return;
	LIST_REMOVE(peer, next);
	free(peer);
}
