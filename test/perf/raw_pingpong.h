/* raw_pingpong.h - measures the least round trip between two ports, beside that of the stack */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bare round trip: take an mbuf, store headers and payload of a frame like the case's, tx burst of one; rx burst at
 * the other end, compare opcode, QPN and PSN, free; and the same back. No ICRC, no copy of received data, only the port
 * at which a frame is expected is polled, and the clock is read every eighth time. The request of a READ has no
 * payload. A message of several frames is compared with one full frame. Windows alternate as in baseline.h; the median
 * of each counts.
 */
#ifndef TEST_PERF_RAW_PINGPONG_H
#define TEST_PERF_RAW_PINGPONG_H

#include "window.h"

struct perf_raw_pingpong_result {
	bool measured;
	double rtt_us;            /* round trip of bare frames, a median */
	struct perf_spread ratio; /* round trip of the stack divided by that of bare frames, for each pair */

	/* what the loss of one frame costs (recovery.h), in round trips of bare frames */
	bool lost;
	struct perf_spread recovery;
};

/*
 * Runs a connected lat case with payload between two ends on this lcore, without the clock of poll.h. lose: which
 * frame with payload of a message is lost now and then (recovery.h); 0: none. Fills in tally and latency of ends[0] and
 * *result. Returns 0, or -EIO: a bare frame did not arrive.
 */
int perf_raw_pingpong_run(struct perf_end *ends, uint32_t lose, struct perf_raw_pingpong_result *result);

#endif
