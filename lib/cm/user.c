/* user.c - the user of a connection: context and options, events, and moves of the QP */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/conn.h"

void cm_user_knows(struct cm_conn *conn, uint64_t context, bool moves, bool tell_timewait)
{
	conn->user = (struct cm_user){
		.known = true,
		.moves = moves,
		.tell_timewait = tell_timewait,
		.context = context,
	};
}

void cm_user_forgets(struct cm_conn *conn)
{
	conn->user.known = false;
}

void cm_set_context(struct cm *cm, uint32_t connection, uint64_t context)
{
	cm->table.conns[connection].user.context = context;
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

void cm_move_to_rts(struct cm *cm, struct cm_conn *conn, const struct cm_message *message)
{
	cm->moving = message;
	cm_move(cm, conn, CM_MOVE_RTS);
}
