/* passive.c - the passive side of a connection: takes the REQ, sends the user's answer, takes the RTU */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "cm/conn.h"
#include "cm/ip.h"
#include "cm/service.h"
#include "config/limits.h"
#include "rc/path.h"
#include "wire/packet.h"

#define TRANSPORT_RC 0u

/* ---- refusals ---- */

static void refuse(struct cm *cm, const struct cm_route *route, const struct cm_message *in, enum cm_reason reason,
		   const void *info, uint32_t info_bytes)
{
	struct cm_message out = {
		.kind = CM_REJ,
		.transaction_id = in->transaction_id,
		.remote_id = in->local_id,
		.answered = CM_ANSWERED_REQ,
		.reason = (uint16_t)reason,
		.info_bytes = (uint8_t)info_bytes,
	};

	if (info_bytes)
		memcpy(out.info, info, info_bytes);
	cm_send(cm, route, &out);
}

/* ---- judging a REQ ---- */

/*
 * Answers a REQ that has arrived before: with an MRA while the user is being asked, else with the same answer as
 * before, if there was one (C-11).
 */
static void answer_again(struct cm *cm, struct cm_conn *conn)
{
	uint8_t mad[CM_MAD_BYTES];

	cm->counters[CM_CNT_DUPLICATE_REQ]++;
	if (conn->stage.state == CM_REQ_RCVD) {
		cm_send_mra(cm, conn, CM_ANSWERED_REQ);
		cm_table_set_timer(&cm->table, conn, conn->wait.give_up_ns);
	} else if (conn->stage.state == CM_DREQ_SENT || conn->stage.state == CM_CLOSED) {
		if (cm_close_refusal(conn, mad))
			cm_send_again(cm, &conn->routes.send, mad);
	} else if (cm_mad_kind(conn->last.mad) == CM_REP) {
		cm_send_again(cm, &conn->routes.send, conn->last.mad);
	}
}

static struct cm_conn *find_again(const struct cm *cm, const struct cm_route *route, const struct cm_message *in)
{
	struct cm_conn *conn = NULL;

	while ((conn = cm_table_by_peer(&cm->table, route->dest, in->local_id, conn)) != NULL) {
		if (conn->sides.peer.qpn == in->qpn && route_is_same(&conn->routes.request, route))
			return conn;
	}
	return NULL;
}

/* Returns whether this REQ has arrived before; if so, it has been handled. */
static bool is_again(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint64_t now_ns)
{
	struct cm_conn *conn = find_again(cm, route, in);
	const struct cm_refusal *refusal;

	if (conn) {
		answer_again(cm, conn);
		return true;
	}
	refusal = cm_refusals_find(&cm->refusals, route, in->local_id, in->qpn, now_ns);
	if (refusal == NULL)
		return false;
	cm->counters[CM_CNT_DUPLICATE_REQ]++;
	if (cm_mad_kind(refusal->mad) == CM_REJ)
		cm_send_again(cm, route, refusal->mad);
	return true;
}

bool cm_ip_is_of(const struct cm_message *in, const struct cm_route *route)
{
	struct cm_ip ip;
	uint32_t skip;

	if (!cm_service_is_ip(in->service_id))
		return true;
	if (!cm_ip_find(in, &ip))
		return false;
	skip = ip.ip_version == 4 ? 12 : 0;
	return memcmp(ip.source + skip, route->dest + skip, 16 - skip) == 0 &&
	       memcmp(ip.dest + skip, route->source + skip, 16 - skip) == 0;
}

/* Returns 0, or the reason to refuse the REQ. */
static enum cm_reason judge(const struct cm_route *route, const struct cm_message *in)
{
	struct cm_ip ip;

	if (in->transport != TRANSPORT_RC)
		return CM_REJ_INVALID_TRANSPORT;
	if (in->local_id == 0 || in->qpn <= CM_QPN)
		return CM_REJ_NO_QP;
	/* We are in the default partition only, and no reason of a REJ is about partitions. */
	if (!pkey_matches(PKEY_DEFAULT, in->pkey))
		return CM_REJ_UNSUPPORTED;
	if (memcmp(in->primary.local_gid, route->dest, 16) != 0 ||
	    memcmp(in->primary.remote_gid, route->source, 16) != 0)
		return CM_REJ_INVALID_GID;
	if (cm_service_is_ip(in->service_id) && !cm_ip_find(in, &ip))
		return CM_REJ_CONSUMER;
	return cm_ip_is_of(in, route) ? (enum cm_reason)0 : CM_REJ_INVALID_GID;
}

