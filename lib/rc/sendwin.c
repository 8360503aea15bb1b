/* sendwin.c - the send window: posting, acknowledging, rewinding */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "config/limits.h"
#include "rc/sendwin.h"
#include "wire/hints.h"

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

static bool flush_is_valid(uint32_t flush)
{
	const uint32_t reach = UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT;

	return (flush & reach) && !(flush & ~(reach | UROCE_FLUSH_WHOLE_REGION));
}

/* A work request while it is posted. Each field is read once, because the application can still write it (M-6). */
struct taken {
	uint32_t opcode, flags, count, imm;
	uint64_t bytes;
	const struct rc_op *op;
};

/*
 * Checks wr, fills the rest of *taken, which has flags and count, and copies the pieces. Returns false if wr is not
 * valid, or does not fit into a slot.
 */
INLINE bool take(const struct rc_sendwin *win, const struct uroce_send_wr *wr, struct uroce_sge *copies,
		 struct taken *taken)
{
	const struct uroce_sge *pieces = __atomic_load_n(&wr->sg_list, __ATOMIC_RELAXED);
	const struct rc_op *op;

	taken->opcode = __atomic_load_n(&wr->opcode, __ATOMIC_RELAXED);
	if (taken->opcode >= UROCE_WR_OPCODES || taken->count > win->sge_limit || (taken->count > 0 && pieces == NULL))
		return false;
	for (uint32_t i = 0; i < taken->count; i++) {
		copies[i] = pieces[i];
		taken->bytes += copies[i].length;
	}
	taken->op = op = &rc_ops[taken->opcode];
	taken->imm = wr->imm_data;
	if ((taken->flags & ~(uint32_t)op->flags) ||
	    ((taken->flags & UROCE_SEND_INLINE) && taken->bytes > win->inline_limit) ||
	    ((op->needs & NEEDS_RESPONSE) && atomic_load_explicit(&win->no_rd_atomic, memory_order_relaxed)))
		return false;
	if (op->pieces == PIECES_ANY)
		return true;
	if (op->pieces == PIECES_EIGHT_BYTES)
		return taken->count == 1 && taken->bytes == 8;
	if (op->pieces == PIECES_RANGE) {
		taken->bytes = wr->flush_bytes;
		taken->imm = __atomic_load_n(&wr->flush, __ATOMIC_RELAXED);
		return taken->count == 0 && flush_is_valid(taken->imm);
	}
	return taken->count == 0 && op->pieces == PIECES_NONE;
}

/* Copies the pieces, or the bytes of an inline request, whose memory may be reused when the post returns. */
INLINE void copy_pieces(struct rc_send_wqe *wqe, const struct uroce_sge *pieces, uint32_t flags, uint32_t count)
{
	uint8_t *at = (uint8_t *)wqe->sges;

	for (uint32_t i = 0; i < count; i++) {
		const struct uroce_sge *piece = &pieces[i];

		if (!(flags & UROCE_SEND_INLINE))
			wqe->sges[i] = *piece;
		else if (piece->length > 0) /* an empty piece may have the address NULL */
			memcpy(at, (const void *)(uintptr_t)piece->addr, piece->length);
		at += piece->length;
	}
}

/* Fills the next slot with everything but the pieces. */
INLINE struct rc_send_wqe *fill_slot(const struct rc_sendwin *win, const struct uroce_send_wr *wr,
				     const struct taken *taken)
{
	struct rc_send_wqe *wqe = sendwin_slot(win, win->posting);

	wqe->wr_id = wr->wr_id;
	wqe->opcode = (uint8_t)taken->opcode;
	wqe->flags = (uint8_t)(taken->flags | (win->signal_all ? UROCE_SEND_SIGNALED : 0));
	wqe->needs = (uint8_t)(NEEDS_RTS | taken->op->needs | (taken->flags & UROCE_SEND_FENCE) |
			       (taken->bytes > LIMIT_MESSAGE_BYTES ? NEEDS_TOO_MUCH : 0) |
			       (taken->count > 1 && !(taken->flags & UROCE_SEND_INLINE) ? NEEDS_GATHER : 0));
	wqe->imm = taken->imm;
	wqe->remote_va = wr->remote_addr;
	wqe->rkey = wr->rkey;
	wqe->length_bytes = (uint32_t)taken->bytes;
	wqe->sge_count = taken->flags & UROCE_SEND_INLINE ? 0 : (uint8_t)taken->count;
	return wqe;
}

