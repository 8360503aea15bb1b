/* sidr.c - which queue pair for datagrams serves a service: asked and answered, without a connection (C-18) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "cm/conn.h"
#include "rc/path.h"

enum sidr_status { SIDR_VALID = 0, SIDR_NO_SERVICE = 1, SIDR_REJECTED = 2 };

/* An answer costs nothing to remember: one that was lost is given again when the question comes again. */
void cm_sidr_take_request(struct cm *cm, const struct cm_route *route)
{
	const struct cm_message *in = &cm->in;
	const struct cm_listener *listener = cm_listener_find(cm->config.listeners, in->service_id, route->source);
	struct cm_message *out = &cm->out;

	*out = (struct cm_message){
		.kind = CM_SIDR_REP,
		.transaction_id = in->transaction_id,
		.local_id = in->local_id,
		.service_id = in->service_id,
		.status = SIDR_NO_SERVICE,
	};
	if (!cm_ip_is_of(in, route) || !pkey_matches(CM_PKEY_DEFAULT, in->pkey)) {
		out->status = SIDR_REJECTED;
	} else if (listener && listener->datagram_qpn) {
		out->status = SIDR_VALID;
		out->qpn = listener->datagram_qpn;
		out->qkey = listener->datagram_qkey;
	}
	cm_send_out(cm, route, NULL);
}

int cm_resolve_service(struct cm *cm, const struct cm_connect *connect, uint64_t now_ns, uint32_t *connection)
{
	struct cm_conn *conn = cm_active_begin(cm, connect, now_ns);
	struct cm_message *out;

	if (conn == NULL)
		return connect->user.bytes > CM_USER_PRIVATE_BYTES ? -EINVAL : -ENOBUFS;
	conn->state = CM_SIDR_SENT;
	out = cm_begin(cm, conn, CM_SIDR_REQ);
	out->pkey = CM_PKEY_DEFAULT;
	out->service_id = connect->service_id;
	cm_active_set_private(out, connect);
	cm_send_out(cm, &conn->route, conn->mad);
	cm_await(cm, conn, now_ns);
	*connection = cm_table_index(&cm->table, conn);
	return 0;
}

/* It carries the request's id, and no other. */
void cm_sidr_take_reply(struct cm *cm, const struct cm_route *route, uint64_t now_ns)
{
	const struct cm_message *in = &cm->in;
	struct cm_conn *conn = cm_table_by_id(&cm->table, in->local_id);

	if (conn == NULL) {
		cm->counters[CM_CNT_DROP_UNKNOWN]++;
	} else if (!route_is_same(&conn->route, route) || in->transaction_id != conn->transaction_id) {
		cm->counters[CM_CNT_DROP_STRANGER]++;
	} else if (conn->state != CM_SIDR_SENT) {
		cm->counters[CM_CNT_DROP_STATE]++;
	} else {
		cm_raise(cm, conn, CM_EVENT_RESOLVED, in->status == SIDR_VALID ? 0 : -ECONNREFUSED, in);
		cm_close_end(cm, conn, now_ns);
	}
}
