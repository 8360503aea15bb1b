/* codes.c - tables of the protocol's encoded numbers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/codes.h"

#define MICROSECONDS 1000ull

uint64_t rc_codes_rnr_ns(uint32_t code)
{
	/* In units of 10 us; code 0 is the longest, not the shortest. */
	static const uint32_t ten_us[32] = {
		[0] = 65536,  [1] = 1,      [2] = 2,      [3] = 3,      [4] = 4,     [5] = 6,     [6] = 8,
		[7] = 12,     [8] = 16,     [9] = 24,     [10] = 32,    [11] = 48,   [12] = 64,   [13] = 96,
		[14] = 128,   [15] = 192,   [16] = 256,   [17] = 384,   [18] = 512,  [19] = 768,  [20] = 1024,
		[21] = 1536,  [22] = 2048,  [23] = 3072,  [24] = 4096,  [25] = 6144, [26] = 8192, [27] = 12288,
		[28] = 16384, [29] = 24576, [30] = 32768, [31] = 49152,
	};

	return ten_us[code & 31] * (10 * MICROSECONDS);
}

uint64_t rc_codes_timeout_ns(uint32_t n)
{
	return n == 0 ? 0 : 4096ull << (n & 31);
}
