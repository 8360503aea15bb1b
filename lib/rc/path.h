/* path.h - the path to the peer, and whether a received packet came along it (W-2, W-5) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_PATH_H
#define RC_PATH_H

#include <stdbool.h>
#include <string.h>

#include <uroce/qp.h>

#include "wire/bytes.h"
#include "wire/encap.h"
#include "wire/icrc.h"
#include "wire/icrc_copy.h"
#include "wire/packet.h"

/* Where a packet came from, and at which port. */
struct rc_origin {
	const uint8_t *source, *dest;      /* IP addresses, 16 bytes each; not valid if ipv4 is set */
	const struct uroce_device *device; /* the port; NULL: there is only one */
	/* the packet's IP header if the ICRC is still to be checked; NULL: the ICRC is right */
	const uint8_t *ip;
	uint32_t ip_bytes; /* bytes from the IP header to the end of the pad; the ICRC follows */
	/* untagged IPv4: both addresses as in the header; 0: source, dest and vlan_id have them */
	uint64_t ipv4;
	uint16_t vlan_id;     /* 0: none; not valid if ipv4 is set */
	uint16_t source_port; /* of UDP */
	bool ce;              /* a switch has marked the packet: congestion experienced */
};

/*
 * Is the ICRC of a packet right? The payload lies at `payload`, behind the headers. Computes the ICRC unless it is
 * known to be right.
 */
static inline bool origin_icrc_is_right(const struct rc_origin *origin, const void *payload)
{
	uint32_t headers_bytes;

	if (origin->ip == NULL)
		return true;
	headers_bytes = (uint32_t)((const uint8_t *)payload - origin->ip);
	return icrc_copy_frame(origin->ip, headers_bytes, NULL, payload, origin->ip_bytes - headers_bytes) ==
	       load_le32(origin->ip + origin->ip_bytes);
}

/* The two addresses of packets that come along the path, as they stand in an IPv4 header; 0: the path is IPv6. */
static inline uint64_t path_ipv4(const struct uroce_path *path)
{
	uint64_t both = 0;

	if (encap_addr_is_ipv4(path->dest.bytes) && encap_addr_is_ipv4(path->source.bytes)) {
		memcpy(&both, path->dest.bytes + 12, 4);
		memcpy((uint8_t *)&both + 4, path->source.bytes + 12, 4);
	}
	return both;
}

/* Returns a packet's addresses as 16 bytes each, in whichever form the origin holds them. */
static inline void origin_addresses(const struct rc_origin *origin, uint8_t source[16], uint8_t dest[16])
{
	if (!origin->ipv4) {
		memcpy(source, origin->source, 16);
		memcpy(dest, origin->dest, 16);
		return;
	}
	encap_map_ipv4(source, (const uint8_t *)&origin->ipv4);
	encap_map_ipv4(dest, (const uint8_t *)&origin->ipv4 + 4);
}

/* The tag control information (802.1Q) of frames along the path (W-1); 0: the frames have no tag. */
static inline uint16_t path_vlan_tci(const struct uroce_path *path)
{
	return (uint16_t)(path->vlan_priority << 13 | path->vlan_id);
}

static inline bool path_addresses_match(const struct uroce_path *path, const struct rc_origin *origin)
{
	if (path->device != origin->device)
		return false;
	if (origin->ipv4)
		return path_ipv4(path) == origin->ipv4;
	return memcmp(path->dest.bytes, origin->source, 16) == 0 && memcmp(path->source.bytes, origin->dest, 16) == 0;
}

/* Compares no priority of a VLAN tag, for switches change it. */
static inline bool path_matches(const struct uroce_path *path, const struct rc_origin *origin)
{
	return path_addresses_match(path, origin) && path->vlan_id == (origin->ipv4 ? 0 : origin->vlan_id);
}

/* Do packets that come along a and along b look alike? MAC addresses and the marks of outgoing packets do not count. */
static inline bool path_is_same(const struct uroce_path *a, const struct uroce_path *b)
{
	return a->device == b->device && a->vlan_id == b->vlan_id &&
	       memcmp(a->source.bytes, b->source.bytes, sizeof(a->source.bytes)) == 0 &&
	       memcmp(a->dest.bytes, b->dest.bytes, sizeof(a->dest.bytes)) == 0;
}

/* The UDP source port of a flow without SACKs: 0xC000-0xFFFF, the same for a pair of QPNs (W-2). */
static inline uint16_t path_source_port(uint32_t qpn, uint32_t dest_qpn)
{
	uint32_t mixed = qpn * 0x9E3779B1u ^ dest_qpn * 0x85EBCA77u;

	return (uint16_t)(0xC000u | (mixed >> 18));
}

/* Do two P_Keys match? Their low 15 bits have to be equal, and at least one side has to be a full member. */
static inline bool pkey_matches(uint16_t ours, uint16_t theirs)
{
	return ((ours ^ theirs) & 0x7FFF) == 0 && ((ours | theirs) & 0x8000);
}

#endif
