/* deliver.c - moves completions to their CQs and events to their devices */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/eventfd.h>

#include "engine/connect.h"
#include "engine/deliver.h"
#include "engine/cq.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/evidence.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/qp.h"
#include "engine/srq.h"
#include "engine/steer.h"
#include "engine/trace_points.h"
#include "engine/view.h"

/* Programs learn of events by uroce_event_poll(); only those that mean a broken program are more than information. */
static enum uroce_log_level level_of(const struct uroce_event *event)
{
	bool broken = event->type == UROCE_EVENT_CQ_ERR || event->type == UROCE_EVENT_SRQ_ERR;

	return broken ? UROCE_LOG_ERROR : UROCE_LOG_INFO;
}

void engine_deliver_event(struct uroce_device *device, const struct uroce_event *event)
{
	int fd;

	engine_trace_event(device->port_id, event->qp_num, uroce_event_name(event->type));
	engine_log(level_of(event), "port %u, QP 0x%06x: %s", device->port_id, event->qp_num,
		   uroce_event_name(event->type));
	if (rte_ring_enqueue_elem(device->events, (void *)(uintptr_t)event, sizeof(*event)) != 0) {
		if (atomic_fetch_add(&device->events_lost, 1) == 0)
			engine_log(UROCE_LOG_ERROR,
				   "port %u: asynchronous events are lost because the application does not read them",
				   device->port_id);
		return;
	}
	/* pairs with N2 in uroce_event_fd: the event is in the ring before we read whether anybody waits */
	atomic_thread_fence(memory_order_seq_cst);
	fd = atomic_load_explicit(&device->event_fd, memory_order_relaxed);
	if (fd >= 0)
		/* the write fails only while the counter is full, and then the descriptor is readable anyway */
		eventfd_write(fd, 1);
}

/*
 * A completion did not fit into the CQ. The first time this happens an event is raised, and every lcore moves QPs with
 * this CQ to ERR (E-5).
 */
static void overflow_cq(struct uroce_lcore *lcore, struct uroce_cq *cq)
{
	struct uroce_event event = { .type = UROCE_EVENT_CQ_ERR, .qp_context = cq->context, .cq = cq };

	if (atomic_exchange(&cq->overflowed, true))
		return;
	engine_log(UROCE_LOG_ERROR,
		   "port %u: the CQ with a depth of %u completions (%p) overflowed: its QPs fail; poll the CQ more "
		   "often, or create the CQ with a larger depth",
		   cq->device->port_id, rte_ring_get_capacity(cq->ring) / CQ_PIECES, (void *)cq);
	engine_deliver_event(cq->device, &event);
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

/* Wakes the reader that sleeps on the CQ, once, now that completions have come (M-5). */
static void wake_reader(struct uroce_cq *cq, const struct uroce_wc *wc, uint32_t count)
{
	int fd = atomic_load_explicit(&cq->fd, memory_order_acquire);
	uint32_t armed, none = CQ_NOT_ARMED;

	if (fd < 0)
		return;
	/* N1: completions are in the ring before we read `armed`; a reader sets `armed` before it reads the ring */
	atomic_thread_fence(memory_order_seq_cst);
	armed = atomic_load_explicit(&cq->armed, memory_order_relaxed);
	if (armed == CQ_NOT_ARMED || !wakes(wc, count, armed))
		return;
	if (!atomic_compare_exchange_strong(&cq->armed, &armed, CQ_NOT_ARMED))
		return;
	/*
	 * A failed write does no harm: if an eventfd's counter is full the descriptor is readable anyway; if a pipe is
	 * full the next completion tries again.
	 */
	if (eventfd_write(fd, cq->wake_value) != 0 && cq->fd_is_callers)
		atomic_compare_exchange_strong(&cq->armed, &none, armed);
}

/* Delivers completions. Those for the same CQ that follow each other are delivered together. */
static void deliver_completions(struct uroce_lcore *lcore)
{
	struct rc_outbox *out = &lcore->out;
	uint32_t begin = 0;

	while (begin < out->completion_count) {
		struct uroce_cq *cq = out->completion_cqs[begin];
		uint32_t end = begin + 1, taken;
		struct rte_ring *ring = atomic_load_explicit(&cq->ring, memory_order_acquire);

		while (end < out->completion_count && out->completion_cqs[end] == cq)
			end++;
		taken = rte_ring_enqueue_burst_elem(ring, &out->completions[begin], CQ_PIECE_BYTES,
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

	engine_view_last_error(qp, &error);
	engine_trace_qp_failed(qp->device->port_id, qp->qpn, uroce_wc_status_name(error.status), error.cause,
			       error.responder, error.psn, error.retries);
}

static void deliver_events(struct uroce_lcore *lcore)
{
	struct rc_outbox *out = &lcore->out;

	for (uint32_t i = 0; i < out->event_count; i++) {
		struct uroce_event *event = &out->events[i];
		struct uroce_qp *qp = steer_lookup(lcore->engine, event->qp_num);

		if (qp == NULL)
			continue;
		if (event->type == UROCE_EVENT_SRQ_LIMIT_REACHED) {
			event->qp_num = 0; /* qp_num was set only to find the device */
			event->qp_context = event->srq->context;
		}
		if (is_failure(event->type)) {
			engine_evidence_judge_qp(lcore, qp);
			engine_view_keep_failed(lcore, qp);
			trace_failure(qp);
			engine_connect_tell(qp, CONNECT_QP_DIED);
		} else if (event->type == UROCE_EVENT_COMM_EST) {
			engine_connect_tell(qp, CONNECT_PACKET_CAME);
		} else if (event->type == UROCE_EVENT_PATH_MIG) {
			engine_connect_tell(qp, CONNECT_QP_MIGRATED);
		}
		engine_deliver_event(qp->device, event);
	}
	out->event_count = 0;
}

void engine_deliver_outbox(struct uroce_lcore *lcore)
{
	if (__builtin_expect(lcore->out.has_failure, 0))
		engine_evidence_judge(lcore);
	deliver_completions(lcore);
	deliver_events(lcore);
}
