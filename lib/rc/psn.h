/* psn.h - a packet sequence number: 24 bits, compared by the half window (P-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_PSN_H
#define RC_PSN_H

#include <stdbool.h>
#include <stdint.h>

#define PSN_MASK 0xFFFFFFu

/* A struct, so that `a < b`, which is wrong when PSNs wrap, does not compile. */
typedef struct {
	uint32_t v;
} psn_t;

static inline psn_t psn_make(uint32_t v)
{
	return (psn_t){ v & PSN_MASK };
}

static inline psn_t psn_add(psn_t a, uint32_t n)
{
	return psn_make(a.v + n);
}

static inline psn_t psn_next(psn_t a)
{
	return psn_make(a.v + 1);
}

static inline psn_t psn_previous(psn_t a)
{
	return psn_make(a.v - 1);
}

/* How far a is ahead of b, 0 ... 2^24 - 1. */
static inline uint32_t psn_distance(psn_t a, psn_t b)
{
	return (a.v - b.v) & PSN_MASK;
}

static inline bool psn_equal(psn_t a, psn_t b)
{
	return a.v == b.v;
}

/* Does a lie in the half window behind b, 1 ... 2^23 before it? */
static inline bool psn_before(psn_t a, psn_t b)
{
	return psn_distance(a, b) >= 1u << 23;
}

#endif
