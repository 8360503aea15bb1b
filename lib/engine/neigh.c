/* neigh.c - the address table of a device */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "engine/neigh.h"

#define PROBES 8u /* how many entries are tried for an address */

void engine_neigh_init(struct engine_neigh *neigh)
{
	memset(neigh, 0, sizeof(*neigh));
	rte_spinlock_init(&neigh->lock);
}

static uint32_t hash(const struct uroce_addr *addr, uint16_t vlan_id)
{
	uint64_t high, low;

	memcpy(&high, addr->bytes, 8);
	memcpy(&low, addr->bytes + 8, 8);
	high ^= vlan_id;
	return (uint32_t)(((high ^ low * 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull) >> 40);
}

/*
 * Returns the entry of the address. If there is none and `make` is true, takes an unused entry, or the one that was not
 * used for longest; if `make` is false, returns NULL.
 */
static struct engine_neigh_entry *find(struct engine_neigh *neigh, const struct uroce_addr *addr, uint16_t vlan_id,
				       bool make)
{
	uint32_t start = hash(addr, vlan_id);
	struct engine_neigh_entry *oldest = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct engine_neigh_entry *entry = &neigh->entries[(start + i) & (NEIGH_ENTRIES - 1)];

		if (entry->touched_ns && entry->vlan_id == vlan_id && memcmp(&entry->addr, addr, sizeof(*addr)) == 0)
			return entry;
		if (oldest == NULL || entry->touched_ns < oldest->touched_ns)
			oldest = entry;
	}
	if (!make)
		return NULL;
	*oldest = (struct engine_neigh_entry){ .vlan_id = vlan_id, .addr = *addr };
	return oldest;
}

bool engine_neigh_resolve(struct engine_neigh *neigh, const struct uroce_addr *addr, uint16_t vlan_id, uint64_t now_ns,
			  struct uroce_mac *mac, bool *ask)
{
	struct engine_neigh_entry *entry;
	bool known;

	rte_spinlock_lock(&neigh->lock);
	entry = find(neigh, addr, vlan_id, true);
	entry->touched_ns = now_ns;
	known = entry->known;
	*mac = entry->mac;
	*ask = !known && (entry->asked_ns == 0 || now_ns - entry->asked_ns >= NEIGH_ASK_INTERVAL_NS);
	if (*ask)
		entry->asked_ns = now_ns;
	rte_spinlock_unlock(&neigh->lock);
	return known;
}

void engine_neigh_learn(struct engine_neigh *neigh, const struct uroce_addr *addr, uint16_t vlan_id,
			const struct uroce_mac *mac, bool wanted, uint64_t now_ns)
{
	struct engine_neigh_entry *entry;

	rte_spinlock_lock(&neigh->lock);
	entry = find(neigh, addr, vlan_id, wanted);
	if (entry) {
		entry->known = true;
		entry->mac = *mac;
		entry->touched_ns = now_ns;
	}
	rte_spinlock_unlock(&neigh->lock);
}
