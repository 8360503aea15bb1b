/* route.c - prefixes and gateways of a port's addresses */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/route.h"

#include <string.h>

#include "wire/encap.h"

#define VLAN_RESERVED 0xFFFu
#define VLAN_PRIORITY_MAX 7u

int engine_route_find(const struct uroce_device_config *config, const uint8_t addr[16])
{
	for (uint32_t i = 0; i < config->addr_count; i++) {
		if (memcmp(config->addrs[i].bytes, addr, sizeof(config->addrs[i].bytes)) == 0)
			return (int)i;
	}
	return -1;
}

/* Are the first `bits` of two addresses the same? IPv4 prefixes count behind the 96 bits of the mapping. */
static bool same_prefix(const struct uroce_addr *a, const struct uroce_addr *b, unsigned bits)
{
	if (encap_addr_is_ipv4(a->bytes))
		bits += 96;
	for (unsigned i = 0; i < 16 && bits > 0; i++) {
		uint8_t mask = bits >= 8 ? 0xFF : (uint8_t)(0xFF << (8 - bits));

		if ((a->bytes[i] ^ b->bytes[i]) & mask)
			return false;
		bits = bits >= 8 ? bits - 8 : 0;
	}
	return true;
}

/* fe80::/10 never leaves its link, whatever the prefixes say. */
static bool is_link_local(const struct uroce_addr *addr)
{
	return addr->bytes[0] == 0xFE && (addr->bytes[1] & 0xC0) == 0x80;
}

static bool is_neighbour(const struct uroce_device_config *config, uint32_t index, const struct uroce_addr *addr)
{
	const struct uroce_addr *own = &config->addrs[index];

	if (encap_addr_is_ipv4(own->bytes) != encap_addr_is_ipv4(addr->bytes))
		return false;
	return is_link_local(addr) || same_prefix(own, addr, config->prefix_bits[index]);
}

static bool is_set(const struct uroce_addr *addr)
{
	static const struct uroce_addr none;

	return memcmp(addr, &none, sizeof(none)) != 0;
}

static bool vlan_exists(uint16_t id, uint8_t priority)
{
	return id < VLAN_RESERVED && priority <= VLAN_PRIORITY_MAX;
}

bool engine_route_config_is_valid(const struct uroce_device_config *config)
{
	for (uint32_t i = 0; i < config->addr_count; i++) {
		if (!vlan_exists(config->vlans[i].id, config->vlans[i].priority))
			return false;
		if (is_set(&config->gateways[i]) && (!is_neighbour(config, i, &config->gateways[i]) ||
						     engine_route_find(config, config->gateways[i].bytes) >= 0))
			return false;
	}
	return true;
}

void engine_route_complete(const struct uroce_device_config *config, struct uroce_path *path)
{
	int index = engine_route_find(config, path->source.bytes);

	if (index < 0 || path->vlan_id || path->vlan_priority)
		return;
	path->vlan_id = config->vlans[index].id;
	path->vlan_priority = config->vlans[index].priority;
}

bool engine_route_begins_here(const struct uroce_device_config *config, const struct uroce_path *path)
{
	return engine_route_find(config, path->source.bytes) >= 0 &&
	       encap_addr_is_ipv4(path->source.bytes) == encap_addr_is_ipv4(path->dest.bytes) &&
	       vlan_exists(path->vlan_id, path->vlan_priority);
}

const struct uroce_addr *engine_route_next_hop(const struct uroce_device_config *config, const struct uroce_path *path)
{
	int index = engine_route_find(config, path->source.bytes);

	if (index >= 0 && is_neighbour(config, (uint32_t)index, &path->dest))
		return &path->dest;
	return index >= 0 && is_set(&config->gateways[index]) ? &config->gateways[index] : NULL;
}
