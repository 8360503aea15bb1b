/* close.c - ends connections: DREQ and DREP, tries used up, peers that restarted, users that forget them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "cm/conn.h"
#include "config/limits.h"
#include "wire/bytes.h"

/* How long a packet of the connection may still arrive: twice the packet life time plus the peer's ACK delay (C-16). */
static uint64_t timewait_ns(const struct cm *cm, const struct cm_conn *conn)
{
	uint64_t wanted_ns = 2 * cm_code_ns(cm->config.packet_life) + cm_code_ns(conn->sides.own.ack_timeout);

	return wanted_ns < CM_REST_NS ? wanted_ns : CM_REST_NS;
}

/*
 * Writes the answer to a repeated REQ. If no REP was sent, the answer is a copy of the last message if that was a REJ.
 * If a REP was sent, the answer is a REJ in the user's name, whatever has ended the connection.
 */
bool cm_close_refusal(const struct cm_conn *conn, uint8_t mad[CM_MAD_BYTES])
{
	struct cm_message out = cm_begin(conn, CM_REJ);

	if (!conn->stage.replied) {
		memcpy(mad, conn->last.mad, CM_MAD_BYTES);
		return cm_mad_kind(mad) == CM_REJ;
	}
	out.answered = CM_ANSWERED_REQ;
	out.reason = CM_REJ_CONSUMER;
	cm_mad_build(&out, mad);
	return true;
}

static void keep_refusal(struct cm *cm, const struct cm_conn *conn, uint64_t now_ns)
{
	struct cm_refusal refusal = { .route = conn->routes.request,
				      .remote_id = conn->ids.remote_id,
				      .qpn = conn->sides.peer.qpn };

	cm_close_refusal(conn, refusal.mad);
	if (!cm_refusals_keep(&cm->refusals, &refusal, now_ns))
		cm->counters[CM_CNT_REFUSAL_FORGOTTEN]++;
}

/*
 * Frees a connection. If a peer has seen its ids and its QPN, they enter time-wait. If the connection was never
 * established, its answer is kept in case its REQ arrives again.
 */
static void free_conn(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	if (conn->pending.half_open || (conn->stage.passive && !conn->stage.replied))
		keep_refusal(cm, conn, now_ns);
	if (conn->end.timewait_until_ns > now_ns && (conn->stage.replied || !conn->stage.passive))
		cm_timewait_begin(&cm->table.timewait, conn->routes.request.dest, conn->end.holder, conn->ids.local_id,
				  conn->ids.remote_id, conn->end.timewait_until_ns);
	else
		cm_timewait_release(&cm->table.timewait, conn->end.holder);
	if (conn->end.evictable)
		TAILQ_REMOVE(&cm->ending, conn, end.with_ending);
	cm_no_more_half_open(cm, conn);
	cm_table_return(&cm->table, conn);
}

void cm_close_finish(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	cm_no_more_pending(cm, conn);
	cm_table_remove_qp(&cm->table, conn);
	cm_state_enter(conn, CM_CLOSED);
	if (conn->end.timewait_until_ns == 0)
		conn->end.timewait_until_ns = now_ns + timewait_ns(cm, conn);
	cm_table_set_timer(&cm->table, conn,
			   conn->user.tell_timewait && conn->end.told ? conn->end.timewait_until_ns : CM_NEVER);
	if (!conn->user.known)
		free_conn(cm, conn, now_ns);
}

static struct cm_message rej_of(const struct cm *cm, const struct cm_conn *conn, uint16_t reason, uint8_t answered,
				const struct cm_private *user)
{
	struct cm_message out = cm_begin(conn, CM_REJ);

	out.answered = answered;
	out.reason = reason;
	/* A REJ without the peer's id carries our own GUID instead (C-14). */
	if (conn->ids.remote_id == 0) {
		out.answered = CM_ANSWERED_NONE;
		out.info_bytes = sizeof(cm->config.ca_guid);
		store_be64(out.info, cm->config.ca_guid);
	}
	cm_set_private(&out, user);
	return out;
}

void cm_close_send_rej(struct cm *cm, struct cm_conn *conn, uint16_t reason, uint8_t answered,
		       const struct cm_private *user)
{
	const struct cm_message out = rej_of(cm, conn, reason, answered, user);

	cm_send_kept(cm, conn, &out);
}

static void raise_end(struct cm *cm, struct cm_conn *conn, int status, const struct cm_message *message)
{
	if (!conn->end.told)
		cm_raise(cm, conn, CM_EVENT_DISCONNECTED, status, message);
	conn->end.told = true;
}

/* ---- DREQ and DREP ---- */

static void send_dreq(struct cm *cm, struct cm_conn *conn, const struct cm_private *user)
{
	struct cm_message out = cm_begin(conn, CM_DREQ);

	out.transaction_id = cm_table_draw(&cm->table);
	out.qpn = conn->sides.peer.qpn;
	cm_set_private(&out, user);
	cm_send_kept(cm, conn, &out);
}

/*
 * Until the RTU arrives nobody here knows whether the peer has sent it. A peer that has sent it accepts a DREQ; a Linux
 * peer that has not accepts only a REJ (C-17). So the peer gets both messages: the one that does not fit its state
 * changes nothing there.
 */
