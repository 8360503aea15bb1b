/* sendwin.h - the send window: posted requests that are not completed, and the PSNs that they own */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of slots with four indexes, none of which passes the next:
 *   head <= acked <= started <= tail
 *   [head, acked)    answered, waiting to be reported
 *   [acked, started) own PSNs; snd_una lies in slot `acked`
 *   [started, tail)  posted, without PSNs
 * Local operations own no PSN, and are never in the middle part. Three PSNs: snd_una (oldest not acknowledged), snd_nxt
 * (leaves next), snd_max (first never sent). After a rewind snd_nxt < snd_max: the packets between the two are sent
 * again. Only this file maps a PSN to its request.
 */
#ifndef RC_SENDWIN_H
#define RC_SENDWIN_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>

#include <uroce/wr.h>

#include "config/limits.h"
#include "rc/mr.h"
#include "rc/op.h"
#include "rc/psn.h"

/*
 * A posted request. The application's thread writes it until it publishes the request; the lcore writes it afterwards.
 */
struct rc_send_wqe {
	uint64_t wr_id;
	uint8_t opcode;    /* enum uroce_wr_opcode */
	uint8_t flags;     /* enum uroce_send_flags */
	uint8_t sge_count; /* 0 with inline data */
	uint8_t needs;     /* enum rc_send_needs */
	uint32_t imm;      /* immediate in network byte order; FLUSH: enum uroce_flush; with NEEDS_IS_COMPARED a slot */
	uint64_t remote_va;
	uint32_t rkey;                        /* for a local invalidate the key */
	uint32_t length_bytes;                /* length of the whole message */
	psn_t first_psn;                      /* set when the request starts */
	uint32_t psn_count;                   /* set when the request starts: how many PSNs it owns, at least 1 */
	_Alignas(16) struct uroce_sge sges[]; /* or inline bytes */
};

static_assert(offsetof(struct rc_send_wqe, sges) + sizeof(struct uroce_sge) == 64, "one piece: one cache line");

struct rc_atomic_operands {
	uint64_t compare_add;
	uint64_t swap;
};

struct rc_sendwin {
	/* set when the QP is created, read by both threads */
	uint8_t *slots; /* slots, aligned to 64; behind them the operands of atomics, one per slot */
	uint32_t slot_bytes;
	uint32_t mask; /* slots - 1 */

	/* read and written by the lcore only */
	uint32_t head, acked, started, tail;
	/* the slot whose packets go out next; `started` if the newest request has sent all and nothing is sent again */
	uint32_t cursor;
	psn_t snd_una, snd_nxt, snd_max;
	uint32_t behind; /* how many PSNs before snd_una the connection has used, at most PSN_WINDOW */

	/* lcore writes; application reads, but only when the queue looks full */
	_Atomic uint32_t freed;

	/* application writes, lcore reads */
	_Alignas(64) _Atomic uint32_t posted;
	uint32_t posting;    /* the application thread's own copy of `posted` */
	uint32_t free_up_to; /* `freed` when the application last read it */
	/* set when the QP is created, read by the application's thread */
	uint32_t depth; /* how many requests may be posted, as the application asked for */
	uint32_t sge_limit;
	uint32_t inline_limit;
	bool signal_all;

	/* lcore writes, but rarely; application reads */
	_Atomic bool no_rd_atomic;  /* max_rd_atomic is 0: posting a READ or the like is refused */
	_Atomic uint8_t post_state; /* the QP's state, as enum uroce_qp_state, by which a post is judged */
	_Atomic bool post_wakes;    /* the peer waits for credits: posting a receive wakes the lcore (F-4) */
};

/*
 * rc_sendwin_slot_bytes(): bytes of a slot for these limits, a multiple of 16. rc_sendwin_ring_bytes(): bytes of a ring
 * of `slots` slots, a power of two.
 */
uint32_t rc_sendwin_slot_bytes(uint32_t sge_limit, uint32_t inline_limit);
uint64_t rc_sendwin_ring_bytes(uint32_t slots, uint32_t slot_bytes);

/*
 * For the application's thread: copies wr into a slot and publishes it. Returns 0, -ENOMEM if the queue is full, or
 * -EINVAL for a wrong opcode, piece count, inline length or flag, and for a READ or the like when max_rd_atomic is 0.
 */
int rc_sendwin_post(struct rc_sendwin *win, const struct uroce_send_wr *wr);

/* The limits that are fixed when a QP is created. */
struct rc_sendwin_limits {
	uint32_t slots; /* a power of two */
	uint32_t depth, sges, inline_bytes;
	bool signal_all;
};

