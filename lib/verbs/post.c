/* post.c - converts requests and receives of verbs and posts them one by one */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/post.h"

#include <errno.h>
#include <string.h>

#include "verbs/ops.h"

static_assert(sizeof(struct ibv_sge) == sizeof(struct uroce_sge) &&
		      offsetof(struct ibv_sge, length) == offsetof(struct uroce_sge, length) &&
		      offsetof(struct ibv_sge, lkey) == offsetof(struct uroce_sge, lkey),
	      "an SGE is the same for both");

struct uroce_mw_bind verb_bind(const struct ibv_mw_bind_info *info)
{
	return (struct uroce_mw_bind){
		.mr = info->mr ? VERB_OF(verb_mr, ibv, info->mr)->mr : NULL,
		.addr = info->addr,
		.length_bytes = info->length,
		/* programs also ask for local write, as for regions, but a window has no such right */
		.access = verb_remote_access(info->mw_access_flags) | (info->mw_access_flags & UROCE_ACCESS_ZERO_BASED),
	};
}

/* Converts a request. Returns false if its opcode or its number of SGEs is invalid. bind: filled in for a bind. */
static bool convert(const struct ibv_send_wr *wr, struct uroce_send_wr *ours, struct uroce_mw_bind *bind)
{
	if (wr->num_sge < 0)
		return false;
	ours->next = NULL;
	ours->wr_id = wr->wr_id;
	ours->sg_list = (const struct uroce_sge *)wr->sg_list;
	ours->num_sge = (uint32_t)wr->num_sge;
	ours->opcode = (enum uroce_wr_opcode)wr->opcode;
	ours->send_flags = verb_send_flags(wr->send_flags);
	ours->imm_data = wr->imm_data;
	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
		return true;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
	case IBV_WR_ATOMIC_WRITE:
		ours->remote_addr = wr->wr.rdma.remote_addr;
		ours->rkey = wr->wr.rdma.rkey;
		return true;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ours->remote_addr = wr->wr.atomic.remote_addr;
		ours->rkey = wr->wr.atomic.rkey;
		ours->compare_add = wr->wr.atomic.compare_add;
		ours->swap = wr->wr.atomic.swap;
		return true;
	case IBV_WR_SEND_WITH_INV:
	case IBV_WR_LOCAL_INV:
		ours->rkey = wr->invalidate_rkey;
		return true;
	case IBV_WR_BIND_MW:
		*bind = verb_bind(&wr->bind_mw.bind_info);
		ours->rkey = wr->bind_mw.rkey;
		ours->bind = bind;
		ours->mw = VERB_OF(verb_mw, ibv, wr->bind_mw.mw)->mw;
		return true;
	default:
		return false;
	}
}

/* The library sends datagrams from the start, so this refuses a queue pair that its user has not moved to RTS. */
static bool may_send(const struct verb_qp *qp)
{
	return qp->ibv.qp_base.state == IBV_QPS_RTS || qp->ibv.qp_base.state == IBV_QPS_SQD;
}

static int post_datagram(struct verb_qp *qp, const struct uroce_send_wr *wr, const struct verb_to *to)
{
	struct uroce_ud_addr ours = { .qp_num = to->qp_num, .qkey = to->qkey };

	if (to->ah == NULL || !may_send(qp))
		return -EINVAL;
	ours.path = VERB_OF(verb_ah, ibv, to->ah)->path;
	if (to->qkey & 0x80000000u) /* use the QP's own Q_Key, as InfiniBand demands */
		ours.qkey = qp->qkey;
	return uroce_ud_send(qp->ud, &ours, wr);
}

int verb_post(struct verb_qp *qp, const struct uroce_send_wr *wr, const struct verb_to *to)
{
	return qp->rc ? uroce_qp_post_send(qp->rc, wr, NULL) : post_datagram(qp, wr, to);
}

static int post_one(struct verb_qp *qp, const struct ibv_send_wr *wr)
{
	struct uroce_mw_bind bind;
	struct uroce_send_wr ours;

	if (!convert(wr, &ours, &bind))
		return -EINVAL;
	if (qp->sq_sig_all)
		ours.send_flags |= UROCE_SEND_SIGNALED;
	if (qp->rc)
		return uroce_qp_post_send(qp->rc, &ours, NULL);
	return post_datagram(qp, &ours, &(struct verb_to){ wr->wr.ud.ah, wr->wr.ud.remote_qpn, wr->wr.ud.remote_qkey });
}

int verb_post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct verb_qp *qp = verb_qp_of(ibv);
	int error = 0;

	lock_take(&qp->send_lock);
	for (; wr && error == 0; wr = error ? wr : wr->next)
		error = post_one(qp, wr);
	lock_release(&qp->send_lock);
	if (error == 0)
		return 0;
	*bad = wr;
	return verb_result(error);
}

int verb_post_receives(struct verb_lock *lock, verb_post_function *post, void *queue, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad)
{
	int error = 0;

	lock_take(lock);
	for (; wr; wr = wr->next) {
		const struct uroce_recv_wr ours = {
			.wr_id = wr->wr_id,
			.sg_list = (const struct uroce_sge *)wr->sg_list,
			.num_sge = (uint32_t)wr->num_sge,
		};

		error = wr->num_sge < 0 ? -EINVAL : post(queue, &ours);
		if (error)
			break;
	}
	lock_release(lock);
	if (error == 0)
		return 0;
	*bad = wr;
	return verb_result(error);
}

static int post_rc(void *queue, const struct uroce_recv_wr *wr)
{
	return uroce_qp_post_recv(queue, wr, NULL);
}

static int post_ud(void *queue, const struct uroce_recv_wr *wr)
{
	return uroce_ud_post_recv(queue, wr);
}

int verb_post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct verb_qp *qp = verb_qp_of(ibv);

	if (qp->ud && ibv->state == IBV_QPS_RESET) {
		*bad = wr;
		return verb_result(-EINVAL);
	}
	return qp->rc ? verb_post_receives(&qp->recv_lock, post_rc, qp->rc, wr, bad) :
			verb_post_receives(&qp->recv_lock, post_ud, qp->ud, wr, bad);
}

int verb_bind_mw(struct ibv_qp *ibv, struct ibv_mw *window, struct ibv_mw_bind *bind)
{
	const uint32_t flags = verb_send_flags(bind->send_flags);
	const struct uroce_mw_bind ours = verb_bind(&bind->bind_info);
	struct verb_mw *mw = VERB_OF(verb_mw, ibv, window);
	struct verb_qp *qp = verb_qp_of(ibv);
	int error = qp->rc ? 0 : -EINVAL;

	if (error == 0) {
		lock_take(&qp->send_lock);
		error = uroce_mw_bind(qp->rc, mw->mw, &ours, bind->wr_id, flags);
		lock_release(&qp->send_lock);
	}
	if (error == 0)
		mw->ibv.rkey = uroce_mw_rkey(mw->mw);
	return verb_result(error);
}
