/* probe.h - writes the packets that are sent only to get an answer; ask.h says when one is due */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer that is only slow answers a probe as well, after everything else, so a probe is small (T-6). If the oldest and
 * the newest packet together are not larger than one packet, both are sent: a peer that has all packets acknowledges
 * everything, and a peer that misses the oldest takes it and sends a NAK for what is missing behind it. Otherwise the
 * newest is sent, unless it is a READ, which is not asked for again, and behind it an empty WRITE, a duplicate of what
 * is acknowledged already. The WRITE draws an ACK that tells how far the peer has come, and never overtakes a response
 * (S-8). If the ACK comes and the response to the oldest packet has not, that response or the oldest packet was lost.
 * But an ACK of the packet before the oldest may have another cause: an earlier copy, answered late, or credits that
 * nobody asked for (F-4). So as many ACKs as these causes may bring do not count. And right behind a true answer a NAK
 * may come that says why the oldest packet was refused, so the loss counts only after a short wait.
 *
 * A peer that has no receive for the oldest packet drops what is behind it, and takes the oldest as soon as it
 * has one. Then each packet that has left behind a copy of the oldest, the newest or a new one, would look like a gap.
 * So the oldest is not sent if it needs a receive and others are in flight behind it.
 *
 * While nothing is in flight an empty WRITE has the PSN before the next one: a duplicate, which needs no PSN and no
 * send queue entry and changes nothing at the peer, who acknowledges it. Of a WRITE without bytes the responder reads
 * neither address nor R_Key, so the report that our lcore was away travels there.
 */
#ifndef RC_PROBE_H
#define RC_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/qp_state.h"

struct rc_outbox;

/*
 * Sends the packets that are due; `sent` tells whether the packets of this call have left already. A probe leaves
 * before new packets. Packets that are sent again ask for an ACK themselves, so a probe leaves beside them only if they
 * had to wait for the response to a part of a READ. An ACK request that was put off leaves after new packets, if none
 * of them has asked. Returns true if there was no room for the probe.
 */
bool rc_probe_transmit(struct rc_qp *qp, bool sent, uint64_t now_ns, struct rc_outbox *out);

#endif
