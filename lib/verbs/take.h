/* take.h - taking completions, and forgetting those of a queue pair */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_TAKE_H
#define VERBS_TAKE_H

#include "verbs/objects.h"

/* Up to count, with the queue's lock. Returns how many. */
int verb_take(struct verb_cq *cq, int count, struct uroce_wc *wc);
/* What waits and is of the queue pair is dropped: it was reset or is destroyed, and its user looks for it no more. */
void verb_forget(struct ibv_cq *cq, uint32_t qp_num);
/* The queue goes. */
void verb_forget_all(struct verb_cq *cq);

#endif
