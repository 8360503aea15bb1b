/* action.c - makes actions for the host, and messages for the peer */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/conn.h"

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
