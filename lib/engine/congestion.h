/* congestion.h - answers packets that a switch has marked with congestion notifications (N-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CONGESTION_H
#define ENGINE_CONGESTION_H

#include <stdbool.h>

struct engine_port;
struct uroce_lcore;
struct uroce_qp;

/*
 * The QP has taken a packet that a switch has marked "congestion experienced". Counts the packet, and, at most once in
 * 50 us, sends the peer a notification. If the packet is a response the QP itself is told as well (N-2).
 */
void engine_congestion_marked(struct uroce_lcore *lcore, struct engine_port *port, struct uroce_qp *qp, bool response);

#endif
