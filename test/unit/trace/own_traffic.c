/* own_traffic.c - traffic of our own ends under loss, duplication and reordering, judged from either end */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The seed is printed; UROCE_STORM_SEED repeats it, UROCE_STORM_RUNS asks for more. With UROCE_TRACE_FOLDER what each
 * end saw is also written there, as own-SEED-A.pcap and own-SEED-B.pcap.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "frames.h"
#include "half.h"
#include "pair.h"

#define MESSAGES 50

struct storm {
	uint64_t random;
	uint32_t loss, copies, reorder; /* per thousand */
	struct trace *traces[2];        /* taken at each end */
	FILE *captures[2];
	uint64_t number;
};

static uint32_t draw(struct storm *storm, uint32_t below)
{
	return draw_below(&storm->random, below);
}

static void put32(FILE *file, uint32_t value)
{
	cr_assert_eq(fwrite(&value, sizeof(value), 1, file), 1);
}

static FILE *open_capture(uint64_t seed, char end)
{
	const char *folder = getenv("UROCE_TRACE_FOLDER");
	char path[512];
	FILE *file;

	if (!folder)
		return NULL;
	snprintf(path, sizeof(path), "%s/own-%lu-%c.pcap", folder, seed, end);
	file = fopen(path, "wb");
	cr_assert_not_null(file, "%s", path);
	put32(file, 0xA1B23C4D); /* pcap with nanoseconds */
	put32(file, 2 | 4 << 16);
	put32(file, 0);
	put32(file, 0);
	put32(file, 65535);
	put32(file, 1);
	return file;
}

/* The packet in a frame, its payload zeros: a trace has no use for it. */
static void write_capture(FILE *file, const struct trace_packet *seen)
{
	struct wire_encap encap = test_encap(false, false);
	struct wire_packet packet = seen->packet;
	struct test_frame frame;

	encap.source[15] = seen->source[15];
	encap.dest[15] = seen->dest[15];
	packet.payload = NULL;
	frame = test_frame_build(&encap, &packet);
	put32(file, (uint32_t)(seen->time_ns / 1000000000));
	put32(file, (uint32_t)(seen->time_ns % 1000000000));
	put32(file, frame.bytes);
	put32(file, frame.bytes);
	cr_assert_eq(fwrite(frame.data, 1, frame.bytes, file), frame.bytes);
	test_frame_free(&frame);
}

static void tap(struct pair *pair, enum side_name at, enum side_name from, const struct wire_packet *packet)
{
	struct storm *storm = pair->user;
	struct trace_packet seen = { .number = ++storm->number, .time_ns = pair->now_ns, .packet = *packet };

	seen.source[15] = (uint8_t)(from + 1);
	seen.dest[15] = (uint8_t)(2 - from);
	trace_add(storm->traces[at], &seen);
	if (storm->captures[at])
		write_capture(storm->captures[at], &seen);
}

static int fate(struct pair *pair, enum side_name from, uint32_t number, const struct wire_packet *packet)
{
	struct storm *storm = pair->user;
	struct side *side = &pair->side[from];

	(void)number;
	(void)packet;
	if (side->wire_tail - side->wire_head >= 2 && draw(storm, 1000) < storm->reorder) {
		struct flight *a = &side->wire[(side->wire_tail - 1) % PAIR_IN_FLIGHT];
		struct flight *b = &side->wire[(side->wire_tail - 2) % PAIR_IN_FLIGHT];
		struct flight swap = *a;

		*a = *b;
		*b = swap;
	}
	if (draw(storm, 1000) < storm->loss)
		return 0;
	return draw(storm, 1000) < storm->copies ? 2 : 1;
}

static void post_random(struct pair *pair, struct storm *storm, uint64_t wr_id)
{
	static const enum uroce_wr_opcode opcodes[] = {
		UROCE_WR_SEND,      UROCE_WR_SEND_WITH_IMM,        UROCE_WR_RDMA_WRITE,   UROCE_WR_RDMA_WRITE_WITH_IMM,
		UROCE_WR_RDMA_READ, UROCE_WR_ATOMIC_FETCH_AND_ADD, UROCE_WR_ATOMIC_WRITE, UROCE_WR_RDMA_READ,
	};
	struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.opcode = opcodes[draw(storm, 8)],
		.send_flags = draw(storm, 2) ? UROCE_SEND_SIGNALED : 0,
		.compare_add = 1,
	};
	bool word = wr.opcode == UROCE_WR_ATOMIC_FETCH_AND_ADD || wr.opcode == UROCE_WR_ATOMIC_WRITE;

	if (wr_id + 1 == MESSAGES)
		wr.send_flags = UROCE_SEND_SIGNALED;
	cr_assert_eq(pair_post(pair, A, wr, 0, word ? 8 : draw(storm, 12000)), 0);
}

