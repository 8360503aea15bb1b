/* outbox.h - what the core wants the host to do: send frames, deliver completions and events */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host owns one per lcore and hands it to each call of the core:
 *   1. outbox_reset(), then outbox_next_packets() for each QP: how many frames its port can take now, and their memory
 *   2. rc_qp_receive() adds completions, rc_qp_respond() frames as well, and rc_qp_transmit() all: also events
 *   3. the host sends the frames and delivers completions[] and events[]
 * The outbox is bounded: what does not fit stays in the QP, and the call returns true and has to be repeated.
 */
#ifndef RC_OUTBOX_H
#define RC_OUTBOX_H

#include <uroce/event.h>
#include <uroce/wr.h>

#include "config/limits.h"
#include "wire/frame.h"

struct rc_outbox {
	uint32_t packet_limit; /* how many frames the outbox takes */
	uint32_t packet_count;
	struct wire_frame_template *template; /* template for frames along the QP's path */
	/* memory for the frames: the first frame goes to places[-1], the next to places[-2] */
	uint8_t *const *places;
	uint16_t frame_bytes[OUTBOX_PACKETS];
	uint32_t completion_count;
	uint32_t event_count;
	bool has_failure; /* one of the completions says why its request failed */
	struct uroce_wc completions[OUTBOX_COMPLETIONS];
	void *completion_cqs[OUTBOX_COMPLETIONS]; /* the CQ of each completion: the host's handle from rc_qp_config */
	struct uroce_event events[OUTBOX_EVENTS];
};

/*
 * The frames so far have been sent. Makes room for `room` frames of another QP, each with memory for its longest frame.
 */
static inline void outbox_next_packets(struct rc_outbox *out, struct wire_frame_template *template,
				       uint8_t *const *places, uint32_t room)
{
	out->template = template;
	out->places = places;
	out->packet_limit = room < OUTBOX_PACKETS ? room : OUTBOX_PACKETS;
	out->packet_count = 0;
}

/* Empties the outbox, and leaves no room for frames. */
static inline void outbox_reset(struct rc_outbox *out)
{
	outbox_next_packets(out, NULL, NULL, 0);
	out->completion_count = 0;
	out->event_count = 0;
	out->has_failure = false;
}

/* How many frames may still be added. */
static inline uint32_t outbox_packet_room(const struct rc_outbox *out)
{
	return out->packet_limit - out->packet_count;
}

static inline bool outbox_has_packet_room(const struct rc_outbox *out)
{
	return out->packet_count < out->packet_limit;
}

/* Limits the room to at most `frames` frames more. Returns the earlier limit, which the caller restores. */
static inline uint32_t outbox_hold_back(struct rc_outbox *out, uint32_t frames)
{
	uint32_t limit = out->packet_limit;

	if (outbox_packet_room(out) > frames)
		out->packet_limit = out->packet_count + frames;
	return limit;
}

/* Where the next frame is to be written. outbox_take_frame() then adds it. */
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
