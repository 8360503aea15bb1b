/* addresses.c - asks the kernel, other programs and the network whether the addresses of a port are free */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/port/addresses.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_cycles.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "drivers/ethdev/quirks.h"
#include "lib/engine/dad.h"
#include "lib/wire/encap.h"
#include "lib/wire/neighbour.h"

#define SETTLE_MS 50u
#define BURST 32u
#define POLL_US 500u

/* ---- the kernel ---- */

static bool is_addr(const struct sockaddr *socket, const struct uroce_addr *addr)
{
	struct uroce_addr mapped;

	if (socket == NULL)
		return false;
	if (socket->sa_family == AF_INET6)
		return memcmp(&((const struct sockaddr_in6 *)socket)->sin6_addr, addr, sizeof(*addr)) == 0;
	if (socket->sa_family != AF_INET)
		return false;
	encap_map_ipv4(mapped.bytes, (const uint8_t *)&((const struct sockaddr_in *)socket)->sin_addr);
	return memcmp(&mapped, addr, sizeof(mapped)) == 0;
}

/*
 * Is the address a host route (/32, /128)? Programs that look for a device by the kernel's addresses need that. The
 * kernel then answers with the MAC of the interface, which is the port's as well.
 */
static bool is_alias(const struct sockaddr *mask)
{
	if (mask && mask->sa_family == AF_INET)
		return ((const struct sockaddr_in *)mask)->sin_addr.s_addr == INADDR_NONE;
	return mask && mask->sa_family == AF_INET6 &&
	       ((const struct sockaddr_in6 *)mask)->sin6_addr.s6_addr[15] == 0xFF;
}

/* The kernel receives the frames of a packet socket, too, and answers on each interface for all of its addresses. */
static int check_kernel(const struct uroce_device_config *device, struct uroce_error *error)
{
	struct ifaddrs *all = NULL;
	char text[64];
	int code = 0;

	if (getifaddrs(&all) != 0)
		return 0;
	for (uint32_t i = 0; i < device->addr_count && code == 0; i++) {
		const struct ifaddrs *entry = all;

		while (entry && (!is_addr(entry->ifa_addr, &device->addrs[i]) || is_alias(entry->ifa_netmask)))
			entry = entry->ifa_next;
		if (entry)
			code = drivers_error_set(
				error, -EADDRINUSE,
				"the kernel has address %s on interface %s and would also answer packets to this "
				"address: use another address, or remove this address from the interface (ip address "
				"del)",
				uroce_addr_format(&device->addrs[i], text, sizeof(text)), entry->ifa_name);
	}
	freeifaddrs(all);
	return code;
}

/* ---- this machine ---- */

static int claim(const struct uroce_device_config *device, struct drivers_addresses *addresses,
		 struct uroce_error *error)
{
	char holder[DRIVERS_CLAIM_HOLDER_BYTES], text[64];
	int code = 0;

	for (; addresses->count < device->addr_count && code == 0; addresses->count++) {
		unsigned i = addresses->count;

		code = drivers_claim_take(&device->addrs[i], device->vlans[i].id, true, program_invocation_short_name,
					  &addresses->claims[i], holder);
		uroce_addr_format(&device->addrs[i], text, sizeof(text));
		if (code == -EADDRINUSE)
			drivers_error_set(error, code,
					  "%s is held by %s on this machine: use another address, or end that program",
					  text, holder);
		else if (code)
			drivers_error_set(error, code, "address %s cannot be reserved on this machine (%s)", text,
					  strerror(-code));
	}
	return code;
}

/* ---- the network ---- */

/* All addresses of a port, which are probed at the same time. */
struct probing {
	const struct drivers_ethdev *port;
	const struct uroce_device_config *device;
	struct engine_dad dads[UROCE_ADDRS_MAX];
	uint64_t settled_ns; /* frames that arrive before this time may be old */
};

static uint64_t time_ns(void)
{
	return rte_get_timer_cycles() * 1000 / (rte_get_timer_hz() / 1000000);
}

/* A frame that the port does not take is lost, as any frame may be. */
static void send_message(const struct probing *probing, unsigned index, bool announce)
{
	const struct engine_dad_claim *claim = &probing->dads[index].claim;
	const struct uroce_vlan *vlan = &probing->device->vlans[index];
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(probing->port->pool);
	uint8_t frame[WIRE_NEIGHBOUR_MAX_BYTES];
	uint32_t bytes;
	char *data;

	if (mbuf == NULL)
		return;
	bytes = announce ? wire_neighbour_announce(claim->mac.bytes, claim->addr.bytes, frame) :
			   wire_neighbour_probe(claim->mac.bytes, claim->addr.bytes, frame);
	if (vlan->id || vlan->priority)
		bytes = wire_neighbour_tag(frame, bytes, (uint16_t)(vlan->priority << 13 | vlan->id));
	data = rte_pktmbuf_append(mbuf, (uint16_t)bytes);
	if (data)
		memcpy(data, frame, bytes);
	if (data == NULL || rte_eth_tx_burst(probing->port->port_id, 0, &mbuf, 1) != 1)
		rte_pktmbuf_free(mbuf);
}

