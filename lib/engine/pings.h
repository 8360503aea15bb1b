/* pings.h - the table of peers that were asked for ICMP echoes, and of the echoes that came */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue pair cannot see why its peer does not answer. When it has spent a retry, its peer's address is asked for two
 * ICMP echoes (ping.h): a short one, and one as long as the longest packet of the queue pair. Kernels answer, and so do
 * ports of this library. Each device has one small table of such questions, under a lock, because they are rare. Not a
 * share (share.h): the oldest question makes room, and without its answer a failure only says less.
 */
#ifndef ENGINE_PINGS_H
#define ENGINE_PINGS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_spinlock.h>

#include <uroce/types.h>

#define PING_PEERS 32u
#define PING_INTERVAL_NS 200000000ull /* how often one peer is asked at most */
#define PING_PATIENCE_NS 20000000ull  /* an echo that has not come after this time counts as missing */

/* What became of the last question to a peer. */
enum engine_ping {
	PING_UNKNOWN, /* the peer was not asked, or only just now */
	PING_SILENT,  /* no echo came */
	PING_SHORT,   /* only the short one came */
	PING_ALL
};

struct engine_pings {
	rte_spinlock_t lock;
	struct engine_ping_peer {
		struct uroce_addr addr; /* in the VLAN vlan_id */
		uint16_t vlan_id;
		bool came[2];      /* the echoes: short, long */
		uint32_t number;   /* random, of the short question; that of the long one is one more */
		uint64_t asked_ns; /* 0: the entry is free */
	} peers[PING_PEERS];
};

void engine_pings_init(struct engine_pings *pings);

/*
 * The peer is asked now. Returns the number of the short question, that of the long one is one more; 0: the peer was
 * asked lately, so it is not asked again.
 */
uint32_t engine_pings_begin(struct engine_pings *pings, const struct uroce_addr *addr, uint16_t vlan_id,
			    uint64_t now_ns);

/* An echo with this number has come from an address. An echo that nobody asked for is ignored. */
void engine_pings_take(struct engine_pings *pings, const uint8_t addr[16], uint32_t number);

/* since_ns: a question before this time counts as none. */
enum engine_ping engine_pings_result(struct engine_pings *pings, const struct uroce_addr *addr, uint16_t vlan_id,
				     uint64_t since_ns, uint64_t now_ns);

#endif
