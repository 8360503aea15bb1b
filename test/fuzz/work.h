/* work.h - requests of both sides of a pair, each with its own memory, and what must have become of them in the end */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. work_open(), then work_post() and work_receive() as the input says
 *   2. work_settle(): the wire is sound from here on, what is missing is posted
 *   3. work_check(): every request has completed once and in order, and the bytes are where they belong
 */
#ifndef TEST_FUZZ_WORK_H
#define TEST_FUZZ_WORK_H

#include "input.h"
#include "pair.h"
#include "trace/trace.h"

#define WORK_POSTS 15u
#define WORK_PIECE 2048u /* of both memories, for each request */
#define WORK_SIDE (16u * WORK_PIECE)
#define WORK_WORD_AT (15u * WORK_PIECE) /* where a side's atomics go, in the peer's memory */

struct work_request {
	uint8_t opcode; /* enum uroce_wr_opcode */
	uint32_t bytes;
	uint64_t value; /* an atomic's operand */
	bool hopeless;  /* it asks for what the peer refuses */
};

struct work_side {
	struct work_request requests[WORK_POSTS];
	uint32_t posted, takers; /* requests, and those that take a receive of the peer */
	uint32_t receives;       /* posted, for the peer's takers in their order */
	uint32_t taker_offsets[WORK_POSTS];
	uint32_t sent_done, received_done; /* completions that were checked */
};

struct work {
	struct pair *pair;
	struct work_side sides[2];
	struct trace *traces[2]; /* what each end sent and got; NULL: not watched */
	uint64_t packets;
};

/*
 * Both sides, connected as the first byte of the input says. may_fail: a retry budget may be as small as one; otherwise
 * all requests succeed, and what each end sends is judged as a trace.
 */
void work_open(struct work *work, struct input *input, bool may_fail);
void work_close(struct work *work);

/* hopeless: with a key that the peer does not know. */
void work_post(struct work *work, enum side_name side, struct input *input, bool hopeless);
void work_receive(struct work *work, enum side_name side);

/* One packet on the wire from a side: by its number from the oldest on. */
void work_deliver(struct work *work, enum side_name from, uint32_t number);
/* So many of them at once, oldest first. */
void work_deliver_train(struct work *work, enum side_name from, uint32_t packets);
void work_drop(struct work *work, enum side_name from, uint32_t number);
void work_double(struct work *work, enum side_name from, uint32_t number);
/* Lets a side send, if its wire has room for all that it can have to send. */
void work_transmit(struct work *work, enum side_name side, uint32_t packets);
/* To the next deadline, or a fixed step. */
void work_expire(struct work *work);

/* Looks at the completions so far: in order, none twice, errors only behind what was done. */
void work_look(struct work *work);
void work_settle(struct work *work);
void work_check(struct work *work);

#endif
