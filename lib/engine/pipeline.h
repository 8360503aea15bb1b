/* pipeline.h - the poll of an lcore */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PIPELINE_H
#define ENGINE_PIPELINE_H

struct uroce_lcore;

/* One poll: doorbells, transmit, receive, timers, transmit, control calls. Returns the work done. */
unsigned engine_pipeline_poll(struct uroce_lcore *lcore);

/* The same, with a landing for faults of the application's memory (engine/landing.h). */
unsigned engine_pipeline_poll_landing(struct uroce_lcore *lcore);

/*
 * A poll was left in a copy of the QP lcore->serving, which faulted at lcore->landing.address: fails the QP, and does
 * the rest of the poll.
 */
void engine_pipeline_recover(struct uroce_lcore *lcore);

#endif
