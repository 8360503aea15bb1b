/* neighbour.c - reads and writes ARP, neighbour discovery and echo (W-8) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/neighbour.h"

#include <net/ethernet.h>
#include <net/if_arp.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "wire/bytes.h"
#include "wire/encap.h"

enum {
	ARP_BYTES = 28,
	ARP_FIXED_BYTES = 8, /* hardware, protocol, lengths and operation */
	ICMP_BYTES = 8,
	DISCOVERY_BYTES = 24, /* solicitations and advertisements of neighbours: ICMPv6 header, flags, target */
	LINK_OPTION_BYTES = 8,
	ADVERTISEMENT_SOLICITED = 0x40,
	ADVERTISEMENT_OVERRIDE = 0x20,
	DISCOVERY_HOP_LIMIT = 255, /* a lower hop limit shows that a router has forwarded the message */
	ECHO_HOP_LIMIT = 64
};

/* The fixed fields of ARP for Ethernet and IPv4. */
static const uint8_t arp_fixed[6] = { 0, 1, 0x08, 0x00, 6, 4 };
static const uint8_t all_nodes[16] = { 0xFF, 0x02, [15] = 1 };
static const uint8_t unspecified[16];

/* Can a single station have this MAC? A reply with another one would poison the table. */
static bool mac_is_station(const uint8_t *mac)
{
	return !(mac[0] & 1) && (load_be16(mac) != 0 || load_be32(mac + 2) != 0);
}

static bool ipv4_is_host(const uint8_t *addr)
{
	return addr[0] < 0xE0 && addr[0] != 127 && addr[0] != 0;
}

static uint16_t icmp6_sum(const uint8_t *ip, const uint8_t *icmp, uint32_t bytes)
{
	return wire_encap_sum(wire_encap_sum(0, ip + 8, 32) + bytes + IPPROTO_ICMPV6, icmp, bytes);
}

/* A message has an operation, and two pairs of addresses, whose lengths are known for Ethernet and IPv4. */
static bool arp_is_whole(const uint8_t *arp, uint32_t bytes)
{
	if (bytes < ARP_FIXED_BYTES || arp[4] == 0 || arp[5] == 0 || load_be16(arp + 6) == 0)
		return false;
	return bytes - ARP_FIXED_BYTES >= 2u * (arp[4] + arp[5]) &&
	       (memcmp(arp, arp_fixed, 4) != 0 || memcmp(arp + 4, arp_fixed + 4, 2) == 0);
}

static bool parse_arp(const uint8_t *arp, uint32_t bytes, struct wire_neighbour *neighbour)
{
	uint16_t operation;

	if (!arp_is_whole(arp, bytes))
		return false;
	operation = load_be16(arp + 6);
	if (memcmp(arp, arp_fixed, sizeof(arp_fixed)) != 0 ||
	    (operation != ARPOP_REQUEST && operation != ARPOP_REPLY)) {
		neighbour->kind = WIRE_NEIGHBOUR_OTHER;
		return true;
	}
	neighbour->has_sender_mac = true;
	memcpy(neighbour->sender_mac, arp + 8, 6);
	encap_map_ipv4(neighbour->sender, arp + 14);
	if (operation == ARPOP_REQUEST) {
		neighbour->kind = WIRE_NEIGHBOUR_REQUEST;
		neighbour->probe = load_be32(arp + 14) == 0;
		encap_map_ipv4(neighbour->target, arp + 24);
		return ipv4_is_host(arp + 24) && (neighbour->probe || ipv4_is_host(arp + 14));
	}
	neighbour->kind = WIRE_NEIGHBOUR_REPLY;
	neighbour->solicited = memcmp(arp + 14, arp + 24, 4) != 0;
	memcpy(neighbour->target, neighbour->sender, 16);
	return ipv4_is_host(arp + 14);
}

static bool parse_icmp(const uint8_t *ip, struct wire_neighbour *neighbour)
{
	uint32_t bytes = load_be16(ip + 2) - (uint32_t)WIRE_IPV4_BYTES;
	const uint8_t *icmp = ip + WIRE_IPV4_BYTES;

	if (bytes < ICMP_BYTES || wire_encap_sum(0, icmp, bytes) != 0xFFFF)
		return false;
	neighbour->kind = icmp[0] == ICMP_ECHO      ? WIRE_NEIGHBOUR_ECHO :
			  icmp[0] == ICMP_ECHOREPLY ? WIRE_NEIGHBOUR_ECHOED :
						      WIRE_NEIGHBOUR_OTHER;
	neighbour->echo = load_be32(icmp + 4);
	return neighbour->kind == WIRE_NEIGHBOUR_OTHER || (icmp[1] == 0 && ipv4_is_host(ip + 12));
}

