/* cc.h - congestion control: how much may be in flight, how much is sent at a time, and how fast */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester asks how much it may send, and loss detection tells what has happened. An algorithm is a row of
 * functions, each told of one kind of event; only these functions, cc.c and this header write struct rc_cc and struct
 * rc_cc_past. There is one window for both directions: of SENDs and WRITEs it counts packets, of READs the responses
 * that they ask for. An algorithm sets a rate by pace.h, which limits READ responses as well.
 *
 * To add an algorithm: write a file cc_NAME.c with its row, name the row here and in cc.c, add the algorithm to enum
 * uroce_cc and its word to app/common/names.c, and what it has to remember to struct rc_cc_past or a struct of its own.
 */
#ifndef RC_CC_H
#define RC_CC_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/outbox.h"
#include "rc/pace.h"
#include "rc/ports.h"
#include "rc/qp_state.h"
#include "rc/spread.h"

#define CC_OPEN PSN_WINDOW /* the window in PSNs that limits nothing */
#define CC_LEAST 8u        /* the smallest window */

/*
 * One algorithm. Each function reads snd_una, and sets the window with cc_set_window(), and the burst. Functions that
 * the algorithm does not need are NULL; reset, lost, timed_out and undo are always there. A row with `trip` has
 * `timed`, too.
 */
struct rc_cc_row {
	/* A new connection, or another path: nothing is known. */
	void (*reset)(struct rc_qp *qp);

	/* snd_una may have moved. Called only while the window limits something. */
	void (*delivered)(struct rc_qp *qp);

	/*
	 * The request whose round trip is measured has left. packets: how many packets it has or, if it is a READ, how
	 * many responses.
	 */
	void (*timed)(struct rc_qp *qp, uint32_t packets);

	/* The request whose round trip is measured has been answered, took_ns after it left. */
	void (*trip)(struct rc_qp *qp, uint64_t took_ns, uint64_t now_ns);

	/*
	 * A packet behind snd_una was lost. trip_ns is the round trip without the time in queues; 0: nothing queues, or
	 * the round trip is not known.
	 */
	void (*lost)(struct rc_qp *qp, uint64_t trip_ns, uint64_t now_ns);

	/* Nothing has come for a whole ACK timeout. */
	void (*timed_out)(struct rc_qp *qp);

	/* The peer was only slow: nothing was lost when timed_out() was last called. */
	void (*undo)(struct rc_qp *qp);

	/* A CNP arrived: did a frame leave that it can be about? That frame is then used up. NULL: yes. */
	bool (*expects)(struct rc_qp *qp);

	/* The peer tells that a switch has marked what we have sent. */
	void (*notified)(struct rc_qp *qp, uint64_t now_ns);

	/* While the QP is paced, before it sends: time has passed. */
	void (*elapsed)(struct rc_qp *qp, uint64_t now_ns);

	/* While the QP is paced: `frames` frames have left; those that count against the rate have `bytes` bytes. */
	void (*sent)(struct rc_qp *qp, uint32_t frames, uint64_t bytes, uint64_t now_ns);
};

extern const struct rc_cc_row rc_cc_fixed, rc_cc_dcqcn, rc_cc_delay;

/* ---- which algorithm ---- */

/* Chooses the algorithm, as if the connection were new. DEFAULT: dcqcn if the link tells its rate, else fixed. */
void rc_cc_choose(struct rc_qp *qp, enum uroce_cc cc);
enum uroce_cc rc_cc_chosen(const struct rc_qp *qp);

/*
 * Does the algorithm listen to notifications? Then packets may be sent as ones that switches can mark instead of
 * dropping.
 */
bool rc_cc_listens(const struct rc_qp *qp);

/* ---- what has happened ---- */

void rc_cc_reset(struct rc_qp *qp);
void rc_cc_delivered(struct rc_qp *qp);
void rc_cc_timed(struct rc_qp *qp, uint32_t packets);
void rc_cc_trip(struct rc_qp *qp, uint64_t now_ns);
void rc_cc_lost(struct rc_qp *qp, uint64_t now_ns);
void rc_cc_timed_out(struct rc_qp *qp);
void rc_cc_undo(struct rc_qp *qp);
bool rc_cc_expects(struct rc_qp *qp);
void rc_cc_notified(struct rc_qp *qp, uint64_t now_ns);
void rc_cc_elapsed(struct rc_qp *qp, uint64_t now_ns);
void rc_cc_sent(struct rc_qp *qp, uint32_t frames, uint64_t bytes, uint64_t now_ns);

/* snd_una has moved. */
static inline void cc_delivered(struct rc_qp *qp)
{
	if (qp->cc.limited)
		rc_cc_delivered(qp);
}

