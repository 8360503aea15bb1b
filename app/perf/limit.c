/* limit.c - the limit step, and windows of it that alternate with windows of the stack */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "perf/limit.h"
#include "perf/receive.h"
#include "perf/stream.h"
#include "wire/bytes.h"
#include "wire/encap.h"
#include "wire/frame.h"
#include "wire/icrc.h"
#include "wire/kernel.h"
#include "wire/packet.h"

#define PAIRS 31u
#define WINDOW_MAX_S 0.3
#define WARM_UP_S 0.002
#define BURST 32u
#define HEADERS_MAX_BYTES 96u
#define BURSTS_A_LOOK 8u
#define TURNS_A_LOOK 16u
#define SETTLE_TURNS 64u
#define KERNEL_BYTES 4096u
#define KERNEL_BUFFERS 16u
#define KERNEL_ROUNDS 64u
#define KERNEL_PAIRS 101u

/* One shape of frame: its headers as they are stored, but for the PSN. */
struct shape {
	struct wire_frame_template template;
	struct wire_packet packet;
	uint8_t headers[HEADERS_MAX_BYTES];
	uint32_t ip_offset, bth_offset, headers_bytes, payload_bytes, pad_bytes, frame_bytes;
};

struct step {
	struct perf_end *from, *to;
	struct shape full, last; /* frames of a message: all but the last, and the last */
	uint32_t frames;         /* a message */
	uint32_t at;             /* of this message, the next frame to send; and to receive */
	uint32_t came;
	uint64_t sent, received; /* messages */
	uint32_t psn, epsn;
	uint64_t wrong; /* frames */
};

/* ---- what the frames look like ---- */

static uint8_t opcode_of(enum perf_op op, bool only)
{
	if (op == PERF_READ)
		return only ? OP_READ_RESPONSE_ONLY : OP_READ_RESPONSE_MIDDLE;
	if (op == PERF_SEND || op == PERF_SEND_IMM)
		return only ? OP_SEND_ONLY : OP_SEND_MIDDLE;
	return only ? OP_WRITE_ONLY : OP_WRITE_MIDDLE;
}

