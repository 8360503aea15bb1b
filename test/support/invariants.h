/* invariants.h - what holds for every completion, packet and outbox of a pair, whatever the test */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_INVARIANTS_H
#define TEST_INVARIANTS_H

#include <criterion/criterion.h>

#include "pair.h"
#include "rc/codes.h"

/* E-7, and an error is followed by flushes only (E-1). */
static inline void check_completion(struct side *side, enum side_name name, const struct uroce_wc *wc)
{
	bool receive = wc->opcode >= UROCE_WC_RECV;

	cr_assert_eq(wc->qp_num, side->qp->qpn);
	if (wc->status != UROCE_WC_SUCCESS)
		cr_assert_eq(side->qp->state, UROCE_QPS_ERR, "%c: error completion before the QP is in ERR",
			     "AB"[name]);
	if (side->failed[receive])
		cr_assert_eq(wc->status, UROCE_WC_WR_FLUSH_ERR, "%c: wr=%lu %s after an error", "AB"[name], wc -> wr_id,
			     uroce_wc_status_name(wc->status));
	side->failed[receive] |= wc->status != UROCE_WC_SUCCESS;
}

static inline void check_packet(const struct pair *pair, enum side_name name, const struct wire_packet *packet)
{
	cr_assert_eq(packet->dest_qpn, pair->side[!name].qp->qpn, "%c: to QP %#x", "AB"[name], packet -> dest_qpn);
	cr_assert_eq(packet->pkey, pair->side[name].qp->pkey, "%c: P_Key %#x", "AB"[name], packet -> pkey);
}

/*
 * S-14, S-8: whatever covers a PSN leaves behind the response to each READ or atomic up to that PSN. A response in the
 * same outbox has left.
 */
static inline void check_responses(const struct side *side, enum side_name name, const struct wire_packet *packet)
{
	bool acknowledge = packet->opcode == OP_ACKNOWLEDGE;
	psn_t covered = acknowledge ? psn_make(packet->psn) : psn_make(packet->cack_psn);
	const struct rc_replay_entry *entry = rc_replay_head(&side->qp->replay);

	if (!acknowledge && packet->opcode != OP_SACK)
		return;
	if (acknowledge && syndrome_class(packet->syndrome) != SYNDROME_ACK)
		covered = psn_previous(covered);
	while (entry && entry->repeated)
		entry = entry->queue_next == REPLAY_NONE ? NULL : &side->qp->replay.entries[entry->queue_next];
	cr_assert(entry == NULL || psn_before(covered, entry->unsent_psn),
		  "%c: %s covers PSN %u, and the response of PSN %u has not left", "AB"[name],
		  acknowledge ? "an ACK or NAK" : "a SACK", covered.v, entry ? entry->unsent_psn.v : 0);
}

static inline void check_room(const struct rc_outbox *out, uint32_t given)
{
	cr_assert_eq(out->packet_limit, given, "%u packets, limit %u", out->packet_count, out->packet_limit);
}

#endif
