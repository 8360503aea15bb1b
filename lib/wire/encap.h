/* encap.h - the headers around a transport packet: Ethernet, VLAN, IPv4 or IPv6, UDP (W-1, W-2, W-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lengths (W-4): the IP length counts, not that of the frame, so that Ethernet padding is ignored and a cut frame is
 * noticed. The UDP length must fit into the IP length, and tells where the datagram and its ICRC end. Bytes of the IP
 * payload after the datagram are ignored like padding.
 */
#ifndef WIRE_ENCAP_H
#define WIRE_ENCAP_H

#include <stdbool.h>
#include <stdint.h>

/* Headers without options or extensions. */
#define WIRE_VLAN_BYTES 4u
#define WIRE_IPV4_BYTES 20u
#define WIRE_IPV6_BYTES 40u
#define WIRE_UDP_BYTES 8u
#define WIRE_ENCAP_MAX_BYTES (14u + WIRE_VLAN_BYTES + WIRE_IPV6_BYTES + WIRE_UDP_BYTES)
#define WIRE_VLAN_ID 0xFFFu /* the VLAN id in a tag; 0: the tag has only a priority */

/* All values are in host byte order; addresses and MACs as on the wire; IPv4 as ::ffff:a.b.c.d. */
struct wire_encap {
	uint8_t dest_mac[6];
	uint8_t source_mac[6];
	bool vlan; /* there is a tag, perhaps with VLAN id 0 */
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
	uint16_t udp_checksum; /* as received; written as it is */
	uint16_t ip_offset;    /* offset in the frame of the IP header or the ARP header */
	uint16_t bth_offset;
	uint16_t bth_bytes; /* bytes from the BTH to the end of the UDP datagram, where the ICRC ends as well */
	bool fragmentable;  /* IPv4: DF is clear; false in frames that we write (W-2) */
};

/*
 * Kinds of frames. The faults stand in the order of judgement (W-5), and each has its own counter. A frame is judged
 * only if it may be for us: if it is UDP to port 4791 or to a port that cannot be read, ICMP or ICMPv6, or if its IP
 * header cannot be read.
 */
enum wire_frame {
	WIRE_FRAME_ROCE, /* UDP to port 4791: encap is complete */
	WIRE_FRAME_ARP,
	WIRE_FRAME_ICMP,         /* ICMP echo request; the caller finds out whether it is for us */
	WIRE_FRAME_ICMP6,        /* neighbour solicitation or advertisement, echo, or another message */
	WIRE_FRAME_OTHER,        /* not for us: unknown EtherType (QinQ, too), IP protocol or UDP port */
	WIRE_FRAME_FRAGMENT,     /* IP fragment */
	WIRE_FRAME_IP_HEADER,    /* bad version, header length or checksum; options, extension headers;
				  * TTL 0; source multicast, broadcast, loopback; IPv6 with mapped IPv4 */
	WIRE_FRAME_UDP_CHECKSUM, /* present and wrong */
	WIRE_FRAME_TRUNCATED     /* shorter than its headers say */
};

/*
 * Reads a frame. check_checksums: whether to check the checksums of IPv4 and UDP, which some ports have checked
 * already. Fills *encap as far as the frame can be read, and sets the rest to zero; for WIRE_FRAME_ROCE all of *encap
 * is filled. Reads nothing beyond `bytes`.
 */
enum wire_frame wire_encap_parse(const uint8_t *frame, uint32_t bytes, bool check_checksums, struct wire_encap *encap);

/*
 * Reads the destination address of a frame that was built here, untagged or with one tag. Returns false if the frame is
 * no IP packet, such as ARP.
 */
bool wire_encap_dest(const uint8_t *frame, uint8_t dest[16]);

/*
 * Writes Ethernet, VLAN, IP and UDP headers for a datagram of bth_bytes, BTH to ICRC, and sets offsets and bth_bytes in
 * *encap. IPv4 gets DF and its checksum; the UDP checksum is encap->udp_checksum. out has room for
 * WIRE_ENCAP_MAX_BYTES. Returns the bytes written.
 */
uint32_t wire_encap_build(struct wire_encap *encap, uint32_t bth_bytes, uint8_t *out);

/*
 * The RFC 1071 sum, folded but not inverted. start: 0, or the sum of the pieces before; only the last piece may have an
 * odd number of bytes.
 */
uint16_t wire_encap_sum(uint32_t start, const void *data, uint32_t bytes);

static inline bool encap_addr_is_ipv4(const uint8_t addr[16])
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	return __builtin_memcmp(addr, mapped, 12) == 0;
}

/* Writes an IPv4 address in the 16-byte form, which all addresses have here. */
static inline void encap_map_ipv4(uint8_t addr[16], const uint8_t ipv4[4])
{
	__builtin_memset(addr, 0, 10);
	addr[10] = addr[11] = 0xFF;
	__builtin_memcpy(addr + 12, ipv4, 4);
}

#endif