static void make_shape(const struct perf_end *end, uint32_t payload_bytes, bool only, struct shape *shape)
{
	struct wire_packet packet = {
		.opcode = opcode_of(end->test.op, only),
		.pad_bytes = packet_pad_bytes(payload_bytes),
		.dest_qpn = 0xFEDCBA,
		.pkey = 0xFFFF,
		.span_count = 1,
		.dma_length = payload_bytes,
		.payload_bytes = payload_bytes,
	};
	struct wire_encap encap = {
		.hop_limit = 64,
		.source_port = 0xC000,
		.dest_port = WIRE_UDP_PORT,
		.dest_mac = { 2, 0, 0, 0, 0, 2 },
		.source_mac = { 2, 0, 0, 0, 0, 1 },
		.source = { [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 1 },
		.dest = { [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 2 },
	};
	uint32_t bth_bytes = WIRE_BTH_BYTES + wire_opcode(packet.opcode)->extension_bytes + payload_bytes +
			     packet.pad_bytes + WIRE_ICRC_BYTES;

	memset(shape, 0, sizeof(*shape));
	wire_frame_prepare(&shape->template, &encap);
	shape->packet = packet;
	shape->headers_bytes = wire_encap_build(&encap, bth_bytes, shape->headers);
	shape->headers_bytes += wire_packet_build(&packet, shape->headers + shape->headers_bytes);
	shape->payload_bytes = payload_bytes;
	shape->pad_bytes = packet.pad_bytes;
	shape->frame_bytes = encap.bth_offset + bth_bytes;
	shape->ip_offset = encap.ip_offset;
	shape->bth_offset = encap.bth_offset;
}

static void make_step(struct perf_end *ends, struct step *step)
{
	const struct perf_case *test = &ends[0].test;
	bool fetches = perf_ops[test->op].fetches;

	memset(step, 0, sizeof(*step));
	step->from = &ends[fetches];
	step->to = &ends[!fetches];
	step->frames = (test->size_bytes + test->mtu_bytes - 1) / test->mtu_bytes;
	make_shape(&ends[0], test->mtu_bytes, false, &step->full);
	make_shape(&ends[0], test->size_bytes - (step->frames - 1) * test->mtu_bytes, step->frames == 1, &step->last);
}

/* Where a message lies at either end: the areas that the stack's messages use, too. */
static uint8_t *source_of(const struct step *step, uint64_t message)
{
	return perf_ops[step->from->test.op].fetches ? end_target(step->from, 0, message) :
						       end_source(step->from, 0, message);
}

static uint8_t *target_of(const struct step *step, uint64_t message)
{
	if (perf_ops[step->to->test.op].fetches)
		return end_source(step->to, 0, message);
	return step->to->layout.inbox_slots ? end_inbox(step->to, 0, message) : end_target(step->to, 0, message);
}

/* ---- the step ---- */

/* Is icrc, and pad, asked for? Both loops are made from this one, without a branch for it. */
static inline __attribute__((always_inline)) void fill(struct rte_mbuf *mbuf, const struct shape *shape, uint32_t psn,
						       const uint8_t *payload, bool icrc)
{
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);

	if (icrc) {
		struct wire_packet packet = shape->packet;

		packet.psn = psn;
		packet.payload = payload;
		wire_frame_build(&shape->template, &packet, frame);
	} else {
		memcpy(frame, shape->headers, HEADERS_MAX_BYTES);
		store_be24(frame + shape->bth_offset + 9, psn);
		memcpy(frame + shape->headers_bytes, payload, shape->payload_bytes);
	}
	mbuf->data_len = (uint16_t)shape->frame_bytes;
	mbuf->pkt_len = shape->frame_bytes;
}

static inline __attribute__((always_inline)) bool take(const struct rte_mbuf *mbuf, const struct shape *shape,
						       uint32_t psn, uint8_t *target, bool icrc)
{
	const uint8_t *frame = rte_pktmbuf_mtod(mbuf, const uint8_t *), *at = frame + shape->headers_bytes;
	const uint8_t *bth = frame + shape->bth_offset;
	uint32_t crc;

	if (load_be64(bth) != load_be64(shape->headers + shape->bth_offset) || load_be24(bth + 9) != psn)
		return false;
	if (!icrc) {
		memcpy(target, at, shape->payload_bytes);
		return true;
	}
	crc = wire_kernel_frame(frame + shape->ip_offset, shape->headers_bytes - shape->ip_offset, target, at,
				shape->payload_bytes);
	if (shape->pad_bytes)
		crc = wire_icrc_continue(crc, at + shape->payload_bytes, shape->pad_bytes);
	return crc == load_le32(at + shape->payload_bytes + shape->pad_bytes);
}

static inline __attribute__((always_inline)) void send_burst(struct step *step, bool icrc)
{
	struct app_port *port = step->from->port;
	struct rte_mbuf *burst[BURST];
	uint16_t sent;

	if (rte_pktmbuf_alloc_bulk(port->ethdev.pool, burst, BURST) != 0)
		return;
	for (uint32_t i = 0; i < BURST; i++) {
		const uint8_t *payload = source_of(step, step->sent) + (uint64_t)step->at * step->full.payload_bytes;
		bool last = step->at + 1 == step->frames;

		fill(burst[i], last ? &step->last : &step->full, step->psn++ & 0xFFFFFF, payload, icrc);
		step->at = last ? 0 : step->at + 1;
		step->sent += last;
	}
	sent = rte_eth_tx_burst(port->ethdev.port_id, 0, burst, BURST);
	step->wrong += BURST - sent; /* the ring is larger than a burst */
	rte_pktmbuf_free_bulk(&burst[sent], BURST - sent);
}

static inline __attribute__((always_inline)) void receive_burst(struct step *step, bool icrc)
{
	struct rte_mbuf *burst[BURST];
	uint16_t count = rte_eth_rx_burst(step->to->port->ethdev.port_id, 0, burst, BURST);

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *target = target_of(step, step->received) + (uint64_t)step->came * step->full.payload_bytes;
		bool last = step->came + 1 == step->frames;

		if (i + 1 < count)
			rte_prefetch0(rte_pktmbuf_mtod(burst[i + 1], void *));
		step->wrong += !take(burst[i], last ? &step->last : &step->full, step->epsn++ & 0xFFFFFF, target, icrc);
		step->came = last ? 0 : step->came + 1;
		step->received += last;
	}
	rte_pktmbuf_free_bulk(burst, count);
}

