/* engine.h - the engine's own structures: who owns what */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine has lcores and devices. A device is a port; queue i of it is served by one lcore. A QP belongs to one
 * lcore, which alone touches its state; others reach it by the doorbell ring, the mailbox and the hand-over ring.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/queue.h>

#include <rte_mbuf.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>
#include <rte_spinlock.h>

#include <uroce/uroce.h>

#include "engine/interface.h"
#include "engine/log.h"
#include "engine/neigh.h"
#include "engine/rest.h"
#include "engine/slab.h"
#include "engine/wheel.h"
#include "config/limits.h"
#include "rc/board.h"
#include "rc/outbox.h"
#include "rc/qp.h"
#include "cm/cm.h"
#include "rc/srq.h"
#include "wire/frame.h"

#define ENGINE_DEVICES 16u
#define ENGINE_UDS 64u
#define PKEY_DEFAULT 0xFFFFu
#define TX_PENDING (2 * OUTBOX_PACKETS) /* frames that wait for the port, at most */
#define SPARE_MBUFS (2 * OUTBOX_PACKETS)
#define HANDOVER_FRAMES 2048u
#define MAILBOX_CALLS 256u
#define EVENT_RING 1024u
#define CQ_PIECE_BYTES 16u /* what rte_ring copies best */
#define CQ_PIECES ((uint32_t)sizeof(struct uroce_wc) / CQ_PIECE_BYTES)

static_assert(CQ_PIECES * CQ_PIECE_BYTES == sizeof(struct uroce_wc) && (CQ_PIECES & (CQ_PIECES - 1)) == 0,
	      "whole pieces, as many as engine_numa_create_ring() takes");

struct engine_connect;

struct uroce_pd {
	struct uroce_device *device;
	uint32_t id; /* not 0 */
	_Atomic uint32_t users;
};

struct uroce_mr {
	struct uroce_pd *pd;
	uint32_t key;
};

struct uroce_mw {
	struct uroce_pd *pd;
	enum uroce_mw_type type;
	_Atomic uint32_t key; /* of the last bind posted */
};

struct uroce_srq {
	struct uroce_pd *pd;
	struct rc_srq *rc;
	uint64_t rc_bytes;
	_Atomic uint32_t users;
	uint64_t context; /* of its events */
};

enum engine_cq_armed { CQ_NOT_ARMED, CQ_ARMED_SOLICITED, CQ_ARMED_ANY };

struct uroce_cq {
	struct uroce_device *device;
	struct rte_ring *_Atomic ring; /* of struct uroce_wc, in CQ_PIECES each */
	struct rte_ring *before;       /* of its depth before, until all has been taken; NULL: nothing is in it */
	_Atomic uint32_t users;
	_Atomic bool overflowed;
	_Atomic int fd;         /* -1 until somebody asks for it */
	_Atomic uint32_t armed; /* enum engine_cq_armed */
	bool fd_is_callers;
	uint64_t wake_value; /* what a wake-up writes to fd */
	uint64_t context;    /* of its events */
};

struct uroce_qp {
	struct uroce_lcore *owner; /* constant */

	/* lcore only */
	struct engine_run_queue *run_queue; /* its port's, or the lcore's while it has none */
	uint32_t queued_at;                 /* its place there */
	bool queued;                        /* has a place there */
	bool responder_only;                /* has only to respond to requests */
	bool resolved;                      /* the peer's MAC is known, the template complete */
	uint32_t migrations;                /* the core's count of them when the template was made */
	uint32_t sent_poll;                 /* the lcore's poll in which it last sent much */
	struct engine_port *port;           /* of the path in use; valid while resolved */
	struct engine_wheel_node timer;
	struct wire_frame_template template;  /* by lines: see prefetch_queued() */
	LIST_ENTRY(uroce_qp) with_unresolved; /* le_prev NULL: not among those */
	uint64_t waiting_since_ns;            /* for the peer's MAC */
	uint64_t quiet_until_ns;              /* after RESET: no new connection before (P-7) */
	struct uroce_device *held[2];         /* ports of its paths: they stay while it is there */
	struct uroce_cm_id *cm_id;            /* of the connection that it belongs to; NULL: none */

	/* constant */
	struct uroce_device *device;
	struct uroce_pd *pd;
	struct uroce_cq *send_cq, *recv_cq;
	struct uroce_srq *srq;
	uint32_t qpn, index;
	uint64_t bytes; /* of the whole block, rc included */

	/* anybody sets, lcore clears: an entry of this QP stands in the doorbell ring */
	_Alignas(64) _Atomic bool rung;
};

/* The core of a QP lies behind it, in the same block. */
static inline struct rc_qp *qp_core(const struct uroce_qp *qp)
{
	return (struct rc_qp *)(uintptr_t)(qp + 1);
}

static_assert(offsetof(struct uroce_qp, template) == 64, "what every service needs, ACKs and frames begin a line each");

/*
 * Empty mbufs of a pool, which an lcore has at hand so that a frame that is begun can be sent. The last used is on
 * top.
 */
