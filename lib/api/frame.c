/* frame.c - parses a recorded frame, or its beginning, to values and a line of text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/frame.h>

#include "engine/log.h"
#include "rc/codes.h"
#include "wire/encap.h"
#include "wire/print.h"

#define FRAME_MAX_BYTES 65536u

static enum uroce_frame_kind kind_of(const struct wire_packet *packet)
{
	const struct wire_opcode_row *row = wire_opcode((uint8_t)packet->opcode);

	if (row->kind == WIRE_KIND_CNP)
		return UROCE_FRAME_CONGESTION;
	if (row->kind == WIRE_KIND_SACK || row->kind == WIRE_KIND_PROBE)
		return UROCE_FRAME_CONTROL;
	if (row->kind == WIRE_KIND_UD_SEND)
		return UROCE_FRAME_DATAGRAM;
	if (row->kind != WIRE_KIND_ACKNOWLEDGE || syndrome_class(packet->syndrome) == SYNDROME_ACK)
		return row->response ? UROCE_FRAME_RESPONSE : UROCE_FRAME_REQUEST;
	if (syndrome_class(packet->syndrome) == SYNDROME_RNR_NAK)
		return UROCE_FRAME_RNR_NAK;
	return packet->syndrome == syndrome_make(SYNDROME_NAK, NAK_PSN_SEQUENCE) ? UROCE_FRAME_SEQUENCE_NAK :
										   UROCE_FRAME_NAK;
}

static int look(const uint8_t *frame, uint32_t kept_bytes, uint32_t frame_bytes, struct uroce_frame_view *view)
{
	struct wire_encap encap;
	struct wire_packet packet;

	if (wire_encap_parse(frame, frame_bytes, false, &encap) != WIRE_FRAME_ROCE ||
	    wire_packet_parse(frame + encap.bth_offset, encap.bth_bytes, &packet) != WIRE_PACKET_OK ||
	    kept_bytes < (uint32_t)((const uint8_t *)packet.payload - frame))
		return engine_refuse_often(
			-EPROTO, "frame of %u bytes: not a RoCEv2 packet, or its headers are truncated", frame_bytes);
	view->kind = kind_of(&packet);
	memcpy(view->source.bytes, encap.source, sizeof(view->source.bytes));
	memcpy(view->dest.bytes, encap.dest, sizeof(view->dest.bytes));
	view->dest_qp_num = packet.dest_qpn;
	view->psn = packet.psn;
	view->opcode = (uint8_t)packet.opcode;
	view->ack_requested = packet.flags & WIRE_ACKREQ;
	wire_print_packet(&packet, view->text, sizeof(view->text));
	return 0;
}

int uroce_frame_parse(const void *frame, uint32_t kept_bytes, uint32_t frame_bytes, struct uroce_frame_view *view)
{
	uint8_t *whole;
	int code;

	if (kept_bytes > frame_bytes || frame_bytes > FRAME_MAX_BYTES)
		return engine_refuse(-EINVAL, "kept_bytes %u: must not exceed frame_bytes %u, which is at most %u",
				     kept_bytes, frame_bytes, FRAME_MAX_BYTES);
	if (kept_bytes == frame_bytes)
		return look(frame, kept_bytes, frame_bytes, view);
	/* Missing bytes count as zeros, so that lengths are those of the whole frame. */
	whole = calloc(1, frame_bytes);
	if (whole == NULL)
		return engine_refuse(-ENOMEM, "no memory for a frame of %u bytes", frame_bytes);
	memcpy(whole, frame, kept_bytes);
	code = look(whole, kept_bytes, frame_bytes, view);
	free(whole);
	return code;
}
