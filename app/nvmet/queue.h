/* queue.h - a queue of a host: its QP and its receives, from the request to connect until it is freed */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_QUEUE_H
#define NVMET_QUEUE_H

#include "nvmet/queue_state.h"

/* A REQUEST has arrived: makes the queue and accepts the connection, or refuses it. */
void queue_open(struct lane *lane, const struct uroce_cm_event *event);
/* Ends a queue: takes no more commands, and disconnects from the host. why: a static text. */
void queue_end(struct queue *queue, const char *why);
/* The same for a queue whose QP has failed, as this completion shows. */
void queue_end_failed(struct queue *queue, const struct uroce_wc *wc);
/*
 * queue_end() for a queue of any lane, whose lane ends it in its next poll. The caller makes sure that the queue
 * exists.
 */
void queue_tell_end(struct queue *queue, const char *why);
/* Asks the I/O queues of an admin queue's controller to end. */
void queue_tell_io_queues(struct queue *admin, const char *why);
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

/*
 * queue_capsule(): the memory of a capsule. queue_post_receive(): posts a receive for it. queue_post(): posts requests.
 */
uint8_t *queue_capsule(const struct queue *queue, uint32_t capsule);
void queue_post_receive(struct queue *queue, uint32_t capsule);
void queue_post(struct queue *queue, const struct uroce_send_wr *wr, uint32_t count);

#endif
