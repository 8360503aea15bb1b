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
	UROCE_EVENT_PATH_MIG,     /* the QP uses its alternate path now */
	UROCE_EVENT_PATH_MIG_ERR, /* the peer asked to migrate to a path that is not the alternate one */
	UROCE_EVENT_QP_FATAL,
	UROCE_EVENT_QP_REQ_ERR,
	UROCE_EVENT_QP_ACCESS_ERR,
	UROCE_EVENT_QP_LAST_WQE_REACHED, /* the QP will not take from its SRQ any more */
	UROCE_EVENT_CQ_ERR,
	UROCE_EVENT_SRQ_LIMIT_REACHED,
	UROCE_EVENT_SRQ_ERR, /* reserved: an SRQ of ours cannot fail by itself */
	UROCE_EVENT_PORT_ACTIVE,
	UROCE_EVENT_PORT_ERR,
	/*
	 * Somebody may be guessing: at the PSNs of a QP, or (qp_num 0) at QPNs, addresses and P_Keys. At most once a
	 * second; nothing has come of it yet. Counters such as drop_unknown_qpn say more.
	 */
	UROCE_EVENT_ANOMALY,
	UROCE_EVENT_TYPES
};

struct uroce_event {
	uint32_t type;       /* enum uroce_event_type */
	uint32_t qp_num;     /* 0 for events of no QP */
	uint64_t qp_context; /* of the QP, or what uroce_cq_set_context() or uroce_srq_set_context() gave */
	union {
		struct uroce_cq *cq;   /* CQ events */
		struct uroce_srq *srq; /* SRQ events */
	};
};

/* Takes the oldest event. true: *event is filled. A reader that never comes blocks nothing; the loss is counted. */
UROCE_API bool uroce_event_poll(struct uroce_device *device, struct uroce_event *event);
/*
 * A descriptor to sleep on: it becomes readable with each event, and is when there are some already. Read 8 bytes from
 * it, then take events until there is none. The device owns it (an eventfd); -EMFILE and the like when none could be
 * made.
 */
UROCE_API int uroce_event_fd(struct uroce_device *device);
UROCE_API const char *uroce_event_name(uint32_t type);

#ifdef __cplusplus
}
#endif
#endif