/* Does this address already have as many connections with this id as a search for one of its requests may look at? */
static bool is_crowded(const struct cm *cm, const struct cm_route *route, const struct cm_message *in)
{
	const struct cm_conn *conn = NULL;
	uint32_t count = 0;

	while ((conn = cm_table_by_peer(&cm->table, route->dest, in->local_id, conn)) != NULL)
		count++;
	return count >= CM_SAME_MOST;
}

bool cm_passive_has_room(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint16_t source,
			 const struct cm_listener *listener)
{
	const struct share *half_open = &cm->half_open.pool;

	if (half_open->used == half_open->size)
		cm->counters[CM_CNT_DROP_HALF_OPEN]++;
	else if (!share_peers_allow(&cm->half_open, source, 1) || is_crowded(cm, route, in))
		cm->counters[CM_CNT_DROP_OF_ONE_PEER]++;
	else if (!cm_listener_has_room(cm->config.listeners, listener, route->dest))
		cm->counters[CM_CNT_DROP_BACKLOG]++;
	else
		return true;
	return false;
}

struct cm_conn *cm_passive_begin(struct cm *cm, const struct cm_route *route, const struct cm_message *in,
				 uint16_t source, struct cm_listener *listener, uint64_t now_ns)
{
	struct cm_conn *conn = cm_close_make_room(cm, source, now_ns);

	if (conn == NULL)
		return NULL;
	cm_user_knows(conn, listener->context, false, false);
	cm_routes_begin(conn, route);
	cm_table_name_peer(conn, in);
	cm_begin_pending(cm, conn, listener);
	cm_table_add_peer(&cm->table, conn);
	cm_await_user(cm, conn, now_ns);
	return conn;
}

static struct cm_conn *begin(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint16_t source,
			     struct cm_listener *listener, uint64_t now_ns)
{
	struct cm_route theirs = *route;
	struct cm_conn *conn;
	uint64_t peer_waits_ns;

	theirs.traffic_class = in->primary.traffic_class;
	conn = cm_passive_begin(cm, &theirs, in, source, listener, now_ns);
	if (conn == NULL)
		return NULL;
	cm_state_enter(conn, CM_REQ_RCVD);
	cm_alternate_take_path(conn, &in->alternate);
	cm_wait_agree(conn, in->local_response_timeout, in->max_cm_retries);
	cm_sides_take_req(conn, in);
	cm_table_add_qp(&cm->table, conn);
	/* Before the peer gives up, an MRA tells it that our user needs more time (C-12). */
	peer_waits_ns = cm_code_ns(in->remote_response_timeout) / 4 * 3;
	if (peer_waits_ns < cm->config.patience_ns)
		cm_table_set_timer(&cm->table, conn, now_ns + peer_waits_ns);
	return conn;
}

static uint8_t largest_mtu(const struct cm *cm, const struct cm_route *route, const struct cm_listener *listener)
{
	if (listener->path_mtu)
		return listener->path_mtu;
	return route->max_path_mtu ? route->max_path_mtu : cm->config.max_path_mtu;
}

void cm_passive_handle_req(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint64_t now_ns)
{
	struct cm_listener *listener;
	struct cm_conn *conn;
	enum cm_reason reason;
	uint16_t source;
	uint8_t mtu;

	if (is_again(cm, route, in, now_ns))
		return;
	reason = judge(route, in);
	if (reason) {
		refuse(cm, route, in, reason, reason == CM_REJ_INVALID_GID ? route->source : NULL,
		       reason == CM_REJ_INVALID_GID ? 16 : 0);
		return;
	}
	if (cm_timewait_has_peer(&cm->table.timewait, route->dest, in->local_id)) {
		cm->counters[CM_CNT_DROP_RESTING]++;
		refuse(cm, route, in, CM_REJ_STALE, NULL, 0);
		return;
	}
	conn = cm_find_by_qp(cm, route, in);
	if (conn) {
		cm_close_stale(cm, conn, now_ns);
		refuse(cm, route, in, CM_REJ_STALE, NULL, 0);
		return;
	}
	listener = cm_listener_find(cm->config.listeners, in->service_id, route->source);
	if (listener == NULL) { /* even if we call ourselves (C-15) */
		refuse(cm, route, in, CM_REJ_INVALID_SERVICE_ID, NULL, 0);
		return;
	}
	mtu = largest_mtu(cm, route, listener);
	if (in->path_mtu < 1 || in->path_mtu > mtu) {
		refuse(cm, route, in, CM_REJ_INVALID_MTU, &mtu, 1);
		return;
	}
	source = share_peer(cm->config.key, route->dest);
	if (!cm_passive_has_room(cm, route, in, source, listener))
		return;
	if (!cm_timewait_has_room(&cm->table.timewait, source)) {
		cm->counters[CM_CNT_DROP_RESTS]++;
		refuse(cm, route, in, CM_REJ_NO_RESOURCES, NULL, 0);
		return;
	}
	conn = begin(cm, route, in, source, listener, now_ns);
	if (conn == NULL) {
		cm->counters[CM_CNT_DROP_FULL]++;
		refuse(cm, route, in, CM_REJ_NO_RESOURCES, NULL, 0);
		return;
	}
	cm_raise(cm, conn, CM_EVENT_REQUEST, 0, in);
}

