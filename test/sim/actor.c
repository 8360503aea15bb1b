/* actor.c - the worst moment */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "rc/codes.h"
#include "rc/ask.h"
#include "rc/migration.h"
#include "sim/actor.h"
#include "sim/app.h"
#include "sim/end.h"
#include "sim/network.h"
#include "sim/trace.h"

#define DEREG_CHOICES 5u
#define ARMS_MAX 6u /* of a life */

static bool befalls(struct sim_world *world, struct sim_end *end, struct sim_random *random, enum sim_fault_kind kind,
		    uint64_t number)
{
	if (!random_chance(random, world->config.rates[kind]) ||
	    !sim_fault_happens(&world->faults, kind, number, world->now_ns))
		return false;
	sim_trace_fault(world, end, kind);
	return true;
}

#define STALL_TROUBLES 20u

/* ---- machines ---- */

static void trouble_node(struct sim_world *world, uint32_t node)
{
	for (uint32_t i = 0; i < world->config.connections * 2; i++) {
		struct sim_end *end = &world->ends[i];

		if (end->node != node)
			continue;
		sim_world_trouble(world, end, STALL_TROUBLES);
		end->stalls += STALL_TROUBLES;
		world_peer(world, end)->stalls += STALL_TROUBLES;
	}
}

/* The clock of a node jumps, as after a pause of its virtual machine, and the node reports that it was away (C-33). */
static void jump(struct sim_world *world, uint32_t index, uint64_t jump_ns)
{
	world->nodes[index].clock_ns += jump_ns;
	trouble_node(world, index);
	for (uint32_t i = 0; i < world->config.connections * 2; i++) {
		struct sim_end *end = &world->ends[i];

		if (end->node != index || end->qp == NULL)
			continue;
		if (rc_ask_report_away(end->qp, 1 + (uint32_t)(jump_ns / 1000000)))
			sim_world_wake(world, end, 0);
		sim_world_arm(world, end);
	}
}

/* ---- applications ---- */

static void destroy(struct sim_world *world, struct sim_end *end)
{
	sim_app_failed(world, end);
	sim_end_destroy(world, end);
}

static void move_to_error(struct sim_world *world, struct sim_end *end)
{
	end->failed = true;
	sim_end_modify(world, end, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_ERR }, UROCE_QP_STATE);
	sim_app_failed(world, end);
	sim_world_wake(world, end, 0);
}

/* What the peer works on, what answers go to, what is sent, what is received into: one of them goes away (M-2). */
static void deregister(struct sim_world *world, struct sim_end *end, uint64_t which)
{
	struct sim_region *regions[] = { &end->target, &end->target, &end->landing, &end->source, &end->own.region };
	struct sim_region *region = regions[which];
	struct rc_mr_table *mrs = &world->nodes[end->node].mrs;
	struct rc_mr_entry *entry = rc_mr_slot(mrs, region->key);
	bool bound = entry && atomic_load(&entry->windows) > 0;
	int result;

	if (region->key == 0)
		return;
	/* Not while a window is bound to it. */
	result = rc_mr_remove(mrs, region->key);
	if (result != (bound ? -EBUSY : 0))
		sim_world_fail(world, "QP %u: deregistering a region that %s: %d", end->index,
			       bound ? "has a window" : "is free", result);
	if (result == 0)
		region->key = 0;
}

static void drain(struct sim_world *world, struct sim_end *end)
{
	if (end->qp->state != UROCE_QPS_RTS)
		return;
	end->drain_asked = true;
	end->drained = false;
	sim_end_modify(world, end, &(struct uroce_qp_attr){ .qp_state = UROCE_QPS_SQD }, UROCE_QP_STATE);
	sim_world_wake(world, end, 0);
}

static void migrate(struct sim_world *world, struct sim_end *end, bool port)
{
	if (end->qp->migration.state != UROCE_PATH_ARMED)
		return;
	if (port)
		rc_qp_port_failed(end->qp);
	else
		sim_end_modify(world, end, &(struct uroce_qp_attr){ .path_mig_state = UROCE_PATH_MIGRATED },
			       UROCE_QP_PATH_MIG_STATE);
	for (uint32_t i = 0; i < 2; i++)
		sim_world_trouble(world, &world->ends[(end->index & ~1u) + i], 100);
	sim_world_wake(world, end, 0);
}

