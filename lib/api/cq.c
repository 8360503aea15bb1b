/* cq.c - completion queues: a ring that lcores fill and the application empties */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "engine/engine.h"

int uroce_cq_create(struct uroce_device *device, uint32_t depth, struct uroce_cq **result)
{
	struct uroce_cq *cq;

	if (depth == 0 || depth > LIMIT_CQ_DEPTH)
		return -EINVAL;
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return -ENOMEM;
	cq->ring = engine_ring_create(depth, sizeof(struct uroce_wc), RING_F_SC_DEQ, device->numa_node);
	if (cq->ring == NULL) {
		free(cq);
		return -ENOMEM;
	}
	cq->device = device;
	atomic_fetch_add(&device->users, 1);
	*result = cq;
	return 0;
}

int uroce_cq_destroy(struct uroce_cq *cq)
{
	if (atomic_load(&cq->users) > 0)
		return -EBUSY;
	atomic_fetch_sub(&cq->device->users, 1);
	engine_ring_free(cq->ring, sizeof(struct uroce_wc));
	free(cq);
	return 0;
}

int uroce_cq_poll(struct uroce_cq *cq, int count, struct uroce_wc *wc)
{
	if (count <= 0)
		return 0;
	return (int)rte_ring_dequeue_burst_elem(cq->ring, wc, sizeof(*wc), (unsigned)count, NULL);
}
