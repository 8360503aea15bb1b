/* raw_pingpong.c - bare frames back and forth, in windows that alternate with windows of the stack */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "raw_pingpong.h"
#include "recovery.h"
#include "raw_frame.h"
#include "window.h"

#define BURST 32u
#define TRIPS 8u   /* round trips between two readings of the clock, each of which takes a seventh of a round trip */
#define LOST_S 1.0 /* after so long a frame counts as lost */

struct bare {
	struct perf_end *ends;
	struct perf_raw_frame shapes[2]; /* the frame there, and the one back */
	struct app_histogram trips;      /* times of TRIPS round trips together */
	struct app_histogram all;        /* times of the stack */
	uint32_t psn;
	bool lost;
};

static void send_frame(struct bare *bare, unsigned side)
{
	const struct perf_end *end = &bare->ends[side];
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(end->port->ethdev->pool);

	if (mbuf == NULL)
		return; /* the caller sees that it is lost */
	shape_fill(&bare->shapes[side], mbuf, bare->psn, end_source(end, 0, 0), false);
	if (rte_eth_tx_burst(end->port->ethdev->port_id, 0, &mbuf, 1) == 0)
		rte_pktmbuf_free(mbuf);
}

static void receive_frame(struct bare *bare, unsigned side)
{
	uint64_t began = 0; /* the clock is not read while frames keep coming */
	struct rte_mbuf *burst[BURST];
	bool came = false;

	while (!came && !bare->lost) {
		uint16_t count = rte_eth_rx_burst(bare->ends[side].port->ethdev->port_id, 0, burst, BURST);

		for (uint16_t i = 0; i < count; i++) {
			came |= shape_is(&bare->shapes[!side], burst[i], bare->psn);
			rte_pktmbuf_free(burst[i]);
		}
		if (count > 0)
			continue;
		began = began ? began : rte_rdtsc();
		bare->lost = rte_rdtsc() - began > (uint64_t)(LOST_S * (double)rte_get_tsc_hz());
	}
}

static void run_trips(struct bare *bare, uint64_t cycles)
{
	uint64_t first = rte_rdtsc(), began, now = first;

	memset(&bare->trips, 0, sizeof(bare->trips));
	do {
		began = now;
		for (uint32_t i = 0; i < TRIPS; i++) {
			bare->psn = (bare->psn + 1) & 0xFFFFFF;
			send_frame(bare, 0);
			receive_frame(bare, 1);
			send_frame(bare, 1);
			receive_frame(bare, 0);
		}
		now = rte_rdtsc();
		app_histogram_record(&bare->trips, now - began);
	} while (now - first < cycles && !bare->lost);
}

static double median_of(const struct app_histogram *histogram)
{
	return (double)app_histogram_percentile(histogram, 0.5);
}

static struct bare *create(struct perf_end *ends)
{
	const struct perf_case *test = &ends[0].test;
	uint32_t bytes = test->size_bytes < test->mtu_bytes ? test->size_bytes : test->mtu_bytes;
	struct bare *bare = calloc(1, sizeof(*bare));

	if (bare == NULL)
		return NULL;
	bare->ends = ends;
	perf_raw_frame_of(test->op, perf_ops[test->op].fetches ? 0 : bytes, true, &bare->shapes[0]);
	perf_raw_frame_of(test->op, bytes, true, &bare->shapes[1]);
	return bare;
}

static void measure(struct bare *bare, uint32_t lose, struct perf_raw_pingpong_result *result)
{
	double trips[WINDOW_PAIRS], ratios[WINDOW_PAIRS], recoveries[WINDOW_PAIRS];
	struct perf_end *ends = bare->ends;
	uint64_t cycles = perf_window_cycles(ends[0].test.seconds);
	uint32_t count = 0;

	perf_window_run(ends, cycles / 8);
	ends[0].tally.cycles = 0;
	for (; count < WINDOW_PAIRS && perf_window_goes_on(ends) && !bare->lost; count += perf_window_goes_on(ends)) {
		perf_window_run(ends, cycles);
		app_histogram_add(&bare->all, ends[0].latency);
		run_trips(bare, cycles);
		trips[count] = median_of(&bare->trips) / TRIPS;
		ratios[count] = median_of(ends[0].latency) / trips[count];
		recoveries[count] = lose ? perf_recovery_run(ends, lose, cycles) / trips[count] : 0;
	}
	*ends[0].latency = bare->all;
	if (window_failed(ends) || bare->lost || count == 0)
		return;
	*result = (struct perf_raw_pingpong_result){
		.measured = true,
		.rtt_us = perf_window_spread(trips, count).median * 1e6 / (double)rte_get_tsc_hz(),
		.ratio = perf_window_spread(ratios, count),
		.lost = lose > 0,
		.recovery = perf_window_spread(recoveries, count),
	};
}

int perf_raw_pingpong_run(struct perf_end *ends, uint32_t lose, struct perf_raw_pingpong_result *result)
{
	struct bare *bare = create(ends);
	int error = bare ? 0 : -ENOMEM;

	memset(result, 0, sizeof(*result));
	if (error == 0)
		measure(bare, lose, result);
	if (error == 0 && bare->lost)
		error = -EIO;
	free(bare);
	return error;
}
