/* held.h - what QPs, CQs, regions and connections hold of an engine: as before when they are gone */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_EAL_HELD_H
#define TEST_EAL_HELD_H

#include "network.h"

struct held {
	uint32_t qps, timers, active, pd_users[2], device_users[2], connections, half_open, timewait_ids, mbufs;
	uint64_t heap_bytes, eal_bytes; /* of malloc() and of rte_malloc() */
};

struct held held_count(const struct network *network);
/* All but memory, which grows with the first that come and is kept for the next. */
void held_expect_same(const struct held *before, const struct held *after, const char *when);
/* Of two of which the second came after as many as the first: to the byte. */
void held_expect_same_memory(const struct held *before, const struct held *after, const char *when);

#endif
