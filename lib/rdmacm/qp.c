/* qp.c - queue pairs of ids: created, moved as the connection manager says, destroyed */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdmacm/cma.h"
#include "verbs/ops.h"

static void init_init(struct ibv_qp_attr *attr, int *mask)
{
	attr->port_num = 1;
	attr->qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

static int init_connected(struct cma_id *id, struct ibv_qp_attr *attr, int *mask)
{
	enum uroce_qp_state state = attr->qp_state == IBV_QPS_RTR ? UROCE_QPS_RTR : UROCE_QPS_RTS;
	struct uroce_qp_attr ours = { .timeout = 0 };
	uint32_t ours_mask;
	int error = uroce_cm_qp_attr(id->cm, state, &ours, &ours_mask);

	if (error)
		return error;
	if (state == UROCE_QPS_RTR) {
		attr->ah_attr = cma_path(&ours.path.source, &ours.path.dest, ours.path.traffic_class);
		attr->ah_attr.grh.flow_label = ours.path.flow_label;
		if (ours.path.hop_limit)
			attr->ah_attr.grh.hop_limit = ours.path.hop_limit;
		attr->path_mtu = verb_mtu(ours.path_mtu);
		attr->dest_qp_num = ours.dest_qp_num;
		attr->rq_psn = ours.rq_psn;
		attr->max_dest_rd_atomic =
			ours.max_dest_rd_atomic < STACK_RD_ATOMIC ? ours.max_dest_rd_atomic : STACK_RD_ATOMIC;
		attr->min_rnr_timer = ours.min_rnr_timer;
		*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		return 0;
	}
	attr->sq_psn = ours.sq_psn;
	attr->timeout = id->ack_timeout ? id->ack_timeout : ours.timeout;
	attr->retry_cnt = ours.retry_cnt;
	attr->rnr_retry = ours.rnr_retry;
	attr->max_rd_atomic = ours.max_rd_atomic;
	*mask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC;
	return 0;
}

static int init_datagrams(struct ibv_qp_attr *attr, int *mask)
{
	*mask = IBV_QP_STATE;
	if (attr->qp_state == IBV_QPS_INIT) {
		attr->port_num = 1;
		attr->qkey = UROCE_CM_UD_QKEY;
		*mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	} else if (attr->qp_state == IBV_QPS_RTS) {
		*mask |= IBV_QP_SQ_PSN;
	}
	return 0;
}

CMA_API int rdma_init_qp_attr(struct rdma_cm_id *ours, struct ibv_qp_attr *attr, int *mask)
{
	struct cma_id *id = cma_id_of(ours);
	enum ibv_qp_state state = attr->qp_state;

	memset(attr, 0, sizeof(*attr));
	attr->qp_state = state;
	if (state != IBV_QPS_INIT && state != IBV_QPS_RTR && state != IBV_QPS_RTS)
		return cma_result(-EINVAL);
	if (id->is_ud)
		return cma_result(init_datagrams(attr, mask));
	if (state != IBV_QPS_INIT)
		return cma_result(init_connected(id, attr, mask));
	init_init(attr, mask);
	return 0;
}

/*
 * RTR: tells the queue pair what its peer offers; the queue pair uses what both ends offer. With SACKs it has to know
 * its start PSN from then on, because the ports of its peer follow from it.
 */
static int agree(struct cma_id *id, struct ibv_qp_attr *rtr, int *rtr_mask)
{
	struct ibv_ece ece = { .vendor_id = VERB_ECE_VENDOR };
	struct uroce_qp_attr attr;
	uint32_t mask;
	int error = uroce_cm_qp_attr(id->cm, UROCE_QPS_RTR, &attr, &mask);

	if (error)
		return error;
	ece.options = attr.sack_window | (attr.read_repair == UROCE_READ_REPAIR_ANY_ORDER ? VERB_ECE_ANY_ORDER : 0) |
		      (attr.paths ? VERB_ECE_PATHS : 0); /* attr.paths is 1 if the peer takes several paths */
	rtr->sq_psn = attr.sq_psn;
	*rtr_mask |= IBV_QP_SQ_PSN;
	return -ibv_set_ece(id->id.qp, &ece);
}

int cma_move_qp(struct cma_id *id, enum ibv_qp_state state, uint8_t most)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask, error;

	if (rdma_init_qp_attr(&id->id, &attr, &mask) != 0)
		return -1;
	if (state == IBV_QPS_RTR && attr.max_dest_rd_atomic > most)
		attr.max_dest_rd_atomic = most;
	if (state == IBV_QPS_RTS && attr.max_rd_atomic > most)
		attr.max_rd_atomic = most;
	error = state == IBV_QPS_RTR && !id->is_ud ? -agree(id, &attr, &mask) : 0;
	if (error == 0)
		error = ibv_modify_qp(id->id.qp, &attr, mask);
	return cma_result(-error);
}

void cma_fail_qp(struct cma_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (id->id.qp && !id->is_ud)
		ibv_modify_qp(id->id.qp, &attr, IBV_QP_STATE);
}

/* ---- creating and destroying ---- */