/* Messages a second of the step in one window. */
static inline __attribute__((always_inline)) double run_step(struct step *step, uint64_t cycles, bool icrc)
{
	uint64_t began = rte_rdtsc(), before = step->received, now;

	do {
		for (uint32_t i = 0; i < BURSTS_A_LOOK; i++) {
			send_burst(step, icrc);
			receive_burst(step, icrc);
		}
		now = rte_rdtsc();
	} while (now - began < cycles);
	return (double)(step->received - before) * (double)rte_get_tsc_hz() / (double)(now - began);
}

static double run_limit(struct step *step, uint64_t cycles)
{
	return run_step(step, cycles, true);
}

static double run_copy(struct step *step, uint64_t cycles)
{
	return run_step(step, cycles, false);
}

/* The frames are real: what the stack would read of one is what was meant, and its ICRC is right. */
static bool frame_is_real(struct step *step, const struct shape *shape)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(step->from->port->ethdev.pool);
	struct wire_packet packet;
	struct wire_encap encap;
	const uint8_t *frame;
	bool real;

	if (mbuf == NULL)
		return false;
	fill(mbuf, shape, 0x123456, source_of(step, 0), true);
	frame = rte_pktmbuf_mtod(mbuf, const uint8_t *);
	real = wire_encap_parse(frame, shape->frame_bytes, true, &encap) == WIRE_FRAME_ROCE &&
	       wire_packet_parse(frame + encap.bth_offset, encap.bth_bytes, &packet) == WIRE_PACKET_OK &&
	       packet.payload_bytes == shape->payload_bytes && packet.psn == 0x123456 &&
	       wire_icrc_frame(frame + encap.ip_offset, shape->frame_bytes - encap.ip_offset - WIRE_ICRC_BYTES) ==
		       load_le32(frame + shape->frame_bytes - WIRE_ICRC_BYTES);
	rte_pktmbuf_free(mbuf);
	return real;
}

/* ---- the stack between ---- */

static void turn(struct perf_end *ends)
{
	for (unsigned i = 0; i < 2; i++) {
		uroce_lcore_poll(ends[i].lcore);
		if (perf_ops[ends[i].test.op].receives && ends[i].responds)
			perf_receive_turn(&ends[i]);
		if (ends[i].requests)
			perf_stream_turn(&ends[i]);
	}
}

/* Messages a second of the stack in one window, from an idle start; all is done when it returns. */
static double run_stack(struct perf_end *ends, uint64_t cycles)
{
	struct perf_end *end = &ends[0];
	uint64_t warm = (uint64_t)(WARM_UP_S * (double)rte_get_tsc_hz()), began = rte_rdtsc(), before, frames, now;
	double rate;

	end->phase = PHASE_MEASURE;
	for (uint32_t i = 0; i < end->test.qps; i++)
		perf_stream_post(end, i);
	while (rte_rdtsc() - began < warm && end->tally.errors == 0)
		turn(ends);
	began = rte_rdtsc();
	before = end->completed;
	frames = perf_end_frames(end);
	do {
		for (uint32_t i = 0; i < TURNS_A_LOOK; i++)
			turn(ends);
		now = rte_rdtsc();
	} while (now - began < cycles && end->tally.errors + ends[1].tally.errors == 0);
	rate = (double)(end->completed - before) * (double)rte_get_tsc_hz() / (double)(now - began);
	end->tally.messages += end->completed - before;
	end->tally.frames += perf_end_frames(end) - frames;
	end->tally.cycles += now - began;
	if (rate > end->tally.peak_per_s)
		end->tally.peak_per_s = rate;
	end->phase = PHASE_DRAIN;
	while (end->completed != end->posted && end->tally.errors + ends[1].tally.errors == 0)
		turn(ends);
	for (uint32_t i = 0; i < SETTLE_TURNS; i++)
		turn(ends);
	return rate;
}

