/* ping.h - asks a peer that does not answer for ICMP echoes, a short one and a long one */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PING_H
#define ENGINE_PING_H

struct uroce_lcore;
struct uroce_qp;

/* Asks the peer of a QP, unless it was asked lately. What came back: engine_pings_result(). */
void engine_ping_ask(struct uroce_lcore *lcore, const struct uroce_qp *qp);

#endif
