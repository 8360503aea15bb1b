/* plain.h - the short way of the requester: what nearly always is to be sent */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_PLAIN_H
#define RC_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

struct rc_outbox;

/*
 * Adds what rc_requester_transmit() would, as long as SENDs and WRITEs of one piece or inline are next that nothing
 * stands in the way of. It only accepts: what it leaves is for the requester, which judges.
 */
void rc_plain_send(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/*
 * All that rc_qp_transmit() would do for a QP that has nothing to do but a single request of one packet, such as one
 * who waits for each answer posts. false: it is not that, and nothing has happened.
 */
bool rc_plain_send_one(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

#endif
