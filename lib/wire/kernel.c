/* kernel.c - copying and the ICRC in one pass, by carry-less multiplication */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CRC of a long message is that of a short one that is congruent to it: a block is multiplied by the remainder of
 * x^distance and added to the block that far behind it ("folding"), until 128 bits are left, which Barrett's method
 * reduces to 32. All in the reflected bit order of Ethernet. The constants for a distance of D bits are the reflected
 * remainders of x^(D + 32) and x^(D - 32), shifted left by one.
 */
#include "wire/kernel.h"

#include <isa-l/crc.h>
#include <string.h>

#define ONCE_BYTES 512u

typedef uint32_t copy_function(uint32_t crc, uint8_t *target, const uint8_t *source, uint64_t bytes);

/*
 * Each byte of the source is read once: it may be memory that an application writes to meanwhile, and so may the
 * target. What goes into the CRC is what was copied, whatever it was.
 */
static uint32_t copy_isal(uint32_t crc, uint8_t *target, const uint8_t *source, uint64_t bytes)
{
	uint8_t once[ONCE_BYTES];

	while (bytes > 0) {
		uint64_t piece = bytes < sizeof(once) ? bytes : sizeof(once);

		memcpy(once, source, piece);
		__asm__ volatile("" : : "r"(once) : "memory"); /* the compiler may not look at the source again */
		memcpy(target, once, piece);
		crc = crc32_gzip_refl(crc, once, piece);
		target += piece;
		source += piece;
		bytes -= piece;
	}
	return crc;
}

#ifdef __x86_64__

#include <immintrin.h>

#define FOLD_128_LOW 0x1751997d0
#define FOLD_128_HIGH 0x0ccaa009e
#define FOLD_256_LOW 0x0f1da05aa
#define FOLD_256_HIGH 0x15a546366
#define FOLD_384_LOW 0x03db1ecdc
#define FOLD_384_HIGH 0x174359406
#define FOLD_512_LOW 0x154442bd4
#define FOLD_512_HIGH 0x1c6e41596
#define FOLD_2048_LOW 0x11542778a
#define FOLD_2048_HIGH 0x1322d1430
#define FOLD_64 0x163cd6124
#define POLYNOMIAL 0x1db710641
#define QUOTIENT 0x1f7011641

#define TARGET_128 __attribute__((target("pclmul,sse4.1")))
#define TARGET_512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,vpclmulqdq,pclmul,sse4.1")))

/* ---- 128 bits ---- */

TARGET_128 static inline __m128i fold_128(__m128i x, __m128i constants)
{
	return _mm_xor_si128(_mm_clmulepi64_si128(x, constants, 0x00), _mm_clmulepi64_si128(x, constants, 0x11));
}

/* The CRC of what was folded into x. */
TARGET_128 static inline uint32_t reduce(__m128i x)
{
	const __m128i low_words = _mm_setr_epi32(-1, 0, -1, 0);
	const __m128i barrett = _mm_set_epi64x(QUOTIENT, POLYNOMIAL);
	__m128i y = _mm_clmulepi64_si128(x, _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW), 0x10);

	x = _mm_xor_si128(_mm_srli_si128(x, 8), y);
	y = _mm_srli_si128(x, 4);
	x = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(x, low_words), _mm_cvtsi64_si128(FOLD_64), 0x00), y);
	y = _mm_clmulepi64_si128(_mm_and_si128(x, low_words), barrett, 0x10);
	y = _mm_clmulepi64_si128(_mm_and_si128(y, low_words), barrett, 0x00);
	return ~(uint32_t)_mm_extract_epi32(_mm_xor_si128(x, y), 1);
}

TARGET_128 static inline __m128i move_16(uint8_t *target, const uint8_t *source)
{
	__m128i x = _mm_loadu_si128((const __m128i *)(const void *)source);

	_mm_storeu_si128((__m128i *)(void *)target, x);
	return x;
}

/* What is left behind x: 16 bytes at a time, and a rest that is too short for that. */
TARGET_128 static inline uint32_t finish(__m128i x, uint8_t *target, const uint8_t *source, uint64_t bytes)
{
	const __m128i constants = _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW);
	uint32_t crc;

	for (; bytes >= 16; bytes -= 16, target += 16, source += 16)
		x = _mm_xor_si128(fold_128(x, constants), move_16(target, source));
	crc = reduce(x);
	return bytes ? copy_isal(crc, target, source, bytes) : crc;
}

TARGET_128 static uint32_t copy_pclmul(uint32_t crc, uint8_t *target, const uint8_t *source, uint64_t bytes)
{
	const __m128i far = _mm_set_epi64x(FOLD_512_HIGH, FOLD_512_LOW);
	const __m128i near = _mm_set_epi64x(FOLD_128_HIGH, FOLD_128_LOW);
	__m128i x, x1, x2, x3;

	if (bytes < 16)
		return copy_isal(crc, target, source, bytes);
	x = _mm_xor_si128(move_16(target, source), _mm_cvtsi32_si128((int)~crc));
	if (bytes < 64)
		return finish(x, target + 16, source + 16, bytes - 16);
	x1 = move_16(target + 16, source + 16);
	x2 = move_16(target + 32, source + 32);
	x3 = move_16(target + 48, source + 48);
	for (bytes -= 64, target += 64, source += 64; bytes >= 64; bytes -= 64, target += 64, source += 64) {
		x = _mm_xor_si128(fold_128(x, far), move_16(target, source));
		x1 = _mm_xor_si128(fold_128(x1, far), move_16(target + 16, source + 16));
		x2 = _mm_xor_si128(fold_128(x2, far), move_16(target + 32, source + 32));
		x3 = _mm_xor_si128(fold_128(x3, far), move_16(target + 48, source + 48));
	}
	x1 = _mm_xor_si128(fold_128(x, near), x1);
	x2 = _mm_xor_si128(fold_128(x1, near), x2);
	return finish(_mm_xor_si128(fold_128(x2, near), x3), target, source, bytes);
}

