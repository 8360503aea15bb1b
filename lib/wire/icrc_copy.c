/* icrc_copy.c - copies and computes the ICRC in one pass, by carry-less multiplication */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/icrc.h"
#include "wire/icrc_copy.h"

#include <isa-l/crc.h>
#include <string.h>

#define ONCE_BYTES 512u
#define PSEUDO_BYTES 64u

typedef uint32_t copy_function(uint32_t crc, uint8_t *target, const uint8_t *source, uint64_t bytes);

/* One implementation. */
struct icrc_impl {
	copy_function *copy;             /* wire_icrc_copy() */
	wire_icrc_frame_function *place; /* wire_icrc_copy_frame() for IPv4, with copying */
	wire_icrc_frame_function *check; /* the same without copying */
};

/*
 * The ICRC begins with 8 bytes of ones and the headers, in which the fields that routers change are ones. Of those 8
 * bytes, 4 cancel out with the start value of ones. And zeros in front of a message do not change a CRC that starts at
 * 0. So the beginning of every IPv4 frame is written as a pseudo header of 64 bytes that ends where the payload begins,
 * and goes into the CRC like payload. There is one row for each length of the extension headers.
 */
struct pseudo_row {
	uint64_t keep;              /* bit i: byte i of the pseudo header is taken from the frame */
	uint8_t ones[PSEUDO_BYTES]; /* bytes that are set besides */
};

#define HEADERS_MIN_BYTES 40u /* IPv4, UDP and BTH */
/* at: where the IP header begins. Sets TOS, TTL, the checksums of IP and UDP, and BTH byte 4 to ones. */
#define PSEUDO_ROW(at)                               \
	{                                            \
		.keep = ~0ull << (at), .ones = {     \
			[(at)-4 ...(at) - 1] = 0xFF, \
			[(at) + 1] = 0xFF,           \
			[(at) + 8] = 0xFF,           \
			[(at) + 10] = 0xFF,          \
			[(at) + 11] = 0xFF,          \
			[(at) + 26] = 0xFF,          \
			[(at) + 27] = 0xFF,          \
			[(at) + 32] = 0xFF           \
		}                                    \
	}

static const struct pseudo_row pseudo_rows[] = {
	PSEUDO_ROW(24), PSEUDO_ROW(20), PSEUDO_ROW(16), PSEUDO_ROW(12), PSEUDO_ROW(8), PSEUDO_ROW(4),
};

static inline const struct pseudo_row *row_of(uint32_t headers_bytes)
{
	return &pseudo_rows[(headers_bytes - HEADERS_MIN_BYTES) / 4];
}

/* ---- for every CPU ---- */

/*
 * Reads each byte of the source once, because an application may be writing to the source, or to the target. The CRC is
 * that of the bytes that were copied.
 */
static uint32_t copy_isal(uint32_t crc, uint8_t *target, const uint8_t *source, uint64_t bytes)
{
	uint8_t once[ONCE_BYTES];

	while (bytes > 0) {
		uint64_t piece = bytes < sizeof(once) ? bytes : sizeof(once);

		memcpy(once, source, piece);
		__asm__ volatile("" : : "r"(once) : "memory"); /* keeps the compiler from reading the source twice */
		memcpy(target, once, piece);
		crc = crc32_gzip_refl(crc, once, piece);
		target += piece;
		source += piece;
		bytes -= piece;
	}
	return crc;
}

/* Puts the headers, 40 to 60 bytes, at the end of the pseudo header. The bytes in front of them are not used. */
static inline void store_headers(uint8_t pseudo[PSEUDO_BYTES], const uint8_t *ip, uint32_t headers_bytes)
{
	memcpy(pseudo + PSEUDO_BYTES - headers_bytes, ip, 32);
	memcpy(pseudo + PSEUDO_BYTES - 32, ip + headers_bytes - 32, 32);
}

static uint32_t begin_isal(const uint8_t *ip, uint32_t headers_bytes)
{
	const struct pseudo_row *row = row_of(headers_bytes);
	uint8_t pseudo[PSEUDO_BYTES];

	memset(pseudo, 0, sizeof(pseudo));
	store_headers(pseudo, ip, headers_bytes);
	for (uint32_t i = 0; i < PSEUDO_BYTES; i++)
		pseudo[i] |= row->ones[i];
	/* UINT32_MAX stands for a start value of 0 in ISA-L */
	return crc32_gzip_refl(UINT32_MAX, pseudo, sizeof(pseudo));
}

static uint32_t place_isal(const uint8_t *ip, uint32_t headers_bytes, uint8_t *target, const uint8_t *source,
			   uint64_t bytes)
{
	return copy_isal(begin_isal(ip, headers_bytes), target, source, bytes);
}

