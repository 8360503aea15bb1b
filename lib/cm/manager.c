/* manager.c - finds a message's connection, and handles the message by the table of states */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include "cm/conn.h"
#include "share/hash.h"
#include "cm/memory.h"

const struct cm_counter_row cm_counter_rows[CM_COUNTERS] = {
#define CM_COUNTER(symbol, text, words) [CM_CNT_##symbol] = { .name = text, .sentence = words },
#include "cm/counters.def"
#undef CM_COUNTER
};

/* What a connection does with a message in a state (C-8). DROP is 0: everything that is not in the table. */
enum reaction {
	DROP,
	IGNORE, /* a late copy: nothing is to be done */
	TAKE_REP,
	REPEAT, /* answers with the last message once more */
	REPEAT_RTU,
	REMIND, /* tells the peer that our user is still moving his QP */
	TAKE_RTU,
	TAKE_REJ,
	END_BY_REJ,
	TAKE_MRA,
	TAKE_DREQ,
	TAKE_DREP,
	TAKE_LAP,
	TAKE_APR
};

#define ROW(kind) [kind - CM_KIND_FIRST]

/* REQs are not in the table: cm_passive_handle_req() judges them, because most belong to no connection yet. */
static const uint8_t reactions[CM_STATES][CM_KIND_LAST - CM_KIND_FIRST + 1] = {
	[CM_REQ_SENT] = { ROW(CM_REP) = TAKE_REP, ROW(CM_REJ) = TAKE_REJ, ROW(CM_MRA) = TAKE_MRA },
	[CM_REP_RCVD] = { ROW(CM_REP) = REMIND, ROW(CM_REJ) = TAKE_REJ },
	[CM_REQ_RCVD] = { ROW(CM_REJ) = TAKE_REJ },
	[CM_REP_SENT] = { ROW(CM_RTU) = TAKE_RTU, ROW(CM_REJ) = TAKE_REJ, ROW(CM_MRA) = TAKE_MRA,
			  ROW(CM_DREQ) = TAKE_DREQ },
	[CM_RTU_RCVD] = { ROW(CM_RTU) = IGNORE, ROW(CM_DREQ) = TAKE_DREQ },
	[CM_ESTABLISHED] = { ROW(CM_REP) = REPEAT_RTU, ROW(CM_RTU) = IGNORE, ROW(CM_REJ) = END_BY_REJ,
			     ROW(CM_DREQ) = TAKE_DREQ, ROW(CM_LAP) = TAKE_LAP, ROW(CM_APR) = TAKE_APR,
			     ROW(CM_MRA) = TAKE_MRA },
	[CM_DREQ_SENT] = { ROW(CM_REP) = IGNORE, ROW(CM_RTU) = IGNORE, ROW(CM_REJ) = TAKE_DREP,
			   ROW(CM_DREQ) = TAKE_DREQ, ROW(CM_DREP) = TAKE_DREP, ROW(CM_LAP) = TAKE_LAP,
			   ROW(CM_APR) = IGNORE },
	[CM_CLOSED] = { ROW(CM_REP) = REPEAT, ROW(CM_RTU) = IGNORE, ROW(CM_REJ) = IGNORE, ROW(CM_DREQ) = TAKE_DREQ,
			ROW(CM_DREP) = IGNORE, ROW(CM_LAP) = TAKE_LAP },
};

/* ---- creating a manager ---- */

uint64_t cm_bytes(const struct cm_config *config)
{
	return memory_lines(sizeof(struct cm)) + cm_table_bytes(config) + cm_refusals_bytes(config->refusals);
}

struct cm *cm_init(void *memory, const struct cm_config *config)
{
	struct cm *cm = memory;
	uint8_t *at = (uint8_t *)memory + memory_lines(sizeof(*cm));

	cm->config = *config;
	cm_config_complete(&cm->config);
	cm_table_init(&cm->table, &at, config);
	cm_refusals_init(&cm->refusals, &at, config->refusals, config->key);
	share_peers_init(&cm->half_open, config->half_open);
	TAILQ_INIT(&cm->ending);
	return cm;
}

/* ---- receiving ---- */

