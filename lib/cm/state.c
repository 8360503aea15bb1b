/* state.c - the states of a connection, and which state may follow which */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>

#include "cm/conn.h"

const char *const cm_state_names[CM_STATES] = {
	[CM_FREE] = "FREE",           [CM_REQ_SENT] = "REQ_SENT",
	[CM_SIDR_SENT] = "SIDR_SENT", [CM_SIDR_RCVD] = "SIDR_RCVD",
	[CM_REP_RCVD] = "REP_RCVD",   [CM_REQ_RCVD] = "REQ_RCVD",
	[CM_REP_SENT] = "REP_SENT",   [CM_RTU_RCVD] = "RTU_RCVD",
	[CM_CLOSED] = "CLOSED",       [CM_ESTABLISHED] = "ESTABLISHED",
	[CM_DREQ_SENT] = "DREQ_SENT",
};

#define TO(state) (1u << (state))

/* The states that may follow, besides FREE. */
static const uint16_t next[CM_STATES] = {
	[CM_FREE] = TO(CM_REQ_SENT) | TO(CM_SIDR_SENT) | TO(CM_REQ_RCVD) | TO(CM_SIDR_RCVD),
	[CM_REQ_SENT] = TO(CM_REP_RCVD) | TO(CM_CLOSED),
	[CM_SIDR_SENT] = TO(CM_CLOSED),
	[CM_SIDR_RCVD] = TO(CM_CLOSED),
	[CM_REP_RCVD] = TO(CM_ESTABLISHED) | TO(CM_CLOSED),
	[CM_REQ_RCVD] = TO(CM_REP_SENT) | TO(CM_CLOSED),
	[CM_REP_SENT] = TO(CM_RTU_RCVD) | TO(CM_DREQ_SENT) | TO(CM_CLOSED),
	[CM_RTU_RCVD] = TO(CM_ESTABLISHED) | TO(CM_DREQ_SENT) | TO(CM_CLOSED),
	[CM_ESTABLISHED] = TO(CM_DREQ_SENT) | TO(CM_CLOSED),
	[CM_DREQ_SENT] = TO(CM_CLOSED),
	[CM_CLOSED] = TO(CM_CLOSED), /* the user forgets it */
};

void cm_state_enter(struct cm_conn *conn, enum cm_state state)
{
	struct cm_stage *stage = &conn->stage;

	assert(state == CM_FREE || (next[stage->state] & TO(state)));
	stage->state = (uint8_t)state;
	if (state == CM_REQ_RCVD || state == CM_SIDR_RCVD)
		stage->passive = true;
	if (state == CM_REP_SENT)
		stage->replied = true;
}
