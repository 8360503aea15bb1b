/* lcore_state.h - the struct of an lcore: what it owns, and which thread polls it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LCORE_STATE_H
#define ENGINE_LCORE_STATE_H

#include <pthread.h>
#include <sys/eventfd.h>

#include <rte_ring.h>

#include "engine/port_state.h"
#include "rc/board.h"
#include "rc/kept.h"

#define ENGINE_DEVICES 16u
/*
 * Frames that other lcores have received for this one. Not a share (share.h): each poll empties the ring, and what
 * finds no room is lost like a frame on the wire.
 */
#define HANDOVER_FRAMES 2048u
#define MAILBOX_CALLS 256u

struct engine_connect;
struct engine_failed;
struct uroce_engine;
struct uroce_ud;

/* Where a thread goes on when a copy from or to the application's memory faults (engine/landing.h). */
struct engine_landing {
	void *back[5]; /* as __builtin_setjmp() has it: it saves no registers, and costs less than sigsetjmp() */
	const void *address;
	/* the thread that copies, while it copies; unused in the landing of polls, whose thread is that of the lcore */
	pthread_t thread;
	_Atomic bool copies;
};

#define SERVICES_PER_POLL (4 * BURST)

/*
 * A burst of received frames on its way to the QPs. It lies here so that a fault in the memory of one QP, which ends
 * the work on the burst, loses no frame of the others.
 */
struct engine_burst {
	struct rte_mbuf *frames[BURST];
	struct engine_port *port; /* NULL: the frames were handed over by other lcores */
	uint32_t count;           /* 0: there is no burst */
	uint32_t at;              /* the frame that a QP takes now */
	bool has_gaps;            /* frames that other lcores own now are NULL */
	bool pauses;              /* no other burst comes for now */
};

/* How much of its core a thread has used until at_ns. */
struct engine_core_use {
	uint64_t at_ns, ran_ns;
	uint64_t starved_ns; /* how long the thread was ready to run but had no core */
	uint64_t sleeps;     /* how often the thread gave its core away by itself */
};

/* How often, and how long, the lcore was away (away.c). */
struct engine_away {
	uint64_t look_ns;  /* when the kernel is queried next */
	uint64_t slept_ns; /* when a sleep of the thread was last noticed */
	struct engine_core_use use;
	int schedstat_fd; /* the file schedstat of the lcore's thread in /proc; -1: not available */
	uint64_t count, total_ns;
	uint64_t logged_ns, longest_ns; /* of the absences that were not logged yet */
	uint32_t unlogged;
	uint64_t reported_ns; /* the last absence that is reported to peers; 0: none */
	uint32_t report_ms;
	uint32_t report_index, reports_left; /* the next QP index to report to, in units of lcores; how many remain */
};

struct uroce_lcore {
	struct uroce_engine *engine;
	unsigned index;
	unsigned lcore_id;       /* EAL's number; LCORE_ID_ANY: the application polls the lcore */
	_Atomic pthread_t owner; /* the thread that polls the lcore; valid while owned */
	_Atomic bool owned;

	struct engine_landing landing, datagram_landing;
	struct rc_outbox out;
	struct uroce_qp *serving; /* the QP that may copy from or to memory now; NULL between polls */
	struct engine_burst burst;
	/* QPs that this poll has served and that have more to send */
	struct uroce_qp *served[SERVICES_PER_POLL];
	uint32_t served_count;
	struct engine_wheel wheel;
	struct engine_run_queue run_queue; /* QPs without a port */
	LIST_HEAD(, uroce_qp) unresolved;  /* QPs whose peer's MAC is not known */
	LIST_HEAD(, uroce_ud) uds_waiting; /* queue pairs with datagrams that wait for a MAC */
	bool seeks_mac;                    /* `unresolved` or `uds_waiting` is not empty */
	uint64_t resolve_ns;               /* when both lists are checked next */
	struct engine_port *ports[ENGINE_DEVICES];
	unsigned port_count;
	struct engine_spare spares[ENGINE_DEVICES];
	uint64_t now_ns, before_ns; /* start of this poll, and of the one before */
	uint64_t made_ns, busy_ns;  /* when the lcore was created; how long polls that found work took together */
	struct engine_away away;
	uint32_t polls; /* number of polls */
	uint32_t work;  /* work done in this poll */
	/* when link states are next read from memory, and when drivers are next asked for them */
	uint64_t link_ns, ask_ns;
	uint32_t broadcast_epoch;               /* the engine's broadcast_epoch, as last seen by this lcore */
	uint8_t *scratch;                       /* a frame that came in several segments is copied here */
	struct engine_failed *failed;           /* its QPs that failed most recently */
	struct rc_boards boards;                /* the boards that QPs of the lcore borrow to repair losses */
	struct rc_board *board_memory;          /* LCORE_BOARDS boards; a board that was never lent costs no memory */
	struct rc_store store;                  /* where QPs of the lcore keep requests before their turn */
	struct rc_kept_packet *kept_memory;     /* LCORE_KEPT packets; a packet that was never used costs no memory */
	struct engine_connect *_Atomic connect; /* NULL: the engine has no channel */

	struct rte_ring *doorbells; /* entries are QP indexes */
	struct rte_ring *mailbox;   /* entries are struct engine_call * */
	struct rte_ring *handover;  /* entries are struct rte_mbuf *; mbuf->port is the port of arrival */
	_Atomic bool asleep;        /* the lcore's thread sleeps: a thread that adds to a ring has to wake it */
	int wake_fd;                /* an eventfd; does not change */
};

/* Does a thread poll the lcore? */
static inline bool lcore_is_owned(const struct uroce_lcore *lcore)
{
	/* pairs with the release in claim(): owner is valid */
	return atomic_load_explicit(&lcore->owned, memory_order_acquire);
}

/* Does the calling thread poll the lcore? */
static inline bool lcore_is_ours(const struct uroce_lcore *lcore)
{
	return lcore_is_owned(lcore) &&
	       pthread_equal(atomic_load_explicit(&lcore->owner, memory_order_relaxed), pthread_self());
}

/* An entry was added to a ring of the lcore: wakes the lcore's thread if the thread sleeps. */
static inline void lcore_wake(struct uroce_lcore *lcore)
{
	/* pairs with K1 in sleep_for() of wait.c: the entry is in the ring before we read `asleep` */
	atomic_thread_fence(memory_order_seq_cst);
	if (__builtin_expect(atomic_load_explicit(&lcore->asleep, memory_order_relaxed), 0))
		eventfd_write(lcore->wake_fd, 1);
}

/* The port structure of device on lcore, or NULL. */
static inline struct engine_port *engine_find_port(const struct uroce_lcore *lcore, const struct uroce_device *device)
{
	for (unsigned i = 0; i < lcore->port_count; i++) {
		if (lcore->ports[i]->device == device)
			return lcore->ports[i];
	}
	return NULL;
}

#endif
