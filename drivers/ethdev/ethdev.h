/* ethdev.h - sets up an ethdev port of any driver for the engine, and closes it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. rte_eal_init(), with the --vdev arguments of virtual ports
 *   2. drivers_ethdev_open(): finds the port, makes a pool, sets up the queues, starts the port
 *   3. give port_id, queue_count, pool and rx_checksums_done to uroce_device_create()
 *   4. drivers_ethdev_close() after uroce_device_destroy()
 * No offload is required: what a port does not offer is done in software, and what it refuses is left out.
 */
#ifndef DRIVERS_ETHDEV_H
#define DRIVERS_ETHDEV_H

#include <uroce/types.h>

struct rte_mempool;

#define DRIVERS_ETHDEV_QUEUES_MAX 64
#define DRIVERS_ETHDEV_NAME_BYTES 64
/* Path MTU 4096 and the longest headers: Ethernet with VLAN, IPv6, UDP, BTH, extensions, ICRC. */
#define DRIVERS_FRAME_BYTES 4224u
#define DRIVERS_ENGINE_MBUFS 1024u /* mbufs that outboxes, caches and reordering hold, for each queue */

/* Zeros stand for defaults, except for the name. */
struct drivers_ethdev_config {
	const char *name; /* "net_af_packet0", "0000:01:00.0"; NULL: use port_id */
	uint16_t port_id;
	uint16_t queue_count;      /* queue pairs wanted; 0: 1; the driver may offer fewer */
	uint16_t rx_desc, tx_desc; /* ring sizes, adjusted to the port's limits; 0: 1024 */
	uint32_t mbuf_count;       /* mbufs in the pool; 0: enough for the rings and the engine */
	uint32_t mbuf_bytes;       /* bytes in an mbuf; 0: a frame of path MTU 4096 and the driver's room fit */
	/* longest IP packet; 0: that of path MTU 4096 if the port allows it, else the port's own */
	uint16_t mtu_bytes;
	struct rte_mempool *pool; /* a pool to use, which is not freed here; NULL: make one */
	struct uroce_mac mac;     /* MAC of the stack; zeros: the port's */
	bool rx_interrupts;       /* a frame may end a sleep, if the driver can do that */
};

/* An open port. */
struct drivers_ethdev {
	uint16_t port_id;
	uint16_t queue_count;      /* queues set up; with net_af_packet always all, or the kernel would lose frames */
	uint16_t queues_offered;   /* queues that the driver offers */
	uint16_t rx_desc, tx_desc; /* as the driver tells, else as asked for */
	uint16_t mtu_bytes;        /* longest IP packet that passes whole; 0: no limit is known */
	struct rte_mempool *pool;
	bool own_pool;
	struct uroce_mac mac;   /* the port's MAC */
	bool has_own_mac;       /* false: `mac` is zeros (net_ring), and the device draws one */
	bool frames_in_pieces;  /* the driver may divide a frame over several mbufs */
	bool rx_checksums_done; /* the port checks IPv4 and UDP checksums, and marks wrong ones */
	bool spreads_flows;     /* by RSS or otherwise, the port spreads flows over the queues */
	char name[DRIVERS_ETHDEV_NAME_BYTES];
	char driver[DRIVERS_ETHDEV_NAME_BYTES];
};

/* Frames and bytes since the start. */
struct drivers_ethdev_stats {
	uint64_t rx_frames, tx_frames, rx_bytes, tx_bytes;
	uint64_t rx_missed, rx_errors, rx_no_mbuf, tx_errors;
};

/*
 * Opens and starts a port. Returns 0; -ENODEV: no such port; -EBUSY: it is started already; -EINVAL: a value is out of
 * the port's range; -ENOMEM; or the driver's error. *error is set if it is not 0.
 */
int drivers_ethdev_open(const struct drivers_ethdev_config *config, struct drivers_ethdev *port,
			struct uroce_error *error);

/*
 * Stops and closes the port and frees its pool. No lcore may poll the port any more. Returns how many mbufs of its pool
 * are still in use; if there are any the pool is not freed, because that would corrupt memory.
 */
unsigned drivers_ethdev_close(struct drivers_ethdev *port);

/* Waits up to wait_ms for the link. true: it is up; *gbit_per_s (may be NULL) is its speed, 0 if not known. */
bool drivers_ethdev_link_is_up(const struct drivers_ethdev *port, unsigned wait_ms, double *gbit_per_s);

/* Returns 0 or a negative errno. */
int drivers_ethdev_stats(const struct drivers_ethdev *port, struct drivers_ethdev_stats *stats);

/* Makes a pool for frames of frame_bytes. NULL: no memory, and *error says so. */
struct rte_mempool *drivers_ethdev_pool_create(const char *name, uint32_t mbuf_count, uint32_t frame_bytes,
					       int numa_node, struct uroce_error *error);
/* Frees a pool if all its mbufs have been returned; returns how many have not. */
unsigned drivers_ethdev_pool_destroy(struct rte_mempool *pool);

/* Writes a sentence into *error, if there is one, and returns code. */
int drivers_error_set(struct uroce_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
