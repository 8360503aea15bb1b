/* active.c - the active side of a connection: sends the REQ, takes the answers, sends the RTU */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "cm/conn.h"
#include "cm/ip.h"
#include "wire/encap.h"
#include "wire/packet.h"

#define LID_OF_ROCE 0xFFFFu
#define HOP_LIMIT 64u
#define SERVICE_PORT 0xFFFFu

/* Writes the 36 bytes of IP addressing (C-5). An IPv4 address takes the last four of its sixteen bytes. */
static void set_ip(struct cm_message *message, const struct cm_route *route, uint16_t source_port)
{
	bool ipv4 = encap_addr_is_ipv4(route->dest);
	struct cm_ip ip = { .ip_version = ipv4 ? 4 : 6, .source_port = source_port };
	uint32_t skip = ipv4 ? 12 : 0;

	memcpy(ip.source + skip, route->source + skip, 16 - skip);
	memcpy(ip.dest + skip, route->dest + skip, 16 - skip);
	cm_ip_build(&ip, message->private_data);
}

static void set_path(struct cm_message *message, const struct cm_conn *conn, uint16_t source_port)
{
	struct cm_path *path = &message->primary;

	path->local_lid = path->remote_lid = LID_OF_ROCE;
	memcpy(path->local_gid, conn->routes.request.source, 16);
	memcpy(path->remote_gid, conn->routes.request.dest, 16);
	path->flow_label = (source_port * 31u + (uint32_t)(message->service_id & SERVICE_PORT)) & 0xFFFFF;
	path->traffic_class = conn->routes.request.traffic_class;
	path->hop_limit = HOP_LIMIT;
	path->ack_timeout = conn->sides.own.ack_timeout;
}

/* Fills in all fields of C-3. */
static struct cm_message req_of(const struct cm *cm, const struct cm_conn *conn, const struct cm_connect *connect)
{
	struct cm_message out = cm_begin(conn, CM_REQ);

	out.service_id = connect->service_id;
	out.ca_guid = cm->config.ca_guid;
	out.vendor_id = conn->sides.own.ece ? CM_VENDOR_ID : 0;
	out.ece_options = conn->sides.own.ece;
	out.qpn = conn->sides.own.qpn;
	out.psn = conn->sides.own.psn;
	out.responder_resources = conn->sides.own.responder_resources;
	out.initiator_depth = conn->sides.own.initiator_depth;
	out.remote_response_timeout = conn->wait.response_timeout;
	out.local_response_timeout = conn->wait.response_timeout;
	out.max_cm_retries = conn->wait.max_retries;
	out.flow_control = conn->sides.own.flow_control;
	out.srq = conn->sides.own.srq;
	out.retry_count = conn->sides.own.retry_count;
	out.rnr_retry_count = conn->sides.own.rnr_retry_count;
	out.pkey = PKEY_DEFAULT;
	out.path_mtu = conn->sides.own.path_mtu;
	set_path(&out, conn, connect->source_port);
	if (connect->alternate)
		out.alternate = *connect->alternate;
	cm_active_set_private(&out, connect);
	return out;
}

void cm_active_set_private(struct cm_message *out, const struct cm_connect *connect)
{
	set_ip(out, &connect->route, connect->source_port);
	if (connect->user.bytes)
		memcpy(out->private_data + CM_IP_BYTES, connect->user.data, connect->user.bytes);
	out->private_bytes = (uint8_t)(CM_IP_BYTES + connect->user.bytes);
}

int cm_active_begin(struct cm *cm, const struct cm_connect *connect, enum cm_kind kind, uint64_t now_ns,
		    struct cm_conn **result)
{
	struct cm_conn *conn = NULL;

	cm_timewait_wake(&cm->table.timewait, now_ns);
	if (connect->user.bytes + CM_IP_BYTES > cm_mad_private_bytes((uint8_t)kind))
		return -EINVAL;
	if (cm_timewait_has_room(&cm->table.timewait, CM_TIMEWAIT_OWN))
		conn = cm_close_make_room(cm, CM_TIMEWAIT_OWN, now_ns);
	if (conn == NULL)
		return -ENOBUFS;
	cm_user_knows(conn, connect->context, connect->user_moves, connect->tell_timewait);
	cm_routes_begin(conn, &connect->route);
	cm_sides_offer(conn, &connect->side);
	cm_wait_agree(conn, connect->response_timeout ? connect->response_timeout : cm->config.response_timeout,
		      connect->max_retries ? connect->max_retries : cm->config.max_retries);
	cm_table_new_transaction(&cm->table, conn);
	*result = conn;
	return 0;
}

