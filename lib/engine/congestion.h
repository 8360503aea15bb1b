/* congestion.h - answers packets that a switch has marked with congestion notifications (N-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CONGESTION_H
#define ENGINE_CONGESTION_H

#include <stdbool.h>

struct engine_port;
struct uroce_lcore;
struct uroce_qp;

/*
 * The QP has taken a packet that a switch has marked "congestion experienced". Counts it. Unless the last one came less
 * than 50 us ago, it sends the peer a notification and, if the packet is a response, tells the QP itself (N-2).
 */
void engine_congestion_marked(struct uroce_lcore *lcore, struct engine_port *port, struct uroce_qp *qp, bool response);

#endif
