/* fabric.h - switches between the nodes: ports with queues, drops and marks, and the way of a frame through them */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts are nodes of the world, each with one port to a switch. A port sends one frame after the other at its rate, so
 * what a frame waits is known when it is queued, and its way costs one entry of the agenda a hop. What befalls a frame
 * at a hop is drawn from the frame's number and the hop alone, whatever else happens at that time.
 */
#ifndef SIM_FABRIC_H
#define SIM_FABRIC_H

#include "sim/flows.h"
#include "sim/world.h"

/* What has become of a run's flows. */
struct sim_fabric_counts {
	uint64_t frames, arrived, drops, marks;
	uint64_t queue_max; /* bytes, of the longest queue of a switch */
};

struct sim_fabric;

/* Builds the switches of the plan, which stays with the caller. */
void sim_fabric_open(struct sim_world *world, const struct sim_plan *plan);
/* Each frame that was sent has arrived or was dropped by a switch; hosts had no reason to drop any. */
void sim_fabric_close(struct sim_world *world);
void sim_fabric_forget(struct sim_fabric *fabric);
struct sim_fabric_counts sim_fabric_counts(const struct sim_fabric *fabric);
void sim_fabric_print(const struct sim_fabric *fabric);

/* The end gets its node, and what its flow consists of. */
void sim_fabric_place(const struct sim_world *world, struct sim_end *end);
/* A frame leaves a host, and its link takes so much longer than usual. */
void sim_fabric_send(struct sim_world *world, uint32_t host, struct sim_frame *frame, uint64_t late_ns);
/* A frame has reached a switch. */
void sim_fabric_hop(struct sim_world *world, const struct sim_due *due);
/* When the host will have sent all that waits at its port. */
uint64_t sim_fabric_free_ns(const struct sim_fabric *fabric, uint32_t host);

#endif
