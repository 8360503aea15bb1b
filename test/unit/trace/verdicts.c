/* verdicts.c - each verdict of the trace checker: a trace that draws it, and one next to it that draws none */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A trace is a line of words, a packet each, one microsecond apart. Requests, MTU 1024:
 *   S5 SEND ONLY of PSN 5   F5 M5 L5 SEND FIRST, MIDDLE, LAST   w5:1124 y6 WRITE FIRST (DMALen), LAST
 *   R5+3 READ of three packets   R6+2@5 the same READ asked for again from its second packet   A5 fetch-and-add
 * Responses:
 *   a5 ACK   n5 sequence NAK   r5 RNR NAK (0.64 ms)   x5 access NAK   f5 m5 l5 o5 READ responses
 *   k5=7 atomic acknowledge with the value 7
 * S5:200 has 200 bytes, a5/2 the MSN 2 (otherwise the right one). Besides: +500 lets 500 us pass, g500 gives the ends
 * 500 us of grace, b5 says that requests begin with PSN 5, and Q P W at the start is where the trace was taken:
 * requester, responder, wire.
 * Messages of connection management, > from the requester, < from the responder, with the sender's id and the other's:
 *   >Q1 REQ, its time-outs 1 ms for the responder's answers, 2 ms for the requester's   <P2.1 REP   >U1.2 RTU
 *   >D1.2 DREQ   <d2.1 DREP   <J2.1 REJ of the REQ   >T1.0 REJ after a time-out
 *   <M2.1 MRA of the REQ, which asks for 4 ms   >L1.2 LAP   <l2.1 APR
 * >Q1:7 has the transaction id 7 (otherwise 0), <P2.1@5 the starting PSN 5, >Q1/3 the code 3 of the path MTU.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cm/mad.h"
#include "decode/dialog.h"
#include "draw.h"
#include "half.h"
#include "rc/codes.h"

#define MTU 1024u
#define LAST_BYTES 100u
#define VA 0x10000u

static const uint8_t requester_address[16] = { [15] = 1 }, responder_address[16] = { [15] = 2 };

/* A word in parts. */
struct word {
	char kind;
	uint32_t psn, count;
	bool has_bytes, has_msn;
	uint32_t bytes, first, msn;
	uint64_t original;
};

/* What the words so far have requested: the MSN follows from it. */
struct said {
	uint64_t now_ns, number;
	uint32_t ends[64], count; /* PSNs that end messages */
};

static struct word read_word(const char *text)
{
	struct word word = { .kind = text[0], .count = 1 };
	char *at;

	word.psn = word.first = (uint32_t)strtoul(text + 1, &at, 10);
	while (*at) {
		char mark = *at;
		uint64_t value = strtoull(at + 1, &at, 10);

		if (mark == '+')
			word.count = (uint32_t)value;
		if (mark == ':') {
			word.has_bytes = true;
			word.bytes = (uint32_t)value;
		}
		if (mark == '@')
			word.first = (uint32_t)value;
		if (mark == '/') {
			word.has_msn = true;
			word.msn = (uint32_t)value;
		}
		if (mark == '=')
			word.original = value;
	}
	return word;
}

static const struct {
	char kind;
	uint8_t opcode, syndrome;
} kinds[] = {
	{ 'S', OP_SEND_ONLY, 0 },
	{ 'F', OP_SEND_FIRST, 0 },
	{ 'M', OP_SEND_MIDDLE, 0 },
	{ 'L', OP_SEND_LAST, 0 },
	{ 'w', OP_WRITE_FIRST, 0 },
	{ 'y', OP_WRITE_LAST, 0 },
	{ 'p', OP_WRITE_ONLY, 0 }, /* empty, and it asks */
	{ 'R', OP_READ_REQUEST, 0 },
	{ 'A', OP_FETCH_ADD, 0 },
	{ 'a', OP_ACKNOWLEDGE, 0x1F },
	{ 'n', OP_ACKNOWLEDGE, 0x60 },
	{ 'r', OP_ACKNOWLEDGE, 0x20 | RNR_TIMER_DEFAULT },
	{ 'x', OP_ACKNOWLEDGE, 0x62 },
	{ 'f', OP_READ_RESPONSE_FIRST, 0x1F },
	{ 'm', OP_READ_RESPONSE_MIDDLE, 0 },
	{ 'l', OP_READ_RESPONSE_LAST, 0x1F },
	{ 'o', OP_READ_RESPONSE_ONLY, 0x1F },
	{ 'k', OP_ATOMIC_ACKNOWLEDGE, 0x1F },
	{ 's', OP_SACK, 0 },
	{ 'q', OP_PROBE, 0 },
};

