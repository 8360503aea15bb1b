/* qp.c - queue pairs for connections and for datagrams */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/batch.h"
#include "verbs/event.h"
#include "verbs/take.h"

#define PKEY 0xFFFFu
#define REST_LIMIT_MS 61000 /* no time-wait of a number is longer */
#define REST_STEP_MS 10

static uint32_t at_least_one(uint32_t count)
{
	return count ? count : 1;
}

static int create_rc(struct verb_qp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	const struct uroce_qp_init_attr ours = {
		.send_cq = verb_cq_of(init->send_cq)->cq,
		.recv_cq = verb_cq_of(init->recv_cq)->cq,
		.srq = init->srq ? verb_srq_of(init->srq)->srq : NULL,
		.qp_context = qp->number,
		.max_send_wr = at_least_one(init->cap.max_send_wr),
		.max_recv_wr = init->cap.max_recv_wr,
		.max_send_sge = at_least_one(init->cap.max_send_sge),
		.max_recv_sge = at_least_one(init->cap.max_recv_sge),
		/* at least the size of an SGE: programs for adapters that always allow so much do not ask for it */
		.max_inline_data = init->cap.max_inline_data < 16 ? 16 : init->cap.max_inline_data,
		.max_dest_rd_atomic = STACK_RD_ATOMIC,
		.sq_sig_all = init->sq_sig_all != 0,
	};
	int error = uroce_qp_create(verb_pd_of(pd)->pd, &ours, &qp->rc);

	if (error)
		return error;
	qp->ibv.qp_base.qp_num = uroce_qp_num(qp->rc);
	qp->cap.max_inline_data = ours.max_inline_data;
	return 0;
}

static int create_ud(struct verb_qp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	const struct uroce_ud_init_attr ours = {
		.send_cq = verb_cq_of(init->send_cq)->cq,
		.recv_cq = verb_cq_of(init->recv_cq)->cq,
		.qp_context = qp->number,
		.max_recv_wr = at_least_one(init->cap.max_recv_wr),
		.max_recv_sge = at_least_one(init->cap.max_recv_sge),
		.srq = init->srq ? verb_srq_of(init->srq)->srq : NULL,
	};
	const struct uroce_device_info *info = &verb_context_of(pd->context)->stack->info;
	int error;

	/* Datagrams are sent at once, without a send queue, but a program that asks for too much is refused. */
	if (init->cap.max_send_wr > info->max_queue_depth || init->cap.max_send_sge > info->max_sge ||
	    init->cap.max_inline_data > info->max_inline_bytes)
		return -EINVAL;
	error = uroce_ud_create(verb_pd_of(pd)->pd, &ours, &qp->ud);
	if (error)
		return error;
	qp->ibv.qp_base.qp_num = uroce_ud_num(qp->ud);
	if (init->srq)
		return 0;
	qp->cap.max_recv_wr = 1;
	while (qp->cap.max_recv_wr < ours.max_recv_wr)
		qp->cap.max_recv_wr *= 2; /* as uroce_ud_create() rounds */
	return 0;
}

static void fill(struct verb_qp *qp, struct ibv_pd *pd, const struct ibv_qp_init_attr *init)
{
	struct ibv_qp *ibv = &qp->ibv.qp_base;

	ibv->context = pd->context;
	ibv->qp_context = init->qp_context;
	ibv->pd = pd;
	ibv->send_cq = init->send_cq;
	ibv->recv_cq = init->recv_cq;
	ibv->srq = init->srq;
	ibv->qp_type = init->qp_type;
	ibv->state = IBV_QPS_RESET;
	qp->number = verb_event_draw();
	qp->cap = init->cap;
	qp->sq_sig_all = init->sq_sig_all != 0;
	pthread_mutex_init(&ibv->mutex, NULL);
	pthread_cond_init(&ibv->cond, NULL);
}

