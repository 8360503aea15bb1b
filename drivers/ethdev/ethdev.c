/* ethdev.c - sets up queues, offloads and pool of a port, and asks for less when the port refuses */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <uroce/device.h>

#include "drivers/ethdev/ethdev.h"
#include "drivers/ethdev/packet_socket.h"
#include "drivers/ethdev/quirks.h"
#include "drivers/guard/guard.h"

/* room that a driver may need in front of a frame, in the same mbuf: virtio a header and a VLAN tag */
#define DRIVER_BYTES 64u
#define MTU_BYTES 4200u
#define DESC_DEFAULT 1024u
#define CACHE_MBUFS 256u
#define LINK_POLL_MS 10u
#define SERVER_TRY_MS 500u
#define SERVER_TRIES 8u
#define PACKET_SOCKET_FRAMES 512u /* the driver's default for framecnt */

#define RX_CHECKSUMS (RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM)
#define TX_WISHES (RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE | RTE_ETH_TX_OFFLOAD_MULTI_SEGS)
#define RSS_WISHES (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP)

int drivers_error_set(struct uroce_error *error, int code, const char *format, ...)
{
	va_list arguments;

	if (error == NULL)
		return code;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof(error->text), format, arguments);
	va_end(arguments);
	return code;
}

struct rte_mempool *drivers_ethdev_pool_create(const char *name, uint32_t mbuf_count, uint32_t frame_bytes,
					       int numa_node, struct uroce_error *error)
{
	uint32_t room = RTE_ALIGN(frame_bytes, RTE_CACHE_LINE_SIZE) + RTE_PKTMBUF_HEADROOM;
	struct rte_mempool *pool;

	if (room > UINT16_MAX || mbuf_count < 2 * CACHE_MBUFS) {
		drivers_error_set(
			error, -EINVAL,
			"cannot create a pool of %u mbufs of %u bytes: use at least %u mbufs of up to %u bytes",
			mbuf_count, frame_bytes, 2 * CACHE_MBUFS,
			UINT16_MAX - RTE_CACHE_LINE_SIZE - RTE_PKTMBUF_HEADROOM);
		return NULL;
	}
	pool = rte_pktmbuf_pool_create(name, mbuf_count, CACHE_MBUFS, 0, (uint16_t)room, numa_node);
	if (pool == NULL)
		drivers_error_set(
			error, -rte_errno,
			"no memory for %u mbufs of %u bytes (%s): give EAL more memory with -m, or use fewer mbufs",
			mbuf_count, room, rte_strerror(rte_errno));
	return pool;
}

unsigned drivers_ethdev_pool_destroy(struct rte_mempool *pool)
{
	unsigned missing = rte_mempool_in_use_count(pool);

	if (missing == 0)
		rte_mempool_free(pool);
	return missing;
}

static int find_port(const struct drivers_ethdev_config *config, struct drivers_ethdev *port, struct uroce_error *error)
{
	port->port_id = config->port_id;
	if (config->name && rte_eth_dev_get_port_by_name(config->name, &port->port_id) != 0)
		return drivers_error_set(error, -ENODEV,
					 "there is no port %s: its driver rejected the device (--log-level=8 shows the "
					 "reason), or EAL was started without the device",
					 config->name);
	if (!rte_eth_dev_is_valid_port(port->port_id))
		return drivers_error_set(error, -ENODEV, "there is no port %u: EAL has %u ports", port->port_id,
					 rte_eth_dev_count_avail());
	return rte_eth_dev_get_name_by_port(port->port_id, port->name);
}

static bool link_interrupts_come(const struct rte_eth_dev_info *info)
{
	return info->dev_flags && (*info->dev_flags & RTE_ETH_DEV_INTR_LSC) &&
	       !drivers_quirks_of(info)->no_link_interrupt;
}

static const char *why_not_started(const struct rte_eth_dev_info *info, int result)
{
	if (drivers_quirks_of(info)->not_started)
		return drivers_quirks_of(info)->not_started;
	if (result == -EPERM)
		return "the port requires root, or the capabilities CAP_NET_RAW and CAP_NET_ADMIN";
	return "check that the device or interface of the port is up and not in use";
}

