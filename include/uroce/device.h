/* device.h - the engine with its lcores, and the devices that it drives: ports with addresses */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How to use:
 *   1. initialise EAL, open or create ethdev ports; port.h has one call for each kind of port, which does step 3, too
 *   2. uroce_engine_create(): how many lcores and who polls them
 *   3. uroce_device_create() for each port
 *   4. uroce_engine_start(), or call uroce_lcore_poll() in a loop of your own
 *   5. PDs, MRs, CQs, QPs; post and poll
 *   6. destroy in the opposite order
 *
 * Threads: any thread may call, one at a time per object that is created or destroyed. One thread polls an lcore. Calls
 * that set up or remove a queue run on its lcore: if another thread owns that lcore and does not poll it for 10 s, they
 * return -ETIMEDOUT.
 */
#ifndef UROCE_DEVICE_H
#define UROCE_DEVICE_H

#include <uroce/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rte_mempool;

/* What an lcore does after a poll that found no work. */
enum uroce_idle {
	UROCE_IDLE_POLL,  /* polls on: for dedicated cores */
	UROCE_IDLE_YIELD, /* gives the core to other threads after a while: for shared cores */
	/* sleeps after a while as uroce_lcore_wait() does, for at most 50 us if frames would not end the sleep */
	UROCE_IDLE_SLEEP
};

/* A zeroed configuration is valid: one lcore, polled by the application. */
struct uroce_engine_config {
	/* EAL worker lcores to run on, each once; NULL: the application calls uroce_lcore_poll() */
	const unsigned *lcore_ids;
	unsigned lcore_count; /* 0 means 1; at most UROCE_LCORES_MAX */
	enum uroce_idle idle;
	uint32_t max_qps; /* QPs per engine, those for datagrams included; 0 means 4096 */
	uint32_t max_mrs; /* regions and windows per device; 0 means 4096 */
	/*
	 * Place no byte before its ICRC is known; costs a fifth of the throughput. Use it for memory that one peer
	 * writes to while another peer may read it, or that the application reads while READs fill it: otherwise a
	 * damaged packet may lie there for a moment.
	 */
	bool check_icrc_first;
	bool no_cnp;   /* packets that a switch has marked (ECN) draw no congestion notification, but are counted */
	bool ack_each; /* each message is ACKed when it has come, not once for a burst: sooner, but more expensive */
};

#define UROCE_LCORES_MAX 64
#define UROCE_ADDRS_MAX 8
#define UROCE_INTERFACE_BYTES 16 /* bytes of an interface's name, with the terminating zero */

/*
 * One port. If mac is all zeros the device has the port's own MAC or, if the port has none, a random locally
 * administered one. QPs of the device are owned by the lcores that serve its queues.
 */
struct uroce_device_config {
	uint16_t port_id;     /* ethdev port, configured and started */
	uint16_t queue_count; /* rx/tx queue pairs set up, at most the engine's lcores; 0 means 1 */
	uint16_t first_lcore; /* queue i is served by lcore (first_lcore + i) modulo the engine's lcores */
	struct uroce_mac mac;
	uint32_t addr_count;
	struct uroce_addr addrs[UROCE_ADDRS_MAX];
	/* prefix length of the address with the same index: 24 for 10.0.0.1/24; 0: all peers are neighbours */
	uint8_t prefix_bits[UROCE_ADDRS_MAX];
	/*
	 * A peer outside an address's prefix is reached through the gateway, whose MAC is asked for (ARP, neighbour
	 * discovery). The gateway has to be a neighbour, or a link-local address (fe80::/10). Zeros: no gateway, so
	 * such a peer cannot be reached.
	 */
	struct uroce_addr gateways[UROCE_ADDRS_MAX];
	struct uroce_vlan vlans[UROCE_ADDRS_MAX]; /* VLAN of paths that name none, by the index of their source */
	uint32_t mtu_bytes;     /* largest path MTU, which the port must pass: 256 ... 4096; 0 means 4096 */
	bool rx_checksums_done; /* the port drops frames with a wrong IP or UDP checksum, or marks them */
	/* mbufs to send from, each with room for RTE_PKTMBUF_HEADROOM, the MTU and 128 bytes of headers */
	struct rte_mempool *pool;
};

struct uroce_device_info {
	uint16_t port_id;
	struct uroce_mac mac;
	uint32_t addr_count;
	struct uroce_addr addrs[UROCE_ADDRS_MAX];
	uint8_t prefix_bits[UROCE_ADDRS_MAX];
	struct uroce_addr gateways[UROCE_ADDRS_MAX];
	struct uroce_vlan vlans[UROCE_ADDRS_MAX];
	uint32_t mtu_bytes;
	char interface[UROCE_INTERFACE_BYTES]; /* the kernel's interface under the port; "": none */
	uint32_t port_mtu_bytes;               /* as uroce_port_mtu() */
	uint32_t link_mbps;                    /* as uroce_port_link_mbps() when the device was queried */
	uint32_t max_sge, max_inline_bytes, max_rd_atomic;
	uint32_t max_queue_depth; /* entries of a send, receive or shared receive queue */
	uint32_t max_cq_depth;
	uint32_t max_qps; /* of the engine; its devices share them */
	uint32_t max_mrs; /* regions and windows of the device together */
};
/* Memory alone limits PDs, CQs, SRQs and paths of datagrams. */

