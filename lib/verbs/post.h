/* post.h - converts and posts requests and receives */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_POST_H
#define VERBS_POST_H

#include "verbs/objects.h"

/* Where a datagram goes. */
struct verb_to {
	struct ibv_ah *ah;
	uint32_t qp_num, qkey;
};

/* Other flags, such as IBV_SEND_IP_CSUM, ask for nothing that these queue pairs do. */
static inline uint32_t verb_send_flags(unsigned flags)
{
	return flags & (UROCE_SEND_FENCE | UROCE_SEND_SIGNALED | UROCE_SEND_SOLICITED | UROCE_SEND_INLINE);
}

struct uroce_mw_bind verb_bind(const struct ibv_mw_bind_info *info);
/* Posts one request, with the lock of the send queue held. Returns 0 or a negative errno. */
int verb_post(struct verb_qp *qp, const struct uroce_send_wr *wr, const struct verb_to *to);

/* Posts one receive, whose `next` is NULL. Returns 0 or a negative errno. */
typedef int verb_post_function(void *queue, const struct uroce_recv_wr *wr);

/* Posts a list with the lock held. Returns 0, or a positive errno with *bad at the first one that was not posted. */
int verb_post_receives(struct verb_lock *lock, verb_post_function *post, void *queue, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad);

#endif