/* Messages that end before a PSN, counted as a responder does. */
static uint32_t right_msn(const struct said *said, const struct word *word)
{
	uint32_t msn = 0, end = word->psn + (word->kind == 'a');

	for (uint32_t i = 0; i < said->count; i++)
		msn += ((said->ends[i] - end) & 0xFFFFFF) >= 1u << 23;
	return msn;
}

static void fill_request(struct wire_packet *packet, const struct word *word, struct said *said)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);
	bool known = false;

	packet->rkey = 7;
	if (op->reth || op->atomic)
		packet->va = VA + (uint64_t)((word->psn - word->first) & 0xFFFFFF) * MTU;
	if (word->kind == 'R')
		packet->dma_length = (word->count - 1) * MTU + LAST_BYTES;
	if (word->kind == 'w')
		packet->dma_length = word->bytes;
	if (word->kind == 'p')
		packet->flags |= WIRE_ACKREQ;
	for (uint32_t i = 0; i < said->count; i++)
		known |= said->ends[i] == word->first;
	if (op->last && !known && word->kind != 'p') /* a duplicate ends no message */
		said->ends[said->count++] = word->psn;
}

static struct wire_packet make_packet(const struct word *word, struct said *said)
{
	struct wire_packet packet = { .psn = word->psn, .dest_qpn = 2, .pkey = 0xFFFF };
	const struct wire_opcode_row *op;
	uint32_t i = 0;

	while (kinds[i].kind != word->kind)
		cr_assert_lt(++i, sizeof(kinds) / sizeof(kinds[0]), "no such word: %c", word->kind);
	packet.opcode = kinds[i].opcode;
	op = wire_opcode(packet.opcode);
	if (word->has_bytes && op->payload && word->kind != 'w')
		packet.payload_bytes = word->bytes;
	else if (op->payload && word->kind != 'p')
		packet.payload_bytes = op->last ? LAST_BYTES : MTU;
	packet.pad_bytes = packet_pad_bytes(packet.payload_bytes);
	if (packet.opcode == OP_PROBE) {
		return packet;
	} else if (!op->response) {
		fill_request(&packet, word, said);
	} else if (op->aeth) {
		packet.dest_qpn = 1;
		packet.syndrome = kinds[i].syndrome;
		packet.msn = word->has_msn ? word->msn : right_msn(said, word);
		packet.original = word->original;
	} else {
		packet.dest_qpn = 1;
	}
	return packet;
}

static void add_word(struct trace *trace, const char *text, struct said *said)
{
	struct word word = read_word(text);
	struct trace_packet packet = { .packet = make_packet(&word, said) };
	bool response = wire_opcode(packet.packet.opcode)->response;

	said->now_ns += 1000;
	packet.time_ns = said->now_ns;
	packet.number = ++said->number;
	memcpy(packet.source, response ? responder_address : requester_address, 16);
	memcpy(packet.dest, response ? requester_address : responder_address, 16);
	trace_add(trace, &packet);
}

static const struct {
	char kind;
	struct cm_message message;
} messages[] = {
	{ 'Q', { .kind = CM_REQ, .remote_response_timeout = 8, .local_response_timeout = 9, .qpn = 1 } },
	{ 'P', { .kind = CM_REP, .qpn = 2 } },
	{ 'U', { .kind = CM_RTU } },
	{ 'D', { .kind = CM_DREQ } },
	{ 'd', { .kind = CM_DREP } },
	{ 'J', { .kind = CM_REJ, .answered = CM_ANSWERED_REQ } },
	{ 'T', { .kind = CM_REJ, .answered = CM_ANSWERED_NONE, .reason = 4 } },
	{ 'M', { .kind = CM_MRA, .answered = CM_ANSWERED_REQ, .service_timeout = 10 } },
	{ 'L', { .kind = CM_LAP, .remote_response_timeout = 8 } },
	{ 'l', { .kind = CM_APR } },
};

/* A word that begins with > or <. */
static void add_message(struct trace *trace, const char *text, struct said *said)
{
	struct trace_packet packet = { .packet = { .opcode = OP_UD_SEND_ONLY, .dest_qpn = CM_QPN } };
	bool back = text[0] == '<';
	uint8_t mad[CM_MAD_BYTES];
	struct cm_message message;
	uint32_t i = 0;
	char *at;

	while (messages[i].kind != text[1])
		cr_assert_lt(++i, sizeof(messages) / sizeof(messages[0]), "no such word: %s", text);
	message = messages[i].message;
	message.local_id = (uint32_t)strtoul(text + 2, &at, 10);
	while (*at) {
		char mark = *at;
		uint32_t value = (uint32_t)strtoul(at + 1, &at, 10);

		if (mark == '.')
			message.remote_id = value;
		if (mark == ':')
			message.transaction_id = value;
		if (mark == '@')
			message.psn = value;
		if (mark == '/')
			message.path_mtu = (uint8_t)value;
	}
	cm_mad_build(&message, mad);
	packet.packet.payload = mad;
	packet.packet.payload_bytes = sizeof(mad);
	packet.time_ns = said->now_ns += 1000;
	packet.number = ++said->number;
	memcpy(packet.source, back ? responder_address : requester_address, 16);
	memcpy(packet.dest, back ? requester_address : responder_address, 16);
	trace_add(trace, &packet);
}

