/* nvmf_play.c - an NVMe target as fuzz target nvmf plays it: what is done to it, and what must hold then */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf_play.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "nvmf/change.h"
#include "nvmf/event.h"

static const char *const subsystems[] = { "nqn.2016-06.org.example:one", "nqn.2016-06.org.example:any",
					  NVME_DISCOVERY_NQN };
static const char *const hosts[] = { "nqn.2016-06.org.example:host0", "nqn.2016-06.org.example:host1" };

static void put(uint8_t *at, uint32_t bytes, uint64_t value)
{
	for (uint32_t i = 0; i < bytes; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *at, uint32_t bytes)
{
	uint64_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | at[bytes];
	return value;
}

/* ---- what must hold ---- */

void play_check(const struct nvmf_play *play)
{
	uint32_t queues = 0, connected = 0, held = 0, waiting = 0, under_way = 0, orphans = 0;

	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		const struct nvmf_controller *controller = play->target.controllers[i];

		if (controller == NULL)
			continue;
		MUST((controller->cntlid - 1u) % NVMF_CONTROLLERS_MAX == i && controller->queue_count > 0);
		MUST(controller->subsystem != &play->subsystems[0] || strcmp(controller->host_nqn, hosts[0]) == 0);
		queues += controller->queue_count;
		held += controller->held_count;
		MUST(controller->aborted_count <= controller->held_count);
	}
	for (uint32_t i = 0; i < PLAY_QUEUES; i++) {
		const struct nvmf_queue *queue = &play->queues[i].queue;

		MUST(play->queues[i].open || queue->controller == NULL);
		if (queue->controller) {
			MUST(queue->controller->queues[queue->qid] == queue);
			connected++;
		}
	}
	for (uint32_t i = 0; i < PLAY_COMMANDS; i++) {
		waiting += play->commands[i].stage == PLAY_HELD;
		orphans += play->commands[i].stage == PLAY_ORPHAN;
		under_way += play->commands[i].stage != PLAY_FREE;
	}
	for (uint32_t i = 0; i < PLAY_SPACES; i++)
		MUST(nvmf_namespace_under_way(&play->spaces[i].namespace) == play->spaces[i].under_way);
	MUST(queues == connected && held == waiting);
	MUST(play->begun == play->answered + play->dropped + play->forgotten + under_way - orphans);
}

/* Of the namespace, which belonged to the queue's subsystem when the command came. */
static void check_block(const struct play_command *command)
{
	const struct nvmf_block *block = &command->command.block;
	const struct nvmf_namespace *namespace = block->namespace;
	uint64_t end = namespace->blocks * namespace->block_bytes;

	MUST(command->space && namespace == &command->space->namespace);
	MUST(block->offset <= end && block->bytes <= end - block->offset);
	MUST(block->offset % namespace->block_bytes == 0 && block->bytes % namespace->block_bytes == 0);
	MUST(!namespace->read_only || block->op == NVMF_BLOCK_READ || block->op == NVMF_BLOCK_COMPARE ||
	     block->op == NVMF_BLOCK_FLUSH);
	if (block->op == NVMF_BLOCK_READ || block->op == NVMF_BLOCK_WRITE || block->op == NVMF_BLOCK_COMPARE)
		MUST(block->bytes == command->command.data_bytes && block->bytes > 0);
}

static void check_ranges(const struct play_command *command, const uint8_t *data)
{
	const struct nvmf_namespace *namespace = command->command.block.namespace;
	uint64_t end = namespace->blocks * namespace->block_bytes, offset, bytes;

	MUST(command->command.block.range_count * NVMF_RANGE_BYTES <= command->command.data_bytes);
	for (uint32_t i = 0; i < command->command.block.range_count; i++) {
		nvmf_command_range(&command->command, data, i, &offset, &bytes);
		MUST(offset <= end && bytes <= end - offset);
	}
}

