/* crc32_clmul.h - the CRC of the ICRC by carry-less multiplication, with or without a copy: for lib/wire only */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CRC is a remainder, so a block of a message may be replaced by any congruent block. "Folding" multiplies a block by
 * the remainder of x^distance and adds it to the block that lies this distance behind it, until 128 bits are left.
 * Barrett's method reduces these 128 bits to 32. All values are in the reflected bit order of Ethernet. The constants
 * for a distance of D bits are the reflected remainders of x^(D + 32) and x^(D - 32), shifted left by one.
 *
 * All functions are inlined into functions that are compiled for CPUs with the instructions (TARGET_128, TARGET_256,
 * TARGET_512).
 */
#ifndef WIRE_CRC32_CLMUL_H
#define WIRE_CRC32_CLMUL_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/hints.h"

#define FOLD_128_LOW 0x1751997d0
#define FOLD_128_HIGH 0x0ccaa009e
#define FOLD_256_LOW 0x0f1da05aa
#define FOLD_256_HIGH 0x15a546366
#define FOLD_384_LOW 0x03db1ecdc
#define FOLD_384_HIGH 0x174359406
#define FOLD_512_LOW 0x154442bd4
#define FOLD_512_HIGH 0x1c6e41596
#define FOLD_1024_LOW 0x1e88ef372
#define FOLD_1024_HIGH 0x14a7fe880
#define FOLD_2048_LOW 0x11542778a
#define FOLD_2048_HIGH 0x1322d1430
#define POLYNOMIAL 0x1db710641
#define QUOTIENT 0xb4e5b025f7011641

#define TARGET_128 __attribute__((target("pclmul,sse4.1")))
#define TARGET_256 __attribute__((target("avx2,vpclmulqdq,pclmul,sse4.1")))
#define TARGET_512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,vpclmulqdq,pclmul,sse4.1")))

/*
 * Keeps the compiler from unrolling a loop, and from computing `bytes` again, because most frames take each loop once.
 */
#define COUNT_ALONG(bytes) __asm__("" : "+r"(bytes))

/* ---- 128 bits ---- */

TARGET_128 INLINE __m128i fold_128(__m128i x, __m128i constants)
{
	return _mm_xor_si128(_mm_clmulepi64_si128(x, constants, 0x00), _mm_clmulepi64_si128(x, constants, 0x11));
}

/*
 * Reduces 96 bits to the CRC by Barrett's method. The high part times x^95 / P gives a quotient. The remainder is the
 * difference between x and the quotient times P, in the last 32 bits.
 */
TARGET_128 INLINE uint32_t remainder_of(__m128i x)
{
	const __m128i barrett = _mm_set_epi64x(QUOTIENT, POLYNOMIAL);
	__m128i times = _mm_clmulepi64_si128(x, barrett, 0x10);

	return ~(uint32_t)_mm_extract_epi32(_mm_xor_si128(x, _mm_clmulepi64_si128(times, barrett, 0x00)), 2);
}

/*
 * Reduces the 128 bits of x to the CRC. Before that the first half is folded over the 32 zero bits that a CRC appends.
 */
TARGET_128 INLINE uint32_t reduce(__m128i x)
{
	__m128i y = _mm_clmulepi64_si128(x, _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW), 0x10);

	return remainder_of(_mm_xor_si128(_mm_srli_si128(x, 8), y));
}

/* Reduces 64 bytes to the CRC: each 8 bytes are folded over everything behind them. */
TARGET_128 INLINE uint32_t reduce_64(__m128i x, __m128i x1, __m128i x2, __m128i x3)
{
	__m128i y = fold_128(x, _mm_set_epi64x(FOLD_384_LOW, FOLD_512_HIGH));
	__m128i y1 = fold_128(x1, _mm_set_epi64x(FOLD_256_LOW, FOLD_384_HIGH));
	__m128i y2 = fold_128(x2, _mm_set_epi64x(FOLD_128_LOW, FOLD_256_HIGH));
	__m128i y3 = _mm_clmulepi64_si128(x3, _mm_cvtsi64_si128(FOLD_128_HIGH), 0x00);

	y3 = _mm_xor_si128(_mm_srli_si128(x3, 8), y3);
	return remainder_of(_mm_xor_si128(_mm_xor_si128(y, y1), _mm_xor_si128(y2, y3)));
}

TARGET_128 INLINE __m128i load_16(const uint8_t *at)
{
	return _mm_loadu_si128((const __m128i *)(const void *)at);
}

/* Loads the next 16 bytes and, if `moves`, copies them to target. */
TARGET_128 INLINE __m128i take_16(uint8_t *target, const uint8_t *source, bool moves)
{
	__m128i x = load_16(source);

	if (moves)
		_mm_storeu_si128((__m128i *)(void *)target, x);
	return x;
}

/*
 * Folds in the last n bytes, n = 1 to 15. Of the 16 bytes of x and these n bytes together, the first n are folded over
 * the other 16.
 */
