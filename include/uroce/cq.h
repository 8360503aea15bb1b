/* cq.h - completion queues */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads: one thread at a time polls a CQ; the other calls are for any thread, unless they say otherwise. No call
 * waits for an lcore.
 */
#ifndef UROCE_CQ_H
#define UROCE_CQ_H

#include <uroce/wr.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * depth: how many completions the CQ holds, 1 ... 1048576 (rounded up inside). A CQ that overflows raises CQ_ERR and
 * its QPs go to ERR; its completions can still be read (E-5). Returns 0; -EINVAL; -ENOMEM.
 */
UROCE_API int uroce_cq_create(struct uroce_device *device, uint32_t depth, struct uroce_cq **cq);
/*
 * Changes the depth; waiting completions stay in front. No thread may poll the CQ meanwhile. A mark (below) stays
 * valid. Returns 0; -EINVAL: depth is out of range, or more completions wait; -ENOMEM.
 */
UROCE_API int uroce_cq_resize(struct uroce_cq *cq, uint32_t depth);
/* Returns 0; -EBUSY while a QP uses it. */
UROCE_API int uroce_cq_destroy(struct uroce_cq *cq);
/*
 * Takes up to count completions, and returns how many it took. One thread at a time. Completions of a queue pair that
 * has been destroyed are still returned, with its qp_context.
 */
UROCE_API int uroce_cq_poll(struct uroce_cq *cq, int count, struct uroce_wc *wc);

/*
 * How to find out that the last completion of a queue pair has been taken, so that you may free what qp_context and
 * wr_id point to:
 *   1. uroce_qp_destroy(): no further completion is added
 *   2. uroce_cq_mark() for each of its CQs: the position behind the last completion so far
 *   3. poll the CQ as usual, until uroce_cq_passed() says that all completions in front of the mark have been taken
 * Any thread may call uroce_cq_mark(); only the thread that polls the CQ may call uroce_cq_passed(). A completion that
 * uroce_cq_poll() has returned counts as taken. Marks work with a CQ that has overflowed, too (E-5). A receive that was
 * still posted when its queue pair was destroyed has no completion, unless the queue pair was moved to ERR first.
 */
UROCE_API uint32_t uroce_cq_mark(const struct uroce_cq *cq);
/* Returns whether all completions in front of the mark have been taken. For the thread that polls the CQ. */
UROCE_API bool uroce_cq_passed(const struct uroce_cq *cq, uint32_t mark);

/*
 * Sleeping instead of polling: after uroce_cq_arm() the next completion makes the descriptor readable, once; with
 * solicited_only the next completion that is an error or whose sender set UROCE_SEND_SOLICITED does. Completions that
 * came before uroce_cq_arm() give no wake-up, so:
 *   1. poll until the CQ is empty
 *   2. uroce_cq_arm()
 *   3. poll again: this finds completions that came between 1 and 2
 *   4. poll(2) or read(2) 8 bytes from the descriptor, and start again
 * The CQ owns the descriptor (an eventfd); uroce_cq_fd() returns -EMFILE or the like if no descriptor could be made.
 */
UROCE_API int uroce_cq_fd(struct uroce_cq *cq);
/*
 * Arms the descriptor for one wake-up: step 2 above. With solicited_only only errors and solicited completions count.
 */
UROCE_API void uroce_cq_arm(struct uroce_cq *cq, bool solicited_only);
/*
 * Shares one descriptor among many CQs: from now on a wake-up writes value, 8 bytes, to fd, the end of a pipe, whose
 * reader thus learns which CQ it was. The caller owns fd, has made it O_NONBLOCK, and keeps both ends open until the CQ
 * is destroyed or has another descriptor. A full pipe loses no wake-up: the CQ stays armed, and its next completion
 * tries again.
 */
UROCE_API void uroce_cq_set_fd(struct uroce_cq *cq, int fd, uint64_t value);
/* Sets the qp_context of the CQ's events (event.h), which is 0 at first. */
UROCE_API void uroce_cq_set_context(struct uroce_cq *cq, uint64_t context);

#ifdef __cplusplus
}
#endif
#endif
