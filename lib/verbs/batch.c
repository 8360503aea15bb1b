/* batch.c - collects requests until ibv_wr_complete() posts them, or ibv_wr_abort() drops them */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lock of the send queue is kept from ibv_wr_start() to ibv_wr_complete(). If a request is in error,
 * ibv_wr_complete() returns the error and posts nothing. If the send queue has no room for all requests, the requests
 * that fit are posted.
 */
#include "verbs/batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/post.h"

struct request {
	struct uroce_send_wr wr;
	struct uroce_mw_bind bind;
	struct verb_to to;
};

struct verb_batch {
	int error;
	uint32_t count, room, sge_room, inline_room;
	struct request *requests;
	struct uroce_sge *sges; /* sge_room for each request */
	uint8_t *inline_bytes;  /* inline_room for each request */
	struct request surplus; /* a request that is wrong, or for which there is no room, is built here */
};

static struct verb_qp *qp_of(struct ibv_qp_ex *ex)
{
	return verb_qp_of(&ex->qp_base);
}

static struct request *begin(struct ibv_qp_ex *ex, enum uroce_wr_opcode opcode)
{
	struct verb_batch *batch = qp_of(ex)->batch;
	struct request *request = &batch->surplus;

	if (batch->count < batch->room)
		request = &batch->requests[batch->count++];
	else
		batch->error = -ENOMEM;
	memset(&request->wr, 0, sizeof(request->wr));
	request->to.ah = NULL;
	request->wr.wr_id = ex->wr_id;
	request->wr.opcode = opcode;
	request->wr.send_flags = verb_send_flags(ex->wr_flags);
	if (qp_of(ex)->sq_sig_all)
		request->wr.send_flags |= UROCE_SEND_SIGNALED;
	return request;
}

static struct request *begin_at(struct ibv_qp_ex *ex, enum uroce_wr_opcode opcode, uint32_t rkey, uint64_t remote_addr)
{
	struct request *request = begin(ex, opcode);

	request->wr.rkey = rkey;
	request->wr.remote_addr = remote_addr;
	return request;
}

/* The request that a setter changes. */
static struct request *last(struct verb_batch *batch)
{
	return batch->error || batch->count == 0 ? &batch->surplus : &batch->requests[batch->count - 1];
}

static void wr_send(struct ibv_qp_ex *ex)
{
	begin(ex, UROCE_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	begin(ex, UROCE_WR_SEND_WITH_IMM)->wr.imm_data = imm;
}

static void wr_send_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	begin_at(ex, UROCE_WR_SEND_WITH_INV, rkey, 0);
}

static void wr_rdma_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_at(ex, UROCE_WR_RDMA_WRITE, rkey, remote_addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, __be32 imm)
{
	begin_at(ex, UROCE_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr)->wr.imm_data = imm;
}

static void wr_rdma_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr)
{
	begin_at(ex, UROCE_WR_RDMA_READ, rkey, remote_addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	struct request *request = begin_at(ex, UROCE_WR_ATOMIC_CMP_AND_SWP, rkey, remote_addr);

	request->wr.compare_add = compare;
	request->wr.swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, uint64_t add)
{
	begin_at(ex, UROCE_WR_ATOMIC_FETCH_AND_ADD, rkey, remote_addr)->wr.compare_add = add;
}

static void wr_local_inv(struct ibv_qp_ex *ex, uint32_t rkey)
{
	begin_at(ex, UROCE_WR_LOCAL_INV, rkey, 0);
}

static void wr_bind_mw(struct ibv_qp_ex *ex, struct ibv_mw *mw, uint32_t rkey, const struct ibv_mw_bind_info *info)
{
	struct request *request = begin_at(ex, UROCE_WR_BIND_MW, rkey, 0);

	request->bind = verb_bind(info);
	request->wr.bind = &request->bind;
	request->wr.mw = VERB_OF(verb_mw, ibv, mw)->mw;
}

/* ---- setters for payload ---- */

static void fail(struct verb_batch *batch, int error)
{
	batch->error = batch->error ? batch->error : error;
}

/* Room for the SGEs of the last request; NULL: it is in error. */
static struct uroce_sge *sges_of_last(struct verb_batch *batch, size_t count)
{
	if (count > batch->sge_room)
		fail(batch, -EINVAL);
	if (batch->error || batch->count == 0)
		return NULL;
	last(batch)->wr.sg_list = &batch->sges[(size_t)(batch->count - 1) * batch->sge_room];
	last(batch)->wr.num_sge = (uint32_t)count;
	return &batch->sges[(size_t)(batch->count - 1) * batch->sge_room];
}

static void wr_set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *list)
{
	struct uroce_sge *sges = sges_of_last(qp_of(ex)->batch, count);

	if (sges && count)
		memcpy(sges, list, count * sizeof(*sges)); /* both structs are alike, see post.c */
}