static void expect_nothing_wrong(const struct trace *trace, uint64_t seed, char end)
{
	const struct trace_finding *findings;
	uint32_t count = trace_findings(trace, &findings);

	for (uint32_t i = 0; i < count; i++) {
		const struct trace_verdict_row *row = &trace_verdicts[findings[i].verdict];

		if (row->wrong)
			cr_assert(false, "seed %lu, at %c, packet %lu, psn=%u: %s: %s", seed, end, findings[i].number,
				  findings[i].psn, row->name, findings[i].detail);
	}
}

static uint64_t run_storm(uint64_t seed, uint32_t worst)
{
	static const uint32_t mtus[] = { 256, 512, 1024, 4096 };
	struct storm storm = { .random = draw_start(seed) };
	enum uroce_read_repair repair = seed % 3;
	struct pair *pair;
	const uint64_t *came;
	uint64_t resent, counted, again;

	storm.loss = draw(&storm, worst + 1);
	storm.copies = draw(&storm, worst + 1);
	storm.reorder = draw(&storm, worst + 1);
	pair = pair_open(&(struct pair_options){
		.mtu = mtus[draw(&storm, 4)],
		.psn_a = draw(&storm, 1u << 24),
		.rd_atomic = (uint8_t)(1 + draw(&storm, 16)),
		.depth = 2 * MESSAGES,
		.receives = MESSAGES / 2,
		.rnr_timer = 1,
	});
	for (int i = 0; i < 2; i++) {
		struct trace_options options = { .at_given = true,
						 .any_order = repair == UROCE_READ_REPAIR_ANY_ORDER,
						 .silence_ns = ASK_SHORTEST_NS,
						 .at[15] = (uint8_t)(i + 1) };

		storm.traces[i] = trace_open(&options);
		trace_begins(storm.traces[i], (uint8_t[16]){ [15] = 1 }, (uint8_t[16]){ [15] = 2 },
			     pair->side[A].qp->dest_qpn, pair->side[A].qp->win.snd_una.v);
		storm.captures[i] = open_capture(seed, "AB"[i]);
		pair->side[i].qp->ask.probes = seed & 1;
		pair->side[i].qp->read_repair = repair;
	}
	pair->user = &storm;
	pair->copies = fate;
	pair->tap = tap;
	for (uint64_t i = 0; i < MESSAGES; i++)
		post_random(pair, &storm, i);
	pair_run(pair);
	for (uint64_t i = 0; i < MESSAGES; i++) {
		cr_assert_eq(pair_recv(pair, B, 100 + i, PAIR_MEMORY_BYTES / 2, 65536), 0);
		if (draw(&storm, 3) == 0)
			pair_fire(pair);
	}
	cr_assert(pair_settle(pair, 60000000000ull), "seed %lu: not settled", seed);
	for (int i = 0; i < 2; i++) {
		trace_judge(storm.traces[i]);
		expect_nothing_wrong(storm.traces[i], seed, "AB"[i]);
	}
	resent = trace_half(storm.traces[A], 0)->counts[COUNT_RESENT];
	counted = pair->side[A].qp->counters[CNT_RETRANSMITTED_PACKETS] +
		  pair->side[A].qp->counters[CNT_RNR_RESENT_PACKETS] + pair->side[A].qp->counters[CNT_EARLY_PROBES] +
		  pair->side[A].qp->counters[CNT_DEFERRED_ACKREQS];
	cr_assert_eq(resent, counted, "seed %lu: the counters say %lu, the trace %lu", seed, counted, resent);
	/* A trace does not show what came between a request and its RNR NAK. */
	came = trace_half(storm.traces[B], 0)->counts;
	again = pair->side[B].qp->counters[CNT_DUPLICATE_REQUEST];
	if (came[COUNT_NAKS_RNR] == 0)
		cr_assert_eq(came[COUNT_DUPLICATES], again, "seed %lu: the counter says %lu, the trace %lu", seed,
			     again, came[COUNT_DUPLICATES]);
	for (int i = 0; i < 2; i++) {
		trace_close(storm.traces[i]);
		if (storm.captures[i])
			fclose(storm.captures[i]);
	}
	pair_close(pair);
	return resent;
}

Test(own_traffic, own_traffic_under_loss_matches_rules_and_counters, .timeout = 120)
{
	const char *given = getenv("UROCE_STORM_SEED");
	const char *runs = getenv("UROCE_STORM_RUNS");
	uint64_t first = given ? strtoull(given, NULL, 0) : 1, resent = 0;
	uint64_t count = given ? 1 : runs ? strtoull(runs, NULL, 0) : 100;

	for (uint64_t seed = first; seed < first + count; seed++)
		resent += run_storm(seed, 60);
	cr_assert_gt(resent, 0, "nothing was sent again: nothing was tried");
}

Test(own_traffic, own_traffic_without_loss_has_no_findings)
{
	for (uint64_t seed = 1; seed < 10; seed++)
		run_storm(seed, 0);
}
