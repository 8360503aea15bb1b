/* connect.c - asks for connections, accepts, refuses and ends them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdmacm/cma.h"
#include "verbs/stack.h"

/* 255 stands for as much as possible. */
static uint8_t at_most(uint8_t wanted, uint8_t limit)
{
	return wanted < limit ? wanted : limit;
}

static struct uroce_cm_options options_of(const struct cma_id *id, const struct rdma_conn_param *param)
{
	struct uroce_cm_options options = {
		.private_data = param->private_data,
		.private_bytes = param->private_data_len,
		.option_mask = UROCE_CM_OPTION_RETRY_CNT | UROCE_CM_OPTION_RNR_RETRY | UROCE_CM_OPTION_MAX_RD_ATOMIC |
			       UROCE_CM_OPTION_MAX_DEST_RD_ATOMIC,
		.retry_cnt = at_most(param->retry_count, 7),
		.rnr_retry = at_most(param->rnr_retry_count, 7),
		.max_rd_atomic = at_most(param->initiator_depth, STACK_RD_ATOMIC),
		.max_dest_rd_atomic = at_most(param->responder_resources, STACK_RD_ATOMIC),
		.traffic_class = id->tos,
		.timeout = id->ack_timeout,
		.flow_control = false, /* a queue pair that its user moves does not count credits */
		.qp_num = id->id.qp ? id->id.qp->qp_num : param->qp_num,
		.srq = id->id.qp ? id->id.qp->srq != NULL : param->srq != 0,
		/*
		 * a program that moves a queue pair by itself does not know of SACKs, but cma_move_qp() knows of them
		 */
		.no_sack = id->id.qp == NULL || cma_sack_window() == 0,
		.sack_window = cma_sack_window(),
		.paths = id->id.qp ? cma_paths() : 0,
		.timewait_event = true,
	};

	return options;
}

CMA_API int rdma_connect(struct rdma_cm_id *ours, struct rdma_conn_param *given)
{
	static const struct rdma_conn_param usual = {
		.responder_resources = RDMA_MAX_RESP_RES,
		.initiator_depth = RDMA_MAX_INIT_DEPTH,
		.retry_count = 7,
		.rnr_retry_count = 7,
	};
	struct cma_id *id = cma_id_of(ours);
	struct uroce_cm_options options = options_of(id, given ? given : &usual);
	uint16_t port = ntohs(rdma_get_dst_port(ours));
	int error;

	if (id->is_ud) {
		options.qp_num = 0;
		options.option_mask = 0;
	}
	error = uroce_cm_connect(id->cm, NULL, NULL, port, &options);
	return error ? cma_result(error) : cma_complete(id);
}

static int accept_datagrams(struct cma_id *id, const struct rdma_conn_param *param)
{
	struct uroce_cm_options options = {
		.private_data = param ? param->private_data : NULL,
		.private_bytes = param ? param->private_data_len : 0,
		.qp_num = id->id.qp ? id->id.qp->qp_num :
			  param     ? param->qp_num :
				      0,
		.qkey = UROCE_CM_UD_QKEY,
	};

	return uroce_cm_accept(id->cm, &options);
}

/* A request that cannot be accepted is refused, as by Linux, so that the client need not wait for an answer. */
static int reject_request(struct cma_id *id, int error)
{
	cma_fail_qp(id);
	uroce_cm_reject(id->cm, NULL, 0);
	return cma_result(error);
}

CMA_API int rdma_accept(struct rdma_cm_id *ours, struct rdma_conn_param *given)
{
	struct cma_id *id = cma_id_of(ours);
	struct rdma_conn_param param = given ? *given : id->asked;
	struct uroce_cm_options options;
	int error;

	if (id->is_ud) { /* no event follows */
		error = accept_datagrams(id, given);
		return error ? reject_request(id, error) : 0;
	}
	param.responder_resources =
		at_most(param.responder_resources, at_most(id->asked.responder_resources, STACK_RD_ATOMIC));
	param.initiator_depth = at_most(param.initiator_depth, at_most(id->asked.initiator_depth, STACK_RD_ATOMIC));
	options = options_of(id, &param);
	options.option_mask =
		UROCE_CM_OPTION_RNR_RETRY | UROCE_CM_OPTION_MAX_RD_ATOMIC | UROCE_CM_OPTION_MAX_DEST_RD_ATOMIC;
	options.retry_cnt = 0; /* the client's value counts */
	/*
	 * The queue pair is moved to RTS before the client hears that it is accepted: in RTR the client's first message
	 * would raise COMM_EST.
	 */
	if (ours->qp && (cma_move_qp(id, IBV_QPS_RTR, param.responder_resources) != 0 ||
			 cma_move_qp(id, IBV_QPS_RTS, param.initiator_depth) != 0))
		return reject_request(id, -errno);
	error = uroce_cm_accept(id->cm, &options);
	return error ? reject_request(id, error) : cma_complete(id);
}

CMA_API int rdma_reject(struct rdma_cm_id *ours, const void *private_data, uint8_t bytes)
{
	return cma_result(uroce_cm_reject(cma_id_of(ours)->cm, private_data, bytes));
}

CMA_API int rdma_reject_ece(struct rdma_cm_id *ours, const void *private_data, uint8_t bytes)
{
	return rdma_reject(ours, private_data, bytes);
}

CMA_API int rdma_establish(struct rdma_cm_id *ours)
{
	/* If the id has a queue pair, this library has established the connection when the peer accepted. */
	return ours->qp ? cma_result(-EINVAL) : cma_result(uroce_cm_establish(cma_id_of(ours)->cm));
}

CMA_API int rdma_notify(struct rdma_cm_id *ours, enum ibv_event_type event)
{
	if (event != IBV_EVENT_COMM_EST)
		return cma_result(-EINVAL);
	return cma_result(uroce_cm_notify(cma_id_of(ours)->cm));
}

CMA_API int rdma_disconnect(struct rdma_cm_id *ours)
{
	struct cma_id *id = cma_id_of(ours);
	int error;

	cma_fail_qp(id);
	error = uroce_cm_disconnect(id->cm);
	if (error == -ENOTCONN) /* the peer has ended the connection first */
		return 0;
	return error ? cma_result(error) : cma_complete(id);
}

/* ---- multicast ---- */

CMA_API int rdma_join_multicast(struct rdma_cm_id *ours, struct sockaddr *addr, void *context)
{
	(void)ours;
	(void)addr;
	(void)context;
	return cma_result(-EOPNOTSUPP);
}

CMA_API int rdma_join_multicast_ex(struct rdma_cm_id *ours, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
	(void)ours;
	(void)attr;
	(void)context;
	return cma_result(-EOPNOTSUPP);
}

CMA_API int rdma_leave_multicast(struct rdma_cm_id *ours, struct sockaddr *addr)
{
	(void)ours;
	(void)addr;
	return cma_result(-EOPNOTSUPP);
}
