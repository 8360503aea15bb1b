/* junk.h - frames that the stack refuses: how fast, and what a good QP keeps beside them */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Junk goes onto the port that the payload of the case comes to, from the port at the other end, by the same lcore.
 * Every frame is a WRITE ONLY of 64 bytes, 138 in all over IPv4: "qpn" is right but for its QPN, which no QP has,
 * another one each time; "icrc" is right in all, and comes from where it should, but for its ICRC. The others are
 * requests to connect, 322 bytes each with ids and a QPN of its own: to a port where nobody listens, to one where
 * somebody does who never answers, and of a class that is not connection management.
 *
 * In turn: a window of the case alone; one in which half of the frames that arrive are junk; one of junk alone, as much
 * in a poll as an lcore takes in one. Time in which junk is made and sent does not count; what counts is the poll of
 * the lcore: rx burst, looking, refusing, freeing, and all it does when there is nothing else. The caches that making
 * junk has used are the stack's loss, that its frames are still in them its gain.
 */
#ifndef APP_PERF_JUNK_H
#define APP_PERF_JUNK_H

#include "perf/end.h"

/*
 * Runs a connected bw case with payload of two ends on this lcore, in place of the clock of poll.h: fills the tally of
 * ends[0] and *result. 0; -ENOMEM; -EIO: not every junk frame was refused, or not under the name it should have.
 */
int perf_junk_run(struct perf_end *ends, struct perf_junk_result *result);

#endif
