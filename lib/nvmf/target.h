/* target.h - a target: its subsystems, its addresses, and the controllers of its hosts */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An NVMe over fabrics target without I/O, clock or transport. The program around it calls:
 *   1. nvmf_target_init(), nvmf_target_add_subsystem(), nvmf_subsystem_add() (change.h) to set it up
 *   2. for each connection of a queue nvmf_hello_parse() (hello.h), nvmf_queue_open() (controller.h)
 *   3. for each capsule nvmf_command_begin() (command.h), which returns what to do next
 *   4. nvmf_controller_expired() now and then; nvmf_event_next() (event.h) after a change
 * That program stores the blocks of namespaces as it likes.
 *
 * Several threads may serve queues, each queue by one thread, whose number is nvmf_queue.thread. Any thread may make
 * any call. Commands about blocks take no lock, the other calls nvmf_target_lock(), which the program takes, too, while
 * it looks at controllers or their queues.
 */
#ifndef NVMF_TARGET_H
#define NVMF_TARGET_H

#include <pthread.h>

#include "nvmf/numbers.h"
#include "nvmf/subsystem.h"

#define NVMF_SUBSYSTEMS_MAX 32u
#define NVMF_ADDRESSES_MAX 16u
#define NVMF_CONTROLLERS_MAX 256u
#define NVMF_QUEUES_MAX 129u /* a controller's queues, with the admin queue */
#define NVMF_HELD_MAX 4u     /* Asynchronous Event Requests that a controller holds */
#define NVMF_ERRORS_MAX 16u  /* errors that a controller remembers */
#define NVMF_TEXT_BYTES 64u

struct nvmf_controller;

/* An address of the target, as the discovery page tells it. */
struct nvmf_address {
	enum nvme_family family;
	char address[NVMF_TEXT_BYTES], service[32];
	uint16_t port_id;
};

struct nvmf_config {
	uint32_t queue_depth;      /* commands of an I/O queue, 2 ... 1024; 0: 128 */
	uint32_t io_queues;        /* I/O queues of a controller, 1 ... 128; 0: 128 */
	uint32_t in_capsule_bytes; /* a multiple of 16 up to 16384 */
	uint32_t max_data_bytes;   /* data of a command: 4096 x 2^n, up to 1 MiB; 0: 1 MiB */
	/* id of the first controller, 1 ... FFEFh; 0: 1. Two targets should begin with different ids */
	uint16_t first_cntlid;
};

struct nvmf_target {
	struct nvmf_config config;
	struct nvmf_subsystem *subsystems[NVMF_SUBSYSTEMS_MAX];
	uint32_t subsystem_count;
	struct nvmf_address addresses[NVMF_ADDRESSES_MAX];
	uint32_t address_count;
	uint64_t discovery_generation;
	/* each at the entry for its controller id: see controller.c */
	struct nvmf_controller *controllers[NVMF_CONTROLLERS_MAX];
	uint16_t last_cntlid;
	struct nvmf_paths paths;
	pthread_mutex_t lock;
};

/* Returns 0, or -EINVAL: a value is out of range. */
int nvmf_target_init(struct nvmf_target *target, const struct nvmf_config *config);
/* All queues must have been closed. */
void nvmf_target_free(struct nvmf_target *target);
/* A thread that holds the lock may take it again. */
void nvmf_target_lock(struct nvmf_target *target);
void nvmf_target_unlock(struct nvmf_target *target);

struct nvmf_subsystem *nvmf_target_find(const struct nvmf_target *target, const char *nqn);

#endif
