/* qp.h - the struct of a queue pair in the engine, and that of a run queue */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_QP_H
#define ENGINE_QP_H

#include <sys/queue.h>

#include "engine/cq.h"
#include "engine/wheel.h"
#include "rc/qp.h"
#include "wire/frame.h"

struct engine_port;
struct uroce_cm_id;
struct uroce_device;
struct uroce_lcore;
struct uroce_pd;
struct uroce_srq;

struct engine_qp_ring {
	struct uroce_qp **qps;
	uint32_t head, tail;
};

/* The rings of a run queue that a QP is in. */
enum engine_ring { RING_TURNS = 1, RING_ANSWERS = 2 };

/* QPs that have work: see run_queue.h. */
struct engine_run_queue {
	struct engine_qp_ring turns;   /* QPs that wait for their turn */
	struct engine_qp_ring answers; /* QPs that owe ACKs and NAKs, which leave before */
	uint32_t mask;
	uint32_t count; /* entries of both rings, holes included */
	uint32_t looks; /* how often a QP was served while the port had no room */
};

struct uroce_qp {
	struct uroce_lcore *owner; /* does not change */

	/* only the lcore touches these */
	/* run queue of the QP's port or, while the QP has no port, the lcore's own */
	struct engine_run_queue *run_queue;
	uint32_t turn_at;         /* its index among `turns` */
	uint8_t rings;            /* of the run queue, in which it is: enum engine_ring */
	bool responder_only;      /* its only work is to answer requests */
	bool resolved;            /* the peer's MAC is known and the template complete */
	uint32_t migrations;      /* the core's count of migrations for which the template was made */
	uint32_t sent_poll;       /* the poll in which the QP last sent SERVICE_BYTES */
	struct engine_port *port; /* port of the path in use; valid while resolved */
	struct engine_wheel_node timer;
	/* the template's parts for ACKs and for frames begin a cache line each: see prefetch_queued() */
	struct wire_frame_template template;
	uint32_t answer_at;                   /* its index among `answers` */
	LIST_ENTRY(uroce_qp) with_unresolved; /* le_prev NULL: not in that list */
	uint64_t waiting_since_ns;            /* since when the QP has been waiting for the peer's MAC */
	uint32_t notified_us;                 /* when the QP last sent a congestion notification; a clock that wraps */
	uint64_t quiet_until_ns;              /* after RESET: no new connection before this time (P-7) */
	struct uroce_device *held[2];         /* devices that the QP's paths use; these devices cannot be destroyed */
	struct uroce_cm_id *cm_id;            /* the id of its connection; NULL: none */

	/* does not change */
	struct uroce_device *device;
	struct uroce_pd *pd;
	struct uroce_cq *send_cq, *recv_cq;
	struct uroce_srq *srq;
	uint32_t qpn, index;
	uint64_t bytes; /* bytes of the whole block, with the core and its rings */

	/* the QP is in the doorbell ring: any thread sets this, the lcore clears it */
	_Alignas(64) _Atomic bool rung;
};

/* The core of the QP, which lies behind this struct in the same block. */
static inline struct rc_qp *qp_core(const struct uroce_qp *qp)
{
	return (struct rc_qp *)(uintptr_t)(qp + 1);
}

static_assert(offsetof(struct uroce_qp, template) == 64,
	      "hot fields, ACK template and frame template each start a cache line");

/* A CQ of the QP has lost a completion, so the QP must go to ERR (E-5). */
static inline bool qp_cq_has_failed(const struct uroce_qp *qp)
{
	return atomic_load(&qp->send_cq->overflowed) || atomic_load(&qp->recv_cq->overflowed);
}

#endif
