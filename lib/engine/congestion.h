/* congestion.h - answers packets that a switch has marked with congestion notifications (N-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CONGESTION_H
#define ENGINE_CONGESTION_H

struct engine_port;
struct uroce_lcore;
struct uroce_qp;

/*
 * The QP has taken a packet that a switch has marked "congestion experienced". Counts it, and sends the peer a
 * notification, unless the QP has sent one less than 50 us ago.
 */
void engine_congestion_marked(struct uroce_lcore *lcore, struct engine_port *port, struct uroce_qp *qp);

#endif
