/* op.h - what the model knows about each operation, written a second time, not asked of lib/rc */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_OP_H
#define SIM_OP_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

struct sim_end;
struct sim_message;
struct sim_verdict;
struct sim_world;

struct sim_op {
	uint8_t kind;   /* enum wire_kind of its packets; WIRE_KIND_RESERVED: it is local and has none */
	uint8_t answer; /* opcode of an answer that is one packet and brings message->original; 0: there is none */
	bool answered;  /* needs an answer of its own */
	bool receives;  /* needs a receive entry */
	bool eight;     /* names eight bytes */
	bool words;     /* those are shared words */
	bool payload;   /* its packets carry data */
	bool lands;     /* its answer brings data */

	/* Executes a request that is answered. */
	void (*execute)(struct sim_world *world, struct sim_end *end, struct sim_message *message,
			struct sim_verdict *verdict);
};

extern const struct sim_op sim_ops[UROCE_WR_OPCODES];

#endif
