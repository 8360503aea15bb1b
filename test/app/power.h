/* power.h - a store in a file above a simulated disk, whose cache is lost when its power is cut */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. power_open(): the disk, the store, a ring for each lcore that serves it, and a host that has joined
 *   2. power_begin() of what a host asks; ring_poll() lets the disk work, in any order, and tells an lcore what is done
 *   3. power_close()
 * The disk keeps every version of each block. What it logs is all that a power cut can be judged by.
 */
#ifndef TEST_POWER_H
#define TEST_POWER_H

#include <liburing.h>

#include "nvmet/store.h"
#include "nvmf_host.h"

#define POWER_BLOCKS 16u
#define POWER_BLOCK 512u
#define POWER_BYTES (POWER_BLOCKS * POWER_BLOCK)
#define POWER_VERSIONS 384u
#define POWER_TASKS 8u
#define POWER_LCORES 2u
#define POWER_OPS 16u
#define POWER_HISTORY 4096u
#define POWER_FORCED 8u
/* Forced results: no fault; no byte was moved. */
#define POWER_FINE INT32_MAX
#define POWER_NOTHING INT32_MIN

enum power_event_kind { DISK_WROTE, DISK_LASTS, TASK_BEGAN, TASK_ENDED };

/* WROTE, LASTS: a version of a block; BEGAN, ENDED: the task's number. */
struct power_event {
	enum power_event_kind kind;
	uint32_t number, version;
};

struct disk_block {
	uint8_t versions[POWER_VERSIONS][POWER_BLOCK];
	uint32_t count;   /* the last one is what is read */
	uint32_t lasting; /* what a power cut leaves at least; it may leave any later version, too */
	uint32_t told;    /* the last one whose work was told to be done */
	uint32_t lost;    /* versions before this one were forgotten by a sync that failed: no later sync writes them */
};

/* Chances per thousand. */
struct disk_faults {
	uint32_t cut_short, busy, broken, sync_broken, no_space;
	bool no_punch, no_zero_range;
};

struct disk_op {
	struct io_uring_sqe sqe;
	struct ring_entry *entry; /* NULL: free */
	bool carried_out;
	int result;
	uint32_t seen[POWER_BLOCKS]; /* told when it was submitted: what a sync has to make lasting */
	uint32_t made[POWER_BLOCKS]; /* 0: none */
};

/*
 * What Linux keeps of an open file description: a failure to write is told once to each, whosever data it was, by its
 * next sync.
 */
struct disk_file {
	int fd;
	uint32_t failures; /* of the disk's, those that it has been told of */
};

struct disk {
	uint64_t random;
	struct disk_faults faults;
	int forced[POWER_FORCED]; /* results of the next ones; then always, unless 0, which leaves it to chance */
	uint32_t forced_count, forced_next;
	int always;
	struct disk_block block[POWER_BLOCKS];
	struct disk_file file[POWER_LCORES];
	uint32_t file_count, failures;
	struct ring *rings;
	uint32_t ring_count;
	struct io_uring_sqe history[POWER_HISTORY]; /* in the order in which they were carried out */
	uint32_t history_count;
	struct power_event *log;
	uint32_t log_count, log_room;
};

/* Of an lcore. */
struct ring {
	struct disk *disk;
	bool fixed, full, held;
	struct disk_op op[POWER_OPS];
	struct turns waiting;
};

struct power_task {
	struct power *power;
	struct nvmf_capsule capsule;
	struct nvmf_command command;
	struct store_request request;
	uint8_t *data;
	bool busy;
	uint32_t lcore; /* that serves it */
	uint16_t status;
	uint32_t number;                        /* the story's */
	void (*ended)(struct power_task *task); /* NULL: nobody wants to know */
};

struct power {
	char path[32];
	struct disk disk;
	struct ring ring[POWER_LCORES];
	struct turn turn[POWER_LCORES]; /* of the host */
	bool left;                      /* it is gone */
	struct nvmf_host *host;
	struct store *store;
	struct power_task task[POWER_TASKS];
};

struct power *power_open(uint64_t seed, uint32_t lcores);
/* Nothing may be under way. */
void power_close(struct power *power);
/* A task that is not busy; NULL: none. */
struct power_task *power_free_task(struct power *power);
/* task->data is what comes from the host, task->lcore serves it. */
void power_begin(struct power_task *task, struct nvmf_capsule capsule);
void power_set_cache(struct power *power, bool on);
void power_log(struct disk *disk, enum power_event_kind kind, uint32_t number, uint32_t version);

/* The bytes of a block that belong to this word. */
void power_fill(uint8_t *data, uint64_t word);
/* false: its bytes are of more than one word. */
bool power_word(const uint8_t *data, uint64_t *word);
/* What the disk is made with. */
uint64_t power_first_word(uint32_t block);
const uint8_t *power_now(const struct disk *disk, uint32_t block);

#endif
