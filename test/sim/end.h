/* end.h - an end of a connection: its memory and its QP, made and unmade */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_END_H
#define SIM_END_H

#include "sim/world.h"

/* Once a run. false: the arena is too small for so many. */
bool sim_end_prepare(struct sim_world *world, struct sim_end *end);
bool sim_end_prepare_node(struct sim_world *world, uint32_t node);

/* A new life of both ends: QPs in RTR; RTS follows in a moment (DUE_READY). */
void sim_end_open(struct sim_world *world, uint32_t connection);
void sim_end_ready(struct sim_world *world, struct sim_end *end);

/* Both ends go to ERR, are flushed, judged and destroyed. */
void sim_end_close(struct sim_world *world, uint32_t connection);
/* One end, at once and whatever is under way. */
void sim_end_destroy(struct sim_world *world, struct sim_end *end);

/* The same by RESET: the QP may be set up again. */
void sim_end_reset(struct sim_world *world, struct sim_end *end);

/* Lets the QP do what it can without sending, until it has no more to say. */
void sim_end_settle(struct sim_world *world, struct sim_end *end);
void sim_end_modify(struct sim_world *world, struct sim_end *end, const struct uroce_qp_attr *attr, uint32_t mask);
void sim_end_forget_messages(struct sim_end *end);

#endif
