/* run_queue.c - allocates a run queue, and closes its holes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "engine/engine.h"
#include "engine/log.h"
#include "engine/numa_alloc.h"
#include "engine/qp.h"
#include "engine/run_queue.h"

static uint64_t ring_bytes(const struct engine_run_queue *queue)
{
	return (queue->mask + 1ull) * sizeof(struct uroce_qp *);
}

int engine_run_queue_init(struct engine_run_queue *queue, const struct uroce_engine *engine, int node)
{
	/* Room for every QP of an lcore, and for as many holes before the holes are closed. */
	queue->mask = 2 * (engine->index_count / (engine->lcore_mask + 1)) - 1;
	queue->head = queue->tail = queue->looks = 0;
	queue->qps = engine_numa_alloc(ring_bytes(queue), node);
	return queue->qps ? 0 : engine_refuse(-ENOMEM, "no memory for a run queue; use a smaller max_qps");
}

void engine_run_queue_free(struct engine_run_queue *queue)
{
	if (queue->qps)
		engine_numa_free(queue->qps, ring_bytes(queue));
	queue->qps = NULL;
}

/*
 * Closes the holes. Otherwise a program that creates and destroys QPs again and again would fill the queue with holes.
 */
void engine_run_queue_tidy(struct engine_run_queue *queue)
{
	uint32_t to = queue->head;

	for (uint32_t from = queue->head; from != queue->tail; from++) {
		struct uroce_qp *qp = queue->qps[from & queue->mask];

		if (qp == NULL)
			continue;
		qp->queued_at = to;
		queue->qps[to++ & queue->mask] = qp;
	}
	queue->tail = to;
}
