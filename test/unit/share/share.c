/* share.c - no holder takes more than it leaves to the others, and what is given back can be taken again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "share/share.h"

#include "shared_pool.h"

static const uint8_t key[16] = { 1, 2, 3 };

static void address_of(uint32_t peer, uint8_t addr[16])
{
	for (int i = 0; i < 16; i++)
		addr[i] = (uint8_t)(i == 15 ? peer + 1 : 0);
}

static uint16_t counter_of(uint32_t peer)
{
	uint8_t addr[16];

	address_of(peer, addr);
	return share_peer(key, addr);
}

Test(share, holder_takes_no_more_than_is_left)
{
	for (uint32_t size = 0; size < 12; size++) {
		for (uint32_t used = 0; used <= size; used++) {
			for (uint32_t held = 0; held <= used; held++) {
				for (uint32_t wanted = 0; wanted <= size + 1; wanted++) {
					struct share pool = { .size = size, .used = used };
					uint32_t mine = held;
					bool right = held + wanted <= size - used;

					cr_assert_eq(share_allows(&pool, held, wanted), right);
					cr_assert_eq(share_take(&pool, &mine, wanted), right);
					cr_assert_eq(mine, held + (right ? wanted : 0));
					cr_assert_eq(pool.used, used + (right ? wanted : 0));
				}
			}
		}
	}
}

Test(share, numbers_that_add_up_to_more_than_32_bits_are_refused)
{
	struct share pool = { .size = UINT32_MAX, .used = 2 };
	uint32_t held = 2;

	cr_assert_not(share_take(&pool, &held, UINT32_MAX));
	cr_assert_not(share_take(&pool, &held, UINT32_MAX - 1));
	cr_assert_eq(pool.used, 2);
}

Test(share, alone_a_holder_gets_half_and_the_next_one_half_of_the_rest)
{
	struct share pool = { .size = 1024 };
	uint32_t held[3] = { 0 };

	for (int i = 0; i < 3; i++) {
		while (share_take(&pool, &held[i], 1))
			continue;
	}
	cr_assert_eq(held[0], 512);
	cr_assert_eq(held[1], 256);
	cr_assert_eq(held[2], 128);
	share_give(&pool, &held[0], 512);
	cr_assert_eq(held[0], 0);
	cr_assert_eq(pool.used, 384);
	cr_assert(share_take(&pool, &held[2], 192));
}

static bool take(void *context, uint32_t peer)
{
	return share_peers_take(context, counter_of(peer), 3);
}

static void give(void *context, uint32_t peer)
{
	share_peers_give(context, counter_of(peer), 3);
}

Test(share, greedy_address_leaves_another_one_its_part)
{
	static struct share_peers peers;

	share_peers_init(&peers, 100);
	shared_pool_check(&(struct shared_pool){ .context = &peers, .take = take, .give = give, .least = 8 });
	cr_assert_eq(peers.pool.used, 0);
}

Test(share, allowance_is_told_without_taking)
{
	static struct share_peers peers;

	share_peers_init(&peers, 4);
	cr_assert(share_peers_allow(&peers, 7, 4));
	cr_assert_not(share_peers_allow(&peers, 7, 5));
	cr_assert(share_peers_take(&peers, 7, 2));
	cr_assert_not(share_peers_allow(&peers, 7, 1));
	cr_assert(share_peers_allow(&peers, 8, 2));
}

/* What another peer would give is free then; what the peer itself would give is free, and not held by it any more. */
Test(share, allowance_after_a_gift_counts_what_is_given)
{
	static struct share_peers peers;

	share_peers_init(&peers, 10);
	share_peers_take(&peers, 1, 4);
	share_peers_take(&peers, 2, 3);
	cr_assert_not(share_peers_allow(&peers, 1, 1));
	cr_assert_not(share_peers_allow_after(&peers, 2, 1, 1, 1));
	cr_assert(share_peers_allow_after(&peers, 2, 2, 1, 1));
	cr_assert_not(share_peers_allow_after(&peers, 2, 2, 1, 2));
	cr_assert(share_peers_allow_after(&peers, 1, 1, 1, 1), "as many again as it has given itself");
	cr_assert_eq(peers.pool.used, 7, "nothing was given yet");
	share_peers_add(&peers, 2, 3);
	cr_assert_eq(peers.pool.used, 10);
	cr_assert_eq(peers.held[2], 6);
}

Test(share, addresses_have_counters_of_their_own_by_the_key)
{
	static const uint8_t other[16] = { 9 };
	uint8_t addr[16];
	uint32_t same = 0;

	cr_assert_neq(counter_of(0), counter_of(1));
	for (uint32_t i = 0; i < 256; i++) {
		address_of(i, addr);
		cr_assert_lt(share_peer(key, addr), SHARE_PEERS);
		same += share_peer(key, addr) == share_peer(other, addr);
	}
	cr_assert_lt(same, 8, "the key does not choose the counter");
}
