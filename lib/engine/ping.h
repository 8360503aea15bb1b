/* ping.h - asks peers that do not answer whether their address answers echo requests, short ones and long ones */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue pair cannot see why its peer does not answer. When it has spent a retry, its peer's address is asked for
 * two ICMP echoes: a short one, and one as long as the longest packet of the queue pair. Kernels answer, and so do
 * ports of this library. Each device has one small table of such questions, under a lock, because they are rare.
 */
#ifndef ENGINE_PING_H
#define ENGINE_PING_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_spinlock.h>

#include <uroce/types.h>

#define PING_PEERS 32u
#define PING_INTERVAL_NS 200000000ull /* how often one peer is asked at most */
#define PING_PATIENCE_NS 20000000ull  /* an echo that has not come after this time counts as missing */

struct uroce_lcore;
struct uroce_path;
struct uroce_qp;
struct wire_neighbour;

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

/* Asks the peer of a resolved QP, unless it was asked lately. */
void engine_ping_ask(struct uroce_lcore *lcore, const struct uroce_qp *qp);

/* An echo has come from a peer, if one of our questions has its number. */
void engine_ping_take(struct engine_pings *pings, const struct wire_neighbour *echo);

/* What became of the last question to the peer of a path. since_ns: an earlier question counts as none. */
enum engine_ping engine_ping_result(struct engine_pings *pings, const struct uroce_path *path, uint64_t since_ns,
				    uint64_t now_ns);

#endif
