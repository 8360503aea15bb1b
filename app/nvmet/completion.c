/* completion.c - takes completions of a queue: capsules become commands, and answered commands free their slots */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/completion.h"

#include "nvmet/data.h"
#include "nvmet/events.h"
#include "nvmet/queue.h"
#include "nvmet/slot.h"

static void handle_capsule(struct queue *queue, uint32_t capsule, uint32_t bytes)
{
	struct slot *slot = queue->free_slots;
	enum nvmf_step step;

	queue->free_slots = slot->next;
	slot->capsule = capsule;
	slot->data = NULL;
	slot->counted = true;
	slot->began_ns = queue->lane->now_ns;
	lane_set(&queue->commands, queue->commands + 1);
	lane_count(&queue->taken, 1);
	lane_count(&queue->lane->counts.commands, 1);
	step = nvmf_command_begin(&slot->command, &queue->nvmf, queue_capsule(queue, capsule), bytes,
				  queue->lane->awake_ns);
	slot->store = slot->command.uses_namespace ? slot->command.block.namespace->store : NULL;
	if (slot->store)
		store_use(slot->store, queue->lane->index);
	slot_go_on(slot, step);
}

/* There is a capsule for each command that the host may have under way, so one command more finds no receive. */
static void take_or_keep(struct queue *queue, uint32_t capsule, uint32_t bytes)
{
	struct pending *pending;

	if (queue->free_slots) {
		handle_capsule(queue, capsule, bytes);
		return;
	}
	pending = &queue->pending[(queue->pending_head + queue->pending_count) % queue->capsule_count];
	lane_set(&queue->pending_count, queue->pending_count + 1);
	*pending = (struct pending){ capsule, bytes };
}

static void note_time(const struct slot *slot)
{
	struct store *store = slot->store;

	if (store && slot->command.status == NVME_OK && slot->command.block.op <= NVMF_BLOCK_WRITE)
		app_histogram_record(
			&store->shares[slot->queue->lane->index].times[slot->command.block.op == NVMF_BLOCK_WRITE],
			slot->queue->lane->now_ns - slot->began_ns);
}

static void free_slot(struct queue *queue, struct slot *slot)
{
	note_time(slot);
	data_return(slot);
	slot->next = queue->free_slots;
	queue->free_slots = slot;
	if (queue->pending_count) {
		struct pending pending = queue->pending[queue->pending_head];

		queue->pending_head = (queue->pending_head + 1) % queue->capsule_count;
		lane_set(&queue->pending_count, queue->pending_count - 1);
		handle_capsule(queue, pending.capsule, pending.bytes);
	}
}

void completion_handle(struct queue *queue, const struct uroce_wc *wc)
{
	enum slot_work work = wc->wr_id & ((1u << SLOT_WORK_BITS) - 1);
	uint32_t number = (uint32_t)(wc->wr_id >> SLOT_WORK_BITS);

	queue->receives -= work == WORK_RECEIVE;
	if (work == WORK_FETCH || work == WORK_ANSWER) {
		queue->sends--;
		queue->moved_ns = queue->lane->awake_ns;
	}
	if (wc->status != UROCE_WC_SUCCESS) {
		if (!queue->ending)
			events_hand_out(queue->lane); /* an event may tell the reason */
		queue_end_failed(queue, wc);
	}
	if (queue->told_end) /* the host may have come back with a new queue, so the old one executes nothing more */
		queue_end(queue, queue->told_end);
	if (queue->ending)
		return;
	switch (work) {
	case WORK_RECEIVE:
		take_or_keep(queue, number, wc->byte_len);
		break;
	case WORK_FETCH:
		slot_fetched(&queue->slots[number]);
		break;
	case WORK_ANSWER:
		free_slot(queue, &queue->slots[number]);
		break;
	case WORK_GIVE:
		break;
	}
}
