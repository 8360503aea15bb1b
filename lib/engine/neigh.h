/* neigh.h - the neighbour table: which MAC an address has, learned from ARP and neighbour discovery (W-8) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each device has one small table, under a lock: the table is read when a path is resolved, not for each packet. Not a
 * share (share.h): the entry that was used longest ago makes room, and is asked for again.
 */
#ifndef ENGINE_NEIGH_H
#define ENGINE_NEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_spinlock.h>

#include <uroce/types.h>

#define NEIGH_ENTRIES 1024u                /* power of two */
#define NEIGH_ASK_INTERVAL_NS 100000000ull /* how often an unanswered question is repeated */

struct engine_neigh_entry {
	bool known;
	uint16_t vlan_id;
	struct uroce_addr addr; /* an address in the VLAN vlan_id: another VLAN may use the same address */
	struct uroce_mac mac;
	uint64_t asked_ns;   /* 0: never asked for */
	uint64_t touched_ns; /* 0: the entry is free */
};

struct engine_neigh {
	rte_spinlock_t lock;
	struct engine_neigh_entry entries[NEIGH_ENTRIES];
};

void engine_neigh_init(struct engine_neigh *neigh);

/*
 * Returns true with the MAC in *mac, or false if the MAC is unknown. *ask: nobody has asked for the MAC lately, so the
 * caller is to ask. VLAN 0: untagged.
 */
bool engine_neigh_resolve(struct engine_neigh *neigh, const struct uroce_addr *addr, uint16_t vlan_id, uint64_t now_ns,
			  struct uroce_mac *mac, bool *ask);

/*
 * addr was seen to have this MAC. An address that is not in the table is added only if `wanted`, which is true for a
 * sender that asks for our MAC. So other senders cannot fill the table.
 */
void engine_neigh_learn(struct engine_neigh *neigh, const struct uroce_addr *addr, uint16_t vlan_id,
			const struct uroce_mac *mac, bool wanted, uint64_t now_ns);

#endif