static void wr_set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(ex, 1, &sge);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_data_buf *list)
{
	struct verb_batch *batch = qp_of(ex)->batch;
	struct uroce_sge *sge = sges_of_last(batch, 1);
	uint8_t *bytes;
	size_t at = 0;

	if (sge == NULL)
		return;
	bytes = &batch->inline_bytes[(size_t)(batch->count - 1) * batch->inline_room];
	for (size_t i = 0; i < count; i++) {
		if (list[i].length > batch->inline_room - at) {
			fail(batch, -EINVAL);
			return;
		}
		memcpy(bytes + at, list[i].addr, list[i].length);
		at += list[i].length;
	}
	*sge = (struct uroce_sge){ .addr = (uintptr_t)bytes, .length = (uint32_t)at };
	last(batch)->wr.send_flags |= UROCE_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *ex, void *addr, size_t length)
{
	const struct ibv_data_buf one = { .addr = addr, .length = length };

	wr_set_inline_data_list(ex, 1, &one);
}

/* The 8 bytes of an atomic write are copied, as all inline data is. */
static void wr_atomic_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t remote_addr, const void *value)
{
	const struct ibv_data_buf bytes = { .addr = (void *)(uintptr_t)value, .length = 8 };

	begin_at(ex, UROCE_WR_ATOMIC_WRITE, rkey, remote_addr);
	wr_set_inline_data_list(ex, 1, &bytes);
}

static void wr_set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	last(qp_of(ex)->batch)->to = (struct verb_to){ .ah = ah, .qp_num = qpn, .qkey = qkey };
}

/* ---- a batch begins and ends ---- */

static void wr_start(struct ibv_qp_ex *ex)
{
	struct verb_qp *qp = qp_of(ex);

	if (!lock_is_mine(&qp->send_lock)) /* otherwise the batch that was begun is dropped */
		lock_keep(&qp->send_lock);
	qp->batch->count = 0;
	qp->batch->error = 0;
}

static int wr_complete(struct ibv_qp_ex *ex)
{
	struct verb_qp *qp = qp_of(ex);
	struct verb_batch *batch = qp->batch;
	int error = batch->error;

	if (!lock_is_mine(&qp->send_lock))
		return verb_result(-EINVAL); /* no batch was begun */
	for (uint32_t i = 0; i < batch->count && error == 0; i++)
		error = verb_post(qp, &batch->requests[i].wr, &batch->requests[i].to);
	lock_drop(&qp->send_lock);
	return verb_result(error);
}

static void wr_abort(struct ibv_qp_ex *ex)
{
	struct verb_qp *qp = qp_of(ex);

	if (lock_is_mine(&qp->send_lock))
		lock_drop(&qp->send_lock);
}

/* ---- tables of the functions, and which operations were asked for ---- */

#define OF_DATAGRAMS ((uint64_t)IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OF_CONNECTIONS                                                                                              \
	(OF_DATAGRAMS | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | \
	 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV |       \
	 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE)

static void set_functions(struct ibv_qp_ex *ex, bool connected)
{
	ex->wr_start = wr_start;
	ex->wr_complete = wr_complete;
	ex->wr_abort = wr_abort;
	ex->wr_set_sge = wr_set_sge;
	ex->wr_set_sge_list = wr_set_sge_list;
	ex->wr_set_inline_data = wr_set_inline_data;
	ex->wr_set_inline_data_list = wr_set_inline_data_list;
	ex->wr_send = wr_send;
	ex->wr_send_imm = wr_send_imm;
	if (!connected) {
		ex->wr_set_ud_addr = wr_set_ud_addr;
		return;
	}
	ex->wr_send_inv = wr_send_inv;
	ex->wr_rdma_write = wr_rdma_write;
	ex->wr_rdma_write_imm = wr_rdma_write_imm;
	ex->wr_rdma_read = wr_rdma_read;
	ex->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	ex->wr_atomic_fetch_add = wr_atomic_fetch_add;
	ex->wr_local_inv = wr_local_inv;
	ex->wr_bind_mw = wr_bind_mw;
	ex->wr_atomic_write = wr_atomic_write;
}

int verb_batch_create(struct verb_qp *qp, uint64_t operations)
{
	uint32_t inline_bytes = qp->cap.max_inline_data;
	struct verb_batch *batch;

	if (operations & ~(qp->rc ? OF_CONNECTIONS : OF_DATAGRAMS))
		return -EOPNOTSUPP;
	batch = calloc(1, sizeof(*batch));
	if (batch == NULL)
		return -ENOMEM;
	batch->room = qp->cap.max_send_wr;
	batch->sge_room = qp->cap.max_send_sge;
	batch->inline_room = inline_bytes;
	batch->requests = calloc(batch->room, sizeof(*batch->requests));
	batch->sges = calloc((size_t)batch->room * batch->sge_room, sizeof(*batch->sges));
	batch->inline_bytes = calloc((size_t)batch->room + 1, inline_bytes + 1u);
	qp->batch = batch;
	if (batch->requests == NULL || batch->sges == NULL || batch->inline_bytes == NULL) {
		verb_batch_destroy(qp);
		return -ENOMEM;
	}
	set_functions(&qp->ibv, qp->rc != NULL);
	return 0;
}

void verb_batch_destroy(struct verb_qp *qp)
{
	if (qp->batch == NULL)
		return;
	free(qp->batch->requests);
	free(qp->batch->sges);
	free(qp->batch->inline_bytes);
	free(qp->batch);
	qp->batch = NULL;
}
