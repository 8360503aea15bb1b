/* app.h - the application of an end: it posts, polls slowly, and gives buffers back */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_APP_H
#define SIM_APP_H

#include "sim/world.h"

/* Room for one message in every area. */
uint32_t sim_app_slot_bytes(const struct sim_world *world);

/* One look: polls, posts receives, posts requests. */
void sim_app_run(struct sim_world *world, struct sim_end *end);
/* The QP has gone to ERR: sooner or later the application notices, and the connection is taken down. */
void sim_app_failed(struct sim_world *world, struct sim_end *end);
/* Nothing is left to be done. */
bool sim_app_is_done(const struct sim_end *end);
/* The buffer of a receive may be posted again, from a time on. */
void sim_app_receive_back(struct sim_end *end, uint32_t index, uint64_t free_ns);
void sim_app_share_receives(struct sim_world *world, const struct sim_end *end);

#endif
