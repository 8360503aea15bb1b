/* alternate.c - LAP and APR: load an alternate path on both sides of an established connection (C-20) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends may send a LAP at the same time, as ends do that rearm after a migration. Then the LAP of the active side
 * goes first: the active side refuses the passive side's LAP; the passive side loads the path that the active side's
 * LAP names, and takes this as the answer to its own LAP. A LAP is judged once. Its sender repeats it until it is
 * answered, and a copy gets the same answer, or none. An APR names the last LAP that the APR's sender has sent before,
 * because that sender's next LAP may overtake the APR. So both sides end with the same path, whatever is lost, repeated
 * or overtaken. A peer whose APRs name no LAP gets the same answers; with such a peer the sides agree unless an APR is
 * overtaken.
 */
#include <errno.h>

#include "cm/conn.h"
#include "wire/bytes.h"

/*
 * Status of an APR. The missing ones do not arise here. 4: uroce redirects no connection. 7, 13: over RoCE paths have
 * no LIDs, and the SL is not used. 9, 10: packets can have any flow label and any traffic class. 12: paths have no rate
 * of their own.
 */
enum {
	APR_LOADED = 0,
	APR_INSTANCE = 1, /* the connection is ending, or has ended */
	APR_UNSUPPORTED = 2,
	APR_REJECTED = 3,
	APR_CURRENT = 5,
	APR_QPN = 6,
	APR_GID = 8,
	APR_HOP_LIMIT = 11
};

static struct cm_path from_our_side(const struct cm_path *path)
{
	struct cm_path ours = *path;

	ours.local_lid = path->remote_lid;
	ours.remote_lid = path->local_lid;
	memcpy(ours.local_gid, path->remote_gid, sizeof(ours.local_gid));
	memcpy(ours.remote_gid, path->local_gid, sizeof(ours.remote_gid));
	ours.ack_timeout = cm_ack_timeout(path->ack_timeout);
	return ours;
}

void cm_alternate_take_path(struct cm_conn *conn, const struct cm_path *path)
{
	conn->lap.path = from_our_side(path);
}

void cm_alternate_offer(struct cm_conn *conn, const struct cm_path *path)
{
	conn->lap.path = *path;
}

/* ---- our LAP ---- */

static void send_lap(struct cm *cm, const struct cm_conn *conn)
{
	struct cm_message out = cm_begin(conn, CM_LAP);

	out.transaction_id = conn->lap.transaction_id;
	out.qpn = conn->sides.peer.qpn;
	out.remote_response_timeout = conn->wait.response_timeout;
	out.alternate = conn->lap.asked;
	cm_send(cm, &conn->routes.send, &out);
}

int cm_load_alternate(struct cm *cm, uint32_t connection, const struct cm_path *path, uint64_t now_ns)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);

	if (conn == NULL || conn->stage.state != CM_ESTABLISHED)
		return -ENOTCONN;
	if (conn->user.moves)
		return -EOPNOTSUPP;
	if (conn->lap.sent)
		return -EALREADY;
	conn->lap.sent = true;
	conn->lap.yields = conn->lap.met = false;
	conn->lap.asked = *path;
	conn->lap.transaction_id = cm_table_draw(&cm->table);
	send_lap(cm, conn);
	cm_await(cm, conn, now_ns);
	return 0;
}

void cm_alternate_try_again(struct cm *cm, const struct cm_conn *conn)
{
	if (conn->lap.yields)
		return;
	cm->counters[CM_CNT_RETRIES]++;
	send_lap(cm, conn);
}

static void finish(struct cm *cm, struct cm_conn *conn, int status, const struct cm_message *message)
{
	conn->lap.sent = conn->lap.yields = false;
	cm_table_set_timer(&cm->table, conn, CM_NEVER);
	cm_raise(cm, conn, CM_EVENT_ALTERNATE, status, message);
}

void cm_alternate_abandon(struct cm_conn *conn)
{
	conn->lap.sent = false;
}

static bool is_judged(const struct cm_conn *conn, uint64_t transaction_id)
{
	for (uint32_t i = 0; i < conn->lap.judged_count && i < CM_LAPS; i++) {
		if (conn->lap.judged[i] == transaction_id)
			return true;
	}
	return false;
}

/* The additional information in our APRs: where an APR stands among the LAPs of its sender. */
struct order {
	uint8_t vendor_id[3];
	uint8_t goes_first;        /* the answered LAP was refused because the LAP named below goes first */
	uint8_t transaction_id[8]; /* last LAP that the APR's sender sent before it judged the answered LAP; 0: none */
};

/* Returns NULL if the APR is of another implementation, or of an older version of this one. */
static const struct order *order_of(const struct cm_message *apr)
{
	const struct order *order = (const struct order *)(const void *)apr->info;

	return apr->info_bytes == sizeof(*order) && load_be24(order->vendor_id) == CM_VENDOR_ID ? order : NULL;
}

/*
 * The peer has refused our LAP because its own LAP goes first. If the peer's path was loaded after we sent our LAP, or
 * is loaded later, that answers our user's call. If we judged the peer's LAP before we sent ours, the peer has just not
 * received our APR yet, so our LAP is sent again with a new transaction id.
 */
static void yield(struct cm *cm, struct cm_conn *conn, uint64_t first, uint64_t now_ns)
{
	if (conn->lap.met) {
		finish(cm, conn, 0, NULL);
	} else if (is_judged(conn, first)) {
		conn->lap.transaction_id = cm_table_draw(&cm->table);
	} else {
		conn->lap.yields = true;
		cm_await(cm, conn, now_ns); /* waits as long as all tries of the peer take */
	}
}

