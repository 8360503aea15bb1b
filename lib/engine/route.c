/* route.c - chooses source and next hop by the prefixes and gateways of a port's addresses */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/route.h"

#include <string.h>

#include "wire/encap.h"

int engine_route_find(const struct uroce_device_config *config, const uint8_t addr[16])
{
	for (uint32_t i = 0; i < config->addr_count; i++) {
		if (memcmp(config->addrs[i].bytes, addr, sizeof(config->addrs[i].bytes)) == 0)
			return (int)i;
	}
	return -1;
}

/* How many leading bits two addresses have in common. */
static unsigned common_bits(const struct uroce_addr *a, const struct uroce_addr *b)
{
	unsigned bits = 0;

	while (bits < 128 && !((a->bytes[bits / 8] ^ b->bytes[bits / 8]) >> (7 - bits % 8) & 1))
		bits++;
	return bits;
}

/* Do two addresses have the same first `bits`? An IPv4 prefix is counted after the 96 bits of the mapped form. */
static bool same_prefix(const struct uroce_addr *a, const struct uroce_addr *b, unsigned bits)
{
	return common_bits(a, b) >= bits + (encap_addr_is_ipv4(a->bytes) ? 96 : 0);
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
	return id <= UROCE_VLAN_ID_MAX && priority <= UROCE_VLAN_PRIORITY_MAX;
}

/*
 * How well an address suits as source for dest; 0: not at all. The order is that of RFC 6724: dest itself, then
 * addresses of the same scope. Among these, neighbours of dest come first, the longest prefix before shorter ones; then
 * come addresses with a gateway, the one with most leading bits of dest first.
 */
static unsigned suits(const struct uroce_device_config *config, uint32_t index, const struct uroce_addr *dest)
{
	enum { FAR = 1, NEIGHBOUR = 0x100, SCOPE = 0x200, ITSELF = 0x400 };
	const struct uroce_addr *own = &config->addrs[index];
	unsigned scope = is_link_local(own) == is_link_local(dest) ? SCOPE : 0;

	if (memcmp(own, dest, sizeof(*own)) == 0)
		return ITSELF;
	if (is_neighbour(config, index, dest))
		return scope + NEIGHBOUR + config->prefix_bits[index];
	if (encap_addr_is_ipv4(own->bytes) != encap_addr_is_ipv4(dest->bytes) || !is_set(&config->gateways[index]))
		return 0;
	return scope + FAR + common_bits(own, dest);
}

int engine_route_choose_source(const struct uroce_device_config *config, const struct uroce_addr *dest, unsigned *rank)
{
	int chosen = -1;

	*rank = 0;
	for (uint32_t i = 0; i < config->addr_count; i++) {
		unsigned one = suits(config, i, dest);

		if (one > *rank) {
			*rank = one;
			chosen = (int)i;
		}
	}
	return chosen;
}

int engine_route_find_wrong(const struct uroce_device_config *config)
{
	for (uint32_t i = 0; i < config->addr_count; i++) {
		if (!vlan_exists(config->vlans[i].id, config->vlans[i].priority))
			return (int)i;
		if (is_set(&config->gateways[i]) && (!is_neighbour(config, i, &config->gateways[i]) ||
						     engine_route_find(config, config->gateways[i].bytes) >= 0))
			return (int)i;
	}
	return -1;
}

bool engine_route_config_is_valid(const struct uroce_device_config *config)
{
	return engine_route_find_wrong(config) < 0;
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
