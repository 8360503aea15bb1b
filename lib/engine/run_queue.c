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
	*queue = (struct engine_run_queue){ .mask = 2 * (engine->index_count / (engine->lcore_mask + 1)) - 1 };
	queue->turns.qps = engine_numa_alloc(2 * ring_bytes(queue), node);
	if (queue->turns.qps == NULL)
		return engine_refuse(-ENOMEM, "no memory for a run queue; use a smaller max_qps");
	queue->answers.qps = queue->turns.qps + queue->mask + 1;
	return 0;
}

void engine_run_queue_free(struct engine_run_queue *queue)
{
	if (queue->turns.qps)
		engine_numa_free(queue->turns.qps, 2 * ring_bytes(queue));
	queue->turns.qps = queue->answers.qps = NULL;
}

static void tidy(struct engine_qp_ring *ring, uint32_t mask, bool answers)
{
	uint32_t to = ring->head;

	for (uint32_t from = ring->head; from != ring->tail; from++) {
		struct uroce_qp *qp = ring->qps[from & mask];

		if (qp == NULL)
			continue;
		*(answers ? &qp->answer_at : &qp->turn_at) = to;
		ring->qps[to++ & mask] = qp;
	}
	ring->tail = to;
}

/*
 * Closes the holes. Otherwise a program that creates and destroys QPs again and again would fill the queue with holes.
 */
void engine_run_queue_tidy(struct engine_run_queue *queue)
{
	tidy(&queue->turns, queue->mask, false);
	tidy(&queue->answers, queue->mask, true);
	queue->count = qp_ring_count(&queue->turns) + qp_ring_count(&queue->answers);
}