static void hear(struct probing *probing, struct rte_mbuf *mbuf)
{
	struct wire_neighbour heard;

	/* a message in several pieces is too long to be one of these */
	if (wire_neighbour_parse(rte_pktmbuf_mtod(mbuf, const uint8_t *), rte_pktmbuf_data_len(mbuf), &heard)) {
		for (unsigned i = 0; i < probing->device->addr_count; i++)
			engine_dad_hear(&probing->dads[i], &heard);
	}
	rte_pktmbuf_free(mbuf);
}

static void receive(struct probing *probing, uint64_t now_ns)
{
	struct rte_mbuf *burst[BURST];

	for (uint16_t queue = 0; queue < probing->port->queue_count; queue++) {
		uint16_t count = rte_eth_rx_burst(probing->port->port_id, queue, burst, BURST);

		for (uint16_t i = 0; i < count; i++) {
			if (now_ns >= probing->settled_ns)
				hear(probing, burst[i]);
			else
				rte_pktmbuf_free(burst[i]);
		}
	}
}

static int refuse_held(const struct engine_dad *dad, struct uroce_error *error)
{
	const uint8_t *mac = dad->holder.bytes;
	char text[64];

	return drivers_error_set(error, -EADDRINUSE,
				 "%s is held by %02x:%02x:%02x:%02x:%02x:%02x on this network: use another address",
				 uroce_addr_format(&dad->claim.addr, text, sizeof(text)), mac[0], mac[1], mac[2],
				 mac[3], mac[4], mac[5]);
}

/* Returns how many addresses are known to be free, or -EADDRINUSE. */
static int step(struct probing *probing, struct uroce_error *error)
{
	uint64_t now_ns = time_ns();
	int free_count = 0;

	receive(probing, now_ns);
	for (unsigned i = 0; i < probing->device->addr_count; i++) {
		switch (engine_dad_step(&probing->dads[i], now_ns)) {
		case DAD_WAIT:
			break;
		case DAD_PROBE:
			send_message(probing, i, false);
			break;
		case DAD_FREE:
			free_count++;
			break;
		case DAD_HELD:
			return refuse_held(&probing->dads[i], error);
		}
	}
	return free_count;
}

/*
 * settle_ms: a switch, or the NIC of a virtual machine, may have kept frames from before the port was opened, and gives
 * them to the port first. A probe among them is from a station that may have left.
 */
static int probe_all(const struct drivers_ethdev *port, const struct uroce_device_config *device, unsigned settle_ms,
		     struct uroce_error *error)
{
	static const struct uroce_mac none;
	struct probing probing = { .port = port, .device = device, .settled_ns = time_ns() + settle_ms * 1000000ull };
	int result;

	for (unsigned i = 0; i < device->addr_count; i++) {
		const struct engine_dad_claim claim = {
			.addr = device->addrs[i],
			.vlan_id = device->vlans[i].id,
			.mac = memcmp(&device->mac, &none, sizeof(none)) ? device->mac : port->mac,
		};

		engine_dad_begin(&probing.dads[i], &claim, time_ns());
	}
	while ((result = step(&probing, error)) >= 0 && result < (int)device->addr_count)
		rte_delay_us_sleep(POLL_US);
	for (unsigned i = 0; i < device->addr_count && result >= 0; i++)
		send_message(&probing, i, true);
	return result < 0 ? result : 0;
}

/* ---- all of them ---- */

static int take_here(const struct drivers_quirks *quirks, const struct uroce_device_config *device,
		     struct drivers_addresses *addresses, struct uroce_error *error)
{
	int code = quirks->is_packet_socket ? check_kernel(device, error) : 0;

	return code ? code : claim(device, addresses, error);
}

int drivers_addresses_check(const char *name, const struct uroce_device_config *device, struct uroce_error *error)
{
	const struct drivers_quirks *quirks = drivers_quirks_of_name(name);
	struct drivers_addresses addresses = { .count = 0 };
	int code = quirks->has_no_network ? 0 : take_here(quirks, device, &addresses, error);

	drivers_addresses_release(&addresses);
	return code;
}

int drivers_addresses_take(const struct drivers_ethdev *port, const struct uroce_device_config *device, bool probe,
			   unsigned link_ms, struct drivers_addresses *addresses, struct uroce_error *error)
{
	const struct drivers_quirks *quirks;
	struct rte_eth_dev_info info;
	int code;

	addresses->count = 0;
	if (rte_eth_dev_info_get(port->port_id, &info) != 0)
		return 0;
	quirks = drivers_quirks_of(&info);
	if (quirks->has_no_network)
		return 0;
	code = take_here(quirks, device, addresses, error);
	if (code == 0 && probe && drivers_ethdev_link_is_up(port, link_ms, NULL))
		code = probe_all(port, device, quirks->is_packet_socket ? 0 : SETTLE_MS, error);
	if (code)
		drivers_addresses_release(addresses);
	return code;
}

void drivers_addresses_release(struct drivers_addresses *addresses)
{
	for (unsigned i = 0; i < addresses->count; i++)
		drivers_claim_release(&addresses->claims[i]);
	addresses->count = 0;
}
