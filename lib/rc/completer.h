/* completer.h - what a response means for the requests that are in flight */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_COMPLETER_H
#define RC_COMPLETER_H

#include <stdint.h>

struct rc_qp;
struct wire_packet;

/* Judges and executes one response (P-5, Q-7 to Q-12, K-REQ). Completions follow with rc_report_run(). */
void rc_completer_receive(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns);

#endif
