/* encap.h - what is around a transport packet: Ethernet, VLAN, IPv4 or IPv6, UDP (W-1, W-2, W-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_ENCAP_H
#define WIRE_ENCAP_H

#include <stdbool.h>
#include <stdint.h>

#define WIRE_ENCAP_MAX_BYTES (14u + 4u + 40u + 8u)

/* All values in host byte order; addresses and MACs as on the wire; IPv4 as ::ffff:a.b.c.d. */
struct wire_encap {
	uint8_t dest_mac[6];
	uint8_t source_mac[6];
	bool vlan;             /* a tag is present */
	bool ipv6;
	uint16_t vlan_tci;
	uint8_t source[16];
	uint8_t dest[16];
	uint8_t traffic_class; /* IPv4 TOS */
	uint8_t hop_limit;     /* IPv4 TTL */
	uint16_t ip_id;        /* IPv4 identification */
	uint32_t flow_label;   /* IPv6 */
	uint16_t source_port;
	uint16_t dest_port;
	uint16_t udp_checksum; /* as found; building writes it as it is */
	uint16_t ip_offset;    /* bytes from the start of the frame */
	uint16_t bth_offset;
	uint16_t bth_bytes;    /* from the BTH to the end of the UDP datagram: through the ICRC (W-4: the IP length rules) */
};

/*
 * What a frame is. The faults are in the order of judgement (W-5); each is counted by its own name.
 */
enum wire_frame {
	WIRE_FRAME_ROCE,        /* UDP to port 4791: encap is complete */
	WIRE_FRAME_ARP,
	WIRE_FRAME_ICMP,        /* ICMP echo request to us or not: the caller looks */
	WIRE_FRAME_ICMP6,       /* neighbour solicitation/advertisement or echo */
	WIRE_FRAME_OTHER,       /* not for us: unknown EtherType, protocol or UDP port */
	WIRE_FRAME_FRAGMENT,    /* IP fragment */
	WIRE_FRAME_IP_HEADER,   /* bad version, header length, checksum, options, extension header, TTL 0, source address multicast/broadcast/loopback */
	WIRE_FRAME_UDP_CHECKSUM,/* non-zero and wrong */
	WIRE_FRAME_TRUNCATED    /* shorter than its headers say */
};

/*
 * Reads a frame. check_checksums false: the port has already done it. Fills *encap as far as it gets; complete
 * for ROCE. Reads nothing beyond bytes.
 */
enum wire_frame wire_encap_parse(const uint8_t *frame, uint32_t bytes, bool check_checksums, struct wire_encap *encap);

/*
 * Writes Ethernet, VLAN, IP and UDP headers for a datagram of bth_bytes (BTH through ICRC) and fills the
 * offsets in *encap. IPv4: DF set, checksum computed. UDP checksum: encap->udp_checksum. Returns the bytes written.
 */
uint32_t wire_encap_build(struct wire_encap *encap, uint32_t bth_bytes, uint8_t *out);

/* The RFC 1071 sum of bytes, folded, not inverted; start with 0 or an earlier result. */
uint16_t wire_encap_sum(uint32_t start, const void *data, uint32_t bytes);

static inline bool encap_addr_is_ipv4(const uint8_t addr[16])
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

	return __builtin_memcmp(addr, mapped, 12) == 0;
}

#endif
