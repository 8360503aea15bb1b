/* completer.c - fuzz target: any responses at a requester with work; nothing completes that was not answered */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A posts, nothing of it arrives anywhere, and the input answers. Every byte of a made-up response follows from its
 * PSN, so that a READ that succeeds can be checked byte for byte.
 */
#include <string.h>

#include "input.h"
#include "packets.h"

#define MTU 256u
#define POSTS 16u
#define PIECE 4096u /* of A's memory for each request */

struct work {
	uint8_t opcode; /* enum uroce_wr_opcode */
	uint32_t bytes;
	uint32_t psn, count; /* what it owns */
};

struct state {
	struct pair *pair;
	struct side *side;
	struct work works[POSTS];
	uint32_t posted, completed;
	uint32_t next_psn;
	bool answered[POSTS *
		      (PIECE / MTU + 1)]; /* PSNs, counted from the first, that a READ response or atomic answer had */
	uint32_t covered;                 /* the same, in front of the greatest that anything acknowledged */
	uint8_t *left;                    /* A's memory as each request left it */
};

static uint8_t pattern(uint32_t psn, uint32_t at)
{
	return (uint8_t)((psn & PSN_MASK) * 31 + at * 7 + (at >> 8) + 5);
}

static void post(struct state *state, struct input *input)
{
	static const enum uroce_wr_opcode opcodes[] = {
		UROCE_WR_SEND,         UROCE_WR_RDMA_WRITE, UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_FETCH_AND_ADD,
		UROCE_WR_ATOMIC_WRITE, UROCE_WR_RDMA_READ,
	};
	struct work *work = &state->works[state->posted];
	struct uroce_send_wr wr = { .wr_id = state->posted, .send_flags = UROCE_SEND_SIGNALED };
	uint8_t choice = input_byte(input);

	if (state->posted == POSTS)
		return;
	wr.opcode = opcodes[choice % 6];
	work->opcode = (uint8_t)wr.opcode;
	work->bytes = wr.opcode >= UROCE_WR_ATOMIC_CMP_AND_SWP ? 8 : input_bytes(input, 2) % (PIECE + 1);
	work->psn = state->next_psn;
	work->count = work->bytes <= MTU ? 1 : (work->bytes + MTU - 1) / MTU;
	if (pair_post(state->pair, A, wr, state->posted * PIECE, work->bytes) != 0)
		return;
	state->next_psn += work->count;
	state->posted++;
}

static bool has_answer(const struct work *work)
{
	return work->opcode >= UROCE_WR_RDMA_READ;
}

/* A success must have been earned: acknowledged, or answered packet by packet, with the bytes of those answers. */
static void check_success(const struct state *state, const struct work *work)
{
	uint32_t start = work->psn - state->works[0].psn;
	const uint8_t *data = state->side->memory + (work - state->works) * PIECE;

	if (!has_answer(work)) {
		MUST(start + work->count <= state->covered);
		return;
	}
	for (uint32_t i = 0; i < work->count; i++)
		MUST(state->answered[start + i]);
	for (uint32_t i = 0; work->opcode == UROCE_WR_RDMA_READ && i < work->bytes; i++)
		MUST(data[i] == pattern(work->psn + i / MTU, i % MTU));
}

/* Nothing is written once it has completed, and where nothing is to be placed never: the piece stays so. */
static void keep_piece(struct state *state, uint32_t number)
{
	const uint8_t *memory = has_answer(&state->works[number]) ? state->side->memory : pair_pattern(A);

	memcpy(state->left + number * PIECE, memory + number * PIECE, PIECE);
}

static void check_completions(struct state *state)
{
	const struct rc_sendwin *win = &state->side->qp->win;

	while (state->completed < state->side->done_count) {
		const struct uroce_wc *wc = &state->side->wcs[state->completed];

		MUST(state->completed < state->posted && wc->wr_id == state->completed); /* I4, and each once */
		if (wc->status == UROCE_WC_SUCCESS)
			check_success(state, &state->works[state->completed]);
		keep_piece(state, state->completed);
		state->completed++;
	}
	MUST(win->acked - win->head <= win->started - win->head && win->started - win->head <= win->tail - win->head);
	MUST(psn_distance(win->snd_nxt, win->snd_una) <= psn_distance(win->snd_max, win->snd_una));
}

