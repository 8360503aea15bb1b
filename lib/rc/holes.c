/* holes.c - which responses are missing between responses that have come */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/holes.h"

#include <string.h>

#include "wire/hints.h"

#define COMPARE_STEPS 8192u /* up to so many comparisons of pieces of memory per response, some 10 us */

static struct rc_holes *holes_of(const struct rc_qp *qp)
{
	return &qp_board(qp, BOARD_HOLES)->holes;
}

/* rc_holes_may_take() has asked whether the QP may have a board. */
static void begin(struct rc_qp *qp)
{
	struct rc_holes *holes = &rc_board_take(qp, BOARD_HOLES)->holes;

	holes->end = qp->win.snd_una;
	holes->count = 0;
	holes->clear = qp->win.acked + 1;
	holes->look_ns = RC_NEVER;
	qp->gaps.has_holes = true;
}

void rc_holes_forget(struct rc_qp *qp)
{
	if (!qp_has_holes(qp))
		return;
	rc_board_return(qp, BOARD_HOLES);
	qp->gaps = (struct rc_gaps){ .asks_again = qp->gaps.asks_again && qp_board(qp, BOARD_SACK) };
}

/* ---- the list of holes ---- */

static void remove_hole(struct rc_holes *holes, uint32_t index)
{
	holes->count--;
	memmove(&holes->holes[index], &holes->holes[index + 1], (holes->count - index) * sizeof(holes->holes[0]));
}

/* The hole that psn lies in, or the number of holes. */
static uint32_t find(const struct rc_qp *qp, psn_t psn)
{
	const struct rc_holes *holes = holes_of(qp);
	uint32_t low = 0, high = holes->count;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (qp_ahead(qp, holes->holes[middle].psn) <= qp_ahead(qp, psn))
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && psn_distance(psn, holes->holes[low - 1].psn) < holes->holes[low - 1].count ? low - 1 :
												       holes->count;
}

uint32_t rc_holes_slot(const struct rc_qp *qp, const struct rc_hole *hole)
{
	return qp->win.acked + (uint16_t)(hole->slot - (uint16_t)qp->win.acked);
}

/* Is this hole the first one of its request? */
static bool is_first(const struct rc_holes *holes, uint32_t index)
{
	return index == 0 || holes->holes[index - 1].slot != holes->holes[index].slot;
}

/* May this hole be asked for while an earlier one of its READ is still missing? */
static bool has_turn(const struct rc_qp *qp, uint32_t index)
{
	return qp->read_repair == UROCE_READ_REPAIR_ANY_ORDER || is_first(holes_of(qp), index);
}

/*
 * The hole that the request in this slot would get if nothing before `from` were missing, and everything before `end`
 * were answered.
 */
static struct rc_hole missing_of(const struct rc_qp *qp, uint32_t slot, psn_t from, psn_t end)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	uint32_t behind = qp_ahead(qp, psn_next(sendwin_last_psn(wqe))), limit = qp_ahead(qp, end),
		 begin = qp_ahead(qp, from);
	uint32_t first = slot == qp->win.acked ? 0 : qp_ahead(qp, wqe->first_psn);

	if (first < begin)
		first = begin;
	if (behind > limit)
		behind = limit;
	return (struct rc_hole){
		.psn = psn_add(qp->win.snd_una, first),
		.count = wqe_needs_response(wqe) && first < behind ? behind - first : 0,
		.slot = (uint16_t)slot,
	};
}

/* How many requests would get a hole within [from, psn), where psn belongs to the request in `slot`. */
static uint32_t count_missing(const struct rc_qp *qp, psn_t from, psn_t psn, uint32_t slot)
{
	uint32_t count = 0;

	for (uint32_t i = rc_sendwin_owner(&qp->win, from); i != slot + 1 && count <= LIMIT_HOLES; i++)
		count += missing_of(qp, i, from, psn).count > 0;
	return count;
}

