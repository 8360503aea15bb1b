/* baseline.h - measures the least that any RoCEv2 stack must do, beside the stack on the same ports */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limit step sends the payload of the case in frames that look like the case's, and does only this: take an mbuf,
 * store the headers from a template and the next PSN, copy the payload with the frame's ICRC in one pass, tx burst, rx
 * burst, compare opcode, QPN and PSN, copy the payload with the frame's ICRC in one pass, compare that, free. No QP, no
 * request, no response, no completion. The ICRC code is the stack's own, so that the comparison judges everything else.
 * Windows of the stack and of the limit step alternate. Each pair gives one ratio, and the median of the ratios is
 * printed.
 */
#ifndef TEST_PERF_BASELINE_H
#define TEST_PERF_BASELINE_H

#include "window.h"

struct perf_baseline_result {
	bool measured;
	double gbit_per_s, messages_per_s; /* medians of the limit step */
	struct perf_spread fraction;       /* goodput of the stack divided by that of the limit step, for each pair */
	double over_copy;                  /* goodput of the limit step divided by that without ICRC */
};

/* K: the stack's speed of copying 4096 bytes in L2 with their ICRC, divided by that of memcpy(). */
double perf_baseline_icrc(void);

/*
 * Runs a connected case with payload between two ends on this lcore, without the clock of poll.h. Fills in the tally of
 * ends[0] and *result. Returns 0, or -EIO: a frame of the limit step was wrong.
 */
int perf_baseline_run(struct perf_end *ends, struct perf_baseline_result *result);

#endif
