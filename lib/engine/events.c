/* events.c - what the application is told of a device */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/events.h"

#include <unistd.h>

#include "engine/engine.h"
#include "engine/trace_points.h"

static enum uroce_log_level level_of(const struct uroce_event *event)
{
	switch ((enum uroce_event_type)event->type) {
	case UROCE_EVENT_CQ_ERR:
	case UROCE_EVENT_SRQ_ERR:
		return UROCE_LOG_ERROR;
	case UROCE_EVENT_PATH_MIG_ERR:
	case UROCE_EVENT_QP_FATAL:
	case UROCE_EVENT_QP_REQ_ERR:
	case UROCE_EVENT_QP_ACCESS_ERR:
	case UROCE_EVENT_PORT_ERR:
	case UROCE_EVENT_ANOMALY:
		return UROCE_LOG_WARNING;
	case UROCE_EVENT_COMM_EST:
	case UROCE_EVENT_SQ_DRAINED:
	case UROCE_EVENT_PATH_MIG:
	case UROCE_EVENT_QP_LAST_WQE_REACHED:
	case UROCE_EVENT_SRQ_LIMIT_REACHED:
	case UROCE_EVENT_PORT_ACTIVE:
	case UROCE_EVENT_TYPES:
		break;
	}
	return UROCE_LOG_INFO;
}

void engine_device_raise(struct uroce_device *device, const struct uroce_event *event)
{
	uint64_t one = 1;
	int fd;

	engine_trace_event(device->port_id, event->qp_num, uroce_event_name(event->type));
	engine_log(level_of(event), "port %u, QP %u: %s", device->port_id, event->qp_num,
		   uroce_event_name(event->type));
	if (rte_ring_enqueue_elem(device->events, (void *)(uintptr_t)event, sizeof(*event)) != 0) {
		if (atomic_fetch_add(&device->events_lost, 1) == 0)
			engine_log(UROCE_LOG_ERROR, "port %u: events are lost, for nobody takes them", device->port_id);
		return;
	}
	/* pairs with N2 in uroce_event_fd: the event is in the ring before we look for a reader */
	atomic_thread_fence(memory_order_seq_cst);
	fd = atomic_load_explicit(&device->event_fd, memory_order_relaxed);
	if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
		return; /* the counter is full: it is readable anyway */
}
