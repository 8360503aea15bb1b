/* requester.h - what goes out next */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_REQUESTER_H
#define RC_REQUESTER_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "rc/burst.h"
#include "rc/psn.h"

struct rc_qp;
struct rc_outbox;
struct wire_packet;

struct rc_requester {
	uint32_t answers_due;  /* READs and atomics started and not answered */
	uint32_t since_ackreq; /* packets sent since the last one that asked for an ACK */
	struct rc_burst burst;
	uint8_t max_rd_atomic;
	bool asking;            /* the packet at `next` asks for an ACK: nothing behind it can */
	bool read_restarted;    /* the next one counts */
	uint16_t window;        /* packets of SENDs and WRITEs that may be in flight; less than usual after losses */
	psn_t read_restart_end; /* READs were asked for again, in parts perhaps, up to here */
};

/*
 * Adds packets to the outbox while the window, the rules and the room allow. true: it stopped for want of room
 * and has more to send now.
 */
bool rc_requester_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/*
 * The packet at psn, which the request in the slot owns and which has left before or leaves now; of a READ it asks for
 * so many packets. Without AckReq. Its spans are the outbox's next ones. A cause: its memory is not ours to use.
 */
enum uroce_cause rc_requester_plan(struct rc_qp *qp, uint32_t slot, psn_t psn, uint32_t read_packets,
				   struct wire_packet *packet, struct rc_outbox *out);

#endif
