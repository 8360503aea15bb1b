/* sides.c - both sides of a connection: their values, and the negotiation of READs and atomics (C-6) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/conn.h"

void cm_negotiate(struct cm_side *own, const struct cm_side *peer)
{
	if (own->initiator_depth > peer->responder_resources)
		own->initiator_depth = peer->responder_resources;
	if (own->responder_resources > peer->initiator_depth)
		own->responder_resources = peer->initiator_depth;
}

/* ---- our side ---- */

void cm_sides_offer(struct cm_conn *conn, const struct cm_side *side)
{
	conn->sides.own = *side;
}

void cm_sides_lower_mtu(struct cm_conn *conn, uint8_t mtu)
{
	conn->sides.own.path_mtu = mtu;
}

void cm_sides_propose(struct cm_conn *conn, const struct cm_side *side)
{
	conn->sides.own = *side;
	cm_negotiate(&conn->sides.own, &conn->sides.peer);
}

void cm_sides_accept(struct cm_conn *conn, const struct cm_side *side)
{
	conn->sides.peer.ece &= side->ece;
	cm_sides_propose(conn, side);
}

/* ---- the peer's side ---- */

/* The values of the sender that both a REQ and a REP carry. */
static struct cm_side side_of(const struct cm_message *in)
{
	return (struct cm_side){
		.qpn = in->qpn,
		.psn = in->psn,
		.responder_resources = in->responder_resources,
		.initiator_depth = in->initiator_depth,
		.rnr_retry_count = in->rnr_retry_count,
		.flow_control = in->flow_control,
		.srq = in->srq,
		.ece = in->vendor_id == CM_VENDOR_ID ? in->ece_options : 0,
	};
}

void cm_sides_take_req(struct cm_conn *conn, const struct cm_message *in)
{
	conn->sides.peer = side_of(in);
	conn->sides.peer.retry_count = in->retry_count;
	conn->sides.peer.path_mtu = in->path_mtu;
	conn->sides.peer.ack_timeout = cm_ack_timeout(in->primary.ack_timeout);
}

/* The REQ has set the values that a REP does not carry. */
void cm_sides_take_rep(struct cm_conn *conn, const struct cm_message *in)
{
	struct cm_sides *sides = &conn->sides;

	sides->peer = side_of(in);
	sides->peer.retry_count = sides->own.retry_count;
	sides->peer.path_mtu = sides->own.path_mtu;
	sides->peer.ack_timeout = sides->own.ack_timeout;
	sides->peer.ece &= sides->own.ece; /* a peer that only echoes our vendor id gets no option (C-32) */
	cm_negotiate(&sides->own, &sides->peer);
}