/* Makes a completion queue with a channel, for a program that has given none. */
static int make_cq(struct cma_id *id, uint32_t depth, struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
	*channel = ibv_create_comp_channel(id->id.verbs);
	*cq = *channel ? ibv_create_cq(id->id.verbs, (int)(depth ? depth : 1), &id->id, *channel, 0) : NULL;
	return *cq ? 0 : -1;
}

static int make_cqs(struct cma_id *id, struct ibv_qp_init_attr *attr)
{
	if (attr->recv_cq == NULL) {
		if (make_cq(id, attr->cap.max_recv_wr, &id->id.recv_cq_channel, &id->id.recv_cq) != 0)
			return -1;
		attr->recv_cq = id->id.recv_cq;
	}
	if (attr->send_cq == NULL) {
		if (make_cq(id, attr->cap.max_send_wr, &id->id.send_cq_channel, &id->id.send_cq) != 0)
			return -1;
		attr->send_cq = id->id.send_cq;
	}
	return 0;
}

static void unmake_cqs(struct cma_id *id)
{
	if (id->id.recv_cq)
		ibv_destroy_cq(id->id.recv_cq);
	if (id->id.send_cq)
		ibv_destroy_cq(id->id.send_cq);
	if (id->id.recv_cq_channel)
		ibv_destroy_comp_channel(id->id.recv_cq_channel);
	if (id->id.send_cq_channel)
		ibv_destroy_comp_channel(id->id.send_cq_channel);
	id->id.recv_cq = id->id.send_cq = NULL;
	id->id.recv_cq_channel = id->id.send_cq_channel = NULL;
}

/* The protection domain of all ids of the process for which the program gives none. */
static struct ibv_pd *usual_pd(void)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static struct ibv_pd *pd;

	pthread_mutex_lock(&lock);
	if (pd == NULL)
		pd = ibv_alloc_pd(cma_context());
	pthread_mutex_unlock(&lock);
	return pd;
}

static int start_qp(struct cma_id *id)
{
	if (cma_move_qp(id, IBV_QPS_INIT, 0) != 0)
		return -1;
	if (!id->is_ud)
		return 0;
	return cma_move_qp(id, IBV_QPS_RTR, 0) != 0 ? -1 : cma_move_qp(id, IBV_QPS_RTS, 0);
}

CMA_API int rdma_create_qp_ex(struct rdma_cm_id *ours, struct ibv_qp_init_attr_ex *attr)
{
	struct cma_id *id = cma_id_of(ours);
	struct ibv_qp_init_attr cqs = { .send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .cap = attr->cap };
	int error;

	if (ours->qp || ours->verbs == NULL)
		return cma_result(-EINVAL);
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
		attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
		attr->pd = ours->pd ? ours->pd : usual_pd();
	}
	if (attr->pd == NULL || attr->pd->context != ours->verbs)
		return cma_result(-EINVAL);
	ours->pd = attr->pd;
	if (make_cqs(id, &cqs) == 0) {
		attr->send_cq = cqs.send_cq;
		attr->recv_cq = cqs.recv_cq;
		if (attr->srq == NULL)
			attr->srq = ours->srq;
		ours->qp = ibv_create_qp_ex(ours->verbs, attr);
	}
	if (ours->qp && start_qp(id) == 0)
		return 0;
	error = -errno;
	if (ours->qp)
		ibv_destroy_qp(ours->qp);
	ours->qp = NULL;
	unmake_cqs(id);
	return cma_result(error);
}

CMA_API int rdma_create_qp(struct rdma_cm_id *ours, struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex more = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd       ? pd :
		      ours->pd ? ours->pd :
				 usual_pd(),
	};
	int result = rdma_create_qp_ex(ours, &more);

	attr->cap = more.cap;
	return result;
}

CMA_API void rdma_destroy_qp(struct rdma_cm_id *ours)
{
	if (ours->qp)
		ibv_destroy_qp(ours->qp);
	ours->qp = NULL;
	unmake_cqs(cma_id_of(ours));
}

CMA_API int rdma_create_srq(struct rdma_cm_id *ours, struct ibv_pd *pd, struct ibv_srq_init_attr *attr)
{
	if (pd == NULL)
		pd = ours->pd ? ours->pd : usual_pd();
	ours->srq = pd ? ibv_create_srq(pd, attr) : NULL;
	if (ours->srq == NULL)
		return -1;
	ours->pd = pd;
	return 0;
}

CMA_API int rdma_create_srq_ex(struct rdma_cm_id *ours, struct ibv_srq_init_attr_ex *attr)
{
	struct ibv_srq_init_attr old = { .srq_context = attr->srq_context, .attr = attr->attr };

	if ((attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && attr->srq_type != IBV_SRQT_BASIC)
		return cma_result(-EOPNOTSUPP);
	return rdma_create_srq(ours, attr->comp_mask & IBV_SRQ_INIT_ATTR_PD ? attr->pd : NULL, &old);
}

CMA_API void rdma_destroy_srq(struct rdma_cm_id *ours)
{
	if (ours->srq)
		ibv_destroy_srq(ours->srq);
	ours->srq = NULL;
}
