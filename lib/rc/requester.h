/* requester.h - what goes out next */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_REQUESTER_H
#define RC_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/burst.h"
#include "rc/psn.h"

struct rc_qp;
struct rc_outbox;

struct rc_requester {
	uint32_t answers_due;  /* READs and atomics started and not answered */
	uint32_t since_ackreq; /* packets sent since the last one that asked for an ACK */
	struct rc_burst burst;
	uint8_t max_rd_atomic;
	bool asking;       /* the packet at `next` asks for an ACK: nothing behind it can */
	bool asked_within; /* the oldest unanswered READ was asked for again from asked_psn on */
	psn_t asked_psn;
};

/*
 * Adds packets to the outbox while the window, the rules and the room allow. true: it stopped for want of room
 * and has more to send now.
 */
bool rc_requester_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

#endif
