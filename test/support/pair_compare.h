/* pair_compare.h - compares the state of two pairs field by field */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_PAIR_COMPARE_H
#define TEST_PAIR_COMPARE_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "pair.h"

/* A number from the environment. */
static inline uint64_t env_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* The first field in which they differ, or NULL. */
static inline const char *pair_difference(const struct rc_qp *a, const struct rc_qp *b)
{
#define SAME(field)                                                 \
	do {                                                        \
		if (memcmp(&a->field, &b->field, sizeof(a->field))) \
			return #field;                              \
	} while (0)
	SAME(state);
	SAME(win.head);
	SAME(win.acked);
	SAME(win.tail);
	SAME(win.snd_una);
	SAME(win.snd_nxt);
	SAME(win.snd_max);
	SAME(win.cursor);
	SAME(win.started);
	SAME(requester.since_ackreq);
	SAME(cc);
	SAME(ask.due);
	SAME(ask.behind_una);
	SAME(ask.deadline_ns);
	SAME(ask.tries);
	SAME(rtt.srtt_ns);
	SAME(rtt.rttvar_ns);
	SAME(loss.ack_deadline_ns);
	SAME(loss.rnr_deadline_ns);
	SAME(loss.since_ns);
	SAME(loss.retries_left);
	SAME(loss.rnr_left);
	if (a->flight.rewound != b->flight.rewound || a->flight.resent != b->flight.resent)
		return "flight.rewound, flight.resent";
	if (a->flight.resending != b->flight.resending)
		return "flight.resending";
	SAME(cc_past);
	SAME(responder.epsn);
	SAME(responder.msn);
	SAME(response_burst);
	SAME(counters);
#undef SAME
	if (a->rtt.timing != b->rtt.timing || a->rtt.shortest_ns != b->rtt.shortest_ns)
		return "rtt.timing";
	return a->rtt.timing && a->rtt.sent_ns != b->rtt.sent_ns ? "rtt.sent_ns" : NULL;
}

/* Packets, state and completions since the last time, which are forgotten then. */
static inline void pair_compare(struct pair *const pairs[2], uint64_t seed, uint32_t step)
{
	for (int i = 0; i < 2; i++) {
		struct side *one = &pairs[0]->side[i], *other = &pairs[1]->side[i];
		const char *what = pair_difference(one->qp, other->qp);

		for (uint32_t line = 0; line < one->sent_count && line < other->sent_count; line++)
			cr_assert_str_eq(one->sent[line], other->sent[line], "seed %lu, step %u, side %c", seed, step,
					 "AB"[i]);
		cr_assert_eq(one->sent_count, other->sent_count, "seed %lu, step %u, side %c: %u and %u packets", seed,
			     step, "AB"[i], one -> sent_count, other -> sent_count);
		cr_assert_null(what, "seed %lu, step %u, side %c: %s", seed, step, "AB"[i], what);
		cr_assert_eq(one->done_count, other->done_count, "seed %lu, step %u", seed, step);
		for (uint32_t line = 0; line < one->done_count; line++) {
			cr_assert_str_eq(one->done[line], other->done[line], "seed %lu, step %u", seed, step);
			cr_assert_arr_eq(&one->wcs[line], &other->wcs[line], sizeof(one->wcs[line]),
					 "seed %lu, step %u: %s", seed, step, one->done[line]);
		}
		cr_assert_eq(one->event_count, other->event_count, "seed %lu, step %u", seed, step);
		for (uint32_t line = 0; line < one->event_count; line++)
			cr_assert_str_eq(one->events[line], other->events[line], "seed %lu, step %u", seed, step);
		one->sent_count = other->sent_count = one->done_count = other->done_count = 0;
		one->event_count = other->event_count = 0;
	}
}

#endif
