/* sendwin.c - the send window: posting, acknowledging, rewinding */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "config/limits.h"
#include "rc/sendwin.h"

static_assert(UROCE_WR_RDMA_WRITE_WITH_IMM + 1 == UROCE_WR_RDMA_READ && UROCE_WR_FLUSH + 1 == UROCE_WR_LOCAL_INV,
	      "wqe_needs_answer compares opcodes");

uint32_t rc_sendwin_slot_bytes(uint32_t sge_limit, uint32_t inline_limit)
{
	uint32_t pieces = (uint32_t)sizeof(struct uroce_sge) * (sge_limit ? sge_limit : 1);
	uint32_t body = inline_limit > pieces ? inline_limit : pieces;

	return ((uint32_t)offsetof(struct rc_send_wqe, sges) + body + 15) & ~15u;
}

uint64_t rc_sendwin_ring_bytes(uint32_t slots, uint32_t slot_bytes)
{
	return (uint64_t)slots * (slot_bytes + sizeof(struct rc_atomic_operands));
}

static bool is_atomic(uint32_t opcode)
{
	return opcode == UROCE_WR_ATOMIC_CMP_AND_SWP || opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD;
}

static bool flush_is_valid(const struct uroce_send_wr *wr)
{
	const uint32_t reach = UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT;

	return (wr->flush & reach) && !(wr->flush & ~(reach | UROCE_FLUSH_WHOLE_REGION)) && wr->num_sge == 0;
}

/* The operations, and what data each takes. */
static bool data_is_valid(const struct uroce_send_wr *wr)
{
	bool inline_data = wr->send_flags & UROCE_SEND_INLINE;

	switch (wr->opcode) {
	case UROCE_WR_SEND:
	case UROCE_WR_SEND_WITH_IMM:
	case UROCE_WR_SEND_WITH_INV:
	case UROCE_WR_RDMA_WRITE:
	case UROCE_WR_RDMA_WRITE_WITH_IMM:
		return true;
	case UROCE_WR_RDMA_READ:
		return !inline_data;
	case UROCE_WR_ATOMIC_CMP_AND_SWP:
	case UROCE_WR_ATOMIC_FETCH_AND_ADD:
		return !inline_data && wr->num_sge == 1 && wr->sg_list[0].length == 8;
	case UROCE_WR_ATOMIC_WRITE:
		return wr->num_sge == 1 && wr->sg_list[0].length == 8;
	case UROCE_WR_FLUSH:
		return !inline_data && flush_is_valid(wr);
	case UROCE_WR_LOCAL_INV:
	case UROCE_WR_BIND_MW:
		return !inline_data && wr->num_sge == 0;
	case UROCE_WR_OPCODES:
		break;
	}
	return false; /* no opcode */
}

static bool wr_is_valid(const struct uroce_send_wr *wr)
{
	uint32_t known = UROCE_SEND_SIGNALED | UROCE_SEND_SOLICITED | UROCE_SEND_INLINE | UROCE_SEND_FENCE;

	return !(wr->send_flags & ~known) && data_is_valid(wr);
}

static uint64_t total_length(const struct uroce_send_wr *wr)
{
	uint64_t total = wr->opcode == UROCE_WR_FLUSH ? wr->flush_bytes : 0;

	for (uint32_t i = 0; i < wr->num_sge; i++)
		total += wr->sg_list[i].length;
	return total;
}

/* the source may be reused when the post returns. */
static void copy_inline(struct rc_send_wqe *wqe, const struct uroce_send_wr *wr)
{
	uint8_t *at = (uint8_t *)wqe->sges;

	for (uint32_t i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > 0) /* or the address may be NULL */
			memcpy(at, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		at += wr->sg_list[i].length;
	}
	wqe->sge_count = 0;
}

/* M-6: what the application can still write is read once; what follows sees only the copy. */
static bool take_request(const struct rc_sendwin *win, const struct uroce_send_wr *wr, struct uroce_send_wr *once,
			 struct uroce_sge pieces[LIMIT_SGE])
{
	*once = *wr;
	if (once->num_sge > win->sge_limit || (once->num_sge > 0 && once->sg_list == NULL))
		return false;
	for (uint32_t i = 0; i < once->num_sge; i++)
		pieces[i] = once->sg_list[i];
	once->sg_list = pieces;
	return true;
}

static uint8_t send_flags(const struct rc_sendwin *win, const struct uroce_send_wr *wr)
{
	return (uint8_t)(wr->send_flags | (win->signal_all ? UROCE_SEND_SIGNALED : 0));
}

