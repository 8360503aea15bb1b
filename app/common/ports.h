/* ports.h - from the name of a device and an address to an open port and a uroce device on it */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device is named
 *   "net_af_packet0,iface=eth0"  a virtual one: give the same text to app_eal_start()
 *   "0000:01:00.0"               a NIC
 *   "net_memif0"                 one that the user gave to EAL
 * "loop" is no single port: app_loop_open() makes two.
 */
#ifndef APP_COMMON_PORTS_H
#define APP_COMMON_PORTS_H

#include <uroce/uroce.h>

#include "drivers/ethdev/ethdev.h"
#include "drivers/loop/loop.h"

/* As in struct uroce_path. */
struct app_vlan {
	uint16_t id;
	uint8_t priority;
};

/* Zeros are defaults, but for the engine, device and address. */
struct app_port_config {
	struct uroce_engine *engine;
	const char *device;
	const char *loop_name;                  /* app_loop_open(): NULL for the first loop of the process */
	const char *addresses[UROCE_ADDRS_MAX]; /* "10.0.0.1/24"; NULL: none more */
	struct uroce_mac mac;
	uint32_t mtu_bytes; /* path MTU: 256 ... 4096 */
	uint16_t queue_count, first_lcore;
	uint16_t rx_desc, tx_desc;
	uint32_t mbuf_count, mbuf_bytes;
	struct app_vlan vlan;
};

struct app_port {
	struct drivers_ethdev ethdev;
	struct uroce_device *device;
	struct uroce_addr addr; /* the first one */
	struct app_vlan vlan;   /* of all paths from there */
	bool in_loop;           /* the loop closes the port */
};

struct app_loop {
	struct drivers_loop loop;
	struct app_port ports[2];
};

/* Each returns APP_EXIT_OK, or what to exit with; the reason has been printed. */
int app_port_open(const struct app_port_config *config, struct app_port *port);

/*
 * Two devices back to back. device is ignored; addresses[0] is of the first, addresses[1] of the second; NULL:
 * 10.0.0.1/24 and 10.0.0.2/24. The second one's queues start at lcore first_lcore + second_lcore_offset.
 */
int app_loop_open(const struct app_port_config *config, uint16_t second_lcore_offset, struct app_loop *loop);

/* Destroys the device and closes the port; whatever uses the device is gone by then. */
void app_port_close(struct app_port *port);
void app_loop_close(struct app_loop *loop);

/* "10.0.0.1/24" to its parts, with a complaint when it is none. APP_EXIT_OK or APP_EXIT_USAGE. */
int app_address_parse(const char *text, struct uroce_addr *addr, unsigned *prefix_bits);

/* "100" or "100:3", a VLAN and a priority, with a complaint when it is none. APP_EXIT_OK or APP_EXIT_USAGE. */
int app_vlan_parse(const char *option, const char *text, struct app_vlan *vlan);

#endif
