/* requester.h - what goes out next */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_REQUESTER_H
#define RC_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "rc/qp_state.h"

struct rc_outbox;
struct wire_packet;

/*
 * Adds packets to the outbox while the window, the rules and the room allow. true: it stopped for want of room
 * and has more to send now.
 */
bool rc_requester_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

#endif
