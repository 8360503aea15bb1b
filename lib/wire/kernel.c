/* kernel.c - copying and the ICRC in one pass, by carry-less multiplication */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/icrc.h"
#include "wire/kernel.h"

#include <isa-l/crc.h>
#include <string.h>

#define ONCE_BYTES 512u
#define IMAGE_BYTES 64u

typedef uint32_t copy_function(uint32_t crc, uint8_t *target, const uint8_t *source, uint64_t bytes);

/* What a CPU can do. */
struct kernel {
	copy_function *copy;               /* wire_kernel_copy() */
	wire_kernel_frame_function *place; /* wire_kernel_frame() of short IPv4 headers */
	wire_kernel_frame_function *check; /* the same, only reading */
};

/*
 * The ICRC begins with 8 bytes of ones and the headers, with ones for what routers change. Four of those bytes and a
 * start value of ones cancel out, and bytes of 0 in front of a message do not change a CRC that starts at 0: so the
 * beginning of every IPv4 frame is an image of 64 bytes that ends where the payload begins, and goes into the CRC like
 * 64 bytes of payload. A row for each length of the extension headers.
 */
struct image_row {
	uint64_t keep;             /* bit i: byte i of the image is the frame's */
	uint8_t ones[IMAGE_BYTES]; /* what is set besides */
};

#define HEADERS_MIN_BYTES 40u /* IPv4, UDP, BTH */
/* at: where the IP header begins. TOS, TTL, checksums of IP and UDP, BTH byte 4. */
#define IMAGE_ROW(at)                                \
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

static const struct image_row image_rows[] = {
	IMAGE_ROW(24), IMAGE_ROW(20), IMAGE_ROW(16), IMAGE_ROW(12), IMAGE_ROW(8), IMAGE_ROW(4),
};

static inline const struct image_row *row_of(uint32_t headers_bytes)
{
	return &image_rows[(headers_bytes - HEADERS_MIN_BYTES) / 4];
}

/* ---- everywhere ---- */

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

/* 40 to 60 bytes, to the end of image; its other bytes are garbage. */
static inline void store_headers(uint8_t image[IMAGE_BYTES], const uint8_t *ip, uint32_t headers_bytes)
{
	memcpy(image + IMAGE_BYTES - headers_bytes, ip, 32);
	memcpy(image + IMAGE_BYTES - 32, ip + headers_bytes - 32, 32);
}

