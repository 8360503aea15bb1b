/* responder.c - fuzz target: any requests at a connected responder; it moves only as the rules allow */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "input.h"
#include "packets.h"

#define MTU 256u
#define REGION_AT 8192u /* what the peer may touch, and where receives lie */
#define REGION_BYTES 8192u
#define RECEIVE_BYTES 600u
#define MEMORY_BYTES 24576u
#define EVERY_RIGHT                                                                        \
	(UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | \
	 UROCE_ACCESS_REMOTE_ATOMIC | UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)

struct state {
	struct pair *pair;
	struct side *side;
	uint32_t region_key, receives, received, came;
	uint32_t nak_psn;    /* of the last sequence NAK, or UINT32_MAX; forgotten when ePSN moves */
	uint32_t plain_sent; /* ACKs and NAKs */
};

static uint64_t take_va(const struct state *state, struct input *input)
{
	uint64_t region = (uintptr_t)state->side->memory + REGION_AT;
	uint8_t choice = input_byte(input);

	if (choice < 192)
		return region + choice * 32u;
	if (choice < 224)
		return region + REGION_BYTES - 16 + (choice - 192);
	if (choice < 250)
		return region - 13 + (choice - 224);
	return choice & 1 ? UINT64_MAX - (choice & 7) : input_bytes(input, 4);
}

static uint32_t take_length(struct input *input)
{
	static const uint32_t edges[] = { 0, 8, MTU, MTU + 1, REGION_BYTES, REGION_BYTES + 1, 1u << 31, UINT32_MAX };
	uint8_t choice = input_byte(input);

	return choice < 8 ? edges[choice] : choice < 128 ? choice * 4u : input_bytes(input, 2);
}

static uint32_t take_psn(const struct state *state, struct input *input)
{
	uint32_t epsn = state->side->qp->responder.epsn.v;
	uint8_t choice = input_byte(input);

	if (choice < 160)
		return epsn;
	if (choice < 224)
		return epsn - (choice - 159u);
	return choice < 255 ? epsn + (choice - 223u) : input_bytes(input, 3);
}

static struct wire_packet take_packet(const struct state *state, struct input *input)
{
	uint8_t opcode = input_byte(input) & 31, shape = input_byte(input);
	const struct wire_opcode_row *op = wire_opcode(opcode);
	struct wire_packet packet = send_packet(opcode, take_psn(state, input), 0);

	packet.flags = (shape & 1 ? WIRE_MIGREQ : 0) | (shape & 2 ? WIRE_SOLICITED : 0) | (shape & 4 ? WIRE_BECN : 0) |
		       (shape & 8 ? WIRE_FECN : 0) | (shape & 16 ? WIRE_ACKREQ : 0);
	if (op->reth || op->atomic) {
		packet.va = take_va(state, input);
		packet.rkey = shape & 32 ? input_bytes(input, 4) : state->region_key;
		packet.dma_length = take_length(input);
		packet.swap_add = input_byte(input);
		packet.compare = input_byte(input) & 3;
	}
	if (op->payload || shape & 64)
		packet.payload_bytes = !op->last && shape < 128 ? MTU : input_bytes(input, 2) % 300;
	packet.pad_bytes = (uint8_t)((shape & 192) == 192 ? shape & 3 : -packet.payload_bytes & 3);
	return packet;
}

/* The receives complete in order, none but those that were posted. */
static void check_receives(struct state *state)
{
	while (state->received < state->side->done_count && state->received < PAIR_LINES) {
		const struct uroce_wc *wc = &state->side->wcs[state->received];

		MUST(state->received < state->receives && wc->wr_id == state->received);
		MUST(wc->status != UROCE_WC_SUCCESS || wc->byte_len <= RECEIVE_BYTES || wc->opcode != UROCE_WC_RECV);
		state->received++;
	}
}

static void check_state(const struct state *state)
{
	const struct rc_qp *qp = state->side->qp;

	MUST(qp->replay.used <= qp->replay.depth && qp->replay.unfinished <= qp->replay.depth);
	MUST(qp->state == UROCE_QPS_RTS || qp->state == UROCE_QPS_ERR);
	MUST(state->side->event_count <= 3); /* COMM_EST, one for a failure (V-1), and an alarm in the one second */
}

