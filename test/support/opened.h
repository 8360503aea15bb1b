/* opened.h - pairs in the states from which stories begin, and what lies on the wire of one */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_OPENED_H
#define TEST_OPENED_H

#include <criterion/criterion.h>

#include "pair.h"

/* Nothing arrives at either end: the test answers for B. */
static inline struct pair *pair_open_cut(const struct pair_options *options)
{
	struct pair *pair = pair_open(options);

	pair_cut(pair);
	return pair;
}

/* A knows its round trip. */
static inline struct pair *pair_open_measured(const struct pair_options *options, uint64_t round_trip_ns)
{
	struct pair *pair = pair_open(options);

	pair_measure(pair, round_trip_ns);
	return pair;
}

static inline void pair_set_state(struct pair *pair, enum side_name side, enum uroce_qp_state state)
{
	struct uroce_qp_attr attr = { .qp_state = state };
	uint32_t bad = 0;

	cr_assert_eq(rc_qp_modify(pair->side[side].qp, &attr, UROCE_QP_STATE, &bad), 0, "%#x", bad);
}

/* Packets on the wire from a side are counted from 0, the oldest. */
static inline struct flight *nth_on_wire(struct side *side, uint32_t n)
{
	return &side->wire[(side->wire_head + n) % PAIR_IN_FLIGHT];
}

static inline void swap_on_wire(struct side *side, uint32_t a, uint32_t b)
{
	struct flight saved = *nth_on_wire(side, a);

	*nth_on_wire(side, a) = *nth_on_wire(side, b);
	*nth_on_wire(side, b) = saved;
}

#endif