static uint32_t begin_isal(const uint8_t *ip, uint32_t headers_bytes)
{
	const struct image_row *row = row_of(headers_bytes);
	uint8_t image[IMAGE_BYTES];

	memset(image, 0, sizeof(image));
	store_headers(image, ip, headers_bytes);
	for (uint32_t i = 0; i < IMAGE_BYTES; i++)
		image[i] |= row->ones[i];
	return crc32_gzip_refl(UINT32_MAX, image, sizeof(image)); /* a start value of 0, as ISA-L says it */
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

#include "wire/fold.h"

/* For a CPU with these instructions: the functions that copy and that only read, of one that does either. */
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
	const struct image_row *row = row_of(headers_bytes);
	uint8_t image[IMAGE_BYTES];

	memset(image, 0, IMAGE_BYTES - HEADERS_MIN_BYTES);
	store_headers(image, ip, headers_bytes);
	return go_on_128(_mm_or_si128(load_16(image), load_16(row->ones)),
			 _mm_or_si128(load_16(image + 16), load_16(row->ones + 16)),
			 _mm_or_si128(load_16(image + 32), load_16(row->ones + 32)),
			 _mm_or_si128(load_16(image + 48), load_16(row->ones + 48)), target, source, bytes, moves);
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

/* What lies in front of the headers, in the first half of the image, is not read, nor anywhere below. */
TARGET_256 INLINE __m256i load_half(const uint8_t *ip, uint32_t headers_bytes)
{
	static const int32_t keep[16] = { 0, 0, 0, 0, 0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1 };
	uint32_t words = (headers_bytes - IMAGE_BYTES / 2) / 4;

	return _mm256_maskload_epi32((const int *)(const void *)(ip + headers_bytes - IMAGE_BYTES),
				     load_32((const uint8_t *)(keep + words)));
}

TARGET_256 INLINE uint32_t frame_256(const uint8_t *ip, uint32_t headers_bytes, uint8_t *target, const uint8_t *source,
				     uint64_t bytes, bool moves)
{
	const struct image_row *row = row_of(headers_bytes);
	__m256i x = load_half(ip, headers_bytes), x1 = load_32(ip + headers_bytes - IMAGE_BYTES / 2);

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

/* What lies in front of the headers is not read: such bytes of a masked load cannot fault. */
TARGET_512 INLINE __m512i load_image(const uint8_t *ip, uint32_t headers_bytes)
{
	const struct image_row *row = row_of(headers_bytes);

	return _mm512_or_si512(_mm512_maskz_loadu_epi8(row->keep, ip + headers_bytes - IMAGE_BYTES),
			       _mm512_loadu_si512(row->ones));
}

TARGET_512 INLINE uint32_t frame_512(const uint8_t *ip, uint32_t headers_bytes, uint8_t *target, const uint8_t *source,
				     uint64_t bytes, bool moves)
{
	return go_on_512(load_image(ip, headers_bytes), target, source, bytes, moves);
}

PLACE_AND_CHECK(TARGET_512, vpclmul, frame_512)

static bool cpu_has(enum wire_kernel kernel)
{
	switch (kernel) {
	case WIRE_KERNEL_ISAL:
		return true;
	case WIRE_KERNEL_PCLMUL:
		return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
	case WIRE_KERNEL_VPCLMUL256:
		return cpu_has(WIRE_KERNEL_PCLMUL) && __builtin_cpu_supports("avx2") &&
		       __builtin_cpu_supports("vpclmulqdq");
	case WIRE_KERNEL_VPCLMUL:
		return cpu_has(WIRE_KERNEL_PCLMUL) && __builtin_cpu_supports("avx512f") &&
		       __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("vpclmulqdq");
	case WIRE_KERNELS:
		break;
	}
	return false;
}

static const struct kernel kernels[WIRE_KERNELS] = {
	[WIRE_KERNEL_ISAL] = { copy_isal, place_isal, check_isal },
	[WIRE_KERNEL_PCLMUL] = { copy_pclmul, place_pclmul, check_pclmul },
	[WIRE_KERNEL_VPCLMUL256] = { copy_vpclmul256, place_vpclmul256, check_vpclmul256 },
	[WIRE_KERNEL_VPCLMUL] = { copy_vpclmul, place_vpclmul, check_vpclmul },
};

#else

static bool cpu_has(enum wire_kernel kernel)
{
	return kernel == WIRE_KERNEL_ISAL;
}

static const struct kernel kernels[WIRE_KERNELS] = { [WIRE_KERNEL_ISAL] = { copy_isal, place_isal, check_isal } };

#endif

enum wire_kernel wire_kernel_current = WIRE_KERNEL_ISAL;
wire_kernel_frame_function *wire_kernel_place = place_isal, *wire_kernel_check = check_isal;
static copy_function *copy_chosen = copy_isal;

__attribute__((constructor)) static void choose_best(void)
{
	for (int kernel = WIRE_KERNELS - 1; kernel > WIRE_KERNEL_ISAL; kernel--) {
		if (wire_kernel_choose((enum wire_kernel)kernel))
			return;
	}
}

uint32_t wire_kernel_copy(uint32_t crc, void *target, const void *source, uint64_t bytes)
{
	return copy_chosen(crc, target, source, bytes);
}

uint32_t wire_kernel_frame(const uint8_t *ip, uint32_t headers_bytes, void *target, const void *source, uint64_t bytes)
{
	uint32_t crc;

	if (ip[0] >> 4 == 4 && headers_bytes <= KERNEL_HEADERS_MAX_BYTES)
		return kernel_frame(ip, headers_bytes, target, source, bytes);
	crc = wire_icrc_headers(ip, headers_bytes);
	return target ? copy_chosen(crc, target, source, bytes) : wire_icrc_continue(crc, source, bytes);
}

const char *wire_kernel_name(enum wire_kernel kernel)
{
	static const char *const names[WIRE_KERNELS] = { "isal", "pclmul", "vpclmul256", "vpclmul" };

	return kernel < WIRE_KERNELS ? names[kernel] : "unknown";
}

bool wire_kernel_choose(enum wire_kernel kernel)
{
	if (!cpu_has(kernel))
		return false;
	wire_kernel_current = kernel;
	wire_kernel_place = kernels[kernel].place;
	wire_kernel_check = kernels[kernel].check;
	copy_chosen = kernels[kernel].copy;
	return true;
}
