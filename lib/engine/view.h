/* view.h - a QP as threads beside its lcore may see it, and as it was when it failed */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include <stdatomic.h>

#include <uroce/inspect.h>

struct uroce_lcore;

/*
 * The QPs of an lcore that failed last. Only the lcore writes; a reader sees by the number that a view was overwritten.
 */
struct engine_failed {
	_Atomic uint32_t count;
	struct engine_failed_slot {
		_Atomic uint32_t number; /* which failure it is, from 1; 0 while it is written */
		struct uroce_qp_view view;
	} slots[UROCE_INSPECT_FAILED_MAX];
};

/*
 * The owner of the QP calls them: a view of it is made, or kept. The last error is the protocol's, or that a CQ of the
 * QP was full, of which the protocol does not know.
 */
void engine_view_last_error(const struct uroce_qp *qp, struct uroce_qp_error *error);
void engine_view_qp(const struct uroce_qp *qp, struct uroce_qp_view *view);
void engine_view_keep_failed(struct uroce_lcore *lcore, const struct uroce_qp *qp);

/* For any thread. true: *view is the first failure from *place on that is still kept, and *place the one behind it. */
bool engine_view_take_failed(const struct engine_failed *failed, uint32_t *place, struct uroce_qp_view *view);

#endif
