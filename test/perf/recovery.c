/* recovery.c - a window of messages, some of which lose a frame */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include <rte_cycles.h>

#include "drivers/fault/fault.h"
#include "recovery.h"
#include "window.h"

#define LOSE_EVERY 16u
#define MIN_FRAME_BYTES 90u /* shortest frame that is lost; an acknowledgement is shorter, even over IPv6 */
#define SETTLE_POLLS 64u

struct recovery {
	struct perf_end *ends;
	struct drivers_fault *fault; /* faults of the port that receives the payload */
	struct app_histogram usual, lossy;
	uint32_t nth;
};

/* One message there and back. */
static void exchange(struct recovery *recovery, bool lossy)
{
	struct perf_end *end = &recovery->ends[0];

	if (lossy)
		drivers_fault_lose_nth(recovery->fault, recovery->nth, MIN_FRAME_BYTES);
	end->latency = lossy ? &recovery->lossy : &recovery->usual;
	end->flows[0].goal = end->posted + 1;
	do {
		perf_window_poll(recovery->ends);
	} while (end->completed < end->flows[0].goal && !window_failed(recovery->ends));
}

static void exchange_for(struct recovery *recovery, uint64_t cycles)
{
	uint64_t began = rte_rdtsc();

	do {
		for (uint32_t i = 1; i <= LOSE_EVERY && !window_failed(recovery->ends); i++)
			exchange(recovery, i == LOSE_EVERY);
	} while (rte_rdtsc() - began < cycles && perf_window_goes_on(recovery->ends));
}

static void check_lost(const struct recovery *recovery)
{
	struct drivers_fault_counts counts;

	drivers_fault_counts(recovery->fault, &counts);
	if (counts.lost != recovery->lossy.count && !window_failed(recovery->ends))
		perf_end_fail(&recovery->ends[0],
			      "%lu frames were lost in %lu messages: with less than %u bytes one looks like an "
			      "acknowledgement",
			      (unsigned long)counts.lost, (unsigned long)recovery->lossy.count, MIN_FRAME_BYTES);
}

double perf_recovery_run(struct perf_end *ends, uint32_t lose, uint64_t cycles)
{
	const struct perf_case *test = &ends[0].test;
	uint32_t frames = (test->size_bytes + test->mtu_bytes - 1) / test->mtu_bytes;
	struct app_port *port = ends[!perf_ops[test->op].fetches].port;
	struct drivers_fault_config config = { 0 };
	struct app_histogram *latency = ends[0].latency;
	struct recovery *recovery = calloc(1, sizeof(*recovery));
	struct uroce_error error = { "no memory" };
	double more = 0;

	if (recovery == NULL || drivers_fault_attach(port->ethdev, &config, &recovery->fault, &error) != 0) {
		perf_end_fail(&ends[0], "%s", error.text);
		free(recovery);
		return 0;
	}
	recovery->ends = ends;
	recovery->nth = lose < frames ? lose : frames;
	ends[0].phase = PHASE_MEASURE;
	exchange_for(recovery, cycles);
	ends[0].phase = PHASE_DRAIN;
	ends[0].latency = latency;
	ends[0].flows[0].goal = UINT64_MAX;
	for (uint32_t i = 0; i < SETTLE_POLLS; i++)
		perf_window_poll(ends);
	check_lost(recovery);
	drivers_fault_detach(recovery->fault);
	more = (double)app_histogram_percentile(&recovery->lossy, 0.5) -
	       (double)app_histogram_percentile(&recovery->usual, 0.5);
	free(recovery);
	return more;
}