static uint32_t check_isal(const uint8_t *ip, uint32_t headers_bytes, uint8_t *target, const uint8_t *source,
			   uint64_t bytes)
{
	(void)target;
	return crc32_gzip_refl(begin_isal(ip, headers_bytes), source, bytes);
}

#ifdef __x86_64__

#include "wire/crc32_clmul.h"

/*
 * For CPUs with these instructions: defines two functions, of which one copies and one only reads. Both are made of the
 * function `frame`, which can copy or only read.
 */
#define PLACE_AND_CHECK(instructions, name, frame)                                                            \
	instructions static uint32_t place_##name(const uint8_t *ip, uint32_t headers_bytes, uint8_t *target, \
						  const uint8_t *source, uint64_t bytes)                      \
	{                                                                                                     \
		return frame(ip, headers_bytes, target, source, bytes, true);                                 \
	}                                                                                                     \
	instructions static uint32_t check_##name(const uint8_t *ip, uint32_t headers_bytes, uint8_t *target, \
						  const uint8_t *source, uint64_t bytes)                      \
	{                                                                                                     \
		return frame(ip, headers_bytes, target, source, bytes, false);                                \
	}

/* ---- 128 bits ---- */

TARGET_128 static uint32_t copy_pclmul(uint32_t crc, uint8_t *target, const uint8_t *source, uint64_t bytes)
{
	__m128i x;

	if (bytes < 16)
		return copy_isal(crc, target, source, bytes);
	x = _mm_xor_si128(take_16(target, source, true), _mm_cvtsi32_si128((int)~crc));
	if (bytes < 64)
		return finish(x, target + 16, source + 16, bytes - 16, true);
	return go_on_128(x, take_16(target + 16, source + 16, true), take_16(target + 32, source + 32, true),
			 take_16(target + 48, source + 48, true), target + 64, source + 64, bytes - 64, true);
}

TARGET_128 INLINE uint32_t frame_128(const uint8_t *ip, uint32_t headers_bytes, uint8_t *target, const uint8_t *source,
				     uint64_t bytes, bool moves)
{
	const struct pseudo_row *row = row_of(headers_bytes);
	uint8_t pseudo[PSEUDO_BYTES];

	memset(pseudo, 0, PSEUDO_BYTES - HEADERS_MIN_BYTES);
	store_headers(pseudo, ip, headers_bytes);
	return go_on_128(_mm_or_si128(load_16(pseudo), load_16(row->ones)),
			 _mm_or_si128(load_16(pseudo + 16), load_16(row->ones + 16)),
			 _mm_or_si128(load_16(pseudo + 32), load_16(row->ones + 32)),
			 _mm_or_si128(load_16(pseudo + 48), load_16(row->ones + 48)), target, source, bytes, moves);
}

PLACE_AND_CHECK(TARGET_128, pclmul, frame_128)

/* ---- 256 bits ---- */

TARGET_256 static uint32_t copy_vpclmul256(uint32_t crc, uint8_t *target, const uint8_t *source, uint64_t bytes)
{
	__m256i start = _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)~crc));

	if (bytes < 64)
		return copy_pclmul(crc, target, source, bytes);
	return go_on_256(_mm256_xor_si256(take_32(target, source, true), start),
			 take_32(target + 32, source + 32, true), target + 64, source + 64, bytes - 64, true);
}

/* The first half of the pseudo header; bytes in front of the headers are not read. */
TARGET_256 INLINE __m256i load_half(const uint8_t *ip, uint32_t headers_bytes)
{
	static const int32_t keep[16] = { 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1 };
	uint32_t words = (headers_bytes - PSEUDO_BYTES / 2) / 4;

	return _mm256_maskload_epi32((const int *)(const void *)(ip + headers_bytes - PSEUDO_BYTES),
				     load_32((const uint8_t *)(keep + words)));
}

TARGET_256 INLINE uint32_t frame_256(const uint8_t *ip, uint32_t headers_bytes, uint8_t *target, const uint8_t *source,
				     uint64_t bytes, bool moves)
{
	const struct pseudo_row *row = row_of(headers_bytes);
	__m256i x = load_half(ip, headers_bytes), x1 = load_32(ip + headers_bytes - PSEUDO_BYTES / 2);

	return go_on_256(_mm256_or_si256(x, load_32(row->ones)), _mm256_or_si256(x1, load_32(row->ones + 32)), target,
			 source, bytes, moves);
}

PLACE_AND_CHECK(TARGET_256, vpclmul256, frame_256)

/* ---- 512 bits ---- */

