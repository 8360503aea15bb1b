/* cq.c - completion queues and the channels that wake who sleeps on them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/ops.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "verbs/event.h"

#define POLLED 16 /* completions that are taken at a time */

static_assert((int)UROCE_WC_RNR_RETRY_EXC_ERR == (int)IBV_WC_RNR_RETRY_EXC_ERR &&
		      (int)UROCE_WC_REM_ACCESS_ERR == (int)IBV_WC_REM_ACCESS_ERR &&
		      (int)UROCE_WC_WR_FLUSH_ERR == (int)IBV_WC_WR_FLUSH_ERR,
	      "statuses are verbs' own");

/* ---- queues ---- */

static int join_channel(struct verb_cq *cq, const struct ibv_comp_channel *channel)
{
	cq->channel_fd = -1;
	if (channel == NULL)
		return 0;
	cq->channel_fd = verb_pipe_writer(channel->fd);
	if (cq->channel_fd < 0)
		return -errno;
	uroce_cq_set_fd(cq->cq, cq->channel_fd, (uintptr_t)cq); /* libibverbs reads the handle of an ibv_cq */
	return 0;
}

struct ibv_cq *verb_create_cq(struct ibv_context *context, int depth, struct ibv_comp_channel *channel, int vector)
{
	struct verb_context *own = verb_context_of(context);
	struct verb_cq *cq;
	int error;

	if (depth < 1 || vector < 0 || vector >= context->num_comp_vectors) {
		verb_result(-EINVAL);
		return NULL;
	}
	cq = calloc(1, sizeof(*cq));
	error = cq ? uroce_cq_create(own->stack->device, (uint32_t)depth, &cq->cq) : -ENOMEM;
	if (error == 0) {
		error = join_channel(cq, channel);
		if (error)
			uroce_cq_destroy(cq->cq);
	}
	if (error) {
		free(cq);
		verb_result(error);
		return NULL;
	}
	uroce_cq_set_context(cq->cq, (uintptr_t)cq);
	pthread_spin_init(&cq->lock, PTHREAD_PROCESS_PRIVATE);
	((struct ibv_cq *)&cq->ibv)->cqe = depth;
	verb_event_add(VERB_CQ, cq);
	return (struct ibv_cq *)&cq->ibv;
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
	pthread_spin_destroy(&cq->lock);
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

static enum ibv_wc_opcode opcode_of(uint8_t ours)
{
	return ours == UROCE_WC_ATOMIC_WRITE ? IBV_WC_ATOMIC_WRITE : (enum ibv_wc_opcode)ours;
}

static unsigned flags_of(uint16_t ours)
{
	return (ours & UROCE_WC_WITH_IMM ? IBV_WC_WITH_IMM : 0) | (ours & UROCE_WC_WITH_INV ? IBV_WC_WITH_INV : 0) |
	       (ours & UROCE_WC_GRH ? IBV_WC_GRH : 0);
}

bool verb_explains;

static __attribute__((constructor)) void read_explain(void)
{
	const char *given = getenv("UROCE_EXPLAIN");

	verb_explains = given && *given == '1';
}

static void explain(const struct uroce_wc *wc)
{
	char line[UROCE_EXPLAIN_BYTES];

	fprintf(stderr, "uroce: %s\n", uroce_wc_explain(wc, line, sizeof(line)));
}

static void convert(const struct uroce_wc *ours, struct ibv_wc *wc)
{
	wc->wr_id = ours->wr_id;
	wc->status = (enum ibv_wc_status)ours->status;
	wc->opcode = opcode_of(ours->opcode);
	wc->vendor_err = ours->vendor_err;
	wc->byte_len = ours->byte_len;
	wc->wc_flags = flags_of(ours->wc_flags);
	if (ours->wc_flags & UROCE_WC_WITH_INV)
		wc->invalidated_rkey = ours->invalidated_rkey;
	else
		wc->imm_data = htonl(ours->imm);
	wc->qp_num = ours->qp_num;
	wc->src_qp = ours->src_qp;
	wc->pkey_index = wc->slid = wc->dlid_path_bits = 0;
	/* Programs of today learn from it how the header in front of a datagram looks: 8, and the kind of network. */
	wc->sl = ours->wc_flags & UROCE_WC_GRH ? (uint8_t)(8 | (ours->ip_version == 4 ? 2 : 1)) : 0;
	if (ours->status != UROCE_WC_SUCCESS && ours->status != UROCE_WC_WR_FLUSH_ERR && verb_explains)
		explain(ours);
}

int verb_poll_cq(struct ibv_cq *ibv, int count, struct ibv_wc *wc)
{
	struct verb_cq *cq = verb_cq_of(ibv);
	struct uroce_wc ours[POLLED];
	int done = 0, got;

	pthread_spin_lock(&cq->lock);
	do {
		got = uroce_cq_poll(cq->cq, count - done < POLLED ? count - done : POLLED, ours);
		for (int i = 0; i < got; i++)
			convert(&ours[i], &wc[done + i]);
		done += got;
	} while (got == POLLED && done < count);
	pthread_spin_unlock(&cq->lock);
	return done;
}
