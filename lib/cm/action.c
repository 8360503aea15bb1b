/* action.c - makes actions for the host and messages for the peer, and says how long an answer is waited for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/conn.h"
#include "config/limits.h"

/* ---- actions and messages ---- */

struct cm_action *cm_add_action(struct cm *cm, enum cm_action_kind kind, const struct cm_conn *conn)
{
	struct cm_action *action = &cm->actions[cm->action_tail++ % CM_ACTIONS];

	action->kind = kind;
	action->connection = conn ? cm_table_index(&cm->table, conn) : CM_NONE;
	action->context = conn ? conn->user.context : 0;
	return action;
}

bool cm_pop_action(struct cm *cm, struct cm_action *action)
{
	if (cm->action_head == cm->action_tail)
		return false;
	*action = cm->actions[cm->action_head++ % CM_ACTIONS];
	return true;
}

void cm_raise(struct cm *cm, struct cm_conn *conn, enum cm_event event, int status, const struct cm_message *message)
{
	struct cm_action *action;

	if (!conn->user.known)
		return;
	action = cm_add_action(cm, CM_EVENT, conn);
	action->event = event;
	action->status = status;
	action->message = message;
}

void cm_move(struct cm *cm, struct cm_conn *conn, enum cm_move move)
{
	if (conn->user.known && !conn->user.moves)
		cm_add_action(cm, CM_MOVE, conn)->move = move;
}

struct cm_message cm_begin(const struct cm_conn *conn, enum cm_kind kind)
{
	return (struct cm_message){
		.kind = (uint8_t)kind,
		.transaction_id = conn->ids.transaction_id,
		.local_id = conn->ids.local_id,
		.remote_id = conn->ids.remote_id,
	};
}

bool cm_private_fits(enum cm_kind kind, const struct cm_private *user)
{
	return user == NULL || user->bytes <= cm_mad_private_bytes((uint8_t)kind);
}

void cm_set_private(struct cm_message *message, const struct cm_private *user)
{
	if (user && user->bytes) {
		memcpy(message->private_data, user->data, user->bytes);
		message->private_bytes = (uint8_t)user->bytes;
	}
}

static const uint8_t *add_send(struct cm *cm, const struct cm_route *route, const struct cm_message *out)
{
	struct cm_action *action = cm_add_action(cm, CM_SEND, NULL);

	cm_mad_build(out, action->mad);
	action->route = *route;
	cm->sent[out->kind - CM_KIND_FIRST]++;
	if (out->kind == CM_REJ)
		cm->rejects[out->reason % 64]++;
	return action->mad;
}

void cm_send(struct cm *cm, const struct cm_route *route, const struct cm_message *out)
{
	add_send(cm, route, out);
}

void cm_send_kept(struct cm *cm, struct cm_conn *conn, const struct cm_message *out)
{
	memcpy(conn->last.mad, add_send(cm, &conn->routes.send, out), CM_MAD_BYTES);
}

void cm_keep(struct cm_conn *conn, const struct cm_message *out)
{
	cm_mad_build(out, conn->last.mad);
}

void cm_send_again(struct cm *cm, const struct cm_route *route, const uint8_t *kept)
{
	struct cm_action *action = cm_add_action(cm, CM_SEND, NULL);

	memcpy(action->mad, kept, CM_MAD_BYTES);
	action->route = *route;
	cm->sent[cm_mad_kind(kept) - CM_KIND_FIRST]++;
}

/* ---- times ---- */

uint64_t cm_code_ns(uint8_t code)
{
	return 4096ull << (code & 31);
}

/* The smallest code whose time is at least ns. */
static uint8_t code_of(uint64_t ns)
{
	uint8_t code = 0;

	while (code < 31 && cm_code_ns(code) < ns)
		code++;
	return code;
}

static uint8_t at_most(uint8_t code, uint8_t limit)
{
	return code < limit ? code : limit;
}

uint8_t cm_ack_timeout(uint8_t code)
{
	return code ? at_most(code, CM_ACK_TIMEOUT_MAX) : CM_ACK_TIMEOUT_MAX;
}

void cm_send_mra(struct cm *cm, const struct cm_conn *conn, enum cm_answered answered)
{
	struct cm_message out = cm_begin(conn, CM_MRA);

	out.answered = (uint8_t)answered;
	out.service_timeout = code_of(cm->config.patience_ns);
	cm_send(cm, &conn->routes.send, &out);
}

uint64_t cm_wait_ns(const struct cm *cm, const struct cm_conn *conn)
{
	uint8_t code = at_most(conn->wait.response_timeout, CM_RESPONSE_TIMEOUT_MAX);

	return cm_code_ns(code) + 2 * cm_code_ns(cm->config.packet_life);
}

void cm_wait_until(struct cm *cm, const struct cm_conn *conn, uint64_t until_ns)
{
	cm_table_set_timer(&cm->table, conn, until_ns < conn->wait.give_up_ns ? until_ns : conn->wait.give_up_ns);
}

void cm_await(struct cm *cm, struct cm_conn *conn, uint64_t now_ns)
{
	conn->wait.tries_left = conn->wait.max_retries;
	conn->wait.prolonged = false;
	conn->wait.give_up_ns = conn->stage.passive ? now_ns + CM_ANSWER_NS : CM_NEVER;
	cm_wait_until(cm, conn, now_ns + cm_wait_ns(cm, conn));
}

void cm_no_more_half_open(struct cm *cm, struct cm_conn *conn)
{
	if (!conn->pending.half_open)
		return;
	conn->pending.half_open = false;
	share_peers_give(&cm->half_open, conn->end.holder, 1);
}
