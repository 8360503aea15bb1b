/* timewait.c - ids in time-wait, beside a plain list: each wakes when its own time is over, and room is shared */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cm/timewait.h"
#include "draw.h"
#include "rule.h"
#include "shared_pool.h"

#define ROOM 24u
#define STEPS 20000u

static struct cm_timewait timewait;
static uint8_t *memory;

static void open_room(uint32_t room)
{
	static const uint8_t key[16] = { 2 };
	uint8_t *at;

	memory = aligned_alloc(64, cm_timewait_bytes(room));
	memset(memory, 0, cm_timewait_bytes(room));
	memset(&timewait, 0, sizeof(timewait));
	at = memory;
	cm_timewait_init(&timewait, &at, room, key);
	cr_assert_eq((uint64_t)(at - memory), cm_timewait_bytes(room));
}

static void close_room(void)
{
	free(memory);
}

TestSuite(entry, .fini = close_room);

/* A connection that is over as soon as it began. If its peer has its share, it is our own. */
static void rest(const uint8_t addr[16], uint16_t holder, uint32_t local_id, uint32_t remote_id, uint64_t until_ns)
{
	if (!cm_timewait_has_room(&timewait, holder))
		holder = CM_TIMEWAIT_OWN;
	cm_timewait_reserve(&timewait, holder);
	cm_timewait_begin(&timewait, addr, holder, local_id, remote_id, until_ns);
}

struct resting {
	uint32_t local_id, remote_id;
	uint8_t peer;
	uint64_t until_ns;
};

static struct resting list[ROOM];
static uint32_t resting;

static void expect_the_same(void)
{
	cr_assert_eq(timewait.until.count, resting);
	cr_assert_eq(timewait.room.pool.used, resting);
	for (uint8_t i = 0; i < 8; i++) {
		uint8_t addr[16] = { [15] = i % 2 };
		bool rests_now = false;

		for (uint32_t k = 0; k < resting; k++)
			rests_now |= list[k].peer == i % 2 && list[k].remote_id == i / 2u;
		cr_assert_eq(cm_timewait_has_peer(&timewait, addr, i / 2u), rests_now);
	}
	for (uint32_t id = 0; id < 64; id++) {
		bool rests_now = false;

		for (uint32_t k = 0; k < resting; k++)
			rests_now |= list[k].local_id == id;
		cr_assert_eq(cm_timewait_has_id(&timewait, id), rests_now);
	}
}

static void wake(uint64_t now_ns)
{
	cm_timewait_wake(&timewait, now_ns);
	for (uint32_t k = 0; k < resting;) {
		if (list[k].until_ns <= now_ns)
			list[k] = list[--resting];
		else
			k++;
	}
}

/* Some rest for long and some for short, so that they wake in another order than they came. */
Test(entry, each_id_leaves_time_wait_at_its_own_time)
{
	uint64_t seed = draw_start(2), now_ns = 0;

	RULE("C-16");
	open_room(ROOM);
	resting = 0;
	for (uint32_t i = 0; i < STEPS; i++) {
		uint8_t addr[16] = { 0 };
		struct resting *one;

		now_ns += draw_below(&seed, 3);
		wake(now_ns);
		expect_the_same();
		if (resting == ROOM || draw_chance(&seed, 300))
			continue;
		one = &list[resting];
		*one = (struct resting){ draw_below(&seed, 64), draw_below(&seed, 4), (uint8_t)draw_below(&seed, 2),
					 now_ns + 1 + draw_below(&seed, draw_chance(&seed, 200) ? 200 : 9) };
		addr[15] = one->peer;
		rest(addr, one->peer, one->local_id, one->remote_id, one->until_ns);
		resting++;
	}
	wake(now_ns + 300);
	expect_the_same();
	cr_expect_eq(timewait.room.held[0] + timewait.room.held[1], 0);
}

/*
 * As after rejections, in which the peer has told no id. Each id costs the same: a search of the others would take
 * minutes for so many.
 */
Test(entry, one_id_of_a_peer_may_rest_many_times)
{
	static const uint8_t addr[16] = { 1 };
	const uint32_t room = 1u << 18;

	RULE("C-16");
	open_room(room);
	for (uint32_t i = 0; i < room; i++)
		rest(addr, CM_TIMEWAIT_OWN, i, 0, 1 + i);
	for (uint32_t i = 0; i < room; i++) {
		cr_assert(cm_timewait_has_peer(&timewait, addr, 0));
		cm_timewait_wake(&timewait, 1 + i);
		cr_assert_eq(timewait.until.count, room - 1 - i);
	}
	cr_expect_not(cm_timewait_has_peer(&timewait, addr, 0));
}

/* Connections in use count, for each needs an entry at its end. Only our own begin in the last eighth. */
Test(entry, room_accounts_for_connections_in_use)
{
	static const uint8_t addr[16] = { 1 };
	uint32_t own = 0;

	RULE("C-16");
	RULE("C-22");
	open_room(16);
	for (uint16_t stranger = 0; stranger < 14; stranger++) {
		cr_assert(cm_timewait_has_room(&timewait, stranger));
		cm_timewait_reserve(&timewait, stranger);
	}
	cr_expect_not(cm_timewait_has_room(&timewait, 14));
	for (; cm_timewait_has_room(&timewait, CM_TIMEWAIT_OWN); own++)
		cm_timewait_reserve(&timewait, CM_TIMEWAIT_OWN);
	cr_expect_eq(own, 2);
	cm_timewait_begin(&timewait, addr, CM_TIMEWAIT_OWN, 1, 1, 10);
	cr_expect_not(cm_timewait_has_room(&timewait, CM_TIMEWAIT_OWN), "its id is in time-wait");
	cm_timewait_wake(&timewait, 10);
	cr_expect(cm_timewait_has_room(&timewait, CM_TIMEWAIT_OWN));
	for (uint16_t stranger = 0; stranger < 14; stranger++)
		cm_timewait_release(&timewait, stranger);
	cm_timewait_release(&timewait, CM_TIMEWAIT_OWN);
	cr_expect_eq(timewait.room.pool.used, 0);
}

static bool take(void *context, uint32_t peer)
{
	bool room = cm_timewait_has_room(context, (uint16_t)peer);

	if (room)
		cm_timewait_reserve(context, (uint16_t)peer);
	return room;
}

static void give(void *context, uint32_t peer)
{
	cm_timewait_release(context, (uint16_t)peer);
}

/* Half of what our own connections leave free is there for one address, and half of the rest for the next one. */
Test(entry, greedy_address_leaves_room_to_another_one)
{
	RULE("C-22");
	open_room(32);
	shared_pool_check(&(struct shared_pool){ .context = &timewait, .take = take, .give = give, .least = 7 });
}