struct ibv_qp *verb_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct verb_qp *qp;
	int error;

	if (init->qp_type == IBV_QPT_UC)
		return verb_unsupported(VERB_UC);
	if (init->qp_type != IBV_QPT_RC && init->qp_type != IBV_QPT_UD)
		return verb_unsupported(init->qp_type == IBV_QPT_RAW_PACKET ? VERB_RAW : VERB_XRC);
	if (init->send_cq == NULL || init->recv_cq == NULL)
		return verb_refused(-EINVAL);
	qp = calloc(1, sizeof(*qp));
	if (qp == NULL)
		return verb_refused(-ENOMEM);
	fill(qp, pd, init);
	error = init->qp_type == IBV_QPT_RC ? create_rc(qp, pd, init) : create_ud(qp, pd, init);
	if (error) {
		free(qp);
		return verb_refused(error == -ENOSPC ? -ENOMEM : error);
	}
	init->cap = qp->cap;
	verb_event_add(VERB_QP, qp);
	return &qp->ibv.qp_base;
}

struct ibv_qp *verb_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init, bool *posts)
{
	struct ibv_qp_init_attr old = {
		.qp_context = init->qp_context,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.srq = init->srq,
		.cap = init->cap,
		.qp_type = init->qp_type,
		.sq_sig_all = init->sq_sig_all,
	};
	struct ibv_qp *ibv;
	int error;

	(void)context;
	if ((init->comp_mask &
	     ~(uint32_t)(IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS | IBV_QP_INIT_ATTR_CREATE_FLAGS)) ||
	    ((init->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) && init->create_flags))
		return verb_refused(-EOPNOTSUPP);
	if (!(init->comp_mask & IBV_QP_INIT_ATTR_PD) || init->pd == NULL)
		return verb_refused(-EINVAL);
	*posts = init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	if (*posts && (init->send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE) && old.cap.max_inline_data < 8)
		old.cap.max_inline_data = 8; /* what an ATOMIC WRITE writes is copied */
	ibv = verb_create_qp(init->pd, &old);
	if (ibv == NULL)
		return NULL;
	init->cap = old.cap;
	error = *posts ? verb_batch_create(verb_qp_of(ibv), init->send_ops_flags) : 0;
	if (error == 0)
		return ibv;
	verb_destroy_qp(ibv);
	return verb_refused(error);
}

static void forget_completions(struct ibv_qp *ibv)
{
	verb_forget(ibv->send_cq, ibv->qp_num);
	if (ibv->recv_cq != ibv->send_cq)
		verb_forget(ibv->recv_cq, ibv->qp_num);
}

int verb_destroy_qp(struct ibv_qp *ibv)
{
	struct verb_qp *qp = verb_qp_of(ibv);
	int error = qp->rc ? uroce_qp_destroy(qp->rc) : uroce_ud_destroy(qp->ud);

	if (error)
		return verb_result(error);
	forget_completions(ibv);
	verb_event_remove(VERB_QP, qp);
	verb_event_wait(&ibv->mutex, &ibv->cond, &ibv->events_completed, qp->async_events);
	verb_batch_destroy(qp);
	free(qp);
	return 0;
}

/* ---- modify ---- */

static enum uroce_qp_state state_of(enum ibv_qp_state state)
{
	return state == IBV_QPS_SQE ? UROCE_QPS_ERR : (enum uroce_qp_state)state;
}

/* Attributes of uroce; and those that check() looks at, or that change nothing: SQ_DRAINED is always raised. */
#define TAKEN                                                                                                          \
	(UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS | UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_TIMEOUT |               \
	 UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_RQ_PSN | UROCE_QP_MAX_RD_ATOMIC | UROCE_QP_MIN_RNR_TIMER | \
	 UROCE_QP_SQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_DEST_QPN)
#define CHECKED (IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_CUR_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY)

