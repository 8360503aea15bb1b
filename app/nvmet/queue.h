/* queue.h - a host's queue: a QP, its receives, and commands on their way between host and store */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_QUEUE_H
#define NVMET_QUEUE_H

#include "nvmet/server.h"
#include "nvmf/command.h"

/*
 * A slot holds a capsule, which the QP receives into, and then its command until the host has the answer: so many more
 * slots than commands that the receive of the next command is there while answers wait for their ACKs.
 */
struct slot {
	struct nvmf_command command;
	struct store_request request;
	struct queue *queue;
	struct slot *next; /* waiting for memory */
	uint8_t *capsule;
	uint8_t *data; /* of the command, wherever it is; NULL: nowhere yet */
	uint32_t data_lkey;
	uint32_t pool_bytes; /* data is of the pool, if not 0 */
	bool counted;        /* among the commands of the queue */
	enum nvmf_step step; /* the last one that began */
};

struct queue {
	struct nvmf_queue nvmf;
	struct server *server;
	struct server_port *port;
	uint32_t port_index;
	struct uroce_cm_id *id;
	struct uroce_qp *qp;
	struct slot *slots;
	uint32_t slot_count, capsule_room;
	uint32_t completions; /* in the CQ, at most */
	uint8_t *capsules;
	struct uroce_mr *mr;
	uint32_t lkey;
	uint32_t receives, sends; /* under way: all come back, if only as flushed */
	uint32_t commands;        /* begun and not answered */
	uint32_t store_requests;
	struct slot *waiting_first, *waiting_last;
	bool in_waiting; /* among the server's that wait */
	struct queue *next_waiting;
	bool ending; /* the connection is over, or is to be */
	uint64_t ending_since_ns;
	struct queue *next, *before;
	struct uroce_addr peer;
};

/* A REQUEST: the queue is made and the connection accepted, or refused. */
void queue_open(struct server *server, const struct uroce_cm_event *event);
/* No more commands are taken; the host is told. */
void queue_end(struct queue *queue);
/* Everything has come back: it can go. */
bool queue_is_done(const struct queue *queue);
void queue_close(struct queue *queue);
void queue_take_completion(struct queue *queue, const struct uroce_wc *wc);
/* Memory has come free. */
void queue_try_again(struct server *server);
/* Answers the commands whose events have come. */
void queue_tell_events(struct server *server);

#endif