static inline uint8_t needs_of(uint32_t opcode, uint32_t flags, uint64_t total)
{
	static const uint8_t needs[UROCE_WR_OPCODES] = {
		[UROCE_WR_SEND] = NEEDS_RECEIVE,
		[UROCE_WR_SEND_WITH_IMM] = NEEDS_RECEIVE,
		[UROCE_WR_SEND_WITH_INV] = NEEDS_RECEIVE,
		[UROCE_WR_RDMA_WRITE_WITH_IMM] = NEEDS_RECEIVE,
		[UROCE_WR_RDMA_READ] = NEEDS_ANSWER,
		[UROCE_WR_ATOMIC_CMP_AND_SWP] = NEEDS_ANSWER,
		[UROCE_WR_ATOMIC_FETCH_AND_ADD] = NEEDS_ANSWER,
		[UROCE_WR_ATOMIC_WRITE] = NEEDS_ANSWER,
		[UROCE_WR_FLUSH] = NEEDS_ANSWER,
		[UROCE_WR_LOCAL_INV] = NEEDS_NO_PACKET,
		[UROCE_WR_BIND_MW] = NEEDS_NO_PACKET,
	};

	return (uint8_t)(needs[opcode] | (flags & UROCE_SEND_FENCE ? NEEDS_FENCE : 0) |
			 (total > LIMIT_MESSAGE_BYTES ? NEEDS_TOO_MUCH : 0));
}

static void fill_slot(const struct rc_sendwin *win, const struct uroce_send_wr *wr, uint64_t total)
{
	struct rc_send_wqe *wqe = sendwin_slot(win, win->posting);

	wqe->wr_id = wr->wr_id;
	wqe->opcode = (uint8_t)wr->opcode;
	wqe->flags = send_flags(win, wr);
	wqe->sge_count = (uint8_t)wr->num_sge;
	wqe->imm = wr->opcode == UROCE_WR_FLUSH ? wr->flush : wr->imm;
	wqe->remote_va = wr->remote_addr;
	wqe->rkey = wr->rkey;
	wqe->length_bytes = (uint32_t)total;
	wqe->needs = needs_of(wr->opcode, wr->send_flags, total);
	if (wr->send_flags & UROCE_SEND_INLINE) {
		copy_inline(wqe, wr);
	} else {
		for (uint32_t i = 0; i < wr->num_sge; i++)
			wqe->sges[i] = wr->sg_list[i];
	}
	if (is_atomic(wr->opcode))
		*sendwin_operands(win, win->posting) =
			(struct rc_atomic_operands){ .compare_add = wr->compare_add, .swap = wr->swap };
}

static inline bool is_full(struct rc_sendwin *win)
{
	if (win->posting - win->free_up_to < win->depth)
		return false;
	/* pairs with S2 in the completer's report: the lcore has finished with the slot */
	win->free_up_to = atomic_load_explicit(&win->freed, memory_order_acquire);
	return win->posting - win->free_up_to >= win->depth;
}

static void publish(struct rc_sendwin *win)
{
	/* S1: publishes the slot */
	atomic_store_explicit(&win->posted, ++win->posting, memory_order_release);
}

/* What is posted most: a SEND or WRITE of one piece, perhaps inline, or a READ into one. */
static inline bool is_plain(uint32_t opcode, uint32_t flags, uint32_t num_sge)
{
	uint32_t known = UROCE_SEND_SIGNALED | UROCE_SEND_SOLICITED | UROCE_SEND_FENCE |
			 (opcode == UROCE_WR_RDMA_READ ? 0 : UROCE_SEND_INLINE);

	return opcode <= UROCE_WR_RDMA_READ && num_sge == 1 && !(flags & ~known);
}

/* As rc_sendwin_post(), each field read once straight into the slot. false: not posted, the long way judges. */
static inline bool post_plainly(struct rc_sendwin *win, const struct uroce_send_wr *wr)
{
	uint32_t opcode = __atomic_load_n(&wr->opcode, __ATOMIC_RELAXED);
	uint32_t flags = __atomic_load_n(&wr->send_flags, __ATOMIC_RELAXED);
	const struct uroce_sge *sges = wr->sg_list;
	struct rc_send_wqe *wqe = sendwin_slot(win, win->posting);
	struct uroce_sge piece;

	if (!is_plain(opcode, flags, __atomic_load_n(&wr->num_sge, __ATOMIC_RELAXED)) || sges == NULL || is_full(win) ||
	    (opcode == UROCE_WR_RDMA_READ && atomic_load_explicit(&win->no_answers, memory_order_relaxed)))
		return false;
	piece.addr = sges->addr;
	piece.lkey = sges->lkey;
	piece.length = __atomic_load_n(&sges->length, __ATOMIC_RELAXED);
	wqe->sge_count = !(flags & UROCE_SEND_INLINE);
	if (wqe->sge_count == 1)
		wqe->sges[0] = piece;
	else if (piece.length > win->inline_limit || piece.length == 0)
		return false;
	else
		memcpy(wqe->sges, (const void *)(uintptr_t)piece.addr, piece.length);
	wqe->wr_id = wr->wr_id;
	wqe->opcode = (uint8_t)opcode;
	wqe->flags = (uint8_t)(flags | (win->signal_all ? UROCE_SEND_SIGNALED : 0));
	wqe->imm = wr->imm;
	wqe->remote_va = wr->remote_addr;
	wqe->rkey = wr->rkey;
	wqe->length_bytes = piece.length;
	wqe->needs = needs_of(opcode, flags, piece.length);
	publish(win);
	return true;
}

