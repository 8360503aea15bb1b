/* baseline.h - the least that any RoCEv2 stack must do, measured beside the stack on the same ports */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limit step sends the payload of the case in frames that look like the case's and does nothing but: take an mbuf,
 * store the headers from a template and the next PSN, copy the payload with the frame's ICRC in one pass, tx burst, rx
 * burst, compare opcode, QPN and PSN, copy the payload with the frame's ICRC in one pass, compare it, free. No QP, no
 * request, no answer, no completion. The ICRC code is the stack's own, so that it is the rest that is judged.
 * Windows of the stack and of the limit alternate, each pair gives one ratio; what is printed is their median.
 */
#ifndef APP_PERF_BASELINE_H
#define APP_PERF_BASELINE_H

#include "perf/end.h"

/* K: how fast the stack copies 4096 bytes that are in L2 with their ICRC, over how fast memcpy() does. */
double perf_baseline_icrc(void);

/*
 * Runs a connected case with payload of two ends on this lcore, in place of the clock of poll.h: fills the tally of
 * ends[0] and *result. 0; -EIO: a frame of the limit step was not right.
 */
int perf_baseline_run(struct perf_end *ends, struct perf_baseline_result *result);

#endif
