/* pipeline.h - the poll of an lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PIPELINE_H
#define ENGINE_PIPELINE_H

#include "engine/engine.h"

/* One turn: doorbells, transmit, receive, timers, transmit, control calls. Returns the work done. */
unsigned engine_pipeline_poll(struct uroce_lcore *lcore);

/* Owner: no list and no timer knows the QP any more. */
void engine_pipeline_forget(struct uroce_lcore *lcore, struct uroce_qp *qp);

/* One of its CQs has lost a completion. */
bool engine_pipeline_cq_failed(const struct uroce_qp *qp);

#endif