static struct trace *judge(const char *line)
{
	struct trace_options options = { .silence_ns = 100000, .at_given = line[0] != 'W', .at_wire = line[0] == 'W' };
	struct said said = { .now_ns = 1000000000 };
	char *words = strdup(line + 2), *rest = words, *word;
	struct trace *trace;

	memcpy(options.at, line[0] == 'Q' ? requester_address : responder_address, 16);
	if (line[2] == 'g')
		options.grace_ns = strtoull(line + 3, NULL, 10) * 1000;
	trace = trace_open(&options);
	while ((word = strsep(&rest, " "))) {
		if (word[0] == '+')
			said.now_ns += strtoull(word + 1, NULL, 10) * 1000;
		else if (word[0] == 'b')
			trace_begins(trace, requester_address, responder_address, 2,
				     (uint32_t)strtoul(word + 1, NULL, 10));
		else if (word[0] == '>' || word[0] == '<')
			add_message(trace, word, &said);
		else if (word[0] != 'g')
			add_word(trace, word, &said);
	}
	free(words);
	trace_judge(trace);
	return trace;
}

/* Draws: exactly this verdict, perhaps more than once. Beside it: nothing at all. */
static const struct {
	enum trace_verdict verdict;
	const char *draws, *beside;
} rows[] = {
	{ TRACE_PSN_SKIPPED, "Q S0 S2", "Q S0 S1" },
	{ TRACE_PSN_SKIPPED, "Q F0 L1 a1 R2+3 S6", "Q F0 L1 a1 R2+3 S5" },
	{ TRACE_PSN_SKIPPED, "Q S16777215 S1", "Q S16777215 S0" },
	{ TRACE_PSN_SKIPPED, "Q S0 S2", "P S0 S2 n1 S1" },
	{ TRACE_OPCODE_SEQUENCE, "Q F0 S1", "Q F0 L1" },
	{ TRACE_OPCODE_SEQUENCE, "P S0 M1", "P S0 F1" },
	{ TRACE_OPCODE_SEQUENCE, "W F0 y1", "W w0:1124 y1" },
	{ TRACE_REQUEST_LENGTH, "Q F0 M1:1000 L2", "Q F0 M1 L2" },
	{ TRACE_REQUEST_LENGTH, "Q F0 L1:0", "Q F0 L1:1" },
	{ TRACE_REQUEST_LENGTH, "Q w0:1200 y1", "Q w0:1124 y1" },
	{ TRACE_WINDOW_EXCEEDED, "Q F0 L1 S2 R3+4194304 R4194307+4194304", "Q F0 L1 a1 R2+4194304 R4194306+4194304" },
	{ TRACE_RESEND_DIFFERS, "Q S0 S1 n0 S0:200", "Q S0 S1 n0 S0" },
	{ TRACE_RESEND_DIFFERS, "P S0 F0", "P S0 S0 a0" },
	{ TRACE_READ_RANGE, "Q R0+3 f0 +200 R1+3@0", "Q R0+3 f0 +200 R1+2@0" },
	{ TRACE_READ_RANGE, "Q R0+3 f0 +200 R1+2", "Q R0+3 f0 +200 R1+1@0" },
	{ TRACE_READ_LEAVES_OUT, "Q R0+4 f0 +200 R2+2@0", "Q R0+4 f0 +200 R1+3@0" },
	{ TRACE_RESEND_NEEDLESS, "Q S0 S1 a0 +200 S0", "Q S0 S1 a0 +200 S1" },
	{ TRACE_RESEND_NEEDLESS, "Q R0+3 f0 m1 +200 R1+2@0", "Q R0+3 f0 m1 +200 R2+1@0" },
	{ TRACE_RESEND_NEEDLESS, "Q g100 S0 S1 a0 +200 S0", "Q g300 S0 S1 a0 +200 S0" },
	{ TRACE_RESEND_WITHOUT_CAUSE, "Q S0 S1 +50 S0", "Q S0 S1 +150 S0" },
	{ TRACE_RESEND_WITHOUT_CAUSE, "Q S0 S1 +200 a0 +50 S1", "Q g100 S0 S1 +200 a0 +50 S1" },
	{ TRACE_RESEND_WITHOUT_CAUSE, "Q S0 +150 S0 +50 S0 +20 S0", "Q S0 +150 S0 +50 S0 +120 S0" },
	{ TRACE_RESEND_WITHOUT_CAUSE, "Q A0 A1 A2 k1 k0 k1 +50 A2", "Q g60 A0 A1 A2 k1 k0 k1 +50 A2" },
	{ TRACE_RESEND_WITHOUT_CAUSE, "Q S0 S1 n0 S0 S1 S0", "Q S0 S1 S2 n0 S0 S1 S2 n1 S1 S2" },
	{ TRACE_RESEND_WITHOUT_CAUSE, "Q A0 A1 k1 A0 k1 A0", "Q A0 A1 k1 A0 A1 k1 A0" },
	{ TRACE_RESEND_WITHOUT_CAUSE, "Q A0 A1 A2 A3 k1 k3 A0 A2 A0", "Q A0 A1 A2 A3 k1 k3 A0 A2 k2 A0" },
	{ TRACE_RNR_NOT_WAITED, "Q S0 r0 +100 S0", "Q S0 r0 +700 S0" },
	{ TRACE_RNR_NOT_WAITED, "Q S0 S1 r1 +100 S2", "Q S0 S1 r1 +640 S1 S2" },
	{ TRACE_REQUEST_AFTER_FATAL, "Q S0 x0 S1", "Q S0 S1 x0" },
	{ TRACE_ANSWER_TO_NOTHING, "P S0 S2 a2", "P S0 S1 S2 a2" },
	{ TRACE_ANSWER_TO_NOTHING, "W S0 a0 a1", "W S0 S1 a0 a1" },
	{ TRACE_ANSWER_TO_NOTHING, "P S0 S2 n2", "P S0 S2 n1" },
	{ TRACE_ANSWER_TO_NOTHING, "P b5 S6 a6", "P S6 a6" },
	{ TRACE_ANSWER_TO_NOTHING, "P b5 S6 p4 n5 a6", "P b5 S6 p4 n5 S5 S6 a6" },
	{ TRACE_ACK_GOES_BACK, "P S0 S1 S2 a2 a0/3", "P S0 S1 S2 a2 a2" },
	{ TRACE_ACK_GOES_BACK, "P S0 S1 A2 k2 a0", "P S0 S1 A2 k2 a1" },
	{ TRACE_ACK_GOES_BACK, "P S0 S1 S2 a2 a0/3", "Q S0 S1 S2 a2 a0/3" },
	{ TRACE_NAK_GOES_BACK, "P S0 S1 a1 n0/2", "P S0 S2 a0 n1" },
	{ TRACE_NAK_GOES_BACK, "P S1 S2 a2 n0/2", "P S1 S2 n0 S0 S1 a1" },
	{ TRACE_SECOND_NAK, "P S1 S2 n0 n0", "P S1 S0 S2 n1" },
	{ TRACE_NAK_WITHOUT_GAP, "P S0 a0 n1", "P S0 S2 a0 n1" },
	{ TRACE_SECOND_NAK, "P S0 S2 n1 S3 n1", "P S0 S2 n1 S1 S3 n2" },
	{ TRACE_NAK_WHILE_SILENT, "P S0 S1 r1 S2 n1", "P S0 S1 r1 S1 S3 n2" },
	{ TRACE_NAK_WITHOUT_REQUEST, "P S0 a0 r1", "P S0 S1 a0 r1" },
	{ TRACE_NAK_WITHOUT_REQUEST, "P S0 r0 r0", "P S0 r0 S0 r0" },
	{ TRACE_NAK_WITHOUT_REQUEST, "P S0 a0 x1", "P S0 S1 a0 x1" },
	{ TRACE_MSN_GOES_BACK, "P S0 S1 a0/5 a1/4", "P S0 S1 a0/5 a1/6" },
	{ TRACE_MSN_BEYOND, "P S0 S1 a0/1 a1/3", "P S0 S1 a0/1 a1/2" },
	{ TRACE_MSN_BEYOND, "P F1 L2 n0/0 S0 F1 L2 a2/2 S3 a3/4", "P F1 L2 n0/0 S0 F1 L2 a2/2 S3 a3/3" },
	{ TRACE_MSN_BEYOND, "P L2 n0/0 F1 S0 F1 L2 a2/0 S3 a3/2", "P L2 n0/0 F1 S0 F1 L2 a2/2 S3 a3/3" },
	{ TRACE_MSN_BEYOND, "P F0 L1 S2 a1/1 a2/3", "P F0 L1 S2 a1/16777215 a2/0" },
	{ TRACE_RESPONSE_SEQUENCE, "P R0+3 f0 m1 m2:100", "P R0+3 f0 m1 l2" },
	{ TRACE_RESPONSE_SEQUENCE, "P R0+3 f0 m1 R0+3 m0 m1 l2", "P R0+3 f0 m1 R1+2@0 m1 l2" },
	{ TRACE_RESPONSE_LENGTH, "P R0+3 f0 m1:500 l2", "P R0+3 f0 m1 l2" },
	{ TRACE_RESPONSE_LENGTH, "P R0+3 f0 m1 l2:101", "P R0+3 f0 m1 R2+1@0 o2" },
	{ TRACE_RESPONSE_UNASKED, "P R0+3 f0 m1 l2 f0", "P R0+3 f0 m1 l2 R0+3 f0" },
	{ TRACE_RESPONSE_UNASKED, "P R0+3 f0 R1+1@0 o1 m1 l2 o1", "P R0+3 f0 R1+1@0 o1 m1 l2" },
	{ TRACE_RESPONSE_UNASKED, "P A0 k0 k0", "P A0 k0 A0 k0" },
	{ TRACE_RESPONSE_UNASKED, "P S0 o0", "P F0 L1 R2+1 o2" },
	{ TRACE_ANSWER_OVERTAKEN, "P A0 S1 a1", "P A0 S1 k0 a1" },
	{ TRACE_ANSWER_OVERTAKEN, "P R0+3 A3 f0 m1 k3", "P R0+3 A3 f0 m1 l2 k3" },
	{ TRACE_ATOMIC_CHANGED, "W A0 k0=5 A0 k0=6", "W A0 k0=5 A0 k0=5" },
	{ TRACE_NAK_AGAIN, "Q S0 S1 n0 n0", "Q S0 S1 n0 S0 n1" },
	{ TRACE_LOST_INSIDE, "P S0 S1 S2 n1", "P S0 S2 n1" },
	{ TRACE_ANSWER_LATE, "Q A0 A1 k1 +150 A0", "Q A0 A1 k1 +50 A0" },
	/* What REQ and REP say of the connection is known of its requests. */
	{ TRACE_ANSWER_TO_NOTHING, "P >Q1@9 <P2.1@5 >U1.2 S6 a6", "P >Q1@9 <P2.1@6 >U1.2 S6 a6" },
	{ TRACE_REQUEST_LENGTH, "Q >Q1/2 <P2.1@0 >U1.2 F0 L1", "Q >Q1/3 <P2.1@0 >U1.2 F0 L1" },
	/* Of a QPN that was in use before they may be of the connection before. */
	{ TRACE_PSN_SKIPPED, "Q >Q1 <P2.1@0 >U1.2 S5", "Q S5 >Q1 <P2.1@0 >U1.2 S6" },
	{ TRACE_CM_UNASKED, "Q >Q1 >U1.2", "Q >Q1 <P2.1 >U1.2" },
	{ TRACE_CM_UNASKED, "Q >Q1 <P2.1 >U1.2 <d2.1", "Q >Q1 <P2.1 >U1.2 >D1.2 <d2.1" },
	{ TRACE_CM_UNASKED, "Q >Q1 <P2.1 >U1.2 <l2.1", "Q >Q1 <P2.1 >U1.2 >L1.2 <l2.1" },
	{ TRACE_CM_UNASKED, "Q S0 +5000000 <P2.1", "Q S0 +5000000 >Q1 <P2.1" },
	{ TRACE_CM_UNASKED, "Q >Q1 <P2.1 >U1.2 >D1.2 >d1.2", "Q >Q1 <P2.1 >U1.2 >D1.2 <D2.1 >d1.2 <d2.1" },
	{ TRACE_CM_NOT_SEEN, "Q <P2.1", "Q >D1.2" },
	{ TRACE_CM_NOT_SEEN, "Q S0 >U1.2", "Q S0 +5000000 >D1.2" },
	{ TRACE_CM_WRONG_ID, "Q >Q1:7 <P2.3:7", "Q >Q1:7 <P2.1:7" },
	{ TRACE_CM_WRONG_ID, "Q >Q1:7 <P2.1:7 >U1.3:7", "Q >Q1:7 <P2.1:7 >U1.2:7" },
	{ TRACE_CM_WRONG_ID, "Q >Q1:7 <P2.1:7 >U1.2:7 >D4.2:7", "Q >Q1:7 <P2.1:7 >U1.2:7 >D1.2:7" },
	{ TRACE_CM_WRONG_ID, "Q >Q1:7 <J0.4:7", "Q >Q1:7 <J0.1:7" },
	{ TRACE_CM_WRONG_ID, "Q >Q1:7 >T2.0:7", "Q >Q1:7 >T1.0:7" },
	{ TRACE_CM_TRANSACTION, "Q >Q1:7 <P2.1:8", "Q >Q1:7 <P2.1:7" },
	{ TRACE_CM_TRANSACTION, "Q >Q1:7 <P2.1:7 >U1.2:8", "Q >Q1:7 <P2.1:7 >U1.2:7" },
	{ TRACE_CM_TRANSACTION, "Q >Q1:7 <J0.1:8", "Q >Q1:7 <J0.1:7" },
	{ TRACE_CM_TRANSACTION, "Q >Q1:7 <P2.1:7 >U1.2:7 >D1.2:9 <d2.1:7", "Q >Q1:7 <P2.1:7 >U1.2:7 >D1.2:9 <d2.1:9" },
	{ TRACE_CM_TRANSACTION, "Q >Q1:7 <P2.1:7 >L1.2:9 <l2.1:7", "Q >Q1:7 <P2.1:7 >L1.2:9 <l2.1:9" },
	{ TRACE_CM_ID_TAKEN, "Q >Q1:7 <P2.1:7 >Q1:8", "Q >Q1:7 <J2.1:7 >Q1:8" },
	{ TRACE_CM_ID_TAKEN, "Q >Q1:7 <P2.1:7 >Q3:8 <P2.3:8", "Q >Q1:7 <P2.1:7 >D1.2 <d2.1 >Q3:8 <P2.3:8" },
	{ TRACE_CM_EARLY, "Q >Q1 +900 >Q1", "Q >Q1 +1000 >Q1" },
	{ TRACE_CM_EARLY, "Q g50 >Q1 +900 >Q1", "Q g150 >Q1 +900 >Q1" },
	{ TRACE_CM_EARLY, "Q >Q1 <P2.1 +1900 <P2.1", "Q >Q1 <P2.1 +2000 <P2.1" },
	{ TRACE_CM_EARLY, "Q >Q1 <P2.1 +1000 >Q1 <P2.1 <P2.1", "Q >Q1 <P2.1 +1000 >Q1 <P2.1" },
	{ TRACE_CM_EARLY, "Q >Q1 <M2.1 +3900 >Q1", "Q >Q1 <M2.1 +4000 >Q1" },
	{ TRACE_CM_EARLY, "Q >Q1 <P2.1 >U1.2 >D1.2 +900 >D1.2", "Q >Q1 <P2.1 >U1.2 >D1.2 +1000 >D1.2" },
	{ TRACE_CM_EARLY, "Q >Q1 <P2.1 >U1.2 <D2.1 +1900 <D2.1", "Q >Q1 <P2.1 >U1.2 <D2.1 +2000 <D2.1" },
	{ TRACE_CM_EARLY, "Q >Q1 <P2.1 >L1.2 +900 >L1.2", "Q >L1.2 +1000 >L1.2" },
	{ TRACE_CM_NEEDLESS, "Q >Q1 <P2.1 >U1.2 >U1.2", "Q >Q1 <P2.1 >U1.2 +2000 <P2.1 >U1.2" },
	{ TRACE_CM_NEEDLESS, "Q >Q1 <J0.1 <J0.1", "Q >Q1 <J0.1 +1000 >Q1 <J0.1" },
	{ TRACE_CM_NEEDLESS, "Q >Q1 <P2.1 >D1.2 <d2.1 <d2.1", "Q >Q1 <P2.1 >D1.2 <d2.1 +1000 >D1.2 <d2.1" },
	{ TRACE_CM_NEEDLESS, "Q >Q1 <P2.1 >L1.2 <l2.1 <l2.1", "Q >Q1 <P2.1 >L1.2 <l2.1 +1000 >L1.2 <l2.1" },
};

