/* controller.c - controllers: their queues, properties, and events for hosts */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/controller.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "share/share.h"

#define CAP_CONTIGUOUS (1ull << 16)
#define CAP_TIMEOUT (15ull << 24) /* 7.5 s */
#define CAP_NVM (1ull << 37)
#define KEEP_ALIVE_UNIT_MS 1000u
/* time for a host's other queues to connect: Linux waits 4.3 s for each lost message of CM */
#define CONNECTING_MS 30000u
/* keep-alive time of a discovery host that has named none, so that it cannot stay for ever */
#define DISCOVERY_MS 120000u
/* for how long at least a host has its connection after a reset or a shutdown */
#define ASSOCIATION_MS 120000u

void nvmf_queue_open(struct nvmf_queue *queue, struct nvmf_target *target, const struct nvmf_hello *hello)
{
	/* Clears the members before `context`; the program has set `context` and the members behind it. */
	memset(queue, 0, offsetof(struct nvmf_queue, context));
	queue->target = target;
	queue->qid = hello->qid;
	queue->room = queue->size = hello->commands;
}

/* The entry for a controller id; ids that differ by a multiple of the number of entries share one. */
static struct nvmf_controller **place_of(struct nvmf_target *target, uint16_t cntlid)
{
	return &target->controllers[(cntlid - 1u) % NVMF_CONTROLLERS_MAX];
}

struct nvmf_controller *nvmf_controller_find(const struct nvmf_target *target, uint16_t cntlid)
{
	struct nvmf_controller *controller = target->controllers[(cntlid - 1u) % NVMF_CONTROLLERS_MAX];

	return controller && controller->cntlid == cntlid ? controller : NULL;
}

static void set_features_to_defaults(struct nvmf_controller *controller)
{
	controller->write_cache = true;
	controller->retry_later = 0;
	controller->arbitration = 7; /* bursts are not limited */
	controller->thresholds[0] = 0xFFFF;
	controller->thresholds[1] = 0;
	controller->power = controller->error_recovery = controller->atomicity = 0;
	controller->events_wanted = controller->events_told = controller->events_due = 0;
}

/* A controller is a place that its host's address holds. Hosts connect seldom, so they are counted by a scan. */
static bool has_room(const struct nvmf_queue *queue)
{
	struct share places = { .size = NVMF_CONTROLLERS_MAX };
	uint32_t held = 0;

	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		const struct nvmf_controller *controller = queue->target->controllers[i];

		places.used += controller != NULL;
		held += controller && memcmp(controller->peer, queue->peer, sizeof(queue->peer)) == 0;
	}
	return share_allows(&places, held, 1);
}

/* Begins with what the host has identified on this path before. Returns false: no memory. */
static bool recall(struct nvmf_controller *controller, const struct nvmf_queue *queue)
{
	struct nvmf_path_name name = { .subsystem = controller->subsystem, .port_id = queue->port_id };

	if (controller->subsystem == NULL)
		return true;
	memcpy(name.host_nqn, controller->host_nqn, sizeof(name.host_nqn));
	memcpy(name.host_id, controller->host_id, sizeof(name.host_id));
	memcpy(name.peer, queue->peer, sizeof(name.peer));
	controller->path = nvmf_path_enter(&controller->target->paths, &name);
	if (controller->path == NULL)
		return false;
	controller->numbers = controller->path->numbers;
	for (uint32_t nsid = 1; nsid <= NVMF_NAMESPACES_MAX; nsid++)
		nvmf_controller_judge(controller, nsid, nvmf_subsystem_find(controller->subsystem, nsid));
	return true;
}

static void destroy(struct nvmf_controller *controller)
{
	*place_of(controller->target, controller->cntlid) = NULL;
	if (controller->path)
		nvmf_path_leave(&controller->target->paths, controller->path);
	free(controller);
}

struct nvmf_controller *nvmf_controller_create(const struct nvmf_queue *queue, const struct nvmf_subsystem *subsystem,
					       const char *host_nqn, const uint8_t host_id[16])
{
	struct nvmf_target *target = queue->target;
	struct nvmf_controller *controller = NULL;

	if (!has_room(queue))
		return NULL;
	/* Takes a new id, so that commands that a host still sends to its old controller do not reach the new one. */
	for (uint32_t i = 0; i < 2 * NVMF_CONTROLLERS_MAX && controller == NULL; i++) {
		uint16_t cntlid = (uint16_t)(target->last_cntlid % NVME_CNTLID_MAX + 1);

		target->last_cntlid = cntlid;
		if (*place_of(target, cntlid))
			continue;
		controller = calloc(1, sizeof(*controller));
		if (controller == NULL)
			return NULL;
		controller->cntlid = cntlid;
		*place_of(target, cntlid) = controller;
	}
	if (controller == NULL)
		return NULL;
	controller->target = target;
	controller->subsystem = subsystem;
	memcpy(controller->peer, queue->peer, sizeof(controller->peer));
	strcpy(controller->host_nqn, host_nqn);
	memcpy(controller->host_id, host_id, sizeof(controller->host_id));
	controller->deadline_ns = NVMF_FOREVER;
	set_features_to_defaults(controller);
	if (recall(controller, queue))
		return controller;
	destroy(controller);
	return NULL;
}

