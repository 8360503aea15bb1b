/* dialog.h - messages of connection management, each with the connection that it belongs to */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A connection is known by the ids of its ends: that of its REQ, which answers repeat, and that of the other end, which
 * the first answer tells. A capture may begin when connections are up; they begin here with the first message seen.
 *   1. dialog_open()
 *   2. dialog_add() with each message, in order
 *   3. dialog_message(), dialog_connection(); dialog_close()
 */
#ifndef APP_DECODE_DIALOG_H
#define APP_DECODE_DIALOG_H

#include <stdbool.h>
#include <stdint.h>

#include "cm/mad.h"

enum dialog_side { DIALOG_ACTIVE, DIALOG_PASSIVE }; /* who sent the REQ, or is taken for that, and the other */

struct dialog_message {
	uint64_t number, time_ns; /* of the frame */
	uint8_t source[16], dest[16];
	struct cm_message cm;
	uint32_t connection;
	uint8_t side; /* enum dialog_side, that sent it */
	bool again;   /* the same has come from this side before */
	bool strange; /* its ids are not those of the connection; the transaction id is */
	bool taken;   /* it brings an id that its sender still has for another connection */
};

struct dialog_connection {
	uint8_t addresses[2][16]; /* by enum dialog_side */
	uint32_t ids[2];
	bool known[2]; /* the ids */
	bool whole;    /* it begins with its REQ or SIDR_REQ */
	bool datagram; /* it is a question for a datagram's QP, SIDR_REQ */
	bool ended;    /* by REJ, DREP or SIDR_REP */
	uint64_t transaction_id;
	uint32_t first_message, last_message;
};

struct dialog;

/* NULL: no memory. */
struct dialog *dialog_open(void);

/* Takes number, time_ns, addresses and cm of *message. False: no memory. */
bool dialog_add(struct dialog *dialog, const struct dialog_message *message);

uint32_t dialog_messages(const struct dialog *dialog);
const struct dialog_message *dialog_message(const struct dialog *dialog, uint32_t index);
uint32_t dialog_connections(const struct dialog *dialog);
const struct dialog_connection *dialog_connection(const struct dialog *dialog, uint32_t index);

/* NULL does nothing. */
void dialog_close(struct dialog *dialog);

#endif
