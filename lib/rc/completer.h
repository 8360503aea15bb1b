/* completer.h - what a response means for the requests that are in flight */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_COMPLETER_H
#define RC_COMPLETER_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

struct rc_origin;
struct rc_outbox;
struct wire_ack;
struct wire_packet;

/*
 * Judges and executes one response (P-5, Q-7 to Q-12, K-REQ); completions follow with rc_report_run(). false: its
 * ICRC, left to us by the origin, is wrong, and it is as if it had never come.
 */
bool rc_completer_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			  uint64_t now_ns);

/*
 * Takes an ACK that qp_ack_is_plain() says yes to and whose ICRC is right, and adds its completions; the same
 * as rc_qp_receive() with such a packet. It was admitted, by a path that is not about to change.
 */
void rc_completer_take_ack(struct rc_qp *qp, const struct wire_ack *ack, uint64_t now_ns, struct rc_outbox *out);

#endif
