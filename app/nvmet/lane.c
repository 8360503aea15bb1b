/* lane.c - an lcore of the target with all that belongs to it; what lanes share is in `server` */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/lane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/eal.h"
#include "nvmet/slot.h"

#define BURST 64
#define LOOK_NS 100000000ull
#define EVENTS_NS 50000ull /* how often a lane looks at what all of them share, if there are several */
#define COMPLETIONS_MIN 32768u

/* ---- opening ---- */

/* Does the lane's lcore serve a queue of the port? Queue i is served by the i-th lcore from the port's first one on. */
static bool serves(const struct lane *lane, uint32_t port)
{
	const struct server *server = lane->server;
	uint32_t behind = (lane->index + server->lane_count - port % server->lane_count) % server->lane_count;

	return behind < server->ports[port].port->queue_count;
}

uint32_t lane_completions(const struct server *server)
{
	uint32_t most = SERVER_COMPLETIONS / server->lane_count;

	return most < COMPLETIONS_MIN ? COMPLETIONS_MIN : most;
}

static int open_completions(struct lane *lane)
{
	const struct server *server = lane->server;

	for (uint32_t i = 0; i < server->port_count; i++) {
		if (serves(lane, i) &&
		    uroce_cq_create(server->ports[i].port->device, lane_completions(server), &lane->ports[i].cq) != 0)
			return app_complain(APP_EXIT_ENVIRONMENT, "no memory for the completions of %s",
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
	lane->pool_region = server_register(lane->server, lane->pool.base, lane->pool.bytes);
	if (lane->pool_region == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for regions");
	lane->ring = ring_open(lane->pool.base, lane->pool.bytes, threads, reason, sizeof(reason));
	if (lane->ring == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for the work on files");
	if (reason[0] && lane->index == 0)
		fprintf(stderr, "note: %s; threads read and write files\n", reason);
	return APP_EXIT_OK;
}

static void forget_requests(struct lane *lane)
{
	while (lane->requests) {
		struct request *request = lane->requests;

		lane->requests = request->next;
		uroce_cm_id_destroy(request->event.id);
		free(request);
	}
}

void lane_close(struct lane *lane)
{
	forget_requests(lane);
	if (lane->ring)
		ring_close(lane->ring);
	if (lane->pool_region)
		server_deregister(lane->server, lane->pool_region);
	pool_close(&lane->pool);
	for (uint32_t i = 0; i < LANE_PORTS_MAX; i++) {
		if (lane->ports[i].cq)
			uroce_cq_destroy(lane->ports[i].cq);
	}
}

/* ---- events: one channel for all lanes ---- */

static void append(struct lane *lane, struct request *request)
{
	request->next = NULL;
	if (lane->requests)
		lane->last_request->next = request;
	else
		lane->requests = request;
	lane->last_request = request;
	lane->has_requests = true;
}

/* With the lock held, so that a queue named by an event still exists. Returns whether the request has been kept. */
static bool hand_out(struct server *server, struct request *request)
{
	const struct uroce_cm_event *event = &request->event;
	struct queue *queue = (struct queue *)(uintptr_t)event->context;

	switch (event->type) {
	case UROCE_CM_REQUEST:
		append(&server->lanes[uroce_cm_lcore(event->id) - 1], request);
		return true;
	case UROCE_CM_REJECTED:
	case UROCE_CM_UNREACHABLE:
	case UROCE_CM_DISCONNECTED:
		if (queue)
			queue_tell_end(queue, event->status ? strerror(-event->status) : "it has disconnected");
		break;
	case UROCE_CM_ESTABLISHED:
	case UROCE_CM_ALTERNATE:
	case UROCE_CM_RESOLVED:
	case UROCE_CM_ROUTED:
	case UROCE_CM_RESPONSE:
	case UROCE_CM_RESTED:
	case UROCE_CM_EVENT_TYPES:
		break;
	}
	return false;
}

/* Any lane hands out events for all, so that none waits for a sleeping one. Without memory the events wait. */
void lane_hand_out_events(struct lane *lane)
{
	struct server *server = lane->server;

	lane->events_ns = lane->now_ns;
	if (pthread_mutex_trylock(&server->events_lock) != 0)
		return;
	while (server->spare || (server->spare = calloc(1, sizeof(*server->spare))) != NULL) {
		if (uroce_cm_next(server->channel, &server->spare->event) != 0)
			break;
		if (hand_out(server, server->spare))
			server->spare = NULL;
	}
	pthread_mutex_unlock(&server->events_lock);
}

static struct request *take_requests(struct lane *lane)
{
	struct request *requests;

	pthread_mutex_lock(&lane->server->events_lock);
	requests = lane->requests;
	lane->requests = NULL;
	lane->has_requests = false;
	pthread_mutex_unlock(&lane->server->events_lock);
	return requests;
}

static unsigned take_events(struct lane *lane)
{
	struct request *requests = NULL, *next;
	unsigned count = 0;

	if (lane->server->lane_count == 1 || lane->now_ns - lane->events_ns >= EVENTS_NS)
		lane_hand_out_events(lane);
	if (lane->has_requests)
		requests = take_requests(lane);
	for (; requests; requests = next, count++) {
		next = requests->next;
		queue_open(lane, &requests->event);
		free(requests);
	}
	return count;
}

/* ---- running ---- */

static unsigned take_completions(struct lane *lane)
{
	struct uroce_wc wc[BURST];
	unsigned taken = 0;

	for (uint32_t i = 0; i < lane->server->port_count; i++) {
		int count = lane->ports[i].cq ? uroce_cq_poll(lane->ports[i].cq, BURST, wc) : 0;

		for (int k = 0; k < count; k++)
			queue_take_completion((struct queue *)(uintptr_t)wc[k].qp_context, &wc[k]);
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
		queue_tell_end(nvmf_controller_queue(controller)->context,
			       "it has not been heard for its keep-alive time");
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

static void end_told(struct lane *lane)
{
	lane->told = false;
	queue_end_told(lane);
}

static void end_all(struct lane *lane)
{
	lane->ended = true;
	for (struct queue *queue = lane->queues; queue; queue = queue->next)
		queue_end(queue, "the target ends");
}

bool lane_poll(struct lane *lane)
{
	uint64_t before_ns = lane->now_ns;
	unsigned work;

	lane->now_ns = app_now_ns();
	lane->awake_ns += lane->now_ns - before_ns < LANE_PAUSE_NS ? lane->now_ns - before_ns : LANE_PAUSE_NS;
	work = uroce_lcore_poll(lane->lcore);
	work += take_events(lane);
	work += take_completions(lane);
	work += ring_poll(lane->ring);
	if (lane->told)
		end_told(lane);
	if (lane->server->ending && !lane->ended)
		end_all(lane);
	if (lane->waiting_first)
		slot_try_again(lane);
	if (lane->ending_queues)
		queue_close_done(lane);
	if (lane->now_ns - lane->looked_ns >= LOOK_NS)
		look_around(lane);
	/* Sequentially consistent with disks_remove(), which removes a namespace before it reads this. */
	atomic_store(&lane->polls, lane->polls + 1);
	return work > 0;
}