/* Adds a hole. It counts as asked for if the window, which was rewound, has sent its PSNs again or is about to. */
static void open_hole(struct rc_qp *qp, struct rc_hole hole, uint64_t now_ns)
{
	struct rc_holes *holes = holes_of(qp);

	hole.asked = qp->flight.rewound && qp_ahead(qp, hole.psn) < qp_ahead(qp, qp->win.snd_nxt);
	hole.asked_us = (uint32_t)(now_ns / 1000);
	holes->holes[holes->count++] = hole;
}

/* Adds holes as far as there is room for them. */
void rc_holes_see(struct rc_qp *qp, psn_t end, uint64_t now_ns)
{
	struct rc_holes *holes = holes_of(qp);
	uint32_t limit = qp_ahead(qp, end);

	if (limit <= qp_ahead(qp, holes->end))
		return;
	for (uint32_t slot = rc_sendwin_owner(&qp->win, holes->end); slot != qp->win.started; slot++) {
		struct rc_hole hole = missing_of(qp, slot, holes->end, end);

		if (slot != qp->win.acked && qp_ahead(qp, sendwin_slot(&qp->win, slot)->first_psn) >= limit)
			break;
		if (hole.count > 0 && holes->count == LIMIT_HOLES) {
			end = hole.psn;
			break;
		}
		if (hole.count > 0)
			open_hole(qp, hole, now_ns);
	}
	holes->end = end;
	qp->gaps.asks_again = true;
}

/* ---- may a response be placed before its turn? ---- */

/*
 * Does the response to the request bring data? The response to a FLUSH or an ATOMIC WRITE is empty, and the memory that
 * such a request names is only read.
 */
static bool brings_data(const struct rc_send_wqe *wqe)
{
	return rc_ops[wqe->opcode].brings_data;
}

/* Addresses from `low` on, up to `high` without it. */
struct reach {
	uint64_t low, high;
};

static void widen(struct reach *reach, uint64_t low, uint64_t high)
{
	if (low < reach->low)
		reach->low = low;
	if (high > reach->high)
		reach->high = high;
}

static bool meet(const struct reach *a, const struct reach *b)
{
	return a->low < b->high && b->low < a->high;
}

/* Returns the least range that contains all memory of a request. */
static struct reach reach_of(const struct rc_send_wqe *wqe)
{
	struct reach reach = { .low = UINT64_MAX };

	for (uint32_t i = 0; i < wqe->sge_count; i++)
		widen(&reach, wqe->sges[i].addr, wqe->sges[i].addr + wqe->sges[i].length);
	return reach;
}

/* Has this piece of memory bytes of the request in it? Adds to *steps how many pieces were compared. */
static bool overlaps(const struct rc_send_wqe *wqe, const struct reach *piece, uint32_t *steps)
{
	for (uint32_t i = 0; i < wqe->sge_count; i++) {
		const struct uroce_sge *sge = &wqe->sges[i];

		++*steps;
		if (meet(piece, &(struct reach){ sge->addr, sge->addr + sge->length }))
			return true;
	}
	return false;
}

/* Do two requests have common memory? reach: reach_of(newer). Only pieces within it are compared one by one. */
static bool overlap(const struct rc_send_wqe *older, const struct rc_send_wqe *newer, const struct reach *reach,
		    uint32_t *steps)
{
	for (uint32_t i = 0; i < older->sge_count; i++) {
		const struct uroce_sge *sge = &older->sges[i];
		struct reach piece = { sge->addr, sge->addr + sge->length };

		++*steps;
		if (meet(&piece, reach) && overlaps(newer, &piece, steps))
			return true;
	}
	return false;
}

/* Do the responses to requests a and b land in the same places, packet for packet? */
static bool same_places(const struct rc_send_wqe *a, const struct rc_send_wqe *b)
{
	if (a->length_bytes != b->length_bytes || a->sge_count != b->sge_count)
		return false;
	for (uint32_t i = 0; i < a->sge_count; i++) {
		if (a->sges[i].addr != b->sges[i].addr || a->sges[i].length != b->sges[i].length)
			return false;
	}
	return true;
}

