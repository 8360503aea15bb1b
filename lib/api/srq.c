/* srq.c - shared receive queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>

#include "api/post.h"
#include "engine/deliver.h"
#include "engine/device_state.h"
#include "engine/log.h"
#include "engine/numa_alloc.h"
#include "engine/pd.h"
#include "engine/srq.h"

int uroce_srq_create(struct uroce_pd *pd, const struct uroce_srq_attr *attr, struct uroce_srq **result)
{
	struct uroce_srq *srq;
	void *memory;

	if (engine_check_range("max_wr", attr->max_wr, 1, LIMIT_QUEUE_DEPTH) ||
	    engine_check_range("max_sge", attr->max_sge, 1, LIMIT_SGE))
		return -EINVAL;
	srq = calloc(1, sizeof(*srq));
	if (srq == NULL)
		return engine_refuse(-ENOMEM, "no memory for a shared receive queue");
	srq->rc_bytes = rc_srq_bytes(attr->max_wr, attr->max_sge);
	memory = engine_numa_alloc(srq->rc_bytes, pd->device->numa_node);
	if (memory == NULL) {
		free(srq);
		return engine_refuse(-ENOMEM,
				     "no memory for a shared receive queue with max_wr %u; use a smaller max_wr",
				     attr->max_wr);
	}
	srq->rc = rc_srq_init(memory, attr->max_wr, attr->max_sge, srq);
	srq->pd = pd;
	atomic_fetch_add(&pd->users, 1);
	*result = srq;
	return 0;
}

int uroce_srq_destroy(struct uroce_srq *srq)
{
	if (atomic_load(&srq->users) > 0)
		return engine_refuse(-EBUSY, "srq: %u QPs use it; destroy them first",
				     (unsigned)atomic_load(&srq->users));
	atomic_fetch_sub(&srq->pd->users, 1);
	engine_numa_free(srq->rc, srq->rc_bytes);
	free(srq);
	return 0;
}

int uroce_srq_post_recv(struct uroce_srq *srq, const struct uroce_recv_wr *wr, const struct uroce_recv_wr **bad_wr)
{
	for (; wr; wr = wr->next) {
		int error = rc_srq_post(srq->rc, wr);

		if (error) {
			if (bad_wr)
				*bad_wr = wr;
			return api_post_refuse_shared(srq->rc, error, wr);
		}
	}
	return 0;
}

void uroce_srq_set_context(struct uroce_srq *srq, uint64_t context)
{
	srq->context = context;
}

int uroce_srq_arm(struct uroce_srq *srq, uint32_t limit)
{
	struct uroce_event event = {
		.type = UROCE_EVENT_SRQ_LIMIT_REACHED,
		.qp_context = srq->context,
		.srq = srq,
	};

	if (engine_check_range("limit", limit, 0, srq->rc->depth))
		return -EINVAL;
	rc_srq_arm(srq->rc, limit);
	/* a limit that is reached already is reported now, not when a receive is taken */
	if (rc_srq_limit_reached(srq->rc))
		engine_deliver_event(srq->pd->device, &event);
	return 0;
}

void uroce_srq_query(const struct uroce_srq *srq, struct uroce_srq_attr *attr)
{
	*attr = (struct uroce_srq_attr){
		.max_wr = srq->rc->depth,
		.max_sge = srq->rc->sge_limit,
		.limit = atomic_load(&srq->rc->limit),
		.count = srq_count(srq->rc),
	};
}
