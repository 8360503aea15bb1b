/* trace_points.h - what DPDK's trace records of uroce, when EAL is started with --trace=uroce.* */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trace points are for rare events only, since one that is off costs a load and a branch. A reader of the trace sees
 * the names and fields of trace points; texts are cut at 32 bytes. A field must not be named by a word of the trace's
 * own language, such as event.
 */
#ifndef ENGINE_TRACE_POINTS_H
#define ENGINE_TRACE_POINTS_H

#include <rte_trace_point.h>

/* Software has moved a QP to another state. A QP that fails goes to ERR by itself, and is traced as uroce.qp.failed. */
RTE_TRACE_POINT(engine_trace_qp_state,
		RTE_TRACE_POINT_ARGS(uint16_t port_id, uint32_t qp_num, const char *before, const char *after),
		rte_trace_point_emit_u16(port_id);
		rte_trace_point_emit_u32(qp_num); rte_trace_point_emit_string(before);
		rte_trace_point_emit_string(after);)

/* A QP has failed. cause: enum uroce_cause; responder: a request of the peer has failed. */
RTE_TRACE_POINT(engine_trace_qp_failed,
		RTE_TRACE_POINT_ARGS(uint16_t port_id, uint32_t qp_num, const char *status, uint32_t cause,
				     uint8_t responder, uint32_t psn, uint32_t retries),
		rte_trace_point_emit_u16(port_id);
		rte_trace_point_emit_u32(qp_num); rte_trace_point_emit_string(status); rte_trace_point_emit_u32(cause);
		rte_trace_point_emit_u8(responder); rte_trace_point_emit_u32(psn); rte_trace_point_emit_u32(retries);)

/* The ACK timer has expired: unacknowledged packets are sent again from psn on, unless the QP fails or migrates. */
RTE_TRACE_POINT(engine_trace_qp_timeout,
		RTE_TRACE_POINT_ARGS(uint16_t port_id, uint32_t qp_num, uint32_t psn, uint8_t retries_left),
		rte_trace_point_emit_u16(port_id);
		rte_trace_point_emit_u32(qp_num); rte_trace_point_emit_u32(psn); rte_trace_point_emit_u8(retries_left);)

/* An event for the application: path migration, a port down or up, and the like. qp_num 0: it concerns no QP. */
RTE_TRACE_POINT(engine_trace_event, RTE_TRACE_POINT_ARGS(uint16_t port_id, uint32_t qp_num, const char *what),
		rte_trace_point_emit_u16(port_id);
		rte_trace_point_emit_u32(qp_num); rte_trace_point_emit_string(what);)

/* A connection by address has made progress or has ended. */
RTE_TRACE_POINT(engine_trace_cm_event, RTE_TRACE_POINT_ARGS(const char *what, uint16_t reason),
		rte_trace_point_emit_string(what);
		rte_trace_point_emit_u16(reason);)

#endif
