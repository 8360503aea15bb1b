/* view.h - copies of a QP's state for other threads, and the last failures of an lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include <stdatomic.h>

#include <uroce/inspect.h>

struct uroce_lcore;

/*
 * The QPs of an lcore that failed most recently. Only the lcore writes them; a reader sees by the number that an entry
 * was overwritten. Not a share (share.h): the newest failures are those that somebody looks for.
 */
struct engine_failed {
	_Atomic uint32_t count;
	struct engine_failed_slot {
		_Atomic uint32_t number; /* counts failures from 1; 0 while the entry is written */
		struct uroce_qp_view view;
	} slots[UROCE_INSPECT_FAILED_MAX];
};

/*
 * The owner of the QP calls these functions: they return a view or the last error, or keep a failure. The last error is
 * that of the protocol, or a full CQ of the QP, of which the protocol does not know.
 */
void engine_view_last_error(const struct uroce_qp *qp, struct uroce_qp_error *error);
void engine_view_qp(const struct uroce_qp *qp, struct uroce_qp_view *view);
void engine_view_keep_failed(struct uroce_lcore *lcore, const struct uroce_qp *qp);

/*
 * For any thread. Returns true if *view is the first kept failure from *next on; then *next has moved behind that
 * failure.
 */
bool engine_view_next_failed(const struct engine_failed *failed, uint32_t *next, struct uroce_qp_view *view);

#endif