/*
 * May the response to the request in this slot come before the responses to older ones? Yes if each older request
 * either has no memory in common with it, or has its responses packet for packet in the same places. Requests are
 * compared from the newest older one to the oldest, and the request remembers how far: the slot after the next one to
 * compare. So no pair of requests is compared twice, the first request in the way is the last to be answered, and the
 * comparison ends at a request in the same places, which was itself found to be apart from all older ones.
 */
static uint32_t left_to_compare(const struct rc_qp *qp, uint32_t slot)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	uint32_t end = wqe->needs & NEEDS_IS_COMPARED ? wqe->imm : slot;

	return brings_data(wqe) && (int32_t)(end - qp->win.acked) > 0 ? end - qp->win.acked : 0;
}

/*
 * Compares the request in this slot with older ones, as long as *steps is less than COMPARE_STEPS. older: contains the
 * memory of all older requests, which may come before their turn. Returns left_to_compare().
 */
static uint32_t compare(const struct rc_qp *qp, uint32_t slot, const struct reach *older, uint32_t *steps)
{
	struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	struct reach reach = reach_of(wqe);
	uint32_t left = meet(&reach, older) ? left_to_compare(qp, slot) : 0;

	while (left > 0 && *steps < COMPARE_STEPS) {
		const struct rc_send_wqe *other = sendwin_slot(&qp->win, qp->win.acked + left - 1);

		if (brings_data(other) && same_places(other, wqe))
			left = 0;
		else if (brings_data(other) && overlap(other, wqe, &reach, steps))
			break;
		else
			left--;
	}
	wqe->needs |= NEEDS_IS_COMPARED;
	wqe->imm = qp->win.acked + left;
	return left;
}

/*
 * May the responses to the requests from slot `first` up to slot `last` come before their turn? It is known that the
 * responses to those before `first` may.
 */
NOINLINE bool compare_all(const struct rc_qp *qp, uint32_t first, uint32_t last)
{
	struct reach older = { .low = UINT64_MAX };
	uint32_t steps = 0;

	for (uint32_t slot = qp->win.acked; slot != last + 1; slot++) {
		const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
		struct reach reach;

		if (!brings_data(wqe))
			continue;
		if ((int32_t)(slot - first) >= 0 && compare(qp, slot, &older, &steps) > 0)
			return false;
		reach = reach_of(wqe);
		widen(&older, reach.low, reach.high);
	}
	return true;
}

/*
 * May the responses to the requests up to this slot come before their turn? No if that is not known yet, and finding
 * out takes too long: then the next call goes on. holes.clear remembers up to which slot they may.
 */
static bool is_clear(const struct rc_qp *qp, uint32_t slot)
{
	uint32_t clear = qp->win.acked + 1; /* the oldest request has none before it */

	if (qp_has_holes(qp) && (int32_t)(holes_of(qp)->clear - clear) > 0)
		clear = holes_of(qp)->clear;
	while ((int32_t)(slot - clear) >= 0 && left_to_compare(qp, clear) == 0)
		clear++;
	return (int32_t)(slot - clear) < 0 || compare_all(qp, clear, slot);
}

bool rc_holes_may_take(const struct rc_qp *qp, psn_t psn, uint32_t slot)
{
	const struct rc_holes *holes;
	uint32_t at;

	if (qp->read_repair == UROCE_READ_REPAIR_OFF || !is_clear(qp, slot))
		return false;
	if (!qp_has_holes(qp))
		return rc_board_may_borrow(qp, BOARD_HOLES) &&
		       count_missing(qp, qp->win.snd_una, psn, slot) <= LIMIT_HOLES;
	holes = holes_of(qp);
	if (psn_equal(psn, holes->end))
		return true;
	if (qp_ahead(qp, psn) > qp_ahead(qp, holes->end))
		return holes->count + count_missing(qp, holes->end, psn, slot) <= LIMIT_HOLES;
	at = find(qp, psn);
	if (at == holes->count)
		return false;
	return psn_equal(psn, holes->holes[at].psn) ||
	       psn_distance(psn, holes->holes[at].psn) + 1 == holes->holes[at].count || holes->count < LIMIT_HOLES;
}

