/* baseline.c - the limit step, in windows that alternate with windows of the stack */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "baseline.h"
#include "raw_frame.h"
#include "window.h"

#define BURST 32u
#define BURSTS_A_LOOK 8u
#define KERNEL_BYTES 4096u
#define KERNEL_BUFFERS 16u
#define KERNEL_ROUNDS 64u
#define KERNEL_PAIRS 101u

struct step {
	struct perf_end *from, *to;
	struct perf_raw_frame full, last; /* the last frame of a message, and the others */
	uint32_t frames;                  /* frames of a message */
	uint32_t at;                      /* index of the next frame to send, and to receive */
	uint32_t came;
	uint64_t sent, received; /* messages */
	uint32_t psn, epsn;
	uint64_t wrong; /* frames */
};

static void make_step(struct perf_end *ends, struct step *step)
{
	const struct perf_case *test = &ends[0].test;
	bool fetches = perf_ops[test->op].fetches;

	memset(step, 0, sizeof(*step));
	step->from = &ends[fetches];
	step->to = &ends[!fetches];
	step->frames = (test->size_bytes + test->mtu_bytes - 1) / test->mtu_bytes;
	perf_raw_frame_of(test->op, test->mtu_bytes, false, &step->full);
	perf_raw_frame_of(test->op, test->size_bytes - (step->frames - 1) * test->mtu_bytes, step->frames == 1,
			  &step->last);
}

/* Where a message lies at either end: in the same areas as messages of the stack. */
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

static inline __attribute__((always_inline)) void send_burst(struct step *step, bool icrc)
{
	struct app_port *port = step->from->port;
	struct rte_mbuf *burst[BURST];
	uint16_t sent;

	if (rte_pktmbuf_alloc_bulk(port->ethdev->pool, burst, BURST) != 0)
		return;
	for (uint32_t i = 0; i < BURST; i++) {
		const uint8_t *payload = source_of(step, step->sent) + (uint64_t)step->at * step->full.payload_bytes;
		bool last = step->at + 1 == step->frames;

		shape_fill(last ? &step->last : &step->full, burst[i], step->psn++ & 0xFFFFFF, payload, icrc);
		step->at = last ? 0 : step->at + 1;
		step->sent += last;
	}
	sent = rte_eth_tx_burst(port->ethdev->port_id, 0, burst, BURST);
	step->wrong += BURST - sent; /* never happens: the ring is larger than a burst */
	rte_pktmbuf_free_bulk(&burst[sent], BURST - sent);
}

static inline __attribute__((always_inline)) void receive_burst(struct step *step, bool icrc)
{
	struct rte_mbuf *burst[BURST];
	uint16_t count = rte_eth_rx_burst(step->to->port->ethdev->port_id, 0, burst, BURST);

	for (uint32_t i = 0; i < count; i++) {
		uint8_t *target = target_of(step, step->received) + (uint64_t)step->came * step->full.payload_bytes;
		bool last = step->came + 1 == step->frames;

		if (i + 1 < count)
			rte_prefetch0(rte_pktmbuf_mtod(burst[i + 1], void *));
		step->wrong +=
			!shape_take(last ? &step->last : &step->full, burst[i], step->epsn++ & 0xFFFFFF, target, icrc);
		step->came = last ? 0 : step->came + 1;
		step->received += last;
	}
	rte_pktmbuf_free_bulk(burst, count);
}

/* Messages a second of the limit step in one window. */
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

static bool frame_is_real(const struct step *step, const struct perf_raw_frame *shape)
{
	return perf_raw_frame_is_real(shape, step->from->port->ethdev->pool, source_of(step, 0));
}

int perf_baseline_run(struct perf_end *ends, struct perf_baseline_result *result)
{
	double limits[WINDOW_PAIRS], fractions[WINDOW_PAIRS], copies[WINDOW_PAIRS];
	uint64_t cycles = perf_window_cycles(ends[0].test.seconds);
	uint32_t count = 0;
	struct step step;

	memset(result, 0, sizeof(*result));
	make_step(ends, &step);
	if (!frame_is_real(&step, &step.last) || (step.frames > 1 && !frame_is_real(&step, &step.full)))
		return -EIO;
	perf_window_run(ends, cycles / 8);
	ends[0].tally.messages = ends[0].tally.cycles = ends[0].tally.frames = 0;
	for (; count < WINDOW_PAIRS && perf_window_goes_on(ends); count += perf_window_goes_on(ends)) {
		double rate = perf_window_run(ends, cycles);

		limits[count] = run_limit(&step, cycles);
		copies[count] = limits[count] / run_copy(&step, cycles);
		fractions[count] = rate / limits[count];
	}
	if (step.wrong)
		return -EIO;
	if (window_failed(ends) || count == 0)
		return 0;
	*result = (struct perf_baseline_result){
		.measured = true,
		.messages_per_s = perf_window_spread(limits, count).median,
		.over_copy = perf_window_spread(copies, count).median,
		.fraction = perf_window_spread(fractions, count),
	};
	result->gbit_per_s = result->messages_per_s * ends[0].test.size_bytes * 8 / 1e9;
	return 0;
}

/* ---- the copy with the ICRC alone ---- */

double perf_baseline_icrc(void)
{
	static uint8_t from[KERNEL_BUFFERS][KERNEL_BYTES] __attribute__((aligned(64)));
	static uint8_t to[KERNEL_BUFFERS][KERNEL_BYTES] __attribute__((aligned(64)));
	double ratios[KERNEL_PAIRS];
	uint32_t crc = 0;

	memset(from, 0xA5, sizeof(from));
	for (uint32_t pair = 0; pair < KERNEL_PAIRS; pair++) {
		uint64_t began = rte_rdtsc(), middle;

		for (uint32_t i = 0; i < KERNEL_ROUNDS * KERNEL_BUFFERS; i++)
			crc = wire_icrc_copy(crc, to[i % KERNEL_BUFFERS], from[i % KERNEL_BUFFERS], KERNEL_BYTES);
		middle = rte_rdtsc();
		for (uint32_t i = 0; i < KERNEL_ROUNDS * KERNEL_BUFFERS; i++) {
			memcpy(to[i % KERNEL_BUFFERS], from[i % KERNEL_BUFFERS], KERNEL_BYTES);
			__asm__ volatile("" : : "r"(to) : "memory");
		}
		ratios[pair] = (double)(rte_rdtsc() - middle) / (double)(middle - began);
	}
	__asm__ volatile("" : : "r"(crc));
	return perf_window_spread(ratios, KERNEL_PAIRS).median;
}