TARGET_512 static uint32_t copy_vpclmul(uint32_t crc, uint8_t *target, const uint8_t *source, uint64_t bytes)
{
	__m512i start = _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc));

	if (bytes < 64)
		return copy_pclmul(crc, target, source, bytes);
	return go_on_512(_mm512_xor_si512(take_64(target, source, true), start), target + 64, source + 64, bytes - 64,
			 true);
}

/* The whole pseudo header; bytes in front of the headers are masked, so that loading them cannot fault. */
TARGET_512 INLINE __m512i load_pseudo(const uint8_t *ip, uint32_t headers_bytes)
{
	const struct pseudo_row *row = row_of(headers_bytes);

	return _mm512_or_si512(_mm512_maskz_loadu_epi8(row->keep, ip + headers_bytes - PSEUDO_BYTES),
			       _mm512_loadu_si512(row->ones));
}

TARGET_512 INLINE uint32_t frame_512(const uint8_t *ip, uint32_t headers_bytes, uint8_t *target, const uint8_t *source,
				     uint64_t bytes, bool moves)
{
	return go_on_512(load_pseudo(ip, headers_bytes), target, source, bytes, moves);
}

PLACE_AND_CHECK(TARGET_512, vpclmul, frame_512)

static bool cpu_has(enum wire_icrc_impl impl)
{
	switch (impl) {
	case WIRE_ICRC_ISAL:
		return true;
	case WIRE_ICRC_PCLMUL:
		return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
	case WIRE_ICRC_VPCLMUL256:
		return cpu_has(WIRE_ICRC_PCLMUL) && __builtin_cpu_supports("avx2") &&
		       __builtin_cpu_supports("vpclmulqdq");
	case WIRE_ICRC_VPCLMUL:
		return cpu_has(WIRE_ICRC_PCLMUL) && __builtin_cpu_supports("avx512f") &&
		       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("vpclmulqdq");
	case WIRE_ICRC_IMPLS:
		break;
	}
	return false;
}

static const struct icrc_impl impls[WIRE_ICRC_IMPLS] = {
	[WIRE_ICRC_ISAL] = { copy_isal, place_isal, check_isal },
	[WIRE_ICRC_PCLMUL] = { copy_pclmul, place_pclmul, check_pclmul },
	[WIRE_ICRC_VPCLMUL256] = { copy_vpclmul256, place_vpclmul256, check_vpclmul256 },
	[WIRE_ICRC_VPCLMUL] = { copy_vpclmul, place_vpclmul, check_vpclmul },
};

#else

static bool cpu_has(enum wire_icrc_impl impl)
{
	return impl == WIRE_ICRC_ISAL;
}

static const struct icrc_impl impls[WIRE_ICRC_IMPLS] = { [WIRE_ICRC_ISAL] = { copy_isal, place_isal, check_isal } };

#endif

enum wire_icrc_impl wire_icrc_current = WIRE_ICRC_ISAL;
wire_icrc_frame_function *wire_icrc_place = place_isal, *wire_icrc_check = check_isal;
static copy_function *copy_chosen = copy_isal;

__attribute__((constructor)) static void choose_best(void)
{
	for (int impl = WIRE_ICRC_IMPLS - 1; impl > WIRE_ICRC_ISAL; impl--) {
		if (wire_icrc_choose((enum wire_icrc_impl)impl))
			return;
	}
}

uint32_t wire_icrc_copy(uint32_t crc, void *target, const void *source, uint64_t bytes)
{
	return copy_chosen(crc, target, source, bytes);
}

uint32_t wire_icrc_copy_frame(const uint8_t *ip, uint32_t headers_bytes, void *target, const void *source,
			      uint64_t bytes)
{
	uint32_t crc;

	if (ip[0] >> 4 == 4 && headers_bytes <= ICRC_HEADERS_MAX_BYTES)
		return icrc_copy_frame(ip, headers_bytes, target, source, bytes);
	crc = wire_icrc_headers(ip, headers_bytes);
	return target ? copy_chosen(crc, target, source, bytes) : wire_icrc_continue(crc, source, bytes);
}

const char *wire_icrc_impl_name(enum wire_icrc_impl impl)
{
	static const char *const names[WIRE_ICRC_IMPLS] = { "isal", "pclmul", "vpclmul256", "vpclmul" };

	return impl < WIRE_ICRC_IMPLS ? names[impl] : "unknown";
}

bool wire_icrc_choose(enum wire_icrc_impl impl)
{
	if (!cpu_has(impl))
		return false;
	wire_icrc_current = impl;
	wire_icrc_place = impls[impl].place;
	wire_icrc_check = impls[impl].check;
	copy_chosen = impls[impl].copy;
	return true;
}
