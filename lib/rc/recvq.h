/* recvq.h - the receive queue of a QP */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP with a shared receive queue has a queue of one entry here, and fills it from the shared queue when a message
 * needs an entry.
 */
#ifndef RC_RECVQ_H
#define RC_RECVQ_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "config/limits.h"
#include "rc/srq.h"

/*
 * The queue has one part for each of two threads. struct rc_qp puts the end of a cache line between the two parts, and
 * fields that are read seldom around them.
 */
#define RECVQ_AT 16u /* where in a cache line the queue begins, so that the application's part begins the next line */

struct rc_recvq {
	uint8_t *slots;
	uint32_t slot_bytes;
	uint32_t mask;
	uint32_t depth;
	uint32_t sge_limit;
	struct rc_srq *srq; /* NULL: receives are posted to this queue itself */

	/* read and written by the lcore only */
	uint32_t head, tail;

	/* lcore writes, application reads, but only when its queue looks full */
	_Atomic uint32_t freed;

	/* application writes, lcore reads */
	_Alignas(16) _Atomic uint32_t posted;
	uint32_t posting;
	uint32_t free_up_to; /* `freed` when the application last read it */
};

static_assert(RECVQ_AT + offsetof(struct rc_recvq, posted) == 64, "the application's fields must start a cache line");

/*
 * Gives the queue a ring of `slots` slots, a power of two. srq: the shared queue that entries are taken from; NULL:
 * entries are posted to this queue.
 */
void rc_recvq_place(struct rc_recvq *queue, uint8_t *ring, uint32_t slots, uint32_t depth, uint32_t sge_limit,
		    struct rc_srq *srq);

/* For the application's thread. Returns 0, -ENOMEM if the queue is full, or -EINVAL for a wrong count of pieces. */
int rc_recvq_post(struct rc_recvq *queue, const struct uroce_recv_wr *wr);

/* Drops all entries without completions. */
void rc_recvq_reset(struct rc_recvq *queue);

/*
 * Returns the entry for the message at hand, the oldest one or one taken from the shared queue; NULL if there is none
 * (R-1).
 */
struct rc_recv_wqe *rc_recvq_need(struct rc_recvq *queue);

static inline struct rc_recv_wqe *recvq_slot(const struct rc_recvq *queue, uint32_t index)
{
	return (struct rc_recv_wqe *)(void *)(queue->slots + (uint64_t)(index & queue->mask) * queue->slot_bytes);
}

/* The oldest entry of the queue itself, or NULL. It stays in the queue. */
static inline struct rc_recv_wqe *recvq_peek(struct rc_recvq *queue)
{
	if (queue->head == queue->tail) {
		/* pairs with Q1 in rc_recvq_post: the slot's contents are visible */
		queue->tail = atomic_load_explicit(&queue->posted, memory_order_acquire);
		if (queue->head == queue->tail)
			return NULL;
	}
	return recvq_slot(queue, queue->head);
}

/* The oldest entry is not needed any more: the application may post into its slot. */
static inline void recvq_pop(struct rc_recvq *queue)
{
	queue->head++;
	/* Q2: lets the application use the slot again */
	atomic_store_explicit(&queue->freed, queue->head, memory_order_release);
}

#endif
