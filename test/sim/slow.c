/* slow.c - the queue of a slow node */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/pace.h"
#include "sim/network.h"
#include "sim/slow.h"

uint64_t sim_slow_awake(const struct sim_world *world, uint32_t node, uint64_t at_ns)
{
	const struct sim_pace *pace = &world->config.pace;

	if (sim_node_is_slow(&world->config, node) && pace->away_ns && at_ns % pace->away_every_ns < pace->away_ns)
		at_ns += pace->away_ns - at_ns % pace->away_every_ns;
	return at_ns;
}

uint64_t sim_slow_serve(struct sim_world *world, uint32_t node)
{
	const struct sim_pace *pace = &world->config.pace;
	struct sim_node *at = &world->nodes[node];
	uint64_t start = at->busy_until_ns > world->now_ns ? at->busy_until_ns : world->now_ns;

	if (!sim_node_is_slow(&world->config, node))
		return world->now_ns;
	if (pace->tick_ns && at->busy_until_ns < world->now_ns)
		start = (start + pace->tick_ns - 1) / pace->tick_ns * pace->tick_ns;
	at->busy_until_ns = sim_slow_awake(world, node, start) + pace->receive_ns;
	return at->busy_until_ns;
}

/* Does it look at no request before it has answered? Who answers at a rate is one of ours, and does look. */
static bool is_answering(const struct rc_qp *qp)
{
	return qp->replay.queue_head != REPLAY_NONE && !qp_is_paced(qp);
}

bool sim_slow_hold(struct sim_world *world, struct sim_end *end, struct sim_frame *frame, bool request)
{
	if (!request || frame->held || !world->config.pace.serial || !sim_node_is_slow(&world->config, end->node) ||
	    (!is_answering(end->qp) && end->held == NULL))
		return false;
	frame->held = true;
	frame->next = NULL;
	if (end->held)
		end->held_last->next = frame;
	else
		end->held = frame;
	end->held_last = frame;
	return true;
}

struct sim_frame *sim_slow_next(struct sim_world *world, struct sim_end *end)
{
	struct sim_frame *frame = end->held;

	(void)world;
	if (frame == NULL || end->qp == NULL || is_answering(end->qp))
		return NULL;
	end->held = frame->next;
	return frame;
}

void sim_slow_drop(struct sim_world *world, struct sim_end *end)
{
	while (end->held) {
		struct sim_frame *frame = end->held;

		end->held = frame->next;
		sim_network_free(world, frame);
	}
}