/* Data is as much as the descriptor names, and where it may be. */
static void check_data(const struct nvmf_play *play, const struct play_command *command, bool to_host)
{
	const struct nvmf_command *own = &command->command;
	const uint8_t *sgl = command->capsule + SQE_SGL;
	uint32_t most = play->target.config.max_data_bytes;

	MUST(own->data_bytes > 0 && own->data_bytes <= most);
	MUST(own->opcode != NVME_FABRICS || own->data_bytes == NVME_CONNECT_BYTES);
	if (own->sgl.in_capsule) {
		MUST(!to_host && sgl[15] == 0x01);
		MUST(own->sgl.addr + own->data_bytes <= command->capsule_bytes - NVME_SQE_BYTES);
		MUST(own->data_bytes <= get(sgl + 8, 4));
		return;
	}
	MUST(sgl[15] == 0x40 || sgl[15] == 0x4F);
	MUST(own->sgl.invalidate == (sgl[15] == 0x4F));
	MUST(own->data_bytes <= get(sgl + 8, 3));
	MUST(own->sgl.addr == get(sgl, 8) && own->sgl.key == get(sgl + 11, 4));
}

/* ---- commands ---- */

static void leave(struct play_command *command)
{
	free(command->capsule);
	command->capsule = NULL;
	command->stage = PLAY_FREE;
	command->space = NULL;
}

static void answer(struct nvmf_play *play, struct play_command *command)
{
	const struct play_queue *slot = command->slot;
	uint8_t cqe[NVME_CQE_BYTES];

	nvmf_command_answer(&command->command, cqe);
	MUST(get(cqe + 8, 2) == (slot->no_flow_control ? NVME_ANY_SQ_HEAD : slot->head));
	MUST(get(cqe + 10, 2) == slot->queue.qid);
	MUST(get(cqe + 12, 2) == get(command->capsule + SQE_CID, 2));
	MUST(nvmf_status_text((uint16_t)(get(cqe + 14, 2) >> 1)));
	play->answered++;
	leave(command);
}

/* It is about its namespace no more. */
static void release(struct play_command *command)
{
	if (command->space)
		command->space->under_way--;
	command->space = NULL;
}

/* The namespace that a command has taken is its subsystem's, and the host is one that may see it. */
static void find_space(struct nvmf_play *play, struct play_command *command)
{
	const struct nvmf_controller *controller = command->slot->queue.controller;

	if (!command->command.uses_namespace)
		return;
	MUST(controller && controller->subsystem && command->slot->queue.qid > 0);
	MUST(controller->subsystem != &play->subsystems[0] || command->slot->host == 0);
	for (uint32_t i = 0; i < PLAY_SPACES; i++) {
		if (&play->spaces[i].namespace == command->command.block.namespace)
			command->space = &play->spaces[i];
	}
	MUST(command->space && command->space->subsystem == controller->subsystem);
	MUST(command->space->namespace.nsid == get(command->capsule + SQE_NSID, 4));
	command->space->under_way++;
}

static void end_io_queues(struct nvmf_play *play, const struct nvmf_controller *controller)
{
	for (uint32_t i = 1; i < NVMF_QUEUES_MAX; i++) {
		if (controller->queues[i])
			play_close(play, play_slot(play, controller->queues[i]), 0);
	}
}

static void take(struct nvmf_play *play, struct play_command *command, enum nvmf_step step)
{
	switch (step) {
	case NVMF_FETCH:
		check_data(play, command, false);
		command->stage = PLAY_FETCH;
		break;
	case NVMF_GIVE:
		check_data(play, command, true);
		command->stage = PLAY_GIVE;
		break;
	case NVMF_BLOCK:
		check_block(command);
		if (command->command.block.op == NVMF_BLOCK_READ)
			check_data(play, command, true);
		command->stage = PLAY_BLOCK;
		break;
	case NVMF_HOLD:
		MUST(command->slot->queue.qid == 0);
		command->stage = PLAY_HELD;
		break;
	case NVMF_RESET:
		MUST(command->slot->queue.qid == 0 && command->command.status == NVME_OK);
		end_io_queues(play, command->slot->queue.controller);
		answer(play, command);
		break;
	case NVMF_ANSWER:
		release(command);
		answer(play, command);
		break;
	case NVMF_DROP:
		MUST(command->capsule_bytes < NVME_SQE_BYTES);
		play->dropped++;
		leave(command);
		play_close(play, command->slot, 0);
		break;
	}
}

