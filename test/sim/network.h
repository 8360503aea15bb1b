/* network.h - from one node to another: frames of real bytes, and what may become of them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_NETWORK_H
#define SIM_NETWORK_H

#include <stdbool.h>

#include "sim/world.h"

/* The address of a node's port 0 or 1. */
struct uroce_addr sim_network_address(const struct sim_world *world, uint32_t node, uint32_t port);

/* A packet of the end's QP leaves: it becomes a frame, and its fate is drawn. */
void sim_network_send(struct sim_world *world, struct sim_end *end, const struct wire_packet *packet,
		      uint16_t source_port);
/* A frame has reached its node: it is parsed, and its QP receives it, as the engine does it. */
void sim_network_arrive(struct sim_world *world, struct sim_frame *frame);
void sim_network_free(struct sim_world *world, struct sim_frame *frame);
/* Forgets the frames kept for replay. */
void sim_network_clear(struct sim_world *world);

/* QPNs: one an end, the same in all its lives. */
uint32_t sim_network_qpn(uint32_t end);

#endif
