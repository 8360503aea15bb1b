/* srq.c - the shared receive queue */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>

#include "config/limits.h"
#include "rc/ring_size.h"
#include "rc/srq.h"

static_assert(sizeof(struct rc_recv_wqe) % 8 == 0 && sizeof(struct uroce_sge) % 8 == 0, "entries are copied by words");

static uint64_t header_bytes(void)
{
	return (sizeof(struct rc_srq) + 63) & ~63ull;
}

uint64_t rc_srq_bytes(uint32_t depth, uint32_t sge_limit)
{
	return header_bytes() + (uint64_t)ring_size_at_least(depth) * recv_wqe_slot_bytes(sge_limit);
}

struct rc_srq *rc_srq_init(void *memory, uint32_t depth, uint32_t sge_limit, void *handle)
{
	struct rc_srq *srq = memory;

	srq->slots = (uint8_t *)memory + header_bytes();
	srq->slot_bytes = recv_wqe_slot_bytes(sge_limit);
	srq->mask = ring_size_at_least(depth) - 1;
	srq->depth = depth;
	srq->sge_limit = sge_limit;
	srq->handle = handle;
	return srq;
}

/*
 * Copies word by word with atomic accesses, so that it is no data race if a taker that will lose reads a slot being
 * written.
 */
static void copy_words(void *to, const void *from, uint32_t bytes)
{
	uint64_t *target = to;
	const uint64_t *source = from;

	for (uint32_t i = 0; i < bytes / 8; i++)
		__atomic_store_n(&target[i], __atomic_load_n(&source[i], __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

static void *slot(const struct rc_srq *srq, uint32_t index)
{
	return srq->slots + (uint64_t)(index & srq->mask) * srq->slot_bytes;
}

int rc_srq_post(struct rc_srq *srq, const struct uroce_recv_wr *wr)
{
	uint64_t room[(sizeof(struct rc_recv_wqe) + LIMIT_SGE * sizeof(struct uroce_sge)) / 8];
	struct rc_recv_wqe *wqe = (struct rc_recv_wqe *)(void *)room;
	uint32_t posted = atomic_load_explicit(&srq->posted, memory_order_relaxed);

	if (!recv_wqe_fill(wqe, wr, srq->sge_limit))
		return -EINVAL;
	/* pairs with R2 in rc_srq_pop: the taker has finished with the slot */
	if (posted - atomic_load_explicit(&srq->taken, memory_order_acquire) >= srq->depth)
		return -ENOMEM;
	copy_words(slot(srq, posted), wqe, srq->slot_bytes);
	/* R1: publishes the slot */
	atomic_store(&srq->posted, posted + 1);
	return 0;
}

bool rc_srq_pop(struct rc_srq *srq, struct rc_recv_wqe *wqe)
{
	uint32_t taken = atomic_load(&srq->taken);

	do {
		/* pairs with R1 in rc_srq_post: the slot's contents are visible */
		if (taken == atomic_load(&srq->posted))
			return false;
		copy_words(wqe, slot(srq, taken), srq->slot_bytes);
		/* R2: frees the slot; or fails, because another taker was faster, and then the copy is discarded */
	} while (!atomic_compare_exchange_weak(&srq->taken, &taken, taken + 1));
	return true;
}

void rc_srq_arm(struct rc_srq *srq, uint32_t limit)
{
	atomic_store(&srq->limit, limit);
}

bool rc_srq_limit_reached(struct rc_srq *srq)
{
	uint32_t limit = atomic_load(&srq->limit);

	/* several lcores may get here: the one whose exchange succeeds reports */
	return limit && srq_count(srq) < limit && atomic_compare_exchange_strong(&srq->limit, &limit, 0);
}
