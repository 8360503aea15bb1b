/* scoreboard.h - which packets in flight have come, as SACKs tell, and which of them are lost */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A SACK reports for 64 packets whether they have arrived. Packets on one path stay in order, so a packet that has not
 * arrived is lost when something has arrived that left later over the same path (T-7, S-23):
 *   - a packet. First copies leave in the order of their PSNs. A retransmission after a SACK left before the first
 *     packet that was new then; its state holds that PSN. A retransmission after a rewind left before the first packet
 *     that was new at the rewind.
 *   - a PROBE, if the SACK is its answer.
 * Over different paths packets overtake each other. A packet whose path shows nothing is lost when a packet that left
 * two round trips later has come, or when a PROBE was answered that left over another path after a long silence, or
 * while the packet's own path is BAD.
 *
 * sack.c reports SACKs, retransmissions and PROBEs to the scoreboard; loss detection reports when snd_una moves and
 * when the window is rewound. A QP borrows a board (board.h) for the states while something is known.
 */
#ifndef RC_SCOREBOARD_H
#define RC_SCOREBOARD_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/board.h"
#include "rc/qp_state.h"

/*
 * The state of a packet. RESENT: the packet was sent again, and the low bits are those of the PSN of the first packet
 * that left after its last copy. RESENT_SINCE: the copy left after the last PROBE.
 */
enum rc_scoreboard_state {
	SACK_IN_FLIGHT = 0,
	SACK_KEPT = 1,
	SACK_LOST = 2,
	SACK_RESENT = 0x8000,
	SACK_RESENT_SINCE = 0x4000
};

/* After this many PROBEs in a row whose answers told nothing new a PROBE has to wait for its timer. */
#define SACK_IDLE_PROBES 8u

/* What kind of SACK a map comes from. */
struct rc_sack_kind {
	bool answered;  /* the SACK answers our PROBE, and was written after the PROBE came */
	bool overtaken; /* a newer SACK came before this one: packets that this one calls missing may have come */
};

/* RESET. */
void rc_scoreboard_reset(struct rc_qp *qp);

/* The window is rewound, or nothing is sent any more: what SACKs have told is forgotten. */
void rc_scoreboard_forget(struct rc_qp *qp);

/* ---- what SACKs tell, in this order ---- */

/* A SACK has come that tells something: everything up to cack has come. */
void rc_scoreboard_begin(struct rc_qp *qp, psn_t cack);

/* The packet that drew the SACK is the one at psn. */
void rc_scoreboard_drawn_by(struct rc_qp *qp, psn_t psn);

/*
 * Only while packets are spread. received: how much the peer has received by then. answers: the SACK answers a PROBE.
 * Returns false if a newer SACK has overtaken this one.
 */
bool rc_scoreboard_heard(struct rc_qp *qp, psn_t received, bool answers, uint64_t now_ns);

/*
 * Only while packets are spread: the packets of this bitmap, which begins at `first`, have come; those less than
 * `limit` behind snd_una show that their paths work. To be called before packets are judged.
 */
void rc_scoreboard_paths_work(struct rc_qp *qp, psn_t first, uint64_t bitmap, uint32_t limit);

/* The packet at psn has come. Returns whether that is news. */
bool rc_scoreboard_came(struct rc_qp *qp, psn_t psn);

/* The peer says that the packet at psn has not come: is it lost? No if it is known to be lost. */
bool rc_scoreboard_is_lost(const struct rc_qp *qp, psn_t psn, struct rc_sack_kind kind);

/* The packet at psn is lost, or the peer has given it up. Returns false if there is no board to note that. */
bool rc_scoreboard_mark_lost(struct rc_qp *qp, psn_t psn);

/*
 * Only with a map, while packets are spread. A SACK that was not overtaken says that `missing` is the oldest packet
 * that has not come. Returns how long to wait before a PROBE asks about it, because its path may be dead; RC_NEVER: no
 * PROBE is needed.
 */
uint64_t rc_scoreboard_probe_delay_ns(struct rc_qp *qp, psn_t missing, uint64_t now_ns);

/* ---- what leaves, and what is acknowledged: only with a map, except rc_scoreboard_probed() ---- */

/* The first packet that is lost. Only while sack.lost > 0. */
psn_t rc_scoreboard_first_lost(struct rc_qp *qp);

/* The lost packet at psn leaves once more. */
void rc_scoreboard_sent_again(struct rc_qp *qp, psn_t psn);

/*
 * PROBEs leave. by_timer: because nothing has come for long. Returns the paths over which one is to leave, bit i for
 * path i; 0 if packets are not spread.
 */
uint64_t rc_scoreboard_probed(struct rc_qp *qp, bool by_timer);

/* snd_una has moved: forgets the packets before it, and returns the board once no packet in flight has a state. */
void rc_scoreboard_acknowledged(struct rc_qp *qp);

/* Is something known of what is in flight? */
static inline bool scoreboard_has_map(const struct rc_qp *qp)
{
	return qp_board(qp, BOARD_SACK) != NULL;
}

/* What is known, only with a map. */
static inline struct rc_sack_map *scoreboard_map(const struct rc_qp *qp)
{
	return &qp_board(qp, BOARD_SACK)->sack;
}

/* The state of a packet, only with a map. */
static inline uint16_t scoreboard_state(const struct rc_qp *qp, psn_t psn)
{
	return scoreboard_map(qp)->states[psn.v % KEPT_SPAN];
}

#endif
