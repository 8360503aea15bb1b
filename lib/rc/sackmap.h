/* sackmap.h - the map of packets in flight: which have come, as SACKs tell, and which were sent again */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A QP borrows a board for the map (board.h) while something is known; sack.h alone fills and uses it. Loss detection
 * tells the map when snd_una moves and when everything is forgotten.
 */
#ifndef RC_SACKMAP_H
#define RC_SACKMAP_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/board.h"
#include "rc/qp_state.h"

/*
 * The state of a packet. RESENT: the packet was sent again, and the low bits name the first packet that left behind its
 * last copy. When the named packet or a later one has come and the copy has not, the copy is lost, too. RESENT_SINCE:
 * the copy left after the last PROBE.
 */
enum rc_sackmap_state {
	SACK_IN_FLIGHT = 0,
	SACK_KEPT = 1,
	SACK_LOST = 2,
	SACK_RESENT = 0x8000,
	SACK_RESENT_SINCE = 0x4000
};

/* After this many PROBEs in a row whose answers told nothing new a PROBE has to wait for its timer. */
#define SACK_IDLE_PROBES 8u

/* Gives a QP that has no map an empty one, on a board that it borrows. Returns false if there is no board. */
bool rc_sackmap_borrow(struct rc_qp *qp);

/* The window is rewound, or nothing is sent any more: what SACKs have told is forgotten. */
void rc_sackmap_forget(struct rc_qp *qp);

/* RESET. */
void rc_sackmap_reset(struct rc_qp *qp);

/* This function and all below are called only while qp->sack.map is set. It returns the state of a packet. */
static inline uint16_t sackmap_state(const struct rc_qp *qp, psn_t psn)
{
	return qp->sack.map->sack.states[psn.v % KEPT_SPAN];
}

void rc_sackmap_set(struct rc_qp *qp, psn_t psn, uint16_t state);

/*
 * The first packet that is lost. Only while sack.lost > 0. The search begins at the packet that it found last, or at an
 * earlier packet that was lost since.
 */
psn_t rc_sackmap_first_lost(struct rc_qp *qp);

/* snd_una has moved: forgets the packets before it, and returns the board once no packet in flight has a state. */
void rc_sackmap_acknowledged(struct rc_qp *qp);

/* A PROBE leaves. */
void rc_sackmap_probed(struct rc_qp *qp);

#endif
