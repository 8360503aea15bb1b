/* event.h - asynchronous events of a device */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_EVENT_H
#define UROCE_EVENT_H

#include <uroce/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum uroce_event_type {
	UROCE_EVENT_COMM_EST,
	UROCE_EVENT_SQ_DRAINED,
	UROCE_EVENT_QP_FATAL,
	UROCE_EVENT_QP_REQ_ERR,
	UROCE_EVENT_QP_ACCESS_ERR,
	UROCE_EVENT_CQ_ERR,
	UROCE_EVENT_TYPES
};

struct uroce_event {
	uint32_t type;   /* enum uroce_event_type */
	uint32_t qp_num; /* 0 for CQ events */
	uint64_t qp_context;
	struct uroce_cq *cq; /* CQ events */
};

/* Takes the oldest event. true: *event is filled. A reader that never comes blocks nothing; the loss is counted. */
UROCE_API bool uroce_event_poll(struct uroce_device *device, struct uroce_event *event);
UROCE_API const char *uroce_event_name(uint32_t type);

#ifdef __cplusplus
}
#endif
#endif
