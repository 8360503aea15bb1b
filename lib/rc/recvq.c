/* recvq.c - the receive queue */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>

#include "rc/recvq.h"

static struct rc_recv_wqe *slot(const struct rc_recvq *queue, uint32_t index)
{
	return (struct rc_recv_wqe *)(void *)(queue->slots + (uint64_t)(index & queue->mask) * queue->slot_bytes);
}

uint32_t rc_recvq_slot_bytes(uint32_t sge_limit)
{
	return (uint32_t)(sizeof(struct rc_recv_wqe) + sizeof(struct uroce_sge) * sge_limit);
}

int rc_recvq_post(struct rc_recvq *queue, const struct uroce_recv_wr *wr)
{
	struct rc_recv_wqe *wqe = slot(queue, queue->posting);
	uint64_t total = 0;

	uint32_t count = wr->num_sge; /* M-6: read once */

	if (count > queue->sge_limit || (count > 0 && wr->sg_list == NULL))
		return -EINVAL;
	/* pairs with Q2 in rc_recvq_pop: the lcore has finished with the slot */
	if (queue->posting - atomic_load_explicit(&queue->freed, memory_order_acquire) >= queue->depth)
		return -ENOMEM;
	wqe->wr_id = wr->wr_id;
	wqe->sge_count = count;
	for (uint32_t i = 0; i < count; i++) {
		wqe->sges[i] = wr->sg_list[i];
		total += wqe->sges[i].length;
	}
	wqe->total_bytes = total > UINT32_MAX ? UINT32_MAX : (uint32_t)total;
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

struct rc_recv_wqe *rc_recvq_peek(struct rc_recvq *queue)
{
	if (queue->head == queue->tail) {
		/* pairs with Q1 in rc_recvq_post: the slot's contents are visible */
		queue->tail = atomic_load_explicit(&queue->posted, memory_order_acquire);
		if (queue->head == queue->tail)
			return NULL;
	}
	return slot(queue, queue->head);
}

void rc_recvq_pop(struct rc_recvq *queue)
{
	queue->head++;
	/* Q2: gives the slot back */
	atomic_store_explicit(&queue->freed, queue->head, memory_order_release);
}
