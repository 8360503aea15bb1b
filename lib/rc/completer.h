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
 * Judges and executes one response (P-5, Q-7 to Q-12, K-REQ); rc_report_run() then adds completions. Returns false if
 * the ICRC, which the origin had left unchecked, is wrong; then nothing has changed.
 */
bool rc_completer_receive(struct rc_qp *qp, const struct wire_packet *packet, const struct rc_origin *origin,
			  uint64_t now_ns);

/*
 * Takes an admitted ACK for which qp_ack_is_plain() is true and whose ICRC is right, and adds its completions. It does
 * what rc_qp_receive() would do with that packet while no migration is under way.
 */
void rc_completer_handle_ack(struct rc_qp *qp, const struct wire_ack *ack, uint64_t now_ns, struct rc_outbox *out);

#endif
