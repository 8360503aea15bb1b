/* gsi.h - QP 1 of an lcore, and the connection manager behind it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_GSI_H
#define ENGINE_GSI_H

#include <stdbool.h>
#include <stdint.h>

struct engine_port;
struct rc_origin;
struct rte_mbuf;
struct uroce_engine;
struct uroce_lcore;
struct wire_packet;

/* Makes a manager for each lcore. Returns 0 or a negative errno. */
int engine_gsi_open(struct uroce_engine *engine);
void engine_gsi_close(struct uroce_engine *engine);

/* Takes a packet to QP 1; origin has both addresses. Returns true if another lcore owns the mbuf now. */
bool engine_gsi_receive(struct uroce_lcore *lcore, struct engine_port *port, struct rte_mbuf *mbuf,
			const struct wire_packet *packet, const struct rc_origin *origin);

#endif
