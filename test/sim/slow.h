/* slow.h - nodes that are slower than their peers: a queue in front of the core, and one thing at a time */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every real peer is slower than two cores of the same code that answer at once. A slow node takes its frames from a
 * queue, each after some time of its own, perhaps only when its clock ticks; it goes away for a while; and one that is
 * serial finishes the answer of a READ before it looks at the next request of the QP, so that a READ asked for twice is
 * answered twice, in full, as Linux does. Delay grows with load by itself.
 */
#ifndef SIM_SLOW_H
#define SIM_SLOW_H

#include "sim/world.h"

/* The first moment from at_ns on at which the node is not away: it takes nothing meanwhile, and sends nothing. */
uint64_t sim_slow_awake(const struct sim_world *world, uint32_t node, uint64_t at_ns);

/* A frame has reached its node. When the node will look at it: now, if it is not slow. */
uint64_t sim_slow_serve(struct sim_world *world, uint32_t node);

/* May the end look at this request now? If not, the frame is kept until the answers under way have left. */
bool sim_slow_hold(struct sim_world *world, struct sim_end *end, struct sim_frame *frame, bool request);
/* The end has had its turn: the next of the frames that wait, or NULL. */
struct sim_frame *sim_slow_next(struct sim_world *world, struct sim_end *end);
/* The QP goes: nobody will look at them. */
void sim_slow_drop(struct sim_world *world, struct sim_end *end);

#endif
