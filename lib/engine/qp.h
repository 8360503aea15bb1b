/* qp.h - what an lcore knows of a queue pair, and the queue in which it waits to be served */
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

/* QPs that have something to do: see run_queue.h. */
struct engine_run_queue {
	struct uroce_qp **qps;
	uint32_t mask, head, tail;
	uint32_t looks; /* at QPs, while the port had no room */
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

/* One of the QP's CQs has lost a completion, so the QP serves nobody any more (E-5). */
static inline bool qp_cq_has_failed(const struct uroce_qp *qp)
{
	return atomic_load(&qp->send_cq->overflowed) || atomic_load(&qp->recv_cq->overflowed);
}

#endif
