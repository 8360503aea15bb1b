/* junk.c - well-formed packets with hostile contents, at both ends of a working connection: nothing breaks */
/* SPDX-License-Identifier: BSD-3-Clause */
/* The seed is printed on failure; UROCE_JUNK_SEED repeats it, UROCE_JUNK_RUNS asks for more. Sanitizers watch. */
#include <criterion/criterion.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "operations.h"
#include "pair.h"
#include "peek.h"
#include "rule.h"

#define PACKETS 400
#define REGION_AT 8192u /* what peers may touch: [REGION_AT, REGION_AT + REGION_BYTES) of B's memory */
#define REGION_BYTES 16384u

static uint64_t state;

static uint32_t draw(uint32_t below)
{
	return draw_below(&state, below);
}

static uint64_t draw_address(const struct side *side)
{
	static const int64_t edges[] = { -1, 0, 1, REGION_BYTES - 8, REGION_BYTES - 1, REGION_BYTES, REGION_BYTES + 1 };

	switch (draw(4)) {
	case 0:
		return UINT64_MAX - draw(16);
	case 1:
		return (uintptr_t)side->memory + REGION_AT + draw(REGION_BYTES);
	case 2:
		return state;
	}
	return (uintptr_t)side->memory + REGION_AT + (uint64_t)edges[draw(7)];
}

static uint32_t draw_length(void)
{
	static const uint32_t lengths[] = { 0, 1, 8, 255, 256, 257, 1024, 4096, 1u << 31, (1u << 31) + 1, UINT32_MAX };

	return draw(2) ? lengths[draw(11)] : draw(5000);
}

/* A packet that got past all outer checks: everything in it is the attacker's. */
static struct wire_packet draw_packet(const struct pair *pair, enum side_name to, uint32_t region_key, uint8_t *payload)
{
	const struct side *side = &pair->side[to];
	uint32_t near = draw(2) ? peek_expected(side->qp) : peek_acked(side->qp);
	struct wire_packet packet = {
		.opcode = (uint8_t)draw(32),
		.flags = draw(1 << 24) & WIRE_FLAGS,
		.psn = draw(2) ? near :
		       draw(8) ? (near + draw(7) - 2) & 0xFFFFFF :
				 draw(0x1000000),
		.payload = payload,
	};
	const struct wire_opcode_row *op = wire_opcode(packet.opcode);

	if (op->reth || op->atomic) {
		packet.va = draw_address(side);
		packet.rkey = draw(4) ? region_key : draw(UINT32_MAX);
		packet.dma_length = draw_length();
		packet.swap_add = state;
		packet.compare = draw(2) ? 0 : state;
	} else if (op->aeth) {
		packet.syndrome = (uint8_t)draw(256);
		packet.msn = draw(0x1000000);
		packet.original = state;
	}
	if (op->payload || op->kind == WIRE_KIND_RESERVED || draw(20) == 0) {
		packet.payload_bytes = draw(2) ? 256 : draw(400);
		packet.pad_bytes = (uint8_t)(draw(10) ? -packet.payload_bytes & 3 : draw(4));
	}
	return packet;
}

/* Most hostile packets end the connection; it is put back as it was, for the next one. */
static void revive(struct side *side, const uint8_t *snapshot)
{
	if (peek_state(side->qp) != UROCE_QPS_ERR)
		return;
	memcpy(side->qp, snapshot, malloc_usable_size(side->qp));
	side->failed[0] = side->failed[1] = false;
}

static uint8_t *take_snapshot(const struct side *side)
{
	uint8_t *snapshot = malloc(malloc_usable_size(side->qp));

	memcpy(snapshot, side->qp, malloc_usable_size(side->qp));
	return snapshot;
}

static void post_some_work(struct pair *pair, uint64_t seed)
{
	for (uint32_t i = 0; i < 8; i++) {
		struct uroce_send_wr wr = {
			.wr_id = seed + i,
			.opcode = (enum uroce_wr_opcode)operations[draw(OPERATIONS)],
			.send_flags = draw(2) ? UROCE_SEND_SIGNALED : 0,
		};

		pair_post(pair, draw(2) ? A : B, wr, draw(4096) & ~7u,
			  wr.opcode >= UROCE_WR_ATOMIC_CMP_AND_SWP && wr.opcode != UROCE_WR_SEND_WITH_INV ? 8 :
													    draw(3000));
	}
}

/* Not with the shortest RNR timer: who waits for a receive would resend 100000 times while all settles. */
static void run_junk(uint64_t seed)
{
	struct pair *pair = pair_open(&(struct pair_options){ .mtu = 256, .rd_atomic = 4 });
	struct side *victim = &pair->side[B];
	uint8_t *payload = malloc(512), *before = malloc(PAIR_MEMORY_BYTES);
	uint8_t *snapshots[2];
	uint32_t region_key;
	int error;

	state = draw_start(seed);
	for (uint32_t i = 0; i < 512; i++)
		payload[i] = (uint8_t)~i;
	/* The peer knows a key of 16 KiB only; the receives lie in the region of the whole memory. */
	region_key = rc_mr_insert(&victim->mrs, 1, victim->memory + REGION_AT, REGION_BYTES, 0xF, &error);
	cr_assert_neq(region_key, 0);
	for (uint64_t i = 0; i < 8; i++)
		pair_recv(pair, B, i, REGION_AT + i * 1024, 1024);
	post_some_work(pair, seed);
	/* Answers to B's own requests land here; everything else outside the region must stay as it is. */
	memcpy(before, victim->memory, PAIR_MEMORY_BYTES);
	snapshots[A] = take_snapshot(&pair->side[A]);
	snapshots[B] = take_snapshot(victim);
	for (uint32_t i = 0; i < PACKETS; i++) {
		enum side_name to = draw(4) ? B : A;

		pair_inject(pair, to, draw_packet(pair, to, region_key, payload));
		if (draw(8) == 0) {
			pair_transmit(pair, A);
			pair_transmit(pair, B);
		}
		if (draw(40) == 0)
			pair_fire(pair);
		revive(&pair->side[A], snapshots[A]);
		revive(victim, snapshots[B]);
	}
	pair_settle(pair, 1000000000);
	cr_assert(memcmp(before + REGION_AT + REGION_BYTES, victim->memory + REGION_AT + REGION_BYTES,
			 PAIR_MEMORY_BYTES - REGION_AT - REGION_BYTES) == 0,
		  "seed %lu: memory behind the region has changed", seed);
	free(snapshots[A]);
	free(snapshots[B]);
	free(before);
	free(payload);
	pair_close(pair);
}

Test(junk, hostile_packets_neither_crash_nor_write_outside_the_region, .timeout = 120)
{
	const char *given = getenv("UROCE_JUNK_SEED"), *runs = getenv("UROCE_JUNK_RUNS");
	uint64_t first = given ? strtoull(given, NULL, 0) : 1;
	uint64_t count = given ? 1 : runs ? strtoull(runs, NULL, 0) : 200;

	RULE("Y-1");
	RULE("M-1");
	for (uint64_t seed = first; seed < first + count; seed++)
		run_junk(seed);
}