/* Chooses as many queues as are wanted, or as the driver offers. */
static void choose_queues(const struct drivers_ethdev_config *config, const struct rte_eth_dev_info *info,
			  struct drivers_ethdev *port)
{
	uint16_t wanted = config->queue_count ? config->queue_count : 1;

	port->queues_offered = RTE_MIN(info->max_rx_queues, info->max_tx_queues);
	port->queue_count = RTE_MIN(port->queues_offered, DRIVERS_ETHDEV_QUEUES_MAX);
	if (!drivers_quirks_of(info)->needs_all_queues)
		port->queue_count = RTE_MIN(port->queue_count, wanted);
}

static void choose_rings(const struct drivers_ethdev_config *config, struct drivers_ethdev *port)
{
	port->rx_desc = config->rx_desc ? config->rx_desc : DESC_DEFAULT;
	port->tx_desc = config->tx_desc ? config->tx_desc : DESC_DEFAULT;
	rte_eth_dev_adjust_nb_rx_tx_desc(port->port_id, &port->rx_desc, &port->tx_desc);
}

static int choose_pool(const struct drivers_ethdev_config *config, const struct rte_eth_dev_info *info,
		       struct drivers_ethdev *port, struct uroce_error *error)
{
	uint32_t count = config->mbuf_count, frame_bytes = config->mbuf_bytes;
	char name[RTE_MEMPOOL_NAMESIZE];

	port->pool = config->pool;
	if (port->pool)
		return 0;
	if (count == 0)
		count = port->queue_count * (port->rx_desc + port->tx_desc + DRIVERS_ENGINE_MBUFS) - 1;
	if (frame_bytes == 0)
		frame_bytes = DRIVERS_FRAME_BYTES + DRIVER_BYTES;
	frame_bytes = RTE_MAX(frame_bytes, info->min_rx_bufsize);
	/* A packet socket needs room for a whole frame of its ring, with the kernel's header. */
	if (drivers_quirks_of(info)->is_packet_socket)
		frame_bytes = RTE_MAX(frame_bytes, drivers_quirks_argument(info, "framesz"));
	snprintf(name, sizeof(name), "uroce_port%u", port->port_id);
	port->pool = drivers_ethdev_pool_create(name, count, frame_bytes, rte_eth_dev_socket_id(port->port_id), error);
	port->own_pool = port->pool != NULL;
	return port->pool ? 0 : -ENOMEM;
}

static bool mtu_is_possible(const struct rte_eth_dev_info *info, uint16_t mtu_bytes)
{
	uint32_t frame_bytes = (uint32_t)mtu_bytes + RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;

	return mtu_bytes <= info->max_mtu && frame_bytes <= info->max_rx_pktlen;
}

/* DPDK complains of ports in software that are asked for interrupts. */
static bool rx_interrupts_come(const struct rte_eth_dev_info *info)
{
	bool is_nic = strcmp(rte_bus_name(rte_dev_bus(info->device)), "vdev") != 0;

	return is_nic && !drivers_quirks_of(info)->no_rx_interrupt;
}

/*
 * Asks for everything that the port offers, then for less and less, because drivers announce more than they take. mtu
 * 0: the port's own. pieces: a frame may come in several mbufs.
 */
static int configure(const struct drivers_ethdev_config *config, const struct rte_eth_dev_info *info,
		     struct drivers_ethdev *port, bool pieces)
{
	uint16_t mtu_bytes = config->mtu_bytes ? config->mtu_bytes : MTU_BYTES;
	uint64_t required = pieces ? RTE_ETH_RX_OFFLOAD_SCATTER : 0;
	struct rte_eth_conf conf = {
		.intr_conf.lsc = link_interrupts_come(info),
		.intr_conf.rxq = config->rx_interrupts && rx_interrupts_come(info),
		.rxmode.offloads =
			required | ((info->rx_offload_capa & RX_CHECKSUMS) == RX_CHECKSUMS ? RX_CHECKSUMS : 0),
		.txmode.offloads = info->tx_offload_capa & TX_WISHES,
		.rx_adv_conf.rss_conf.rss_hf = info->flow_type_rss_offloads & RSS_WISHES,
	};
	int result;

