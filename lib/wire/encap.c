/* encap.c - Ethernet, VLAN, IP and UDP headers: judged, read and written */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/encap.h"

#include <assert.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <string.h>

#include "wire/bytes.h"
#include "wire/packet.h"

enum { EXTENSIONS_MAX = 8 /* the most IPv6 extension headers that are read */ };

/* What the IP header says about its payload. */
struct ip_payload {
	const uint8_t *start;
	uint32_t claimed_bytes; /* payload according to the IP length */
	uint32_t frame_bytes;   /* bytes in the frame from `start` on */
	uint8_t protocol;
};

uint16_t wire_encap_sum(uint32_t start, const void *data, uint32_t bytes)
{
	const uint8_t *p = data;
	uint64_t sum = __builtin_bswap16((uint16_t)start);
	uint32_t word;

	/* Words are added as the machine loads them: the sum of byte-swapped words is the byte-swapped sum. */
	sum += __builtin_bswap16((uint16_t)(start >> 16));
	for (; bytes >= 4; bytes -= 4, p += 4) {
		memcpy(&word, p, sizeof(word));
		sum += word;
	}
	word = 0;
	memcpy(&word, p, bytes);
	sum += word;
	sum = (sum & 0xFFFFFFFF) + (sum >> 32);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	return __builtin_bswap16((uint16_t)sum);
}

/* Is the source multicast, broadcast or loopback? The unspecified address may be a source: DHCP and probes use it. */
static bool ipv4_source_is_bad(const uint8_t *source)
{
	return (source[0] & 0xF0) == 0xE0 || source[0] == 127 || load_be32(source) == 0xFFFFFFFF;
}

/*
 * Refuses mapped addresses: a struct wire_encap holds IPv4 addresses in that form, so mapped addresses would be taken
 * for IPv4 peers.
 */
static bool ipv6_addresses_are_bad(const uint8_t *source, const uint8_t *dest)
{
	static const uint8_t loopback[16] = { [15] = 1 };

	return source[0] == 0xFF || memcmp(source, loopback, 16) == 0 || encap_addr_is_ipv4(source) ||
	       encap_addr_is_ipv4(dest);
}

/* Reads the ports as far as the frame has them. Returns false if the datagram is not for RoCE. */
static bool peek_ports(const uint8_t *udp, uint32_t frame_bytes, struct wire_encap *encap)
{
	if (frame_bytes < 4)
		return true;
	encap->source_port = load_be16(udp);
	encap->dest_port = load_be16(udp + 2);
	return encap->dest_port == WIRE_UDP_PORT;
}

/* Judges and reads an IPv4 header. WIRE_FRAME_ROCE: the caller goes on with UDP. */
static enum wire_frame parse_ipv4(const uint8_t *ip, uint32_t bytes, bool check, struct wire_encap *encap,
				  struct ip_payload *payload)
{
	uint32_t header_bytes, total_bytes, fragment;

	if (bytes < WIRE_IPV4_BYTES)
		return WIRE_FRAME_TRUNCATED;
	if (ip[0] >> 4 != 4)
		return WIRE_FRAME_IP_HEADER;
	header_bytes = (ip[0] & 15u) * 4;
	total_bytes = load_be16(ip + 2);
	fragment = load_be16(ip + 6);
	encap->traffic_class = ip[1];
	encap->ip_id = load_be16(ip + 4);
	encap->fragmentable = !(fragment & IP_DF);
	encap->hop_limit = ip[8];
	encap_map_ipv4(encap->source, ip + 12);
	encap_map_ipv4(encap->dest, ip + 16);
	if (ip[9] != IPPROTO_UDP && ip[9] != IPPROTO_ICMP)
		return WIRE_FRAME_OTHER;
	if (ip[9] == IPPROTO_UDP && (fragment & IP_OFFMASK) == 0 && header_bytes >= WIRE_IPV4_BYTES &&
	    header_bytes <= bytes && !peek_ports(ip + header_bytes, bytes - header_bytes, encap))
		return WIRE_FRAME_OTHER;
	if (fragment & (IP_MF | IP_OFFMASK))
		return WIRE_FRAME_FRAGMENT;
	if (header_bytes != WIRE_IPV4_BYTES || total_bytes < WIRE_IPV4_BYTES || ip[8] == 0 ||
	    ipv4_source_is_bad(ip + 12))
		return WIRE_FRAME_IP_HEADER;
	if (check && wire_encap_sum(0, ip, WIRE_IPV4_BYTES) != 0xFFFF)
		return WIRE_FRAME_IP_HEADER;
	*payload = (struct ip_payload){
		.start = ip + WIRE_IPV4_BYTES,
		.claimed_bytes = total_bytes - WIRE_IPV4_BYTES,
		.frame_bytes = bytes - WIRE_IPV4_BYTES,
		.protocol = ip[9],
	};
	return WIRE_FRAME_ROCE;
}

/*
 * Packets with extension headers are not parsed as RoCE, but the kind of packet decides which counter counts it: a
 * fragment of a RoCE datagram, a header error, or the reports of multicast listeners and other protocols, which are no
 * faults.
 */
