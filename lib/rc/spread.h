/* spread.h - several paths to the peer: which one a packet takes, and which ones still work */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only for a peer that has agreed to SACKs (W-10). Switches choose a way by a hash of addresses and ports, so each UDP
 * source port stands for a path. A QP that spreads its packets has a set of ports, and its requests take them in turn.
 * Packets on one path stay in order; packets on different paths may overtake each other by as much as the paths differ:
 * what that means for a missing packet says scoreboard.h.
 *
 * A path is GOOD; SKIP for one rotation after a loss; or BAD after two losses in a row between which nothing has come
 * over it. A BAD path takes no packets but a PROBE now and then, whose answer makes it GOOD. While all paths are BAD
 * the packets take the one that has failed least often.
 */
#ifndef RC_SPREAD_H
#define RC_SPREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/board.h"
#include "rc/holes.h"
#include "rc/outbox.h"
#include "rc/qp_state.h"

enum rc_spread_state { SPREAD_GOOD, SPREAD_SKIP, SPREAD_BAD };

#define SPREAD_LOST 0x80u
#define SPREAD_INDEX 0x3Fu

/*
 * Does the QP spread its packets? `seldom` is false for most QPs, and then `spread`, in another cache line, is not
 * read.
 */
static inline bool qp_spreads(const struct rc_qp *qp)
{
	return __builtin_expect(qp->seldom, 0) && qp_board(qp, BOARD_SPREAD);
}

/* From here on the calls are for QPs that spread their packets, unless they say "any QP". */
static inline struct rc_spread *spread_of(const struct rc_qp *qp)
{
	return &qp_board(qp, BOARD_SPREAD)->spread;
}

/* The path of the last copy of the packet at psn: its number, and its state. */
static inline uint32_t spread_index_of(const struct rc_spread *spread, psn_t psn)
{
	return spread->path_of[psn.v % KEPT_SPAN] & SPREAD_INDEX;
}

static inline struct rc_spread_path *spread_path_of(struct rc_spread *spread, psn_t psn)
{
	return &spread->paths[spread_index_of(spread, psn)];
}

/*
 * For any QP. rc_spread_over() spreads the packets over `paths` paths, or over one path if `paths` is 0 or 1 or no
 * board is free.
 */
void rc_spread_over(struct rc_qp *qp, uint32_t paths);
uint32_t rc_spread_count(const struct rc_qp *qp);
void rc_spread_forget(struct rc_qp *qp);

/* For any QP. The QP has migrated: nothing is known of the paths to the new address. */
void rc_spread_path_changed(struct rc_qp *qp);

/* ---- what leaves ---- */

/* Remembers, about twice in a round trip, which PSN is the next to be sent. */
void rc_spread_mark_time(struct rc_qp *qp, uint64_t now_ns);

/* A call of rc_qp_transmit() begins: ACKs, SACKs and responses leave first, over a path of their own. */
void rc_spread_begin(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/*
 * Sets the path of ACKs, SACKs and responses for the frames that are added next; requests before them took other paths.
 */
void rc_spread_answers(const struct rc_qp *qp, struct rc_outbox *out);

/* The rotation is over. */
void rc_spread_turn(struct rc_spread *spread);

/* A packet of a request leaves over the next path, but a lost packet does not take the path that has lost it. */
static inline void spread_leaves(const struct rc_qp *qp, psn_t psn, struct rc_outbox *out)
{
	struct rc_spread *spread = spread_of(qp);
	uint8_t *path = &spread->path_of[psn.v % KEPT_SPAN], last = *path;

	if (__builtin_expect(spread->next >= spread->turns, 0))
		rc_spread_turn(spread);
	*path = spread->turn[spread->next++];
	if (__builtin_expect(last == (*path | SPREAD_LOST), 0))
		*path = spread->turn[spread->next < spread->turns ? spread->next : 0];
	frame_set_source_port(out->template, spread->paths[*path].port);
}

/* ---- PROBEs ---- */

/* Bit i: path i is BAD, and it is time to try it. */
uint64_t rc_spread_retries(struct rc_qp *qp);

/* A PROBE leaves over this path: returns its id, which repeats after 1023 PROBEs. */
uint16_t rc_spread_probe(struct rc_qp *qp, uint32_t path, struct rc_outbox *out);

/* An answer to PROBE `id` has come. Returns true if that was the last PROBE over its path. */
bool rc_spread_answered(struct rc_qp *qp, uint16_t id);

/*
 * The peer has sent a PROBE: if nothing is missing, answers take another path from now on. id: an earlier PROBE that
 * has to wait for its answer; 0: there is none.
 */
void rc_spread_probed(struct rc_qp *qp, uint16_t id);
/*
 * Returns the id of a PROBE that has waited, which is to be answered now over another path than the PROBE before; 0: no
 * PROBE waits.
 */
uint16_t rc_spread_next_probe(struct rc_qp *qp, struct rc_outbox *out);

/* ---- what SACKs tell ---- */

/*
 * A SACK says that packets overtook a missing one: did the peer keep something? If it did not, what takes several paths
 * is lost although the network loses nothing. So all packets take one path for a while (W-10). Returns true when that
 * begins: then the packets in flight may have overtaken each other.
 */
bool rc_spread_kept(struct rc_qp *qp, bool something, uint64_t now_ns);

/*
 * Are packets still in flight that were in flight when all packets began to take one path? They left twice, the first
 * time over several paths.
 */
bool rc_spread_repeats_flight(const struct rc_qp *qp);

/* The packet at psn is lost. */
void rc_spread_lost(struct rc_qp *qp, psn_t psn);

#endif
