/* read_quota.c - how much of READs is asked for again at a time */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "rc/read_quota.h"
#include "rule.h"

static struct rc_read_quota quota;

static void begin(uint32_t snd_una)
{
	read_quota_reset(&quota, psn_make(snd_una));
	cr_assert(read_quota_is_full(&quota));
}

/* About what was got since the last loss, but a single loss at most halves it, and something is always asked for. */
Test(read_quota, a_loss_leaves_twice_what_was_got_since_the_last_one)
{
	RULE("Q-10");
	begin(0xFFFFF0);
	read_quota_notice_loss(&quota, psn_make(0xFFFFF0 + 1000), 0, 1);
	cr_assert_eq(quota.packets, 2000);
	read_quota_notice_loss(&quota, psn_make(0xFFFFF0 + 1010), 0, 1);
	cr_assert_eq(quota.packets, READ_QUOTA_FIRST);
	read_quota_notice_loss(&quota, psn_make(0xFFFFF0 + 1020), 0, 1);
	cr_assert_eq(quota.packets, READ_QUOTA_FIRST / 2);
	for (uint32_t i = 0; i < 10; i++)
		read_quota_notice_loss(&quota, psn_make(0xFFFFF0 + 1020), 0, 1);
	cr_assert_eq(quota.packets, READ_QUOTA_LEAST);
	read_quota_notice_loss(&quota, psn_make(0xFFFFF0 + 1060), 0, 1);
	cr_assert_eq(quota.packets, 80);
}

/* The rest of what is sent waits in a queue in front of the peer, to be thrown away behind the next loss. */
Test(read_quota, where_there_is_a_queue_a_loss_leaves_twice_what_the_way_carried)
{
	RULE("Q-10");
	begin(100);
	read_quota_notice_loss(&quota, psn_make(100), 0, 1000000);
	read_quota_notice_loss(&quota, psn_make(100 + 400), 50000, 2000000);
	cr_assert_eq(quota.packets, 40, "400 in 1 ms are 20 in 50 us");
	read_quota_notice_loss(&quota, psn_make(100 + 800), 0, 3000000);
	cr_assert_eq(quota.packets, 800, "no queue");
	read_quota_notice_loss(&quota, psn_make(100 + 900), 2000000, 4000000);
	cr_assert_eq(quota.packets, 256, "as much as without a queue at the most");
	read_quota_notice_loss(&quota, psn_make(100 + 1000), 1000, 5000000);
	cr_assert_eq(quota.packets, READ_QUOTA_LEAST);
	read_quota_notice_loss(&quota, psn_make(100 + 1100), 1000, 5000000);
	cr_assert_eq(quota.packets, 200, "at the same instant: no rate");
}

Test(read_quota, a_quota_without_a_loss_doubles_it)
{
	RULE("Q-10");
	begin(5);
	read_quota_notice_loss(&quota, psn_make(15), 0, 1);
	cr_assert_eq(quota.packets, READ_QUOTA_FIRST);
	read_quota_grow(&quota, psn_make(15 + READ_QUOTA_FIRST - 1));
	cr_assert_eq(quota.packets, READ_QUOTA_FIRST);
	read_quota_grow(&quota, psn_make(15 + READ_QUOTA_FIRST));
	cr_assert_eq(quota.packets, 2 * READ_QUOTA_FIRST);
	read_quota_grow(&quota, psn_make(15 + READ_QUOTA_FIRST + 1));
	cr_assert_eq(quota.packets, 2 * READ_QUOTA_FIRST);
	for (uint32_t snd_una = 15 + READ_QUOTA_FIRST, i = 0; i < 20; i++) {
		snd_una += quota.packets;
		read_quota_grow(&quota, psn_make(snd_una));
	}
	cr_assert(read_quota_is_full(&quota), "%u", quota.packets);
}

Test(read_quota, what_was_got_before_a_loss_is_no_more_than_all)
{
	RULE("Q-10");
	read_quota_reset(&quota, psn_make(0));
	read_quota_notice_loss(&quota, psn_make(PSN_WINDOW - 1), 0, 1);
	cr_assert_eq(quota.packets, READ_QUOTA_FULL);
}