Test(verdicts, each_verdict_is_drawn_by_its_trace_only)
{
	bool tried[TRACE_VERDICTS] = { false };

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct trace_finding *findings;
		struct trace *trace = judge(rows[i].draws);
		uint32_t count = trace_findings(trace, &findings);

		tried[rows[i].verdict] = true;
		cr_expect_gt(count, 0, "\"%s\" draws nothing", rows[i].draws);
		for (uint32_t j = 0; j < count; j++)
			cr_expect_eq(findings[j].verdict, rows[i].verdict, "\"%s\" draws %s: %s", rows[i].draws,
				     trace_verdicts[findings[j].verdict].name, findings[j].detail);
		cr_expect_eq(trace_wrong(trace) > 0, trace_verdicts[rows[i].verdict].wrong, "\"%s\"", rows[i].draws);
		trace_close(trace);
		trace = judge(rows[i].beside);
		if (trace_findings(trace, &findings) > 0)
			cr_expect(false, "\"%s\" draws %s: %s", rows[i].beside,
				  trace_verdicts[findings[0].verdict].name, findings[0].detail);
		trace_close(trace);
	}
	for (uint32_t i = 0; i < TRACE_VERDICTS; i++)
		cr_expect(tried[i], "nothing tries %s", trace_verdicts[i].name);
}

