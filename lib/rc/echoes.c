/* echoes.c - answers that copies of packets may still draw */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/echoes.h"

#include "rc/ask.h"
#include "rc/sackmap.h"

void rc_echoes_copy_sent(struct rc_qp *qp, uint32_t responses, uint32_t acks)
{
	struct rc_owed *owed = &qp->loss.owed;

	owed->responses += responses;
	owed->acks += acks;
	owed->limit = qp->win.snd_max;
	if (!qp->loss.echoes.expected)
		owed->first = owed->limit;
	qp->loss.echoes.expected = true;
}

bool rc_echoes_take(struct rc_qp *qp, bool ack)
{
	uint32_t *owed = ack ? &qp->loss.owed.acks : &qp->loss.owed.responses;

	if (!qp->loss.echoes.expected || *owed == 0)
		return false;
	--*owed;
	return true;
}

/*
 * Once the peer has answered a packet that was first sent after the last copy, it has answered all copies. Until then a
 * repeated ACK may answer a copy, unless the first copy was sent after the oldest packet in flight.
 */
void rc_echoes_acknowledged(struct rc_qp *qp)
{
	struct rc_owed *owed = &qp->loss.owed;

	if (psn_before(owed->limit, qp->win.snd_una)) {
		*owed = (struct rc_owed){ 0 };
		qp->loss.echoes.expected = qp->sack.map != NULL;
	}
	if (qp->sack.map)
		rc_sackmap_acknowledged(qp);
	ask_doubt(&qp->ask, psn_before(qp->win.snd_una, owed->first) ? 0 : owed->acks);
}

void rc_echoes_come_first(struct rc_qp *qp)
{
	ask_doubt(&qp->ask, qp->loss.owed.acks);
}
