/* kept.h - keeps requests that come before their turn, and tells the peer of them with SACKs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A forger (threat-model.md): a kept packet is as good as one at ePSN, so what may be kept is bounded by the
 * number of pairs of PSN and port that are acceptable at a time: KEPT_NEAR PSNs from any port of the peer's set, and
 * more from ports that have been used, divided by their number. When a second copy of a kept packet differs from the
 * first one, neither is trusted. SACKs and ACKs that arrivals draw are paid from an allowance, which grows with the
 * bytes that arrive and with the requests that are executed.
 *
 * Only for a peer that has agreed to it (rc_kept.window). A packet behind a missing one is copied to the store of the
 * lcore. When the missing packet comes the kept ones are judged and executed, each in its turn, as if they came then:
 * before that no kept packet is placed, counted, acknowledged or completed (S-21). Instead of a NAK for the missing
 * packet SACKs leave, which tell for each PSN whether it has come (S-22). SACKs promise nothing: a kept packet may be
 * dropped until it is acknowledged.
 *   1. rc_kept_offer() for each packet that comes before its turn
 *   2. when ePSN has come: rc_kept_next(), and execute the packet that it returns, until it returns none; then
 *   rc_kept_remains()
 *   3. rc_kept_say() when there is room for frames
 *
 * The store is shared between the peers (share.h). A QP whose missing packet does not come loses all that it keeps to a
 * QP that needs the room, unless the peer of that QP has more in the store than its own, and keeps nothing more until
 * the missing packet has come.
 */
#ifndef RC_KEPT_H
#define RC_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/board.h"
#include "rc/outbox.h"
#include "rc/qp_state.h"

struct rc_kept_packet {
	union {
		struct wire_packet packet; /* its payload lies behind */
		uint32_t next;             /* while the packet is free: index of the next free one, plus 1 */
	};
	uint8_t payload[LIMIT_MTU_BYTES];
};

/* Like rc_boards: a list of packets that were given back, and a range that was never used and costs no memory yet. */
struct rc_store {
	struct rc_kept_packet *packets;
	struct share_peers kept; /* how many packets each peer has in the store */
	uint32_t touched;
	uint32_t free; /* index of the first free one, plus 1; 0: none */
	/* the boards of the QPs that keep something, in the order in which a missing packet last came */
	struct rc_board *oldest, *newest;
};

/* Makes a store of these `count` packets of the caller. */
static inline void rc_store_init(struct rc_store *store, struct rc_kept_packet *packets, uint32_t count)
{
	*store = (struct rc_store){ .packets = packets };
	share_peers_init(&store->kept, count);
}

/* Both ends have agreed to SACKs, and to this many packets in flight; 0: they have not agreed. */
void rc_kept_agree(struct rc_qp *qp, uint16_t window);

/* Has the peer agreed to SACKs? */
static inline bool qp_keeps(const struct rc_qp *qp)
{
	return qp->kept.window > 0;
}

/*
 * A request arrived out of order from this UDP source port, and its ICRC is right: it is kept if there is room and if
 * its port allows it, and SACKs are due.
 */
void rc_kept_offer(struct rc_qp *qp, const struct wire_packet *packet, uint16_t source_port, uint64_t now_ns);

/* A request from this port was kept or executed: later ones from it are kept farther ahead of ePSN. */
void rc_kept_path_used(struct rc_qp *qp, uint16_t source_port);

/* A PROBE arrived: an ACK is due, and SACKs of everything that arrived so far, unless the allowance is used up. */
void rc_kept_probed(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns);

/*
 * Returns the kept packet at ePSN, which stays until the next call, or NULL if there is none. Drops packets before
 * ePSN.
 */
const struct wire_packet *rc_kept_next(struct rc_qp *qp);

/* The missing packet at ePSN has come, after a gap. */
void rc_kept_filled(struct rc_qp *qp, uint64_t now_ns);

/* No gap is left, so the ACK that is due says as much as SACKs would, unless they answer a PROBE. */
void rc_kept_closed(struct rc_qp *qp);

/* All kept packets whose turn has come were executed: is something kept behind a further gap? */
bool rc_kept_remains(struct rc_qp *qp);

/* Nothing is kept any more. */
void rc_kept_forget(struct rc_qp *qp);

/* RESET: nothing is kept and nothing was agreed. */
void rc_kept_reset(struct rc_qp *qp);

/*
 * The packet at ePSN is refused, and the NAK says all that the peer has to know: no SACK is due. An RNR NAK requests
 * everything from ePSN on, so kept packets are dropped, and so is every packet until the one at ePSN arrives.
 */
void rc_kept_refused(struct rc_qp *qp);

/* Writes the SACKs that are due. Returns false if there is no room for all. */
bool rc_kept_say(struct rc_qp *qp, struct rc_outbox *out);

#endif
