/* run_queue.c - memory of the ring of active QPs, and its holes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "engine/numa_alloc.h"
#include "engine/run_queue.h"

static uint64_t ring_bytes(const struct engine_run_queue *active)
{
	return (active->mask + 1ull) * sizeof(struct uroce_qp *);
}

int engine_run_queue_init(struct engine_run_queue *active, const struct uroce_engine *engine, int node)
{
	/* Each QP of an lcore at most once, and as many that have gone before the ring is tidied up. */
	active->mask = 2 * (engine->index_count / (engine->lcore_mask + 1)) - 1;
	active->head = active->tail = active->looks = 0;
	active->qps = engine_numa_alloc(ring_bytes(active), node);
	return active->qps ? 0 : -ENOMEM;
}

void engine_run_queue_free(struct engine_run_queue *active)
{
	if (active->qps)
		engine_numa_free(active->qps, ring_bytes(active));
	active->qps = NULL;
}

/* They would add up with a QP that is made and destroyed again and again. */
void engine_run_queue_tidy(struct engine_run_queue *active)
{
	uint32_t to = active->head;

	for (uint32_t from = active->head; from != active->tail; from++) {
		struct uroce_qp *qp = active->qps[from & active->mask];

		if (qp == NULL)
			continue;
		qp->queued_at = to;
		active->qps[to++ & active->mask] = qp;
	}
	active->tail = to;
}
