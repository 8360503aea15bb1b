/* tail_probe.h - sends the probe that is due; probe.h says when one is due and what it asks */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_TAIL_PROBE_H
#define RC_TAIL_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

struct rc_outbox;

/* Sends the probe that is due, which with nothing in flight is a keep-alive. Returns false if there was no room. */
bool rc_tail_probe_send(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/* Sends an empty WRITE that asks for an ACK of everything in flight. Returns false if there was no room. */
bool rc_tail_probe_ask(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

#endif
