/* batch.h - requests that ibv_wr_start() and so on build one by one and post together */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_BATCH_H
#define VERBS_BATCH_H

#include "verbs/objects.h"

/*
 * Gives the queue pair's ibv_qp_ex the functions of these operations (enum ibv_qp_create_send_ops_flags). 0;
 * -EOPNOTSUPP: there is one that its kind does not have; -ENOMEM.
 */
int verb_batch_create(struct verb_qp *qp, uint64_t operations);
void verb_batch_destroy(struct verb_qp *qp);

#endif
