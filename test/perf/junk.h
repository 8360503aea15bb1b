/* junk.h - measures how fast the stack refuses junk frames, and what a good QP achieves while junk arrives */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Junk is sent to the port that receives the payload of the case, from the port at the other end, by the same lcore.
 * Every frame is a WRITE ONLY of 64 bytes, 138 bytes in all over IPv4. In "qpn" all is right except the QPN, which
 * belongs to no QP and is another one each time; in "icrc" all is right, even the sender, except the ICRC. The others
 * are requests to connect, 322 bytes each, with ids and a QPN of their own: to a port at which nobody listens, to one
 * whose listener never answers, and of a class that is not connection management.
 *
 * Windows take turns: the case alone; the case while half of the frames that arrive are junk; junk alone, as much in a
 * poll as an lcore takes in one. The time in which junk is made and sent does not count. What counts is the poll of the
 * lcore: rx burst, judging, refusing, freeing, and all that it does in an empty poll. Making junk evicts lines of the
 * stack from the caches, to its disadvantage, and leaves the frames in them, to its advantage.
 */
#ifndef TEST_PERF_JUNK_H
#define TEST_PERF_JUNK_H

#include "window.h"

enum perf_junk {
	PERF_JUNK_NONE,
	PERF_JUNK_QPN,
	PERF_JUNK_ICRC,
	PERF_JUNK_REQ_UNSERVED, /* requests to connect to a port at which nobody listens */
	PERF_JUNK_REQ_OPEN,     /* requests to connect to a port whose listener does not answer */
	PERF_JUNK_REQ_BAD,      /* requests to connect, of another management class */
	PERF_JUNKS
};

struct perf_junk_result {
	bool measured;
	double refused_per_s;     /* frames refused a second while no other frames arrive; the median of the windows */
	struct perf_spread share; /* the part of its goodput that the case keeps while every second frame is junk */
};

/*
 * Runs a connected bw case with payload between two ends on this lcore, without the clock of poll.h. Fills in the tally
 * of ends[0] and *result. Returns 0; -ENOMEM; -EIO: a junk frame was not refused, or counted by the wrong counter.
 */
int perf_junk_run(struct perf_end *ends, enum perf_junk kind, struct perf_junk_result *result);

#endif
