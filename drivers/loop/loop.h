/* loop.h - two ports connected by rings: a network within one process, without a NIC or root */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. rte_eal_init(); --no-huge --no-pci will do
 *   2. drivers_loop_open(): opens and starts both ports; each receives what the other one sends
 *   3. uroce_device_create() on ports[0] and ports[1]
 *   4. drivers_loop_close() after the devices are destroyed; not drivers_ethdev_close()
 * The ports have no MAC addresses and share one pool, so that one lcore's cache serves both directions.
 */
#ifndef DRIVERS_LOOP_H
#define DRIVERS_LOOP_H

#include "drivers/ethdev/ethdev.h"

struct rte_ring;

/* Zeros stand for defaults. */
struct drivers_loop_config {
	const char *name;      /* unique in the process, at most 12 characters; NULL: "uroce_loop" */
	uint16_t queue_count;  /* queues of each port; 0: 1 */
	uint32_t ring_entries; /* how many frames a direction of a queue holds, a power of two; 0: 1024 */
	uint32_t mbuf_count;   /* mbufs in the pool; 0: enough for full rings and the engine */
	uint32_t mbuf_bytes;   /* longest frame; 0: that of path MTU 4096 */
	int numa_node;
};

struct drivers_loop {
	struct drivers_ethdev ports[2];
	struct rte_mempool *pool;
	uint16_t queue_count;
	struct rte_ring *rings[2][DRIVERS_ETHDEV_QUEUES_MAX]; /* [i][q]: queue q of port i receives from this ring */
};

/* Checks the name, the queue count and the ring size. Returns 0 or -EINVAL. */
int drivers_loop_check(const struct drivers_loop_config *config, struct uroce_error *error);
/* Returns 0; -EINVAL as drivers_loop_check(); -EEXIST: the name is in use; -ENOMEM. */
int drivers_loop_open(const struct drivers_loop_config *config, struct drivers_loop *loop, struct uroce_error *error);

/*
 * Frees everything, with the frames in the rings. Returns how many mbufs are still in use; if any are, the pool is not
 * freed.
 */
unsigned drivers_loop_close(struct drivers_loop *loop);

#endif
