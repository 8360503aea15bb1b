/* sack.h - takes the peer's SACKs: which packets have come, and which are lost and sent again */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Only for a peer that has agreed to it (rc_kept.window). SACKs tell which packets the peer keeps, each SACK for 64
 * PSNs (kept.h). A packet is lost when a SACK says that it has not come although something that left behind it has come
 * (T-7). For a first copy, that is a packet with a higher PSN; for a further copy, a packet that was first sent after
 * the copy; for both, the answer to a PROBE that left after the copy. A lost packet is sent again by itself, costs no
 * retry, and the window goes on. A SACK acknowledges nothing: requests complete by ACKs and responses alone, and
 * when the ACK timer expires or when the peer refuses a request, everything that SACKs have told is forgotten.
 */
#ifndef RC_SACK_H
#define RC_SACK_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/board.h"
#include "rc/outbox.h"
#include "rc/qp_state.h"

/* A SACK of a peer that has agreed, with a right ICRC. */
void rc_sack_arrived(struct rc_qp *qp, const struct wire_packet *packet, uint64_t now_ns);

/* Sends lost packets again. Only with a map (scoreboard.h). Returns true if there was no room for all of them. */
bool rc_sack_resend(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out);

/* Writes a PROBE, for which there is room, and counts it: the peer answers it with SACKs and an ACK. */
void rc_sack_probe(struct rc_qp *qp, enum rc_counter counter, struct rc_outbox *out);

/* Only while packets are spread: a PROBE leaves over each BAD path whose time has come. */
void rc_sack_try_paths(struct rc_qp *qp, struct rc_outbox *out);

#endif
