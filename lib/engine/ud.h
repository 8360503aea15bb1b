/* ud.h - datagrams that come in for queue pairs without a connection, and leave from them (U-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_UD_H
#define ENGINE_UD_H

#include <sys/queue.h>

#include <uroce/ud.h>

#include "rc/recvq.h"

struct engine_port;
struct rc_origin;
struct rte_mbuf;
struct uroce_lcore;
struct wire_packet;

struct uroce_ud {
	struct uroce_device *device;
	struct uroce_pd *pd;
	struct uroce_cq *send_cq, *recv_cq;
	struct uroce_lcore *owner;
	uint64_t context;
	uint32_t qpn, index, qkey;
	uint32_t place; /* among the engine's */
	struct rc_recvq receives;

	/* lcore only */
	uint32_t psn; /* of the next one */
	uint32_t waiting_count;
	TAILQ_HEAD(, engine_ud_waiting) waiting; /* datagrams whose next hop's MAC is asked for, or that find no room */
	LIST_ENTRY(uroce_ud) with_waiting;       /* while there are some */
};

/*
 * A datagram to a QPN that no RC queue pair has; origin has the addresses in full. true: the mbuf went to another
 * lcore.
 */
bool engine_ud_receive(struct uroce_lcore *lcore, struct engine_port *port, struct rte_mbuf *mbuf,
		       const struct wire_packet *packet, const struct rc_origin *origin);

/* The owner calls it, as uroce_ud_send(). */
int engine_ud_send(struct uroce_ud *ud, const struct uroce_ud_addr *to, const struct uroce_send_wr *wr);

/* The owner calls it: sends what has waited, or drops what has waited for too long. */
void engine_ud_poll(struct uroce_lcore *lcore);
/* The owner calls it: what waits is forgotten. */
void engine_ud_forget(struct uroce_ud *ud);

#endif
