/* op.h - what a row says about an operation: how it is posted, sent, answered and reported */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows, and what each operation does at either end, stand in ops.c. All other files ask the row; none compares numbers of operations.
 */
#ifndef RC_OP_H
#define RC_OP_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "wire/hints.h"

struct rc_outbox;
struct rc_qp;
struct rc_send_wqe;

/* What a request may need before it can begin. Most need nothing; a request is checked only if it has one of these. */
enum rc_send_needs {
	NEEDS_RECEIVE = 1,              /* with flow control: a credit for a receive entry at the peer (F-3) */
	NEEDS_RESPONSE = 2,             /* one of the READs and atomics that the peer takes at a time */
	NEEDS_NO_PACKET = 4,            /* is carried out here, once all requests before it are answered */
	NEEDS_FENCE = UROCE_SEND_FENCE, /* 8: no READ or atomic before it may be outstanding */
	NEEDS_TOO_MUCH = 16,            /* is longer than a message may be, which is a local fault */
	NEEDS_ALL = 31
};

/* What memory a request names. */
enum rc_op_pieces {
	PIECES_ANY,
	PIECES_NONE,
	PIECES_EIGHT_BYTES, /* one piece; and its slot has operands */
	PIECES_RANGE,       /* none, but a range of the peer's memory: flush and flush_bytes */
	PIECES_BIND         /* none, but keys, which only rc_sendwin_post_bind() takes */
};

struct rc_op {
	/* posting, and completing */
	_Alignas(64) uint8_t flags; /* enum uroce_send_flags: the flags that it may have */
	uint8_t pieces;             /* enum rc_op_pieces */
	uint8_t needs;              /* enum rc_send_needs: what it needs to begin */
	uint8_t completion;         /* enum uroce_wc_opcode */
	bool is_new;                /* of IBA 1.6, so not every peer knows it */

	/* its request: opcodes; one of a single packet has only that of this packet */
	uint8_t first, middle, last, only;
	uint8_t request_bytes; /* of a request with a response: bytes of payload */
	uint8_t reth;          /* SEND, WRITE: FRAME_RETH: the first packet has a RETH */
	uint8_t imm;           /* SEND, WRITE: FRAME_4_BYTES: the last packet has an ImmDt or IETH */
	bool ieth;             /* it is an IETH, which invalidates a key of the peer */
	bool is_cut;           /* is cut into packets of the path MTU: the request, or the response to a READ (P-3) */

	/* its response, if it needs one */
	uint8_t response;       /* opcode; one that is cut has any READ response */
	uint8_t response_bytes; /* bytes of payload; one that is cut has the request's length */
	bool brings_data;       /* the response writes to the memory that the request names */

	const char *name; /* of its completion */

	/* local ones: carries the request out; false: it completes with `failure`, enum uroce_wc_status */
	bool (*carry_out)(struct rc_qp *qp, const struct rc_send_wqe *wqe);
	uint8_t failure;

	/* Writes the request's packet. One that is cut asks for `responses` responses from number `index` on. */
	void (*write)(struct rc_qp *qp, uint32_t slot, uint32_t index, uint32_t responses, struct rc_outbox *out);
};

/* The rows, by enum uroce_wr_opcode. */
HIDDEN extern const struct rc_op rc_ops[UROCE_WR_OPCODES];

/* The operation that completes so, or NULL. */
const struct rc_op *rc_ops_find_completion(uint8_t completion);

#endif
