/* op.h - what a row says about an operation: how it is posted, sent, judged, carried out, answered and reported */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ops.c has the rows, and what each operation does at either end. A new operation is a number in wr.h, its opcodes in
 * lib/wire/opcodes.def, and a row in ops.c. Other files ask the row; no other file compares numbers of operations.
 */
#ifndef RC_OP_H
#define RC_OP_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "rc/mr.h"
#include "wire/hints.h"
#include "wire/opcode.h"

struct rc_outbox;
struct rc_qp;
struct rc_replay_entry;
struct rc_scatter;
struct rc_send_wqe;
struct wire_packet;

/*
 * What a request needs to begin. Most requests need only a QP in RTS. A request that needs more is checked, and so is
 * each request of a QP in another state.
 */
enum rc_send_needs {
	NEEDS_FENCE = UROCE_SEND_FENCE, /* 1: no READ or atomic before the request may be outstanding */
	NEEDS_RESPONSE = 2,             /* room among the READs and atomics that the peer takes at a time */
	/* the request is carried out here, once all requests before it are answered */
	NEEDS_NO_PACKET = 4,
	NEEDS_RECEIVE = 8,       /* with flow control: a credit for a receive entry at the peer (F-3) */
	NEEDS_TOO_MUCH = 16,     /* the request is longer than a message may be, which is a local fault */
	NEEDS_RTS = 32,          /* every request: a QP in RTS */
	NEEDS_GATHER = 64,       /* needs nothing to begin; its payload has to be gathered from several pieces */
	NEEDS_IS_COMPARED = 128, /* no need: holes.c has compared the request with older ones, down to slot `imm` */
	NEEDS_CHECKS = NEEDS_RESPONSE | NEEDS_NO_PACKET | NEEDS_FENCE | NEEDS_TOO_MUCH
};

/* What memory a request names. */
enum rc_op_pieces {
	PIECES_NO_OPERATION, /* no operation has this number */
	PIECES_ANY,
	PIECES_NONE,
	PIECES_EIGHT_BYTES, /* one piece; and its slot has operands */
	PIECES_RANGE,       /* no pieces; the request names a range of the peer's memory by flush and flush_bytes */
	PIECES_BIND         /* no pieces; the request names keys, and only rc_sendwin_post_bind() takes it */
};

struct rc_op {
	/* posting, and completing */
	_Alignas(64) uint8_t flags; /* enum uroce_send_flags: the flags that a request may have */
	uint8_t pieces;             /* enum rc_op_pieces */
	uint8_t needs;              /* enum rc_send_needs: what the request needs to begin besides a QP in RTS */
	uint8_t completion;         /* enum uroce_wc_opcode */
	bool is_new;                /* of IBA 1.6, so not every peer knows it */

	/* opcodes of the request; a request that is always one packet has `only` */
	uint8_t first, middle, last, only;
	uint8_t reth; /* SEND, WRITE: FRAME_RETH: the first packet has a RETH */
	uint8_t imm;  /* SEND, WRITE: FRAME_4_BYTES: the last packet has an ImmDt or IETH */
	bool ieth;    /* the last packet has an IETH, which invalidates a key of the peer */
	bool is_cut;  /* the request, or the response to a READ, is cut into packets of the path MTU (P-3) */

	/* its response, if it needs one */
	uint8_t response;       /* opcode of the response; not set if the response is cut */
	uint8_t response_bytes; /* payload bytes of the response; a response that is cut has the request's length */
	bool brings_data;       /* the response writes to the memory that the request names */

	/* for requests that are judged as one packet and need a response */
	uint8_t request_bytes; /* payload bytes of the request; if not 0, its DMALen has to be the same */
	uint8_t target_bytes;  /* bytes of the peer's memory that the request names; 0: as many as its DMALen says */
	bool aligned;          /* the request's address has to be a multiple of 8 (S-7, S-20) */
	uint8_t counter;       /* enum rc_counter: executed requests */

	uint8_t failure; /* enum uroce_wc_status of a request that could not be carried out here */
	/* enum uroce_access: what the peer's QP and key have to allow; not used if rights_of is set */
	uint32_t rights;
	const char *name; /* of its completion */

	/* Carries a local request out. Returns false if the request fails. */
	bool (*carry_out)(struct rc_qp *qp, const struct rc_send_wqe *wqe);

	/* Writes the request's packet. A READ asks for `responses` responses from number `index` on. */
	void (*write)(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t slot, uint32_t index,
		      uint32_t responses, struct rc_outbox *out);

	/*
	 * Returns the rights that the packet asks for, or 0 if it asks for nothing that exists. NULL: it asks for
	 * `rights`.
	 */
	uint32_t (*rights_of)(const struct wire_packet *packet);

	/* May the peer use the memory that the packet names? NULL: `rights` are needed to a range from its va on. */
	enum rc_mr_verdict (*check)(struct rc_qp *qp, const struct wire_packet *packet);

	/*
	 * Executes the request, and fills in what its replay entry has to remember besides va, rkey and length. NULL:
	 * nothing happens before the response is made.
	 */
	void (*execute)(const struct wire_packet *packet, const struct rc_scatter *place,
			struct rc_replay_entry *entry);

	/*
	 * Adds the response, for which there is room; not called for a response that is cut into packets. Sets *ended,
	 * to false if the response needs more time. Returns why the memory may not be used any more, or MR_OK.
	 */
	enum rc_mr_verdict (*respond)(struct rc_qp *qp, struct rc_replay_entry *entry, struct rc_outbox *out,
				      bool *ended);

	/*
	 * Is the packet, of the same opcode and rkey as the request in the entry, a duplicate of that request (S-9,
	 * S-10)?
	 */
	bool (*matches)(const struct rc_qp *qp, const struct rc_replay_entry *entry, const struct wire_packet *packet);
};

/* The rows, by enum uroce_wr_opcode; numbers without an operation have a row of zeros. */
HIDDEN extern const struct rc_op rc_ops[UROCE_WR_OPCODES];

/* What a request's packet means to the responder. */
enum rc_rule {
	RULE_SEND = 1,     /* a packet of a SEND; a packet with neither SEND nor ANSWERED is of a WRITE */
	RULE_ANSWERED = 2, /* the request has a response of its own, which is kept for duplicates (S-11) */
	RULE_STARTS = 4,   /* the first packet of its message */
	RULE_ENDS = 8,     /* the last packet of its message */
	/* the packet needs a receive entry: the first of a SEND, the last of a WRITE with immediate */
	RULE_TAKES = 16,
	RULE_REPORTS = 32, /* completes the receive entry */
	RULE_EARLY = 64,   /* the packet's payload may be placed before the ICRC is known: see may_place_early() */
	RULE_INVALIDATES = 128,
	RULE_ONLY = RULE_STARTS | RULE_ENDS
};

/* The operation of a request's opcode, and what the packet means; NULL and 0 for an opcode that is no request. */
struct rc_op_packet {
	const struct rc_op *op;
	uint8_t rule;
};

HIDDEN extern const struct rc_op_packet rc_ops_packets[OPCODES_OF_RC];

/* The operation whose completions have this opcode, or NULL. */
const struct rc_op *rc_ops_find_completion(uint8_t completion);

#endif