static inline bool is_full(struct rc_sendwin *win)
{
	if (win->posting - win->free_up_to < win->depth)
		return false;
	/* pairs with S2 in sendwin_free_slots(): the lcore has finished with the slot */
	win->free_up_to = atomic_load_explicit(&win->freed, memory_order_acquire);
	return win->posting - win->free_up_to >= win->depth;
}

static void publish(struct rc_sendwin *win)
{
	/* S1: publishes the slot */
	atomic_store_explicit(&win->posted, ++win->posting, memory_order_release);
}

/* Posts wr, whose flags and count the compiler may know. copies has room for the pieces. */
INLINE int post(struct rc_sendwin *win, const struct uroce_send_wr *wr, uint32_t flags, uint32_t count,
		struct uroce_sge *copies)
{
	struct taken taken = { .flags = flags, .count = count };
	struct rc_send_wqe *wqe;

	if (!take(win, wr, copies, &taken))
		return -EINVAL;
	if (is_full(win))
		return -ENOMEM;
	if (taken.op->pieces == PIECES_EIGHT_BYTES)
		*sendwin_operands(win, win->posting) =
			(struct rc_atomic_operands){ .compare_add = wr->compare_add, .swap = wr->swap };
	wqe = fill_slot(win, wr, &taken);
	copy_pieces(wqe, copies, flags, count);
	publish(win);
	return 0;
}

NOINLINE int post_any(struct rc_sendwin *win, const struct uroce_send_wr *wr, uint32_t flags, uint32_t count)
{
	struct uroce_sge copies[LIMIT_SGE];

	return post(win, wr, flags, count, copies);
}

NOINLINE int post_inline(struct rc_sendwin *win, const struct uroce_send_wr *wr, uint32_t flags)
{
	struct uroce_sge copy;

	return post(win, wr, flags | UROCE_SEND_INLINE, 1, &copy);
}

int rc_sendwin_post(struct rc_sendwin *win, const struct uroce_send_wr *wr)
{
	uint32_t flags = __atomic_load_n(&wr->send_flags, __ATOMIC_RELAXED);
	uint32_t count = __atomic_load_n(&wr->num_sge, __ATOMIC_RELAXED);
	struct uroce_sge copy;

	if (count != 1)
		return post_any(win, wr, flags, count);
	return flags & UROCE_SEND_INLINE ? post_inline(win, wr, flags) :
					   post(win, wr, flags & ~(uint32_t)UROCE_SEND_INLINE, 1, &copy);
}

int rc_sendwin_post_bind(struct rc_sendwin *win, const struct uroce_send_wr *wr, const struct rc_mr_bind *bind)
{
	const struct taken taken = {
		.opcode = UROCE_WR_BIND_MW,
		.flags = __atomic_load_n(&wr->send_flags, __ATOMIC_RELAXED),
		.op = &rc_ops[UROCE_WR_BIND_MW],
	};

	if (taken.flags & ~(uint32_t)taken.op->flags)
		return -EINVAL;
	if (is_full(win))
		return -ENOMEM;
	wqe_set_bind(fill_slot(win, wr, &taken), bind);
	publish(win);
	return 0;
}

void rc_sendwin_place(struct rc_sendwin *win, uint8_t *ring, const struct rc_sendwin_limits *limits)
{
	win->slots = ring;
	win->slot_bytes = rc_sendwin_slot_bytes(limits->sges, limits->inline_bytes);
	win->mask = limits->slots - 1;
	win->depth = limits->depth;
	win->sge_limit = limits->sges;
	win->inline_limit = limits->inline_bytes;
	win->signal_all = limits->signal_all;
	atomic_init(&win->no_rd_atomic, true);
}

