/* need.h - for programs of test/verbs: ends them when a call fails, and connects queue pairs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_VERBS_NEED_H
#define TEST_VERBS_NEED_H

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program, with the name of what failed and errno, unless good. */
static inline void need(const char *what, bool good)
{
	if (good)
		return;
	printf("%s: %s\n", what, strerror(errno));
	exit(1);
}

/* Moves a queue pair in INIT to RTS, connected to a peer on the same port. */
static inline void need_connected(struct ibv_qp *qp, uint32_t peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } },
	};
	const int to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int to_rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			   IBV_QP_MAX_QP_RD_ATOMIC;

	need("ibv_query_gid", ibv_query_gid(qp->context, 1, 0, &attr.ah_attr.grh.dgid) == 0);
	need("to RTR", ibv_modify_qp(qp, &attr, to_rtr) == 0);
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	need("to RTS", ibv_modify_qp(qp, &attr, to_rts) == 0);
}

#endif
