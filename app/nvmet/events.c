/* events.c - events of connection management: any lane hands them out to all lanes, each lane opens its own queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/events.h"

#include <stdlib.h>
#include <string.h>

#include "nvmet/queue.h"

#define EVENTS_NS 50000ull /* how often a lane looks for events, if there are several lanes */

/*
 * Hands an event to its lane. The caller holds the lock, so a queue that the event names still exists. Returns whether
 * the lane has kept the request.
 */
static bool hand_out(struct server *server, struct request *request)
{
	const struct uroce_cm_event *event = &request->event;
	struct queue *queue = (struct queue *)(uintptr_t)event->context;
	struct lane *lane;

	switch (event->type) {
	case UROCE_CM_CONNECT_REQUEST:
		lane = &server->lanes[uroce_lcore_index(uroce_cm_lcore(event->id))];
		STAILQ_INSERT_TAIL(&lane->requests, request, next);
		lane->has_requests = true;
		return true;
	case UROCE_CM_REJECTED:
	case UROCE_CM_UNREACHABLE:
	case UROCE_CM_DISCONNECTED:
		if (queue) {
			queue->failed = event->status != 0;
			queue_tell_end(queue, event->status ? strerror(-event->status) : "the host disconnected");
		}
		break;
	case UROCE_CM_ESTABLISHED:
	case UROCE_CM_ALTERNATE:
	case UROCE_CM_UD_RESOLVED:
	case UROCE_CM_ROUTE_RESOLVED:
	case UROCE_CM_CONNECT_RESPONSE:
	case UROCE_CM_TIMEWAIT_EXIT:
	case UROCE_CM_EVENT_TYPES:
		break;
	}
	return false;
}

/*
 * Any lane hands out events for all lanes, so that no event waits for a sleeping lane. If there is no memory for an
 * event, the events wait in the channel.
 */
void events_hand_out(struct lane *lane)
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

static void take_requests(struct lane *lane, struct requests *requests)
{
	pthread_mutex_lock(&lane->server->events_lock);
	STAILQ_CONCAT(requests, &lane->requests);
	lane->has_requests = false;
	pthread_mutex_unlock(&lane->server->events_lock);
}

unsigned events_handle(struct lane *lane)
{
	struct requests requests = STAILQ_HEAD_INITIALIZER(requests);
	struct request *request;
	unsigned count = 0;

	if (lane->server->lane_count == 1 || lane->now_ns - lane->events_ns >= EVENTS_NS)
		events_hand_out(lane);
	if (lane->has_requests)
		take_requests(lane, &requests);
	for (; (request = STAILQ_FIRST(&requests)) != NULL; count++) {
		STAILQ_REMOVE_HEAD(&requests, next);
		queue_open(lane, &request->event);
		free(request);
	}
	return count;
}

void events_forget(struct lane *lane)
{
	struct request *request;

	while ((request = STAILQ_FIRST(&lane->requests)) != NULL) {
		STAILQ_REMOVE_HEAD(&lane->requests, next);
		uroce_cm_id_destroy(request->event.id);
		free(request);
	}
}
