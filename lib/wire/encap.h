/* encap.h - what is around a transport packet: Ethernet, VLAN, IPv4 or IPv6, UDP (W-1, W-2, W-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lengths (W-4): the IP length rules over the frame, so that Ethernet padding is ignored and a cut frame is
 * found; the UDP length must fit the IP length and says where the datagram and its ICRC end. Bytes of the IP
 * payload after the datagram are ignored like padding.
 */
#ifndef WIRE_ENCAP_H
#define WIRE_ENCAP_H

#include <stdbool.h>
#include <stdint.h>

/* Headers without options. */
#define WIRE_VLAN_BYTES 4u
#define WIRE_IPV4_BYTES 20u
#define WIRE_IPV6_BYTES 40u
#define WIRE_UDP_BYTES 8u
#define WIRE_ENCAP_MAX_BYTES (14u + WIRE_VLAN_BYTES + WIRE_IPV6_BYTES + WIRE_UDP_BYTES)
#define WIRE_VLAN_ID 0xFFFu /* of a tag: which VLAN; 0: none, the tag only has a priority */

/* All values in host byte order; addresses and MACs as on the wire; IPv4 as ::ffff:a.b.c.d. */
struct wire_encap {
	uint8_t dest_mac[6];
	uint8_t source_mac[6];
	bool vlan; /* a tag is present; priority tags (VID 0) too */
	bool ipv6;
	uint16_t vlan_tci;
	uint8_t source[16];
	uint8_t dest[16];
	uint8_t traffic_class; /* IPv4 TOS */
	uint8_t hop_limit;     /* IPv4 TTL */
	uint16_t ip_id;        /* IPv4 identification */
	uint32_t flow_label;   /* IPv6, 20 bits */
	uint16_t source_port;
	uint16_t dest_port;
	uint16_t udp_checksum; /* as found; building writes it as it is */
	uint16_t ip_offset;    /* bytes from the start of the frame; also where ARP begins */
	uint16_t bth_offset;
	uint16_t bth_bytes; /* from the BTH to the end of the UDP datagram: through the ICRC */
	bool fragmentable;  /* IPv4: DF is clear; a sender leaves it false (W-2) */
};

/*
 * What a frame is. The faults are in the order of judgement (W-5); each is counted by its own name. They are
 * told only of frames that may be meant for us: UDP to port 4791 or to a port that cannot be read, ICMP,
 * ICMPv6, or no readable IP header.
 */
enum wire_frame {
	WIRE_FRAME_ROCE, /* UDP to port 4791: encap is complete */
	WIRE_FRAME_ARP,
	WIRE_FRAME_ICMP,         /* ICMP echo request to us or not: the caller looks */
	WIRE_FRAME_ICMP6,        /* neighbour solicitation or advertisement, echo, another message */
	WIRE_FRAME_OTHER,        /* not for us: unknown EtherType (QinQ too), protocol or UDP port */
	WIRE_FRAME_FRAGMENT,     /* IP fragment */
	WIRE_FRAME_IP_HEADER,    /* bad version, header length or checksum; options, extension headers;
				  * TTL 0; source multicast, broadcast, loopback; IPv6 with mapped IPv4 */
	WIRE_FRAME_UDP_CHECKSUM, /* non-zero and wrong */
	WIRE_FRAME_TRUNCATED     /* shorter than its headers say */
};

/*
 * Reads a frame. check_checksums false: the port has already checked the IPv4 header and UDP. Fills *encap as
 * far as it gets and leaves the rest zero; complete for ROCE. Reads nothing beyond bytes.
 */
enum wire_frame wire_encap_parse(const uint8_t *frame, uint32_t bytes, bool check_checksums, struct wire_encap *encap);

/*
 * Writes Ethernet, VLAN, IP and UDP headers for a datagram of bth_bytes (BTH through ICRC) and fills the
 * offsets and bth_bytes in *encap. IPv4: DF set, checksum computed. The UDP checksum is encap->udp_checksum.
 * out has WIRE_ENCAP_MAX_BYTES of room. Returns the bytes written.
 */
uint32_t wire_encap_build(struct wire_encap *encap, uint32_t bth_bytes, uint8_t *out);

/*
 * The RFC 1071 sum of bytes, folded, not inverted; start with 0 or an earlier result. Only the last piece may
 * have an odd number of bytes.
 */
uint16_t wire_encap_sum(uint32_t start, const void *data, uint32_t bytes);

static inline bool encap_addr_is_ipv4(const uint8_t addr[16])
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	return __builtin_memcmp(addr, mapped, 12) == 0;
}

/* Writes an IPv4 address as all addresses are kept. */
static inline void encap_map_ipv4(uint8_t addr[16], const uint8_t ipv4[4])
{
	__builtin_memset(addr, 0, 10);
	addr[10] = addr[11] = 0xFF;
	__builtin_memcpy(addr + 12, ipv4, 4);
}

#endif
