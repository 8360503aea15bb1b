/* tail_probe.h - the probe that is due leaves: when, and what it asks, is said in probe.h */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_TAIL_PROBE_H
#define RC_TAIL_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

struct rc_outbox;

/* The probe that is due leaves, or, with nothing in flight, the keep-alive's question. false: there was no room. */
bool rc_tail_probe_send(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/* Asks for an ACK of all that is in flight and has not asked. false: there was no room. */
bool rc_tail_probe_ask(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

#endif
