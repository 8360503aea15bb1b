/* cc.h - congestion control: how much may be in flight, and how much goes out at a time */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The requester asks how much it may send, and loss detection tells what has happened. An algorithm is a row of
 * functions that are told the same; it writes struct rc_cc and struct rc_cc_past, and nobody else does. There is one
 * window for both directions: of SENDs and WRITEs it counts packets, of READs the responses that they ask for.
 *
 * To add an algorithm: a file cc_NAME.c with its row, its name here, its line in cc.c, and what it remembers besides in
 * struct rc_cc_past.
 */
#ifndef RC_CC_H
#define RC_CC_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

#define CC_OPEN PSN_WINDOW /* a window of so many PSNs holds nothing back */
#define CC_LEAST 8u        /* and none is smaller than this */

enum rc_cc_algorithm { CC_FIXED, CC_ALGORITHMS };

/* Each reads where snd_una stands, and sets the window with cc_set_window(), and the burst. */
struct rc_cc_row {
	/* A new connection, or another path: nothing is known. */
	void (*reset)(struct rc_qp *qp);

	/* snd_una may have moved. Called only while something is held back. */
	void (*delivered)(struct rc_qp *qp);

	/*
	 * A packet behind snd_una was lost. trip_ns: how long a packet takes there and back when it waits in no queue;
	 * 0: there is no queue, or nobody knows.
	 */
	void (*lost)(struct rc_qp *qp, uint64_t trip_ns, uint64_t now_ns);

	/* Nothing has come for a whole ACK timeout. */
	void (*timed_out)(struct rc_qp *qp);

	/* What the last timed_out() was told for was no loss: the peer was only slow. */
	void (*undo)(struct rc_qp *qp);
};

extern const struct rc_cc_row rc_cc_fixed;

/* ---- what it is told ---- */

void rc_cc_reset(struct rc_qp *qp);
void rc_cc_delivered(struct rc_qp *qp);
void rc_cc_lost(struct rc_qp *qp, uint64_t now_ns);
void rc_cc_timed_out(struct rc_qp *qp);
void rc_cc_undo(struct rc_qp *qp);

/* snd_una has moved. */
static inline void cc_delivered(struct rc_qp *qp)
{
	if (qp->cc.window < WINDOW_PACKETS)
		rc_cc_delivered(qp);
}

/* So many packets have been sent. */
static inline void cc_sent(struct rc_qp *qp, uint32_t packets)
{
	burst_grow(&qp->cc.burst, packets);
}

/* ---- what it says ---- */

/* Packets of SENDs and WRITEs that may be in flight. */
static inline uint32_t cc_window(const struct rc_qp *qp)
{
	return qp->cc.window;
}

/* Is nothing held back of what may be in flight? */
static inline bool cc_is_open(const struct rc_qp *qp)
{
	return qp->cc_past.limit >= CC_OPEN;
}

/* PSNs that may be in flight, the responses to READs among them; CC_OPEN: nothing is held back. */
uint32_t rc_cc_read_window(struct rc_qp *qp);

/* Packets that a call of rc_qp_transmit() may send. */
static inline uint32_t cc_burst(const struct rc_qp *qp)
{
	return qp->cc.burst.packets;
}

/* Are they as many as there is room for? So it is when nothing was lost lately. */
static inline bool cc_burst_is_full(const struct rc_qp *qp)
{
	return burst_is_full(&qp->cc.burst);
}

/* ---- for the rows ---- */

/* So many PSNs may be in flight from now on. */
static inline void cc_set_window(struct rc_qp *qp, uint32_t psns)
{
	qp->cc_past.limit = psns;
	qp->cc.window = psns < WINDOW_PACKETS ? (uint16_t)psns : WINDOW_PACKETS;
}

#endif