static void remember(struct verb_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct ibv_qp_attr *set = &qp->set;

	if (mask & IBV_QP_ACCESS_FLAGS)
		set->qp_access_flags = attr->qp_access_flags;
	if (mask & IBV_QP_PKEY_INDEX)
		set->pkey_index = attr->pkey_index;
	if (mask & IBV_QP_PORT)
		set->port_num = attr->port_num;
	if (mask & IBV_QP_AV)
		set->ah_attr = attr->ah_attr;
	if (mask & IBV_QP_QKEY)
		set->qkey = qp->qkey = attr->qkey;
	if (mask & IBV_QP_SQ_PSN)
		set->sq_psn = attr->sq_psn;
}

static int check(const struct ibv_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if ((mask & IBV_QP_CUR_STATE) && attr->cur_qp_state != qp->state)
		return -EINVAL;
	if ((mask & IBV_QP_PORT) && attr->port_num != 1)
		return -EINVAL;
	if ((mask & IBV_QP_PKEY_INDEX) && attr->pkey_index != 0)
		return -EINVAL;
	return 0;
}

/*
 * After a reset the number of a QP is in time-wait for some seconds, so that packets of the last connection are not
 * taken for packets of the next one. Programs do not know that, so the call waits.
 */
static int change_rested(struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask)
{
	int error = uroce_qp_modify(qp, attr, mask, NULL);

	for (unsigned waited_ms = 0; error == -EAGAIN && waited_ms < REST_LIMIT_MS; waited_ms += REST_STEP_MS) {
		usleep(REST_STEP_MS * 1000);
		error = uroce_qp_modify(qp, attr, mask, NULL);
	}
	return error;
}

/* ---- what both ends may agree on beyond RC ---- */

static uint32_t ece_offered(const struct ibv_qp *qp)
{
	const struct stack *stack = verb_context_of(qp->context)->stack;

	return stack->sack_window | VERB_ECE_ANY_ORDER | (stack->paths ? VERB_ECE_PATHS : 0);
}

/* Tells what both ends have agreed on or, before they have agreed, what this end offers. */
int verb_query_ece(struct ibv_qp *ibv, struct ibv_ece *ece)
{
	const struct verb_qp *qp = verb_qp_of(ibv);

	*ece = (struct ibv_ece){ 0 };
	if (qp->rc)
		*ece = (struct ibv_ece){ .vendor_id = VERB_ECE_VENDOR,
					 .options = qp->has_ece ? qp->ece : ece_offered(ibv) };
	return 0;
}

/* Agrees on what both the peer and this end offer; the queue pair gets these options when it is moved to RTR. */
int verb_set_ece(struct ibv_qp *ibv, struct ibv_ece *ece)
{
	struct verb_qp *qp = verb_qp_of(ibv);
	uint32_t ours = ece_offered(ibv), window = ece->options & VERB_ECE_WINDOW;

	if (qp->rc == NULL)
		return verb_result(-EOPNOTSUPP);
	if (ece->vendor_id != VERB_ECE_VENDOR || ece->comp_mask || (window & (window - 1)) ||
	    ece->options & ~(VERB_ECE_WINDOW | VERB_ECE_ANY_ORDER | VERB_ECE_PATHS) ||
	    (ibv->state != IBV_QPS_RESET && ibv->state != IBV_QPS_INIT))
		return verb_result(-EINVAL);
	if (window > (ours & VERB_ECE_WINDOW))
		window = ours & VERB_ECE_WINDOW;
	qp->ece = window | (ours & ece->options & (VERB_ECE_ANY_ORDER | (window ? VERB_ECE_PATHS : 0)));
	qp->has_ece = true;
	return 0;
}

/* Adds the options that both ends have agreed on to attr; returns the bits of the attributes added. */
static uint32_t add_ece(const struct verb_qp *qp, struct uroce_qp_attr *attr)
{
	attr->sack_window = (uint16_t)(qp->ece & VERB_ECE_WINDOW);
	attr->paths = qp->ece & VERB_ECE_PATHS ? verb_context_of(qp->ibv.qp_base.context)->stack->paths : 0;
	attr->read_repair = qp->ece & VERB_ECE_ANY_ORDER ? UROCE_READ_REPAIR_ANY_ORDER : UROCE_READ_REPAIR_UPWARDS;
	if (!qp->has_ece || (attr->qp_state != UROCE_QPS_RTR && attr->qp_state != UROCE_QPS_RTS))
		return 0;
	return attr->qp_state == UROCE_QPS_RTR ? UROCE_QP_SACK_WINDOW | UROCE_QP_PATHS : UROCE_QP_READ_REPAIR;
}

