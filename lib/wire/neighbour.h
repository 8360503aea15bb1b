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
	WIRE_NEIGHBOUR_ECHO     /* ICMP or ICMPv6 echo request */
};

/* Addresses: IPv4 as ::ffff:a.b.c.d. */
struct wire_neighbour {
	uint8_t kind;        /* enum wire_neighbour_kind */
	bool solicited;      /* reply to a request (IPv6: the S flag; ARP: not sent to everybody) */
	bool probe;          /* request from no address (duplicate address detection) */
	bool has_sender_mac; /* the link-layer option is there (always in ARP, never in an echo) */
	bool vlan;           /* the frame has a tag: replies get the same */
	uint16_t vlan_tci;
	uint8_t sender_mac[6]; /* without the option: the source of the Ethernet frame */
	uint8_t sender[16];    /* who sent it; the unspecified address in a probe */
	uint8_t target[16];    /* request: who is asked for; reply: whose MAC sender_mac is; echo: who is
				 * pinged */
};

/*
 * Reads an ARP, ICMP or ICMPv6 frame that wire_encap_parse() called so. false: malformed (length, checksum,
 * hop limit not 255 for discovery, impossible addresses or MACs) or none of the kinds above.
 */
bool wire_neighbour_parse(const uint8_t *frame, uint32_t bytes, struct wire_neighbour *neighbour);

/*
 * Frames to send; each writes at most WIRE_NEIGHBOUR_MAX_BYTES to out and returns the bytes. our_* is the
 * sender. IPv6 or ARP by the address.
 */
/* Asks who has target: broadcast, or solicited-node multicast. Untagged; see wire_neighbour_tag(). */
uint32_t wire_neighbour_request(const uint8_t our_mac[6], const uint8_t our_addr[16], const uint8_t target[16],
				uint8_t *out);
/* Answers a request, with its VLAN tag; an IPv6 probe is answered to all nodes, whatever dest_mac says. */
uint32_t wire_neighbour_reply(const uint8_t our_mac[6], const uint8_t our_addr[16],
			      const struct wire_neighbour *request, const uint8_t dest_mac[6], uint8_t *out);
/* Puts an 802.1Q tag into an untagged frame with 4 bytes of room behind it. Returns the bytes it has then. */
uint32_t wire_neighbour_tag(uint8_t *frame, uint32_t bytes, uint16_t vlan_tci);
/*
 * Turns an echo request of `bytes` bytes into its reply, in place: MACs, addresses, hop limit, type,
 * checksums. The caller has parsed it, and the ping was to an address of his (not to a multicast group).
 */
void wire_neighbour_echo_reply(uint8_t *frame, uint32_t bytes);

#endif
