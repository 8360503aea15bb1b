/* controller.h - what a host sees of a subsystem: its properties, its queues, what it is told of */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_CONTROLLER_H
#define NVMF_CONTROLLER_H

#include "nvmf/hello.h"
#include "nvmf/target.h"

#define NVMF_FOREVER UINT64_MAX
#define NVMF_SET_WORDS (NVMF_NAMESPACES_MAX / 32)

struct nvmf_command;

/* Of nsids. */
typedef _Atomic uint32_t nvmf_set[NVMF_SET_WORDS];

/* A queue pair of a host: the first command has to be a Connect. */
struct nvmf_queue {
	struct nvmf_target *target;
	struct nvmf_controller *controller; /* NULL before Connect */
	uint16_t qid;
	uint16_t sq_head;
	uint32_t room; /* commands that the host may have under way: of the connection */
	uint32_t size; /* of Connect; the same before */
	bool no_flow_control;
	void *context;   /* the host's */
	uint32_t thread; /* which one serves it: below NVMF_THREADS_MAX, by itself 0 */
};

/* A command that its store could not carry out. */
struct nvmf_error {
	uint16_t qid, cid, status;
	uint32_t nsid;
	uint64_t block;
};

/* The queues of a controller share heard_ns, so it is not written with each command. */
#define NVMF_HEARD_STEP_NS 100000000u

struct nvmf_controller {
	struct nvmf_target *target;
	const struct nvmf_subsystem *subsystem; /* NULL: discovery */
	char host_nqn[NVME_NQN_BYTES];
	uint8_t host_id[16];
	uint16_t cntlid;
	uint32_t cc;
	_Atomic uint32_t csts;
	uint32_t keep_alive_ms;
	uint64_t deadline_ns; /* NVMF_FOREVER: none */
	_Atomic uint64_t
		heard_ns; /* of the last command on any queue, to NVMF_HEARD_STEP_NS; 0: none since Keep Alive */
	_Atomic bool write_cache; /* the host may flush; else each write lasts when it is done */
	/* Features that change nothing here and are what the host has set. */
	uint32_t arbitration, power, thresholds[2], error_recovery, atomicity;
	uint32_t events_wanted, events_told, events_due;
	struct nvmf_command *held[NVMF_HELD_MAX];
	uint32_t held_count;
	uint32_t aborted_count; /* of the oldest held ones, that a reset has aborted */
	nvmf_set changed;       /* to be listed in the log page */
	nvmf_set identified;    /* the host has read what they are */
	nvmf_set gone;          /* it has read that, and not yet that they are there no more */
	uint64_t error_count;   /* of all; the newest are kept, each at its number's place */
	struct nvmf_error errors[NVMF_ERRORS_MAX];
	struct nvmf_queue *queues[NVMF_QUEUES_MAX];
	uint32_t queue_count;
};

static inline bool nvmf_set_has(const nvmf_set set, uint32_t nsid)
{
	return set[(nsid - 1) / 32] >> (nsid - 1) % 32 & 1;
}

static inline void nvmf_set_put(nvmf_set set, uint32_t nsid, bool member)
{
	uint32_t bit = 1u << (nsid - 1) % 32;

	set[(nsid - 1) / 32] = member ? set[(nsid - 1) / 32] | bit : set[(nsid - 1) / 32] & ~bit;
}

void nvmf_queue_open(struct nvmf_queue *queue, struct nvmf_target *target, const struct nvmf_hello *hello);
/*
 * Its connection has gone. With the admin queue goes the controller: its other queues are to be closed then, see
 * nvmf_controller_queue(). It is let go of with the last one. Commands that are held are forgotten. By the thread that
 * serves it.
 */
void nvmf_queue_close(struct nvmf_queue *queue);
/* Any queue that is still open; NULL: none. */
struct nvmf_queue *nvmf_controller_queue(const struct nvmf_controller *controller);

/* Of a new controller; NULL: no room or no memory. */
struct nvmf_controller *nvmf_controller_create(struct nvmf_target *target, const struct nvmf_subsystem *subsystem);
/* NULL: none of the target has this id. */
struct nvmf_controller *nvmf_controller_find(const struct nvmf_target *target, uint16_t cntlid);
void nvmf_controller_attach(struct nvmf_controller *controller, struct nvmf_queue *queue);
bool nvmf_controller_is_ready(const struct nvmf_controller *controller);
/* Of Connect. A host sends its first Keep Alive when all its queues are there, which takes as long as it takes. */
void nvmf_controller_greet(struct nvmf_controller *controller, uint64_t now_ns);
/* Of Keep Alive: from now on the host has the time that it named. */
void nvmf_controller_hear(struct nvmf_controller *controller, uint64_t now_ns);
uint64_t nvmf_controller_cap(const struct nvmf_controller *controller);
/* Those of I/O queues, which a host may set any time before it makes one: discovery has none. */
bool nvmf_controller_has_entry_sizes(const struct nvmf_controller *controller);
void nvmf_controller_set_cc(struct nvmf_controller *controller, uint32_t cc);
/* Something is new about this namespace: the host is told to look. */
void nvmf_controller_change(struct nvmf_controller *controller, uint32_t nsid);
/* The namespace is gone. */
void nvmf_controller_lose(struct nvmf_controller *controller, uint32_t nsid);
/* The host has read what there is with numbers above this one. */
void nvmf_controller_list(struct nvmf_controller *controller, uint32_t above);
/* Something has happened that this bit of feature 0Bh is about. */
void nvmf_controller_raise(struct nvmf_controller *controller, uint32_t event);
/* The host has read the page of the event, and is told of what comes later. */
void nvmf_controller_read(struct nvmf_controller *controller, uint32_t event);
/*
 * A controller whose host has sent no command for its keep-alive time; its queues are to be closed. Each is named once.
 * NULL: none. Whoever asks has the lock, and is the thread that serves the admin queue: only it knows whether a Keep
 * Alive lies unread. now_ns is of the clock that its commands began with.
 */
struct nvmf_controller *nvmf_controller_expired(struct nvmf_target *target, uint32_t thread, uint64_t now_ns);

#endif
