/* sendwin.h - posted work that is not yet completed, and the PSNs it owns */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring of slots. Four indexes walk it, each behind the next (local operations own no PSN and are never in between):
 *   head <= acked <= started <= tail
 *   [head, acked)    answered, waiting to be reported
 *   [acked, started) own PSNs; snd_una lies in slot `acked`
 *   [started, tail)  posted, without PSNs
 * and three PSNs: snd_una (oldest not acknowledged), snd_nxt (goes out next), snd_max (first never sent).
 * After a rewind snd_nxt < snd_max: what lies between is sent again. Only this file maps a PSN to its request.
 */
#ifndef RC_SENDWIN_H
#define RC_SENDWIN_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>

#include <uroce/wr.h>

#include "config/limits.h"
#include "rc/mr.h"
#include "rc/psn.h"

/* What a request needs to begin that is not always there: nothing, as a rule. Only then it is looked into. */
enum rc_send_needs {
	NEEDS_RECEIVE = 1,              /* an entry at the peer: a credit, where those are counted (F-3) */
	NEEDS_RESPONSE = 2,             /* one of the peer's slots for READs and the like */
	NEEDS_NO_PACKET = 4,            /* done here, when all before it is */
	NEEDS_FENCE = UROCE_SEND_FENCE, /* 8: nothing before it that waits for a response */
	NEEDS_TOO_MUCH = 16,            /* is longer than a message may be: a local fault */
	NEEDS_ALL = 31
};

/* A posted request. Written by the application until it is published, by the lcore afterwards. */
struct rc_send_wqe {
	uint64_t wr_id;
	uint8_t opcode;    /* enum uroce_wr_opcode */
	uint8_t flags;     /* enum uroce_send_flags */
	uint8_t sge_count; /* 0 with inline data */
	uint8_t needs;     /* enum rc_send_needs */
	uint32_t imm;      /* FLUSH: enum uroce_flush */
	uint64_t remote_va;
	uint32_t rkey;                        /* or the key to invalidate */
	uint32_t length_bytes;                /* of the whole message */
	psn_t first_psn;                      /* once started */
	uint32_t psn_count;                   /* once started: PSNs it owns, at least 1 */
	_Alignas(16) struct uroce_sge sges[]; /* or inline bytes */
};

static_assert(offsetof(struct rc_send_wqe, sges) + sizeof(struct uroce_sge) == 64, "one piece: one cache line");

struct rc_atomic_operands {
	uint64_t compare_add;
	uint64_t swap;
};

struct rc_sendwin {
	/* set at creation, read by both */
	uint8_t *slots; /* aligned to 64; behind them the operands of atomics, as many */
	uint32_t slot_bytes;
	uint32_t mask; /* slots - 1 */

	/* lcore only */
	uint32_t head, acked, started, tail;
	uint32_t cursor; /* slot that owns `snd_nxt`; == started when snd_nxt == snd_max */
	psn_t snd_una, snd_nxt, snd_max;
	uint32_t behind; /* PSNs from the first one to snd_una, at most PSN_WINDOW */

	/* lcore writes, application reads, but only when its queue looks full */
	_Atomic uint32_t freed;

	/* application writes, lcore reads */
	_Alignas(64) _Atomic uint32_t posted;
	uint32_t posting;    /* the application's own copy */
	uint32_t free_up_to; /* `freed` as the application last saw it */
	/* set at creation, for the application */
	uint32_t depth; /* what the user asked for: at most so many are posted */
	uint32_t sge_limit;
	uint32_t inline_limit;
	bool signal_all;

	/* lcore writes, but rarely; application reads */
	_Atomic bool no_rd_atomic;  /* max_rd_atomic is 0: a READ or the like is refused */
	_Atomic uint8_t post_state; /* enum uroce_qp_state of the QP, as posts judge it */
	_Atomic bool post_wakes;    /* the peer waits to hear of receive entries: their posts wake the lcore (F-4) */
};

/* Bytes of a slot for these limits, a multiple of 16; and of a ring of so many slots, a power of two. */
uint32_t rc_sendwin_slot_bytes(uint32_t sge_limit, uint32_t inline_limit);
uint64_t rc_sendwin_ring_bytes(uint32_t slots, uint32_t slot_bytes);

/*
 * Application side: copies wr into a slot and publishes it. 0; -ENOMEM: full; -EINVAL: opcode, sge count,
 * inline length or flags.
 */
int rc_sendwin_post(struct rc_sendwin *win, const struct uroce_send_wr *wr);

/* What is fixed when a QP is created. */
struct rc_sendwin_limits {
	uint32_t slots; /* a power of two */
	uint32_t depth, sges, inline_bytes;
	bool signal_all;
};

/* Gives it its ring, of rc_sendwin_ring_bytes() zeros. READs and the like are refused at first. */
void rc_sendwin_place(struct rc_sendwin *win, uint8_t *ring, const struct rc_sendwin_limits *limits);

/* Empties the window and gives it its first PSN. */
void rc_sendwin_reset(struct rc_sendwin *win, psn_t first);

/* The same for a bind, translated to keys. */
int rc_sendwin_post_bind(struct rc_sendwin *win, const struct uroce_send_wr *wr, const struct rc_mr_bind *bind);

/* The next posted request was done here and is answered. Only while nothing is outstanding. */
void rc_sendwin_finish_local(struct rc_sendwin *win);

/* The slot that owns a PSN in flight. */
uint32_t rc_sendwin_owner(const struct rc_sendwin *win, psn_t psn);