static enum wire_frame judge_extensions(const uint8_t *p, uint32_t bytes, uint8_t next, struct wire_encap *encap)
{
	uint32_t header_bytes;
	bool fragment = false, later = false;
	int i;

	for (i = 0; i < EXTENSIONS_MAX; i++) {
		switch (next) {
		case IPPROTO_UDP:
			if (!later && !peek_ports(p, bytes, encap))
				return WIRE_FRAME_OTHER;
			return fragment ? WIRE_FRAME_FRAGMENT : WIRE_FRAME_IP_HEADER;
		case IPPROTO_HOPOPTS:
		case IPPROTO_ROUTING:
		case IPPROTO_DSTOPTS:
		case IPPROTO_AH:
		case IPPROTO_FRAGMENT:
			break;
		default:
			return WIRE_FRAME_OTHER;
		}
		/* A fragment that is not the first has the middle of a datagram here, and no further headers. */
		if (later || bytes < 8)
			return fragment ? WIRE_FRAME_FRAGMENT : WIRE_FRAME_IP_HEADER;
		if (next == IPPROTO_FRAGMENT) {
			fragment = true;
			later = (load_be16(p + 2) & 0xFFF8) != 0;
			header_bytes = 8;
		} else if (next == IPPROTO_AH) {
			header_bytes = (p[1] + 2u) * 4;
		} else {
			header_bytes = (p[1] + 1u) * 8;
		}
		next = p[0];
		if (header_bytes > bytes)
			header_bytes = bytes;
		p += header_bytes;
		bytes -= header_bytes;
	}
	return fragment ? WIRE_FRAME_FRAGMENT : WIRE_FRAME_IP_HEADER;
}

static enum wire_frame parse_ipv6(const uint8_t *ip, uint32_t bytes, struct wire_encap *encap,
				  struct ip_payload *payload)
{
	uint32_t word;

	if (bytes < WIRE_IPV6_BYTES)
		return WIRE_FRAME_TRUNCATED;
	word = load_be32(ip);
	if (word >> 28 != 6)
		return WIRE_FRAME_IP_HEADER;
	encap->ipv6 = true;
	encap->traffic_class = (uint8_t)(word >> 20);
	encap->flow_label = word & 0xFFFFF;
	encap->hop_limit = ip[7];
	memcpy(encap->source, ip + 8, 16);
	memcpy(encap->dest, ip + 24, 16);
	*payload = (struct ip_payload){
		.start = ip + WIRE_IPV6_BYTES,
		.claimed_bytes = load_be16(ip + 4),
		.frame_bytes = bytes - WIRE_IPV6_BYTES,
		.protocol = ip[6],
	};
	if (ip[6] == IPPROTO_UDP) {
		if (!peek_ports(payload->start, payload->frame_bytes, encap))
			return WIRE_FRAME_OTHER;
	} else if (ip[6] != IPPROTO_ICMPV6) {
		return judge_extensions(payload->start, payload->frame_bytes, ip[6], encap);
	}
	if (ip[7] == 0 || ipv6_addresses_are_bad(ip + 8, ip + 24))
		return WIRE_FRAME_IP_HEADER;
	return WIRE_FRAME_ROCE;
}

static bool udp_checksum_is_right(const uint8_t *ip, bool ipv6, const uint8_t *udp, uint32_t udp_bytes)
{
	uint32_t sum = ipv6 ? wire_encap_sum(0, ip + 8, 32) : wire_encap_sum(0, ip + 12, 8);

	return wire_encap_sum(sum + IPPROTO_UDP + udp_bytes, udp, udp_bytes) == 0xFFFF;
}

static enum wire_frame parse_udp(const uint8_t *ip, const struct ip_payload *payload, bool check,
				 struct wire_encap *encap)
{
	const uint8_t *udp = payload->start;
	uint32_t udp_bytes;

	if (payload->frame_bytes < payload->claimed_bytes || payload->claimed_bytes < WIRE_UDP_BYTES)
		return WIRE_FRAME_TRUNCATED;
	udp_bytes = load_be16(udp + 4);
	encap->udp_checksum = load_be16(udp + 6);
	if (udp_bytes < WIRE_UDP_BYTES || udp_bytes > payload->claimed_bytes)
		return WIRE_FRAME_TRUNCATED;
	if (check && encap->udp_checksum != 0 && !udp_checksum_is_right(ip, encap->ipv6, udp, udp_bytes))
		return WIRE_FRAME_UDP_CHECKSUM;
	encap->bth_offset = (uint16_t)(udp + WIRE_UDP_BYTES - ip + encap->ip_offset);
	encap->bth_bytes = (uint16_t)(udp_bytes - WIRE_UDP_BYTES);
	return WIRE_FRAME_ROCE;
}

static enum wire_frame parse_ip(const uint8_t *ip, uint32_t bytes, bool ipv4, bool check, struct wire_encap *encap)
{
	struct ip_payload payload;
	enum wire_frame frame;