void rc_sendwin_reset(struct rc_sendwin *win, psn_t first)
{
	/* Requests that were not reported vanish. The application's index stays, so it need not be told. */
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

uint32_t rc_sendwin_owner_from(const struct rc_sendwin *win, uint32_t slot, psn_t psn)
{
	while (psn_distance(psn, sendwin_slot(win, slot)->first_psn) >= sendwin_slot(win, slot)->psn_count)
		slot++;
	assert(slot != win->started);
	return slot;
}

uint32_t rc_sendwin_owner(const struct rc_sendwin *win, psn_t psn)
{
	return rc_sendwin_owner_from(win, win->acked, psn);
}

/*
 * Moves snd_una to `end` or, if `stops` is true, at most to the first request that needs a response of its own. Returns
 * how many PSNs before `end` are then left.
 */
static uint32_t move_through(struct rc_sendwin *win, psn_t end, bool stops, uint32_t *answered)
{
	uint32_t left = psn_distance(end, win->snd_una);

	while (left > 0) {
		const struct rc_send_wqe *wqe = sendwin_slot(win, win->acked);
		uint32_t owned = wqe->psn_count - psn_distance(win->snd_una, wqe->first_psn);
		bool needs_response = wqe_needs_response(wqe);

		if (needs_response && stops)
			break;
		if (left < owned) {
			sendwin_move_una(win, left);
			left = 0;
		} else {
			sendwin_move_una(win, owned);
			left -= owned;
			win->acked++;
			*answered += needs_response;
		}
	}
	sendwin_keep_next_ahead(win);
	return left;
}

bool rc_sendwin_ack_through(struct rc_sendwin *win, psn_t end)
{
	uint32_t answered = 0;

	return move_through(win, end, true, &answered) == 0;
}

uint32_t rc_sendwin_answer_through(struct rc_sendwin *win, psn_t end)
{
	uint32_t answered = 0;

	move_through(win, end, false, &answered);
	return answered;
}

bool rc_sendwin_go_to(struct rc_sendwin *win, psn_t next)
{
	uint32_t ahead = psn_distance(next, win->snd_una);

	win->snd_nxt = next;
	win->cursor = win->acked;
	while (win->cursor != win->started) {
		psn_t behind = psn_next(sendwin_last_psn(sendwin_slot(win, win->cursor)));

		if (ahead < psn_distance(behind, win->snd_una))
			break;
		win->cursor++;
	}
	return !psn_equal(win->snd_nxt, win->snd_max);
}

void rc_sendwin_advance(struct rc_sendwin *win, psn_t end)
{
	const struct rc_send_wqe *wqe = sendwin_slot(win, win->cursor);

	/* both distances are from snd_una, because the half-window order fails when a whole window lies between */
	if (psn_distance(end, win->snd_una) > psn_distance(win->snd_max, win->snd_una))
		win->snd_max = end;
	win->snd_nxt = end;
	if (psn_equal(end, psn_next(sendwin_last_psn(wqe))))
		win->cursor++;
}

uint32_t rc_sendwin_responses_due(const struct rc_sendwin *win, psn_t heard)
{
	uint32_t asked = psn_distance(win->snd_nxt, win->snd_una), got = psn_distance(heard, win->snd_una), due = 0;

	if (got > asked)
		got = 0;
	for (uint32_t slot = win->acked; slot != win->started; slot++) {
		const struct rc_send_wqe *wqe = sendwin_slot(win, slot);
		uint32_t begin = psn_distance(wqe->first_psn, win->snd_una), end = begin + wqe->psn_count;

		if (slot == win->acked) /* the oldest request may lie on both sides of snd_una */
			begin = 0, end = wqe->psn_count - psn_distance(win->snd_una, wqe->first_psn);
		if (begin < got)
			begin = got;
		if (end > asked)
			end = asked;
		if (wqe_needs_response(wqe) && begin < end)
			due += end - begin;
	}
	return due;
}