/* Made-up data, then what the core made of it; snd_una never moves back (I2). */
static void give_response(struct state *state, struct input *input)
{
	static const uint8_t opcodes[] = { OP_ACKNOWLEDGE,          OP_READ_RESPONSE_FIRST, OP_READ_RESPONSE_MIDDLE,
					   OP_READ_RESPONSE_LAST,   OP_READ_RESPONSE_ONLY,  OP_ATOMIC_ACKNOWLEDGE,
					   OP_READ_RESPONSE_MIDDLE, OP_ACKNOWLEDGE };
	static const uint8_t syndromes[] = { 0x1F, 0x1F, 0x60, 0x21, 0x61, 0x62, 0x63, 0x40 };
	uint8_t shape = input_byte(input), near = input_byte(input), data[512];
	struct wire_packet packet = { .opcode = opcodes[shape & 7], .payload = data };
	const struct wire_opcode_row *op = wire_opcode(packet.opcode);
	psn_t snd_una = state->side->qp->win.snd_una;
	uint32_t distance;

	packet.psn = near < 128 ? snd_una.v : near < 248 ? snd_una.v + (near - 188u) : input_bytes(input, 3);
	packet.psn &= PSN_MASK;
	if (op->aeth) {
		packet.syndrome =
			shape & 64 ? input_byte(input) : syndromes[packet.opcode == OP_ACKNOWLEDGE ? near & 7 : 0];
		packet.msn = input_byte(input);
	}
	if (op->payload) {
		packet.payload_bytes = !op->last && !(shape & 32) ? MTU : input_bytes(input, 2) % 300;
		packet.pad_bytes = (uint8_t)(shape & 128 ? near & 3 : -packet.payload_bytes & 3);
		for (uint32_t i = 0; i < packet.payload_bytes; i++)
			data[i] = pattern(packet.psn, i);
	}
	distance = (packet.psn - state->works[0].psn) & PSN_MASK;
	if (distance < state->next_psn - state->works[0].psn) {
		uint32_t covers = distance + (packet.opcode == OP_ACKNOWLEDGE && packet.syndrome < 32);

		state->answered[distance] |= packet.opcode != OP_ACKNOWLEDGE;
		if (covers > state->covered)
			state->covered = covers;
	}
	pair_inject(state->pair, A, packet);
	MUST(psn_distance(state->side->qp->win.snd_una, snd_una) < 1u << 23);
}

/* All has completed, and nothing has changed since, nor where nothing was posted. */
static void check_memory(const struct state *state)
{
	const uint8_t *memory = state->side->memory;
	uint32_t done = state->completed * PIECE;

	MUST(memcmp(state->left, memory, done) == 0);
	MUST(memcmp(pair_pattern(A) + done, memory + done, state->side->memory_bytes - done) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t left[PAIR_MEMORY_BYTES];
	static struct state state;
	struct input input = { data, data + size };
	uint8_t options;

	if (size < 8 || size > 2048)
		return 0;
	state = (struct state){ .left = left };
	options = input_byte(&input);
	state.next_psn = options & 1 ? 0xFFFFF0 : 5;
	state.pair = pair_open(&(struct pair_options){
		.mtu = MTU,
		.psn_a = state.next_psn,
		.rd_atomic = (uint8_t)(1 + (options >> 1 & 7)),
		.depth = POSTS,
		.retry_cnt = options & 16 ? 255 : 3,
		.rnr_retry = 2,
		.memory_b = 4096, /* which nothing reaches */
	});
	state.side = &state.pair->side[A];
	state.side->qp->ask.probes = options & 32;
	pair_cut(state.pair);
	state.works[0].psn = state.next_psn;
	for (uint32_t i = 1 + (options >> 6); i > 0; i--)
		post(&state, &input);
	while (!input_is_over(&input)) {
		uint8_t what = input_byte(&input);

		if (what < 176)
			give_response(&state, &input);
		else if (what < 192)
			post(&state, &input);
		else if (what < 240)
			pair_transmit(state.pair, A);
		else
			pair_fire(state.pair);
		check_completions(&state);
	}
	/* Whatever came, in the end everything completes: retries end. */
	MUST(pair_settle(state.pair, 3600000000000ull));
	check_completions(&state);
	MUST(state.completed == state.posted);
	check_memory(&state);
	pair_close(state.pair);
	return 0;
}
