/* post.h - receives of any queue, in the words of uroce */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_POST_H
#define VERBS_POST_H

#include "verbs/objects.h"

/* Posts one receive, whose `next` is NULL. 0 or a negative errno. */
typedef int verb_post_function(void *queue, const struct uroce_recv_wr *wr);

/* Posts a list with the lock held. 0, or a positive errno with *bad the first that was not posted. */
int verb_post_receives(pthread_spinlock_t *lock, verb_post_function *post, void *queue, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad);

#endif
