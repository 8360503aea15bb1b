/* refusal.c - answers that are kept, beside a plain list: for how long, of whom, and which one gives way */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cm/refusal.h"
#include "config/limits.h"
#include "draw.h"
#include "rule.h"
#include "shared_pool.h"

#define ROOM 7u
#define STEPS 5000u
#define PEERS 6u

static struct cm_refusals refusals;
static uint8_t *memory;

static void open_room(uint32_t room)
{
	static const uint8_t key[16] = { 1 };
	uint8_t *at;

	memory = aligned_alloc(64, cm_refusals_bytes(room));
	memset(memory, 0, cm_refusals_bytes(room));
	memset(&refusals, 0, sizeof(refusals));
	at = memory;
	cm_refusals_init(&refusals, &at, room, key);
	cr_assert_eq((uint64_t)(at - memory), cm_refusals_bytes(room));
}

static void close_room(void)
{
	free(memory);
}

TestSuite(refusal, .fini = close_room);

static struct cm_refusal of(uint8_t peer, uint32_t id)
{
	return (struct cm_refusal){ .route.dest[15] = peer, .remote_id = id, .qpn = 100 + id, .mad[0] = (uint8_t)id };
}

static const struct cm_refusal *find(uint8_t peer, uint32_t id, uint64_t now_ns)
{
	struct cm_refusal wanted = of(peer, id);

	return cm_refusals_find(&refusals, &wanted.route, wanted.remote_id, wanted.qpn, now_ns);
}

struct kept {
	uint8_t peer;
	uint64_t until_ns;
};

/* The list has its entries by id; those from first on may be there. */
static uint32_t count_of(const struct kept *list, uint32_t first, uint32_t end, int peer)
{
	uint32_t count = 0;

	for (uint32_t i = first; i < end; i++)
		count += list[i].until_ns && (peer < 0 || list[i].peer == peer);
	return count;
}

Test(refusal, answer_is_kept_for_its_time_or_until_evicted)
{
	static struct kept list[STEPS];
	uint64_t seed = draw_start(3), now_ns = 1;
	uint32_t first = 0;

	RULE("C-11");
	RULE("C-22");
	open_room(ROOM);
	for (uint32_t i = 0; i < STEPS; i++) {
		uint8_t peer = (uint8_t)draw_below(&seed, PEERS);
		struct cm_refusal refusal = of(peer, i);
		uint32_t held, used;
		bool share, room;

		now_ns += draw_below(&seed, 1000) * (CM_REFUSAL_NS / 3000);
		while (first < i && list[first].until_ns <= now_ns)
			first++;
		held = count_of(list, first, i, peer);
		used = count_of(list, first, i, -1);
		room = used < ROOM;
		share = room ? held + 1 <= ROOM - used : held == 0;
		cr_assert_eq(cm_refusals_keep(&refusals, &refusal, now_ns), share && room);
		if (share && !room)
			list[first].until_ns = 0;
		list[i] = (struct kept){ peer, share ? now_ns + CM_REFUSAL_NS : 0 };
		while (first < i && list[first].until_ns == 0)
			first++;
		for (uint32_t k = i < 20 ? 0 : i - 20; k <= i; k++) {
			const struct cm_refusal *found = find(list[k].peer, k, now_ns);

			cr_assert_eq(found != NULL, list[k].until_ns > now_ns, "%u after %u", k, i);
			cr_assert(found == NULL || found->mad[0] == (uint8_t)k);
		}
	}
	cr_expect_null(find(list[STEPS - 1].peer, STEPS - 1, now_ns + CM_REFUSAL_NS));
	cr_expect_eq(refusals.room.pool.used, 0);
}

/* All that its REQ told has to be the same. */
Test(refusal, answer_is_identified_by_route_id_and_qp)
{
	struct cm_refusal kept = of(1, 5), other = kept;

	RULE("C-11");
	open_room(1);
	cr_assert(cm_refusals_keep(&refusals, &kept, 1));
	cr_expect_not_null(find(1, 5, 2));
	cr_expect_null(find(2, 5, 2));
	cr_expect_null(find(1, 6, 2));
	cr_expect_null(cm_refusals_find(&refusals, &kept.route, 5, 106, 2));
	other.route.vlan_id = 7;
	cr_expect_null(cm_refusals_find(&refusals, &other.route, 5, 105, 2));
}

static uint64_t time_ns;
static uint32_t last_id;

static bool take(void *context, uint32_t peer)
{
	struct cm_refusal refusal = of((uint8_t)(1 + peer), ++last_id);

	return cm_refusals_keep(context, &refusal, time_ns);
}

/* Only time takes an answer out of the ring. */
static void give(void *context, uint32_t peer)
{
	(void)context;
	(void)peer;
	time_ns += CM_REFUSAL_NS;
}

Test(refusal, greedy_address_leaves_room_to_another_one)
{
	RULE("C-22");
	open_room(32);
	shared_pool_check(&(struct shared_pool){ .context = &refusals, .take = take, .give = give, .least = 8 });
}

static bool keep(uint8_t peer, uint32_t id)
{
	struct cm_refusal refusal = of(peer, id);

	return cm_refusals_keep(&refusals, &refusal, 1);
}

Test(refusal, full_ring_evicts_the_oldest_for_a_new_address_only)
{
	RULE("C-22");
	open_room(4);
	for (uint8_t peer = 1; peer <= 4; peer++)
		cr_assert(keep(peer, peer));
	cr_expect_not(keep(4, 100));
	cr_expect_null(find(4, 100, 1));
	cr_expect_not_null(find(1, 1, 1));
	cr_expect_not(keep(5, 5), "an older one is lost");
	cr_expect_not_null(find(5, 5, 1));
	cr_expect_null(find(1, 1, 1));
}