static void put_connect_data(struct nvmf_play *play, const struct play_queue *slot, uint8_t choice, uint8_t *data)
{
	memset(data, 0, NVME_CONNECT_BYTES);
	data[0] = 1; /* of both: the name has to tell them apart */
	put(data + 16, 2, slot->queue.qid == 0 ? NVME_CNTLID_ANY : slot->cntlid);
	strcpy((char *)data + 256, subsystems[slot->subsystem]);
	strcpy((char *)data + 512, hosts[slot->host]);
	if (choice & 1) {
		uint32_t at = input_bytes(&play->input, 2) % NVME_CONNECT_BYTES;

		data[at] = input_byte(&play->input);
	}
	if (choice & 2) /* a text without an end */
		memset(data + 256, 'x', 512);
}

/* What the store is given, or what the command says. */
static void fill(struct nvmf_play *play, const struct play_command *command, uint8_t choice, uint8_t *data)
{
	uint32_t bytes = command->command.data_bytes;

	memset(data, 0, bytes);
	if (command->command.opcode == NVME_FABRICS) {
		put_connect_data(play, command->slot, choice, data);
		return;
	}
	for (uint32_t i = 0; i + 16 <= bytes && i < 64; i += 16) { /* ranges, if it is about such */
		data[i + 4] = input_byte(&play->input) & 15;
		data[i + 8] = input_byte(&play->input) & 15;
		if (choice & 1)
			data[i + 15] = input_byte(&play->input);
	}
}

static void fetched(struct nvmf_play *play, struct play_command *command, uint8_t choice)
{
	static uint8_t bytes[EXACT_MAX_BYTES];
	bool had = command->slot->queue.controller != NULL;
	struct play_queue *slot = command->slot;
	enum nvmf_step step;
	uint8_t *data;

	fill(play, command, choice, bytes);
	data = exact_take(bytes, command->command.data_bytes);
	step = nvmf_command_fetched(&command->command, data, play->now_ns);
	MUST(step == NVMF_BLOCK || step == NVMF_ANSWER);
	if (step == NVMF_BLOCK && command->command.block.op == NVMF_BLOCK_DEALLOCATE)
		check_ranges(command, data);
	exact_give_back(data);
	if (!had && slot->queue.controller) {
		const struct nvmf_controller *controller = slot->queue.controller;

		MUST(command->command.opcode == NVME_FABRICS && command->command.status == NVME_OK);
		MUST(strcmp(controller->host_nqn, (const char *)bytes + 512) == 0);
		slot->host = strcmp(controller->host_nqn, hosts[0]) != 0;
		slot->size = (uint32_t)get(command->capsule + 44, 2) + 1;
		slot->head = 1;
		slot->no_flow_control = command->capsule[46] & 4;
		MUST(slot->size >= 2 && slot->size <= slot->queue.room);
	}
	take(play, command, step);
}

void play_go_on(struct nvmf_play *play, struct play_command *command, uint8_t choice)
{
	static const uint16_t statuses[] = { NVME_OK, NVME_OK, NVME_WRITE_FAULT, NVME_COMPARE_FAILURE };
	static const uint8_t zeros[EXACT_MAX_BYTES];
	uint8_t *data;

	if (command->stage == PLAY_FREE || command->stage == PLAY_HELD)
		return;
	if (command->stage == PLAY_ORPHAN) {
		nvmf_command_forget(&command->command);
		release(command);
		leave(command);
		return;
	}
	if (choice & 4 && command->stage != PLAY_BLOCK) {
		nvmf_command_fail(&command->command, NVME_DATA_TRANSFER_ERROR);
		take(play, command, NVMF_ANSWER);
		return;
	}
	switch (command->stage) {
	case PLAY_FETCH:
		fetched(play, command, choice);
		return;
	case PLAY_GIVE:
		data = exact_take(zeros, command->command.data_bytes);
		nvmf_command_give(&command->command, data);
		exact_give_back(data);
		break;
	default:
		nvmf_command_done(&command->command, statuses[choice & 3]);
		if (choice & 4)
			nvmf_command_fail(&command->command, NVME_DATA_TRANSFER_ERROR);
		break;
	}
	take(play, command, NVMF_ANSWER);
}