	frame = ipv4 ? parse_ipv4(ip, bytes, check, encap, &payload) : parse_ipv6(ip, bytes, encap, &payload);
	if (frame != WIRE_FRAME_ROCE)
		return frame;
	if (payload.protocol == IPPROTO_UDP)
		return parse_udp(ip, &payload, check, encap);
	if (payload.frame_bytes < payload.claimed_bytes)
		return WIRE_FRAME_TRUNCATED;
	return ipv4 ? WIRE_FRAME_ICMP : WIRE_FRAME_ICMP6;
}

enum wire_frame wire_encap_parse(const uint8_t *frame, uint32_t bytes, bool check_checksums, struct wire_encap *encap)
{
	uint32_t offset = ETHER_HDR_LEN;
	uint16_t ethertype;

	*encap = (struct wire_encap){ 0 };
	if (bytes < ETHER_HDR_LEN)
		return WIRE_FRAME_TRUNCATED;
	memcpy(encap->dest_mac, frame, 6);
	memcpy(encap->source_mac, frame + 6, 6);
	ethertype = load_be16(frame + 12);
	if (ethertype == ETHERTYPE_VLAN) {
		if (bytes < ETHER_HDR_LEN + WIRE_VLAN_BYTES)
			return WIRE_FRAME_TRUNCATED;
		encap->vlan = true;
		encap->vlan_tci = load_be16(frame + 14);
		ethertype = load_be16(frame + 16);
		offset += WIRE_VLAN_BYTES;
	}
	encap->ip_offset = (uint16_t)offset;
	if (ethertype == ETHERTYPE_IP || ethertype == ETHERTYPE_IPV6)
		return parse_ip(frame + offset, bytes - offset, ethertype == ETHERTYPE_IP, check_checksums, encap);
	return ethertype == ETHERTYPE_ARP ? WIRE_FRAME_ARP : WIRE_FRAME_OTHER;
}

static uint8_t *build_ipv4(const struct wire_encap *encap, uint32_t udp_bytes, uint8_t *ip)
{
	ip[0] = 0x45;
	ip[1] = encap->traffic_class;
	store_be16(ip + 2, (uint16_t)(WIRE_IPV4_BYTES + udp_bytes));
	store_be16(ip + 4, encap->ip_id);
	store_be16(ip + 6, encap->fragmentable ? 0 : IP_DF);
	ip[8] = encap->hop_limit;
	ip[9] = IPPROTO_UDP;
	store_be16(ip + 10, 0);
	memcpy(ip + 12, encap->source + 12, 4);
	memcpy(ip + 16, encap->dest + 12, 4);
	store_be16(ip + 10, (uint16_t)~wire_encap_sum(0, ip, WIRE_IPV4_BYTES));
	return ip + WIRE_IPV4_BYTES;
}

static uint8_t *build_ipv6(const struct wire_encap *encap, uint32_t udp_bytes, uint8_t *ip)
{
	store_be32(ip, 6u << 28 | (uint32_t)encap->traffic_class << 20 | (encap->flow_label & 0xFFFFF));
	store_be16(ip + 4, (uint16_t)udp_bytes);
	ip[6] = IPPROTO_UDP;
	ip[7] = encap->hop_limit;
	memcpy(ip + 8, encap->source, 16);
	memcpy(ip + 24, encap->dest, 16);
	return ip + WIRE_IPV6_BYTES;
}

bool wire_encap_dest(const uint8_t *frame, uint8_t dest[16])
{
	const uint8_t *type = frame + 12;

	if (load_be16(type) == ETHERTYPE_VLAN)
		type += WIRE_VLAN_BYTES;
	if (load_be16(type) == ETHERTYPE_IPV6)
		memcpy(dest, type + 2 + 24, 16);
	else if (load_be16(type) == ETHERTYPE_IP)
		encap_map_ipv4(dest, type + 2 + 16);
	else
		return false;
	return true;
}

uint32_t wire_encap_build(struct wire_encap *encap, uint32_t bth_bytes, uint8_t *out)
{
	uint32_t udp_bytes = WIRE_UDP_BYTES + bth_bytes;
	uint8_t *p = out + 12;

	assert(udp_bytes <= (encap->ipv6 ? 0xFFFFu : 0xFFFFu - WIRE_IPV4_BYTES));
	memcpy(out, encap->dest_mac, 6);
	memcpy(out + 6, encap->source_mac, 6);
	if (encap->vlan) {
		store_be16(p, ETHERTYPE_VLAN);
		store_be16(p + 2, encap->vlan_tci);
		p += WIRE_VLAN_BYTES;
	}
	store_be16(p, encap->ipv6 ? ETHERTYPE_IPV6 : ETHERTYPE_IP);
	p += 2;
	encap->ip_offset = (uint16_t)(p - out);
	p = encap->ipv6 ? build_ipv6(encap, udp_bytes, p) : build_ipv4(encap, udp_bytes, p);
	store_be16(p, encap->source_port);
	store_be16(p + 2, encap->dest_port);
	store_be16(p + 4, (uint16_t)udp_bytes);
	store_be16(p + 6, encap->udp_checksum);
	p += WIRE_UDP_BYTES;
	encap->bth_offset = (uint16_t)(p - out);
	encap->bth_bytes = (uint16_t)bth_bytes;
	return encap->bth_offset;
}
