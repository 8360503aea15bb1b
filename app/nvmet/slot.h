/* slot.h - a command that is being carried out: what host and store have to do for it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_SLOT_H
#define NVMET_SLOT_H

#include "nvmet/queue.h"

/* What a completion is about: the low bits of wr_id; above them the number of the slot, or of the capsule. */
enum slot_work { WORK_RECEIVE, WORK_FETCH, WORK_GIVE, WORK_ANSWER };
#define SLOT_WORK_BITS 2

static inline uint64_t slot_wr_id(uint32_t number, enum slot_work work)
{
	return (uint64_t)number << SLOT_WORK_BITS | work;
}

/*
 * A command from its capsule until the host has acknowledged the answer. The capsule is posted as a receive again just
 * before the answer leaves, so that there is always a receive for each command that the host may send. Answers that
 * wait for their ACKs need only slots.
 */
struct slot {
	struct nvmf_command command;
	struct store_request request;
	struct queue *queue;
	struct slot *next; /* next free slot, or next one that waits for memory */
	uint32_t capsule;  /* number of its capsule */
	uint8_t *data;     /* data of the command, wherever it lies; NULL: nowhere yet */
	uint32_t data_lkey;
	uint32_t pool_bytes; /* not 0: data was taken from the pool, with so many bytes */
	bool counted;        /* counted in queue->commands */
	struct store *store; /* store of its namespace, which may have been removed by the end */
	uint64_t began_ns;
	enum nvmf_step step; /* the step that began last */
};

void slot_go_on(struct slot *slot, enum nvmf_step step);
/* The host's data has come. */
void slot_fetched(struct slot *slot);
void slot_return_data(struct slot *slot);
/* Memory has become free: commands that wait for it go on, first come first. */
void slot_try_again(struct lane *lane);
/* Answers the held commands whose events have come. */
void slot_tell_events(struct lane *lane);

#endif