/* Where the trace was taken, from what it shows. */
static uint32_t found_view(const char *line)
{
	struct trace_options options = { .silence_ns = 100000 };
	struct said said = { .now_ns = 1000000000 };
	char *words = strdup(line), *rest = words, *word;
	struct trace *trace = trace_open(&options);
	uint32_t view;

	while ((word = strsep(&rest, " "))) {
		if (word[0] == '+')
			said.now_ns += strtoull(word + 1, NULL, 10) * 1000;
		else
			add_word(trace, word, &said);
	}
	free(words);
	trace_judge(trace);
	view = trace_half(trace, 0)->view;
	trace_close(trace);
	return view;
}

Test(verdicts, losses_reveal_where_the_trace_was_taken)
{
	cr_expect_eq(found_view("S0 S1 a1"), TRACE_AT_REQUESTER | TRACE_AT_RESPONDER);
	cr_expect_eq(found_view("S0 S2 n1 S1 S2 a2"), TRACE_AT_RESPONDER, "a request was lost before");
	cr_expect_eq(found_view("S0 S1 S2 n1 S1 S2 a2"), TRACE_AT_REQUESTER, "a request was lost behind");
	cr_expect_eq(found_view("A0 A1 k1 A0 A1 k0 k1"), TRACE_AT_REQUESTER, "an answer was lost before");
	cr_expect_eq(found_view("S0 a0 +200 S0 a0"), TRACE_AT_RESPONDER, "an ACK was lost behind");
	cr_expect_eq(found_view("S0 S2 n1 S1 S2 S3 A4 A5 k5 A4"), 0, "both");
}