	if (mtu_is_possible(info, mtu_bytes))
		conf.rxmode.mtu = mtu_bytes;
	if (port->queue_count > 1 && conf.rx_adv_conf.rss_conf.rss_hf)
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	result = rte_eth_dev_configure(port->port_id, port->queue_count, port->queue_count, &conf);
	if (result && conf.intr_conf.rxq) {
		conf.intr_conf.rxq = 0;
		result = rte_eth_dev_configure(port->port_id, port->queue_count, port->queue_count, &conf);
	}
	if (result && conf.rxmode.mtu) {
		conf.rxmode.mtu = 0;
		result = rte_eth_dev_configure(port->port_id, port->queue_count, port->queue_count, &conf);
	}
	if (result && (conf.rxmode.offloads != required || conf.txmode.offloads)) {
		conf.rxmode.offloads = required;
		conf.txmode.offloads = 0;
		result = rte_eth_dev_configure(port->port_id, port->queue_count, port->queue_count, &conf);
	}
	if (result && conf.rxmode.mq_mode != RTE_ETH_MQ_RX_NONE) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE;
		result = rte_eth_dev_configure(port->port_id, port->queue_count, port->queue_count, &conf);
	}
	port->rx_checksums_done = result == 0 && (conf.rxmode.offloads & RX_CHECKSUMS) == RX_CHECKSUMS;
	port->spreads_flows = conf.rxmode.mq_mode != RTE_ETH_MQ_RX_NONE || drivers_quirks_of(info)->spreads_flows;
	return result;
}

static int set_up_queues(const struct rte_eth_dev_info *info, const struct drivers_ethdev *port)
{
	int node = rte_eth_dev_socket_id(port->port_id);
	struct rte_eth_rxconf rx = info->default_rxconf;
	struct rte_eth_txconf tx = info->default_txconf;
	int result = 0;

	/* The offloads of the port hold for each queue; the defaults may have more. */
	rx.offloads = tx.offloads = 0;
	for (uint16_t queue = 0; queue < port->queue_count && result == 0; queue++) {
		result = rte_eth_rx_queue_setup(port->port_id, queue, port->rx_desc, (unsigned)node, &rx, port->pool);
		if (result == 0)
			result = rte_eth_tx_queue_setup(port->port_id, queue, port->tx_desc, (unsigned)node, &tx);
	}
	return result;
}

/*
 * If the driver's longest frame does not fit into an mbuf, the driver must be allowed to use several. Only the driver
 * knows what fits, because it needs room in front of and behind a frame. So one mbuf is tried first, where it looks
 * long enough, because drivers are slower with frames in pieces.
 */
static int configure_with_queues(const struct drivers_ethdev_config *config, const struct rte_eth_dev_info *info,
				 struct drivers_ethdev *port, struct uroce_error *error)
{
	bool offered = info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER;
	uint32_t room = rte_pktmbuf_data_room_size(port->pool) - RTE_PKTMBUF_HEADROOM;
	bool pieces = offered && room < DRIVERS_FRAME_BYTES;
	int result = configure(config, info, port, pieces);

	if (result)
		return drivers_error_set(error, result,
					 "port %s rejected %u rx/tx queue pairs even with offloads disabled (%s): "
					 "check whether another program uses the port",
					 port->name, port->queue_count, rte_strerror(-result));
	result = set_up_queues(info, port);
	if (result && offered && !pieces && configure(config, info, port, true) == 0)
		result = set_up_queues(info, port);
	if (result == 0)
		return 0;
	return drivers_error_set(error, result,
				 "port %s rejected a queue of %u receive and %u transmit descriptors with mbufs of %u "
				 "bytes (%s): use other ring sizes or larger mbufs",
				 port->name, port->rx_desc, port->tx_desc, room, rte_strerror(-result));
}

