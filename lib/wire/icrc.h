/* icrc.h - the invariant CRC of RoCEv2 (W-3) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32 over 8 bytes of ones, then from the IP header to the end of the pad, with the fields that routers change set
 * to ones: IPv4 TOS, TTL and checksum; IPv6 traffic class, flow label and hop limit; UDP checksum; BTH byte 4.
 *
 * Every value here is a finished CRC, the ICRC of the bytes so far; wire_icrc_continue() continues it with more bytes.
 * In the frame it is little-endian (store_le32, load_le32).
 *   1. crc = wire_icrc_headers(ip, header_bytes)
 *   2. crc = wire_icrc_continue(crc, piece, piece_bytes), for each piece of payload and then the pad
 *   3. store_le32(after_the_pad, crc)
 * For a frame in one piece wire_icrc_frame() does all of this.
 */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

#include <stdint.h>

/*
 * The CRC of the 8 bytes of ones, with which a calculation begins. wire_icrc_frame() and wire_icrc_headers() include
 * it.
 */
#define WIRE_ICRC_START 0x2144DF1Cu

#define WIRE_ICRC_HEADERS_MAX_BYTES 128u

/* Continues crc over more data, which may be cut into pieces anywhere. */
uint32_t wire_icrc_continue(uint32_t crc, const void *data, uint64_t bytes);

/*
 * The ICRC of a frame in one piece. ip points to the IPv4 header (without options) or the IPv6 header; bytes are those
 * from there to the end of the pad, at least IP, UDP and BTH. The frame is not written to, because a received mbuf may
 * be the sender's own memory (loop ports).
 */
uint32_t wire_icrc_frame(const uint8_t *ip, uint32_t bytes);

/* The CRC of the headers, to be continued: from ip to any point behind the BTH, at most WIRE_ICRC_HEADERS_MAX_BYTES. */
uint32_t wire_icrc_headers(const uint8_t *ip, uint32_t bytes);

#endif
