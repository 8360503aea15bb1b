/* message.h - a SEND or WRITE cut into packets: their opcodes, and what only the first and the last of them have */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For the two files that make packets of requests: requester.c, which judges, and plain.c, the short way.
 */
#ifndef RC_MESSAGE_H
#define RC_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "rc/sendwin.h"
#include "wire/packet.h"

/* Opcodes of a message that is cut into packets. */
struct message_opcodes {
	uint8_t first, middle, last, only;
	bool reth;       /* on FIRST and ONLY */
	bool immediate;  /* on LAST and ONLY */
	bool invalidate; /* the same */
	uint8_t unused;  /* a power of two of bytes: the row of a request is found by a shift */
};

static const struct message_opcodes message_opcodes[] = {
	[UROCE_WR_SEND] = { .first = OP_SEND_FIRST,
			    .middle = OP_SEND_MIDDLE,
			    .last = OP_SEND_LAST,
			    .only = OP_SEND_ONLY },
	[UROCE_WR_SEND_WITH_IMM] = { .first = OP_SEND_FIRST,
				     .middle = OP_SEND_MIDDLE,
				     .last = OP_SEND_LAST_IMM,
				     .only = OP_SEND_ONLY_IMM,
				     .immediate = true },
	[UROCE_WR_SEND_WITH_INV] = { .first = OP_SEND_FIRST,
				     .middle = OP_SEND_MIDDLE,
				     .last = OP_SEND_LAST_INV,
				     .only = OP_SEND_ONLY_INV,
				     .invalidate = true },
	[UROCE_WR_RDMA_WRITE] = { .first = OP_WRITE_FIRST,
				  .middle = OP_WRITE_MIDDLE,
				  .last = OP_WRITE_LAST,
				  .only = OP_WRITE_ONLY,
				  .reth = true },
	[UROCE_WR_RDMA_WRITE_WITH_IMM] = { .first = OP_WRITE_FIRST,
					   .middle = OP_WRITE_MIDDLE,
					   .last = OP_WRITE_LAST_IMM,
					   .only = OP_WRITE_ONLY_IMM,
					   .reth = true,
					   .immediate = true },
};

/* What only the first packet of a SEND or WRITE has. */
static inline void message_begin(const struct rc_send_wqe *wqe, const struct message_opcodes *opcodes, bool last,
				 struct wire_packet *packet)
{
	packet->opcode = last ? opcodes->only : opcodes->first;
	if (opcodes->reth) {
		packet->va = wqe->remote_va;
		packet->rkey = wqe->rkey;
		packet->dma_length = wqe->length_bytes;
	}
}

/* And the last one, with so many bytes. */
static inline void message_end(const struct rc_send_wqe *wqe, const struct message_opcodes *opcodes, uint32_t bytes,
			       struct wire_packet *packet)
{
	packet->payload_bytes = bytes;
	packet->pad_bytes = packet_pad_bytes(bytes);
	if (opcodes->immediate)
		packet->imm = wqe->imm;
	if (opcodes->invalidate)
		packet->invalidate_key = wqe->rkey;
	if (wqe->flags & UROCE_SEND_SOLICITED)
		packet->flags |= WIRE_SOLICITED;
}

#endif