int cm_disconnect(struct cm *cm, uint32_t connection, const struct cm_private *user, uint64_t now_ns)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);
	bool before_rtu = conn && conn->stage.state == CM_REP_SENT;
	struct cm_message rej;

	if (conn == NULL || (conn->stage.state != CM_ESTABLISHED && conn->stage.state != CM_REP_SENT &&
			     conn->stage.state != CM_RTU_RCVD))
		return -ENOTCONN;
	if (!cm_private_fits(CM_DREQ, user))
		return -EINVAL;
	cm_alternate_abandon(conn);
	cm_state_enter(conn, CM_DREQ_SENT);
	cm_move(cm, conn, CM_MOVE_ERROR);
	send_dreq(cm, conn, user);
	if (before_rtu) {
		rej = rej_of(cm, conn, CM_REJ_CONSUMER, CM_ANSWERED_REP, NULL);
		cm_send(cm, &conn->routes.send, &rej);
	}
	cm_await(cm, conn, now_ns);
	return 0;
}

void cm_close_answer_dreq(struct cm *cm, const struct cm_route *route, const struct cm_message *in)
{
	const struct cm_message out = {
		.kind = CM_DREP,
		.transaction_id = in->transaction_id,
		.local_id = in->remote_id,
		.remote_id = in->local_id,
	};

	cm_send(cm, route, &out);
}

void cm_close_handle_dreq(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns)
{
	bool closed = conn->stage.state == CM_CLOSED;

	cm_close_answer_dreq(cm, &conn->routes.send, in);
	if (closed)
		return;
	if (conn->stage.state != CM_DREQ_SENT)
		cm_move(cm, conn, CM_MOVE_ERROR);
	raise_end(cm, conn, 0, in);
	cm_close_finish(cm, conn, now_ns);
}

void cm_close_handle_drep(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns)
{
	raise_end(cm, conn, 0, in);
	cm_close_finish(cm, conn, now_ns);
}

/* ---- without an answer of the peer ---- */

void cm_close_stale(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	cm->counters[CM_CNT_STALE]++;
	cm_move(cm, conn, CM_MOVE_ERROR);
	send_dreq(cm, conn, NULL); /* sent once: the peer may still be alive */
	raise_end(cm, conn, -ECONNRESET, NULL);
	cm_close_finish(cm, conn, now_ns);
}

void cm_close_give_up(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	if (conn->stage.state == CM_SIDR_SENT) {
		cm_raise(cm, conn, CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
	} else if (conn->stage.state == CM_REQ_SENT || conn->stage.state == CM_REP_SENT) {
		if (conn->stage.state == CM_REP_SENT)
			cm_move(cm, conn, CM_MOVE_ERROR);
		cm_close_send_rej(cm, conn, CM_REJ_TIMEOUT, conn->stage.passive ? CM_ANSWERED_REP : CM_ANSWERED_REQ,
				  NULL);
		cm_raise(cm, conn, CM_EVENT_UNREACHABLE, -ETIMEDOUT, NULL);
	} else {
		raise_end(cm, conn, -ETIMEDOUT, NULL);
	}
	cm_close_finish(cm, conn, now_ns);
}

void cm_close_unmoved(struct cm *cm, struct cm_conn *conn, int error, uint64_t now_ns)
{
	cm_raise(cm, conn, CM_EVENT_UNREACHABLE, error, NULL);
	conn->end.told = true;
	cm_disconnect(cm, cm_table_index(&cm->table, conn), NULL, now_ns);
}

void cm_qp_died(struct cm *cm, uint32_t connection, uint64_t now_ns)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);

	if (conn == NULL || conn->stage.state != CM_ESTABLISHED)
		return;
	raise_end(cm, conn, -ECONNABORTED, NULL);
	cm_disconnect(cm, connection, NULL, now_ns);
}

struct cm_conn *cm_close_make_room(struct cm *cm, uint16_t holder, uint64_t now_ns)
{
	struct cm_conn *conn = cm_table_alloc(&cm->table, cm->config.id_mask, cm->config.id_low);

	if (conn == NULL && !TAILQ_EMPTY(&cm->ending)) {
		cm->counters[CM_CNT_END_UNHEARD]++;
		cm_close_finish(cm, TAILQ_FIRST(&cm->ending), now_ns);
		conn = cm_table_alloc(&cm->table, cm->config.id_mask, cm->config.id_low);
	}
	if (conn) {
		conn->end.holder = holder;
		cm_timewait_reserve(&cm->table.timewait, holder);
	}
	return conn;
}

void cm_forget(struct cm *cm, uint32_t connection, uint64_t now_ns)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);

	if (conn == NULL || !conn->user.known)
		return;
	switch ((enum cm_state)conn->stage.state) {
	case CM_REQ_SENT:
		cm_close_send_rej(cm, conn, CM_REJ_TIMEOUT, CM_ANSWERED_REQ, NULL);
		break;
	case CM_REP_RCVD:
		cm_close_send_rej(cm, conn, CM_REJ_CONSUMER, CM_ANSWERED_REP, NULL);
		break;
	case CM_REQ_RCVD:
		cm_close_send_rej(cm, conn, CM_REJ_CONSUMER, CM_ANSWERED_REQ, NULL);
		break;
	case CM_SIDR_RCVD:
		cm_send_again(cm, &conn->routes.send, conn->last.mad);
		break;
	case CM_REP_SENT:
	case CM_RTU_RCVD:
	case CM_ESTABLISHED:
		cm_disconnect(cm, connection, NULL, now_ns);
		break;
	case CM_FREE:
	case CM_SIDR_SENT:
	case CM_DREQ_SENT:
	case CM_CLOSED:
	case CM_STATES:
		break;
	}
	cm_user_forgets(conn);
	if (conn->stage.state == CM_DREQ_SENT) {
		conn->end.evictable = true;
		TAILQ_INSERT_TAIL(&cm->ending, conn, end.with_ending);
	} else {
		cm_close_finish(cm, conn, now_ns);
	}
}
