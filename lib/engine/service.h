/* service.h - what one QP is served with wherever it is looked at: its timer, and an ACK that is all it has to send */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SERVICE_H
#define ENGINE_SERVICE_H

#include "engine/engine.h"
#include "engine/mbuf.h"
#include "engine/port.h"
#include "rc/ack.h"
#include "rc/qp.h"

/* The wheel only has to know when the deadline came nearer; when it moved away, the node fires and looks. */
static inline void qp_update_timer(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	uint64_t deadline = rc_qp_deadline(qp_core(qp));

	if (deadline == RC_NEVER)
		return;
	if (!wheel_node_is_armed(&qp->timer) || wheel_tick_of(deadline) < qp->timer.tick)
		engine_wheel_arm(&lcore->wheel, &qp->timer, deadline);
}

/* An ACK or NAK, which is all that the QP has to do, leaves through its port, which has room. */
static inline void send_ack(struct uroce_lcore *lcore, struct engine_port *port, struct uroce_qp *qp)
{
	const struct wire_ack ack = qp_take_ack(qp_core(qp));
	struct rte_mbuf *mbuf = port_take_spare(port);

	mbuf_fill_ack(mbuf, &qp->template, &ack);
	port_send(port, mbuf);
	lcore->work++;
}

#endif
