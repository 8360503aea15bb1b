/* quirks.h - peculiarities of single drivers that ethdev cannot be asked for */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library proper knows single drivers only from here: it judges the path MTU of a port by this table, no matter who
 * opened the port. So the table is linked into both archives, and knows nothing of uroce. The files of drivers/ that
 * attach, make, guard or tune a port name its driver, too.
 */
#ifndef DRIVERS_QUIRKS_H
#define DRIVERS_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

/* Zeros: the driver is as ethdev describes it. */
struct drivers_quirks {
	const char *driver;

	/* The MTU that the driver reports means nothing: frames of any length pass, or those that fit one buffer. */
	bool any_length;
	const char *buffer_argument; /* the device argument with the length of a buffer; NULL: no such limit */
	uint32_t buffer_bytes;       /* the length if the argument is not given */
	uint32_t overhead_bytes;     /* bytes of a buffer that an IP packet cannot use */

	/*
	 * Each queue receives what one queue of the other end sends, as with rings and shared memory. Then the frames
	 * of a QP of the peer, which sends from one queue, are received on one queue only, and so is the request for
	 * its connection.
	 */
	bool wired_queues;

	/* no network is behind the port, but one other end or files: nobody else can have its addresses */
	bool has_no_network;
	bool is_packet_socket; /* a packet socket of the kernel; see packet_socket.h */
	/* the driver spreads flows over all its queues: a queue that is not set up would swallow its share */
	bool needs_all_queues;
	bool spreads_flows;     /* the driver spreads flows over its queues without offering RSS */
	bool no_link_interrupt; /* the driver announces link interrupts, but raises none */
	bool no_rx_interrupt;   /* the driver turns interrupts of frames on, but not all are raised */
	bool invents_speed;     /* the driver reports the same link speed whatever is below it */
	/* where the driver can filter VLANs it drops tagged frames, unless it knows the VLAN or is promiscuous */
	bool drops_tags;
	/* when the peer goes the driver unmaps shared memory under a burst that uses it; see drivers_guard_bursts() */
	bool unmaps_in_use;
	bool asks_once;          /* the driver of a client asks its server for a link only at the start */
	const char *not_started; /* why a port does not start; NULL: for the usual reasons */
};

/* The quirks of the port's driver; for most drivers a row of zeros. */
const struct drivers_quirks *drivers_quirks_of(const struct rte_eth_dev_info *info);

/* The same before there is a port: by the name of a virtual device, such as "net_memif0". */
const struct drivers_quirks *drivers_quirks_of_name(const char *name);

/* Do the device arguments make the port a server, of a net_memif? */
bool drivers_quirks_is_server(const struct rte_eth_dev_info *info);

/* The number in a device argument such as "framesz=4096"; 0: it is not given. */
uint32_t drivers_quirks_argument(const struct rte_eth_dev_info *info, const char *key);

/*
 * The longest IP packet that the driver passes whole; 0: no limit is known. The interface below it may have its own
 * limit.
 */
uint32_t drivers_quirks_mtu(uint16_t port_id, const struct rte_eth_dev_info *info);

#endif
