/* evidence.h - what was seen around a queue pair when it failed */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_EVIDENCE_H
#define ENGINE_EVIDENCE_H

#include "engine/lcore_state.h"

/* Keeps a copy of the port's counters if one is due. */
void engine_evidence_keep(struct engine_port *port, uint64_t now_ns);

/*
 * Judges the failures among the completions of the outbox, before these are delivered, and keeps the finding with the
 * QP. It is judged once for each failure.
 */
void engine_evidence_judge(struct uroce_lcore *lcore);

/* The same for a QP that has failed without a completion. */
void engine_evidence_judge_qp(struct uroce_lcore *lcore, struct uroce_qp *qp);

/* The enum uroce_finding of a QP that has spent retries, and has not failed yet. */
uint8_t engine_evidence_so_far(const struct uroce_qp *qp);

#endif
