/* event.h - asynchronous events of a device */
/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads: any thread may call, one at a time per device. */
#ifndef UROCE_EVENT_H
#define UROCE_EVENT_H

#include <uroce/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum uroce_event_type {
	UROCE_EVENT_CQ_ERR,
	UROCE_EVENT_QP_FATAL,
	UROCE_EVENT_QP_REQ_ERR,
	UROCE_EVENT_QP_ACCESS_ERR,
	UROCE_EVENT_COMM_EST,
	UROCE_EVENT_SQ_DRAINED,
	UROCE_EVENT_PATH_MIG,     /* the QP uses its alternate path now */
	UROCE_EVENT_PATH_MIG_ERR, /* the peer asked to migrate to a path that is not the alternate one */
	UROCE_EVENT_PORT_ACTIVE = 9,
	UROCE_EVENT_PORT_ERR,
	UROCE_EVENT_SRQ_ERR = 14, /* reserved: an SRQ cannot fail by itself here */
	UROCE_EVENT_SRQ_LIMIT_REACHED,
	UROCE_EVENT_QP_LAST_WQE_REACHED, /* the QP will not take from its SRQ any more */
	/*
	 * Somebody may be guessing the PSNs of a QP, or (qp_num 0) QPNs, addresses and P_Keys. Raised at most once a
	 * second; no harm has been done yet. Counters such as drop_unknown_qpn show more. Not in libibverbs.
	 */
	UROCE_EVENT_ANOMALY = 30,
	/*
	 * Another station uses an address of the port. The address is kept, and announced again: at most once in 10 s,
	 * as this event is raised. The log names the station, the counter address_conflicts its messages. Not in
	 * libibverbs.
	 */
	UROCE_EVENT_ADDRESS_CONFLICT,
	UROCE_EVENT_TYPES /* one more than the largest value */
};

struct uroce_event {
	uint32_t type;   /* enum uroce_event_type */
	uint32_t qp_num; /* 0 for events that concern no QP */
	/* context of the QP, or the one that uroce_cq_set_context() or uroce_srq_set_context() has set */
	uint64_t qp_context;
	union {
		struct uroce_cq *cq;   /* CQ events */
		struct uroce_srq *srq; /* SRQ events */
	};
	/*
	 * QP_FATAL of a keep-alive (keepalive_ms of struct uroce_qp_attr): time in us from the peer's last answer to
	 * this event; else 0
	 */
	uint64_t silent_us;
};

/*
 * Takes the oldest event. Returns true with the event in *event, or false if no event waits. Lcores do not wait for
 * anybody to take events: events that find no room are dropped and counted.
 */
UROCE_API bool uroce_event_poll(struct uroce_device *device, struct uroce_event *event);
/*
 * A descriptor to sleep on: it becomes readable with each event, and is readable if events wait already. Read 8 bytes
 * from it, then take events until there is none. The device owns it (an eventfd). Returns -EMFILE or the like if no
 * descriptor could be made.
 */
UROCE_API int uroce_event_fd(struct uroce_device *device);
/* The name of an event, "QP_FATAL" for UROCE_EVENT_QP_FATAL; never NULL. */
UROCE_API const char *uroce_event_name(uint32_t type);

#ifdef __cplusplus
}
#endif
#endif
