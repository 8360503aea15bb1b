/* raw_frame.c - makes frames that look like the stack's */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "raw_frame.h"
#include "wire/encap.h"
#include "wire/packet.h"

#define REAL_PSN 0x123456u

static uint8_t opcode_of(enum perf_op op, uint32_t payload_bytes, bool only)
{
	if (op == PERF_READ && payload_bytes == 0)
		return OP_READ_REQUEST;
	if (op == PERF_READ)
		return only ? OP_READ_RESPONSE_ONLY : OP_READ_RESPONSE_MIDDLE;
	if (perf_ops[op].opcode == UROCE_WR_SEND || perf_ops[op].opcode == UROCE_WR_SEND_WITH_IMM ||
	    perf_ops[op].opcode == UROCE_WR_SEND_WITH_INV)
		return only ? OP_SEND_ONLY : OP_SEND_MIDDLE;
	return only ? OP_WRITE_ONLY : OP_WRITE_MIDDLE;
}

void perf_raw_frame_make(const struct wire_packet *packet, const struct wire_encap *encap, struct perf_raw_frame *shape)
{
	const struct wire_opcode_row *row = wire_opcode(packet->opcode);
	struct wire_packet padded = *packet;
	struct wire_encap built = *encap;
	uint32_t bth_bytes;

	memset(shape, 0, sizeof(*shape));
	shape->payload_bytes = packet->payload_bytes;
	shape->pad_bytes = packet_pad_bytes(packet->payload_bytes);
	padded.pad_bytes = (uint8_t)shape->pad_bytes;
	shape->fields = (struct wire_headers){
		.begin = packet_bth_of(packet->opcode, 0, packet->pkey, packet->dest_qpn),
		.va = __builtin_bswap64(packet->va),
		.key_and_length = packet_reth_end(packet->rkey, packet->dma_length),
		.extensions = (row->reth ? FRAME_RETH : 0) | (row->aeth ? FRAME_4_BYTES : 0),
	};
	wire_frame_prepare(&shape->template, encap);
	bth_bytes = WIRE_BTH_BYTES + row->extension_bytes + shape->payload_bytes + shape->pad_bytes + WIRE_ICRC_BYTES;
	shape->headers_bytes = wire_encap_build(&built, bth_bytes, shape->headers);
	shape->headers_bytes += wire_packet_build(&padded, shape->headers + shape->headers_bytes);
	shape->frame_bytes = built.bth_offset + bth_bytes;
	shape->ip_offset = built.ip_offset;
	shape->bth_offset = built.bth_offset;
}

void perf_raw_frame_of(enum perf_op op, uint32_t payload_bytes, bool only, struct perf_raw_frame *shape)
{
	const struct wire_packet packet = {
		.opcode = opcode_of(op, payload_bytes, only),
		.dest_qpn = 0xFEDCBA,
		.pkey = 0xFFFF,
		.dma_length = payload_bytes,
		.payload_bytes = payload_bytes,
	};
	const struct wire_encap encap = {
		.hop_limit = 64,
		.source_port = 0xC000,
		.dest_port = WIRE_UDP_PORT,
		.dest_mac = { 2, 0, 0, 0, 0, 2 },
		.source_mac = { 2, 0, 0, 0, 0, 1 },
		.source = { [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 1 },
		.dest = { [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 2 },
	};

	perf_raw_frame_make(&packet, &encap, shape);
}

bool perf_raw_frame_is_real(const struct perf_raw_frame *shape, struct rte_mempool *pool, const uint8_t *payload)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(pool);
	struct wire_packet packet;
	struct wire_encap encap;
	const uint8_t *frame;
	bool real;

	if (mbuf == NULL)
		return false;
	shape_fill(shape, mbuf, REAL_PSN, payload, true);
	frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	real = wire_encap_parse(frame, shape->frame_bytes, true, &encap) == WIRE_FRAME_ROCE &&
	       wire_packet_parse(frame + encap.bth_offset, encap.bth_bytes, &packet) == WIRE_PACKET_OK &&
	       packet.payload_bytes == shape->payload_bytes && packet.psn == REAL_PSN &&
	       wire_icrc_frame(frame + encap.ip_offset, shape->frame_bytes - encap.ip_offset - WIRE_ICRC_BYTES) ==
		       load_le32(frame + shape->frame_bytes - WIRE_ICRC_BYTES);
	rte_pktmbuf_free(mbuf);
	return real;
}
