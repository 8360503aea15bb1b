/* target.h - subsystems, where they are reached, and the controllers of their hosts */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An NVMe over fabrics target without I/O, clock or transport. Its host:
 *   1. nvmf_target_init(), nvmf_target_add_subsystem(), nvmf_subsystem_add() (change.h): what there is
 *   2. for each connection of a queue nvmf_hello_parse() (hello.h), nvmf_queue_open() (controller.h)
 *   3. for each capsule nvmf_command_begin() (command.h), which says what is to be done next
 *   4. nvmf_controller_expired() now and then; nvmf_event_next() (event.h) after a change
 * What a namespace keeps its blocks in is the host's.
 *
 * Several threads may serve queues at a time, each queue one thread, whose number its `thread` is. All calls of this
 * library may be made by any thread; commands about blocks take no lock, the others nvmf_target_lock(), which a host
 * takes, too, while it looks at controllers or at their queues.
 */
#ifndef NVMF_TARGET_H
#define NVMF_TARGET_H

#include <pthread.h>

#include "nvmf/subsystem.h"

#define NVMF_SUBSYSTEMS_MAX 32u
#define NVMF_ADDRESSES_MAX 16u
#define NVMF_CONTROLLERS_MAX 256u
#define NVMF_QUEUES_MAX 129u /* of a controller, with its admin queue */
#define NVMF_HELD_MAX 4u     /* Async Event Requests that wait */
#define NVMF_ERRORS_MAX 16u  /* that a controller remembers */
#define NVMF_TEXT_BYTES 64u

struct nvmf_controller;

/* Where the target is reached, as discovery tells it. */
struct nvmf_address {
	enum nvme_family family;
	char address[NVMF_TEXT_BYTES], service[32];
	uint16_t port_id;
};

struct nvmf_config {
	uint32_t queue_depth;      /* 2 ... 1024: commands of an I/O queue; 0: 128 */
	uint32_t io_queues;        /* 1 ... 128 a controller; 0: 128 */
	uint32_t in_capsule_bytes; /* a multiple of 16 up to 16384 */
	uint32_t max_data_bytes;   /* of a command: 4096 x 2^n, up to 1 MiB; 0: 1 MiB */
	uint16_t first_cntlid;     /* 1 ... FFEFh: of the first controller; 0: 1. Those of two targets should differ */
};

struct nvmf_target {
	struct nvmf_config config;
	struct nvmf_subsystem *subsystems[NVMF_SUBSYSTEMS_MAX];
	uint32_t subsystem_count;
	struct nvmf_address addresses[NVMF_ADDRESSES_MAX];
	uint32_t address_count;
	uint64_t discovery_generation;
	struct nvmf_controller *controllers[NVMF_CONTROLLERS_MAX]; /* each at the place of its id, see controller.c */
	uint16_t last_cntlid;
	pthread_mutex_t lock;
};

/* 0; -EINVAL: a value out of range. */
int nvmf_target_init(struct nvmf_target *target, const struct nvmf_config *config);
/* All queues have been closed. */
void nvmf_target_free(struct nvmf_target *target);
/* Who has it may take it again. */
void nvmf_target_lock(struct nvmf_target *target);
void nvmf_target_unlock(struct nvmf_target *target);

struct nvmf_subsystem *nvmf_target_find(const struct nvmf_target *target, const char *nqn);

#endif