void sim_actor_run(struct sim_world *world, struct sim_end *end)
{
	uint64_t number = (uint64_t)end->index << 40 | (uint64_t)end->life << 32 | end->posted;
	struct sim_random random = random_stream(world->options->seed, STREAM_HOST, number + SIM_NODES_MAX);
	struct sim_node *node = &world->nodes[end->node];
	uint32_t peer = world_peer(world, end)->node, path = end->qp->path.dest.bytes[14] & 1;
	uint64_t timeout = rc_codes_timeout_ns(world->config.timeout);
	uint64_t dark = random_below(&random, 6 * timeout), pause = random_below(&random, 2 * timeout);
	uint64_t ahead = random_below(&random, 5 * timeout);
	bool port = random_chance(&random, 500000);
	uint64_t which = random_below(&random, DEREG_CHOICES);

	if (befalls(world, end, &random, FAULT_BLACKHOLE, number))
		node->dark_until_ns[peer][path] = world->now_ns + dark;
	if (befalls(world, end, &random, FAULT_PAUSE, number)) {
		node->paused_until_ns = world->now_ns + pause;
		trouble_node(world, end->node);
	}
	if (befalls(world, end, &random, FAULT_JUMP, number))
		jump(world, end->node, ahead);
	if (befalls(world, end, &random, FAULT_DEREG, number))
		deregister(world, end, which);
	if (befalls(world, end, &random, FAULT_DRAIN, number))
		drain(world, end);
	if (befalls(world, end, &random, FAULT_MIGRATE, number))
		migrate(world, end, port);
	if (befalls(world, end, &random, FAULT_ERROR, number))
		move_to_error(world, end);
	if (befalls(world, end, &random, FAULT_RESET, number) && !end->failed) {
		sim_app_failed(world, end);
		sim_end_reset(world, end);
	}
	if (befalls(world, end, &random, FAULT_DESTROY, number))
		destroy(world, end);
}

/* ---- what follows ---- */

/*
 * Both sides have the same path and have migrated, or never had another: they arm themselves anew. Not for ever:
 * each migration refills the budget, and a request that can never be answered would be tried without an end.
 */
static void rearm(struct sim_world *world, struct sim_end *end)
{
	struct sim_end *both[2] = { end, world_peer(world, end) };
	uint32_t ports[2];

	for (uint32_t i = 0; i < 2; i++) {
		if (both[i]->qp == NULL || both[i]->qp->state != UROCE_QPS_RTS || both[i]->failed ||
		    both[i]->qp->migration.state != UROCE_PATH_MIGRATED)
			return;
		/* An application hears of a migration before it arms itself anew. */
		if (both[i]->qp->migration.count != both[i]->model.counts[CNT_PATH_MIGRATIONS])
			return;
		if (!rc_migration_may_rearm(both[i]->qp)) /* it would be refused, and may be tried later */
			return;
		ports[i] = both[i]->qp->path.source.bytes[14];
	}
	if (ports[0] != ports[1] || world_connection(world, end)->arms == ARMS_MAX)
		return;
	world_connection(world, end)->arms++;
	for (uint32_t i = 0; i < 2; i++) {
		struct uroce_qp_attr attr = {
			.alt_path = { .source = sim_network_address(world, both[i]->node, !ports[0]),
				      .dest = sim_network_address(world, both[!i]->node, !ports[0]) },
			.alt_pkey = 0xFFFF,
			.alt_timeout = world->config.timeout,
			.path_mig_state = UROCE_PATH_REARM,
		};

		sim_end_modify(world, both[i], &attr, UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE);
	}
}

void sim_actor_follow(struct sim_world *world, struct sim_end *end)
{
	if (end->qp->state == UROCE_QPS_SQD && end->drained) {
		end->drained = end->drain_asked = false;
		sim_end_modify(world, end,
			       &(struct uroce_qp_attr){
				       .qp_state = UROCE_QPS_RTS,
				       .min_rnr_timer = (uint8_t)(1 + end->posted % world->config.rnr_timer),
			       },
			       UROCE_QP_STATE | UROCE_QP_MIN_RNR_TIMER);
		sim_world_wake(world, end, 0);
	}
	if (world->config.migration && !end->failed)
		rearm(world, end);
}
