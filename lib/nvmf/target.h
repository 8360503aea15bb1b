/* target.h - subsystems, their namespaces, the hosts that may see them, and where they are reached */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An NVMe over fabrics target without I/O, clock or transport. Its host:
 *   1. nvmf_target_init(), nvmf_target_add_subsystem(), nvmf_subsystem_add(): what there is
 *   2. for each connection of a queue nvmf_hello_parse() (hello.h), nvmf_queue_open() (controller.h)
 *   3. for each capsule nvmf_command_begin() (command.h), which says what is to be done next
 *   4. nvmf_target_expired() now and then; nvmf_controller_next_event() after a change
 * What a namespace keeps its blocks in is the host's.
 *
 * Several threads may serve queues at a time, each queue one thread, whose number its `thread` is. All calls of this
 * library may be made by any thread; commands about blocks take no lock, the others nvmf_target_lock(), which a host
 * takes, too, while it looks at controllers or at their queues.
 */
#ifndef NVMF_TARGET_H
#define NVMF_TARGET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "nvmf/nvme.h"

#define NVMF_SUBSYSTEMS_MAX 32u
#define NVMF_NAMESPACES_MAX 128u /* of a subsystem: nsid 1 ... */
#define NVMF_HOSTS_MAX 32u
#define NVMF_ADDRESSES_MAX 16u
#define NVMF_CONTROLLERS_MAX 256u
#define NVMF_QUEUES_MAX 129u /* of a controller, with its admin queue */
#define NVMF_HELD_MAX 4u     /* Async Event Requests that wait */
#define NVMF_ERRORS_MAX 16u  /* that a controller remembers */
#define NVMF_TEXT_BYTES 64u
#define NVMF_THREADS_MAX 16u

struct nvmf_controller;

/* Since a namespace was added; of those that were removed the subsystem keeps them. */
struct nvmf_counts {
	uint64_t reads, writes, flushes, read_bytes, written_bytes;
	uint64_t read_errors, write_errors, flush_errors;
	uint64_t media_errors; /* those of them that the medium has to do with */
};

void nvmf_counts_add(struct nvmf_counts *sum, const struct nvmf_counts *counts);

/* What the commands of one thread add to: only that one writes, so that none waits for the others. */
struct nvmf_share {
	_Atomic uint32_t under_way; /* commands that use the namespace */
	struct nvmf_counts counts;
	uint8_t apart[128]; /* from the next one, which is in other cache lines */
};

struct nvmf_namespace {
	uint32_t nsid;
	uint32_t block_bytes; /* 512 or 4096 */
	_Atomic uint64_t blocks;
	uint8_t uuid[16], nguid[16];
	bool read_only;
	bool is_new; /* a host may know another one by its number: it changes nothing before it has read what this is */
	void *store; /* the host's */
	bool degraded;                /* no flush succeeds any more */
	_Atomic uint64_t used_blocks; /* of a thin store; 0: it is none */
	struct nvmf_share shares[NVMF_THREADS_MAX];
};

/* Commands that use it, of all threads. */
uint32_t nvmf_namespace_under_way(const struct nvmf_namespace *namespace);
struct nvmf_counts nvmf_namespace_counts(const struct nvmf_namespace *namespace);

struct nvmf_subsystem {
	char nqn[NVME_NQN_BYTES];
	char serial[21], model[41];
	/* That of nsid 1 first; NULL: there is none. */
	struct nvmf_namespace *_Atomic namespaces[NVMF_NAMESPACES_MAX];
	char hosts[NVMF_HOSTS_MAX][NVME_NQN_BYTES];
	uint32_t host_count; /* 0: any host may come */
	struct nvmf_counts past;
};

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

/* The target keeps the pointer. 0; -EINVAL: no NQN; -EEXIST; -ENOSPC. */
int nvmf_target_add_subsystem(struct nvmf_target *target, struct nvmf_subsystem *subsystem);
int nvmf_target_add_address(struct nvmf_target *target, const struct nvmf_address *address);
struct nvmf_subsystem *nvmf_target_find(const struct nvmf_target *target, const char *nqn);

/*
 * Hosts are told of each of these. The subsystem keeps the pointer until nvmf_subsystem_remove(); the namespace may go
 * when none of its commands is under way, and each thread has left what it was in when it was removed. nsid 0: the
 * first that is free. 0; -EINVAL: a value; -EEXIST; -ENOSPC; -EBUSY: a host knows another one by this number, and has
 * not yet read that it is gone.
 */
int nvmf_subsystem_add(struct nvmf_target *target, struct nvmf_subsystem *subsystem, struct nvmf_namespace *namespace);
int nvmf_subsystem_remove(struct nvmf_target *target, struct nvmf_subsystem *subsystem, uint32_t nsid);
/* Its size has changed. */
void nvmf_subsystem_changed(struct nvmf_target *target, const struct nvmf_subsystem *subsystem, uint32_t nsid);
/* No flush of this namespace succeeds any more: hosts are told that their disk is not reliable. */
void nvmf_subsystem_degrade(struct nvmf_target *target, const struct nvmf_subsystem *subsystem, uint32_t nsid);
/* NULL: there is none. */
struct nvmf_namespace *nvmf_subsystem_find(const struct nvmf_subsystem *subsystem, uint32_t nsid);
bool nvmf_subsystem_admits(const struct nvmf_subsystem *subsystem, const char *host_nqn);

/* "nqn.2016-06.org.example:disk1": as the base specification wants them. */
bool nvmf_nqn_is_valid(const char *nqn);

/*
 * A controller whose host has not been heard for its keep-alive time; its queues are to be closed. Each is named once.
 * NULL: none. Whoever asks has the lock, and is the thread that serves the admin queue: only it knows whether a Keep
 * Alive lies unread. now_ns is of the clock that its commands began with.
 */
struct nvmf_controller *nvmf_target_expired(struct nvmf_target *target, uint32_t thread, uint64_t now_ns);

#endif
