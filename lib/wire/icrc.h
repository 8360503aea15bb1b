/* icrc.h - the invariant CRC of RoCEv2 (W-3) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32 over 8 bytes of ones, then the IP header to the end of the pad, with the fields that routers change
 * set to ones (wire-format: TOS, TTL, IPv4 checksum; IPv6 traffic class, flow label, hop limit; UDP checksum;
 * BTH byte 4). Stored little-endian.
 */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

#include <stdint.h>

/* A CRC on its way: start with WIRE_ICRC_START (the 8 bytes of ones are in it), continue, read off. */
#define WIRE_ICRC_START 0u /* set by the author of icrc.c */

/* Continues crc over bytes of data; pieces may be cut anywhere. */
uint32_t wire_icrc_continue(uint32_t crc, const void *data, uint64_t bytes);

/*
 * The ICRC of a linear frame: ip points at the IPv4 (without options) or IPv6 header, bytes counts from there to the end of the pad,
 * at least IP + UDP + BTH. The changeable fields are patched in place while computing and restored before
 * returning, so the memory must be writable.
 */
uint32_t wire_icrc_frame(uint8_t *ip, uint32_t bytes);

/* The same over headers only (IP to the end of any number of bytes after the BTH), read-only: to be continued over the payload. Headers at most 128 bytes. */
uint32_t wire_icrc_headers(const uint8_t *ip, uint32_t bytes);

#endif
