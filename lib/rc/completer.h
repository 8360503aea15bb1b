/* completer.h - what a response means for the requests that are in flight */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_COMPLETER_H
#define RC_COMPLETER_H

#include <stdint.h>

struct rc_qp;
struct rc_origin;
struct wire_packet;

/* What became of a packet whose ICRC nobody has looked at. */
enum rc_shortcut { SHORTCUT_NONE, SHORTCUT_TAKEN, SHORTCUT_WRONG_ICRC };

/*
 * The next response of the oldest READ: placed while it is checked, since the buffer is undefined until the READ
 * completes. SHORTCUT_NONE: it is something else; nothing has happened, nor with a wrong ICRC but to that buffer.
 */
enum rc_shortcut rc_completer_shortcut(struct rc_qp *qp, const struct wire_packet *packet,
				       const struct rc_origin *origin, uint64_t now_ns);

/* Judges and executes one response (P-5, Q-7 to Q-12, K-REQ). Completions follow with rc_report_run(). */
void rc_completer_receive(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns);

#endif