/* Gives the window its ring, rc_sendwin_ring_bytes() zeros. READs and the like are refused at first. */
void rc_sendwin_place(struct rc_sendwin *win, uint8_t *ring, const struct rc_sendwin_limits *limits);

/* Empties the window and sets its first PSN. */
void rc_sendwin_reset(struct rc_sendwin *win, psn_t first);

/* rc_sendwin_post() for a bind whose memory has been translated to keys. */
int rc_sendwin_post_bind(struct rc_sendwin *win, const struct uroce_send_wr *wr, const struct rc_mr_bind *bind);

/* The request at `started` was carried out here and is answered. Only while no request is outstanding. */
void rc_sendwin_finish_local(struct rc_sendwin *win);

/* Returns the slot of the request that owns a PSN in flight; the search takes a step for each older request. */
uint32_t rc_sendwin_owner(const struct rc_sendwin *win, psn_t psn);
/* As rc_sendwin_owner(), but the search begins at the slot of a request that is not newer than the owner. */
uint32_t rc_sendwin_owner_from(const struct rc_sendwin *win, uint32_t slot, psn_t psn);

/*
 * Acknowledges everything before `end`, but stops at a request that needs a response of its own (READ, atomic): its
 * response was lost. Returns true if snd_una has reached `end`.
 */
bool rc_sendwin_ack_through(struct rc_sendwin *win, psn_t end);

/*
 * Everything before `end` has been answered. Returns how many of the requests that this completes need a response of
 * their own.
 */
uint32_t rc_sendwin_answer_through(struct rc_sendwin *win, psn_t end);

/* Sets snd_nxt to a PSN that has left before. Returns whether anything is then to be sent again. */
bool rc_sendwin_go_to(struct rc_sendwin *win, psn_t next);

/*
 * Returns how many responses to READs and the like are due: asked for, and not sent by the peer. The peer has sent all
 * responses before `heard`, which may have been lost.
 */
uint32_t rc_sendwin_responses_due(const struct rc_sendwin *win, psn_t heard);

/* The packets before `end` have gone out. */
void rc_sendwin_advance(struct rc_sendwin *win, psn_t end);

static inline struct rc_send_wqe *sendwin_slot(const struct rc_sendwin *win, uint32_t index)
{
	return (struct rc_send_wqe *)(void *)(win->slots + (uint64_t)(index & win->mask) * win->slot_bytes);
}

/* The operands of the atomic in this slot. */
static inline struct rc_atomic_operands *sendwin_operands(const struct rc_sendwin *win, uint32_t index)
{
	uint8_t *operands = win->slots + (win->mask + 1ull) * win->slot_bytes;

	return (struct rc_atomic_operands *)(void *)operands + (index & win->mask);
}

/* Gives the request at `started` psn_count PSNs from `snd_max` on. */
static inline void sendwin_number(const struct rc_sendwin *win, struct rc_send_wqe *wqe, uint32_t psn_count)
{
	wqe->first_psn = win->snd_max;
	wqe->psn_count = psn_count;
}

/* rc_sendwin_advance() for packets that were never sent before. complete: `end` is the end of their request. */
static inline void sendwin_go_on(struct rc_sendwin *win, psn_t end, bool complete)
{
	win->snd_nxt = win->snd_max = end;
	win->cursor += complete;
}

/* The request at `started` begins. */
static inline void sendwin_start(struct rc_sendwin *win)
{
	win->started++;
}

/* The oldest request was answered, and was reported or needs no report. */
static inline void sendwin_finish(struct rc_sendwin *win)
{
	win->head++;
}

/* The oldest request was reported, though it may not be answered: it will never be sent. */
static inline void sendwin_flush(struct rc_sendwin *win)
{
	win->head++;
	win->acked = win->started = win->cursor = win->head;
}

/* S2: the application may post into the slots before head again */
static inline void sendwin_free_slots(struct rc_sendwin *win)
{
	atomic_store_explicit(&win->freed, win->head, memory_order_release);
}

/* Sets whether posting READs and the like is refused. */
static inline void sendwin_refuse_rd_atomic(struct rc_sendwin *win, bool refuse)
{
	atomic_store_explicit(&win->no_rd_atomic, refuse, memory_order_relaxed);
}

/* Sets the QP's state by which posts are judged. */
static inline void sendwin_set_post_state(struct rc_sendwin *win, uint8_t state)
{
	atomic_store_explicit(&win->post_state, state, memory_order_release);
}

