/* port_state.h - an lcore's side of a port: its QPs, mbufs and counters */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PORT_STATE_H
#define ENGINE_PORT_STATE_H

#include <rte_mbuf.h>

#include "engine/qp.h"
#include "rc/outbox.h"

#define TX_PENDING (2 * OUTBOX_PACKETS) /* frames that wait for the port, at most */
#define SPARE_MBUFS (2 * OUTBOX_PACKETS)

struct uroce_device;
struct uroce_lcore;

/*
 * Empty mbufs of a pool, which an lcore has at hand so that a frame that is begun can be sent. The last used is on
 * top.
 */
struct engine_spare {
	struct rte_mempool *pool; /* NULL: none */
	uint32_t users;           /* ports of the lcore that send from it */
	uint32_t count;
	struct rte_mbuf *mbufs[SPARE_MBUFS];
	uint8_t *places[SPARE_MBUFS]; /* where the frame of each begins */
};

/* What an lcore has to do with one device. */
struct engine_port {
	struct uroce_device *device;
	struct uroce_lcore *lcore;
	struct engine_run_queue run_queue; /* QPs that send from here */
	struct engine_spare *spare;        /* of the lcore */
	uint16_t queue;
	uint16_t pending_count; /* frames that the port did not take yet, oldest first */
	bool has_own;           /* some of its frames may be for itself */
	struct rte_mbuf *pending[TX_PENDING];
	uint64_t poll_ends_at; /* how far port_frames_out() may go in this poll */
	uint64_t goal_frames;  /* tx_frames when all that waited at goal_ns has left */
	uint64_t goal_ns;
	struct engine_held {
		uint64_t since_ns;    /* nothing has left the port since then */
		uint64_t bytes;       /* that its interface held then */
		uint64_t given_bytes; /* tx_bytes then */
		uint64_t frames;      /* tx_frames then, or as far as they were counted */
	} held;
	uint64_t unknown_since_ns;       /* when the second began in which frames of unknown senders count */
	uint64_t unknown_counted;        /* such frames until then */
	bool unknown_told;               /* the event of this second was raised */
	uint64_t counters[CNT_COUNTERS]; /* lcore only, as all below */
	uint64_t rx_frames, tx_frames, rx_bytes, tx_bytes;
	uint64_t retired[CNT_QP_COUNTERS]; /* counters of the device's destroyed QPs that lived here */
};

#endif