Test(verdicts, counts_match_the_sent_packets)
{
	struct trace *trace = judge("P F0 L1 A2 k2 S4 n3 S3 S4 a4 R5+2 f5 l6 R5+2 f5 l6 S8 S9 n7 S7 r7");
	const uint64_t *counts = trace_half(trace, 0)->counts;

	cr_expect_eq(trace_wrong(trace), 0);
	cr_expect_eq(counts[COUNT_SEND], 8);
	cr_expect_eq(counts[COUNT_READ], 2);
	cr_expect_eq(counts[COUNT_ATOMIC], 1);
	cr_expect_eq(counts[COUNT_RESENT], 2);
	cr_expect_eq(counts[COUNT_RESENT_READS], 1);
	cr_expect_eq(counts[COUNT_GAPS], 2);
	cr_expect_eq(counts[COUNT_AFTER_NAK], 1);
	cr_expect_eq(counts[COUNT_DUPLICATES], 1);
	cr_expect_eq(counts[COUNT_READ_RESPONSES], 4);
	cr_expect_eq(counts[COUNT_READ_RESPONSES_AGAIN], 2);
	cr_expect_eq(counts[COUNT_NAKS_SEQUENCE], 2);
	cr_expect_eq(counts[COUNT_NAKS_RNR], 1);
	trace_close(trace);
}

