/* congestion.h - answers packets that a switch has marked with congestion notifications (N-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CONGESTION_H
#define ENGINE_CONGESTION_H

#include <stdbool.h>

struct engine_port;
struct uroce_lcore;
struct uroce_qp;

/*
 * The QP has taken a packet whose mark "congestion experienced" counts (rc_qp_heeds_mark()). Counts the packet, and
 * sends the peer a notification, up to one per 50 us. If the packet is a response the QP itself is notified as well
 * (N-2).
 */
void engine_congestion_marked(struct uroce_lcore *lcore, struct engine_port *port, struct uroce_qp *qp, bool response);

#endif
