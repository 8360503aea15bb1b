/* alternate.c - LAP and APR: an alternate way for an established connection, loaded on both sides (C-20) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "cm/conn.h"

/* Status of an APR. */
enum { APR_LOADED = 0, APR_UNSUPPORTED = 2 };

int cm_load_alternate(struct cm *cm, uint32_t connection, const struct cm_way *way, uint64_t now_ns)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);
	struct cm_message *out;

	if (conn == NULL || conn->state != CM_ESTABLISHED)
		return -ENOTCONN;
	if (conn->lap_sent || conn->lap_came)
		return -EALREADY;
	conn->alternate = *way;
	conn->lap_sent = true;
	conn->lap_transaction_id = cm_table_draw(&cm->table);
	out = cm_begin(cm, conn, CM_LAP);
	out->transaction_id = conn->lap_transaction_id;
	out->qpn = conn->peer.qpn;
	out->remote_response_timeout = conn->response_timeout;
	out->alternate = *way;
	cm_send_out(cm, &conn->route, conn->lap);
	cm_await(cm, conn, now_ns);
	return 0;
}

/* One that came before gets its answer again; while that is not known, it has to wait. */
void cm_alternate_take_lap(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	const struct cm_message *in = &cm->in;

	(void)now_ns;
	if (conn->lap_sent || conn->lap_came) {
		cm->counters[CM_CNT_DROP_STATE]++;
		return;
	}
	if (cm_is_kept(conn->lap, CM_APR) && in->transaction_id == conn->lap_transaction_id) {
		cm->counters[CM_CNT_DUPLICATE_OTHER]++;
		cm_send_again(cm, &conn->route, conn->lap);
		return;
	}
	conn->lap_came = true;
	conn->lap_transaction_id = in->transaction_id;
	conn->alternate = in->alternate;
	conn->alternate.ack_timeout = cm_ack_timeout(in->alternate.ack_timeout);
	cm_move(cm, conn, CM_MOVE_ALTERNATE);
}

void cm_alternate_take_apr(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	const struct cm_message *in = &cm->in;

	(void)now_ns;
	if (!conn->lap_sent || in->transaction_id != conn->lap_transaction_id) {
		cm->counters[CM_CNT_DROP_STATE]++;
		return;
	}
	cm_table_set_timer(&cm->table, conn, CM_NEVER);
	if (in->status == APR_LOADED) {
		cm_move(cm, conn, CM_MOVE_ALTERNATE);
		return;
	}
	conn->lap_sent = false;
	cm_raise(cm, conn, CM_EVENT_ALTERNATE, in->status, in);
}

void cm_alternate_moved(struct cm *cm, struct cm_conn *conn, int error, uint64_t now_ns)
{
	struct cm_message *out;

	(void)now_ns;
	if (conn->lap_sent) {
		conn->lap_sent = false;
		cm_raise(cm, conn, CM_EVENT_ALTERNATE, error, NULL);
		return;
	}
	if (!conn->lap_came)
		return;
	conn->lap_came = false;
	out = cm_begin(cm, conn, CM_APR);
	out->transaction_id = conn->lap_transaction_id;
	out->status = error ? APR_UNSUPPORTED : APR_LOADED;
	cm_send_out(cm, &conn->route, conn->lap);
	if (error == 0)
		cm_raise(cm, conn, CM_EVENT_ALTERNATE, 0, NULL);
}

/* Linux does not answer over RoCE (C-21): the connection goes on with the way it has. */
void cm_alternate_give_up(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	(void)now_ns;
	conn->lap_sent = false;
	cm_table_set_timer(&cm->table, conn, CM_NEVER);
	cm_raise(cm, conn, CM_EVENT_ALTERNATE, -ETIMEDOUT, NULL);
}