void play_tell(struct nvmf_play *play)
{
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		struct nvmf_controller *controller = play->target.controllers[i];
		struct nvmf_command *own;

		while (controller) {
			uint16_t status = controller->aborted_count ? NVME_ABORTED : NVME_OK;
			struct play_command *command;

			own = nvmf_event_next(controller);
			if (own == NULL)
				break;
			command = (struct play_command *)own;
			MUST(command->stage == PLAY_HELD && command->slot->queue.controller == controller);
			MUST(own->status == status && (status != NVME_OK || (own->result & 7) == 2));
			answer(play, command);
		}
	}
}

/* ---- capsules ---- */

static void put_blocks(struct nvmf_play *play, uint8_t *sqe, uint8_t opcode, uint32_t *bytes)
{
	uint8_t which = input_byte(&play->input), count = which >> 2 & 15;
	const struct play_space *space = &play->spaces[which % PLAY_SPACES];

	sqe[0] = opcode;
	put(sqe + 4, 4, space->subsystem ? space->namespace.nsid : which & 3u);
	put(sqe + 40, 8, which >> 6 & 2);
	put(sqe + 48, 4, (uint32_t)count | (which & 1 ? 1u << 30 : 0) | (which & 2 ? 1u << 25 : 0));
	*bytes = (count + 1u) * (space->namespace.block_bytes ? space->namespace.block_bytes : 512);
	if (opcode == NVME_FLUSH || opcode == NVME_WRITE_ZEROES)
		*bytes = 0;
	if (opcode == NVME_DATASET_MANAGEMENT) {
		put(sqe + 40, 8, count);
		put(sqe + 44, 4, which & 1 ? 4 : 0);
		*bytes = 16 * (count + 1u);
	}
}

static void put_page(struct nvmf_play *play, uint8_t *sqe, uint8_t kind, uint32_t *bytes)
{
	static const uint8_t logs[] = { 1, 2, 3, 4, 5, 0x70, 0x70, 4 };
	uint8_t which = input_byte(&play->input);

	if (kind == PLAY_IDENTIFY) {
		sqe[0] = NVME_IDENTIFY;
		sqe[40] = which & 15;
		put(sqe + 4, 4, which >> 4);
		*bytes = NVME_PAGE_BYTES;
		return;
	}
	sqe[0] = NVME_GET_LOG_PAGE;
	sqe[40] = logs[which & 7];
	sqe[41] = which & 8 ? 0x80 : 0;
	*bytes = 4 * (1 + input_bytes(&play->input, 2) % 2048u);
	put(sqe + 42, 2, *bytes / 4 - 1);
	put(sqe + 48, 8, 4 * (which >> 4) * (which >> 4));
}

static void put_feature(struct nvmf_play *play, uint8_t *sqe, uint8_t kind, uint32_t *bytes)
{
	static const uint8_t features[] = { 0x06, 0x07, 0x0B, 0x0B, 0x0F, 0x16, 0x81, 0x02 };
	uint8_t which = input_byte(&play->input);

	sqe[0] = kind == PLAY_SET_FEATURE ? NVME_SET_FEATURES : NVME_GET_FEATURES;
	sqe[40] = features[which & 7];
	put(sqe + 44, 4, sqe[40] == 0x0B ? (which & 8 ? 0x80000100 : 0) : sqe[40] == 0x0F ? which * 100u : which >> 3);
	*bytes = sqe[40] == 0x16 ? 512 : sqe[40] == 0x81 ? 16 : 0;
}

