/* port.h - one lcore's side of a port: empty mbufs at hand, frames that wait to leave */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PORT_H
#define ENGINE_PORT_H

#include "engine/engine.h"

#define PORT_FRAME_MAX_BYTES 16384u

/* How many frames may be built now: each has an mbuf and a place to wait. Fetches mbufs; counts an empty pool. */
uint32_t engine_port_room(struct engine_port *port);

/* An empty mbuf; only as many as engine_port_room() said. */
struct rte_mbuf *engine_port_take_spare(struct engine_port *port);

/* Sends mbuf after all that wait. */
void engine_port_send(struct engine_port *port, struct rte_mbuf *mbuf);

/* Offers the port what waits; what it does not take stays, in order (S-15). */
void engine_port_flush(struct engine_port *port);

/* Gives back all mbufs. */
void engine_port_release(struct engine_port *port);

#endif