static bool has_come(const struct rc_qp *qp, psn_t psn)
{
	const struct rc_holes *holes = holes_of(qp);

	return qp_ahead(qp, psn) < qp_ahead(qp, holes->end) && find(qp, psn) == holes->count;
}

bool rc_holes_newer_has_come(const struct rc_qp *qp, psn_t psn, uint32_t slot)
{
	const struct rc_send_wqe *wqe = sendwin_slot(&qp->win, slot);
	uint32_t index = psn_distance(psn, wqe->first_psn);

	for (uint32_t i = slot + 1; (int32_t)(holes_of(qp)->clear - i) > 0; i++) {
		const struct rc_send_wqe *newer = sendwin_slot(&qp->win, i);

		if (brings_data(newer) && same_places(newer, wqe) && has_come(qp, psn_add(newer->first_psn, index)))
			return true;
	}
	return false;
}

/* ---- what has come ---- */

/*
 * A response has come, and the rest of its hole begins behind it. The peer is answering, so the wait for the next
 * response begins now.
 */
static void begin_hole(struct rc_hole *hole, psn_t psn, uint64_t now_ns)
{
	hole->psn = psn;
	hole->tries = 0;
	hole->asked_us = (uint32_t)(now_ns / 1000);
}

/* A missing response has come: it leaves its hole, which may become two holes or none. */
static void fill(struct rc_qp *qp, psn_t psn, uint64_t now_ns)
{
	struct rc_holes *holes = holes_of(qp);
	uint32_t at = find(qp, psn), before = psn_distance(psn, holes->holes[at].psn);
	uint32_t behind = holes->holes[at].count - before - 1;

	holes->holes[at].tries = 0; /* the peer is answering what was asked for */
	if (before > 0 && behind > 0) {
		memmove(&holes->holes[at + 1], &holes->holes[at], (holes->count - at) * sizeof(holes->holes[0]));
		holes->count++;
		holes->holes[at].count = before;
		at++;
	}
	if (behind > 0) {
		begin_hole(&holes->holes[at], psn_next(psn), now_ns);
		holes->holes[at].count = behind;
	} else if (before > 0) {
		holes->holes[at].count = before;
	} else {
		remove_hole(holes, at);
		qp->gaps.asks_again = true;
	}
}

/* Asks once more for each hole that was asked for so long ago that the response should have come (T-5). */
NOINLINE void look_at_asked(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_holes *holes = holes_of(qp);

	holes->look_ns = RC_NEVER;
	for (uint32_t i = 0; i < holes->count; i++) {
		struct rc_hole *hole = &holes->holes[i];
		uint64_t ago_ns = ((uint32_t)(now_ns / 1000) - hole->asked_us) * 1000ull, late_ns;

		if (!hole->asked || !has_turn(qp, i))
			continue;
		late_ns = now_ns - ago_ns + rtt_doubled_ns(rtt_bound_ns(&qp->rtt, qp->loss.timeout_ns), hole->tries);
		if (now_ns >= late_ns) {
			hole->asked = false;
			hole->tries = rtt_count_try(hole->tries);
			qp->gaps.asks_again = true;
		} else if (late_ns < holes->look_ns) {
			holes->look_ns = late_ns;
		}
	}
}

uint32_t rc_holes_count(const struct rc_qp *qp)
{
	return qp_has_holes(qp) ? holes_of(qp)->count : 0;
}