uint32_t cm_owner(const uint8_t key[16], uint32_t mask, const uint8_t source[16], const uint8_t mad[CM_MAD_BYTES])
{
	uint8_t kind = cm_mad_kind(mad);
	uint32_t remote_id = cm_mad_remote_id(mad);

	if (mask == 0)
		return 0;
	if (kind == CM_SIDR_REP)
		return cm_mad_local_id(mad) & mask;
	if (kind != CM_REQ && kind != CM_SIDR_REQ && remote_id != 0)
		return remote_id & mask;
	if (kind == CM_REJ) /* its sender may not know our id */
		return CM_NONE;
	/*
	 * The hash of address and QPN, so that a repeated REQ, and the REQ of a peer that has restarted, reach the same
	 * manager as the first REQ.
	 */
	return (uint32_t)share_hash_peer(key, source, cm_mad_sender_qpn(mad)) & mask;
}

/* Finds the connection of a REJ 4, whose sender has had no answer and so names itself by its GUID and its id (C-14). */
static struct cm_conn *find_timed_out(struct cm *cm, const struct cm_route *route, const struct cm_message *in)
{
	struct cm_conn *conn = NULL;
	uint64_t guid = 0;

	if (in->kind != CM_REJ || in->reason != CM_REJ_TIMEOUT || in->info_bytes < sizeof(guid))
		return NULL;
	for (size_t i = 0; i < sizeof(guid); i++)
		guid = guid << 8 | in->info[i];
	while ((conn = cm_table_by_peer(&cm->table, route->dest, in->local_id, conn)) != NULL) {
		if (conn->ids.peer_guid == guid)
			return conn;
	}
	return NULL;
}

/*
 * Do the ids in a message belong to the connection? While our REQ waits for an answer the peer's id is not known yet,
 * and a REJ may leave it out. If a REJ without the peer's id arrives later, it answers a copy of the REQ and was
 * overtaken by the REP, or somebody guesses ids.
 */
static bool ids_fit(const struct cm_conn *conn, const struct cm_message *in)
{
	bool first = conn->stage.state == CM_REQ_SENT || (!conn->stage.passive && conn->ids.remote_id == 0);

	if (in->kind == CM_DREQ && in->qpn != conn->sides.own.qpn)
		return false;
	return first || in->local_id == conn->ids.remote_id;
}

/* An MRA or REJ must be about the message of ours that waits for an answer. */
static bool is_about_what_waits(const struct cm_conn *conn, const struct cm_message *in)
{
	if (in->kind != CM_MRA)
		return true;
	if (conn->stage.state == CM_ESTABLISHED)
		return conn->lap.sent && !conn->lap.yields && in->answered == CM_ANSWERED_LAP;
	return in->answered == (conn->stage.passive ? CM_ANSWERED_REP : CM_ANSWERED_REQ);
}

static void react(struct cm *cm, struct cm_conn *conn, const struct cm_message *in, uint64_t now_ns)
{
	switch ((enum reaction)reactions[conn->stage.state][in->kind - CM_KIND_FIRST]) {
	case DROP:
		cm->counters[CM_CNT_DROP_STATE]++;
		break;
	case IGNORE:
		cm->counters[CM_CNT_DUPLICATE_OTHER]++;
		break;
	case TAKE_REP:
		cm_active_handle_rep(cm, conn, in, now_ns);
		break;
	case REPEAT_RTU:
		if (conn->stage.passive) {
			cm->counters[CM_CNT_DROP_STATE]++;
			break;
		}
		/* fall through */
	case REPEAT:
		cm->counters[CM_CNT_DUPLICATE_REP]++;
		if (cm_mad_kind(conn->last.mad) == CM_RTU || cm_mad_kind(conn->last.mad) == CM_REJ)
			cm_send_again(cm, &conn->routes.send, conn->last.mad);
		break;
	case REMIND:
		cm_active_remind(cm, conn);
		break;
	case TAKE_RTU:
		cm_passive_handle_rtu(cm, conn, in, now_ns);
		break;
	case TAKE_REJ:
		if (conn->stage.passive)
			cm_passive_handle_rej(cm, conn, in, now_ns);
		else
			cm_active_handle_rej(cm, conn, in, now_ns);
		break;
	case END_BY_REJ:
		cm_close_stale(cm, conn, now_ns);
		break;
	case TAKE_MRA:
		cm_wait_handle_mra(cm, conn, in, now_ns);
		break;
	case TAKE_DREQ:
		cm_close_handle_dreq(cm, conn, in, now_ns);
		break;
	case TAKE_DREP:
		cm_close_handle_drep(cm, conn, in, now_ns);
		break;
	case TAKE_LAP:
		cm_alternate_handle_lap(cm, conn, in);
		break;
	case TAKE_APR:
		cm_alternate_handle_apr(cm, conn, in, now_ns);
		break;
	}
}