/* Both directions of a connection whose ends send SACKs or PROBEs are counted, and not judged. */
Test(verdicts, selective_repeat_is_not_judged)
{
	static const char *const lines[] = { "Q S0 S1 s0 +50 S0", "Q S0 S1 +50 S0 q0", "P S0 S2 a0 s0 a2",
					     "W S0 s0 a0 a1" };

	for (uint32_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct trace *trace = judge(lines[i]);

		cr_expect(trace_half(trace, 0)->selective, "\"%s\"", lines[i]);
		cr_expect_eq(trace_wrong(trace), 0, "\"%s\"", lines[i]);
		cr_expect_gt(trace_half(trace, 0)->counts[COUNT_SEND], 0);
		trace_close(trace);
	}
}

/* From what passes, in this order: data, how many PSNs READs take, other connections, the largest there is. */
Test(verdicts, mtu_is_detected)
{
	static const struct {
		const char *line;
		uint32_t mtu;
	} traces[] = {
		{ "Q F0:512 L1", 512 }, { "Q R0+3 f0:2048", 2048 },
		{ "Q R0+9 S9", 1024 },  { "P R0+9 S10 S11", 4096 }, /* 8292 bytes cannot take 10 PSNs */
		{ "Q R0+2 S1", 2048 },  { "Q S0 S1", 4096 },
	};

	for (uint32_t i = 0; i < sizeof(traces) / sizeof(traces[0]); i++) {
		struct trace *trace = judge(traces[i].line);

		cr_expect_eq(trace_half(trace, 0)->mtu, traces[i].mtu, "\"%s\": %u", traces[i].line,
			     trace_half(trace, 0)->mtu);
		trace_close(trace);
	}
}

