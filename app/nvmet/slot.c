/* slot.c - carries out a command: moves its data between host and store, and answers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/slot.h"

#include <string.h>

#include "nvmet/data.h"
#include "nvmet/queue.h"
#include "nvmet/region.h"
#include "nvmf/event.h"

static uint64_t wr_id_of(const struct slot *slot, enum slot_work work)
{
	return slot_wr_id((uint32_t)(slot - slot->queue->slots), work);
}

/* ---- messages ---- */

static void fetch(struct slot *slot)
{
	const struct nvmf_sgl *sgl = &slot->command.sgl;
	struct uroce_sge sge = { (uintptr_t)slot->data, slot->command.data_bytes, slot->data_lkey };
	struct uroce_send_wr wr = {
		.wr_id = wr_id_of(slot, WORK_FETCH),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = UROCE_WR_RDMA_READ,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = sgl->addr,
		.rkey = sgl->key,
	};

	queue_post(slot->queue, &wr, 1);
}

/* Sends the answer, behind the data if the host gets data: a QP keeps the order. */
static void answer(struct slot *slot, bool with_data)
{
	struct nvmf_command *command = &slot->command;
	uint8_t cqe[NVME_CQE_BYTES];
	struct uroce_sge sges[2] = { { (uintptr_t)slot->data, command->data_bytes, slot->data_lkey },
				     { (uintptr_t)cqe, sizeof(cqe), 0 } };
	struct uroce_send_wr send = {
		.wr_id = wr_id_of(slot, WORK_ANSWER),
		.sg_list = &sges[1],
		.num_sge = 1,
		.opcode = command->sgl.invalidate ? UROCE_WR_SEND_WITH_INV : UROCE_WR_SEND,
		.send_flags = UROCE_SEND_SIGNALED | UROCE_SEND_INLINE,
		.rkey = command->sgl.key,
	};
	struct uroce_send_wr write = {
		.next = &send,
		.wr_id = wr_id_of(slot, WORK_GIVE),
		.sg_list = &sges[0],
		.num_sge = 1,
		.opcode = UROCE_WR_RDMA_WRITE,
		.remote_addr = command->sgl.addr,
		.rkey = command->sgl.key,
	};

	/*
	 * The queue was disconnected because its controller is gone, so a command that failed for that gets no answer.
	 */
	if (slot->queue->told_end) {
		queue_end(slot->queue, "disconnected by request");
		return;
	}
	nvmf_command_answer(command, cqe);
	if (command->opcode == NVME_FABRICS && command->sqe[SQE_FABRICS_TYPE] == NVME_CONNECT)
		queue_tell_connect(slot->queue, command, slot->data);
	lane_count(&slot->queue->lane->counts.errors, command->status != NVME_OK);
	lane_count(&slot->queue->errors, command->status != NVME_OK);
	lane_set(&slot->queue->commands, slot->queue->commands - slot->counted);
	slot->counted = false;
	queue_post_receive(slot->queue, slot->capsule);
	queue_post(slot->queue, with_data ? &write : &send, 1);
}

/* ---- the store ---- */

static void block_done(struct store_request *request, uint16_t status)
{
	struct slot *slot = (struct slot *)(void *)((char *)request - offsetof(struct slot, request));
	struct queue *queue = slot->queue;

	queue->store_requests--;
	nvmf_command_done(&slot->command, status);
	if (!queue->ending)
		answer(slot, slot->command.block.op == NVMF_BLOCK_READ && status == NVME_OK);
}

static void carry_out(struct slot *slot)
{
	struct store_request *request = &slot->request;

	request->store = slot->store;
	request->ring = slot->queue->lane->ring;
	request->lcore = slot->queue->lane->index;
	request->block = &slot->command.block;
	request->command = &slot->command;
	request->data = slot->data;
	request->done = block_done;
	request->turns = &slot->queue->lane->turns;
	request->turn = slot->store->fd >= 0 ? &slot->queue->peer->file_turn : &slot->queue->peer->turn;
	request->left = &slot->queue->ending;
	slot->queue->store_requests++;
	store_submit(request);
}

/*
 * May a namespace in memory be read and written in place, without a buffer? Yes, if each packet has whole blocks: then
 * other hosts see the old block or the new one (AWUN), even if a host disappears in the middle. With smaller packets,
 * or if several lcores serve the namespace, the data passes through a buffer and is copied at once; while an lcore
 * copies a block no other lcore copies it.
 */
static bool lies_in_store(struct slot *slot)
{
	const struct nvmf_command *command = &slot->command;
	const struct store *store = slot->store;

	if (store == NULL || store->memory == NULL || store->chunks ||
	    store->config.block_bytes > slot->queue->path_mtu ||
	    (command->block.op != NVMF_BLOCK_READ && command->block.op != NVMF_BLOCK_WRITE))
		return false;
	slot->data = store->memory + command->block.offset;
	slot->data_lkey = store->region->lkeys[slot->queue->port_index];
	return true;
}

/* May data stay in the capsule? Not for stores of files, which need it in the pool. */
static bool stays_in_capsule(const struct slot *slot)
{
	const struct nvmf_command *command = &slot->command;
	const struct store *store = slot->store;

	return store == NULL || command->block.op != NVMF_BLOCK_WRITE || store->fd < 0;
}

static uint8_t *in_capsule(const struct slot *slot)
{
	return queue_capsule(slot->queue, slot->capsule) + NVME_SQE_BYTES + slot->command.sgl.addr;
}

