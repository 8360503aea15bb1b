/* quirks.h - what is peculiar to single drivers: they do not say it, and ethdev has no question for it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The only table of drivers by their names. It knows nothing of ours and stands in both archives: the library proper
 * judges the path MTU of a port by it, whoever has opened that.
 */
#ifndef DRIVERS_QUIRKS_H
#define DRIVERS_QUIRKS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

/* Zeros: as ethdev tells it. */
struct drivers_quirks {
	const char *driver;

	/* The MTU that it reports says nothing: frames of any length pass, or those that fit one buffer. */
	bool any_length;
	const char *buffer_argument; /* its argument that says how long a buffer is; NULL: there is no such limit */
	uint32_t buffer_bytes;       /* unless that is given */
	uint32_t overhead_bytes;     /* of a buffer, that no IP packet may use */

	/*
	 * A queue receives what one queue of the other end sends: so it is with rings and with shared memory. There a
	 * QP of the peer, which sends from one queue, is heard from one queue only, the request for its connection
	 * included.
	 */
	bool wired_queues;

	bool is_packet_socket;   /* of the kernel; see set_up_packet_socket() */
	bool needs_all_queues;   /* it fans flows out over all its queues: one that is not set up swallows its share */
	bool spreads_flows;      /* over its queues, though it offers no RSS */
	bool no_link_interrupt;  /* it announces one, and none comes */
	bool invents_speed;      /* of its link: the number is the same whatever is below it, or nothing is */
	bool drops_tags;         /* where it can filter VLANs: until it is told of one, or is promiscuous */
	const char *not_started; /* why it does not start; NULL: as with others */
};

/* Of the port's driver; a row of zeros for most. */
const struct drivers_quirks *drivers_quirks_of(const struct rte_eth_dev_info *info);

/* What an argument of a virtual port says, as in "framesz=4096"; 0: nothing. */
uint32_t drivers_quirks_argument(const struct rte_eth_dev_info *info, const char *key);

/* The longest IP packet that the driver passes whole; 0: no limit is known. An interface below it may have its own. */
uint32_t drivers_quirks_mtu(uint16_t port_id, const struct rte_eth_dev_info *info);

#endif