/* Reads what the driver has made of the settings, as far as it tells. */
static void read_back(struct drivers_ethdev *port)
{
	struct rte_eth_rxq_info rx;
	struct rte_eth_txq_info tx;

	if (rte_eth_rx_queue_info_get(port->port_id, 0, &rx) == 0 && rx.nb_desc) {
		port->rx_desc = rx.nb_desc;
		port->frames_in_pieces = rx.scattered_rx;
	}
	if (rte_eth_tx_queue_info_get(port->port_id, 0, &tx) == 0 && tx.nb_desc)
		port->tx_desc = tx.nb_desc;
}

static bool mac_is_zero(const struct uroce_mac *mac)
{
	static const struct uroce_mac none;

	return memcmp(mac, &none, sizeof(none)) == 0;
}

/*
 * Makes the port pass frames that are addressed to the stack. A port that cannot be told this usually passes all
 * frames. The VLANs that paths will use are not known yet.
 */
static void open_filters(const struct drivers_ethdev_config *config, const struct rte_eth_dev_info *info,
			 struct drivers_ethdev *port)
{
	bool drops_tags =
		drivers_quirks_of(info)->drops_tags && (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_FILTER);
	struct rte_ether_addr own;

	if (rte_eth_macaddr_get(port->port_id, &own) == 0)
		memcpy(port->mac.bytes, own.addr_bytes, sizeof(port->mac.bytes));
	port->has_own_mac = !mac_is_zero(&port->mac);
	if (!port->has_own_mac || drops_tags ||
	    (!mac_is_zero(&config->mac) && memcmp(&config->mac, &port->mac, sizeof(port->mac)) != 0))
		rte_eth_promiscuous_enable(port->port_id);
	rte_eth_allmulticast_enable(port->port_id); /* neighbour discovery asks by multicast */
}

/* A value of a device argument, or else the driver's default. */
static uint32_t argument_or(const struct rte_eth_dev_info *info, const char *key, uint32_t usual)
{
	uint32_t value = drivers_quirks_argument(info, key);

	return value ? value : usual;
}

static struct drivers_packet_ring packet_ring_of(const struct rte_eth_dev_info *info)
{
	return (struct drivers_packet_ring){
		.block_bytes = argument_or(info, "blocksz", (uint32_t)getpagesize()),
		.frame_bytes = argument_or(info, "framesz", drivers_quirks_of(info)->buffer_bytes),
		.frame_count = argument_or(info, "framecnt", PACKET_SOCKET_FRAMES),
	};
}

static bool was_configured(uint16_t port_id)
{
	struct rte_eth_conf conf;

	return rte_eth_dev_conf_get(port_id, &conf) != 0 || conf.rxmode.mtu != 0;
}

/* The driver may already be in the middle of the rings of a port that somebody has used before. */
static int regroup_packet_sockets(const struct rte_eth_dev_info *info, const struct drivers_ethdev *port,
				  struct uroce_error *error)
{
	const struct drivers_packet_ring ring = packet_ring_of(info);
	int result;

	if (!drivers_quirks_of(info)->is_packet_socket || was_configured(port->port_id))
		return 0;
	result = drivers_packet_socket_regroup(info->if_index, &ring);
	if (result == 0)
		return 0;
	return drivers_error_set(error, result, "port %s: its packet sockets cannot leave their fanout group (%s)",
				 port->name, rte_strerror(-result));
}

/*
 * The client of a memif asks its server once, at the start. The server refuses it while it has another client, and
 * perhaps while it is just beginning. Then the driver leaves the link down for ever, so the port is started again now
 * and then.
 */
static int await_server(const struct rte_eth_dev_info *info, const struct drivers_ethdev *port,
			struct uroce_error *error)
{
	int result = 0;

	if (!drivers_quirks_of(info)->asks_once || drivers_quirks_is_server(info))
		return 0;
	for (unsigned tries = 0; !drivers_ethdev_link_is_up(port, SERVER_TRY_MS, NULL); tries++) {
		if (tries == SERVER_TRIES || result)
			return drivers_error_set(
				error, -EAGAIN,
				"port %s has no link after %u s: its socket has another client, or the server does not "
				"answer; end the other client, or give each client its own socket and server",
				port->name, SERVER_TRY_MS * SERVER_TRIES / 1000);
		rte_eth_dev_stop(port->port_id);
		result = rte_eth_dev_start(port->port_id);
	}
	return 0;
}