static void put_property(struct nvmf_play *play, uint8_t *sqe, uint8_t kind)
{
	static const uint32_t values[] = { 0x460001, 0x460000, 0x464001, 0x470001, 0x468001, 0x460011, 0, 1 };
	static const uint8_t offsets[] = { 0, 8, 0x14, 0x1C };
	uint8_t which = kind == PLAY_ENABLE ? 0 : input_byte(&play->input);

	sqe[0] = NVME_FABRICS;
	sqe[4] = kind == PLAY_GET_PROPERTY ? NVME_PROPERTY_GET : NVME_PROPERTY_SET;
	put(sqe + 44, 4, kind == PLAY_GET_PROPERTY ? offsets[which & 3] : NVME_CC);
	sqe[40] = kind == PLAY_GET_PROPERTY && (which & 3) == 0;
	if (kind != PLAY_GET_PROPERTY)
		put(sqe + 48, 4, values[which & 7]);
}

static void put_command(struct nvmf_play *play, const struct play_queue *slot, uint8_t kind, uint8_t *sqe,
			uint32_t *bytes)
{
	static const uint8_t opcodes[] = { NVME_READ,         NVME_WRITE, NVME_COMPARE,
					   NVME_WRITE_ZEROES, NVME_FLUSH, NVME_DATASET_MANAGEMENT };

	switch (kind) {
	case PLAY_CONNECT:
		sqe[0] = NVME_FABRICS;
		sqe[4] = NVME_CONNECT;
		put(sqe + 42, 2, slot->queue.qid);
		put(sqe + 44, 2, slot->queue.room - 1);
		put(sqe + 48, 4, 5000);
		*bytes = NVME_CONNECT_BYTES;
		break;
	case PLAY_ENABLE:
	case PLAY_SET_CC:
	case PLAY_GET_PROPERTY:
		put_property(play, sqe, kind);
		break;
	case PLAY_IDENTIFY:
	case PLAY_LOG:
		put_page(play, sqe, kind, bytes);
		break;
	case PLAY_SET_FEATURE:
	case PLAY_GET_FEATURE:
		put_feature(play, sqe, kind, bytes);
		break;
	case PLAY_EVENT:
		sqe[0] = NVME_ASYNC_EVENT;
		break;
	case PLAY_KEEP_ALIVE:
		sqe[0] = NVME_KEEP_ALIVE;
		break;
	default:
		put_blocks(play, sqe, opcodes[kind - PLAY_READ], bytes);
		break;
	}
}

/* An entry as a host makes it, then bytes of it that the input names. Returns the length of the capsule. */
static uint32_t make_capsule(struct nvmf_play *play, const struct play_queue *slot, uint8_t kind, bool changed,
			     uint8_t *sqe)
{
	uint32_t bytes = 0, length = NVME_SQE_BYTES;
	uint8_t changes;

	memset(sqe, 0, NVME_SQE_BYTES);
	sqe[1] = 0x40;
	put(sqe + 2, 2, play->begun * 257);
	put_command(play, slot, kind % PLAY_KINDS, sqe, &bytes);
	put(sqe + 24, 8, bytes ? 0x1000 : 0);
	put(sqe + 32, 3, bytes);
	put(sqe + 35, 4, bytes ? 0x12345678 : 0);
	sqe[39] = bytes ? 0x4F : 0x40;
	if (!changed)
		return length;
	changes = input_byte(&play->input);
	if (changes & 0x80) {
		put(sqe + 24, 8, changes >> 4 & 4);
		put(sqe + 32, 7, bytes);
		sqe[39] = 0x01;
		length += bytes + (changes >> 5 & 1 ? 4 : 0);
	}
	for (uint32_t i = 0; i < (changes & 15u); i++) {
		uint8_t at = input_byte(&play->input);

		if (at == NVME_SQE_BYTES)
			length = input_byte(&play->input);
		else
			sqe[at % NVME_SQE_BYTES] = input_byte(&play->input);
	}
	return length;
}

struct play_command *play_newest(struct nvmf_play *play)
{
	return &play->commands[play->newest];
}