/* Returns 0; -EINVAL: a count is out of range, uroce_last_error() (log.h) says which; -ENOMEM. */
UROCE_API int uroce_engine_create(const struct uroce_engine_config *config, struct uroce_engine **engine);
/* Launches the engine's EAL lcores. Returns 0; -EINVAL: the application polls them; -EBUSY: an lcore is in use. */
UROCE_API int uroce_engine_start(struct uroce_engine *engine);
/* Stops the lcores and waits for them. */
UROCE_API void uroce_engine_stop(struct uroce_engine *engine);
/* Returns 0; -EBUSY while a device or a channel of connections exists. Stops the lcores first if they run. */
UROCE_API int uroce_engine_destroy(struct uroce_engine *engine);

/* Returns how many lcores the engine has. */
UROCE_API unsigned uroce_engine_lcore_count(const struct uroce_engine *engine);
/* Returns `idle` of the engine's configuration. */
UROCE_API enum uroce_idle uroce_engine_idle(const struct uroce_engine *engine);
/* Returns the lcore of this index, 0 ... uroce_engine_lcore_count() - 1; NULL: the engine has fewer lcores. */
UROCE_API struct uroce_lcore *uroce_engine_lcore(struct uroce_engine *engine, unsigned index);
/* Returns the index of an lcore in its engine, from 0 on. */
UROCE_API unsigned uroce_lcore_index(const struct uroce_lcore *lcore);
/*
 * Runs one poll on the calling thread, which from then on owns the lcore's QPs. Control calls by that thread act at
 * once. Calls of other threads wait for the next poll; if no poll comes within 10 s they return -ETIMEDOUT, and nothing
 * has changed. Returns a measure of the work done: frames received and sent, completions written, posts of other
 * threads taken, timers expired, and calls of other threads carried out; 0 if there was no work. A timer fires only if
 * it was already due when the poll before this one began: so frames that came while nobody polled are received first.
 */
UROCE_API unsigned uroce_lcore_poll(struct uroce_lcore *lcore);

/*
 * For a thread that polls an lcore and shares its core: sleeps until a frame has come, one of the caller's descriptors
 * (at most 16) is readable, another thread has posted a request or made a call, a timer of the lcore is due, or most_ns
 * have passed; the call does not sleep if a poll is due. Two kinds of ports wake the thread when a frame comes:
 * net_af_packet ports, and NICs with interrupts that were opened for an engine with UROCE_IDLE_SLEEP. With such a NIC
 * the call polls once before it sleeps. If the lcore serves any other port, uroce_lcore_wakes() returns false: then
 * choose a short most_ns.
 */
UROCE_API void uroce_lcore_wait(struct uroce_lcore *lcore, const int *fds, unsigned fd_count, uint64_t most_ns);
/* Does a frame that comes to any port of the lcore end uroce_lcore_wait()? */
UROCE_API bool uroce_lcore_wakes(const struct uroce_lcore *lcore);

/*
 * The longest IP packet that a port passes whole, in bytes; 0: no limit is known. A path MTU needs UROCE_PACKET_BYTES
 * more. Drivers of virtual ports do not tell this length; for net_af_packet and net_memif it follows from their
 * arguments.
 */
UROCE_API uint32_t uroce_port_mtu(uint16_t port_id);
#define UROCE_PACKET_BYTES 88 /* headers around a payload: IPv6, UDP, BTH, the longest extensions, pad and ICRC */

/* Is the port's link up? Asks its driver and, if there is one, the kernel's interface under it. */
UROCE_API bool uroce_port_link_is_up(uint16_t port_id);

/*
 * The speed of the port's link in Mbit/s; 0: not known, as with loops, shared memory and files. If a kernel interface
 * lies under the port, that interface is asked, because net_af_packet and net_tap report the same speed for every link.
 */
UROCE_API uint32_t uroce_port_link_mbps(uint16_t port_id);

/*
 * Returns 0; -EINVAL, and uroce_last_error() says what: no address, one that no host can have (uroce_addr_unusable()),
 * a gateway outside its prefix, bad VLAN, bad MTU, more queues than the port has, mbufs too small for the MTU, or a
 * port that strips VLAN tags (then nobody knows to which VLAN a frame belongs); -ENODEV: no such port; -ENETDOWN: the
 * port has not been configured and started; -EMSGSIZE: the port's frames are too short for the MTU, see
 * uroce_port_mtu(); -EBUSY: the port has a device; -ENOSPC: the engine has 16 devices; -ENOMEM; -ETIMEDOUT: an lcore
 * is not polled. Nobody is asked whether an address is in use: uroce_port_open() (port.h) does that.
 */
UROCE_API int uroce_device_create(struct uroce_engine *engine, const struct uroce_device_config *config,
				  struct uroce_device **device);
/*
 * Returns 0; -EBUSY while a PD or CQ of the device exists, or a path of another device's QP leads through its port;
 * -ETIMEDOUT: an lcore is not polled, and the device still exists.
 */
UROCE_API int uroce_device_destroy(struct uroce_device *device);
/* Fills in *info: the configuration in force, the limits, and the link as it is now. */
UROCE_API void uroce_device_query(const struct uroce_device *device, struct uroce_device_info *info);

#ifdef __cplusplus
}
#endif
#endif
