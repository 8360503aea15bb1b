/* congestion.c - sends congestion notifications (N-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/congestion.h"

#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/port_state.h"
#include "engine/qp.h"
#include "engine/resolve.h"
#include "rc/cc.h"
#include "rc/ports.h"
#include "wire/packet.h"

#define INTERVAL_US 50u /* the least time between two CNPs of a QP, as np_min_time_between_cnps of NICs */
#define DSCP 48u        /* the DSCP of CNPs, as np_cnp_dscp of NICs: a class that switches serve first */

void engine_congestion_marked(struct uroce_lcore *lcore, struct engine_port *port, struct uroce_qp *qp, bool response)
{
	const struct rc_qp *rc = qp_core(qp);
	const struct wire_packet packet = {
		.opcode = OP_CNP,
		.flags = WIRE_BECN,
		.dest_qpn = rc->dest_qpn,
		.pkey = rc->pkey,
	};
	struct uroce_path path = rc->path;
	uint32_t now_us = (uint32_t)(lcore->now_ns / 1000);

	port->counters[CNT_PORT_CE]++;
	if (now_us - qp->notified_us < INTERVAL_US)
		return;
	qp->notified_us = now_us;
	/*
	 * This QP has asked for the response that was marked. By asking for fewer responses it slows even a peer that
	 * ignores CNPs.
	 */
	if (response && rc_cc_listens(rc))
		rc_cc_notified(qp_core(qp), lcore->now_ns);
	if (lcore->engine->config.no_cnp)
		return;
	path.traffic_class = uroce_traffic_class(DSCP, UROCE_ECN_NOT_ECT);
	if (!engine_resolve_send(lcore, &path, rc_ports_own(rc, 0), &packet))
		return;
	port->counters[CNT_PORT_CNP_SENT]++;
	lcore->work++;
}
