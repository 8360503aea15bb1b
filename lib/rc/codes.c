/* codes.c - tables of the protocol's encoded numbers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/codes.h"

#define MICROSECONDS 1000ull

uint64_t rc_codes_rnr_ns(uint32_t code)
{
	/* Waits in units of 10 us, by RNR timer code. Code 0 is the longest wait, not the shortest. */
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

enum uroce_cause rc_codes_local_cause(enum rc_mr_verdict verdict)
{
	static const enum uroce_cause causes[MR_VERDICTS] = {
		[MR_BAD_KEY] = UROCE_CAUSE_LOCAL_KEY,
		[MR_BAD_DOMAIN] = UROCE_CAUSE_LOCAL_DOMAIN,
		[MR_BAD_RIGHTS] = UROCE_CAUSE_LOCAL_RIGHTS,
		[MR_BAD_RANGE] = UROCE_CAUSE_LOCAL_RANGE,
	};

	return causes[verdict];
}

enum uroce_cause rc_codes_remote_cause(enum rc_mr_verdict verdict)
{
	static const enum uroce_cause causes[MR_VERDICTS] = {
		[MR_BAD_KEY] = UROCE_CAUSE_REMOTE_KEY,
		[MR_BAD_DOMAIN] = UROCE_CAUSE_REMOTE_DOMAIN,
		[MR_BAD_RIGHTS] = UROCE_CAUSE_REMOTE_RIGHTS,
		[MR_BAD_RANGE] = UROCE_CAUSE_REMOTE_RANGE,
	};

	return causes[verdict];
}

/* Beyond 1 the codes are alternately 1, 1.5, 2, 3, 4, 6 ... times a power of two. */
static const uint16_t credits[31] = {
	0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768,
};

uint32_t rc_codes_credit_count(uint32_t code)
{
	return (code & 31) == CREDIT_UNLIMITED ? UINT32_MAX : credits[code & 31];
}

uint32_t rc_codes_credit_code(uint32_t count)
{
	uint32_t low = 0, high = 30;

	while (low < high) {
		uint32_t middle = (low + high + 1) / 2;

		if (credits[middle] <= count)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}
