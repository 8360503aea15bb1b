/* outbox.h - what the core wants done: frames to send, completions and events to deliver */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host owns one per lcore and hands it to each call of the core:
 *   1. outbox_reset(), then outbox_next_packets() for each QP: how many frames its port can take now, and where they go
 *   2. rc_qp_receive() adds completions and events; rc_qp_transmit() and rc_qp_respond() frames as well
 *   3. send the frames; deliver completions[] and events[]
 * Everything is bounded: what does not fit stays in the QP, which says that it wants another call.
 */
#ifndef RC_OUTBOX_H
#define RC_OUTBOX_H

#include <uroce/event.h>
#include <uroce/wr.h>

#include "config/limits.h"
#include "wire/frame.h"

struct rc_outbox {
	uint32_t packet_limit; /* so many frames there may be */
	uint32_t packet_count;
	struct wire_frame_template *template; /* of the QP's path */
	uint8_t *const *places;               /* where the frames go: the first to places[-1], the next to [-2] */
	uint16_t frame_bytes[OUTBOX_PACKETS];
	uint32_t completion_count;
	uint32_t event_count;
	struct uroce_wc completions[OUTBOX_COMPLETIONS];
	void *completion_cqs[OUTBOX_COMPLETIONS]; /* where each goes: the host's handle from rc_qp_config */
	struct uroce_event events[OUTBOX_EVENTS];
};

/* The frames before are sent: `room` places for those of another QP, each with room for its longest frame. */
static inline void outbox_next_packets(struct rc_outbox *out, struct wire_frame_template *template,
				       uint8_t *const *places, uint32_t room)
{
	out->template = template;
	out->places = places;
	out->packet_limit = room < OUTBOX_PACKETS ? room : OUTBOX_PACKETS;
	out->packet_count = 0;
}

/* Nothing is in it, and there is no room for frames yet. */
static inline void outbox_reset(struct rc_outbox *out)
{
	outbox_next_packets(out, NULL, NULL, 0);
	out->completion_count = 0;
	out->event_count = 0;
}

/* Frames that may still be added. */
static inline uint32_t outbox_packet_room(const struct rc_outbox *out)
{
	return out->packet_limit - out->packet_count;
}

static inline bool outbox_has_packet_room(const struct rc_outbox *out)
{
	return out->packet_count < out->packet_limit;
}

/* From now on room for so many frames at most. Returns the limit until now, which is to be restored. */
static inline uint32_t outbox_hold_back(struct rc_outbox *out, uint32_t frames)
{
	uint32_t limit = out->packet_limit;

	if (outbox_packet_room(out) > frames)
		out->packet_limit = out->packet_count + frames;
	return limit;
}

/* Where the next frame is written to, which counts when outbox_take_frame() has been told its bytes. */
static inline uint8_t *outbox_place(const struct rc_outbox *out)
{
	return out->places[-1 - (int)out->packet_count];
}

static inline void outbox_take_frame(struct rc_outbox *out, uint32_t bytes)
{
	out->frame_bytes[out->packet_count++] = (uint16_t)bytes;
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
