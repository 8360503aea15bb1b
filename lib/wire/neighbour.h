/* neighbour.h - ARP, neighbour discovery and echo as values (W-8) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef WIRE_NEIGHBOUR_H
#define WIRE_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#define WIRE_NEIGHBOUR_MAX_BYTES 128u

enum wire_neighbour_kind {
	WIRE_NEIGHBOUR_NONE,
	WIRE_NEIGHBOUR_REQUEST, /* ARP request or neighbour solicitation */
	WIRE_NEIGHBOUR_REPLY,   /* ARP reply or neighbour advertisement */
	WIRE_NEIGHBOUR_ECHO,    /* ICMP or ICMPv6 echo request */
	WIRE_NEIGHBOUR_ECHOED,  /* ICMP or ICMPv6 echo reply */
	WIRE_NEIGHBOUR_OTHER    /* well-formed, and for others: messages of routers, errors, reverse ARP */
};

/* Addresses: IPv4 as ::ffff:a.b.c.d. */
struct wire_neighbour {
	uint8_t kind; /* enum wire_neighbour_kind */
	/* the message replies to a request (IPv6: the S flag; ARP: the message is not a broadcast) */
	bool solicited;
	bool probe;          /* the request comes from no address (duplicate address detection) */
	bool has_sender_mac; /* the link-layer address option is there (always in ARP, never in an echo) */
	bool vlan;           /* the frame has a tag, and so will its reply */
	uint16_t vlan_tci;
	uint8_t sender_mac[6]; /* MAC of the option; without the option: the source MAC of the frame */
	uint8_t sender[16];    /* the sender; in a probe the unspecified address */
	/*
	 * request: the address that is asked for; reply: the address of sender_mac; echo: the address that is pinged;
	 * echo reply: the address that has pinged
	 */
	uint8_t target[16];
	uint32_t echo; /* echo and its reply: identifier and sequence number as one number */
};

/*
 * Reads a frame that wire_encap_parse() has found to be ARP, ICMP or ICMPv6. Returns false if the frame is malformed
 * (length, checksum, discovery with a hop limit other than 255, impossible addresses or MACs). Of a message of
 * WIRE_NEIGHBOUR_OTHER nothing but the kind is valid.
 */
bool wire_neighbour_parse(const uint8_t *frame, uint32_t bytes, struct wire_neighbour *neighbour);

/*
 * The next functions write frames to send. Each writes to out, at most WIRE_NEIGHBOUR_MAX_BYTES unless it says
 * otherwise, and returns the bytes.
 * our_mac and our_addr are the sender's; the addresses decide between ARP and IPv6.
 */
/* Asks for the MAC of target, by broadcast or solicited-node multicast. Untagged; see wire_neighbour_tag(). */
uint32_t wire_neighbour_request(const uint8_t our_mac[6], const uint8_t our_addr[16], const uint8_t target[16],
				uint8_t *out);
/* Asks whether another station has target, before we use it (RFC 5227, RFC 4862 5.4): from no address. Untagged. */
uint32_t wire_neighbour_probe(const uint8_t our_mac[6], const uint8_t target[16], uint8_t *out);
/* Shows to all stations that we have our_addr: an ARP announcement, or an advertisement to all nodes. Untagged. */
uint32_t wire_neighbour_announce(const uint8_t our_mac[6], const uint8_t our_addr[16], uint8_t *out);
/* Answers a request, with its VLAN tag. An IPv6 probe is answered to all nodes, whatever dest_mac is. */
uint32_t wire_neighbour_reply(const uint8_t our_mac[6], const uint8_t our_addr[16],
			      const struct wire_neighbour *request, const uint8_t dest_mac[6], uint8_t *out);
/*
 * Asks target for an echo, which comes back with the number `echo`. ip_bytes: of the packet with its IP header, at
 * least WIRE_ECHO_MIN_BYTES; routers may not fragment it. Writes ip_bytes + 14 bytes to out. Untagged.
 */
#define WIRE_ECHO_MIN_BYTES 48u
uint32_t wire_neighbour_echo(const uint8_t our_mac[6], const uint8_t our_addr[16], const uint8_t dest_mac[6],
			     const uint8_t target[16], uint32_t echo, uint32_t ip_bytes, uint8_t *out);
/*
 * Inserts an 802.1Q tag into an untagged frame, behind which there is room for 4 bytes. Returns the bytes with the tag.
 */
uint32_t wire_neighbour_tag(uint8_t *frame, uint32_t bytes, uint16_t vlan_tci);
/*
 * Turns an echo request of `bytes` bytes into its reply in place: MACs, addresses, hop limit, type, checksums. The
 * caller has parsed the request, and the address that is pinged is one of ours, not a multicast group.
 */
void wire_neighbour_echo_reply(uint8_t *frame, uint32_t bytes);

#endif
