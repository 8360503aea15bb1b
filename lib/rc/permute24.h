/* permute24.h - a permutation of 24-bit numbers with a secret key: unpredictable names, direct look-up (M-1, P-7) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns a table index into a QPN or a key body, and back. Four Feistel rounds over two 12-bit halves are a bijection
 * whatever the round function is, so no two indexes share a name.
 */
#ifndef RC_PERMUTE24_H
#define RC_PERMUTE24_H

#include <stdint.h>

#define PERMUTE24_ROUNDS 4
#define PERMUTE24_BITS 24u

struct rc_permute24 {
	uint64_t secret[PERMUTE24_ROUNDS]; /* from a cryptographic source */
};

static inline uint32_t permute24_round(uint64_t secret, uint32_t half)
{
	uint64_t x = (half + (secret >> 32) + 1) * (secret | 1);

	x ^= x >> 29;
	x *= 0x9E3779B97F4A7C15ull;
	return (uint32_t)(x >> 52);
}

static inline uint32_t permute24_forward(const struct rc_permute24 *space, uint32_t index)
{
	uint32_t left = index >> 12 & 0xFFF, right = index & 0xFFF;

	for (int i = 0; i < PERMUTE24_ROUNDS; i++) {
		uint32_t mixed = left ^ permute24_round(space->secret[i], right);

		left = right;
		right = mixed;
	}
	return left << 12 | right;
}

static inline uint32_t permute24_back(const struct rc_permute24 *space, uint32_t name)
{
	uint32_t left = name >> 12 & 0xFFF, right = name & 0xFFF;

	for (int i = PERMUTE24_ROUNDS - 1; i >= 0; i--) {
		uint32_t mixed = right ^ permute24_round(space->secret[i], left);

		right = left;
		left = mixed;
	}
	return left << 12 | right;
}

#endif