/* Reads the link-layer address option of the wanted type. Returns false if the options are malformed. */
static bool parse_options(const uint8_t *p, uint32_t bytes, uint8_t wanted, struct wire_neighbour *neighbour)
{
	uint32_t option_bytes;

	for (; bytes > 0; p += option_bytes, bytes -= option_bytes) {
		if (bytes < 8 || p[1] == 0 || p[1] * 8u > bytes)
			return false;
		option_bytes = p[1] * 8u;
		if (p[0] != wanted || option_bytes != LINK_OPTION_BYTES)
			continue;
		neighbour->has_sender_mac = true;
		memcpy(neighbour->sender_mac, p + 2, 6);
	}
	return true;
}

/* A solicited-node group ends with the last 3 bytes of the address that is asked for. */
static void solicited_node(uint8_t group[16], const uint8_t target[16])
{
	static const uint8_t prefix[13] = { 0xFF, 0x02, [11] = 1, [12] = 0xFF };

	memcpy(group, prefix, sizeof(prefix));
	memcpy(group + 13, target + 13, 3);
}

static bool parse_solicitation(const uint8_t *ip, const uint8_t *icmp, uint32_t bytes, struct wire_neighbour *neighbour)
{
	uint8_t group[16];

	neighbour->kind = WIRE_NEIGHBOUR_REQUEST;
	neighbour->probe = memcmp(ip + 8, unspecified, 16) == 0;
	memcpy(neighbour->target, icmp + 8, 16);
	if (!parse_options(icmp + DISCOVERY_BYTES, bytes - DISCOVERY_BYTES, ND_OPT_SOURCE_LINKADDR, neighbour))
		return false;
	if (!neighbour->probe)
		return true;
	solicited_node(group, neighbour->target);
	return memcmp(ip + 24, group, 16) == 0 && !neighbour->has_sender_mac;
}

static bool parse_advertisement(const uint8_t *ip, const uint8_t *icmp, uint32_t bytes,
				struct wire_neighbour *neighbour)
{
	neighbour->kind = WIRE_NEIGHBOUR_REPLY;
	neighbour->solicited = (icmp[4] & ADVERTISEMENT_SOLICITED) != 0;
	memcpy(neighbour->target, icmp + 8, 16);
	if (neighbour->solicited && ip[24] == 0xFF)
		return false;
	return parse_options(icmp + DISCOVERY_BYTES, bytes - DISCOVERY_BYTES, ND_OPT_TARGET_LINKADDR, neighbour);
}

/* Where the options of a discovery message begin (RFC 4861); 0: it is another message. */
static uint32_t discovery_bytes(uint8_t type)
{
	switch (type) {
	case ND_ROUTER_SOLICIT:
		return sizeof(struct nd_router_solicit);
	case ND_ROUTER_ADVERT:
		return sizeof(struct nd_router_advert);
	case ND_NEIGHBOR_SOLICIT:
	case ND_NEIGHBOR_ADVERT:
		return DISCOVERY_BYTES;
	case ND_REDIRECT:
		return sizeof(struct nd_redirect);
	default:
		return 0;
	}
}

static bool parse_discovery(const uint8_t *ip, const uint8_t *icmp, uint32_t bytes, struct wire_neighbour *neighbour)
{
	uint32_t options_at = discovery_bytes(icmp[0]);

	if (bytes < options_at || icmp[1] != 0 || ip[7] != DISCOVERY_HOP_LIMIT)
		return false;
	if (options_at == DISCOVERY_BYTES && icmp[8] == 0xFF)
		return false;
	if (icmp[0] == ND_NEIGHBOR_SOLICIT)
		return parse_solicitation(ip, icmp, bytes, neighbour);
	if (icmp[0] == ND_NEIGHBOR_ADVERT)
		return parse_advertisement(ip, icmp, bytes, neighbour);
	neighbour->kind = WIRE_NEIGHBOUR_OTHER;
	return parse_options(icmp + options_at, bytes - options_at, 0, neighbour);
}

