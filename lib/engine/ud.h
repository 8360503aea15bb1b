/* ud.h - queue pairs without a connection: receives and sends their datagrams (U-4) */
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
	/* NULL: receives are posted to this queue pair; else `receives` has room for one receive of the SRQ */
	struct uroce_srq *srq;
	struct uroce_lcore *owner;
	uint64_t context;
	uint32_t qpn, index, qkey;
	uint32_t slot; /* index in the engine's table of UD queue pairs */
	struct rc_recvq receives;

	/* only the lcore touches these */
	_Alignas(64) uint32_t psn; /* PSN of the next datagram */
	uint32_t waiting_count;
	TAILQ_HEAD(, engine_ud_waiting) waiting; /* datagrams that wait for the MAC of their next hop, or for room */
	LIST_ENTRY(uroce_ud) with_waiting;       /* the queue pair is in the lcore's list while datagrams wait */
};

/*
 * Takes a datagram to a QPN that no RC QP has; origin has both addresses. Returns true if another lcore owns the mbuf
 * now.
 */
bool engine_ud_receive(struct uroce_lcore *lcore, struct engine_port *port, struct rte_mbuf *mbuf,
		       const struct wire_packet *packet, const struct rc_origin *origin);

/* For the owner, as uroce_ud_send(). */
int engine_ud_send(struct uroce_ud *ud, const struct uroce_ud_addr *to, const struct uroce_send_wr *wr);

/* For the owner: sends datagrams that have waited, and drops datagrams that have waited for too long. */
void engine_ud_poll(struct uroce_lcore *lcore);
/* For the owner: drops the datagrams that wait. */
void engine_ud_forget(struct uroce_ud *ud);

#endif
