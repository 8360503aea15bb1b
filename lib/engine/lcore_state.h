/* lcore_state.h - what an lcore owns, and who polls it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LCORE_STATE_H
#define ENGINE_LCORE_STATE_H

#include <pthread.h>
#include <sys/eventfd.h>

#include <rte_ring.h>

#include "engine/port_state.h"
#include "rc/board.h"

#define ENGINE_DEVICES 16u
#define HANDOVER_FRAMES 2048u
#define MAILBOX_CALLS 256u

struct engine_connect;
struct engine_failed;
struct uroce_engine;
struct uroce_ud;

struct uroce_lcore {
	struct uroce_engine *engine;
	unsigned index;
	unsigned lcore_id;       /* EAL; LCORE_ID_ANY when the application polls it */
	_Atomic pthread_t owner; /* the thread that polls it; valid while owned */
	_Atomic bool owned;

	struct rc_outbox out;
	struct engine_wheel wheel;
	struct engine_run_queue run_queue; /* QPs without a port */
	LIST_HEAD(, uroce_qp) unresolved;  /* QPs whose peer's MAC is not known */
	LIST_HEAD(, uroce_ud) uds_waiting; /* queue pairs with datagrams that wait for a MAC */
	bool seeks_mac;                    /* one of these two has somebody */
	uint64_t resolve_ns;               /* when they are looked at again */
	struct engine_port *ports[ENGINE_DEVICES];
	unsigned port_count;
	struct engine_spare spares[ENGINE_DEVICES];
	uint64_t now_ns, before_ns;             /* when this poll began, and the one before it */
	uint64_t made_ns, busy_ns;              /* when it was created; how long its polls with work took */
	uint32_t polls;                         /* counts them */
	uint32_t work;                          /* of this poll */
	uint64_t link_ns, ask_ns;               /* when links are looked at again, and when asked for */
	uint32_t broadcast_epoch;               /* of the engine, as far as this lcore has looked */
	uint8_t *scratch;                       /* a frame in pieces is laid out here */
	struct engine_failed *failed;           /* its QPs that failed last */
	struct rc_boards boards;                /* what its QPs borrow to repair losses */
	struct rc_board *board_memory;          /* LCORE_BOARDS of them, of which those never borrowed cost nothing */
	struct engine_connect *_Atomic connect; /* while somebody has a channel of connections; NULL: nobody */

	struct rte_ring *doorbells; /* of QP indexes */
	struct rte_ring *mailbox;   /* of struct engine_call * */
	struct rte_ring *handover;  /* of struct rte_mbuf *; their port is the one they came to */
	_Atomic bool asleep;        /* its thread waits, and whoever puts something into a ring wakes it */
	int wake_fd;                /* constant: an eventfd */
};

/* Does a thread poll the lcore? */
static inline bool lcore_is_owned(const struct uroce_lcore *lcore)
{
	/* pairs with the release in claim(): owner is valid */
	return atomic_load_explicit(&lcore->owned, memory_order_acquire);
}

/* Does the calling thread? */
static inline bool lcore_is_ours(const struct uroce_lcore *lcore)
{
	return lcore_is_owned(lcore) &&
	       pthread_equal(atomic_load_explicit(&lcore->owner, memory_order_relaxed), pthread_self());
}

/* Something is in one of its rings: its thread has to look, should it be asleep. */
static inline void lcore_wake(struct uroce_lcore *lcore)
{
	/* pairs with K1 in uroce_lcore_wait: it is in the ring before we look whether anybody sleeps */
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
