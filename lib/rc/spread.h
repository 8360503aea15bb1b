/* spread.h - several paths to the peer: which one a packet takes, and which ones still work */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only to a peer that has agreed to SACKs (W-10). Switches choose a way by a hash of addresses and ports, so each UDP
 * source port stands for a path. A QP that spreads its packets has a set of ports, and its requests take them in turn.
 * Packets on one path stay in order; those on different paths may overtake each other by as much as the paths differ.
 * So only what left later over the same path, and has come, shows that a packet is lost (S-23). A path that is dead
 * shows nothing: its packets are lost when others have come that left two round trips later, or when a PROBE is
 * answered that has left over another path because they had been missing for long.
 *
 * A path is GOOD; SKIP for one rotation after a loss; or BAD after two losses in a row between which nothing has come
 * over it. A BAD path takes no packets but a PROBE now and then, whose answer makes it GOOD. While all are BAD the one
 * that has failed least often goes on.
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

/* Does the QP spread its packets? Most do nothing seldom, so that the board, in another cache line, is not read. */
static inline bool qp_spreads(const struct rc_qp *qp)
{
	return __builtin_expect(qp->seldom, 0) && qp->spread.board != 0;
}

/* The following only while it does, unless they say otherwise. */
static inline struct rc_spread *spread_of(const struct rc_qp *qp)
{
	return &qp_boards(qp)->all[qp->spread.board - 1u].spread;
}

/* These three always. Spreads the packets over so many paths, 0 or 1: one; also if there is no board for more. */
void rc_spread_over(struct rc_qp *qp, uint32_t paths);
uint32_t rc_spread_count(const struct rc_qp *qp);
void rc_spread_forget(struct rc_qp *qp);

/* Always. The QP has migrated: nothing is known of the paths to the new address. */
void rc_spread_path_changed(struct rc_qp *qp);

/* ---- what leaves ---- */

/* A call of rc_qp_transmit() begins: ACKs, SACKs and responses leave first, over a path of their own. */
void rc_spread_begin(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/* What leaves next are answers again. */
void rc_spread_answers(const struct rc_qp *qp, struct rc_outbox *out);

/* The rotation is over. */
void rc_spread_turn(struct rc_spread *spread);

/* A request's packet leaves, over the next path, and not over the one that has just lost it. */
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

/*
 * Bit i: a PROBE is to leave over path i, because a packet is missing there. by_timer: nothing has come for long;
 * otherwise not over a path where one has left behind the packet already, for its answer is on its way.
 */
uint64_t rc_spread_probe_paths(struct rc_qp *qp, bool by_timer);

/* Bit i: path i is BAD, and it is time to try it. */
uint64_t rc_spread_retries(struct rc_qp *qp);

/* A PROBE leaves over this path: returns its id, which repeats after 1023 PROBEs. */
uint16_t rc_spread_probe(struct rc_qp *qp, uint32_t path, struct rc_outbox *out);

/* An answer to PROBE `id` has come. true: to the last one over its path. */
bool rc_spread_answered(struct rc_qp *qp, uint16_t id);

/*
 * The peer has sent a PROBE: answers take another path from now on if nothing is missing. id: an earlier one that is
 * answered later; 0: none. rc_spread_next_probe(): such a one is to be answered now, over another path than the one
 * before; 0: none.
 */
void rc_spread_probed(struct rc_qp *qp, uint16_t id);
uint16_t rc_spread_next_probe(struct rc_qp *qp, struct rc_outbox *out);

/* ---- what SACKs tell ---- */

/*
 * A SACK has come of a peer that has received so much. answers: it answers a PROBE. false: a newer one has overtaken
 * it, so what it says is missing may have come.
 */
bool rc_spread_heard(struct rc_qp *qp, psn_t received, bool answers, uint64_t now_ns);

/*
 * A SACK that was not overtaken says that the oldest packet that has not come is the one at `missing`. Returns how long
 * to wait until a PROBE is to ask about it, for its path may be dead; RC_NEVER: nothing says so. Only with a map.
 */
uint64_t rc_spread_patience(struct rc_qp *qp, psn_t missing, uint64_t now_ns);

/* The packet at psn, which left once, has come. */
void rc_spread_came(struct rc_qp *qp, psn_t psn);

/* Does the answer at hand tell that the packet at psn is lost if it has not come? resent: it has left before. */
bool rc_spread_answer_tells(const struct rc_qp *qp, psn_t psn, bool resent);

/* The packet at psn is lost. */
void rc_spread_lost(struct rc_qp *qp, psn_t psn);

/* Always. Nothing that SACKs told holds any more: the window is rewound. */
void rc_spread_rewound(struct rc_qp *qp);

/* A new map begins, for which nothing behind snd_una has come. */
void rc_spread_map_begins(struct rc_qp *qp);

/* The highest PSN that has come over the path of the packet at psn. */
static inline psn_t spread_newest(const struct rc_qp *qp, psn_t psn)
{
	const struct rc_spread *spread = spread_of(qp);

	return spread->paths[spread->path_of[psn.v % KEPT_SPAN] & SPREAD_INDEX].newest;
}

#endif
