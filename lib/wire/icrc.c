/* icrc.c - the invariant CRC of RoCEv2 (W-3) with ISA-L; tests compare icrc_copy.c with it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/icrc.h"

#include <assert.h>
#include <isa-l/crc.h>
#include <string.h>

#include "wire/encap.h"
#include "wire/packet.h"

enum {
	IPV4_COVERED_BYTES = WIRE_IPV4_BYTES + WIRE_UDP_BYTES + WIRE_BTH_BYTES,
	IPV6_COVERED_BYTES = WIRE_IPV6_BYTES + WIRE_UDP_BYTES + WIRE_BTH_BYTES
};

/* Fills the UDP checksum and BTH byte 4 with ones. */
static inline void mask_transport(uint8_t *udp)
{
	memset(udp + 6, 0xFF, 2);
	udp[WIRE_UDP_BYTES + 4] = 0xFF;
}

/* Fills with ones those fields of a copied IPv4 header that routers change. */
static inline void mask_ipv4(uint8_t *ip)
{
	ip[1] = 0xFF;
	ip[8] = 0xFF;
	memset(ip + 10, 0xFF, 2);
	mask_transport(ip + WIRE_IPV4_BYTES);
}

static inline void mask_ipv6(uint8_t *ip)
{
	ip[0] |= 0x0F;
	memset(ip + 1, 0xFF, 3);
	ip[7] = 0xFF;
	mask_transport(ip + WIRE_IPV6_BYTES);
}

static inline int is_ipv4(const uint8_t *ip)
{
	return ip[0] >> 4 == 4;
}

uint32_t wire_icrc_continue(uint32_t crc, const void *data, uint64_t bytes)
{
	return crc32_gzip_refl(crc, data, bytes);
}

uint32_t wire_icrc_headers(const uint8_t *ip, uint32_t bytes)
{
	uint8_t copy[WIRE_ICRC_HEADERS_MAX_BYTES];

	assert(bytes <= sizeof(copy));
	assert(bytes >= (is_ipv4(ip) ? IPV4_COVERED_BYTES : IPV6_COVERED_BYTES));
	memcpy(copy, ip, bytes);
	if (is_ipv4(ip))
		mask_ipv4(copy);
	else
		mask_ipv6(copy);
	return crc32_gzip_refl(WIRE_ICRC_START, copy, bytes);
}

uint32_t wire_icrc_frame(const uint8_t *ip, uint32_t bytes)
{
	uint32_t covered = is_ipv4(ip) ? IPV4_COVERED_BYTES : IPV6_COVERED_BYTES;

	return wire_icrc_continue(wire_icrc_headers(ip, covered), ip + covered, bytes - covered);
}
