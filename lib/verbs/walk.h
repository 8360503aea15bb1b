/* walk.h - completions that a program looks at one by one, with ibv_start_poll() and so on */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_WALK_H
#define VERBS_WALK_H

#include "verbs/objects.h"

/* Fields that an ibv_cq_ex may be asked for, and flags with which it may be created. */
#define VERB_WALK_READS                                                                                           \
	((uint64_t)IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_IMM | IBV_WC_EX_WITH_QP_NUM | IBV_WC_EX_WITH_SRC_QP | \
	 IBV_WC_EX_WITH_SLID | IBV_WC_EX_WITH_SL | IBV_WC_EX_WITH_DLID_PATH_BITS)
#define VERB_CQ_MASKS (IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)

/* Sets the functions of the queue that ibv_start_poll() and the calls after it use. */
void verb_walk_set_functions(struct ibv_cq_ex *cq);

#endif
