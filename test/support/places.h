/* places.h - room for the frames of an outbox, and the packets that they are */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   places_transmit(qp, now_ns, &out);
 *   packet = places_packet(&out, 0);
 * All outboxes of a thread have the same places: frames are there until the next that is given room.
 */
#ifndef TEST_PLACES_H
#define TEST_PLACES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rc/outbox.h"
#include "rc/qp.h"
#include "wire/bytes.h"
#include "wire/icrc.h"

#define PLACE_EMPTY 0xA5u /* each byte of an unused place */
#define PLACE_BYTES (FRAME_FRONT_BYTES + WIRE_HEADERS_MAX_BYTES + LIMIT_MTU_BYTES + 8)

/* Nothing of earlier frames is left there: a byte that a frame does not write shows. */
static inline void places_give(struct rc_outbox *out, uint32_t room)
{
	static __thread uint8_t frames[OUTBOX_PACKETS][PLACE_BYTES];
	static __thread uint8_t *places[OUTBOX_PACKETS];
	static __thread struct wire_frame_template template;
	const struct wire_encap encap = {
		.hop_limit = 64,
		.source_port = 0xC000,
		.dest_port = WIRE_UDP_PORT,
		.source = { [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 1 },
		.dest = { [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 2 },
	};
	const bool first = places[0] == NULL;

	if (first)
		wire_frame_prepare(&template, &encap);
	/* frames fill places in their order, and none has an IP header that begins so */
	for (uint32_t i = 0; i < OUTBOX_PACKETS && (first || frames[i][template.ip_offset] != PLACE_EMPTY); i++) {
		places[i] = frames[i];
		memset(frames[i], PLACE_EMPTY, FRAME_FRONT_BYTES + WIRE_HEADERS_MAX_BYTES);
	}
	outbox_next_packets(out, &template, places + OUTBOX_PACKETS, room);
}

/* Lets a QP fill an empty outbox. */
static inline void places_transmit(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	outbox_reset(out);
	places_give(out, OUTBOX_PACKETS);
	rc_qp_transmit(qp, now_ns, out);
}

/* Packet number i, whose payload lies in the frame; which is as it has to be, its ICRC, too. */
static inline struct wire_packet places_packet(const struct rc_outbox *out, uint32_t i)
{
	const uint8_t *frame = out->places[-1 - (int)i];
	uint32_t bytes = out->frame_bytes[i];
	struct wire_packet packet;
	struct wire_encap encap;

	memset(&packet, 0, sizeof(packet));
	if (i >= out->packet_count || wire_encap_parse(frame, bytes, true, &encap) != WIRE_FRAME_ROCE ||
	    encap.bth_offset + encap.bth_bytes != bytes ||
	    wire_packet_parse(frame + encap.bth_offset, encap.bth_bytes, &packet) != WIRE_PACKET_OK ||
	    wire_icrc_frame(frame + encap.ip_offset, bytes - encap.ip_offset - WIRE_ICRC_BYTES) !=
		    load_le32(frame + bytes - WIRE_ICRC_BYTES)) {
		fprintf(stderr, "frame %u of %u, of %u bytes, is none, or its ICRC is wrong\n", i, out->packet_count,
			bytes);
		abort();
	}
	return packet;
}

/* The UDP source port of frame number i. */
static inline uint16_t places_source_port(const struct rc_outbox *out, uint32_t i)
{
	return load_be16(out->places[-1 - (int)i] + out->template->bth_offset - WIRE_UDP_BYTES);
}

#endif