int cm_connect(struct cm *cm, const struct cm_connect *connect, uint64_t now_ns, uint32_t *connection)
{
	struct cm_message out;
	struct cm_conn *conn;
	int error = cm_active_begin(cm, connect, CM_REQ, now_ns, &conn);

	if (error)
		return error;
	cm_state_enter(conn, CM_REQ_SENT);
	if (connect->alternate)
		cm_alternate_offer(conn, connect->alternate);
	out = req_of(cm, conn, connect);
	cm_send_kept(cm, conn, &out);
	cm_await(cm, conn, now_ns);
	*connection = cm_table_index(&cm->table, conn);
	return 0;
}

static bool rep_is_possible(const struct cm_conn *conn, const struct cm_message *in)
{
	return in->transaction_id == conn->ids.transaction_id && in->local_id != 0 && in->qpn > CM_QPN;
}

void cm_active_handle_rep(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns)
{
	struct cm_conn *old;

	if (!rep_is_possible(conn, in)) {
		cm->counters[CM_CNT_DROP_STRANGER]++;
		return;
	}
	old = cm_find_by_qp(cm, &conn->routes.request, in);
	if (old)
		cm_close_stale(cm, old, now_ns);
	cm_state_enter(conn, CM_REP_RCVD);
	cm_table_name_peer(conn, in);
	cm_sides_take_rep(conn, in);
	cm_table_add_qp(&cm->table, conn);
	cm_move_to_rts(cm, conn, in);
	if (conn->user.moves) {
		cm_await_user(cm, conn, now_ns);
		cm_raise(cm, conn, CM_EVENT_RESPONSE, 0, in);
	} else {
		cm_table_set_timer(&cm->table, conn, CM_NEVER);
	}
}

static void send_rtu(struct cm *cm, struct cm_conn *conn)
{
	const struct cm_message out = cm_begin(conn, CM_RTU);

	cm_state_enter(conn, CM_ESTABLISHED);
	cm_send_kept(cm, conn, &out);
}

void cm_active_moved(struct cm *cm, struct cm_conn *conn, int error, uint64_t now_ns)
{
	if (error) {
		cm_close_send_rej(cm, conn, CM_REJ_NO_RESOURCES, CM_ANSWERED_REP, NULL);
		cm_raise(cm, conn, CM_EVENT_UNREACHABLE, error, NULL);
		cm_close_finish(cm, conn, now_ns);
		return;
	}
	send_rtu(cm, conn);
	cm_raise(cm, conn, CM_EVENT_ESTABLISHED, 0, cm->moving);
}

/* ---- connections whose user moves the QP himself ---- */

int cm_establish(struct cm *cm, uint32_t connection)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);

	if (conn == NULL || conn->stage.state != CM_REP_RCVD || !conn->user.moves)
		return -ENOTCONN;
	cm_table_set_timer(&cm->table, conn, CM_NEVER);
	send_rtu(cm, conn);
	return 0;
}

void cm_active_remind(struct cm *cm, struct cm_conn *conn)
{
	cm->counters[CM_CNT_DUPLICATE_REP]++;
	if (conn->user.moves)
		cm_send_mra(cm, conn, CM_ANSWERED_REP);
}

void cm_active_user_is_late(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	cm->counters[CM_CNT_TIMEOUTS]++;
	cm_close_send_rej(cm, conn, CM_REJ_TIMEOUT, CM_ANSWERED_REP, NULL);
	cm_raise(cm, conn, CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
	cm_close_finish(cm, conn, now_ns);
}

/* ---- refusals ---- */

/* REJ 26 tells which path MTU the peer supports; the next REQ asks for that (C-6). */
static bool try_other_mtu(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns)
{
	uint8_t mtu = in->info[0];
	struct cm_message out;

	if (in->reason != CM_REJ_INVALID_MTU || conn->stage.state != CM_REQ_SENT || in->info_bytes < 1 || mtu < 1 ||
	    mtu >= conn->sides.own.path_mtu)
		return false;
	cm_sides_lower_mtu(conn, mtu);
	cm_table_new_transaction(&cm->table, conn);
	cm_mad_parse(conn->last.mad, CM_MAD_BYTES, &out); /* our REQ, parsed again */
	out.path_mtu = mtu;
	out.transaction_id = conn->ids.transaction_id;
	cm_send_kept(cm, conn, &out);
	cm_await(cm, conn, now_ns);
	return true;
}

void cm_active_handle_rej(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns)
{
	if (in->transaction_id != conn->ids.transaction_id && conn->stage.state == CM_REQ_SENT) {
		cm->counters[CM_CNT_DROP_STRANGER]++;
		return;
	}
	if (try_other_mtu(cm, conn, in, now_ns))
		return;
	cm_raise(cm, conn, CM_EVENT_REJECTED, -ECONNREFUSED, in);
	cm_close_finish(cm, conn, now_ns);
}
