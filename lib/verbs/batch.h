/* batch.h - requests that a program builds one by one with ibv_wr_start() and so on, and posts together */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_BATCH_H
#define VERBS_BATCH_H

#include "verbs/objects.h"

/*
 * Sets the functions in the queue pair's ibv_qp_ex for these operations (enum ibv_qp_create_send_ops_flags). Returns 0,
 * -EOPNOTSUPP if such a queue pair lacks one of the operations, or -ENOMEM.
 */
int verb_batch_create(struct verb_qp *qp, uint64_t operations);
void verb_batch_destroy(struct verb_qp *qp);

#endif
