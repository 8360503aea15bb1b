/* parts.c - the queue of parts that a responder owes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/parts.h"

static struct rc_parts *parts_of(const struct rc_qp *qp)
{
	return &qp_board(qp, BOARD_PARTS)->parts;
}

static struct rc_stretch *at(struct rc_parts *parts, uint32_t index)
{
	return &parts->parts[(parts->first + index) % LIMIT_HOLES];
}

bool rc_parts_add(struct rc_qp *qp, const struct rc_stretch *part)
{
	struct rc_parts *parts;

	if (!qp->replay.has_parts) {
		if (rc_board_borrow(qp, BOARD_PARTS) == NULL)
			return false;
		parts_of(qp)->first = parts_of(qp)->count = 0;
		replay_note_parts(&qp->replay, true);
	}
	parts = parts_of(qp);
	for (uint32_t i = 0; i < parts->count; i++) {
		if (psn_equal(at(parts, i)->begin_psn, part->begin_psn) &&
		    psn_equal(at(parts, i)->end_psn, part->end_psn))
			return true;
	}
	if (parts->count == LIMIT_HOLES)
		return false;
	*at(parts, parts->count++) = *part;
	return true;
}

struct rc_stretch *rc_parts_first(struct rc_qp *qp)
{
	return qp->replay.has_parts ? at(parts_of(qp), 0) : NULL;
}

void rc_parts_pop(struct rc_qp *qp)
{
	struct rc_parts *parts = parts_of(qp);

	parts->first = (parts->first + 1) % LIMIT_HOLES;
	if (--parts->count == 0)
		rc_parts_forget(qp);
}

void rc_parts_forget(struct rc_qp *qp)
{
	rc_board_return(qp, BOARD_PARTS);
	replay_note_parts(&qp->replay, false);
}