static bool parse_icmp6(const uint8_t *ip, struct wire_neighbour *neighbour)
{
	const uint8_t *icmp = ip + WIRE_IPV6_BYTES;
	uint32_t bytes = load_be16(ip + 4);

	if (bytes < ICMP_BYTES || icmp6_sum(ip, icmp, bytes) != 0xFFFF)
		return false;
	if (discovery_bytes(icmp[0]))
		return parse_discovery(ip, icmp, bytes, neighbour);
	neighbour->kind = icmp[0] == ICMP6_ECHO_REQUEST ? WIRE_NEIGHBOUR_ECHO :
			  icmp[0] == ICMP6_ECHO_REPLY   ? WIRE_NEIGHBOUR_ECHOED :
							  WIRE_NEIGHBOUR_OTHER;
	neighbour->echo = load_be32(icmp + 4);
	return neighbour->kind == WIRE_NEIGHBOUR_OTHER || (icmp[1] == 0 && memcmp(ip + 8, unspecified, 16) != 0);
}

bool wire_neighbour_parse(const uint8_t *frame, uint32_t bytes, struct wire_neighbour *neighbour)
{
	struct wire_encap encap;
	enum wire_frame kind = wire_encap_parse(frame, bytes, true, &encap);
	const uint8_t *start = frame + encap.ip_offset;
	bool good = false;

	*neighbour = (struct wire_neighbour){ .vlan = encap.vlan, .vlan_tci = encap.vlan_tci };
	memcpy(neighbour->sender_mac, encap.source_mac, 6);
	memcpy(neighbour->sender, encap.source, 16);
	memcpy(neighbour->target, encap.dest, 16);
	if (kind == WIRE_FRAME_ARP)
		good = parse_arp(start, bytes - encap.ip_offset, neighbour);
	else if (kind == WIRE_FRAME_ICMP)
		good = parse_icmp(start, neighbour);
	else if (kind == WIRE_FRAME_ICMP6)
		good = parse_icmp6(start, neighbour);
	if (!good || !mac_is_station(neighbour->sender_mac)) {
		neighbour->kind = WIRE_NEIGHBOUR_NONE;
		return false;
	}
	return true;
}

static uint8_t *build_ethernet(const uint8_t *dest_mac, const uint8_t *our_mac, uint16_t ethertype, uint8_t *out)
{
	memcpy(out, dest_mac, 6);
	memcpy(out + 6, our_mac, 6);
	store_be16(out + 12, ethertype);
	return out + ETHER_HDR_LEN;
}

/* A MAC that is asked for is NULL, and written as zeros. */
static uint32_t build_arp(uint16_t operation, const uint8_t *our_mac, const uint8_t *our_addr,
			  const uint8_t *target_mac, const uint8_t *target, uint8_t *out)
{
	static const uint8_t broadcast[6] = { 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF };
	uint8_t *arp = build_ethernet(target_mac ? target_mac : broadcast, our_mac, ETHERTYPE_ARP, out);

	memcpy(arp, arp_fixed, sizeof(arp_fixed));
	store_be16(arp + 6, operation);
	memcpy(arp + 8, our_mac, 6);
	memcpy(arp + 14, our_addr + 12, 4);
	if (target_mac)
		memcpy(arp + 18, target_mac, 6);
	else
		memset(arp + 18, 0, 6);
	memcpy(arp + 24, target + 12, 4);
	return ETHER_HDR_LEN + ARP_BYTES;
}

/* A discovery message: type, flags, target, and our MAC in the option that belongs to the type; 0: without option. */
struct discovery {
	const uint8_t *dest_mac;
	const uint8_t *dest;
	const uint8_t *target;
	uint8_t type;
	uint8_t flags;
	uint8_t option;
};

