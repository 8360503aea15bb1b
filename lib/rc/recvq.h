/* recvq.h - posted receive requests */
/* SPDX-License-Identifier: BSD-3-Clause */
/* A QP on a shared receive queue has a queue of one, into which it takes an entry when a message needs it. */
#ifndef RC_RECVQ_H
#define RC_RECVQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "config/limits.h"

struct rc_srq;

struct rc_recv_wqe {
	uint64_t wr_id;
	uint32_t total_bytes; /* of all pieces, at most 2^32 - 1 counts */
	uint32_t sge_count;
	struct uroce_sge sges[];
};

struct rc_recvq {
	uint8_t *slots;
	uint32_t slot_bytes;
	uint32_t mask;
	uint32_t depth;
	uint32_t sge_limit;
	struct rc_srq *srq; /* NULL: entries are posted to this queue itself */

	/* lcore only */
	uint32_t head, tail;

	/* lcore writes, application reads, but only when its queue looks full */
	_Atomic uint32_t freed;

	/* application writes, lcore reads */
	_Alignas(64) _Atomic uint32_t posted;
	uint32_t posting;
	uint32_t free_up_to; /* `freed` as the application last saw it */
};

uint32_t rc_recvq_slot_bytes(uint32_t sge_limit);

/* Application side. 0; -ENOMEM: full; -EINVAL: sge count. */
int rc_recvq_post(struct rc_recvq *queue, const struct uroce_recv_wr *wr);

/* Forgets all entries without a completion. */
void rc_recvq_reset(struct rc_recvq *queue);

/* The entry for the message at hand: the oldest, or one taken from the shared queue. NULL: there is none. */
struct rc_recv_wqe *rc_recvq_need(struct rc_recvq *queue);

static inline struct rc_recv_wqe *recvq_slot(const struct rc_recvq *queue, uint32_t index)
{
	return (struct rc_recv_wqe *)(void *)(queue->slots + (uint64_t)(index & queue->mask) * queue->slot_bytes);
}

/* The oldest entry of the queue itself, or NULL. Stays in the queue. */
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

/* The oldest entry is finished with: the application may post into its slot. */
static inline void recvq_pop(struct rc_recvq *queue)
{
	queue->head++;
	/* Q2: gives the slot back */
	atomic_store_explicit(&queue->freed, queue->head, memory_order_release);
}

/* Copies wr, each field read once (M-6). false: too many pieces, or a count without a list. */
static inline bool recvq_fill(struct rc_recv_wqe *wqe, const struct uroce_recv_wr *wr, uint32_t sge_limit)
{
	uint32_t count = wr->num_sge;
	uint64_t total = 0;

	if (count > sge_limit || (count > 0 && wr->sg_list == NULL))
		return false;
	wqe->wr_id = wr->wr_id;
	wqe->sge_count = count;
	for (uint32_t i = 0; i < count; i++) {
		wqe->sges[i] = wr->sg_list[i];
		total += wqe->sges[i].length;
	}
	wqe->total_bytes = total > UINT32_MAX ? UINT32_MAX : (uint32_t)total;
	return true;
}

#endif
