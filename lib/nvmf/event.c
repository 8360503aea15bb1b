/* event.c - answers held commands when their events have come */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/event.h"

#include <string.h>

#define HEALTH 1u /* the types of events */
#define NOTICE 2u

static struct nvmf_command *take_oldest(struct nvmf_controller *controller)
{
	struct nvmf_command *command = controller->held[0];

	controller->held_count--;
	memmove(controller->held, controller->held + 1, controller->held_count * sizeof(controller->held[0]));
	return command;
}

/* The result: type of the event, the event, and the log page that tells more. */
static uint64_t event_result(uint32_t event)
{
	if (event == NVME_EVENT_UNRELIABLE)
		return HEALTH | (uint64_t)NVME_LOG_SMART << 16;
	if (event == NVME_EVENT_NAMESPACE)
		return NOTICE | (uint64_t)NVME_LOG_CHANGED << 16;
	return NOTICE | 0xF0ull << 8 | (uint64_t)NVME_LOG_DISCOVERY << 16;
}

static struct nvmf_command *take(struct nvmf_controller *controller)
{
	struct nvmf_command *command;
	uint32_t event;

	if (controller->aborted_count) {
		controller->aborted_count--;
		command = take_oldest(controller);
		command->status = NVME_ABORTED;
		return command;
	}
	if (controller->held_count == 0 || controller->events_due == 0)
		return NULL;
	event = controller->events_due & -controller->events_due;
	controller->events_due &= ~event;
	controller->events_told |= event;
	command = take_oldest(controller);
	command->result = event_result(event);
	return command;
}

struct nvmf_command *nvmf_event_next(struct nvmf_controller *controller)
{
	struct nvmf_target *target = controller->target;
	struct nvmf_command *command;

	nvmf_target_lock(target);
	command = take(controller);
	nvmf_target_unlock(target);
	return command;
}