/* Has the peer loaded our path and then asked for another path, with a LAP that has overtaken the peer's APR? */
static bool is_overtaken(const struct cm_conn *conn, const struct order *order)
{
	return conn->lap.met && order && load_be64(order->transaction_id) != conn->lap.loaded;
}

static void load_ours(struct cm *cm, struct cm_conn *conn)
{
	cm_table_set_timer(&cm->table, conn, CM_NEVER);
	conn->lap.path = conn->lap.asked;
	conn->lap.loading = CM_PATH_OURS;
	cm_move(cm, conn, CM_MOVE_ALTERNATE);
}

void cm_alternate_handle_apr(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns)
{
	const struct order *order = order_of(in);

	if (!conn->lap.sent || conn->lap.yields || in->transaction_id != conn->lap.transaction_id) {
		cm->counters[CM_CNT_DROP_STATE]++;
		return;
	}
	if (in->status == APR_LOADED && is_overtaken(conn, order))
		finish(cm, conn, 0, NULL);
	else if (in->status == APR_LOADED)
		load_ours(cm, conn);
	else if (conn->stage.passive && order && order->goes_first)
		yield(cm, conn, load_be64(order->transaction_id), now_ns);
	else
		finish(cm, conn, in->status, in);
}

/* Linux answers no LAP over RoCE (C-21): the connection goes on with the path that it has. */
void cm_alternate_give_up(struct cm *cm, struct cm_conn *conn)
{
	finish(cm, conn, -ETIMEDOUT, NULL);
}

/* ---- the peer's LAP ---- */

/* Sends the answer to the LAP that was judged last. */
static void send_apr(struct cm *cm, const struct cm_conn *conn)
{
	struct cm_message out = cm_begin(conn, CM_APR);
	struct order *order = (struct order *)(void *)out.info;

	out.transaction_id = conn->lap.judged[(conn->lap.judged_count - 1) % CM_LAPS];
	out.status = conn->lap.status;
	out.info_bytes = sizeof(*order);
	store_be24(order->vendor_id, CM_VENDOR_ID);
	order->goes_first = conn->lap.goes_first;
	store_be64(order->transaction_id, conn->lap.before);
	cm_send(cm, &conn->routes.send, &out);
}

static void judge(struct cm *cm, struct cm_conn *conn, uint8_t status, bool goes_first)
{
	conn->lap.judged[conn->lap.judged_count++ % CM_LAPS] = conn->lap.came;
	conn->lap.status = status;
	conn->lap.goes_first = goes_first;
	conn->lap.before = conn->lap.transaction_id;
	if (status == APR_LOADED) {
		conn->lap.loaded = conn->lap.came;
		conn->lap.met = true;
	}
	send_apr(cm, conn);
}

static bool is_newest(const struct cm_conn *conn, uint64_t transaction_id)
{
	return conn->lap.judged_count && conn->lap.judged[(conn->lap.judged_count - 1) % CM_LAPS] == transaction_id;
}

void cm_alternate_handle_lap(struct cm *cm, struct cm_conn *conn, const struct cm_message *in)
{
	if (is_judged(conn, in->transaction_id)) {
		cm->counters[CM_CNT_DUPLICATE_OTHER]++;
		if (is_newest(conn, in->transaction_id))
			send_apr(cm, conn);
		return;
	}
	conn->lap.came = in->transaction_id;
	if (conn->stage.state != CM_ESTABLISHED) {
		judge(cm, conn, APR_INSTANCE, false);
	} else if (in->qpn != conn->sides.own.qpn) {
		judge(cm, conn, APR_QPN, false);
	} else if (conn->lap.sent && !conn->stage.passive) {
		judge(cm, conn, APR_REJECTED, true);
	} else if (conn->user.moves) {
		judge(cm, conn, APR_UNSUPPORTED, false);
	} else {
		cm_alternate_take_path(conn, &in->alternate);
		conn->lap.loading = CM_PATH_PEERS;
		cm_move(cm, conn, CM_MOVE_ALTERNATE);
	}
}

static uint8_t status_of(int error)
{
	switch (error) {
	case 0:
		return APR_LOADED;
	case -EEXIST:
		return APR_CURRENT;
	case -EADDRNOTAVAIL:
	case -EAFNOSUPPORT:
	case -ENETUNREACH:
		return APR_GID;
	case -EHOSTUNREACH:
		return APR_HOP_LIMIT;
	case -EOPNOTSUPP:
		return APR_UNSUPPORTED;
	default:
		return APR_REJECTED;
	}
}

/*
 * The peer's path has been loaded, or loading it has failed. If our own LAP yields to the peer's, this also answers our
 * user's call; otherwise our LAP gets its own APR.
 */
static void peers_is_loaded(struct cm *cm, struct cm_conn *conn, int error)
{
	judge(cm, conn, status_of(error), false);
	if (conn->lap.sent && conn->lap.yields)
		finish(cm, conn, error, NULL);
	else if (!conn->lap.sent && error == 0)
		cm_raise(cm, conn, CM_EVENT_ALTERNATE, 0, NULL);
}

void cm_alternate_moved(struct cm *cm, struct cm_conn *conn, int error)
{
	uint8_t loading = conn->lap.loading;

	conn->lap.loading = CM_PATH_NONE;
	if (loading == CM_PATH_OURS)
		finish(cm, conn, error, NULL);
	else if (loading == CM_PATH_PEERS)
		peers_is_loaded(cm, conn, error);
}
