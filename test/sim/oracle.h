/* oracle.h - what an application may rely on: completions, events, an end in time, nothing left over */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include "sim/world.h"

/* A completion or an event comes out of the core. */
void sim_oracle_completion(struct sim_world *world, struct sim_end *end, const struct uroce_wc *wc);
void sim_oracle_event(struct sim_world *world, struct sim_end *end, const struct uroce_event *event);

/* After each call of the core for the end. */
void sim_oracle_check(struct sim_world *world, struct sim_end *end);

/* The end is about to be taken down, in ERR and flushed, or finished: everything is accounted for. */
void sim_oracle_close(struct sim_world *world, struct sim_end *end);

/* Now and then: does every request come to an end in time (L1)? */
void sim_oracle_watch(struct sim_world *world);

/* All memory, at the end of the run. */
void sim_oracle_finish(struct sim_world *world);

#endif