int rc_sendwin_post(struct rc_sendwin *win, const struct uroce_send_wr *wr)
{
	struct uroce_sge pieces[LIMIT_SGE];
	struct uroce_send_wr once;
	uint64_t total;

	if (post_plainly(win, wr))
		return 0;

	if (!take_request(win, wr, &once, pieces) || !wr_is_valid(&once) || once.opcode == UROCE_WR_BIND_MW)
		return -EINVAL;
	if (opcode_needs_answer(once.opcode) && atomic_load_explicit(&win->no_answers, memory_order_relaxed))
		return -EINVAL;
	total = total_length(&once);
	if ((once.send_flags & UROCE_SEND_INLINE) && total > win->inline_limit)
		return -EINVAL;
	if (is_full(win))
		return -ENOMEM;
	fill_slot(win, &once, total);
	publish(win);
	return 0;
}

int rc_sendwin_post_bind(struct rc_sendwin *win, const struct uroce_send_wr *wr, const struct rc_mr_bind *bind)
{
	const struct uroce_send_wr once = {
		.wr_id = wr->wr_id,
		.opcode = UROCE_WR_BIND_MW,
		.send_flags = wr->send_flags,
	};

	struct rc_send_wqe *wqe = sendwin_slot(win, win->posting);

	if (!wr_is_valid(&once))
		return -EINVAL;
	if (is_full(win))
		return -ENOMEM;
	*wqe = (struct rc_send_wqe){
		.wr_id = once.wr_id,
		.opcode = UROCE_WR_BIND_MW,
		.flags = send_flags(win, &once),
		.needs = NEEDS_NO_PACKET,
	};
	wqe_set_bind(wqe, bind);
	publish(win);
	return 0;
}

void rc_sendwin_reset(struct rc_sendwin *win, psn_t first)
{
	/* Unreported work vanishes; the application's index stays where it is, so that it need not be told. */
	sendwin_take_posted(win);
	win->head = win->acked = win->started = win->cursor = win->tail;
	atomic_store_explicit(&win->freed, win->tail, memory_order_release);
	win->snd_una = win->snd_nxt = win->snd_max = first;
	win->behind = 0;
}

void rc_sendwin_finish_local(struct rc_sendwin *win)
{
	win->started++;
	win->acked = win->cursor = win->started;
}

uint32_t rc_sendwin_owner(const struct rc_sendwin *win, psn_t psn)
{
	uint32_t index = win->acked;

	while (psn_distance(psn, sendwin_slot(win, index)->first_psn) >= sendwin_slot(win, index)->psn_count)
		index++;
	assert(index != win->started);
	return index;
}

bool rc_sendwin_ack_through(struct rc_sendwin *win, psn_t end)
{
	uint32_t left = psn_distance(end, win->snd_una);
	while (left > 0) {
		const struct rc_send_wqe *wqe = sendwin_slot(win, win->acked);
		uint32_t owned = wqe->psn_count - psn_distance(win->snd_una, wqe->first_psn);

		if (wqe_needs_answer(wqe))
			break;
		if (left < owned) {
			sendwin_move_una(win, left);
			left = 0;
		} else {
			sendwin_move_una(win, owned);
			left -= owned;
			win->acked++;
		}
	}
	sendwin_keep_next_ahead(win);
	return left == 0;
}

bool rc_sendwin_rewind(struct rc_sendwin *win)
{
	win->snd_nxt = win->snd_una;
	win->cursor = win->acked;
	return !psn_equal(win->snd_nxt, win->snd_max);
}

void rc_sendwin_advance(struct rc_sendwin *win, psn_t end)
{
	const struct rc_send_wqe *wqe = sendwin_slot(win, win->cursor);

	/* measured from snd_una: a whole window may lie between, which the half-window order cannot tell */
	if (psn_distance(end, win->snd_una) > psn_distance(win->snd_max, win->snd_una))
		win->snd_max = end;
	win->snd_nxt = end;
	if (psn_equal(end, psn_next(sendwin_last_psn(wqe))))
		win->cursor++;
}