/*
 * The request whose round trip is measured has left. packets: how many responses it has; 1 if it is no READ.
 */
static inline void cc_timed(struct rc_qp *qp, uint32_t packets)
{
	if (qp->cc.times_trips)
		rc_cc_timed(qp, packets);
}

/* The request whose round trip is measured has been answered. */
static inline void cc_trip(struct rc_qp *qp, uint64_t now_ns)
{
	if (qp->cc.times_trips)
		rc_cc_trip(qp, now_ns);
}

/* ---- what may be sent ---- */

/*
 * How much may leave now has one answer per kind of frame. cc_hold() limits the outbox to it; cc_release() counts the
 * added frames and restores the limit of the outbox. SENDs, WRITEs and READs must fit into the window as well.
 */
enum cc_kind {
	CC_REQUESTS,       /* limited by the burst after a loss, and by the rate */
	CC_READ_RESPONSES, /* limited by the burst after a repeated READ */
	CC_PACED_RESPONSES /* limited by the rate, READ responses and parts of them */
};

struct cc_hold {
	uint32_t limit;  /* of the outbox without the hold */
	uint32_t before; /* frames that were in the outbox */
};

/* Does the burst after a loss limit nothing any more? */
static inline bool cc_burst_is_full(const struct rc_qp *qp)
{
	return burst_is_full(&qp->cc.burst);
}

/* Does cc_hold() limit requests now? If not the caller may leave it out. */
static inline bool cc_holds_requests(const struct rc_qp *qp)
{
	return !cc_burst_is_full(qp) || qp_is_paced(qp);
}

/* How many frames of this kind may leave in this call of rc_qp_transmit(), if the outbox has room for them. */
static inline uint32_t cc_room(const struct rc_qp *qp, enum cc_kind kind)
{
	uint32_t rate;

	if (kind == CC_READ_RESPONSES)
		return qp->response_burst.packets;
	if (kind == CC_PACED_RESPONSES)
		return pace_room(qp);
	rate = qp_is_paced(qp) ? pace_request_room(qp) : OUTBOX_PACKETS;
	return rate < qp->cc.burst.packets ? rate : qp->cc.burst.packets;
}

static inline struct cc_hold cc_hold(const struct rc_qp *qp, enum cc_kind kind, struct rc_outbox *out)
{
	return (struct cc_hold){ .before = out->packet_count, .limit = outbox_hold_back(out, cc_room(qp, kind)) };
}

static inline void cc_release(struct rc_qp *qp, enum cc_kind kind, struct cc_hold hold, struct rc_outbox *out)
{
	out->packet_limit = hold.limit;
	if (kind == CC_REQUESTS)
		burst_grow(&qp->cc.burst, out->packet_count - hold.before);
	if (kind == CC_READ_RESPONSES)
		burst_grow(&qp->response_burst, out->packet_count - hold.before);
	else if (qp_is_paced(qp))
		rc_pace_spend(qp, hold.before, out);
}

/* How many packets of SENDs and WRITEs may be in flight. */
static inline uint32_t cc_window(const struct rc_qp *qp)
{
	return qp->cc.window;
}

/* Are as many packets of SENDs and WRITEs in flight as may be? */
static inline bool cc_window_is_full(const struct rc_qp *qp)
{
	return psn_distance(qp->win.snd_nxt, qp->win.snd_una) >= qp->cc.window;
}

/* How many more packets of SENDs and WRITEs may be in flight. Only while the window is not full. */
static inline uint32_t cc_window_room(const struct rc_qp *qp)
{
	return qp->cc.window - psn_distance(qp->win.snd_nxt, qp->win.snd_una);
}

/* Does the window limit nothing? */
static inline bool cc_is_open(const struct rc_qp *qp)
{
	return qp->cc_past.limit >= CC_OPEN;
}

/* How many PSNs may be in flight, those of READ responses among them; CC_OPEN: no limit. */
uint32_t rc_cc_read_window(struct rc_qp *qp);

/* ---- for the algorithms ---- */

/* From now on `psns` PSNs may be in flight. */
static inline void cc_set_window(struct rc_qp *qp, uint32_t psns)
{
	uint32_t most = qp->kept.window > WINDOW_PACKETS ? qp->kept.window : WINDOW_PACKETS;
	uint32_t paths = rc_spread_count(qp);
	uint32_t reach = 1 + ports_reach(paths ? paths : 1); /* as far as the peer keeps requests */

	most = most < reach ? most : reach;

	qp->cc_past.limit = psns;
	qp->cc.window = (uint16_t)(psns < most ? psns : most);
	qp->cc.limited = psns < most;
}

#endif