void nvmf_controller_attach(struct nvmf_controller *controller, struct nvmf_queue *queue)
{
	controller->queues[queue->qid] = queue;
	controller->queue_count++;
	queue->controller = controller;
}

static void detach(struct nvmf_queue *queue, struct nvmf_controller *controller)
{
	queue->controller = NULL;
	controller->queues[queue->qid] = NULL;
	controller->queue_count--;
	if (queue->qid == 0) {
		controller->phase = NVMF_DISABLED;
		controller->cc = 0;
		controller->held_count = controller->aborted_count = 0;
		controller->deadline_ns = NVMF_FOREVER;
	}
	if (controller->queue_count == 0)
		destroy(controller);
}

void nvmf_queue_close(struct nvmf_queue *queue)
{
	if (queue->controller == NULL)
		return;
	nvmf_target_lock(queue->target);
	detach(queue, queue->controller);
	nvmf_target_unlock(queue->target);
}

struct nvmf_queue *nvmf_controller_queue(const struct nvmf_controller *controller)
{
	for (uint32_t i = 0; i < NVMF_QUEUES_MAX; i++) {
		if (controller->queues[i])
			return controller->queues[i];
	}
	return NULL;
}

bool nvmf_controller_is_ready(const struct nvmf_controller *controller)
{
	return controller->phase == NVMF_READY;
}

/* The time that a host has asked for, in whole units; 0: none. */
static uint64_t keep_alive_ms(const struct nvmf_controller *controller)
{
	uint64_t ms = controller->keep_alive_ms;

	if (ms == 0 && controller->subsystem == NULL)
		ms = DISCOVERY_MS;
	return (ms + KEEP_ALIVE_UNIT_MS - 1) / KEEP_ALIVE_UNIT_MS * KEEP_ALIVE_UNIT_MS;
}

/* After a reset or a shutdown a host need not send Keep Alive. */
static uint64_t patience_ms(const struct nvmf_controller *controller)
{
	uint64_t ms = keep_alive_ms(controller);
	bool left = controller->was_enabled && !nvmf_controller_is_ready(controller);

	return left && ms && ms < ASSOCIATION_MS ? ASSOCIATION_MS : ms;
}

static void wait_for_host(struct nvmf_controller *controller, uint64_t ms, uint64_t now_ns)
{
	controller->deadline_ns = ms ? now_ns + ms * 1000000 : NVMF_FOREVER;
}

void nvmf_controller_greet(struct nvmf_controller *controller, uint64_t now_ns)
{
	uint64_t ms = keep_alive_ms(controller);

	wait_for_host(controller, ms && ms < CONNECTING_MS ? CONNECTING_MS : ms, now_ns);
}

void nvmf_controller_hear(struct nvmf_controller *controller, uint64_t now_ns)
{
	atomic_store_explicit(&controller->heard_ns, 0, memory_order_relaxed);
	wait_for_host(controller, keep_alive_ms(controller), now_ns);
}

uint64_t nvmf_controller_cap(const struct nvmf_controller *controller)
{
	return (controller->target->config.queue_depth - 1) | CAP_CONTIGUOUS | CAP_TIMEOUT | CAP_NVM;
}

bool nvmf_controller_has_entry_sizes(const struct nvmf_controller *controller)
{
	return (controller->cc & NVME_CC_ENTRIES) == NVME_CC_ENTRIES_USUAL;
}

static void begin_reset(struct nvmf_controller *controller)
{
	controller->phase = controller->phase == NVMF_FATAL ? NVMF_DISABLED : NVMF_RESETTING;
	controller->shut_down = false;
	set_features_to_defaults(controller);
	controller->aborted_count = controller->held_count;
	if (controller->subsystem)
		nvmf_controller_list_changes(controller);
}

/* Ends a reset, if nothing of the time before it is under way any more. */
static void end_reset(struct nvmf_controller *controller)
{
	const struct nvmf_queue *admin = controller->queues[0];

	if (controller->phase == NVMF_RESETTING && admin && controller->queue_count == 1 && admin->under_way == 0)
		controller->phase = NVMF_DISABLED;
}

