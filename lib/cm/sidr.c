/* sidr.c - asks and tells which queue pair for datagrams serves a service, without a connection (C-18) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "cm/conn.h"
#include "rc/path.h"
#include "wire/packet.h"

enum sidr_status { SIDR_VALID = 0, SIDR_NO_SERVICE = 1, SIDR_REJECTED = 2 };

/* ---- answering ---- */

static struct cm_message answer_to(const struct cm_message *in, enum sidr_status status)
{
	return (struct cm_message){
		.kind = CM_SIDR_REP,
		.transaction_id = in->transaction_id,
		.local_id = in->local_id,
		.service_id = in->service_id,
		.status = (uint8_t)status,
	};
}

static struct cm_conn *find_again(const struct cm *cm, const struct cm_route *route, const struct cm_message *in)
{
	struct cm_conn *conn = NULL;

	do {
		conn = cm_table_by_peer(&cm->table, route->dest, in->local_id, conn);
	} while (conn && (cm_mad_kind(conn->last.mad) != CM_SIDR_REP || !route_is_same(&conn->routes.request, route)));
	return conn;
}

/* Returns whether this question has arrived before; if so, it gets the same answer again, if there was one (C-11). */
static bool is_again(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint64_t now_ns)
{
	const struct cm_conn *conn = find_again(cm, route, in);
	const struct cm_refusal *kept = cm_refusals_find(&cm->refusals, route, in->local_id, 0, now_ns);

	if (conn == NULL && (kept == NULL || cm_mad_kind(kept->mad) != CM_SIDR_REP))
		return false;
	cm->counters[CM_CNT_DUPLICATE_REQ]++;
	if (conn == NULL)
		cm_send_again(cm, route, kept->mad);
	else if (conn->stage.state == CM_CLOSED)
		cm_send_again(cm, route, conn->last.mad);
	return true;
}

/* Asks the user. Until the user answers the connection keeps a refusal, which is sent if the user never answers. */
static void ask_user(struct cm *cm, const struct cm_route *route, const struct cm_message *in,
		     struct cm_listener *listener, uint64_t now_ns)
{
	uint16_t source = share_peer(cm->config.key, route->dest);
	struct cm_message out;
	struct cm_conn *conn;

	if (is_again(cm, route, in, now_ns) || !cm_passive_has_room(cm, route, in, source, listener))
		return;
	if (!cm_timewait_has_room(&cm->table.timewait, source)) {
		cm->counters[CM_CNT_DROP_RESTS]++;
		return;
	}
	conn = cm_passive_begin(cm, route, in, source, listener, now_ns);
	if (conn == NULL) {
		cm->counters[CM_CNT_DROP_FULL]++;
		return;
	}
	cm_state_enter(conn, CM_SIDR_RCVD);
	out = answer_to(in, SIDR_REJECTED);
	cm_keep(conn, &out);
	cm_raise(cm, conn, CM_EVENT_REQUEST, 0, in);
}

/*
 * Nothing is remembered for a question that needs no user: if the answer is lost, the peer repeats the question, and
 * the same answer is made again.
 */
void cm_sidr_handle_request(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint64_t now_ns)
{
	struct cm_listener *listener = cm_listener_find(cm->config.listeners, in->service_id, route->source);
	struct cm_message out;

	if (!cm_ip_is_of(in, route) || !pkey_matches(PKEY_DEFAULT, in->pkey)) {
		out = answer_to(in, SIDR_REJECTED);
	} else if (listener && listener->asks_user) {
		ask_user(cm, route, in, listener, now_ns);
		return;
	} else if (listener && listener->datagram_qpn) {
		out = answer_to(in, SIDR_VALID);
		out.qpn = listener->datagram_qpn;
		out.qkey = listener->datagram_qkey;
	} else {
		out = answer_to(in, SIDR_NO_SERVICE);
	}
	cm_send(cm, route, &out);
}

int cm_sidr_answer(struct cm *cm, struct cm_conn *conn, const struct cm_accept *accept, const struct cm_private *user,
		   uint64_t now_ns)
{
	struct cm_message out;

	if (!cm_private_fits(CM_SIDR_REP, user))
		return -EINVAL;
	cm_mad_parse(conn->last.mad, CM_MAD_BYTES, &out); /* our answer, parsed again */
	if (accept) {
		cm_user_knows(conn, accept->context, false, false);
		out.status = SIDR_VALID;
		out.qpn = accept->side.qpn;
		out.qkey = accept->qkey;
	}
	cm_set_private(&out, user);
	cm_send_kept(cm, conn, &out);
	/*
	 * The question is answered, so it is not half-open, and its user may keep the connection as long as he likes.
	 */
	cm_no_more_half_open(cm, conn);
	cm_close_finish(cm, conn, now_ns);
	return 0;
}

void cm_sidr_user_is_late(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	cm->counters[CM_CNT_TIMEOUTS]++;
	cm_send_again(cm, &conn->routes.send, conn->last.mad);
	cm_raise(cm, conn, CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
	cm_close_finish(cm, conn, now_ns);
}

/* ---- asking ---- */

int cm_resolve_service(struct cm *cm, const struct cm_connect *connect, uint64_t now_ns, uint32_t *connection)
{
	struct cm_message out;
	struct cm_conn *conn;
	int error = cm_active_begin(cm, connect, CM_SIDR_REQ, now_ns, &conn);

	if (error)
		return error;
	cm_state_enter(conn, CM_SIDR_SENT);
	out = cm_begin(conn, CM_SIDR_REQ);
	out.pkey = PKEY_DEFAULT;
	out.service_id = connect->service_id;
	cm_active_set_private(&out, connect);
	cm_send_kept(cm, conn, &out);
	cm_await(cm, conn, now_ns);
	*connection = cm_table_index(&cm->table, conn);
	return 0;
}

/* The answer carries the id of the request, and no other id. */
void cm_sidr_handle_reply(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint64_t now_ns)
{
	struct cm_conn *conn = cm_table_by_id(&cm->table, in->local_id);

	if (conn == NULL) {
		cm->counters[CM_CNT_DROP_UNKNOWN]++;
	} else if (!route_is_same(&conn->routes.request, route) || in->transaction_id != conn->ids.transaction_id) {
		cm->counters[CM_CNT_DROP_STRANGER]++;
	} else if (conn->stage.state != CM_SIDR_SENT) {
		cm->counters[CM_CNT_DROP_STATE]++;
	} else {
		cm_raise(cm, conn, CM_EVENT_RESOLVED, in->status == SIDR_VALID ? 0 : -ECONNREFUSED, in);
		cm_close_finish(cm, conn, now_ns);
	}
}
