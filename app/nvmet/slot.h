/* slot.h - a command on its way: what its host and its store have to do for it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_SLOT_H
#define NVMET_SLOT_H

#include "nvmet/queue.h"

/* What a completion is of: low bits of wr_id, above them the number of the slot, or of the capsule received into. */
enum slot_work { WORK_RECEIVE, WORK_FETCH, WORK_GIVE, WORK_ANSWER };
#define SLOT_WORK_BITS 2

static inline uint64_t slot_wr_id(uint32_t number, enum slot_work work)
{
	return (uint64_t)number << SLOT_WORK_BITS | work;
}

/*
 * A command from its capsule until the host has acknowledged the answer. The capsule is received into again just before
 * the answer leaves, so that there is always a receive for each command that the host may send; answers that wait for
 * their ACKs only need slots.
 */
struct slot {
	struct nvmf_command command;
	struct store_request request;
	struct queue *queue;
	struct slot *next; /* free, or waiting for memory */
	uint32_t capsule;  /* its number */
	uint8_t *data;     /* of the command, wherever it is; NULL: nowhere yet */
	uint32_t data_lkey;
	uint32_t pool_bytes; /* data is of the pool, if not 0 */
	bool counted;        /* among the commands of the queue */
	struct store *store; /* of its namespace, which may be gone by the end */
	uint64_t began_ns;
	enum nvmf_step step; /* the last one that began */
};

void slot_go_on(struct slot *slot, enum nvmf_step step);
/* Its data have come from the host. */
void slot_fetched(struct slot *slot);
void slot_return_data(struct slot *slot);
/* Memory has come free: those that wait for some go on, in the order in which they came. */
void slot_try_again(struct lane *lane);
/* Answers the commands whose events have come. */
void slot_tell_events(struct lane *lane);

#endif
