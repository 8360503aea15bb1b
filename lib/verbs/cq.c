/* cq.c - completion queues, and channels that wake threads which sleep on them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/ops.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs/event.h"
#include "verbs/pipe.h"
#include "verbs/take.h"
#include "verbs/walk.h"
#include "verbs/wc.h"

#define POLLED 16 /* how many completions are polled at a time */

/* ---- queues ---- */

static int join_channel(struct verb_cq *cq, const struct ibv_comp_channel *channel)
{
	cq->channel_fd = -1;
	if (channel == NULL)
		return 0;
	cq->channel_fd = verb_pipe_writer(channel->fd);
	if (cq->channel_fd < 0)
		return -errno;
	/* libibverbs reads the pointer to an ibv_cq from the channel */
	uroce_cq_set_fd(cq->cq, cq->channel_fd, (uintptr_t)cq);
	return 0;
}

static int create(struct verb_cq *cq, struct ibv_context *context, int depth, struct ibv_comp_channel *channel)
{
	int error = uroce_cq_create(verb_context_of(context)->stack->device, (uint32_t)depth, &cq->cq);

	if (error)
		return error;
	error = join_channel(cq, channel);
	if (error) {
		uroce_cq_destroy(cq->cq);
		return error;
	}
	cq->number = verb_event_draw();
	uroce_cq_set_context(cq->cq, cq->number);
	cq->ibv.cqe = depth;
	cq->yields = verb_context_of(context)->stack->one_core;
	cq->ibv.context = context; /* the context is set before the first event, which uses it */
	verb_event_add(VERB_CQ, cq);
	return 0;
}

struct ibv_cq *verb_create_cq(struct ibv_context *context, int depth, struct ibv_comp_channel *channel, int vector)
{
	struct verb_cq *cq;
	int error;

	if (depth < 1 || vector < 0 || vector >= context->num_comp_vectors)
		return verb_refused(-EINVAL);
	cq = calloc(1, sizeof(*cq));
	error = cq ? create(cq, context, depth, channel) : -ENOMEM;
	if (error == 0)
		return (struct ibv_cq *)&cq->ibv;
	free(cq);
	return verb_refused(error);
}

struct ibv_cq_ex *verb_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init)
{
	struct ibv_cq *ibv;
	struct verb_cq *cq;

	if ((init->wc_flags & ~VERB_WALK_READS) || (init->comp_mask & ~(uint32_t)VERB_CQ_MASKS) ||
	    ((init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	     (init->flags & ~(uint32_t)IBV_CREATE_CQ_ATTR_SINGLE_THREADED)))
		return verb_refused(-EOPNOTSUPP);
	if (init->cqe > INT_MAX || init->comp_vector > INT_MAX)
		return verb_refused(-EINVAL);
	ibv = verb_create_cq(context, (int)init->cqe, init->channel, (int)init->comp_vector);
	if (ibv == NULL)
		return NULL;
	cq = verb_cq_of(ibv);
	cq->single_threaded =
		(init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) && (init->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
	verb_walk_set_functions(&cq->ibv);
	return &cq->ibv;
}

int verb_resize_cq(struct ibv_cq *ibv, int depth)
{
	struct verb_cq *cq = verb_cq_of(ibv);
	int error = depth < 1 ? -EINVAL : 0;

	verb_cq_lock(cq);
	lock_take(&cq->forgotten_lock); /* for uroce_cq_mark() */
	if (error == 0)
		error = uroce_cq_resize(cq->cq, (uint32_t)depth);
	lock_release(&cq->forgotten_lock);
	verb_cq_unlock(cq);
	if (error == 0)
		ibv->cqe = depth;
	return verb_result(error);
}

int verb_destroy_cq(struct ibv_cq *ibv)
{
	struct verb_cq *cq = verb_cq_of(ibv);
	int error = uroce_cq_destroy(cq->cq);

	if (error)
		return verb_result(error);
	verb_event_remove(VERB_CQ, cq);
	if (ibv->channel)
		verb_pipe_forget(ibv->channel->fd, cq->channel_fd, (uintptr_t)cq, sizeof(uint64_t));
	if (cq->channel_fd >= 0)
		close(cq->channel_fd);
	verb_event_wait(&ibv->mutex, &ibv->cond, &ibv->comp_events_completed, cq->comp_events);
	verb_event_wait(&ibv->mutex, &ibv->cond, &ibv->async_events_completed, cq->async_events);
	verb_forget_all(cq);
	free(cq);
	return 0;
}

void verb_cq_event(struct ibv_cq *cq)
{
	__atomic_fetch_add(&verb_cq_of(cq)->comp_events, 1, __ATOMIC_RELAXED);
}

int verb_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
	uroce_cq_arm(verb_cq_of(cq)->cq, solicited_only != 0);
	return 0;
}

static void convert(const struct uroce_wc *ours, struct ibv_wc *wc)
{
	wc->wr_id = ours->wr_id;
	wc->status = (enum ibv_wc_status)ours->status;
	wc->opcode = (enum ibv_wc_opcode)ours->opcode;
	wc->vendor_err = ours->vendor_err;
	wc->byte_len = ours->byte_len;
	wc->wc_flags = verb_wc_flags(ours);
	wc->imm_data = ours->imm_data; /* or the key that was invalidated */
	wc->qp_num = ours->qp_num;
	wc->src_qp = ours->src_qp;
	wc->pkey_index = wc->slid = wc->dlid_path_bits = 0;
	wc->sl = verb_wc_sl(ours);
	verb_wc_tell(ours);
}

int verb_poll_cq(struct ibv_cq *ibv, int count, struct ibv_wc *wc)
{
	struct verb_cq *cq = verb_cq_of(ibv);
	struct uroce_wc ours[POLLED];
	int done = 0, got;

	verb_cq_lock(cq);
	do {
		got = verb_take(cq, count - done < POLLED ? count - done : POLLED, ours);
		for (int i = 0; i < got; i++)
			convert(&ours[i], &wc[done + i]);
		done += got;
	} while (got == POLLED && done < count);
	verb_cq_unlock(cq);
	if (done == 0)
		verb_took_nothing(cq);
	return done;
}
