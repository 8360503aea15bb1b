/* prefetch.h - fetches the cache lines of a QP that its next packet, in or out, will touch */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_PREFETCH_H
#define RC_PREFETCH_H

#include "rc/qp_state.h"

#define PREFETCH_REQUESTS 8u

static inline void qp_prefetch(const void *line)
{
	__builtin_prefetch(line);
}

/* Fetches the lines that a received packet touches. */
static inline void rc_qp_prefetch_in(const struct rc_qp *qp, bool response)
{
	qp_prefetch(qp);
	qp_prefetch(&qp->mr_cache);
	if (response) {
		qp_prefetch(&qp->win);
		qp_prefetch(&qp->win.posted);
		qp_prefetch(&qp->requester);
		qp_prefetch(&qp->loss);
	} else {
		qp_prefetch(&qp->responder);
		qp_prefetch(&qp->counters[CNT_RX_WRITE_REQUESTS]);
	}
}

/* Fetches the lines that sending responses touches. */
static inline void rc_qp_prefetch_responder(const struct rc_qp *qp)
{
	qp_prefetch(qp);
	qp_prefetch(&qp->responder);
}

/* Fetches the lines that sending requests touches. */
static inline void rc_qp_prefetch_window(const struct rc_qp *qp)
{
	qp_prefetch(&qp->mr_cache);
	qp_prefetch(&qp->win);
	qp_prefetch(&qp->win.posted);
	qp_prefetch(&qp->requester);
	qp_prefetch(&qp->loss);
}

/* Fetches the requests that go out next. Called once the lines of rc_qp_prefetch_window() have come. */
static inline void rc_qp_prefetch_requests(const struct rc_qp *qp)
{
	const struct rc_sendwin *win = &qp->win;
	uint32_t count = atomic_load_explicit(&win->posted, memory_order_relaxed) - win->cursor;

	for (uint32_t i = 0; i < count && i < PREFETCH_REQUESTS; i++) {
		const char *slot = (const char *)sendwin_slot(win, win->cursor + i);

		qp_prefetch(slot);
		qp_prefetch(slot + 63);
	}
}

#endif
