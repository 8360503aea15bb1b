/* dialog.c - finds the connection that a message of connection management belongs to */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "decode/dialog.h"

#include <stdlib.h>
#include <string.h>

struct dialog *dialog_open(void)
{
	return calloc(1, sizeof(struct dialog));
}

void dialog_close(struct dialog *dialog)
{
	if (!dialog)
		return;
	free(dialog->messages);
	free(dialog->connections);
	free(dialog);
}

/* Makes room for one more entry; false: no memory. */
static bool make_room(void **array, uint32_t used, uint32_t *room, size_t bytes)
{
	uint32_t wanted = *room ? *room * 2 : 16;
	void *larger;

	if (used < *room)
		return true;
	larger = realloc(*array, wanted * bytes);
	if (!larger)
		return false;
	*array = larger;
	*room = wanted;
	return true;
}

static bool is_datagram(const struct cm_message *cm)
{
	return cm->kind == CM_SIDR_REQ || cm->kind == CM_SIDR_REP;
}

/* Has an end with this address said that this id is its own? */
static bool owns(const struct dialog_connection *connection, int side, const uint8_t *address, uint32_t id)
{
	return connection->known[side] && connection->ids[side] == id &&
	       memcmp(connection->addresses[side], address, 16) == 0;
}

static bool is_between(const struct dialog_connection *connection, int side, const struct dialog_message *message)
{
	return memcmp(connection->addresses[side], message->source, 16) == 0 &&
	       memcmp(connection->addresses[!side], message->dest, 16) == 0;
}

/*
 * Do the ids fit the connection if this side is the sender? A REJ may have 0 as an id: as the sender's id if the sender
 * refuses at once, and as the other end's id if the sender has had no answer from that end.
 */
static bool ids_fit(const struct dialog_connection *connection, int side, const struct cm_message *cm)
{
	bool may_lack = cm->kind == CM_REJ, own, others;

	if (is_datagram(cm) != connection->datagram)
		return false;
	if (cm->kind == CM_REQ || cm->kind == CM_SIDR_REQ)
		return side == DIALOG_ACTIVE && connection->whole && connection->ids[side] == cm->local_id &&
		       connection->transaction_id == cm->transaction_id;
	if (cm->kind == CM_SIDR_REP)
		return side == DIALOG_PASSIVE && connection->ids[DIALOG_ACTIVE] == cm->local_id;
	own = connection->known[side] && connection->ids[side] == cm->local_id;
	others = connection->known[!side] && connection->ids[!side] == cm->remote_id;
	if (!own && connection->known[side] && !(may_lack && cm->local_id == 0))
		return false;
	if (!others && connection->known[!side] && !(may_lack && cm->remote_id == 0))
		return false;
	return own || others;
}

/* Finds the newest connection that the message fits, and which side sent it. */
static struct dialog_connection *find(struct dialog *dialog, struct dialog_message *message)
{
	for (uint32_t i = dialog->connection_count; i-- > 0;) {
		for (int side = 0; side < 2; side++) {
			if (!is_between(&dialog->connections[i], side, message) ||
			    !ids_fit(&dialog->connections[i], side, &message->cm))
				continue;
			message->side = (uint8_t)side;
			return &dialog->connections[i];
		}
	}
	return NULL;
}

/* A message with wrong ids but the transaction id of a connection that has not ended belongs to that connection. */
static struct dialog_connection *find_by_transaction(struct dialog *dialog, struct dialog_message *message)
{
	if (message->cm.kind == CM_REQ || is_datagram(&message->cm))
		return NULL;
	for (uint32_t i = dialog->connection_count; i-- > 0;) {
		const struct dialog_connection *connection = &dialog->connections[i];

		for (int side = 0; side < 2; side++) {
			if (connection->ended || connection->datagram || !is_between(connection, side, message) ||
			    connection->transaction_id != message->cm.transaction_id)
				continue;
			message->side = (uint8_t)side;
			message->strange = true;
			return &dialog->connections[i];
		}
	}
	return NULL;
}