static int modify_rc(struct verb_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	struct uroce_qp_attr ours = {
		.qp_state = mask & IBV_QP_STATE ? state_of(attr->qp_state) : 0,
		.access_flags = verb_remote_access(attr->qp_access_flags),
		.path_mtu = verb_mtu_bytes(attr->path_mtu),
		.dest_qp_num = attr->dest_qp_num,
		.rq_psn = attr->rq_psn & 0xFFFFFF,
		.sq_psn = attr->sq_psn & 0xFFFFFF,
		.max_rd_atomic = attr->max_rd_atomic,
		.max_dest_rd_atomic = attr->max_dest_rd_atomic,
		.min_rnr_timer = attr->min_rnr_timer,
		.timeout = attr->timeout,
		.retry_cnt = attr->retry_cnt,
		.rnr_retry = attr->rnr_retry,
	};
	uint32_t ece_mask = 0;
	int error = mask & ~(TAKEN | CHECKED) ? -EINVAL : check(&qp->ibv.qp_base, attr, mask);

	if (error == 0 && (mask & IBV_QP_AV))
		error = verb_path(qp->ibv.qp_base.context, &attr->ah_attr, &ours.path);
	if (error == 0 && (mask & IBV_QP_PATH_MTU) && (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096))
		error = -EINVAL;
	if (mask & IBV_QP_STATE)
		ece_mask = add_ece(qp, &ours);
	return error ? error : change_rested(qp->rc, &ours, ((uint32_t)mask & TAKEN) | ece_mask);
}

int verb_modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
	struct verb_qp *qp = verb_qp_of(ibv);
	int error = qp->rc ? modify_rc(qp, attr, mask) : check(ibv, attr, mask);

	if (error)
		return verb_result(error);
	remember(qp, attr, mask);
	if ((mask & IBV_QP_STATE) && attr->qp_state == IBV_QPS_RESET) {
		forget_completions(ibv);
		qp->has_ece = false;
	}
	if (qp->ud && (mask & IBV_QP_QKEY))
		uroce_ud_set_qkey(qp->ud, attr->qkey);
	return 0;
}

int verb_query_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask, struct ibv_qp_init_attr *init)
{
	struct verb_qp *qp = verb_qp_of(ibv);
	struct uroce_qp_attr ours = { .pkey = PKEY };
	int error = qp->rc ? uroce_qp_query(qp->rc, &ours) : 0;

	(void)mask;
	if (error)
		return verb_result(error);
	*attr = qp->set;
	attr->cap = qp->cap;
	attr->qp_state = attr->cur_qp_state = ibv->state;
	if (qp->rc) {
		attr->qp_state = attr->cur_qp_state = (enum ibv_qp_state)ours.qp_state;
		attr->path_mtu = verb_mtu(ours.path_mtu);
		attr->dest_qp_num = ours.dest_qp_num;
		attr->rq_psn = ours.rq_psn;
		attr->sq_psn = ours.sq_psn;
		attr->max_rd_atomic = ours.max_rd_atomic;
		attr->max_dest_rd_atomic = ours.max_dest_rd_atomic;
		attr->min_rnr_timer = ours.min_rnr_timer;
		attr->timeout = ours.timeout;
		attr->retry_cnt = ours.retry_cnt;
		attr->rnr_retry = ours.rnr_retry;
	}
	*init = (struct ibv_qp_init_attr){
		.qp_context = ibv->qp_context,
		.send_cq = ibv->send_cq,
		.recv_cq = ibv->recv_cq,
		.srq = ibv->srq,
		.cap = qp->cap,
		.qp_type = ibv->qp_type,
		.sq_sig_all = qp->sq_sig_all,
	};
	return 0;
}
