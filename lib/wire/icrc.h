/* icrc.h - the invariant CRC of RoCEv2 (W-3) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32 over 8 bytes of ones, then the IP header to the end of the pad, with the fields that routers change
 * set to ones: IPv4 TOS, TTL and checksum; IPv6 traffic class, flow label and hop limit; UDP checksum; BTH
 * byte 4.
 *
 * Every value here is a finished one: what wire_icrc_continue() returns is the ICRC of the bytes so far, and
 * also what goes on with more bytes. It stands in the frame little-endian (store_le32, load_le32).
 *   1. crc = wire_icrc_headers(ip, header_bytes)
 *   2. crc = wire_icrc_continue(crc, piece, piece_bytes), for each piece of payload and then the pad
 *   3. store_le32(after_the_pad, crc)
 * A linear frame takes one call of wire_icrc_frame().
 */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

#include <stdint.h>

/* The CRC of the 8 bytes of ones: where a calculation by hand starts. The two functions below contain it. */
#define WIRE_ICRC_START 0x2144DF1Cu

#define WIRE_ICRC_HEADERS_MAX_BYTES 128u

/* Continues crc over bytes of data; pieces may be cut anywhere. */
uint32_t wire_icrc_continue(uint32_t crc, const void *data, uint64_t bytes);

/*
 * The ICRC of a linear frame: ip points at the IPv4 (without options) or IPv6 header, bytes counts from there
 * to the end of the pad and holds at least IP, UDP and BTH. Nothing is written to the frame: a received mbuf
 * may be the sender's own memory (loop ports).
 */
uint32_t wire_icrc_frame(const uint8_t *ip, uint32_t bytes);

/*
 * The same over headers only, to be continued: ip to the end of any number of bytes after the BTH, in all at
 * most WIRE_ICRC_HEADERS_MAX_BYTES.
 */
uint32_t wire_icrc_headers(const uint8_t *ip, uint32_t bytes);

#endif