struct engine_spare {
	struct rte_mempool *pool; /* NULL: none */
	uint32_t users;           /* ports of the lcore that send from it */
	uint32_t count;
	struct rte_mbuf *mbufs[SPARE_MBUFS];
	uint8_t *places[SPARE_MBUFS]; /* where the frame of each begins */
};

/* QPs that have something to do: see run_queue.h. */
struct engine_run_queue {
	struct uroce_qp **qps;
	uint32_t mask, head, tail;
	uint32_t looks; /* at QPs, while the port had no room */
};

/* What an lcore has to do with one device. */
struct engine_port {
	struct uroce_device *device;
	struct uroce_lcore *lcore;
	struct engine_run_queue run_queue; /* QPs that send from here */
	struct engine_spare *spare;        /* of the lcore */
	uint16_t queue;
	uint16_t pending_count; /* frames that the port did not take yet, oldest first */
	bool has_own;           /* some of its frames may be for itself */
	struct rte_mbuf *pending[TX_PENDING];
	uint64_t poll_ends_at; /* how far port_frames_out() may go in this poll */
	uint64_t goal_frames;  /* tx_frames when all that waited at goal_ns has left */
	uint64_t goal_ns;
	struct engine_held {
		uint64_t since_ns;    /* nothing has left the port since then */
		uint64_t bytes;       /* that its interface held then */
		uint64_t given_bytes; /* tx_bytes then */
		uint64_t frames;      /* tx_frames then, or as far as they were counted */
	} held;
	uint64_t unknown_since_ns;       /* when the second began in which frames of unknown senders count */
	uint64_t unknown_counted;        /* such frames until then */
	bool unknown_told;               /* the event of this second was raised */
	uint64_t counters[CNT_COUNTERS]; /* lcore only, as all below */
	uint64_t rx_frames, tx_frames, rx_bytes, tx_bytes;
	uint64_t retired[CNT_QP_COUNTERS]; /* counters of the device's destroyed QPs that lived here */
};

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

struct uroce_engine {
	struct uroce_engine_config config; /* with the defaults for what was 0 */
	unsigned lcore_count;
	struct uroce_lcore *lcores[LIMIT_LCORES];
	struct uroce_device *devices[ENGINE_DEVICES];
	pthread_mutex_t lock; /* tables of the engine and its devices; never held while a call waits for an lcore */
	bool running;
	_Atomic bool stop;
	struct rte_rcu_qsbr *qsbr;        /* one reader an lcore */
	_Atomic uint32_t broadcast_epoch; /* counts what concerns QPs of every lcore: a CQ overflowed, a link changed */

	/* QP table: index -> QP; the low digits of an index are its lcore, and those of a QPN its index */
	uint32_t index_count; /* a power of two */
	uint32_t lcore_mask;
	struct engine_qp_slot *qps;
	struct engine_rest rest;

	/* connections, under the lock: listeners, ports, and the key by which the lcore of a REQ is found */
	struct cm_listeners listeners;
	LIST_HEAD(, uroce_cm_id) bound; /* all that have a port */
	uint8_t cm_key[16];
	uint32_t channels;

	/* queue pairs for datagrams, in no order; under the lock */
	struct uroce_ud *_Atomic uds[ENGINE_UDS];
	_Atomic uint32_t ud_count; /* 0: none; nobody looks */
};

struct engine_qp_slot {
	_Atomic(struct uroce_qp *) qp;
	_Atomic uint32_t qpn; /* the whole of it; of the QP, or of the last one that was here */
	_Atomic bool taken;   /* from engine_steer_reserve() on */
};

struct uroce_device {
	struct uroce_engine *engine;
	struct uroce_device_config config;
	uint16_t port_id;
	int numa_node;
	struct uroce_mac mac;
	struct engine_neigh neigh;
	struct engine_slab slab; /* of QPs */
	struct rc_mr_table mrs;
	uint64_t mrs_bytes;
	uint32_t next_pd;
	uint32_t next_queue;      /* where the next QP goes */
	bool queues_are_wired;    /* constant; see struct engine_port_traits */
	_Atomic uint32_t users;   /* PDs, CQs, paths of QPs of other devices */
	rte_spinlock_t link_lock; /* held while the link is looked at and a change is told */
	_Atomic bool link_down;
	bool link_is_noted; /* by the driver, in memory: to look costs nothing */
	bool link_is_asked; /* now and then: of the driver, of the interface */
	struct engine_interface interface;
	struct rte_ring *events; /* of struct uroce_event */
	_Atomic int event_fd;    /* -1 until somebody asks for it */
	_Atomic uint64_t events_lost;
	char name[32];
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

/* One of the QP's CQs has lost a completion, so the QP serves nobody any more (E-5). */
static inline bool qp_cq_has_failed(const struct uroce_qp *qp)
{
	return atomic_load(&qp->send_cq->overflowed) || atomic_load(&qp->recv_cq->overflowed);
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