TARGET_128 static inline __m128i take_rest(__m128i x, uint8_t *target, const uint8_t *source, uint64_t bytes,
					   bool moves)
{
	/* Shuffling with the 16 bytes at up + n moves bytes up by 16 - n; bytes moved out of the register are lost. */
	static const uint8_t up[32] = { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					0x80, 0x80, 0x80, 0x80, 0x80, 0,    1,    2,    3,    4,    5,
					6,    7,    8,    9,    10,   11,   12,   13,   14,   15 };
	static const uint8_t down[32] = { 0,    1,    2,    3,    4,    5,    6,    7,    8,    9,    10,
					  11,   12,   13,   14,   15,   0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
					  0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80 };
	uint8_t once[16] = { 0 };
	__m128i moved, rest;

	memcpy(once, source, bytes);
	__asm__ volatile("" : : "r"(once) : "memory"); /* keeps the compiler from reading the source twice */
	if (moves)
		memcpy(target, once, bytes);
	moved = _mm_shuffle_epi8(x, load_16(up + bytes));
	rest = _mm_or_si128(_mm_shuffle_epi8(x, load_16(down + bytes)),
			    _mm_shuffle_epi8(load_16(once), load_16(up + bytes)));
	return _mm_xor_si128(fold_128(moved, _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW)), rest);
}

/* Finishes a CRC; x is the result of folding so far. Takes 16 bytes at a time, then the rest. */
TARGET_128 INLINE uint32_t finish(__m128i x, uint8_t *target, const uint8_t *source, uint64_t bytes, bool moves)
{
	const __m128i constants = _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW);

	for (; bytes >= 16; bytes -= 16, target += 16, source += 16) {
		x = _mm_xor_si128(fold_128(x, constants), take_16(target, source, moves));
		COUNT_ALONG(bytes);
	}
	return reduce(bytes ? take_rest(x, target, source, bytes, moves) : x);
}

/* Continues a CRC whose last 64 bytes are in x, x1, x2 and x3. */
TARGET_128 INLINE uint32_t go_on_128(__m128i x, __m128i x1, __m128i x2, __m128i x3, uint8_t *target,
				     const uint8_t *source, uint64_t bytes, bool moves)
{
	const __m128i far = _mm_set_epi64x(FOLD_512_HIGH, FOLD_512_LOW);
	const __m128i near = _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW);

	for (; bytes >= 64; bytes -= 64, target += 64, source += 64) {
		x = _mm_xor_si128(fold_128(x, far), take_16(target, source, moves));
		x1 = _mm_xor_si128(fold_128(x1, far), take_16(target + 16, source + 16, moves));
		x2 = _mm_xor_si128(fold_128(x2, far), take_16(target + 32, source + 32, moves));
		x3 = _mm_xor_si128(fold_128(x3, far), take_16(target + 48, source + 48, moves));
		COUNT_ALONG(bytes);
	}
	if (bytes == 0)
		return reduce_64(x, x1, x2, x3);
	x1 = _mm_xor_si128(fold_128(x, near), x1);
	x2 = _mm_xor_si128(fold_128(x1, near), x2);
	return finish(_mm_xor_si128(fold_128(x2, near), x3), target, source, bytes, moves);
}

/* ---- 256 bits ---- */

TARGET_256 INLINE __m256i fold_256(__m256i x, __m256i constants, __m256i add)
{
	return _mm256_xor_si256(_mm256_xor_si256(_mm256_clmulepi64_epi128(x, constants, 0x00), add),
				_mm256_clmulepi64_epi128(x, constants, 0x11));
}

