/* lane.c - opens an lcore of the target, and polls all that belongs to it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/lane.h"

#include <stdio.h>

#include "common/clock.h"
#include "common/eal.h"
#include "nvmet/completion.h"
#include "nvmet/events.h"
#include "nvmet/queue.h"
#include "nvmet/region.h"
#include "nvmet/slot.h"

#define BURST 64
#define LOOK_NS 100000000ull
#define COMPLETIONS_MAX 262144u /* CQ entries of a port for all lanes together */
#define COMPLETIONS_MIN 32768u

/* ---- opening ---- */

/* Does the lane's lcore serve a queue of the port? Queue i is served by the i-th lcore from the port's first one on. */
static bool serves(const struct lane *lane, uint32_t port)
{
	const struct server *server = lane->server;
	uint32_t behind = (lane->index + server->lane_count - port % server->lane_count) % server->lane_count;

	return behind < server->ports[port].port->queue_count;
}

static uint32_t completions_of(const struct server *server)
{
	uint32_t most = COMPLETIONS_MAX / server->lane_count;

	return most < COMPLETIONS_MIN ? COMPLETIONS_MIN : most;
}

static int open_completions(struct lane *lane)
{
	const struct server *server = lane->server;

	for (uint32_t i = 0; i < server->port_count; i++) {
		struct lane_port *port = &lane->ports[i];

		port->entries.size = completions_of(server);
		if (serves(lane, i) &&
		    uroce_cq_create(server->ports[i].port->device, port->entries.size, &port->cq) != 0)
			return app_complain(APP_EXIT_ENVIRONMENT, "no memory for the completion queue of port %s",
					    server->ports[i].device);
	}
	return APP_EXIT_OK;
}

int lane_open(struct lane *lane, uint64_t pool_bytes, bool threads)
{
	char reason[STORE_ERROR_BYTES];
	int code = open_completions(lane);

	if (code)
		return code;
	if (pool_open(&lane->pool, pool_bytes) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for %lu bytes of buffers: use a smaller pool",
				    pool_bytes);
	lane->pool_region = region_open(lane->server, lane->pool.base, lane->pool.bytes);
	if (lane->pool_region == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for regions");
	lane->ring = ring_open(lane->pool.base, lane->pool.bytes, threads, reason, sizeof(reason));
	if (lane->ring == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for file I/O");
	if (reason[0] && lane->index == 0)
		fprintf(stderr, "note: %s; threads are used for file I/O\n", reason);
	return APP_EXIT_OK;
}

void lane_close(struct lane *lane)
{
	events_forget(lane);
	if (lane->ring)
		ring_close(lane->ring);
	if (lane->pool_region)
		region_close(lane->pool_region);
	pool_close(&lane->pool);
	for (uint32_t i = 0; i < LANE_PORTS_MAX; i++) {
		if (lane->ports[i].cq)
			uroce_cq_destroy(lane->ports[i].cq);
	}
}

/* ---- running ---- */

static unsigned handle_completions(struct lane *lane)
{
	struct uroce_wc wc[BURST];
	unsigned taken = 0;

	for (uint32_t i = 0; i < lane->server->port_count; i++) {
		int count = lane->ports[i].cq ? uroce_cq_poll(lane->ports[i].cq, BURST, wc) : 0;

		for (int k = 0; k < count; k++)
			completion_handle((struct queue *)(uintptr_t)wc[k].qp_context, &wc[k]);
		taken += (unsigned)count;
	}
	return taken;
}

/* Ends the controllers of hosts that have been silent too long, if their admin queues are this lane's. */
static void end_expired(struct lane *lane)
{
	struct nvmf_target *target = &lane->server->target;
	struct nvmf_controller *controller;

	nvmf_target_lock(target);
	while ((controller = nvmf_controller_expired(target, lane->index, lane->awake_ns)) != NULL) {
		lane_count(&lane->counts.expired, 1);
		queue_tell_end(nvmf_controller_queue(controller)->context, "no keep-alive arrived in time");
	}
	nvmf_target_unlock(target);
}

static void look_around(struct lane *lane)
{
	lane->looked_ns = lane->now_ns;
	slot_tell_events(lane);
	queue_look(lane);
	end_expired(lane);
}

static void end_all(struct lane *lane)
{
	struct queue *queue;

	lane->ended = true;
	LIST_FOREACH(queue, &lane->queues, next)
		queue_end(queue, "the target ends");
}

bool lane_poll(struct lane *lane)
{
	uint64_t before_ns = lane->now_ns;
	unsigned work;

	lane->now_ns = app_now_ns();
	lane->awake_ns += lane->now_ns - before_ns < LANE_PAUSE_NS ? lane->now_ns - before_ns : LANE_PAUSE_NS;
	work = uroce_lcore_poll(lane->lcore);
	work += events_handle(lane);
	work += handle_completions(lane);
	work += ring_poll(lane->ring);
	work += turn_poll(&lane->turns);
	if (lane->told)
		queue_end_told(lane);
	if (lane->server->ending && !lane->ended)
		end_all(lane);
	if (!STAILQ_EMPTY(&lane->waiting))
		work += slot_try_again(lane);
	if (!LIST_EMPTY(&lane->ending_queues))
		queue_close_done(lane);
	if (lane->now_ns - lane->looked_ns >= LOOK_NS)
		look_around(lane);
	/*
	 * Sequentially consistent with disks_remove(), which removes a namespace and then reads this number of polls.
	 */
	atomic_store(&lane->polls, lane->polls + 1);
	return work > 0;
}
