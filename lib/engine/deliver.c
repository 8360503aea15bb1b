/* deliver.c - completions to their CQs, events to their devices */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <unistd.h>

#include <rte_ring.h>

#include "engine/connect.h"
#include "engine/deliver.h"
#include "engine/events.h"
#include "engine/steer.h"
#include "engine/trace_points.h"
#include "engine/view.h"

/* A completion was lost for want of room: the CQ says so once, and every lcore looks for QPs that use it (E-5). */
static void overflow_cq(struct uroce_lcore *lcore, struct uroce_cq *cq)
{
	struct uroce_event event = { .type = UROCE_EVENT_CQ_ERR, .cq = cq };

	if (atomic_exchange(&cq->overflowed, true))
		return;
	engine_device_raise(cq->device, &event);
	atomic_fetch_add(&lcore->engine->broadcast_epoch, 1);
}

static bool wakes(const struct uroce_wc *wc, uint32_t count, uint32_t armed)
{
	for (uint32_t i = 0; i < count; i++) {
		if (armed == CQ_ARMED_ANY || wc[i].status != UROCE_WC_SUCCESS || (wc[i].wc_flags & UROCE_WC_SOLICITED))
			return true;
	}
	return false;
}

/* Completions have come: who sleeps on the CQ is woken, once (M-5). */
static void wake_reader(struct uroce_cq *cq, const struct uroce_wc *wc, uint32_t count)
{
	int fd = atomic_load_explicit(&cq->fd, memory_order_relaxed);
	uint64_t one = 1;
	uint32_t armed;

	if (fd < 0)
		return;
	/* N1: completions are in the ring before we look; the reader arms before he looks at the ring */
	atomic_thread_fence(memory_order_seq_cst);
	armed = atomic_load_explicit(&cq->armed, memory_order_relaxed);
	if (armed == CQ_NOT_ARMED || !wakes(wc, count, armed))
		return;
	if (atomic_compare_exchange_strong(&cq->armed, &armed, CQ_NOT_ARMED) && write(fd, &one, sizeof(one)) < 0)
		return; /* the counter is full: it is readable anyway */
}

void engine_deliver_completions(struct uroce_lcore *lcore)
{
	struct rc_outbox *out = &lcore->out;
	uint32_t begin = 0;

	while (begin < out->completion_count) {
		struct uroce_cq *cq = out->completion_cqs[begin];
		uint32_t end = begin + 1, taken;

		while (end < out->completion_count && out->completion_cqs[end] == cq)
			end++;
		taken = rte_ring_enqueue_burst_elem(cq->ring, &out->completions[begin], CQ_PIECE_BYTES,
						    (end - begin) * CQ_PIECES, NULL) /
			CQ_PIECES;
		if (taken < end - begin)
			overflow_cq(lcore, cq);
		wake_reader(cq, &out->completions[begin], taken);
		lcore->work += taken;
		begin = end;
	}
	out->completion_count = 0;
}

static bool is_failure(uint32_t type)
{
	return type == UROCE_EVENT_QP_FATAL || type == UROCE_EVENT_QP_REQ_ERR || type == UROCE_EVENT_QP_ACCESS_ERR;
}

static void trace_failure(const struct uroce_qp *qp)
{
	struct uroce_qp_error error;

	rc_qp_last_error(qp_core(qp), &error);
	engine_trace_qp_failed(qp->device->port_id, qp->qpn, uroce_wc_status_name(error.status), error.cause,
			       error.responder, error.psn, error.retries);
}

void engine_deliver_events(struct uroce_lcore *lcore)
{
	struct rc_outbox *out = &lcore->out;

	for (uint32_t i = 0; i < out->event_count; i++) {
		struct uroce_qp *qp = steer_lookup(lcore->engine, out->events[i].qp_num);

		if (qp == NULL)
			continue;
		if (out->events[i].type == UROCE_EVENT_SRQ_LIMIT_REACHED)
			out->events[i].qp_num = 0; /* it served to find the device */
		if (is_failure(out->events[i].type)) {
			engine_view_keep_failed(lcore, qp);
			trace_failure(qp);
		}
		if (qp->cm_id)
			engine_connect_tell(qp, (enum uroce_event_type)out->events[i].type);
		engine_device_raise(qp->device, &out->events[i]);
	}
	out->event_count = 0;
}
