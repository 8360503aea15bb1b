/* port.h - starts EAL and opens ports, in an archive of its own (liburoce_ports.a) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How to use:
 *   1. uroce_eal_start(), or start EAL yourself
 *   2. uroce_engine_create()
 *   3. uroce_port_open() for each port: (*port)->device is ready for PDs, CQs and QPs
 *   4. uroce_port_close() for each, uroce_engine_destroy(), uroce_eal_stop()
 * The library proper needs none of this: it takes any ethdev port that is configured and started (device.h). uroce's
 * own programs use these calls. A call that fails sets *error: what is wrong, the value, and the fix.
 *
 * Threads: any thread may call, one at a time.
 */
#ifndef UROCE_PORT_H
#define UROCE_PORT_H

#include <uroce/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define UROCE_EAL_DEVICES_MAX 8

/* How to start EAL; zeros are good defaults. */
struct uroce_eal_config {
	/* EAL's own arguments, beginning with the program's name. They are not overridden. */
	int argc;
	const char *const *argv;
	/* Ports that will be opened, so that EAL scans the PCI bus only for NICs among them. */
	const char *devices[UROCE_EAL_DEVICES_MAX];
	unsigned worker_count; /* EAL lcores wanted besides the main one, which is the calling thread */
	unsigned memory_mib;   /* 0: 256 */
	bool main_is_busy;     /* the calling thread polls an lcore itself, so it gets a core of its own */
	bool last_core;        /* EAL uses the last cores: for one of two processes on a machine */
};

/* How EAL was started. */
struct uroce_eal_info {
	bool hugepages;
	bool shared_cores;   /* two busy lcores share a core */
	unsigned core_count; /* cores that the process may use */
	unsigned worker_count;
	unsigned worker_ids[UROCE_LCORES_MAX]; /* for lcore_ids of struct uroce_engine_config */
};

/*
 * Starts EAL: with hugepages if enough are free, else without; without PCI unless a device needs it; sharing nothing
 * with other processes, and leaving no file behind. If the start fails, *error has what DPDK complained about. Returns
 * 0; -EINVAL: an argument; -EALREADY: EAL has been started in this process; -EACCES and other errors of EAL.
 */
UROCE_API int uroce_eal_start(const struct uroce_eal_config *config, struct uroce_error *error);
/* All zeros before uroce_eal_start(). */
UROCE_API void uroce_eal_query(struct uroce_eal_info *info);
/* All ports must be closed. EAL cannot be started again in this process. */
UROCE_API void uroce_eal_stop(void);

/*
 * Installs a handler of SIGSEGV and SIGBUS, so that memory which disappears while it is registered ends a QP and not
 * the process: see uroce_memory_fault() in mr.h. Faults of other code go on to the handler that the program has
 * installed before or installs later with sigaction() or signal(), or else end the process as always. Each thread that
 * polls must have both signals unblocked. All programs of uroce and uroce-run call this. Further calls do nothing.
 * Thread-safe.
 */
UROCE_API void uroce_guard_install(void);

/* How to open a port. Zeros are good defaults, except for engine and addresses. */
struct uroce_port_config {
	struct uroce_engine *engine;            /* NULL: the port is set up and started, but has no device */
	const char *addresses[UROCE_ADDRS_MAX]; /* "10.0.0.1/24", "fe80::1/64"; NULL ends the list */
	/* gateway of the address with the same index: "10.0.0.254"; NULL: none */
	const char *gateways[UROCE_ADDRS_MAX];
	struct uroce_vlan vlans[UROCE_ADDRS_MAX]; /* VLAN of the address with the same index */
	struct uroce_mac mac;                     /* zeros: the port's own, or a random one */
	/*
	 * The addresses are used at once. Otherwise the network is asked for 0.45 s whether another station has one
	 * (RFC 5227, RFC 4862). Ports without a network, as loops and net_memif, and without a link never ask.
	 */
	bool no_dad;
	uint32_t mtu_bytes; /* the largest path MTU, 256 ... 4096; 0: the largest that passes */
	/*
	 * pairs of rx and tx queues, fewer if the driver offers no more; 0: one per lcore of the engine, which serves
	 * it; without an engine one
	 */
	uint16_t queue_count;
	uint16_t first_lcore;      /* the lcore of queue 0, as in struct uroce_device_config */
	uint16_t rx_desc, tx_desc; /* ring sizes, adjusted to the port's limits; 0: 1024 */
	uint32_t mbuf_count;       /* mbufs in the port's pool; 0: enough for the rings and the engine */
	uint32_t mbuf_bytes;       /* bytes in an mbuf; 0: a frame of path MTU 4096 fits into one */
	/*
	 * A directory. When a queue pair of the device fails, two files are written there: a pcapng file with the
	 * headers of its last frames, 160 in each direction, which names the wrong frame, and a text that explains the
	 * failure. NULL: no file is written.
	 */
	const char *record_path;
};

/* An open port. Do not write to it. */
struct uroce_port {
	struct uroce_device *device; /* NULL when no engine was given */
	const char *name;            /* EAL's name: "net_memif0" */
	const char *driver;          /* "net_memif" */
	uint16_t port_id;
	/* queues set up: with net_af_packet all queues of the port, or the kernel would lose frames */
	uint16_t queue_count;
	uint32_t packet_bytes;    /* longest IP packet that passes whole; 0: the driver knows no limit */
	uint32_t mtu_bytes;       /* the device's largest path MTU */
	bool rx_checksums_done;   /* as in struct uroce_device_config */
	struct rte_mempool *pool; /* the port's own pool, from which you may take mbufs to send, too */
};

/*
 * Checks what uroce_port_open() would refuse, as far as that is known without side effects: the name, the addresses,
 * mtu_bytes, record_path, whether the interface or the PCI device exists, whether an address is in use on this machine,
 * and for a loop the ring size and, with an engine, the queue count. Drivers of virtual devices are checked once EAL
 * runs. engine may be NULL. Opens nothing and changes nothing. Returns as uroce_port_open().
 */
UROCE_API int uroce_port_check(const char *name, const struct uroce_port_config *config, struct uroce_error *error);

/*
 * Opens a port by its name and makes a device of it:
 *   "net_memif0,role=server"  a virtual device, made unless EAL has it already
 *   "0000:01:00.0"            a NIC
 *   "eth1"                    an interface of the kernel, over a packet socket (net_af_packet)
 *   "loop"                    one end of a pair in this process; the next such call opens the other end of it
 * 0; -EINVAL: the name, an address or a number; -ENODEV: no such port, or its driver refuses it; -EBUSY: the port is in
 * use; -EADDRINUSE: another program of this network namespace has an address, or another station of the network, or,
 * on a packet socket, the kernel; -EMSGSIZE: its frames are too short for the path MTU; -ENOMEM; -ENOSPC: the port has
 * more queues than lcores to serve them, or there are too many devices, loops or recorded ports; -EPERM: EAL has not
 * been started; -EAGAIN: the other end has to be there first, as the server of a net_memif; or the driver's error.
 * After an error nothing is left open, *port is NULL, and *error, if given, is set.
 */
UROCE_API int uroce_port_open(const char *name, const struct uroce_port_config *config, struct uroce_port **port,
			      struct uroce_error *error);
/*
 * Destroys the device, closes the port and frees its pool; the two ends of a loop share a pool, freed with the second.
 * Returns 0; -EBUSY: the device has a PD or CQ, or the port is captured, and nothing has changed; or the number of
 * mbufs that are still in use, and then the pool is not freed.
 */
UROCE_API int uroce_port_close(struct uroce_port *port);

#ifdef __cplusplus
}
#endif
#endif
