/* trace.h - judges a trace: did both ends of each RC connection keep to go-back-N, and to what set-up asks of them? */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace shows what passed one point, in order. What can be called wrong depends on where that is: at the requester
 * every request is seen, and what it got back; at the responder, what arrived and every response. Where losses lie
 * before the point on both sides, only what is wrong wherever it is seen is judged.
 *   1. trace_open()
 *   2. trace_add() with every packet, in order; trace_begins() for what is known of the connections' beginnings, but
 *      what REQ and REP tell of them in the trace need not be said
 *   3. trace_judge()
 *   4. trace_report(), or look at the findings; trace_close()
 * A connection is two halves, one for the requests of each side; only those with requests exist.
 */
#ifndef TEST_TRACE_H
#define TEST_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "wire/packet.h"

enum trace_verdict {
#define VERDICT(symbol, name, wrong, sentence) TRACE_##symbol,
#include "verdicts.def"
#undef VERDICT
	TRACE_VERDICTS
};

struct trace_verdict_row {
	const char *name;
	bool wrong;
	const char *sentence;
};

extern const struct trace_verdict_row trace_verdicts[TRACE_VERDICTS];

/* One packet of the trace. Its payload is looked at when it is added, and of datagrams to QP 1 only. */
struct trace_packet {
	uint64_t number; /* of the frame, for messages */
	uint64_t time_ns;
	uint8_t source[16], dest[16];
	struct wire_packet packet;
};

/* Ends whose packets pass the point before they can be lost. */
enum trace_view { TRACE_AT_REQUESTER = 1, TRACE_AT_RESPONDER = 2 };

struct trace_options {
	bool at_wire;   /* at neither end */
	bool at_given;  /* at the end of this address; otherwise it is found out */
	bool any_order; /* both ends agreed that the parts of a READ are asked for in any order */
	uint8_t at[16];
	uint32_t mtu;        /* 0: found out from the packets */
	uint64_t grace_ns;   /* what an end may take to react to what has come */
	uint64_t silence_ns; /* after so long without progress a resend needs no other cause */
};

struct trace_finding {
	enum trace_verdict verdict;
	uint64_t number; /* of the frame */
	uint32_t half;
	uint32_t connection; /* of connection management, from 1; 0: the half counts */
	uint32_t psn;
	char detail[160];
};

struct dialog;
struct trace;
struct trace_half;

struct trace *trace_open(const struct trace_options *options);
void trace_add(struct trace *trace, const struct trace_packet *packet);
/* Requests from source to this QP of dest begin with this PSN; otherwise the first one that is seen has to do. */
void trace_begins(struct trace *trace, const uint8_t source[16], const uint8_t dest[16], uint32_t dest_qpn,
		  uint32_t psn);
void trace_judge(struct trace *trace);
void trace_close(struct trace *trace);

/* Findings in the order of the trace; counts[verdict] over all halves. */
uint32_t trace_findings(const struct trace *trace, const struct trace_finding **findings);
uint64_t trace_count(const struct trace *trace, enum trace_verdict verdict);
/* How many findings are wrong, not notes. */
uint64_t trace_wrong(const struct trace *trace);

uint32_t trace_halves(const struct trace *trace);
const struct trace_half *trace_half(const struct trace *trace, uint32_t index);

/* The messages of connection management, by connection: those that findings name. */
const struct dialog *trace_dialog(const struct trace *trace);

/* Counts and findings as text; at most `shown` findings are written out. */
void trace_report(const struct trace *trace, uint64_t shown, FILE *out);

#endif
