/* lane.h - an lcore of the target: it polls what is its own, and shares with others what is in `server` */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection belongs to the lane of the lcore that its QP lives on, and with it all that its commands need: slots,
 * buffers, the ring for files. What another lane wants of it is told with a flag (queue_tell_end()), and done in a poll
 * of its own. So commands about blocks take no lock.
 */
#ifndef NVMET_LANE_H
#define NVMET_LANE_H

#include <stdatomic.h>
#include <uroce/uroce.h>

#include "nvmet/pool.h"
#include "nvmet/ring.h"

#define LANES_MAX 16u
#define LANE_PORTS_MAX 8u
#define LANE_APART 128u /* two cache lines, which a processor may fetch together */
#define LANE_PAUSE_NS 100000000ull

struct queue;
struct server;

struct server_counts {
	uint64_t hosts_come, hosts_gone, hosts_refused, queues, refused_queues, commands, errors, waits_for_memory,
		broken_queues, expired;
	uint64_t stuck_queues, mute_queues; /* whose hosts did not take answers, did not connect to a controller */
};

/* What its queues have of a port. */
struct lane_port {
	struct uroce_cq *cq;  /* NULL: the port has no queue for this lcore */
	uint32_t completions; /* that its queues may have in the CQ */
};

/* Somebody who wants to connect. */
struct request {
	struct uroce_cm_event event;
	struct request *next;
};

/* No cache line has something of two lanes: each writes to its own in every poll. */
struct lane {
	_Alignas(LANE_APART) struct server *server;
	uint32_t index;
	struct uroce_lcore *lcore;
	struct lane_port ports[LANE_PORTS_MAX];
	struct pool pool;
	struct region *pool_region;
	struct ring *ring;
	struct queue *queues;        /* all there are, in a list, which changes under the target's lock */
	struct queue *ending_queues; /* those of which not everything has come back */
	struct peer *peers;
	_Atomic uint32_t queue_count;
	struct queue *waiting_first,
		*waiting_last; /* with commands that wait for memory, in the order of their coming */
	uint64_t now_ns, looked_ns, events_ns;
	/*
	 * The time by which hosts are judged: a pause between two polls counts for LANE_PAUSE_NS at most. What a host
	 * said while the lane stood still lies unread, and is heard before its time is over.
	 */
	uint64_t awake_ns;
	bool ended;
	struct server_counts counts;
	/* Written to by other lanes. */
	struct request *requests, *last_request; /* under the lock of events */
	_Atomic bool has_requests, told;         /* told: some of its queues are to end */
	_Atomic uint64_t polls;                  /* that have ended: nothing of what it saw in one is kept beyond it */
};

/* pool_bytes: a multiple of POOL_MOST_BYTES. APP_EXIT_OK, or what to exit with; the reason has been printed. */
int lane_open(struct lane *lane, uint64_t pool_bytes, bool threads);
void lane_close(struct lane *lane);
/* One poll, always by the same thread. Returns whether there was something to do. */
bool lane_poll(struct lane *lane);
/* What connection management has to tell, by the way, before its time. */
void lane_hand_out_events(struct lane *lane);
/* That its queues may have of a port. */
uint32_t lane_completions(const struct server *server);

/* One lane writes, others read meanwhile: a count, and how many there are of something. */
static inline void lane_count(uint64_t *counter, uint64_t number)
{
	__atomic_store_n(counter, *counter + number, __ATOMIC_RELAXED);
}

static inline void lane_set(uint32_t *number, uint32_t value)
{
	__atomic_store_n(number, value, __ATOMIC_RELAXED);
}

#endif
