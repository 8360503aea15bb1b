/* lane_state.h - an lcore of the target: what belongs to it alone */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection, with all that its commands need (slots, buffers, the ring for files), belongs to the lane of the lcore
 * that owns its QP. Another lane that wants to end a connection sets a flag (queue_tell_end()), and the owner acts in
 * one of its polls. So commands about blocks take no lock.
 */
#ifndef NVMET_LANE_STATE_H
#define NVMET_LANE_STATE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>
#include <uroce/uroce.h>

#include "nvmet/pool.h"
#include "nvmet/ring.h"
#include "nvmet/turn.h"
#include "share/share.h"

#define LANES_MAX 16u
#define LANE_PORTS_MAX 8u
#define LANE_APART 128u /* two cache lines, which a processor may fetch together */
#define LANE_PAUSE_NS 100000000ull

struct queue;
struct server;
struct slot;

struct server_counts {
	uint64_t hosts_come, hosts_gone, hosts_refused, queues, refused_queues, commands, errors, waits_for_memory,
		broken_queues, expired;
	/* queues closed because their hosts took no answers, or never connected to a controller */
	uint64_t stuck_queues, mute_queues;
};

/* The part of a port that the queues of a lane use. */
struct lane_port {
	struct uroce_cq *cq;  /* NULL: the port has no queue for this lcore */
	struct share entries; /* of the CQ: a queue holds as many as it may use */
};

/* A request to connect. */
struct request {
	struct uroce_cm_event event;
	STAILQ_ENTRY(request) next;
};

/* Lanes share no cache line, because each lane writes to its own lines in every poll. */
struct lane {
	_Alignas(LANE_APART) struct server *server;
	uint32_t index;
	struct uroce_lcore *lcore;
	struct lane_port ports[LANE_PORTS_MAX];
	struct pool pool;
	struct region *pool_region;
	struct ring *ring;
	LIST_HEAD(, queue) queues;        /* all queues of the lane; changes under the target's lock */
	LIST_HEAD(, queue) ending_queues; /* closed queues that still have something posted */
	LIST_HEAD(peers, peer) peers;
	struct share queue_places; /* this lane's part of the engine's QPs: a queue holds one */
	_Atomic uint32_t queue_count;
	STAILQ_HEAD(waiting_queues, queue) waiting; /* queues with commands that wait for memory, first come first */
	bool serves_waiting;                        /* slot_try_again() is under way */
	const struct slot *short_slot;              /* the first waiting command, if it finds no buffer; else NULL */
	uint64_t short_ns;                          /* since when (by awake_ns) no waiting command has been served */
	struct turns turns;                         /* addresses with work that goes on */
	uint64_t now_ns, looked_ns, events_ns;
	/*
	 * The clock by which hosts are judged: a pause between two polls counts for at most LANE_PAUSE_NS. So data that
	 * a host sent while the lane did not run is read before the host's time is over.
	 */
	uint64_t awake_ns;
	bool ended;
	struct server_counts counts;
	/* Other lanes write to these. */
	STAILQ_HEAD(requests, request) requests; /* under the lock of events */
	_Atomic bool has_requests, told;         /* told: some of its queues are to end */
	/* number of finished polls: what the lane looks up in a poll is not in use after that poll */
	_Atomic uint64_t polls;
};

/* Adds to a number that one lane writes and other lanes may read meanwhile. */
static inline void lane_count(uint64_t *counter, uint64_t number)
{
	__atomic_store_n(counter, *counter + number, __ATOMIC_RELAXED);
}

static inline void lane_set(uint32_t *number, uint32_t value)
{
	__atomic_store_n(number, value, __ATOMIC_RELAXED);
}

#endif