/* Takes a message of a connection: its sender must have the peer's address, and its ids must fit (C-23). */
static void receive_answer(struct cm *cm, const struct cm_route *route, const struct cm_message *in, uint64_t now_ns)
{
	struct cm_conn *conn =
		in->remote_id ? cm_table_by_id(&cm->table, in->remote_id) : find_timed_out(cm, route, in);

	if (conn == NULL && in->kind == CM_DREQ) {
		cm->counters[CM_CNT_UNKNOWN_DREQ]++;
		cm_close_answer_dreq(cm, route, in);
	} else if (conn == NULL) {
		cm->counters[CM_CNT_DROP_UNKNOWN]++;
	} else if (!cm_came_from_peer(conn, route) || !ids_fit(conn, in)) {
		cm->counters[CM_CNT_DROP_STRANGER]++;
	} else if (!is_about_what_waits(conn, in)) {
		cm->counters[CM_CNT_DROP_STATE]++;
	} else {
		/*
		 * Answers are sent along the path that the peer uses now, because a path that it has stopped using may
		 * be broken.
		 */
		cm_routes_follow(conn, route);
		react(cm, conn, in, now_ns);
	}
}

/* A REQ of a version that we do not support may be answered (U-2). */
static void refuse_version(struct cm *cm, const struct cm_route *route, const struct cm_message *in)
{
	const struct cm_message out = {
		.kind = CM_REJ,
		.transaction_id = in->transaction_id,
		.remote_id = in->local_id,
		.answered = CM_ANSWERED_REQ,
		.reason = CM_REJ_CLASS_VERSION,
	};

	cm_send(cm, route, &out);
}

void cm_receive(struct cm *cm, const struct cm_route *route, const uint8_t *mad, uint32_t bytes, uint64_t now_ns)
{
	enum cm_mad_fault fault = cm_mad_parse(mad, bytes, &cm->in);
	const struct cm_message *in = &cm->in;

	cm_timewait_wake(&cm->table.timewait, now_ns);
	if (fault != CM_MAD_OK) {
		cm->counters[CM_CNT_DROP_MALFORMED]++;
		if (fault == CM_MAD_CLASS_VERSION && in->kind == CM_REQ)
			refuse_version(cm, route, in);
		return;
	}
	cm->received[in->kind - CM_KIND_FIRST]++;
	if (in->kind == CM_REQ)
		cm_passive_handle_req(cm, route, in, now_ns);
	else if (in->kind == CM_SIDR_REQ)
		cm_sidr_handle_request(cm, route, in, now_ns);
	else if (in->kind == CM_SIDR_REP)
		cm_sidr_handle_reply(cm, route, in, now_ns);
	else
		receive_answer(cm, route, in, now_ns);
}

/* ---- time-outs ---- */

uint64_t cm_deadline(const struct cm *cm)
{
	return cm_table_deadline(&cm->table);
}

static void try_again(struct cm *cm, const struct cm_conn *conn)
{
	if (conn->lap.sent) {
		cm_alternate_try_again(cm, conn);
		return;
	}
	cm->counters[CM_CNT_RETRIES]++;
	cm_send_again(cm, &conn->routes.send, conn->last.mad);
}

/*
 * Handles a timer of a connection that waits for our user or for the end of a time-wait. false: it waits for the peer.
 */
static bool time_out_of_user(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	if (conn->stage.state == CM_REQ_RCVD) {
		cm_passive_user_is_late(cm, conn, now_ns);
	} else if (conn->stage.state == CM_REP_RCVD) {
		cm_active_user_is_late(cm, conn, now_ns);
	} else if (conn->stage.state == CM_SIDR_RCVD) {
		cm_sidr_user_is_late(cm, conn, now_ns);
	} else if (conn->stage.state == CM_CLOSED) {
		cm_table_set_timer(&cm->table, conn, CM_NEVER);
		cm_raise(cm, conn, CM_EVENT_RESTED, 0, NULL);
	} else {
		return false;
	}
	return true;
}

static void time_out(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	if (time_out_of_user(cm, conn, now_ns))
		return;
	if (cm_wait_take_try(cm, conn, now_ns)) {
		try_again(cm, conn);
		return;
	}
	cm->counters[CM_CNT_TIMEOUTS]++;
	if (conn->lap.sent)
		cm_alternate_give_up(cm, conn);
	else
		cm_close_give_up(cm, conn, now_ns);
}

/* Handles one connection a call: the host carries out the actions, and asks for the deadline again. */
void cm_timeout(struct cm *cm, uint64_t now_ns)
{
	struct cm_conn *conn;

	cm_timewait_wake(&cm->table.timewait, now_ns);
	conn = cm_table_due(&cm->table, now_ns);
	if (conn)
		time_out(cm, conn, now_ns);
}