TARGET_256 INLINE __m256i load_32(const uint8_t *at)
{
	return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

TARGET_256 INLINE __m256i take_32(uint8_t *target, const uint8_t *source, bool moves)
{
	__m256i x = load_32(source);

	if (moves)
		_mm256_storeu_si256((__m256i *)(void *)target, x);
	return x;
}

TARGET_256 INLINE __m128i sum_halves(__m256i x)
{
	return _mm_xor_si128(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}

/* Folds four lanes into one: each is multiplied by its distance from the last lane. */
TARGET_256 INLINE __m128i join_halves(__m256i x, __m256i x1)
{
	const __m256i constants = _mm256_set_epi64x(FOLD_256_HIGH, FOLD_256_LOW, FOLD_384_HIGH, FOLD_384_LOW);
	__m128i last = fold_128(_mm256_castsi256_si128(x1), _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW));
	__m256i y = fold_256(x, constants, _mm256_setzero_si256());

	return _mm_xor_si128(_mm_xor_si128(sum_halves(y), last), _mm256_extracti128_si256(x1, 1));
}

/* reduce_64() for two registers. */
TARGET_256 INLINE uint32_t reduce_256(__m256i x, __m256i x1)
{
	const __m256i front = _mm256_set_epi64x(FOLD_256_LOW, FOLD_384_HIGH, FOLD_384_LOW, FOLD_512_HIGH);
	const __m256i back = _mm256_set_epi64x(0, FOLD_128_HIGH, FOLD_128_LOW, FOLD_256_HIGH);
	__m128i last = _mm_srli_si128(_mm256_extracti128_si256(x1, 1), 8);
	__m256i y = fold_256(x, front, fold_256(x1, back, _mm256_zextsi128_si256(last)));

	return remainder_of(sum_halves(y));
}

/* Continues a CRC whose last 64 bytes are in x and x1. */
TARGET_256 INLINE uint32_t go_on_256(__m256i x, __m256i x1, uint8_t *target, const uint8_t *source, uint64_t bytes,
				     bool moves)
{
	const __m256i far = _mm256_broadcastsi128_si256(_mm_set_epi64x(FOLD_1024_HIGH, FOLD_1024_LOW));
	const __m256i near = _mm256_broadcastsi128_si256(_mm_set_epi64x(FOLD_512_HIGH, FOLD_512_LOW));

	if (bytes >= 64) {
		__m256i x2 = take_32(target, source, moves), x3 = take_32(target + 32, source + 32, moves);

		for (bytes -= 64, target += 64, source += 64; bytes >= 128;
		     bytes -= 128, target += 128, source += 128) {
			x = fold_256(x, far, take_32(target, source, moves));
			x1 = fold_256(x1, far, take_32(target + 32, source + 32, moves));
			x2 = fold_256(x2, far, take_32(target + 64, source + 64, moves));
			x3 = fold_256(x3, far, take_32(target + 96, source + 96, moves));
			COUNT_ALONG(bytes);
		}
		x = fold_256(x, near, x2);
		x1 = fold_256(x1, near, x3);
	}
	if (bytes >= 64) {
		x = fold_256(x, near, take_32(target, source, moves));
		x1 = fold_256(x1, near, take_32(target + 32, source + 32, moves));
		bytes -= 64;
		target += 64;
		source += 64;
	}
	return bytes ? finish(join_halves(x, x1), target, source, bytes, moves) : reduce_256(x, x1);
}

/* ---- 512 bits ---- */

TARGET_512 INLINE __m512i fold_512(__m512i x, __m512i constants, __m512i add)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, constants, 0x00),
					 _mm512_clmulepi64_epi128(x, constants, 0x11), add, 0x96);
}

TARGET_512 INLINE __m512i take_64(uint8_t *target, const uint8_t *source, bool moves)
{
	__m512i x = _mm512_loadu_si512(source);

	if (moves)
		_mm512_storeu_si512(target, x);
	return x;
}

/* Adds up four lanes. */
TARGET_512 INLINE __m128i sum_lanes(__m512i x)
{
	__m256i half = _mm256_xor_si256(_mm512_castsi512_si256(x), _mm512_extracti64x4_epi64(x, 1));

	return _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
}

/* Folds four lanes into one: each is multiplied by its distance from the last lane. */
TARGET_512 INLINE __m128i join_lanes(__m512i x)
{
	const __m512i constants = _mm512_set_epi64(0, 0, FOLD_128_HIGH, FOLD_128_LOW, FOLD_256_HIGH, FOLD_256_LOW,
						   FOLD_384_HIGH, FOLD_384_LOW);
	__m512i y = fold_512(x, constants, _mm512_setzero_si512());

	return _mm_xor_si128(sum_lanes(y), _mm512_extracti64x2_epi64(x, 3));
}

/* reduce_64() for one register. */
TARGET_512 INLINE uint32_t reduce_512(__m512i x)
{
	const __m512i constants = _mm512_set_epi64(0, FOLD_128_HIGH, FOLD_128_LOW, FOLD_256_HIGH, FOLD_256_LOW,
						   FOLD_384_HIGH, FOLD_384_LOW, FOLD_512_HIGH);
	__m512i last = _mm512_alignr_epi64(_mm512_setzero_si512(), x, 7);

	return remainder_of(sum_lanes(fold_512(x, constants, last)));
}

/* Continues a CRC whose last 64 bytes are in x. */
TARGET_512 INLINE uint32_t go_on_512(__m512i x, uint8_t *target, const uint8_t *source, uint64_t bytes, bool moves)
{
	const __m512i far = _mm512_broadcast_i64x2(_mm_set_epi64x(FOLD_2048_HIGH, FOLD_2048_LOW));
	const __m512i near = _mm512_broadcast_i64x2(_mm_set_epi64x(FOLD_512_HIGH, FOLD_512_LOW));

	if (bytes >= 192) {
		__m512i x1 = take_64(target, source, moves), x2 = take_64(target + 64, source + 64, moves);
		__m512i x3 = take_64(target + 128, source + 128, moves);

		for (bytes -= 192, target += 192, source += 192; bytes >= 256;
		     bytes -= 256, target += 256, source += 256) {
			x = fold_512(x, far, take_64(target, source, moves));
			x1 = fold_512(x1, far, take_64(target + 64, source + 64, moves));
			x2 = fold_512(x2, far, take_64(target + 128, source + 128, moves));
			x3 = fold_512(x3, far, take_64(target + 192, source + 192, moves));
		}
		x = fold_512(fold_512(fold_512(x, near, x1), near, x2), near, x3);
	}
	for (; bytes >= 64; bytes -= 64, target += 64, source += 64) {
		x = fold_512(x, near, take_64(target, source, moves));
		COUNT_ALONG(bytes);
	}
	return bytes ? finish(join_lanes(x), target, source, bytes, moves) : reduce_512(x);
}

#endif
