/* recvq.c - posts receives and takes them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "rc/recvq.h"

static bool is_full(struct rc_recvq *queue)
{
	if (queue->posting - queue->free_up_to < queue->depth)
		return false;
	/* pairs with Q2 in recvq_pop: the lcore has finished with the slot */
	queue->free_up_to = atomic_load_explicit(&queue->freed, memory_order_acquire);
	return queue->posting - queue->free_up_to >= queue->depth;
}

void rc_recvq_place(struct rc_recvq *queue, uint8_t *ring, uint32_t slots, uint32_t depth, uint32_t sge_limit,
		    struct rc_srq *srq)
{
	queue->slots = ring;
	queue->slot_bytes = recv_wqe_slot_bytes(sge_limit);
	queue->mask = slots - 1;
	queue->depth = depth;
	queue->sge_limit = sge_limit;
	queue->srq = srq;
}

int rc_recvq_post(struct rc_recvq *queue, const struct uroce_recv_wr *wr)
{
	if (wr->num_sge > queue->sge_limit)
		return -EINVAL;
	if (is_full(queue))
		return -ENOMEM;
	if (!recv_wqe_fill(recvq_slot(queue, queue->posting), wr, queue->sge_limit))
		return -EINVAL;
	/* Q1: publishes the slot */
	atomic_store_explicit(&queue->posted, ++queue->posting, memory_order_release);
	return 0;
}

void rc_recvq_reset(struct rc_recvq *queue)
{
	queue->tail = atomic_load_explicit(&queue->posted, memory_order_acquire);
	queue->head = queue->tail;
	atomic_store_explicit(&queue->freed, queue->head, memory_order_release);
}

struct rc_recv_wqe *rc_recvq_need(struct rc_recvq *queue)
{
	struct rc_recv_wqe *wqe = recvq_peek(queue);

	if (wqe || queue->srq == NULL || !rc_srq_pop(queue->srq, recvq_slot(queue, queue->posting)))
		return wqe;
	queue->posting++;
	atomic_store_explicit(&queue->posted, queue->posting, memory_order_release);
	return recvq_peek(queue);
}
