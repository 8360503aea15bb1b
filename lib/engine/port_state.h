/* port_state.h - the struct of a port as one lcore sees it: its QPs, mbufs and counters */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PORT_STATE_H
#define ENGINE_PORT_STATE_H

#include <rte_mbuf.h>

#include "engine/history.h"
#include "engine/qp.h"
#include "rc/outbox.h"

#define TX_PENDING (2 * OUTBOX_PACKETS) /* how many frames may wait for the port */
#define SPARE_MBUFS (2 * OUTBOX_PACKETS)

struct uroce_device;
struct uroce_lcore;

/*
 * Empty mbufs of a pool that an lcore has at hand, so that a frame that the lcore begins to write can be sent. The mbuf
 * that was used last is on top.
 */
struct engine_spare {
	struct rte_mempool *pool; /* NULL: the list is not in use */
	uint32_t users;           /* ports of the lcore that use the list */
	uint32_t count;
	struct rte_mbuf *mbufs[SPARE_MBUFS];
	uint8_t *places[SPARE_MBUFS]; /* where a frame begins in each mbuf */
};

/* One lcore's part of one device. */
struct engine_port {
	struct uroce_device *device;
	struct uroce_lcore *lcore;
	struct engine_run_queue run_queue; /* QPs that send through this port */
	struct engine_spare *spare;        /* one of the lcore's lists */
	uint16_t queue;
	/* descriptor that is readable after an interrupt of the queue; -1: the queue has none */
	int rx_interrupt;
	uint16_t pending_count; /* frames that the port has not taken yet, oldest first */
	bool has_own;           /* frames for the port itself may be among the pending ones */
	struct rte_mbuf *pending[TX_PENDING];
	uint64_t poll_ends_at; /* the value of port_frames_out() at which this poll stops sending */
	uint64_t goal_frames;  /* the value of tx_frames once all frames that waited at goal_ns have left */
	uint64_t goal_ns;
	struct engine_held {
		uint64_t since_ns;    /* when something last left the port */
		uint64_t bytes;       /* bytes that the interface held then */
		uint64_t given_bytes; /* tx_bytes then */
		uint64_t frames;      /* the part of tx_frames that has left, or that CNT_PORT_HELD has counted */
		uint64_t rx_frames;   /* rx_frames then */
	} held;
	struct engine_conflict {
		bool is_new;    /* not reported yet */
		uint32_t index; /* of the address */
		struct uroce_mac holder;
	} conflict;                      /* the address that was last defended */
	uint64_t unknown_since_ns;       /* start of the second in which frames of unknown senders count */
	uint64_t unknown_counted;        /* their number until then */
	bool unknown_told;               /* the event was raised in this second */
	uint64_t counters[CNT_COUNTERS]; /* only the lcore touches the counters and all fields below */
	uint64_t rx_frames, tx_frames, rx_bytes, tx_bytes;
	struct engine_history history;
	uint64_t retired[CNT_QP_COUNTERS]; /* counters of destroyed QPs of the device that lived on this lcore */
};

#endif