/* ---- the steps of a command ---- */

void slot_fetched(struct slot *slot)
{
	slot_go_on(slot, nvmf_command_fetched(&slot->command, slot->data, slot->queue->lane->awake_ns));
}

static void begin_fetch(struct slot *slot)
{
	const struct nvmf_command *command = &slot->command;

	if (command->sgl.in_capsule && stays_in_capsule(slot)) {
		slot->data = in_capsule(slot);
		slot_fetched(slot);
	} else if (!command->sgl.in_capsule && lies_in_store(slot)) {
		fetch(slot);
	} else if (!data_take(slot)) {
		data_await(slot);
	} else if (command->sgl.in_capsule) {
		memcpy(slot->data, in_capsule(slot), command->data_bytes);
		slot_fetched(slot);
	} else {
		fetch(slot);
	}
}

static void begin_block(struct slot *slot)
{
	if (slot->data == NULL && slot->command.data_bytes && !lies_in_store(slot) && !data_take(slot))
		data_await(slot);
	else
		carry_out(slot);
}

static void begin_give(struct slot *slot)
{
	if (!data_take(slot)) {
		data_await(slot);
		return;
	}
	nvmf_command_give(&slot->command, slot->data);
	answer(slot, true);
}

void slot_go_on(struct slot *slot, enum nvmf_step step)
{
	slot->step = step;
	switch (step) {
	case NVMF_ANSWER:
		answer(slot, false);
		break;
	case NVMF_FETCH:
		begin_fetch(slot);
		break;
	case NVMF_GIVE:
		begin_give(slot);
		break;
	case NVMF_BLOCK:
		begin_block(slot);
		break;
	case NVMF_HOLD:
		break;
	case NVMF_RESET:
		queue_tell_io_queues(slot->queue, "the controller was reset");
		answer(slot, false);
		slot_tell_events(slot->queue->lane);
		break;
	case NVMF_DROP:
		lane_count(&slot->queue->lane->counts.broken_queues, 1);
		queue_end(slot->queue, "the host sent an invalid command");
		break;
	}
}

/* Serves the waiting commands of a queue. Returns false if there is no buffer for the first command that waits. */
static bool serve_waiting(struct queue *queue, unsigned *served)
{
	struct lane *lane = queue->lane;
	struct slot *slot;

	while (!queue->ending && (slot = STAILQ_FIRST(&queue->waiting)) != NULL && data_has_share(slot)) {
		if (!pool_has(&lane->pool, slot->command.data_bytes))
			return false;
		if (slot == lane->short_slot)
			lane->short_ns = lane->awake_ns;
		STAILQ_REMOVE_HEAD(&queue->waiting, next_waiting);
		slot_go_on(slot, slot->step);
		++*served;
	}
	return true;
}

/*
 * A command that waits for a large buffer is not overtaken by commands with small buffers, because these would take
 * parts of every large block that becomes free. Healthy hosts give back their buffers within HOLD_UP_NS, which is
 * enough for a round trip and a disk. Hosts that keep buffers longer are disconnected only after seconds; other
 * commands need not wait for that, and may overtake.
 */
#define HOLD_UP_NS 500000000ull
#define HOLD_UP_EACH_NS 5000000000ull /* overtaking is forbidden for the first HOLD_UP_NS of each such period */

unsigned slot_try_again(struct lane *lane)
{
	struct waiting_queues looked_at = STAILQ_HEAD_INITIALIZER(looked_at);
	const struct slot *first_short = NULL;
	struct queue *queue;
	bool goes_on = true;
	unsigned served = 0;

	lane->serves_waiting = true;
	if (lane->short_slot == NULL)
		lane->short_ns = lane->awake_ns;
	while ((queue = STAILQ_FIRST(&lane->waiting)) != NULL) {
		STAILQ_REMOVE_HEAD(&lane->waiting, next_waiting);
		if (goes_on && !queue->ending && !serve_waiting(queue, &served)) {
			first_short = first_short ? first_short : STAILQ_FIRST(&queue->waiting);
			goes_on = (lane->awake_ns - lane->short_ns) % HOLD_UP_EACH_NS >= HOLD_UP_NS;
		}
		queue->in_waiting = !queue->ending && !STAILQ_EMPTY(&queue->waiting);
		if (queue->in_waiting)
			STAILQ_INSERT_TAIL(&looked_at, queue, next_waiting);
		else
			STAILQ_INIT(&queue->waiting);
	}
	STAILQ_CONCAT(&lane->waiting, &looked_at);
	lane->short_slot = first_short;
	lane->serves_waiting = false;
	return served;
}

/* The controller in this entry, if its admin queue is the lane's, so that no other thread frees it; else NULL. */
static struct nvmf_controller *own_controller(const struct lane *lane, uint32_t place)
{
	struct nvmf_target *target = &lane->server->target;
	struct nvmf_controller *controller;

	nvmf_target_lock(target);
	controller = target->controllers[place];
	if (controller &&
	    (controller->queues[0] == NULL || ((struct queue *)controller->queues[0]->context)->lane != lane))
		controller = NULL;
	nvmf_target_unlock(target);
	return controller;
}

void slot_tell_events(struct lane *lane)
{
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		struct nvmf_controller *controller;
		struct nvmf_command *command;

		while ((controller = own_controller(lane, i)) != NULL &&
		       (command = nvmf_event_next(controller)) != NULL)
			answer((struct slot *)(void *)((char *)command - offsetof(struct slot, command)), false);
	}
}