uint16_t nvmf_controller_set_cc(struct nvmf_controller *controller, uint32_t cc)
{
	uint32_t began = cc & ~controller->cc, ended = controller->cc & ~cc;

	end_reset(controller);
	if (began & NVME_CC_ENABLE && controller->phase == NVMF_RESETTING)
		return NVME_COMMAND_SEQUENCE | NVME_DNR;
	controller->cc = cc;
	if (ended & NVME_CC_ENABLE)
		begin_reset(controller);
	if (began & NVME_CC_ENABLE) {
		controller->phase = cc & NVME_CC_CSS_AMS_MPS ? NVMF_FATAL : NVMF_READY;
		controller->was_enabled = true;
	}
	if (began & NVME_CC_SHUTDOWN)
		controller->shut_down = true;
	if (controller->shut_down && controller->phase == NVMF_READY)
		controller->phase = NVMF_STOPPED;
	return NVME_OK;
}

static uint32_t io_under_way(const struct nvmf_controller *controller)
{
	uint32_t sum = 0;

	for (uint32_t i = 1; i < NVMF_QUEUES_MAX; i++)
		sum += controller->queues[i] ? controller->queues[i]->under_way : 0;
	return sum;
}

uint32_t nvmf_controller_csts(struct nvmf_controller *controller)
{
	enum nvmf_phase phase;
	uint32_t shutdown = 0;

	end_reset(controller);
	phase = controller->phase;
	if (controller->shut_down)
		shutdown = io_under_way(controller) ? NVME_CSTS_SHUTDOWN_BUSY : NVME_CSTS_SHUTDOWN_DONE;
	switch (phase) {
	case NVMF_DISABLED:
		return shutdown;
	case NVMF_FATAL:
		return NVME_CSTS_FATAL | shutdown;
	case NVMF_READY:
	case NVMF_STOPPED:
	case NVMF_RESETTING:
		break;
	}
	return NVME_CSTS_READY | shutdown;
}

void nvmf_controller_change(struct nvmf_controller *controller, uint32_t nsid)
{
	nvmf_set_put(controller->changed, nsid, true);
	nvmf_controller_raise(controller, NVME_EVENT_NAMESPACE);
}

void nvmf_controller_judge(struct nvmf_controller *controller, uint32_t nsid, const struct nvmf_namespace *namespace)
{
	bool right = numbers_mean(&controller->numbers, nsid, namespace);

	nvmf_set_put(controller->identified, nsid, right);
	nvmf_set_put(controller->gone, nsid, controller->numbers.known[nsid - 1] && !right);
}

void nvmf_controller_identify(struct nvmf_controller *controller, const struct nvmf_namespace *namespace)
{
	numbers_learn(&controller->numbers, namespace);
	numbers_learn(&controller->path->numbers, namespace);
	nvmf_controller_judge(controller, namespace->nsid, namespace);
}

void nvmf_controller_list(struct nvmf_controller *controller, uint32_t above)
{
	for (uint32_t nsid = above + 1; nsid <= NVMF_NAMESPACES_MAX; nsid++) {
		if (nvmf_subsystem_find(controller->subsystem, nsid))
			continue;
		controller->numbers.known[nsid - 1] = controller->path->numbers.known[nsid - 1] = false;
		nvmf_controller_judge(controller, nsid, NULL);
	}
}

void nvmf_controller_list_changes(struct nvmf_controller *controller)
{
	for (uint32_t nsid = 1; nsid <= NVMF_NAMESPACES_MAX; nsid++) {
		if (nvmf_subsystem_find(controller->subsystem, nsid) == NULL)
			nvmf_set_put(controller->gone, nsid, false);
	}
}

void nvmf_controller_raise(struct nvmf_controller *controller, uint32_t event)
{
	controller->events_due |= event & controller->events_wanted & ~controller->events_told;
}

void nvmf_controller_read(struct nvmf_controller *controller, uint32_t event)
{
	controller->events_told &= ~event;
	controller->events_due &= ~event;
}

struct nvmf_controller *nvmf_controller_expired(struct nvmf_target *target, uint32_t thread, uint64_t now_ns)
{
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		struct nvmf_controller *controller = target->controllers[i];
		uint64_t heard_ns;

		if (controller == NULL || controller->deadline_ns > now_ns || controller->queues[0] == NULL ||
		    controller->queues[0]->thread != thread)
			continue;
		heard_ns = atomic_load_explicit(&controller->heard_ns, memory_order_relaxed);
		if (heard_ns > 0)
			wait_for_host(controller, patience_ms(controller), heard_ns + NVMF_HEARD_STEP_NS);
		if (controller->deadline_ns > now_ns)
			continue;
		controller->deadline_ns = NVMF_FOREVER;
		return controller;
	}
	return NULL;
}
