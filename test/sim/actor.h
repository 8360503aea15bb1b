/* actor.h - what applications and machines do at the worst moment: destroy, deregister, migrate, stand still */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_ACTOR_H
#define SIM_ACTOR_H

#include "sim/world.h"

/* A request was posted by the end: perhaps something happens now. */
void sim_actor_run(struct sim_world *world, struct sim_end *end);
/* The QP is drained, or has migrated: what follows from that. */
void sim_actor_follow(struct sim_world *world, struct sim_end *end);

#endif
