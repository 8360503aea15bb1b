/* dialog.h - assigns messages of connection management to connections */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection is identified by the ids of both ends. The REQ brings the id of the active end, and answers repeat it;
 * the first answer brings the id of the passive end. A connection that was up when the capture began is known from its
 * first message in the capture.
 *   1. dialog_open()
 *   2. dialog_add() with each message, in order
 *   3. messages and connections, as arrays; dialog_close()
 */
#ifndef APP_DECODE_DIALOG_H
#define APP_DECODE_DIALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/mad.h"

/* active: the side that sent the REQ, or is taken to have sent it */
enum dialog_side { DIALOG_ACTIVE, DIALOG_PASSIVE };

struct dialog_message {
	uint64_t number, time_ns; /* number and time of the frame */
	uint8_t source[16], dest[16];
	struct cm_message cm;
	uint32_t connection;
	uint8_t side; /* enum dialog_side: the sender */
	bool again;   /* this side has sent the same message before */
	bool strange; /* the message's ids are wrong, and only its transaction id fits */
	bool taken;   /* the message brings an id that its sender still uses for another connection */
};

struct dialog_connection {
	uint8_t addresses[2][16]; /* indexed by enum dialog_side */
	uint32_t ids[2];
	bool known[2]; /* which of the ids are known */
	bool whole;    /* its first message is a REQ or SIDR_REQ */
	bool datagram; /* not a connection but a question for a datagram QP, a SIDR_REQ */
	bool ended;    /* a REJ, DREP or SIDR_REP was seen */
	uint64_t transaction_id;
	uint32_t first_message, last_message;
};

/* The entries of both arrays move with dialog_add(). */
struct dialog {
	struct dialog_message *messages;
	struct dialog_connection *connections;
	uint32_t message_count, message_room, connection_count, connection_room;
};

/* NULL: no memory. */
struct dialog *dialog_open(void);

/* Takes number, time_ns, addresses and cm of *message. false: no memory. */
bool dialog_add(struct dialog *dialog, const struct dialog_message *message);

/* dialog may be NULL. */
void dialog_close(struct dialog *dialog);

#endif
