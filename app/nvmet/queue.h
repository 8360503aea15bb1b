/* queue.h - a host's queue: a QP, its receives, and where its commands begin and end */
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
	struct pending *pending; /* capsules that wait for a slot, a ring as large as there are capsules */
	uint32_t pending_head, pending_count;
	uint32_t completions; /* in the CQ, at most */
	uint8_t *capsules;
	struct uroce_mr *mr;
	uint32_t lkey;
	uint32_t receives, sends; /* under way: all come back, if only as flushed */
	uint64_t taken, errors;
	uint32_t commands; /* begun and not answered */
	uint32_t store_requests;
	struct slot *waiting_first, *waiting_last;
	bool in_waiting; /* among the server's that wait */
	struct queue *next_waiting;
	bool ending;                  /* the connection is over, or is to be */
	const char *_Atomic told_end; /* why another lane, or an event, wants it to end; NULL: nobody does */
	struct queue *next, *before, *next_ending;
	struct peer *peer;
	uint64_t opened_ns, moved_ns; /* by awake_ns; moved: when something of ours last came to its end */
};

/* A REQUEST: the queue is made and the connection accepted, or refused. */
void queue_open(struct lane *lane, const struct uroce_cm_event *event);
/* No more commands are taken; the host is told. */
void queue_end(struct queue *queue, const char *why);
/* The same for the queue of any lane, which does it in its next poll; who calls sees to it that the queue is there. */
void queue_tell_end(struct queue *queue, const char *why);
/* Those of the lane that were told so. */
void queue_end_told(struct lane *lane);
/* It is told who has come, or whom the target has refused. data: of the Connect, or NULL. */
void queue_tell_connect(const struct queue *queue, const struct nvmf_command *command, const uint8_t *data);
/* Now and then: those whose hosts let them wait for ever end. */
void queue_look(struct lane *lane);
/* Those that are ending and have everything back go. */
void queue_close_done(struct lane *lane);
/* It goes, whatever it has. */
void queue_close(struct queue *queue);
void queue_take_completion(struct queue *queue, const struct uroce_wc *wc);

/* For slot.c. What a capsule is received into; a receive into it; WRs, of which so many are signaled. */
uint8_t *queue_capsule(const struct queue *queue, uint32_t capsule);
void queue_post_receive(struct queue *queue, uint32_t capsule);
void queue_post(struct queue *queue, const struct uroce_send_wr *wr, uint32_t count);

#endif