static void give_request(struct state *state, struct wire_packet packet)
{
	const struct rc_responder *resp = &state->side->qp->responder;
	psn_t epsn = resp->epsn;
	uint32_t msn = resp->msn, count = 1;
	uint8_t qp_state = state->side->qp->state;

	if (packet.opcode == OP_READ_REQUEST && packet.dma_length > MTU)
		count = (uint32_t)(((uint64_t)packet.dma_length + MTU - 1) / MTU);
	pair_inject(state->pair, B, packet);
	state->came++;
	if (!psn_equal(resp->epsn, epsn)) { /* S-2 */
		MUST(qp_state == UROCE_QPS_RTS && packet.psn == epsn.v && !wire_opcode(packet.opcode)->response);
		MUST(psn_distance(resp->epsn, epsn) == (count & PSN_MASK));
		MUST(((resp->msn - msn) & PSN_MASK) <= 1); /* S-13 */
		state->nak_psn = UINT32_MAX;
	} else {
		MUST(resp->msn == msn);
	}
	check_receives(state);
	check_state(state);
}

/* One NAK for a gap (K-SEQ); no more answers than requests, READ data apart (Y-2). */
static int watch(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	struct state *state = pair->user;

	(void)number;
	if (from != B || packet->opcode != OP_ACKNOWLEDGE)
		return 0;
	MUST(++state->plain_sent <= 2 * state->came);
	MUST(psn_distance(state->side->qp->responder.epsn, psn_make(packet->psn)) <= 1u << 23);
	if (packet->syndrome == SYNDROME_SEQUENCE) {
		MUST(packet->psn != state->nak_psn && packet->psn == state->side->qp->responder.epsn.v);
		state->nak_psn = packet->psn;
	}
	return 0; /* nobody hears it */
}

static void open_state(struct state *state, struct input *input)
{
	uint8_t options = input_byte(input);
	int error;

	state->pair = pair_open(&(struct pair_options){
		.mtu = MTU,
		.psn_a = options & 1 ? 0xFFFFFE : 5,
		.rd_atomic = (uint8_t)(1 + (options >> 1 & 3)),
		.depth = 16,
		.memory_a = 4096, /* which nothing reaches */
		.memory_b = MEMORY_BYTES,
	});
	state->side = &state->pair->side[B];
	state->pair->user = state;
	state->pair->copies = watch;
	state->nak_psn = UINT32_MAX;
	state->region_key =
		rc_mr_insert(&state->side->mrs, 1, state->side->memory + REGION_AT, REGION_BYTES, EVERY_RIGHT, &error);
	MUST(state->region_key);
	for (uint32_t i = options >> 4 & 7; i > 0; i--)
		pair_recv(state->pair, B, state->receives++, REGION_AT, RECEIVE_BYTES);
}

static void check_memory(const struct state *state)
{
	const uint8_t *memory = state->side->memory, *before = pair_pattern(B);
	uint32_t end = REGION_AT + REGION_BYTES;

	MUST(memcmp(before, memory, REGION_AT) == 0);
	MUST(memcmp(before + end, memory + end, MEMORY_BYTES - end) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct state state;
	struct input input = { data, data + size };

	if (size > 4096)
		return 0;
	state = (struct state){ 0 };
	open_state(&state, &input);
	while (!input_is_over(&input)) {
		uint8_t what = input_byte(&input);

		if (what < 208)
			give_request(&state, take_packet(&state, &input));
		else if (what < 224)
			pair_transmit(state.pair, B);
		else if (what < 240)
			pair_transmit_some(state.pair, B, what & 3);
		else if (what < 248 && pair_recv(state.pair, B, state.receives, REGION_AT, RECEIVE_BYTES) == 0)
			state.receives++;
		else
			state.pair->now_ns += 1000000;
		check_receives(&state);
	}
	pair_transmit(state.pair, B);
	check_receives(&state);
	check_memory(&state);
	pair_close(state.pair);
	return 0;
}
