/* port.h - starts EAL and opens ports, in an archive of its own (liburoce_ports.a) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How to use:
 *   1. uroce_eal_start(), or start EAL yourself
 *   2. uroce_engine_create()
 *   3. uroce_port_open() for each port: (*port)->device is ready for PDs, CQs and QPs
 *   4. uroce_port_close() for each, uroce_engine_destroy(), uroce_eal_stop()
 * The library proper needs none of this: it takes any ethdev port that is configured and started (device.h). What is
 * done here is what its own programs do. Each call that fails says in a sentence what is wrong, with which value, and
 * what helps. Calls may come from any thread, one at a time.
 */
#ifndef UROCE_PORT_H
#define UROCE_PORT_H

#include <uroce/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UROCE_EAL_DEVICES_MAX 8

/* How EAL is to be started; zeros are good. */
struct uroce_eal_config {
	/* EAL's own arguments, the name of the program first. What they decide stays as they say. */
	int argc;
	const char *const *argv;
	/* Ports that will be opened, so that EAL looks at the PCI bus for NICs among them, and at no others. */
	const char *devices[UROCE_EAL_DEVICES_MAX];
	unsigned worker_count; /* EAL lcores wanted besides the main one, which is the calling thread */
	unsigned memory_mib;   /* 0: 256 */
	bool main_is_busy;     /* the calling thread polls an lcore itself: it gets a core to itself, too */
	bool last_core;        /* takes cores from the other end: of two processes on one machine, one should */
};

/* How it was started. */
struct uroce_eal_info {
	bool hugepages;
	bool shared_cores;   /* two busy lcores have one core */
	unsigned core_count; /* that the process may use */
	unsigned worker_count;
	unsigned worker_ids[UROCE_LCORES_MAX]; /* for lcore_ids of struct uroce_engine_config */
};

/*
 * Starts EAL: with hugepages when enough are free, else without; without PCI unless a device wants it; sharing nothing
 * with other processes and leaving no file behind. What DPDK complains about meanwhile is kept, and told if it
 * matters. 0; -EINVAL: an argument; -EALREADY: EAL has been started in this process; -EACCES and others that EAL gives.
 */
UROCE_API int uroce_eal_start(const struct uroce_eal_config *config, struct uroce_error *error);
/* Zeros before uroce_eal_start(). */
UROCE_API void uroce_eal_query(struct uroce_eal_info *info);
/* The ports are closed. EAL cannot be started again by this process. */
UROCE_API void uroce_eal_stop(void);

/* How a port is to be opened. Zeros are good, but for engine and addresses. */
struct uroce_port_config {
	struct uroce_engine *engine;              /* NULL: the port is set up and started, and no device made of it */
	const char *addresses[UROCE_ADDRS_MAX];   /* "10.0.0.1/24", "fe80::1/64"; NULL: none more */
	const char *gateways[UROCE_ADDRS_MAX];    /* of the address in the same place: "10.0.0.254"; NULL: none */
	struct uroce_vlan vlans[UROCE_ADDRS_MAX]; /* of the address in the same place */
	struct uroce_mac mac;                     /* zeros: the port's own, or a random one */
	uint32_t mtu_bytes;                       /* the largest path MTU, 256 ... 4096; 0: the largest that passes */
	uint16_t queue_count;                     /* rx/tx queue pairs, or as many as the driver offers; 0: 1 */
	uint16_t first_lcore;                     /* that serves queue 0, as in struct uroce_device_config */
	uint16_t rx_desc, tx_desc;                /* ring sizes, adjusted to the port's limits; 0: 1024 */
	uint32_t mbuf_count;                      /* of the port's pool; 0: enough for the rings and the engine */
	uint32_t mbuf_bytes;                      /* room in an mbuf; 0: for a frame of path MTU 4096, in one piece */
	/*
	 * A directory: a queue pair of the device that fails leaves there its last frames, each way 160 headers, as a
	 * pcapng file that says what is wrong with which frame, and its story as text. NULL: it leaves nothing.
	 */
	const char *record_path;
};

/* An open port; to be read only. */
struct uroce_port {
	struct uroce_device *device; /* NULL when no engine was given */
	const char *name;            /* EAL's: "net_memif0" */
	const char *driver;          /* "net_memif" */
	uint16_t port_id;
	uint16_t queue_count;     /* set up: net_af_packet always has all, or the kernel would lose frames */
	uint32_t packet_bytes;    /* longest IP packet that passes whole; 0: the driver knows no limit */
	uint32_t mtu_bytes;       /* the device's largest path MTU */
	bool rx_checksums_done;   /* as in struct uroce_device_config */
	struct rte_mempool *pool; /* the port's own, to send from */
};

/*
 * Opens a port by its name and makes a device of it:
 *   "net_memif0,role=server"  a virtual device, made unless EAL has it already
 *   "0000:01:00.0"            a NIC
 *   "eth1"                    an interface of the kernel, over a packet socket (net_af_packet)
 *   "loop"                    one end of a pair in this process; the next such call opens the other end of it
 * 0; -EINVAL: the name, an address or a number; -ENODEV: no such port, or its driver refuses it; -EBUSY: it is in use;
 * -EMSGSIZE: its frames are too short for the path MTU; -ENOMEM; -EPERM: EAL has not been started; or what the driver
 * said. With an error nothing is left open, *port is NULL, and *error, when given, is set.
 */
UROCE_API int uroce_port_open(const char *name, const struct uroce_port_config *config, struct uroce_port **port,
			      struct uroce_error *error);
/*
 * Destroys the device, closes the port and frees its pool; both ends of a loop have one, freed with the second.
 * Returns 0; -EBUSY while the device has a PD or CQ, or the port is captured, and nothing has changed; or how many
 * mbufs somebody still holds, and the pool is kept.
 */
UROCE_API int uroce_port_close(struct uroce_port *port);

#ifdef __cplusplus
}
#endif
#endif