static uint32_t build_discovery(const struct discovery *message, const uint8_t *our_mac, const uint8_t *our_addr,
				uint8_t *out)
{
	const uint32_t bytes = DISCOVERY_BYTES + (message->option ? LINK_OPTION_BYTES : 0);
	uint8_t *ip = build_ethernet(message->dest_mac, our_mac, ETHERTYPE_IPV6, out);
	uint8_t *icmp = ip + WIRE_IPV6_BYTES;

	store_be32(ip, 6u << 28);
	store_be16(ip + 4, (uint16_t)bytes);
	ip[6] = IPPROTO_ICMPV6;
	ip[7] = DISCOVERY_HOP_LIMIT;
	memcpy(ip + 8, our_addr, 16);
	memcpy(ip + 24, message->dest, 16);
	memset(icmp, 0, 8);
	icmp[0] = message->type;
	icmp[4] = message->flags;
	memcpy(icmp + 8, message->target, 16);
	if (message->option) {
		icmp[24] = message->option;
		icmp[25] = LINK_OPTION_BYTES / 8;
		memcpy(icmp + 26, our_mac, 6);
	}
	store_be16(icmp + 2, (uint16_t)~icmp6_sum(ip, icmp, bytes));
	return ETHER_HDR_LEN + WIRE_IPV6_BYTES + bytes;
}

/* The Ethernet address of an IPv6 multicast group. */
static void multicast_mac(uint8_t mac[6], const uint8_t group[16])
{
	mac[0] = 0x33;
	mac[1] = 0x33;
	memcpy(mac + 2, group + 12, 4);
}

/* Without a MAC option if it comes from the unspecified address. */
static uint32_t build_solicitation(const uint8_t *our_mac, const uint8_t *our_addr, const uint8_t *target,
				   uint8_t option, uint8_t *out)
{
	uint8_t group[16], mac[6];
	struct discovery message = {
		.dest_mac = mac,
		.dest = group,
		.target = target,
		.type = ND_NEIGHBOR_SOLICIT,
		.option = option,
	};

	solicited_node(group, target);
	multicast_mac(mac, group);
	return build_discovery(&message, our_mac, our_addr, out);
}

uint32_t wire_neighbour_request(const uint8_t our_mac[6], const uint8_t our_addr[16], const uint8_t target[16],
				uint8_t *out)
{
	return encap_addr_is_ipv4(target) ? build_arp(ARPOP_REQUEST, our_mac, our_addr, NULL, target, out) :
					    build_solicitation(our_mac, our_addr, target, ND_OPT_SOURCE_LINKADDR, out);
}

uint32_t wire_neighbour_probe(const uint8_t our_mac[6], const uint8_t target[16], uint8_t *out)
{
	return encap_addr_is_ipv4(target) ? build_arp(ARPOP_REQUEST, our_mac, unspecified, NULL, target, out) :
					    build_solicitation(our_mac, unspecified, target, 0, out);
}

uint32_t wire_neighbour_announce(const uint8_t our_mac[6], const uint8_t our_addr[16], uint8_t *out)
{
	const struct wire_neighbour asked_by_all = { .probe = true };

	return encap_addr_is_ipv4(our_addr) ? build_arp(ARPOP_REQUEST, our_mac, our_addr, NULL, our_addr, out) :
					      wire_neighbour_reply(our_mac, our_addr, &asked_by_all, our_mac, out);
}

uint32_t wire_neighbour_reply(const uint8_t our_mac[6], const uint8_t our_addr[16],
			      const struct wire_neighbour *request, const uint8_t dest_mac[6], uint8_t *out)
{
	uint8_t all_nodes_mac[6];
	struct discovery message = {
		.dest_mac = dest_mac,
		.dest = request->sender,
		.target = our_addr,
		.type = ND_NEIGHBOR_ADVERT,
		.flags = ADVERTISEMENT_SOLICITED | ADVERTISEMENT_OVERRIDE,
		.option = ND_OPT_TARGET_LINKADDR,
	};
	uint32_t bytes;

	if (encap_addr_is_ipv4(our_addr)) {
		bytes = build_arp(ARPOP_REPLY, our_mac, our_addr, dest_mac, request->sender, out);
	} else {
		if (request->probe) {
			multicast_mac(all_nodes_mac, all_nodes);
			message.dest_mac = all_nodes_mac;
			message.dest = all_nodes;
			message.flags = ADVERTISEMENT_OVERRIDE;
		}
		bytes = build_discovery(&message, our_mac, our_addr, out);
	}
	return request->vlan ? wire_neighbour_tag(out, bytes, request->vlan_tci) : bytes;
}

static void build_echo(uint8_t *icmp, uint8_t type, uint32_t echo, uint32_t bytes)
{
	memset(icmp, 0, bytes);
	icmp[0] = type;
	store_be32(icmp + 4, echo);
}

