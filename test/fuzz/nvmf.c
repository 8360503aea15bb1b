/* nvmf.c - fuzz target: an NVMe target, its queues, what hosts say on them, its store, namespaces that come and go */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The input says which queue is opened or closed, which capsule comes (made up, mostly in order, some of it changed),
 * when data arrives and the store is done, and when time goes on. What is under way is also kept in a list here, and
 * the two have to agree. See test/fuzz/nvmf_play.h for the parts.
 */
#include "nvmf/change.h"
#include "nvmf_play.h"

#include <stdlib.h>
#include <string.h>

static struct nvmf_play play;

/* Is it closed, and has the store no command of it any more? Until then its memory is in use. */
static bool is_free(const struct play_queue *slot)
{
	for (uint32_t i = 0; i < PLAY_COMMANDS; i++) {
		if (play.commands[i].stage == PLAY_ORPHAN && play.commands[i].slot == slot)
			return false;
	}
	return !slot->open;
}

static void open_queue(uint8_t choice)
{
	struct play_queue *slot = &play.queues[choice % PLAY_QUEUES];
	struct nvmf_hello hello = { .responses = 4 };

	if (!is_free(slot))
		return;
	hello.qid = choice >> 3 & 3;
	hello.commands = 2 + (choice >> 5);
	slot->host = choice >> 5 & 1;
	slot->subsystem = choice >> 6 & 1;
	slot->cntlid = 1 + (choice >> 7);
	play_open(&play, slot, &hello);
}

/* An admin queue whose controller is ready, and a queue of it: what hosts do first. */
static void log_in(uint8_t choice)
{
	struct play_queue *slot = &play.queues[choice % PLAY_QUEUES];
	struct nvmf_hello hello = { .commands = 8, .responses = 8 };

	if (!is_free(slot))
		return;
	slot->host = choice >> 3 & 1;
	slot->subsystem = (choice >> 4) % 3;
	play_open(&play, slot, &hello);
	play_say(&play, slot, PLAY_CONNECT, 0);
	play_go_on(&play, play_newest(&play), 0);
	if (slot->queue.controller)
		play_say(&play, slot, PLAY_ENABLE, 0);
}

static void join(uint8_t choice)
{
	struct play_queue *slot = &play.queues[choice % PLAY_QUEUES], *admin = &play.queues[choice >> 3 & 7];
	struct nvmf_hello hello = { .qid = 1 + (choice >> 6), .commands = 8, .responses = 8 };

	if (!is_free(slot) || !admin->open || admin->queue.controller == NULL)
		return;
	slot->host = admin->host;
	slot->subsystem = admin->subsystem;
	play_open(&play, slot, &hello);
	slot->cntlid = admin->queue.controller->cntlid;
	play_say(&play, slot, PLAY_CONNECT, 0);
	play_go_on(&play, play_newest(&play), 0);
}

static void change_namespace(uint8_t choice)
{
	struct nvmf_subsystem *subsystem = &play.subsystems[choice >> 6 & 1];
	struct play_space *space = &play.spaces[choice % PLAY_SPACES];

	if (space->subsystem && (choice & 8)) {
		nvmf_subsystem_changed(&play.target, space->subsystem, space->namespace.nsid);
	} else if (space->subsystem) {
		MUST(nvmf_subsystem_remove(&play.target, space->subsystem, space->namespace.nsid) == 0);
		space->subsystem = NULL;
	} else if (space->under_way == 0) { /* else the store is not done with it */
		space->namespace.nsid = choice >> 4 & 3;
		space->namespace.block_bytes = choice & 8 ? 4096 : 512;
		space->namespace.blocks = 1 + choice % 16u;
		space->namespace.read_only = choice >> 3 & 2;
		if (nvmf_subsystem_add(&play.target, subsystem, &space->namespace) == 0)
			space->subsystem = subsystem;
	}
}

static void pass_time(uint8_t choice)
{
	struct nvmf_controller *controller;

	play.now_ns += choice * 100000000ull;
	while ((controller = nvmf_controller_expired(&play.target, 0, play.now_ns)) != NULL) {
		uint16_t cntlid = controller->cntlid;

		while (nvmf_controller_find(&play.target, cntlid) == controller)
			play_close(&play, play_slot(&play, nvmf_controller_queue(controller)), choice & 1);
	}
}

static void add_to_discovery(void)
{
	struct nvmf_address address = { NVME_FAMILY_IPV4, "192.0.2.1", "4420", 1 };

	nvmf_target_add_address(&play.target, &address);
}

static void take_step(void)
{
	uint8_t what = input_byte(&play.input) & 15, choice = input_byte(&play.input);
	struct play_queue *slot = &play.queues[choice % PLAY_QUEUES];

	switch (what) {
	case 0:
		open_queue(choice);
		break;
	case 1:
		if (slot->open)
			play_close(&play, slot, choice >> 3);
		break;
	case 2:
		log_in(choice);
		break;
	case 3:
		join(choice);
		break;
	case 4:
		change_namespace(choice);
		break;
	case 5:
		pass_time(choice);
		break;
	case 6:
		play_tell(&play);
		break;
	case 7:
		add_to_discovery();
		break;
	case 8:
	case 9:
	case 10:
		play_go_on(&play, &play.commands[choice % PLAY_COMMANDS], choice >> 5);
		break;
	default:
		if (slot->open)
			play_say(&play, slot, choice >> 3, what == 15);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2 || size > 2048)
		return 0;
	play.input = (struct input){ data, data + size };
	play_start(&play);
	while (!input_is_over(&play.input)) {
		take_step();
		play_check(&play);
	}
	play_end(&play);
	return 0;
}
