/* raw_pingpong.h - the least round trip there is between two ports, measured beside that of the stack */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bare round trip: take an mbuf, store headers and payload of a frame of the case's shape, tx burst of one; rx burst
 * at the other end, compare opcode, QPN and PSN, free; the same back. No ICRC, nothing is copied out, only the port
 * that a frame is due at is polled, and the clock is read every eighth time. READs ask with headers only. A message of
 * several frames is compared with one of its full frames. Windows alternate as in limit.h; of each the median counts.
 */
#ifndef APP_PERF_RAW_PINGPONG_H
#define APP_PERF_RAW_PINGPONG_H

#include "perf/end.h"

/*
 * Runs a connected lat case with payload of two ends on this lcore, in place of the clock of poll.h: fills the tally
 * and latency of ends[0] and *result. 0; -EIO: a bare frame did not arrive.
 */
int perf_raw_pingpong_run(struct perf_end *ends, struct perf_raw_pingpong_result *result);

#endif
