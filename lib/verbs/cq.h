/* cq.h - taking completions, and forgetting those of a queue pair */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_CQ_H
#define VERBS_CQ_H

#include "verbs/objects.h"

/* Up to count, with the lock. Returns how many. */
int verb_cq_take(struct verb_cq *cq, int count, struct uroce_wc *wc);
/* What waits and is of the queue pair is dropped: it was reset or is destroyed, and its user looks for it no more. */
void verb_cq_forget(struct ibv_cq *cq, uint32_t qp_num);

#endif
