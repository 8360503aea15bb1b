/* pings.c - remembers which peers were asked for echoes, and which echoes came */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/pings.h"

#include <string.h>
#include <sys/random.h>

void engine_pings_init(struct engine_pings *pings)
{
	memset(pings, 0, sizeof(*pings));
	rte_spinlock_init(&pings->lock);
}

/* The entry of a peer; NULL: it was never asked, or its entry was taken for another peer. */
static struct engine_ping_peer *find(struct engine_pings *pings, const struct uroce_addr *addr, uint16_t vlan_id)
{
	for (unsigned i = 0; i < PING_PEERS; i++) {
		struct engine_ping_peer *peer = &pings->peers[i];

		if (peer->asked_ns && peer->vlan_id == vlan_id && memcmp(&peer->addr, addr, sizeof(*addr)) == 0)
			return peer;
	}
	return NULL;
}

static struct engine_ping_peer *find_oldest(struct engine_pings *pings)
{
	struct engine_ping_peer *oldest = &pings->peers[0];

	for (unsigned i = 1; i < PING_PEERS; i++) {
		if (pings->peers[i].asked_ns < oldest->asked_ns)
			oldest = &pings->peers[i];
	}
	return oldest;
}

/* Returns a number that cannot be guessed, even and not 0; 0 if there is no entropy. */
static uint32_t draw_number(void)
{
	uint32_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return 0;
	return number < 2 ? 2 : number & ~1u;
}

uint32_t engine_pings_begin(struct engine_pings *pings, const struct uroce_addr *addr, uint16_t vlan_id,
			    uint64_t now_ns)
{
	struct engine_ping_peer *peer;
	uint32_t number = 0;

	rte_spinlock_lock(&pings->lock);
	peer = find(pings, addr, vlan_id);
	if (!peer || now_ns >= peer->asked_ns + PING_INTERVAL_NS)
		number = draw_number();
	if (number) {
		peer = peer ? peer : find_oldest(pings);
		*peer = (struct engine_ping_peer){
			.addr = *addr, .vlan_id = vlan_id, .number = number, .asked_ns = now_ns
		};
	}
	rte_spinlock_unlock(&pings->lock);
	return number;
}

void engine_pings_take(struct engine_pings *pings, const uint8_t addr[16], uint32_t number)
{
	rte_spinlock_lock(&pings->lock);
	for (unsigned i = 0; i < PING_PEERS; i++) {
		struct engine_ping_peer *peer = &pings->peers[i];

		if (peer->asked_ns && peer->number == (number & ~1u) &&
		    memcmp(peer->addr.bytes, addr, sizeof(peer->addr.bytes)) == 0)
			peer->came[number & 1] = true;
	}
	rte_spinlock_unlock(&pings->lock);
}

enum engine_ping engine_pings_result(struct engine_pings *pings, const struct uroce_addr *addr, uint16_t vlan_id,
				     uint64_t since_ns, uint64_t now_ns)
{
	enum engine_ping result = PING_UNKNOWN;
	const struct engine_ping_peer *peer;

	rte_spinlock_lock(&pings->lock);
	peer = find(pings, addr, vlan_id);
	if (peer && peer->asked_ns >= since_ns) {
		if (peer->came[1])
			result = PING_ALL;
		else if (now_ns >= peer->asked_ns + PING_PATIENCE_NS)
			result = peer->came[0] ? PING_SHORT : PING_SILENT;
	}
	rte_spinlock_unlock(&pings->lock);
	return result;
}