static int compare(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

/* Sorts values and returns the one below which `fraction` of them lie. */
static double quantile(double *values, uint32_t count, double fraction)
{
	qsort(values, count, sizeof(*values), compare);
	return values[(uint32_t)(fraction * (double)(count - 1) + 0.5)];
}

static uint64_t window_cycles(double seconds)
{
	double window = seconds / PAIRS;

	return (uint64_t)((window > WINDOW_MAX_S ? WINDOW_MAX_S : window) * (double)rte_get_tsc_hz());
}

int perf_limit_run(struct perf_end *ends, struct perf_limit_result *result)
{
	double limits[PAIRS], fractions[PAIRS], copies[PAIRS];
	uint64_t cycles = window_cycles(ends[0].test.seconds);
	struct step step;

	memset(result, 0, sizeof(*result));
	make_step(ends, &step);
	if (!frame_is_real(&step, &step.last) || (step.frames > 1 && !frame_is_real(&step, &step.full)))
		return -EIO;
	ends[1].phase = PHASE_DONE;
	run_stack(ends, cycles / 8);
	ends[0].tally.messages = ends[0].tally.cycles = ends[0].tally.frames = 0;
	for (uint32_t i = 0; i < PAIRS && ends[0].tally.errors == 0; i++) {
		double rate = run_stack(ends, cycles);

		limits[i] = run_limit(&step, cycles);
		copies[i] = limits[i] / run_copy(&step, cycles);
		fractions[i] = rate / limits[i];
	}
	ends[0].tally.seconds = (double)ends[0].tally.cycles / (double)rte_get_tsc_hz();
	ends[0].phase = PHASE_DONE;
	if (step.wrong)
		return -EIO;
	if (ends[0].tally.errors + ends[1].tally.errors)
		return 0;
	result->measured = true;
	result->messages_per_s = quantile(limits, PAIRS, 0.5);
	result->gbit_per_s = result->messages_per_s * ends[0].test.size_bytes * 8 / 1e9;
	result->over_copy = quantile(copies, PAIRS, 0.5);
	result->fraction = quantile(fractions, PAIRS, 0.5);
	result->fraction_p10 = quantile(fractions, PAIRS, 0.1);
	result->fraction_p90 = quantile(fractions, PAIRS, 0.9);
	return 0;
}

/* ---- the kernel alone ---- */

double perf_limit_kernel(void)
{
	static uint8_t from[KERNEL_BUFFERS][KERNEL_BYTES] __attribute__((aligned(64)));
	static uint8_t to[KERNEL_BUFFERS][KERNEL_BYTES] __attribute__((aligned(64)));
	double ratios[KERNEL_PAIRS];
	uint32_t crc = 0;

	memset(from, 0xA5, sizeof(from));
	for (uint32_t pair = 0; pair < KERNEL_PAIRS; pair++) {
		uint64_t began = rte_rdtsc(), middle;

		for (uint32_t i = 0; i < KERNEL_ROUNDS * KERNEL_BUFFERS; i++)
			crc = wire_kernel_copy(crc, to[i % KERNEL_BUFFERS], from[i % KERNEL_BUFFERS], KERNEL_BYTES);
		middle = rte_rdtsc();
		for (uint32_t i = 0; i < KERNEL_ROUNDS * KERNEL_BUFFERS; i++) {
			memcpy(to[i % KERNEL_BUFFERS], from[i % KERNEL_BUFFERS], KERNEL_BYTES);
			__asm__ volatile("" : : "r"(to) : "memory");
		}
		ratios[pair] = (double)(rte_rdtsc() - middle) / (double)(middle - began);
	}
	__asm__ volatile("" : : "r"(crc));
	return quantile(ratios, KERNEL_PAIRS, 0.5);
}
