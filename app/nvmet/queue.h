/* queue.h - a queue of a host: its QP, its receives, and its commands from capsule to answer */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_QUEUE_H
#define NVMET_QUEUE_H

#include "nvmet/peer.h"
#include "nvmet/server.h"
#include "nvmf/command.h"

struct slot;

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
	uint32_t completions; /* CQ entries that it may use */
	uint8_t *capsules;
	struct uroce_mr *mr;
	uint32_t lkey;
	uint32_t receives, sends; /* posted; all complete, if only as flushed */
	uint64_t taken, errors;
	uint32_t commands; /* begun and not answered */
	uint32_t store_requests;
	struct slot *waiting_first, *waiting_last;
	bool in_waiting; /* in the lane's list of queues with commands that wait for memory */
	struct queue *next_waiting;
	bool ending;                  /* the connection is over, or is being closed */
	const char *_Atomic told_end; /* why another lane, or an event, asks it to end; NULL: it was not asked */
	struct queue *next, *before, *next_ending;
	struct peer *peer;
	uint64_t opened_ns, moved_ns; /* by awake_ns; moved_ns: when a send of ours last completed */
};

/* A REQUEST has come: makes the queue and accepts the connection, or refuses it. */
void queue_open(struct lane *lane, const struct uroce_cm_event *event);
/* Takes no more commands, and tells the host. */
void queue_end(struct queue *queue, const char *why);
/*
 * The same for a queue of any lane, whose lane does it in its next poll. The caller makes sure that the queue exists.
 */
void queue_tell_end(struct queue *queue, const char *why);
/* Ends the queues of the lane for which queue_tell_end() was called. */
void queue_end_told(struct lane *lane);
/* Prints which host has connected, or was refused. data: of the Connect, or NULL. */
void queue_tell_connect(const struct queue *queue, const struct nvmf_command *command, const uint8_t *data);
/* To be called now and then: ends queues whose hosts do not take answers, or do not say who they are. */
void queue_look(struct lane *lane);
/* Frees the queues that are ending and have nothing posted any more. */
void queue_close_done(struct lane *lane);
/* Frees the queue, whatever it has. */
void queue_close(struct queue *queue);
void queue_take_completion(struct queue *queue, const struct uroce_wc *wc);

/* For slot.c: the memory of a capsule; posts a receive for it; posts WRs, so many of them signaled. */
uint8_t *queue_capsule(const struct queue *queue, uint32_t capsule);
void queue_post_receive(struct queue *queue, uint32_t capsule);
void queue_post(struct queue *queue, const struct uroce_send_wr *wr, uint32_t count);

#endif
