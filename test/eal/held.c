/* held.c - what QPs, CQs, regions and connections hold of an engine: as before when they are gone */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "held.h"

#include <criterion/criterion.h>
#include <malloc.h>
#include <stdlib.h>

#include <rte_malloc.h>

#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/pd.h"
#include "engine/port_state.h"
#include "engine/steer.h"

/*
 * malloc() hands out a piece up to 16 bytes larger than asked for when the rest would be too small to keep. How many of
 * these are among those in use depends on the order in which they were freed. What is lost for each connection is more.
 */
#define HEAP_SLACK_BYTES 256

static uint32_t count_active(const struct engine_run_queue *active)
{
	uint32_t count = 0;

	for (uint32_t at = active->turns.head; at != active->turns.tail; at++)
		count += active->turns.qps[at & active->mask] != NULL;
	return count;
}

static uint64_t eal_bytes(void)
{
	uint64_t bytes = 0;

	for (int socket = 0; socket < RTE_MAX_NUMA_NODES; socket++) {
		struct rte_malloc_socket_stats stats;

		if (rte_malloc_get_socket_stats(socket, &stats) == 0)
			bytes += stats.heap_allocsz_bytes;
	}
	return bytes;
}

/*
 * malloc() counts what a thread has freed and keeps at hand, at most 7 pieces of each size, as in use: how many there
 * are depends on when they were freed. From now on there are 7 of each.
 */
static void fill_thread_cache(void)
{
	void *pieces[7];

	for (size_t bytes = 24; bytes <= 1032; bytes += 16) {
		for (int i = 0; i < 7; i++)
			pieces[i] = calloc(1, bytes);
		for (int i = 0; i < 7; i++) {
			cr_assert_not_null(pieces[i]);
			free(pieces[i]);
		}
	}
}

static struct mallinfo2 heap_in_use(void)
{
	fill_thread_cache();
	return mallinfo2();
}

struct held held_count(const struct network *network)
{
	const struct uroce_lcore *lcore = uroce_engine_lcore(network->engine, 0);
	struct mallinfo2 heap = heap_in_use();
	struct held held = {
		.timers = lcore->wheel.armed,
		.mbufs = rte_mempool_in_use_count(network->loop.pool),
		.heap_bytes = heap.uordblks + heap.hblkhd,
		.eal_bytes = eal_bytes(),
	};
	struct uroce_cm_usage usage;

	for (uint32_t i = 0; i < network->engine->index_count; i++)
		held.qps += atomic_load(&network->engine->qps[i].qp) != NULL;
	held.active = count_active(&lcore->run_queue);
	for (unsigned i = 0; i < lcore->port_count; i++)
		held.active += count_active(&lcore->ports[i]->run_queue);
	for (int i = 0; i < 2; i++) {
		held.pd_users[i] = atomic_load(&network->ends[i].pd->users);
		held.device_users[i] = atomic_load(&network->ends[i].device->users);
	}
	if (uroce_cm_usage(network->engine, &usage) == 0) {
		held.connections = usage.connections;
		held.half_open = usage.half_open;
		held.timewait_ids = usage.timewait_ids;
		held.timers += usage.timers;
	}
	return held;
}

void held_expect_same(const struct held *before, const struct held *after, const char *when)
{
	const struct {
		const char *what;
		uint32_t before, after;
	} rows[] = {
		{ "QPs", before->qps, after->qps },
		{ "timers", before->timers, after->timers },
		{ "active QPs", before->active, after->active },
		{ "users of the first PD", before->pd_users[0], after->pd_users[0] },
		{ "users of the second PD", before->pd_users[1], after->pd_users[1] },
		{ "users of the first device", before->device_users[0], after->device_users[0] },
		{ "users of the second device", before->device_users[1], after->device_users[1] },
		{ "connections", before->connections, after->connections },
		{ "half open connections", before->half_open, after->half_open },
		{ "resting ids", before->timewait_ids, after->timewait_ids },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_assert_eq(rows[i].before, rows[i].after, "%s: %u %s, not %u", when, rows[i].after, rows[i].what,
			     rows[i].before);
}

void held_expect_same_memory(const struct held *before, const struct held *after, const char *when)
{
	cr_assert_eq(before->mbufs, after->mbufs, "%s: %u mbufs, not %u", when, after->mbufs, before->mbufs);
	cr_assert_leq(labs((long)(after->heap_bytes - before->heap_bytes)), HEAP_SLACK_BYTES,
		      "%s: %lu bytes of malloc(), not %lu", when, after->heap_bytes, before->heap_bytes);
	cr_assert_eq(before->eal_bytes, after->eal_bytes, "%s: %lu bytes of rte_malloc(), not %lu", when,
		     after->eal_bytes, before->eal_bytes);
}
