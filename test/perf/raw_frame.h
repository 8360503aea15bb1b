/* raw_frame.h - frames that look like the stack's, made once, then stored into mbufs and compared */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. perf_raw_frame_of() for frames with the payload of an operation, or perf_raw_frame_make() for any packet
 *   2. shape_fill() into an mbuf for each frame; shape_take(), or only shape_is(), for received frames
 * The frames are written by the stack's own frame writer and ICRC code, so that a comparison judges everything else.
 */
#ifndef TEST_PERF_RAW_FRAME_H
#define TEST_PERF_RAW_FRAME_H

#include <string.h>

#include <rte_mbuf.h>

#include "perf/options.h"
#include "wire/bytes.h"
#include "wire/frame.h"
#include "wire/icrc.h"
#include "wire/icrc_copy.h"

#define SHAPE_HEADERS_MAX_BYTES 96u
#define SHAPE_PSN_AT 9u /* offset in the BTH */

/* One kind of frame: its headers as they are stored, without the PSN. */
struct perf_raw_frame {
	struct wire_frame_template template;
	struct wire_headers fields; /* the same for the stack's frame writer */
	uint8_t headers[SHAPE_HEADERS_MAX_BYTES];
	uint32_t ip_offset, bth_offset, headers_bytes, payload_bytes, pad_bytes, frame_bytes;
};

/*
 * packet and encap have what all its frames have in common. Only payload_bytes counts of the payload, and flags are
 * ignored. RETH and AETH are the only extension headers.
 */
void perf_raw_frame_make(const struct wire_packet *packet, const struct wire_encap *encap,
			 struct perf_raw_frame *shape);

/*
 * Makes a frame with payload of op (not an atomic): the frame of an ONLY packet or of a MIDDLE one. For a READ the
 * frame is the request, which has no payload.
 */
void perf_raw_frame_of(enum perf_op op, uint32_t payload_bytes, bool only, struct perf_raw_frame *shape);

/* Does the stack parse the frame to what was meant, and find its ICRC right? The frame is from pool. */
bool perf_raw_frame_is_real(const struct perf_raw_frame *shape, struct rte_mempool *pool, const uint8_t *payload);

/*
 * Writes a frame. `icrc`, whether to write ICRC and pad, is a constant in each caller, so that its loop has no branch
 * for it.
 */
static inline __attribute__((always_inline)) void shape_fill(const struct perf_raw_frame *shape, struct rte_mbuf *mbuf,
							     uint32_t psn, const uint8_t *payload, bool icrc)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	if (icrc) {
		struct wire_headers fields = shape->fields;

		fields.bth_end = packet_bth_end_of(psn, false); /* with an AETH of zeros */
		frame_write(&shape->template, &fields, payload, shape->payload_bytes, frame);
	} else {
		memcpy(frame, shape->headers, SHAPE_HEADERS_MAX_BYTES);
		store_be24(frame + shape->bth_offset + SHAPE_PSN_AT, psn);
		memcpy(frame + shape->headers_bytes, payload, shape->payload_bytes);
	}
	mbuf->data_len = (uint16_t)shape->frame_bytes;
	mbuf->pkt_len = shape->frame_bytes;
}

/* Compares opcode, QPN and PSN. */
static inline bool shape_is(const struct perf_raw_frame *shape, const struct rte_mbuf *mbuf, uint32_t psn)
{
	const uint8_t *bth = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, shape->bth_offset);

	return load_be64(bth) == load_be64(shape->headers + shape->bth_offset) && load_be24(bth + SHAPE_PSN_AT) == psn;
}

static inline __attribute__((always_inline)) bool shape_take(const struct perf_raw_frame *shape,
							     const struct rte_mbuf *mbuf, uint32_t psn, uint8_t *target,
							     bool icrc)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *), *at = frame + shape->headers_bytes;
	uint32_t crc;

	if (!shape_is(shape, mbuf, psn))
		return false;
	if (!icrc) {
		memcpy(target, at, shape->payload_bytes);
		return true;
	}
	crc = icrc_copy_frame(frame + shape->ip_offset, shape->headers_bytes - shape->ip_offset, target, at,
			      shape->payload_bytes);
	if (shape->pad_bytes)
		crc = wire_icrc_continue(crc, at + shape->payload_bytes, shape->pad_bytes);
	return crc == load_le32(at + shape->payload_bytes + shape->pad_bytes);
}

#endif
