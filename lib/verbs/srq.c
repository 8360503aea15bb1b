/* srq.c - shared receive queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/ops.h"

#include <errno.h>
#include <stdlib.h>

#include "verbs/event.h"
#include "verbs/post.h"

struct ibv_srq *verb_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	struct uroce_srq_attr attr = {
		.max_wr = init->attr.max_wr ? init->attr.max_wr : 1,
		.max_sge = init->attr.max_sge ? init->attr.max_sge : 1,
	};
	struct verb_srq *srq = calloc(1, sizeof(*srq));
	int error = srq ? uroce_srq_create(verb_pd_of(pd)->pd, &attr, &srq->srq) : -ENOMEM;

	if (error) {
		free(srq);
		verb_result(error);
		return NULL;
	}
	srq->number = verb_event_draw();
	uroce_srq_set_context(srq->srq, srq->number);
	init->attr.max_wr = attr.max_wr;
	init->attr.max_sge = attr.max_sge;
	srq->ibv.context = pd->context; /* the context is set before the first event, which uses it */
	verb_event_add(VERB_SRQ, srq);
	return &srq->ibv;
}

int verb_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
	if (mask & ~IBV_SRQ_LIMIT)
		return verb_result(-EOPNOTSUPP); /* the size cannot be changed */
	return mask ? verb_result(uroce_srq_arm(verb_srq_of(srq)->srq, attr->srq_limit)) : 0;
}

int verb_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
	struct uroce_srq_attr ours;

	uroce_srq_query(verb_srq_of(srq)->srq, &ours);
	*attr = (struct ibv_srq_attr){ .max_wr = ours.max_wr, .max_sge = ours.max_sge, .srq_limit = ours.limit };
	return 0;
}

int verb_destroy_srq(struct ibv_srq *ibv)
{
	struct verb_srq *srq = verb_srq_of(ibv);
	int error = uroce_srq_destroy(srq->srq);

	if (error)
		return verb_result(error);
	verb_event_remove(VERB_SRQ, srq);
	verb_event_wait(&ibv->mutex, &ibv->cond, &ibv->events_completed, srq->async_events);
	free(srq);
	return 0;
}

static int post_one(void *queue, const struct uroce_recv_wr *wr)
{
	return uroce_srq_post_recv(queue, wr, NULL);
}

int verb_post_srq_recv(struct ibv_srq *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct verb_srq *srq = verb_srq_of(ibv);

	return verb_post_receives(&srq->lock, post_one, srq->srq, wr, bad);
}
