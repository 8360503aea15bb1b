/* state.c - the states of a connection */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/conn.h"

const char *const cm_state_names[CM_STATES] = {
	[CM_FREE] = "FREE",           [CM_REQ_SENT] = "REQ_SENT",
	[CM_SIDR_SENT] = "SIDR_SENT", [CM_SIDR_RCVD] = "SIDR_RCVD",
	[CM_REP_RCVD] = "REP_RCVD",   [CM_REQ_RCVD] = "REQ_RCVD",
	[CM_REP_SENT] = "REP_SENT",   [CM_RTU_RCVD] = "RTU_RCVD",
	[CM_CLOSED] = "CLOSED",       [CM_ESTABLISHED] = "ESTABLISHED",
	[CM_DREQ_SENT] = "DREQ_SENT",
};

void cm_state_enter(struct cm_conn *conn, enum cm_state state)
{
	struct cm_stage *stage = &conn->stage;

	stage->state = (uint8_t)state;
	if (state == CM_REQ_RCVD || state == CM_SIDR_RCVD)
		stage->passive = true;
	if (state == CM_REP_SENT)
		stage->replied = true;
}
