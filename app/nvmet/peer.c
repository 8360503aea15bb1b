/* peer.c - counts what the hosts at one address hold of the pools of a lane */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/peer.h"

#include <stdlib.h>
#include <string.h>

static struct peer *find(const struct lane *lane, const struct uroce_addr *addr)
{
	struct peer *peer = LIST_FIRST(&lane->peers);

	while (peer && memcmp(&peer->addr, addr, sizeof(*addr)) != 0)
		peer = LIST_NEXT(peer, next);
	return peer;
}

static struct peer *make(struct lane *lane, const struct uroce_addr *addr)
{
	struct peer *peer = calloc(1, sizeof(*peer));

	if (peer == NULL)
		return NULL;
	peer->addr = *addr;
	STAILQ_INIT(&peer->turn.works);
	STAILQ_INIT(&peer->file_turn.works);
	LIST_INSERT_HEAD(&lane->peers, peer, next);
	return peer;
}

struct peer *peer_enter(struct lane *lane, const struct uroce_addr *addr)
{
	struct peer *peer = find(lane, addr);

	if (!share_allows(&lane->queue_places, peer ? peer->queues : 0, 1))
		return NULL;
	if (peer == NULL)
		peer = make(lane, addr);
	if (peer)
		share_take(&lane->queue_places, &peer->queues, 1);
	return peer;
}

void peer_leave(struct lane *lane, struct peer *peer)
{
	share_give(&lane->queue_places, &peer->queues, 1);
	if (peer->queues > 0)
		return;
	LIST_REMOVE(peer, next);
	free(peer);
}