void play_say(struct nvmf_play *play, struct play_queue *slot, uint8_t kind, bool changed)
{
	uint8_t sqe[NVME_SQE_BYTES];
	struct play_command *command = NULL;
	enum nvmf_step step;

	for (uint32_t i = 0; i < PLAY_COMMANDS && command == NULL; i++) {
		if (play->commands[i].stage != PLAY_FREE)
			continue;
		command = &play->commands[i];
		play->newest = i;
	}
	if (command == NULL)
		return;
	command->slot = slot;
	command->capsule_bytes = make_capsule(play, slot, kind, changed, sqe);
	/* Its exact length, so that a byte too far is seen; data behind the entry is not read from here. */
	command->capsule = malloc(NVME_SQE_BYTES);
	MUST(command->capsule);
	memcpy(command->capsule, sqe, NVME_SQE_BYTES);
	memset(&command->command, 0xEE, sizeof(command->command));
	if (!slot->no_flow_control)
		slot->head = (slot->head + 1) % slot->size;
	play->begun++;
	step = nvmf_command_begin(&command->command, &slot->queue, command->capsule, command->capsule_bytes,
				  play->now_ns);
	find_space(play, command);
	take(play, command, step);
}

/* ---- queues ---- */

void play_open(struct nvmf_play *play, struct play_queue *slot, const struct nvmf_hello *hello)
{
	nvmf_queue_open(&slot->queue, &play->target, hello);
	slot->open = true;
	slot->size = hello->commands;
	slot->head = 0;
	slot->no_flow_control = false;
}

struct play_queue *play_slot(struct nvmf_play *play, const struct nvmf_queue *queue)
{
	struct play_queue *slot = (struct play_queue *)(uintptr_t)queue;

	MUST(slot >= play->queues && slot < play->queues + PLAY_QUEUES && slot->open);
	return slot;
}

static void forget_all(struct nvmf_play *play, const struct play_queue *slot, bool store_works)
{
	for (uint32_t i = 0; i < PLAY_COMMANDS; i++) {
		struct play_command *command = &play->commands[i];

		if (command->stage == PLAY_FREE || command->stage == PLAY_ORPHAN || command->slot != slot)
			continue;
		play->forgotten++;
		if (command->stage == PLAY_BLOCK && store_works) {
			command->stage = PLAY_ORPHAN;
			continue;
		}
		if (command->stage != PLAY_HELD)
			nvmf_command_forget(&command->command);
		release(command);
		leave(command);
	}
}

void play_close(struct nvmf_play *play, struct play_queue *slot, uint8_t choice)
{
	if (choice & 1)
		forget_all(play, slot, choice & 2);
	nvmf_queue_close(&slot->queue);
	if (!(choice & 1))
		forget_all(play, slot, choice & 2);
	slot->open = false;
}

/* ---- the whole ---- */

void play_start(struct nvmf_play *play)
{
	uint8_t choice = input_byte(&play->input);
	struct nvmf_config config = {
		.queue_depth = choice & 1 ? 4 : 16,
		.io_queues = choice & 2 ? 1 : 4,
		.in_capsule_bytes = 4096,
		.max_data_bytes = choice & 4 ? 4096 : 8192,
	};

	memset(play->subsystems, 0, sizeof(play->subsystems));
	memset(play->spaces, 0, sizeof(play->spaces));
	memset(play->queues, 0, sizeof(play->queues));
	memset(play->commands, 0, sizeof(play->commands));
	play->now_ns = play->begun = play->answered = play->dropped = play->forgotten = play->newest = 0;
	MUST(nvmf_target_init(&play->target, &config) == 0);
	for (uint32_t i = 0; i < 2; i++) {
		strcpy(play->subsystems[i].nqn, subsystems[i]);
		MUST(nvmf_target_add_subsystem(&play->target, &play->subsystems[i]) == 0);
	}
	strcpy(play->subsystems[0].hosts[0], hosts[0]);
	play->subsystems[0].host_count = 1;
}

void play_end(struct nvmf_play *play)
{
	for (uint32_t i = 0; i < PLAY_QUEUES; i++) {
		if (play->queues[i].open)
			play_close(play, &play->queues[i], 2);
	}
	for (uint32_t i = 0; i < PLAY_COMMANDS; i++)
		play_go_on(play, &play->commands[i], 0);
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++)
		MUST(play->target.controllers[i] == NULL);
	for (uint32_t i = 0; i < PLAY_SPACES; i++)
		MUST(nvmf_namespace_under_way(&play->spaces[i].namespace) == 0);
	play_check(play);
	nvmf_target_free(&play->target);
}