/*
 * Which side sends this message, the first of its connection in the capture? A DREQ, which either side may send, counts
 * as the active side's.
 */
static enum dialog_side side_of_first(const struct cm_message *cm)
{
	bool about_req = (cm->kind == CM_MRA || cm->kind == CM_REJ) && cm->answered == CM_ANSWERED_REQ;

	return cm->kind == CM_REP || cm->kind == CM_SIDR_REP || cm->kind == CM_APR || about_req ? DIALOG_PASSIVE :
												  DIALOG_ACTIVE;
}

static void begin(struct dialog *dialog, struct dialog_message *message)
{
	enum dialog_side side = side_of_first(&message->cm);
	struct dialog_connection *connection = &dialog->connections[dialog->connection_count++];

	*connection = (struct dialog_connection){
		.whole = message->cm.kind == CM_REQ || message->cm.kind == CM_SIDR_REQ,
		.datagram = is_datagram(&message->cm),
		.transaction_id = message->cm.transaction_id,
		.first_message = dialog->message_count,
	};
	message->side = (uint8_t)side;
	memcpy(connection->addresses[side], message->source, 16);
	memcpy(connection->addresses[!side], message->dest, 16);
	if (message->cm.kind == CM_SIDR_REP) {
		connection->ids[DIALOG_ACTIVE] = message->cm.local_id;
		connection->known[DIALOG_ACTIVE] = true;
	} else if (message->cm.remote_id != 0) {
		connection->ids[!side] = message->cm.remote_id;
		connection->known[!side] = true;
	}
}

/* Learns an id of the message's sender. It must not be the id of another connection of that sender. */
static void learn_id(struct dialog *dialog, struct dialog_connection *connection, struct dialog_message *message)
{
	uint32_t id = message->cm.local_id;
	int side = message->side;

	if (message->strange || connection->known[side] || id == 0 || message->cm.kind == CM_SIDR_REP)
		return;
	for (uint32_t i = 0; i < dialog->connection_count; i++) {
		const struct dialog_connection *other = &dialog->connections[i];

		for (int of = 0; of < 2 && other != connection; of++)
			message->taken |= !other->ended && other->datagram == connection->datagram &&
					  owns(other, of, message->source, id);
	}
	connection->ids[side] = id;
	connection->known[side] = true;
}

static bool came_before(const struct dialog *dialog, const struct dialog_connection *connection,
			const struct dialog_message *message)
{
	for (uint32_t i = connection->first_message; i < dialog->message_count; i++) {
		const struct dialog_message *before = &dialog->messages[i];

		if (before->connection == message->connection && before->side == message->side &&
		    memcmp(&before->cm, &message->cm, sizeof(before->cm)) == 0)
			return true;
	}
	return false;
}

static bool ends(const struct cm_message *cm)
{
	return cm->kind == CM_REJ || cm->kind == CM_DREP || cm->kind == CM_SIDR_REP;
}

bool dialog_add(struct dialog *dialog, const struct dialog_message *given)
{
	struct dialog_message message = *given;
	struct dialog_connection *connection;

	message.again = message.strange = message.taken = false;
	if (!make_room((void **)&dialog->messages, dialog->message_count, &dialog->message_room, sizeof(message)) ||
	    !make_room((void **)&dialog->connections, dialog->connection_count, &dialog->connection_room,
		       sizeof(*connection)))
		return false;
	connection = find(dialog, &message);
	if (!connection)
		connection = find_by_transaction(dialog, &message);
	if (!connection) {
		connection = &dialog->connections[dialog->connection_count];
		begin(dialog, &message);
	}
	message.connection = (uint32_t)(connection - dialog->connections);
	learn_id(dialog, connection, &message);
	message.again = came_before(dialog, connection, &message);
	connection->ended |= !message.strange && ends(&message.cm);
	connection->last_message = dialog->message_count;
	dialog->messages[dialog->message_count++] = message;
	return true;
}
