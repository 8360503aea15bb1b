/* trace_points.c - registers the trace points by the names that --trace takes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_trace_point_register.h>

#include "engine/trace_points.h"

RTE_TRACE_POINT_REGISTER(engine_trace_qp_state, uroce.qp.state)
RTE_TRACE_POINT_REGISTER(engine_trace_qp_failed, uroce.qp.failed)
RTE_TRACE_POINT_REGISTER(engine_trace_qp_timeout, uroce.qp.timeout)
RTE_TRACE_POINT_REGISTER(engine_trace_event, uroce.event)
RTE_TRACE_POINT_REGISTER(engine_trace_cm_event, uroce.cm.event)
