/* outbox.h - what the core wants done: packets to send, completions and events to deliver */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host owns one per lcore and hands it to each call of the core:
 *   1. outbox_reset(), then say in packet_room how many packets the port can take now
 *   2. rc_qp_receive() adds completions and events; rc_qp_transmit() and rc_qp_timeout() packets as well
 *   3. send packets[], whose spans stay valid until the next call for the QP; deliver completions[] and events[]
 * Everything is bounded: what does not fit stays in the QP, which says that it wants another turn.
 */
#ifndef RC_OUTBOX_H
#define RC_OUTBOX_H

#include <uroce/event.h>
#include <uroce/wr.h>

#include "config/limits.h"
#include "wire/packet.h"

struct rc_outbox {
	uint32_t packet_room; /* packets that may still be added */
	uint32_t packet_count;
	uint32_t span_count;
	uint32_t completion_count;
	uint32_t event_count;
	struct wire_packet packets[OUTBOX_PACKETS];
	struct wire_span spans[OUTBOX_SPANS];
	struct uroce_wc completions[OUTBOX_COMPLETIONS];
	void *completion_cqs[OUTBOX_COMPLETIONS]; /* where each goes: the host's handle from rc_qp_config */
	struct uroce_event events[OUTBOX_EVENTS];
};

/* The packets are sent: room for the next ones, while completions and events go on collecting. */
static inline void outbox_next_packets(struct rc_outbox *out, uint32_t packet_room)
{
	out->packet_room = packet_room < OUTBOX_PACKETS ? packet_room : OUTBOX_PACKETS;
	out->packet_count = 0;
	out->span_count = 0;
}

static inline void outbox_reset(struct rc_outbox *out, uint32_t packet_room)
{
	outbox_next_packets(out, packet_room);
	out->completion_count = 0;
	out->event_count = 0;
}

/* Room for one more packet, however many spans it may need? */
static inline bool outbox_has_packet_room(const struct rc_outbox *out)
{
	return out->packet_room > 0 && out->span_count + LIMIT_SGE <= OUTBOX_SPANS;
}

/* From now on room for so many packets at most. Returns how much that takes away, to be added to packet_room again. */
static inline uint32_t outbox_hold_back(struct rc_outbox *out, uint32_t packets)
{
	uint32_t held = out->packet_room > packets ? out->packet_room - packets : 0;

	out->packet_room -= held;
	return held;
}

/* The slots of the next packets; they count when outbox_take_packets() follows. */
static inline struct wire_packet *outbox_packet_slot(struct rc_outbox *out)
{
	return &out->packets[out->packet_count];
}

static inline void outbox_take_packets(struct rc_outbox *out, uint32_t count)
{
	out->packet_count += count;
	out->packet_room -= count;
}

static inline void outbox_take_packet(struct rc_outbox *out)
{
	outbox_take_packets(out, 1);
}

static inline bool outbox_has_completion_room(const struct rc_outbox *out)
{
	return out->completion_count < OUTBOX_COMPLETIONS;
}

static inline struct uroce_wc *outbox_add_completion(struct rc_outbox *out, void *cq)
{
	out->completion_cqs[out->completion_count] = cq;
	return &out->completions[out->completion_count++];
}

#endif