/* ---- the user's answer ---- */

void cm_passive_user_is_late(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	if (now_ns < conn->wait.give_up_ns) {
		cm_send_mra(cm, conn, CM_ANSWERED_REQ);
		cm_table_set_timer(&cm->table, conn, conn->wait.give_up_ns);
		return;
	}
	cm->counters[CM_CNT_TIMEOUTS]++;
	cm_close_send_rej(cm, conn, CM_REJ_TIMEOUT, CM_ANSWERED_REQ, NULL);
	cm_raise(cm, conn, CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
	cm_close_finish(cm, conn, now_ns);
}

/* Sends a REP with all that C-4 asks for. */
int cm_passive_accept(struct cm *cm, struct cm_conn *conn, const struct cm_accept *accept, uint64_t now_ns)
{
	struct cm_message out;

	if (!cm_private_fits(CM_REP, &accept->user))
		return -EINVAL;
	cm_user_knows(conn, accept->context, accept->user_moves, accept->tell_timewait);
	cm_sides_accept(conn, &accept->side);
	cm_no_more_pending(cm, conn);
	cm_state_enter(conn, CM_REP_SENT);
	out = cm_begin(conn, CM_REP);
	out.qpn = conn->sides.own.qpn;
	out.psn = conn->sides.own.psn;
	out.responder_resources = conn->sides.own.responder_resources;
	out.initiator_depth = conn->sides.own.initiator_depth;
	out.failover = accept->failover;
	out.flow_control = conn->sides.own.flow_control;
	out.rnr_retry_count = conn->sides.own.rnr_retry_count;
	out.srq = conn->sides.own.srq;
	out.ca_guid = cm->config.ca_guid;
	out.vendor_id = conn->sides.peer.ece ? CM_VENDOR_ID : 0; /* only to our own implementation (C-32) */
	out.ece_options = conn->sides.peer.ece;
	cm_set_private(&out, &accept->user);
	cm_send_kept(cm, conn, &out);
	cm_await(cm, conn, now_ns);
	return 0;
}

/* ---- RTU, and a first packet before it ---- */

void cm_passive_handle_rtu(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns)
{
	if (in && in->transaction_id != conn->ids.transaction_id) {
		cm->counters[CM_CNT_DROP_STRANGER]++;
		return;
	}
	cm_state_enter(conn, CM_RTU_RCVD);
	cm_table_set_timer(&cm->table, conn, CM_NEVER);
	cm_move_to_rts(cm, conn, in);
	if (conn->user.moves)
		cm_passive_moved(cm, conn, 0, now_ns);
}

void cm_passive_moved(struct cm *cm, struct cm_conn *conn, int error, uint64_t now_ns)
{
	cm_state_enter(conn, CM_ESTABLISHED);
	if (error) {
		cm_close_unmoved(cm, conn, error, now_ns);
		return;
	}
	cm_no_more_half_open(cm, conn);
	cm_raise(cm, conn, CM_EVENT_ESTABLISHED, 0, cm->moving);
}

void cm_passive_handle_rej(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns)
{
	cm_move(cm, conn, CM_MOVE_ERROR);
	cm_raise(cm, conn, CM_EVENT_REJECTED, -ECONNREFUSED, in);
	cm_close_finish(cm, conn, now_ns);
}