/*
 * Sets whether posting a receive wakes the lcore, because the peer waits for credits (F-4). Stored only if it changes.
 */
static inline void sendwin_wake_by_posts(struct rc_sendwin *win, bool wake)
{
	if (atomic_load_explicit(&win->post_wakes, memory_order_relaxed) != wake)
		atomic_store_explicit(&win->post_wakes, wake, memory_order_relaxed);
}

/* How many requests can be posted. For the application's thread. */
static inline uint32_t sendwin_free_count(const struct rc_sendwin *win)
{
	/* pairs with S2 in sendwin_free_slots(), as in is_full() */
	return win->depth - (win->posting - atomic_load_explicit(&win->freed, memory_order_acquire));
}

/* How many PSNs are sent and not acknowledged. */
static inline uint32_t sendwin_outstanding(const struct rc_sendwin *win)
{
	return psn_distance(win->snd_max, win->snd_una);
}

/*
 * Was psn acknowledged? It lies behind snd_una, not farther back than a window from the newest PSN sent, and not before
 * the first PSN (P-5).
 */
static inline bool sendwin_was_acked(const struct rc_sendwin *win, psn_t psn)
{
	return psn_distance(win->snd_una, psn) - 1 < win->behind && psn_distance(win->snd_max, psn) <= PSN_WINDOW;
}

static inline psn_t sendwin_last_psn(const struct rc_send_wqe *wqe)
{
	return psn_add(wqe->first_psn, wqe->psn_count - 1);
}

static inline void sendwin_move_una(struct rc_sendwin *win, uint32_t count)
{
	win->snd_una = psn_add(win->snd_una, count);
	win->behind = win->behind + count < PSN_WINDOW ? win->behind + count : PSN_WINDOW;
}

/* snd_una has moved: snd_nxt is never behind it. */
static inline void sendwin_keep_next_ahead(struct rc_sendwin *win)
{
	if (psn_distance(win->snd_max, win->snd_nxt) > psn_distance(win->snd_max, win->snd_una)) {
		win->snd_nxt = win->snd_una;
		win->cursor = win->acked;
	}
}

/*
 * Acknowledges everything that was sent. Only if no request in flight needs a response of its own, none is partly sent,
 * and nothing is to be sent again: the cursor is at `started`.
 */
static inline void sendwin_ack_all(struct rc_sendwin *win)
{
	sendwin_move_una(win, sendwin_outstanding(win));
	win->acked = win->started;
}

/* One PSN of wqe, the request at `acked`, was answered. After its last PSN the request itself is answered. */
static inline void sendwin_take_response(struct rc_sendwin *win, const struct rc_send_wqe *wqe)
{
	if (psn_equal(win->snd_una, sendwin_last_psn(wqe)))
		win->acked++;
	sendwin_move_una(win, 1);
	sendwin_keep_next_ahead(win);
}

/* Does the request need a response of its own, not an ACK? */
static inline bool wqe_needs_response(const struct rc_send_wqe *wqe)
{
	return wqe->needs & NEEDS_RESPONSE;
}

/* Is the request carried out here, without a packet? */
static inline bool wqe_is_local(const struct rc_send_wqe *wqe)
{
	return wqe->needs & NEEDS_NO_PACKET;
}

/* Is it a READ? Its response is cut into packets, each with a PSN, and may be asked for in parts. */
static inline bool wqe_is_read(const struct rc_send_wqe *wqe)
{
	return wqe->opcode == UROCE_WR_RDMA_READ;
}

/* Stores a bind in the fields of a request. */
static inline void wqe_set_bind(struct rc_send_wqe *wqe, const struct rc_mr_bind *bind)
{
	wqe->remote_va = bind->va;
	wqe->rkey = bind->key;
	wqe->imm = bind->access;
	wqe->sges[0] = (struct uroce_sge){ .addr = bind->bytes, .lkey = bind->region_key };
}

static inline struct rc_mr_bind wqe_bind(const struct rc_send_wqe *wqe)
{
	return (struct rc_mr_bind){
		.va = wqe->remote_va,
		.bytes = wqe->sges[0].addr,
		.region_key = wqe->sges[0].lkey,
		.access = wqe->imm,
		.key = wqe->rkey,
	};
}

/* Reads how far the application has posted. */
static inline void sendwin_take_posted(struct rc_sendwin *win)
{
	/* pairs with S1 in publish() of sendwin.c: the slot's contents are visible */
	win->tail = atomic_load_explicit(&win->posted, memory_order_acquire);
}

#endif