static int set_up(const struct drivers_ethdev_config *config, const struct rte_eth_dev_info *info,
		  struct drivers_ethdev *port, struct uroce_error *error)
{
	const struct drivers_packet_ring ring = packet_ring_of(info);
	int result;

	choose_queues(config, info, port);
	choose_rings(config, port);
	result = regroup_packet_sockets(info, port, error);
	if (result == 0)
		result = choose_pool(config, info, port, error);
	if (result == 0)
		result = configure_with_queues(config, info, port, error);
	if (result)
		return result;
	result = rte_eth_dev_start(port->port_id);
	if (result)
		return drivers_error_set(error, drivers_quirks_of(info)->not_started ? -EAGAIN : result,
					 "port %s does not start (%s): %s", port->name, rte_strerror(-result),
					 why_not_started(info, result));
	result = await_server(info, port, error);
	if (result)
		return result;
	if (drivers_quirks_of(info)->unmaps_in_use)
		drivers_guard_bursts(port->port_id);
	read_back(port);
	open_filters(config, info, port);
	if (drivers_quirks_of(info)->is_packet_socket)
		drivers_packet_socket_never_wait(info->if_index, &ring);
	port->mtu_bytes = uroce_port_mtu(port->port_id);
	return 0;
}

int drivers_ethdev_open(const struct drivers_ethdev_config *config, struct drivers_ethdev *port,
			struct uroce_error *error)
{
	struct rte_eth_dev_info info;
	int result;

	memset(port, 0, sizeof(*port));
	result = find_port(config, port, error);
	if (result)
		return result;
	result = rte_eth_dev_info_get(port->port_id, &info);
	if (result)
		return drivers_error_set(error, result, "port %s returns no device information (%s)", port->name,
					 rte_strerror(-result));
	snprintf(port->driver, sizeof(port->driver), "%s", info.driver_name ? info.driver_name : "unknown");
	result = set_up(config, &info, port, error);
	if (result == 0) {
		/* Some drivers look at the link only when they are asked the first time. */
		drivers_ethdev_link_is_up(port, 0, NULL);
		return 0;
	}
	rte_eth_dev_stop(port->port_id);
	if (port->own_pool)
		rte_mempool_free(port->pool);
	return result;
}

unsigned drivers_ethdev_close(struct drivers_ethdev *port)
{
	unsigned missing = 0;

	rte_eth_dev_stop(port->port_id);
	rte_eth_dev_close(port->port_id);
	if (port->own_pool)
		missing = drivers_ethdev_pool_destroy(port->pool);
	memset(port, 0, sizeof(*port));
	port->port_id = RTE_MAX_ETHPORTS;
	return missing;
}

bool drivers_ethdev_link_is_up(const struct drivers_ethdev *port, unsigned wait_ms, double *gbit_per_s)
{
	for (;;) {
		if (uroce_port_link_is_up(port->port_id))
			break;
		if (wait_ms == 0)
			return false;
		rte_delay_us_sleep(RTE_MIN(wait_ms, LINK_POLL_MS) * 1000);
		wait_ms -= RTE_MIN(wait_ms, LINK_POLL_MS);
	}
	if (gbit_per_s)
		*gbit_per_s = uroce_port_link_mbps(port->port_id) / 1000.0;
	return true;
}

int drivers_ethdev_stats(const struct drivers_ethdev *port, struct drivers_ethdev_stats *stats)
{
	struct rte_eth_stats now;
	int result = rte_eth_stats_get(port->port_id, &now);

	if (result)
		return result;
	*stats = (struct drivers_ethdev_stats){
		.rx_frames = now.ipackets,
		.tx_frames = now.opackets,
		.rx_bytes = now.ibytes,
		.tx_bytes = now.obytes,
		.rx_missed = now.imissed,
		.rx_errors = now.ierrors,
		.rx_no_mbuf = now.rx_nombuf,
		.tx_errors = now.oerrors,
	};
	return 0;
}
