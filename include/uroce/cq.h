/* cq.h - completion queues */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_CQ_H
#define UROCE_CQ_H

#include <uroce/wr.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * depth: completions it can hold, 1 ... 1048576 (rounded up inside). A CQ that overflows raises CQ_ERR and
 * its QPs go to ERR; what is in it stays readable (E-5). 0; -EINVAL; -ENOMEM.
 */
UROCE_API int uroce_cq_create(struct uroce_device *device, uint32_t depth, struct uroce_cq **cq);
/*
 * It holds depth completions from now on; those that wait stay, in front. Nobody polls it meanwhile. A mark (below)
 * stays good. 0; -EINVAL: more wait; -ENOMEM; -EBUSY: those that came before the last change wait: poll first.
 */
UROCE_API int uroce_cq_resize(struct uroce_cq *cq, uint32_t depth);
/* 0; -EBUSY while a QP uses it. */
UROCE_API int uroce_cq_destroy(struct uroce_cq *cq);
/*
 * Takes up to count completions. Returns how many; one thread at a time. Those of a queue pair that has been destroyed
 * are still there, with its qp_context.
 */
UROCE_API int uroce_cq_poll(struct uroce_cq *cq, int count, struct uroce_wc *wc);

/*
 * When has the last completion of a queue pair been taken, so that what qp_context and wr_id stand for may be freed?
 *   1. uroce_qp_destroy(): no completion comes behind it
 *   2. uroce_cq_mark() of each of its CQs: behind the last completion that is there by now
 *   3. poll the CQ as ever, until uroce_cq_passed() says that all in front of the mark has been taken
 * Any thread may mark; passed is for the thread that polls the CQ, and counts what uroce_cq_poll() has returned as
 * taken. It costs nothing while nobody asks, and holds for a CQ that has overflowed (E-5). A receive that was still
 * posted when its queue pair was destroyed has no completion; who wants one moves the queue pair to ERR first.
 */
UROCE_API uint32_t uroce_cq_mark(const struct uroce_cq *cq);
UROCE_API bool uroce_cq_passed(const struct uroce_cq *cq, uint32_t mark);

/*
 * Sleeping instead of polling: after uroce_cq_arm() the next completion makes the descriptor readable, once; with
 * solicited_only the next one that is an error or whose sender set UROCE_SEND_SOLICITED. Completions that came before
 * give no wake-up, so:
 *   1. poll until the CQ is empty
 *   2. uroce_cq_arm()
 *   3. poll again: what came between 1 and 2 is there
 *   4. poll(2) or read(2) 8 bytes from the descriptor, and start again
 * The CQ owns the descriptor (an eventfd); -EMFILE and the like when none could be made.
 */
UROCE_API int uroce_cq_fd(struct uroce_cq *cq);
UROCE_API void uroce_cq_arm(struct uroce_cq *cq, bool solicited_only);
/*
 * One descriptor for many CQs: from now on a wake-up writes value, 8 bytes, to fd, the end of a pipe, whose reader
 * learns by it which CQ it was. The caller owns fd, has made it O_NONBLOCK, and keeps both ends open until the CQ is
 * destroyed or has another. A pipe that is full loses no wake-up: the CQ stays armed, and its next completion tries
 * again.
 */
UROCE_API void uroce_cq_set_fd(struct uroce_cq *cq, int fd, uint64_t value);
/* Comes back as qp_context of the CQ's events (event.h); 0 when it was created. */
UROCE_API void uroce_cq_set_context(struct uroce_cq *cq, uint64_t context);

#ifdef __cplusplus
}
#endif
#endif