/*
 * Acknowledges everything before `end`. Stops in front of a request that needs a response of its own (READ,
 * atomic), for silence about it means that the response was lost. true: got as far as `end`.
 */
bool rc_sendwin_ack_through(struct rc_sendwin *win, psn_t end);

/* Everything before `end` is answered. Returns how many requests are, by this, that need a response of their own. */
uint32_t rc_sendwin_answer_through(struct rc_sendwin *win, psn_t end);

/* The next packet to go out is this one, which has left before. Returns whether anything is to be sent again. */
bool rc_sendwin_go_to(struct rc_sendwin *win, psn_t next);

/*
 * PSNs of READs and the like that have left and are not answered. heard: the peer has sent everything before it, which
 * may have been lost on its way.
 */
uint32_t rc_sendwin_responses_due(const struct rc_sendwin *win, psn_t heard);

/* The packet(s) up to, not including, `end` went out. */
void rc_sendwin_advance(struct rc_sendwin *win, psn_t end);

static inline struct rc_send_wqe *sendwin_slot(const struct rc_sendwin *win, uint32_t index)
{
	return (struct rc_send_wqe *)(void *)(win->slots + (uint64_t)(index & win->mask) * win->slot_bytes);
}

/* What an atomic in this slot has besides. */
static inline struct rc_atomic_operands *sendwin_operands(const struct rc_sendwin *win, uint32_t index)
{
	uint8_t *operands = win->slots + (win->mask + 1ull) * win->slot_bytes;

	return (struct rc_atomic_operands *)(void *)operands + (index & win->mask);
}

/* The next posted request will own psn_count PSNs from `snd_max` on. */
static inline void sendwin_number(const struct rc_sendwin *win, struct rc_send_wqe *wqe, uint32_t psn_count)
{
	wqe->first_psn = win->snd_max;
	wqe->psn_count = psn_count;
}

/* rc_sendwin_advance() for what was never sent before; complete: up to the end of its request. */
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

/* The oldest request, which is answered, was reported or needs no report. */
static inline void sendwin_finish(struct rc_sendwin *win)
{
	win->head++;
}

/* The oldest request was reported, answered or not: it will never be sent. */
static inline void sendwin_flush(struct rc_sendwin *win)
{
	win->head++;
	win->acked = win->started = win->cursor = win->head;
}

/* S2: the slots up to head may be posted into again. */
static inline void sendwin_free_slots(struct rc_sendwin *win)
{
	atomic_store_explicit(&win->freed, win->head, memory_order_release);
}

/* READs and the like are refused when they are posted, or no more. */
static inline void sendwin_refuse_rd_atomic(struct rc_sendwin *win, bool refuse)
{
	atomic_store_explicit(&win->no_rd_atomic, refuse, memory_order_relaxed);
}

/* Posts are judged by this state of the QP from now on. */
static inline void sendwin_set_post_state(struct rc_sendwin *win, uint8_t state)
{
	atomic_store_explicit(&win->post_state, state, memory_order_release);
}

/* The peer waits to hear of receive entries: their posts wake the lcore (F-4). Written when it changes. */
static inline void sendwin_wake_by_posts(struct rc_sendwin *win, bool wake)
{
	if (atomic_load_explicit(&win->post_wakes, memory_order_relaxed) != wake)
		atomic_store_explicit(&win->post_wakes, wake, memory_order_relaxed);
}

/* PSNs sent and not acknowledged. */
static inline uint32_t sendwin_outstanding(const struct rc_sendwin *win)
{
	return psn_distance(win->snd_max, win->snd_una);
}

/* Behind snd_una, within the window that ends at the newest sent, and not before the first PSN of all (P-5). */
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

/* snd_una has moved; what goes out next is never behind it. */
static inline void sendwin_keep_next_ahead(struct rc_sendwin *win)
{
	if (psn_distance(win->snd_max, win->snd_nxt) > psn_distance(win->snd_max, win->snd_una)) {
		win->snd_nxt = win->snd_una;
		win->cursor = win->acked;
	}
}

/*
 * Acknowledges everything that was sent, of which no request needs a response of its own, and none is half sent, nor to
 * be sent again: the cursor is at `started`.
 */
static inline void sendwin_ack_all(struct rc_sendwin *win)
{
	sendwin_move_una(win, sendwin_outstanding(win));
	win->acked = win->started;
}

/* One PSN of the request at `acked`, which is wqe, was answered; with its last PSN the request is. */
static inline void sendwin_take_response(struct rc_sendwin *win, const struct rc_send_wqe *wqe)
{
	if (psn_equal(win->snd_una, sendwin_last_psn(wqe)))
		win->acked++;
	sendwin_move_una(win, 1);
	sendwin_keep_next_ahead(win);
}

/* READs, atomics, ATOMIC WRITEs and FLUSHes are answered one by one; an ACK is not enough. */
static inline bool opcode_needs_response(uint32_t opcode)
{
	return opcode >= UROCE_WR_RDMA_READ && opcode <= UROCE_WR_FLUSH;
}

static inline bool wqe_needs_response(const struct rc_send_wqe *wqe)
{
	return opcode_needs_response(wqe->opcode);
}

/* Done here, without a packet. */
static inline bool wqe_is_local(const struct rc_send_wqe *wqe)
{
	return wqe->opcode >= UROCE_WR_LOCAL_INV;
}

/* A bind, laid into the fields of a request. */
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

/* Sees what the application has posted. */
static inline void sendwin_take_posted(struct rc_sendwin *win)
{
	/* pairs with S1 in rc_sendwin_post: the slot's contents are visible */
	win->tail = atomic_load_explicit(&win->posted, memory_order_acquire);
}

#endif