/* Two connections between the same two ends, requests in both directions of one; QPNs are those of the words. */
Test(verdicts, responses_find_their_connection_by_their_psn)
{
	struct trace_options options = { .silence_ns = 100000 };
	struct trace *trace = trace_open(&options);
	static const struct {
		bool back;
		uint8_t opcode;
		uint32_t qpn, psn;
	} packets[] = {
		{ false, OP_SEND_ONLY, 20, 100 },    { false, OP_SEND_ONLY, 21, 90000 },
		{ true, OP_ACKNOWLEDGE, 11, 90000 }, { true, OP_ACKNOWLEDGE, 10, 100 },
		{ true, OP_SEND_ONLY, 11, 500 },     { false, OP_ACKNOWLEDGE, 21, 500 },
	};

	for (uint32_t i = 0; i < sizeof(packets) / sizeof(packets[0]); i++) {
		struct trace_packet packet = { .number = i + 1, .time_ns = i * 1000 };

		packet.packet = (struct wire_packet){ .opcode = packets[i].opcode, .psn = packets[i].psn };
		packet.packet.dest_qpn = packets[i].qpn;
		packet.packet.syndrome = 0x1F;
		memcpy(packet.source, packets[i].back ? responder_address : requester_address, 16);
		memcpy(packet.dest, packets[i].back ? requester_address : responder_address, 16);
		trace_add(trace, &packet);
	}
	trace_judge(trace);
	cr_expect_eq(trace_wrong(trace), 0);
	cr_assert_eq(trace_halves(trace), 3);
	cr_expect_eq(trace_half(trace, 0)->source_qpn, 10);
	cr_expect_eq(trace_half(trace, 1)->source_qpn, 11);
	cr_expect_eq(trace_half(trace, 2)->source_qpn, 21);
	for (uint32_t i = 0; i < 3; i++)
		cr_expect_eq(trace_half(trace, i)->counts[COUNT_ACKS], 1, "half %u", i);
	trace_close(trace);
}

/* Random messages are judged and reported; each is assigned to its connection. */
Test(verdicts, random_messages_are_judged_without_error)
{
	struct trace_options options = { .grace_ns = 100 };
	uint64_t state = draw_start(1);
	FILE *nowhere = fopen("/dev/null", "w");
	uint64_t wrong = 0;

	for (uint32_t round = 0; round < 300; round++) {
		struct trace *trace = trace_open(&options);
		const struct dialog *dialog = trace_dialog(trace);

		for (uint32_t i = 0; i < 100; i++) {
			struct trace_packet packet = { .number = i + 1, .time_ns = draw_below(&state, 1u << 30) };
			struct cm_message message = { .kind = (uint8_t)(CM_KIND_FIRST + draw_below(&state, 11)) };
			uint8_t mad[CM_MAD_BYTES];

			message.local_id = draw_below(&state, 4);
			message.remote_id = draw_below(&state, 4);
			message.transaction_id = draw_below(&state, 3);
			message.answered = (uint8_t)draw_below(&state, 4);
			message.remote_response_timeout = (uint8_t)draw_below(&state, 32);
			message.service_timeout = (uint8_t)draw_below(&state, 32);
			cm_mad_build(&message, mad);
			packet.packet = (struct wire_packet){ .opcode = OP_UD_SEND_ONLY, .dest_qpn = CM_QPN };
			packet.packet.payload = mad;
			packet.packet.payload_bytes = sizeof(mad);
			packet.source[15] = (uint8_t)draw_below(&state, 2);
			packet.dest[15] = (uint8_t)draw_below(&state, 2);
			trace_add(trace, &packet);
			cr_assert_eq(dialog->message_count, i + 1);
			cr_assert_lt(dialog->messages[i].connection, dialog->connection_count);
		}
		trace_judge(trace);
		wrong += trace_wrong(trace);
		trace_report(trace, UINT64_MAX, nowhere);
		trace_close(trace);
	}
	fclose(nowhere);
	cr_expect_gt(wrong, 3000);
}
