/* srq.h - shared receive queues: many QPs take their receives from one */
/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads: one thread at a time posts to an SRQ; the other calls are for any thread. No call waits for an lcore. */
#ifndef UROCE_SRQ_H
#define UROCE_SRQ_H

#include <uroce/wr.h>

#ifdef __cplusplus
extern "C" {
#endif

struct uroce_srq_attr {
	uint32_t max_wr;  /* 1 ... 32768 */
	uint32_t max_sge; /* 1 ... 16 */
	uint32_t limit;   /* uroce_srq_query(): the armed limit; 0: no limit is armed */
	uint32_t count;   /* uroce_srq_query(): receives that are posted and not taken */
};

/*
 * Creates an SRQ. Its QPs, of the same PD, may live on different lcores. Returns 0; -EINVAL: value out of range;
 * -ENOMEM.
 */
UROCE_API int uroce_srq_create(struct uroce_pd *pd, const struct uroce_srq_attr *attr, struct uroce_srq **srq);
/* Returns 0; -EBUSY while a QP uses it. */
UROCE_API int uroce_srq_destroy(struct uroce_srq *srq);
/* As uroce_qp_post_recv(). One thread at a time. Returns 0; -ENOMEM: full; -EINVAL: sge count. */
UROCE_API int uroce_srq_post_recv(struct uroce_srq *srq, const struct uroce_recv_wr *wr,
				  const struct uroce_recv_wr **bad_wr);
/*
 * Arms SRQ_LIMIT_REACHED: raised once, when fewer than limit receives are left; at once if there are fewer now. limit 0
 * disarms. Returns 0; -EINVAL: above max_wr.
 */
UROCE_API int uroce_srq_arm(struct uroce_srq *srq, uint32_t limit);
/* Sets the qp_context of the SRQ's events (event.h), which is 0 at first. */
UROCE_API void uroce_srq_set_context(struct uroce_srq *srq, uint64_t context);
/* Fills in *attr: the sizes of the queue, the armed limit, and how many receives are posted. */
UROCE_API void uroce_srq_query(const struct uroce_srq *srq, struct uroce_srq_attr *attr);

#ifdef __cplusplus
}
#endif
#endif