/* ---- 512 bits ---- */

TARGET_512 static inline __m512i fold_512(__m512i x, __m512i constants, __m512i add)
{
	return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(x, constants, 0x00),
					 _mm512_clmulepi64_epi128(x, constants, 0x11), add, 0x96);
}

TARGET_512 static inline __m512i move_64(uint8_t *target, const uint8_t *source)
{
	__m512i x = _mm512_loadu_si512(source);

	_mm512_storeu_si512(target, x);
	return x;
}

/* Four lanes to one: each is multiplied by how far it lies in front of the last. */
TARGET_512 static inline __m128i join_lanes(__m512i x)
{
	const __m512i constants = _mm512_set_epi64(0, 0, FOLD_128_HIGH, FOLD_128_LOW, FOLD_256_HIGH, FOLD_256_LOW,
						   FOLD_384_HIGH, FOLD_384_LOW);
	__m512i y = fold_512(x, constants, _mm512_setzero_si512());
	__m256i half = _mm256_xor_si256(_mm512_castsi512_si256(y), _mm512_extracti64x4_epi64(y, 1));
	__m128i low = _mm_xor_si128(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));

	return _mm_xor_si128(low, _mm512_extracti64x2_epi64(x, 3));
}

TARGET_512 static uint32_t copy_vpclmul(uint32_t crc, uint8_t *target, const uint8_t *source, uint64_t bytes)
{
	const __m512i far = _mm512_broadcast_i64x2(_mm_set_epi64x(FOLD_2048_HIGH, FOLD_2048_LOW));
	const __m512i near = _mm512_broadcast_i64x2(_mm_set_epi64x(FOLD_512_HIGH, FOLD_512_LOW));
	__m512i x;

	if (bytes < 64)
		return copy_pclmul(crc, target, source, bytes);
	x = _mm512_xor_si512(move_64(target, source), _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)~crc)));
	bytes -= 64, target += 64, source += 64;
	if (bytes >= 192) {
		__m512i x1 = move_64(target, source), x2 = move_64(target + 64, source + 64);
		__m512i x3 = move_64(target + 128, source + 128);

		for (bytes -= 192, target += 192, source += 192; bytes >= 256;
		     bytes -= 256, target += 256, source += 256) {
			x = fold_512(x, far, move_64(target, source));
			x1 = fold_512(x1, far, move_64(target + 64, source + 64));
			x2 = fold_512(x2, far, move_64(target + 128, source + 128));
			x3 = fold_512(x3, far, move_64(target + 192, source + 192));
		}
		x = fold_512(fold_512(fold_512(x, near, x1), near, x2), near, x3);
	}
	for (; bytes >= 64; bytes -= 64, target += 64, source += 64)
		x = fold_512(x, near, move_64(target, source));
	return finish(join_lanes(x), target, source, bytes);
}

static bool cpu_has(enum wire_kernel kernel)
{
	switch (kernel) {
	case WIRE_KERNEL_ISAL:
		return true;
	case WIRE_KERNEL_PCLMUL:
		return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
	case WIRE_KERNEL_VPCLMUL:
		return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
		       __builtin_cpu_supports("vpclmulqdq");
	case WIRE_KERNELS:
		break;
	}
	return false;
}

static copy_function *const functions[WIRE_KERNELS] = {
	[WIRE_KERNEL_ISAL] = copy_isal,
	[WIRE_KERNEL_PCLMUL] = copy_pclmul,
	[WIRE_KERNEL_VPCLMUL] = copy_vpclmul,
};

#else

static bool cpu_has(enum wire_kernel kernel)
{
	return kernel == WIRE_KERNEL_ISAL;
}

static copy_function *const functions[WIRE_KERNELS] = { [WIRE_KERNEL_ISAL] = copy_isal };

#endif

static enum wire_kernel chosen = WIRE_KERNEL_ISAL;
static copy_function *copy = copy_isal;

__attribute__((constructor)) static void choose_best(void)
{
	for (int kernel = WIRE_KERNELS - 1; kernel > WIRE_KERNEL_ISAL; kernel--) {
		if (wire_kernel_choose((enum wire_kernel)kernel))
			return;
	}
}

uint32_t wire_kernel_copy(uint32_t crc, void *target, const void *source, uint64_t bytes)
{
	return copy(crc, target, source, bytes);
}

const char *wire_kernel_name(enum wire_kernel kernel)
{
	static const char *const names[WIRE_KERNELS] = { "isal", "pclmul", "vpclmul" };

	return kernel < WIRE_KERNELS ? names[kernel] : "unknown";
}

enum wire_kernel wire_kernel_chosen(void)
{
	return chosen;
}

bool wire_kernel_choose(enum wire_kernel kernel)
{
	if (!cpu_has(kernel))
		return false;
	chosen = kernel;
	copy = functions[kernel];
	return true;
}
