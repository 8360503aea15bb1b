/* loop.c - two net_ring ports with their rings crossed */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_bus_vdev.h>
#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "drivers/loop/loop.h"

#define RING_ENTRIES 1024u
#define RING_ENTRIES_MAX 65536u
#define NAME_MAX_CHARS 12u

int drivers_loop_check(const struct drivers_loop_config *config, struct uroce_error *error)
{
	if (config->queue_count > DRIVERS_ETHDEV_QUEUES_MAX)
		return drivers_error_set(error, -EINVAL, "cannot create a loop of %u queues: use up to %d",
					 config->queue_count, DRIVERS_ETHDEV_QUEUES_MAX);
	if (config->ring_entries && (config->ring_entries < 64 || config->ring_entries > RING_ENTRIES_MAX ||
				     !rte_is_power_of_2(config->ring_entries)))
		return drivers_error_set(
			error, -EINVAL,
			"cannot create a loop with rings of %u entries: use a power of two from 64 to %u",
			config->ring_entries, RING_ENTRIES_MAX);
	if (config->name && (strlen(config->name) > NAME_MAX_CHARS || config->name[0] == '\0'))
		return drivers_error_set(error, -EINVAL, "the loop's name '%s' must have 1 to %u characters",
					 config->name, NAME_MAX_CHARS);
	return 0;
}

/* One lcore polls queue q of a port, and one lcore of the other side fills it, so single-producer rings suffice. */
static int create_rings(const struct drivers_loop_config *config, const char *name, struct drivers_loop *loop,
			struct uroce_error *error)
{
	uint32_t entries = config->ring_entries ? config->ring_entries : RING_ENTRIES;
	char ring_name[RTE_RING_NAMESIZE];

	for (unsigned side = 0; side < 2; side++) {
		for (unsigned queue = 0; queue < loop->queue_count; queue++) {
			snprintf(ring_name, sizeof(ring_name), "%s_%u_%u", name, side, queue);
			loop->rings[side][queue] =
				rte_ring_create(ring_name, entries, config->numa_node, RING_F_SP_ENQ | RING_F_SC_DEQ);
			if (loop->rings[side][queue] == NULL)
				return drivers_error_set(error, -rte_errno,
							 "cannot create ring %s of %u entries (%s): use another name, "
							 "or give EAL more memory with -m",
							 ring_name, entries, rte_strerror(rte_errno));
		}
	}
	return 0;
}

static int create_ports(const struct drivers_loop_config *config, const char *name, struct drivers_loop *loop,
			struct uroce_error *error)
{
	char port_name[RTE_ETH_NAME_MAX_LEN];

	for (unsigned side = 0; side < 2; side++) {
		struct drivers_ethdev_config ethdev = { .queue_count = loop->queue_count, .pool = loop->pool };
		int port, result;

		snprintf(port_name, sizeof(port_name), "%s_%u", name, side);
		port = rte_eth_from_rings(port_name, loop->rings[side], loop->queue_count, loop->rings[!side],
					  loop->queue_count, (unsigned)config->numa_node);
		if (port < 0)
			return drivers_error_set(error, -rte_errno, "net_ring rejected port %s (%s)", port_name,
						 rte_strerror(rte_errno));
		ethdev.port_id = (uint16_t)port;
		result = drivers_ethdev_open(&ethdev, &loop->ports[side], error);
		if (result) {
			rte_eth_dev_close(ethdev.port_id);
			return result;
		}
	}
	return 0;
}

static void close_port(struct drivers_ethdev *port)
{
	char name[DRIVERS_ETHDEV_NAME_BYTES];

	if (port->name[0] == '\0')
		return;
	memcpy(name, port->name, sizeof(name));
	drivers_ethdev_close(port);
	rte_vdev_uninit(name); /* a closed port leaves its device on the bus, which would keep the name */
}

unsigned drivers_loop_close(struct drivers_loop *loop)
{
	struct rte_mbuf *mbuf;
	unsigned missing = 0;

	for (unsigned side = 0; side < 2; side++)
		close_port(&loop->ports[side]);
	for (unsigned side = 0; side < 2; side++) {
		for (unsigned queue = 0; queue < loop->queue_count; queue++) {
			struct rte_ring *ring = loop->rings[side][queue];

			while (ring && rte_ring_dequeue(ring, (void **)&mbuf) == 0)
				rte_pktmbuf_free(mbuf);
			rte_ring_free(ring);
		}
	}
	if (loop->pool)
		missing = drivers_ethdev_pool_destroy(loop->pool);
	memset(loop, 0, sizeof(*loop));
	return missing;
}

int drivers_loop_open(const struct drivers_loop_config *config, struct drivers_loop *loop, struct uroce_error *error)
{
	const char *name = config->name ? config->name : "uroce_loop";
	uint32_t entries = config->ring_entries ? config->ring_entries : RING_ENTRIES;
	uint32_t frame_bytes = config->mbuf_bytes ? config->mbuf_bytes : DRIVERS_FRAME_BYTES;
	uint32_t count;
	int result = drivers_loop_check(config, error);

	memset(loop, 0, sizeof(*loop));
	if (result)
		return result;
	loop->queue_count = config->queue_count ? config->queue_count : 1;
	count = config->mbuf_count ? config->mbuf_count : 2 * loop->queue_count * (entries + DRIVERS_ENGINE_MBUFS) - 1;
	loop->pool = drivers_ethdev_pool_create(name, count, frame_bytes, config->numa_node, error);
	result = loop->pool ? 0 : -ENOMEM;
	if (result == 0)
		result = create_rings(config, name, loop, error);
	if (result == 0)
		result = create_ports(config, name, loop, error);
	if (result)
		drivers_loop_close(loop);
	return result;
}