psn_t rc_holes_take(struct rc_qp *qp, psn_t psn, uint32_t slot, uint64_t now_ns)
{
	struct rc_holes *holes;

	if (!qp_has_holes(qp))
		begin(qp);
	holes = holes_of(qp);
	if ((int32_t)(slot + 1 - holes->clear) > 0)
		holes->clear = slot + 1;
	if (qp_ahead(qp, psn) >= qp_ahead(qp, holes->end)) {
		rc_holes_see(qp, psn, now_ns);
		holes->end = psn_next(psn);
	} else {
		fill(qp, psn, now_ns);
	}
	if (now_ns >= holes->look_ns)
		look_at_asked(qp, now_ns);
	return holes->end;
}

uint32_t rc_holes_close(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_holes *holes = holes_of(qp);
	uint32_t answered = 0;

	begin_hole(&holes->holes[0], psn_next(holes->holes[0].psn), now_ns);
	if (--holes->holes[0].count == 0) {
		remove_hole(holes, 0);
		answered = rc_sendwin_answer_through(&qp->win, holes->count ? holes->holes[0].psn : holes->end);
		qp->gaps.asks_again = true;
	}
	if (holes->count == 0)
		rc_holes_forget(qp);
	else if (now_ns >= holes->look_ns)
		look_at_asked(qp, now_ns);
	return answered;
}

/* ---- asking again ---- */

void rc_holes_doubt(struct rc_qp *qp)
{
	struct rc_holes *holes = holes_of(qp);

	for (uint32_t i = 0; i < holes->count; i++)
		holes->holes[i].asked = false;
	qp->gaps.asks_again = true;
}

/*
 * The last READ with holes has not been asked for to its end: it is sent again from its first hole on, because its end
 * must not be asked for before its holes. Returns the PSN at which the window goes on.
 */
static psn_t begin_last_again(struct rc_qp *qp)
{
	struct rc_holes *holes = holes_of(qp);
	uint32_t first = holes->count - 1;
	const struct rc_send_wqe *last;
	psn_t from = holes->end;

	while (!is_first(holes, first))
		first--;
	last = sendwin_slot(&qp->win, rc_holes_slot(qp, &holes->holes[first]));
	if (qp_ahead(qp, from) < qp_ahead(qp, psn_next(sendwin_last_psn(last)))) {
		from = holes->end = holes->holes[first].psn;
		holes->count = first;
	}
	if (holes->count == 0)
		rc_holes_forget(qp);
	return from;
}

psn_t rc_holes_rewind(struct rc_qp *qp)
{
	psn_t from = begin_last_again(qp);

	if (qp_has_holes(qp))
		rc_holes_doubt(qp);
	return from;
}

bool rc_holes_skip(struct rc_qp *qp)
{
	psn_t end = holes_of(qp)->end;

	if (qp_ahead(qp, qp->win.snd_nxt) >= qp_ahead(qp, end))
		return true;
	return rc_sendwin_go_to(&qp->win, qp->read_repair == UROCE_READ_REPAIR_ANY_ORDER ? end : begin_last_again(qp));
}

bool rc_holes_asks_for_oldest(const struct rc_qp *qp)
{
	return rc_holes_count(qp) > 0 && !holes_of(qp)->holes[0].asked;
}

const struct rc_hole *rc_holes_next(struct rc_qp *qp, uint64_t now_ns)
{
	const struct rc_holes *holes = holes_of(qp);

	for (uint32_t i = 0; i < holes->count; i++) {
		if (!holes->holes[i].asked && has_turn(qp, i))
			return &holes->holes[i];
	}
	qp->gaps.asks_again = false;
	look_at_asked(qp, now_ns);
	return NULL;
}

void rc_holes_asked(struct rc_qp *qp, psn_t psn, uint64_t now_ns)
{
	struct rc_hole *hole = &holes_of(qp)->holes[find(qp, psn)];

	hole->asked = true;
	hole->asked_us = (uint32_t)(now_ns / 1000);
}