/* ---- calls about any connection ---- */

void cm_qp_moved(struct cm *cm, uint32_t connection, enum cm_move move, int error, uint64_t now_ns)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);

	if (conn == NULL || move == CM_MOVE_ERROR)
		return;
	if (move == CM_MOVE_ALTERNATE)
		cm_alternate_moved(cm, conn, error);
	else if (conn->stage.state == CM_REP_RCVD)
		cm_active_moved(cm, conn, error, now_ns);
	else if (conn->stage.state == CM_RTU_RCVD)
		cm_passive_moved(cm, conn, error, now_ns);
}

void cm_packet_came(struct cm *cm, uint32_t connection, uint64_t now_ns)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);

	if (conn && conn->stage.state == CM_REP_SENT)
		cm_passive_handle_rtu(cm, conn, NULL, now_ns);
}

/* ---- the user's answers ---- */

/* Finds the connection if its peer waits for the user's answer. NULL: the peer does not wait any more. */
static struct cm_conn *find_asking(const struct cm *cm, uint32_t connection)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);

	return conn && (conn->stage.state == CM_REQ_RCVD || conn->stage.state == CM_SIDR_RCVD) ? conn : NULL;
}

bool cm_is_asking(const struct cm *cm, uint32_t connection)
{
	return find_asking(cm, connection) != NULL;
}

void cm_propose(struct cm *cm, uint32_t connection, const struct cm_side *side)
{
	struct cm_conn *conn = find_asking(cm, connection);

	if (conn)
		cm_sides_propose(conn, side);
}

int cm_accept(struct cm *cm, uint32_t connection, const struct cm_accept *accept, uint64_t now_ns)
{
	struct cm_conn *conn = find_asking(cm, connection);

	if (conn == NULL)
		return -ENOTCONN;
	if (conn->stage.state == CM_SIDR_RCVD)
		return cm_sidr_answer(cm, conn, accept, &accept->user, now_ns);
	return cm_passive_accept(cm, conn, accept, now_ns);
}

int cm_reject(struct cm *cm, uint32_t connection, uint16_t reason, const struct cm_private *user, uint64_t now_ns)
{
	struct cm_conn *conn = cm_table_at(&cm->table, connection);

	if (conn == NULL || (find_asking(cm, connection) == NULL && conn->stage.state != CM_REP_RCVD))
		return -ENOTCONN;
	if (conn->stage.state == CM_SIDR_RCVD)
		return cm_sidr_answer(cm, conn, NULL, user, now_ns);
	if (!cm_private_fits(CM_REJ, user))
		return -EINVAL;
	cm_close_send_rej(cm, conn, reason, conn->stage.passive ? CM_ANSWERED_REQ : CM_ANSWERED_REP, user);
	cm_close_finish(cm, conn, now_ns);
	return 0;
}

/* ---- reading the state ---- */

const struct cm_side *cm_peer(const struct cm *cm, uint32_t connection)
{
	return &cm->table.conns[connection].sides.peer;
}

const struct cm_side *cm_own(const struct cm *cm, uint32_t connection)
{
	return &cm->table.conns[connection].sides.own;
}

const struct cm_route *cm_route_of(const struct cm *cm, uint32_t connection)
{
	return &cm->table.conns[connection].routes.request;
}

const struct cm_path *cm_alternate(const struct cm *cm, uint32_t connection)
{
	return &cm->table.conns[connection].lap.path;
}

uint64_t cm_count(const struct cm *cm, enum cm_counter counter)
{
	return cm->counters[counter];
}

uint64_t cm_count_sent(const struct cm *cm, enum cm_kind kind)
{
	return cm->sent[kind - CM_KIND_FIRST];
}

uint64_t cm_count_received(const struct cm *cm, enum cm_kind kind)
{
	return cm->received[kind - CM_KIND_FIRST];
}

uint64_t cm_count_rejects(const struct cm *cm, uint16_t reason)
{
	return cm->rejects[reason % 64];
}

void cm_usage(struct cm *cm, struct cm_usage *usage, uint64_t now_ns)
{
	cm_timewait_wake(&cm->table.timewait, now_ns);
	*usage = (struct cm_usage){
		.connections = cm->table.used,
		.half_open = cm->half_open.pool.used,
		.timewait_ids = cm->table.timewait.until.count,
		.timers = cm->table.timers.count,
	};
}