uint32_t wire_neighbour_echo(const uint8_t our_mac[6], const uint8_t our_addr[16], const uint8_t dest_mac[6],
			     const uint8_t target[16], uint32_t echo, uint32_t ip_bytes, uint8_t *out)
{
	bool ipv4 = encap_addr_is_ipv4(target);
	uint8_t *ip = build_ethernet(dest_mac, our_mac, ipv4 ? ETHERTYPE_IP : ETHERTYPE_IPV6, out);
	uint8_t *icmp = ip + (ipv4 ? WIRE_IPV4_BYTES : WIRE_IPV6_BYTES);
	uint32_t bytes = ip_bytes - (uint32_t)(icmp - ip);

	build_echo(icmp, ipv4 ? ICMP_ECHO : ICMP6_ECHO_REQUEST, echo, bytes);
	memset(ip, 0, (size_t)(icmp - ip));
	if (ipv4) {
		ip[0] = 0x45;
		store_be16(ip + 2, (uint16_t)ip_bytes);
		store_be16(ip + 6, IP_DF);
		ip[8] = ECHO_HOP_LIMIT;
		ip[9] = IPPROTO_ICMP;
		memcpy(ip + 12, our_addr + 12, 4);
		memcpy(ip + 16, target + 12, 4);
		store_be16(ip + 10, (uint16_t)~wire_encap_sum(0, ip, WIRE_IPV4_BYTES));
		store_be16(icmp + 2, (uint16_t)~wire_encap_sum(0, icmp, bytes));
	} else {
		ip[0] = 0x60;
		store_be16(ip + 4, (uint16_t)bytes);
		ip[6] = IPPROTO_ICMPV6;
		ip[7] = ECHO_HOP_LIMIT;
		memcpy(ip + 8, our_addr, 16);
		memcpy(ip + 24, target, 16);
		store_be16(icmp + 2, (uint16_t)~icmp6_sum(ip, icmp, bytes));
	}
	return ETHER_HDR_LEN + ip_bytes;
}

uint32_t wire_neighbour_tag(uint8_t *frame, uint32_t bytes, uint16_t vlan_tci)
{
	memmove(frame + 12 + WIRE_VLAN_BYTES, frame + 12, bytes - 12);
	store_be16(frame + 12, ETHERTYPE_VLAN);
	store_be16(frame + 14, vlan_tci);
	return bytes + WIRE_VLAN_BYTES;
}

static void swap_bytes(uint8_t *a, uint8_t *b, uint32_t bytes)
{
	uint8_t kept[16];

	memcpy(kept, a, bytes);
	memcpy(a, b, bytes);
	memcpy(b, kept, bytes);
}

void wire_neighbour_echo_reply(uint8_t *frame, uint32_t bytes)
{
	uint8_t *ip = frame + ETHER_HDR_LEN, *icmp;
	uint32_t icmp_bytes;

	(void)bytes; /* the parser has checked that the IP length fits the frame */
	if (load_be16(frame + 12) == ETHERTYPE_VLAN)
		ip += WIRE_VLAN_BYTES;
	swap_bytes(frame, frame + 6, 6);
	if (ip[0] >> 4 == 4) {
		icmp = ip + WIRE_IPV4_BYTES;
		swap_bytes(ip + 12, ip + 16, 4);
		ip[8] = ECHO_HOP_LIMIT;
		store_be16(ip + 10, 0);
		store_be16(ip + 10, (uint16_t)~wire_encap_sum(0, ip, WIRE_IPV4_BYTES));
		icmp[0] = ICMP_ECHOREPLY;
		store_be16(icmp + 2, 0);
		icmp_bytes = load_be16(ip + 2) - (uint32_t)WIRE_IPV4_BYTES;
		store_be16(icmp + 2, (uint16_t)~wire_encap_sum(0, icmp, icmp_bytes));
	} else {
		icmp = ip + WIRE_IPV6_BYTES;
		swap_bytes(ip + 8, ip + 24, 16);
		ip[7] = ECHO_HOP_LIMIT;
		icmp[0] = ICMP6_ECHO_REPLY;
		store_be16(icmp + 2, 0);
		store_be16(icmp + 2, (uint16_t)~icmp6_sum(ip, icmp, load_be16(ip + 4)));
	}
}
