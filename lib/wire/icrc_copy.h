/* icrc_copy.h - copies a payload and computes its ICRC in one pass */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CRC of memory that is being copied costs next to nothing, because copy and CRC wait for the same loads. There are
 * four implementations; the best one for the CPU is used, unless a program chooses another. Each implementation reads
 * every byte of the source once, so that the CRC is that of the copy even if the source changes meanwhile:
 *   isal        memcpy and ISA-L's CRC, piece by piece: on every CPU
 *   pclmul      one pass of 128-bit carry-less multiplications
 *   vpclmul256  one pass of 256-bit ones, for CPUs without AVX-512
 *   vpclmul     one pass of 512-bit ones
 */
#ifndef WIRE_ICRC_COPY_H
#define WIRE_ICRC_COPY_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/hints.h"

/* In this order, the best last. */
enum wire_icrc_impl { WIRE_ICRC_ISAL, WIRE_ICRC_PCLMUL, WIRE_ICRC_VPCLMUL256, WIRE_ICRC_VPCLMUL, WIRE_ICRC_IMPLS };

/* Copies bytes from source to target, which do not overlap. Returns wire_icrc_continue(crc, source, bytes). */
uint32_t wire_icrc_copy(uint32_t crc, void *target, const void *source, uint64_t bytes);

/*
 * The ICRC of a frame without its pad, as wire_icrc_headers() and wire_icrc_continue() would compute it. ip points to
 * the IPv4 header (without options) or the IPv6 header; headers_bytes are those from there to the end of the extension
 * headers, a multiple of 4. The payload is copied from source to target; with target NULL it is only read.
 */
uint32_t wire_icrc_copy_frame(const uint8_t *ip, uint32_t headers_bytes, void *target, const void *source,
			      uint64_t bytes);

/* "vpclmul" for WIRE_ICRC_VPCLMUL. */
const char *wire_icrc_impl_name(enum wire_icrc_impl impl);

typedef uint32_t wire_icrc_frame_function(const uint8_t *ip, uint32_t headers_bytes, uint8_t *target,
					  const uint8_t *source, uint64_t bytes);

#define ICRC_HEADERS_MAX_BYTES 60u /* the longest headers that the functions below take */

/*
 * For the inline functions below only: the implementation in use, and its parts of wire_icrc_copy_frame(). HIDDEN tells
 * the compiler that they are in the same program, so that it need not look up their addresses for each packet.
 */
extern enum wire_icrc_impl wire_icrc_current HIDDEN;
extern wire_icrc_frame_function *wire_icrc_place HIDDEN, *wire_icrc_check HIDDEN;

/* wire_icrc_copy_frame() for callers that run for each packet. */
static inline uint32_t icrc_copy_frame(const uint8_t *ip, uint32_t headers_bytes, void *target, const void *source,
				       uint64_t bytes)
{
	if (__builtin_expect(ip[0] >> 4 != 4 || headers_bytes > ICRC_HEADERS_MAX_BYTES, 0))
		return wire_icrc_copy_frame(ip, headers_bytes, target, source, bytes);
	/* without a target wire_icrc_check() only reads */
	return target ? wire_icrc_place(ip, headers_bytes, target, source, bytes) :
			wire_icrc_check(ip, headers_bytes, (uint8_t *)(uintptr_t)source, source, bytes);
}

/* The implementation in use. */
static inline enum wire_icrc_impl wire_icrc_chosen(void)
{
	return wire_icrc_current;
}

/*
 * Chooses another implementation, before any thread copies. Returns false if the CPU cannot run it; then nothing has
 * changed.
 */
bool wire_icrc_choose(enum wire_icrc_impl impl);

#endif
