/* walk.c - walks over completions by ibv_cq_ex; the queue's lock is kept from the first completion to the end */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/walk.h"

#include <errno.h>

#include "verbs/take.h"
#include "verbs/wc.h"

static const struct uroce_wc *current(struct ibv_cq_ex *ex)
{
	return &VERB_OF(verb_cq, ibv, ex)->current;
}

static int next_poll(struct ibv_cq_ex *ex)
{
	struct verb_cq *cq = VERB_OF(verb_cq, ibv, ex);

	if (verb_take(cq, 1, &cq->current) != 1)
		return ENOENT;
	ex->status = (enum ibv_wc_status)cq->current.status;
	ex->wr_id = cq->current.wr_id;
	verb_wc_tell(&cq->current);
	return 0;
}

static void begin(struct verb_cq *cq)
{
	if (!cq->single_threaded)
		lock_keep(&cq->lock);
	cq->walks = true;
}

static void end(struct verb_cq *cq)
{
	cq->walks = false;
	if (!cq->single_threaded)
		lock_drop(&cq->lock);
}

/* Does the calling thread walk already? */
static bool walks(const struct verb_cq *cq)
{
	return (cq->single_threaded || lock_is_mine(&cq->lock)) && cq->walks;
}

static int start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	struct verb_cq *cq = VERB_OF(verb_cq, ibv, ex);
	int error;

	if (attr->comp_mask)
		return EINVAL;
	if (walks(cq))
		return EBUSY;
	begin(cq);
	error = next_poll(ex);
	if (error) {
		end(cq);
		verb_took_nothing(cq);
	}
	return error;
}

static void end_poll(struct ibv_cq_ex *ex)
{
	struct verb_cq *cq = VERB_OF(verb_cq, ibv, ex);

	if (walks(cq))
		end(cq);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ex)
{
	return (enum ibv_wc_opcode)current(ex)->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ex)
{
	return current(ex)->vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ex)
{
	return current(ex)->byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *ex)
{
	return current(ex)->imm_data; /* or the key that was invalidated */
}

static uint32_t read_qp_num(struct ibv_cq_ex *ex)
{
	return current(ex)->qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ex)
{
	return current(ex)->src_qp;
}

static unsigned read_wc_flags(struct ibv_cq_ex *ex)
{
	return verb_wc_flags(current(ex));
}

static uint8_t read_sl(struct ibv_cq_ex *ex)
{
	return verb_wc_sl(current(ex));
}

/* Ethernet has neither of the two. */
static uint32_t read_slid(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ex)
{
	(void)ex;
	return 0;
}

void verb_walk_set_functions(struct ibv_cq_ex *cq)
{
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_qp_num = read_qp_num;
	cq->read_src_qp = read_src_qp;
	cq->read_wc_flags = read_wc_flags;
	cq->read_sl = read_sl;
	cq->read_slid = read_slid;
	cq->read_dlid_path_bits = read_dlid_path_bits;
}
