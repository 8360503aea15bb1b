/* nvmf_play.h - an NVMe target as fuzz target nvmf plays it: queues, commands and namespaces, with a list of each */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUZZ_NVMF_PLAY_H
#define TEST_FUZZ_NVMF_PLAY_H

#include "input.h"
#include "nvmf/command.h"

#define PLAY_QUEUES 8u
#define PLAY_COMMANDS 32u
#define PLAY_SPACES 8u

/* What a capsule is made as; larger numbers come round. */
enum play_kind {
	PLAY_CONNECT,
	PLAY_ENABLE,
	PLAY_SET_CC,
	PLAY_GET_PROPERTY,
	PLAY_IDENTIFY,
	PLAY_LOG,
	PLAY_SET_FEATURE,
	PLAY_GET_FEATURE,
	PLAY_EVENT,
	PLAY_KEEP_ALIVE,
	PLAY_READ,
	PLAY_WRITE,
	PLAY_COMPARE,
	PLAY_ZERO,
	PLAY_FLUSH,
	PLAY_RANGES,
	PLAY_KINDS
};

struct play_queue {
	struct nvmf_queue queue;
	bool open, no_flow_control;
	uint8_t host, subsystem; /* whom and what its Connect names */
	uint16_t cntlid;
	uint32_t size, head;
};

struct play_space {
	struct nvmf_namespace namespace;
	struct nvmf_subsystem *subsystem; /* the one that the namespace is in now */
	uint32_t under_way;
};

enum play_stage { PLAY_FREE, PLAY_FETCH, PLAY_GIVE, PLAY_BLOCK, PLAY_HELD, PLAY_ORPHAN };

struct play_command {
	struct nvmf_command command;
	enum play_stage stage;
	struct play_queue *slot;
	struct play_space *space; /* NULL: it is about none */
	uint8_t *capsule;
	uint32_t capsule_bytes;
};

struct nvmf_play {
	struct input input;
	struct nvmf_target target;
	struct nvmf_subsystem subsystems[2]; /* the first is for host 0 only */
	struct play_space spaces[PLAY_SPACES];
	struct play_queue queues[PLAY_QUEUES];
	struct play_command commands[PLAY_COMMANDS];
	uint32_t newest;
	uint64_t now_ns;
	uint64_t begun, answered, dropped, forgotten;
};

void play_start(struct nvmf_play *play);
/* Closes what is open and ends what is under way; nothing may be left. */
void play_end(struct nvmf_play *play);
/* The lists here and those of the target agree. */
void play_check(const struct nvmf_play *play);

void play_open(struct nvmf_play *play, struct play_queue *slot, const struct nvmf_hello *hello);
/* choice: whether what is under way is forgotten before or after, and whether the store is still at work. */
void play_close(struct nvmf_play *play, struct play_queue *slot, uint8_t choice);
struct play_queue *play_slot(struct nvmf_play *play, const struct nvmf_queue *queue);

/* A capsule comes; changed: bytes of it are what the input says. */
void play_say(struct nvmf_play *play, struct play_queue *slot, uint8_t kind, bool changed);
struct play_command *play_newest(struct nvmf_play *play);
/* Its data has come, or the store is done, or that has failed. */
void play_go_on(struct nvmf_play *play, struct play_command *command, uint8_t choice);
/* Events that are due. */
void play_tell(struct nvmf_play *play);

#endif
