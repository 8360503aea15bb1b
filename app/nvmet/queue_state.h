/* queue_state.h - a queue of a host, and the slots of its commands */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_QUEUE_STATE_H
#define NVMET_QUEUE_STATE_H

#include "nvmet/peer.h"
#include "nvmet/server_state.h"
#include "nvmet/store.h"
#include "nvmf/command.h"

/* What a completion is about: the low bits of wr_id; above them the number of the slot, or of the capsule. */
enum slot_work { WORK_RECEIVE, WORK_FETCH, WORK_GIVE, WORK_ANSWER };
#define SLOT_WORK_BITS 2

static inline uint64_t slot_wr_id(uint32_t number, enum slot_work work)
{
	return (uint64_t)number << SLOT_WORK_BITS | work;
}

struct pending {
	uint32_t capsule, bytes;
};

struct queue {
	struct nvmf_queue nvmf;
	struct lane *lane;
	struct server_port *port;
	uint32_t port_index;
	struct uroce_cm_id *id;
	struct uroce_qp *qp;
	struct slot *slots, *free_slots;
	uint32_t slot_count, capsule_count, capsule_room, path_mtu;
	struct pending *pending; /* capsules that wait for a slot, a ring with room for all capsules */
	uint32_t pending_head, pending_count;
	uint32_t entries; /* CQ entries that it holds */
	uint8_t *capsules;
	struct uroce_mr *mr;
	uint32_t lkey;
	uint32_t receives, sends; /* requests that are posted and not yet completed; a flush completes them, too */
	uint64_t taken, errors;
	uint32_t commands; /* begun and not answered */
	uint32_t store_requests;
	STAILQ_HEAD(, slot) waiting; /* commands that wait for memory, first come first */
	bool in_waiting;             /* the queue is in the lane's list of queues with commands that wait for memory */
	STAILQ_ENTRY(queue) next_waiting;
	bool ending;         /* the connection is over, or is being closed */
	bool _Atomic failed; /* the connection has failed, and told_end is the error */
	/* why another lane, or an event, asks the queue to end; NULL: nothing has asked */
	const char *_Atomic told_end;
	LIST_ENTRY(queue) next, next_ending;
	struct peer *peer;
	uint64_t opened_ns, moved_ns; /* both by the clock awake_ns; moved_ns: when one of our sends last completed */
};

/*
 * A command from its capsule until the host has acknowledged the answer. The capsule is posted as a receive again just
 * before the answer leaves, so that there is always a receive for each command that the host may send. Answers that
 * wait for their ACKs need only slots.
 */
struct slot {
	struct nvmf_command command;
	struct store_request request;
	struct queue *queue;
	struct slot *next; /* next free slot */
	STAILQ_ENTRY(slot) next_waiting;
	uint32_t capsule; /* number of its capsule */
	uint8_t *data;    /* data of the command, in a buffer, the capsule or the store's memory; NULL: none yet */
	uint32_t data_lkey;
	uint32_t pool_bytes; /* bytes of a buffer of the pool that holds the data; 0: there is none */
	bool counted;        /* counted in queue->commands */
	struct store *store; /* store of its namespace; the namespace may be removed before the command ends */
	uint64_t began_ns;
	enum nvmf_step step; /* the step that began last */
};

#endif
