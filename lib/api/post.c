/* post.c - posts requests; only after a refusal it finds out which rule was broken */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "api/post.h"

#include <errno.h>

#include "engine/log.h"
#include "engine/qp.h"

static int refuse_list(uint32_t num_sge, const struct uroce_sge *list, uint32_t limit)
{
	if (num_sge > limit)
		return engine_refuse(-EINVAL, "num_sge %u: must be 0 to %u, the limit of the queue", num_sge, limit);
	return num_sge && list == NULL ? engine_refuse(-EINVAL, "sg_list: NULL although num_sge is %u", num_sge) : 0;
}

static int refuse_window(const struct uroce_send_wr *wr)
{
	if (wr->mw == NULL || wr->bind == NULL)
		return engine_refuse(
			-EINVAL,
			"mw, bind: must not be NULL; BIND_MW requires a memory window and its bind information");
	return engine_refuse(-EINVAL,
			     "mw, rkey 0x%08x: uroce_mw_bind() requires a type 1 window; BIND_MW requires a type 2 "
			     "window and the key returned by uroce_mw_next_rkey()",
			     wr->rkey);
}

static uint64_t bytes_of(const struct uroce_send_wr *wr)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	return bytes;
}

/* Checks what the operation itself requires. */
static int refuse_operation(const struct rc_sendwin *win, const struct uroce_send_wr *wr)
{
	const struct rc_op *op = &rc_ops[wr->opcode];
	uint64_t bytes = bytes_of(wr);

	if ((wr->send_flags & UROCE_SEND_INLINE) && bytes > win->inline_limit)
		return engine_refuse(-EINVAL, "%lu bytes inline: must not exceed %u, the max_inline_data of the QP",
				     bytes, win->inline_limit);
	if (op->pieces == PIECES_RANGE)
		return engine_refuse(-EINVAL,
				     "flush 0x%x, num_sge %u: FLUSH must have no SGEs, and requires UROCE_FLUSH_GLOBAL "
				     "or UROCE_FLUSH_PERSISTENT and a max_rd_atomic of 1 or more",
				     wr->flush, wr->num_sge);
	if (atomic_load_explicit(&win->no_rd_atomic, memory_order_relaxed) && (op->needs & NEEDS_RESPONSE))
		return engine_refuse(-EINVAL, "opcode %u: the max_rd_atomic of the QP is 0; set it to 1 or more",
				     (unsigned)wr->opcode);
	if (op->pieces == PIECES_EIGHT_BYTES && (wr->num_sge != 1 || bytes != 8))
		return engine_refuse(-EINVAL, "num_sge %u, %lu bytes: an atomic requires one SGE of 8 bytes",
				     wr->num_sge, bytes);
	return engine_refuse(-EINVAL, "send_flags 0x%x, num_sge %u: opcode %u does not allow these flags or SGEs",
			     wr->send_flags, wr->num_sge, (unsigned)wr->opcode);
}

int api_post_refuse_send(struct uroce_qp *qp, int error, const struct uroce_send_wr *wr)
{
	const struct rc_sendwin *win = &qp_core(qp)->win;
	enum uroce_qp_state state = (enum uroce_qp_state)atomic_load_explicit(&win->post_state, memory_order_acquire);

	if (error == -ENOMEM)
		return engine_refuse_often(error,
					   "max_send_wr %u: the send queue is full: completions free entries, so poll "
					   "the CQ, and signal at least one request per max_send_wr requests",
					   win->depth);
	if (state == UROCE_QPS_RESET || state == UROCE_QPS_INIT || state == UROCE_QPS_RTR)
		return engine_refuse(error, "state %s: send requests can be posted only in RTS, SQD and ERR",
				     uroce_qp_state_name(state));
	if ((unsigned)wr->opcode >= UROCE_WR_OPCODES || rc_ops[wr->opcode].pieces == PIECES_NO_OPERATION)
		return engine_refuse(error, "opcode %u: not a member of enum uroce_wr_opcode", (unsigned)wr->opcode);
	if (wr->mw || rc_ops[wr->opcode].pieces == PIECES_BIND)
		return refuse_window(wr);
	if (refuse_list(wr->num_sge, wr->sg_list, win->sge_limit) == 0)
		refuse_operation(win, wr);
	return error;
}

int api_post_refuse_recv(const struct rc_recvq *queue, int error, const struct uroce_recv_wr *wr)
{
	if (error == -ENOMEM)
		return engine_refuse_often(
			error, "max_recv_wr %u: the receive queue is full; each message received frees one entry",
			queue->depth);
	if (queue->srq)
		return engine_refuse(error, "the QP receives from its SRQ: post to the SRQ with uroce_srq_post_recv()");
	if (refuse_list(wr->num_sge, wr->sg_list, queue->sge_limit) == 0)
		engine_refuse(error, "state RESET: receives can be posted in all states except RESET");
	return error;
}

int api_post_refuse_shared(const struct rc_srq *srq, int error, const struct uroce_recv_wr *wr)
{
	if (error == -ENOMEM)
		return engine_refuse_often(
			error, "max_wr %u: the shared receive queue is full; each message received frees one entry",
			srq->depth);
	refuse_list(wr->num_sge, wr->sg_list, srq->sge_limit);
	return error;
}
