/* view.h - a QP as those see it who ask from beside; and as it was when it failed, for who asks later */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_VIEW_H
#define ENGINE_VIEW_H

#include <stdatomic.h>

#include <uroce/inspect.h>

struct uroce_lcore;

/* The QPs of an lcore that failed last. Only the lcore writes; a reader sees by the turn whether he was overtaken. */
struct engine_failed {
	_Atomic uint32_t count;
	struct engine_failed_slot {
		_Atomic uint32_t turn; /* which failure it is, from 1; 0 while it is written */
		struct uroce_qp_view view;
	} slots[UROCE_INSPECT_FAILED_MAX];
};

/* By the owner of the QP. */
void engine_view_qp(const struct uroce_qp *qp, struct uroce_qp_view *view);
void engine_view_keep_failed(struct uroce_lcore *lcore, const struct uroce_qp *qp);

/* Any thread. Those from *place on: true, and *view is the first one that is still there; *place goes behind it. */
bool engine_view_take_failed(const struct engine_failed *failed, uint32_t *place, struct uroce_qp_view *view);

#endif
