/* replay.c - the replay cache: found by first PSN and by range, oldest out first, answers queued in order */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "config/limits.h"
#include "rc/replay.h"
#include "rule.h"

static struct rc_replay replay;
static void *memory;

static void open_replay(uint32_t limit, uint32_t depth)
{
	memory = aligned_alloc(16, rc_replay_bytes(limit));
	rc_replay_place(&replay, memory, limit);
	rc_replay_reset(&replay, depth);
}

static void tear_down(void)
{
	free(memory);
}

/* Adds an entry, already answered. */
static struct rc_replay_entry *add(uint32_t psn, uint32_t count)
{
	struct rc_replay_entry *entry = rc_replay_insert(&replay, psn_make(psn), count);

	rc_replay_queue(&replay, entry, psn_make(psn), count, 0);
	while (rc_replay_head(&replay))
		rc_replay_pop(&replay);
	return entry;
}

TestSuite(replay, .fini = tear_down);

/* Every depth; READs of several sizes, from before the wrap to behind it; what is out of the cache is not found. */
Test(replay, newest_entries_are_found_by_first_psn_and_by_range)
{
	static const uint32_t depths[] = { 1, 2, 3, 7, 16, 100, 128 };

	RULE("S-11");
	RULE("P-1");
	for (size_t d = 0; d < sizeof(depths) / sizeof(depths[0]); d++) {
		uint32_t firsts[300], psn = 0xFFFF80;

		open_replay(128, depths[d]);
		for (uint32_t i = 0; i < 300; i++) {
			uint32_t count = i % 5 + 1;

			firsts[i] = psn;
			cr_assert_null(rc_replay_find(&replay, psn_make(psn)));
			cr_assert_eq(add(psn, count)->first_psn.v, psn & 0xFFFFFF);
			for (uint32_t j = i >= 140 ? i - 140 : 0; j <= i; j++) {
				bool held = i - j < depths[d];
				psn_t first = psn_make(firsts[j]);
				const struct rc_replay_entry *entry = rc_replay_find(&replay, first);

				cr_assert_eq(entry != NULL, held, "depth %u, entry %u of %u", depths[d], j, i);
				cr_assert_eq(rc_replay_find_owner(&replay, first), entry);
				cr_assert_eq(rc_replay_find_owner(&replay, psn_add(first, j % 5)), entry);
				if (j % 5)
					cr_assert_null(rc_replay_find(&replay, psn_next(first)));
			}
			psn = (psn + count + i % 3) & 0xFFFFFF; /* gaps: SENDs and WRITEs */
		}
		free(memory);
	}
	memory = NULL;
}

Test(replay, the_first_entry_after_a_psn_is_found)
{
	RULE("S-8");
	open_replay(8, 3);
	cr_assert_null(rc_replay_find_after(&replay, psn_make(5)));
	add(0xFFFFFE, 1);
	add(1, 4);
	add(8, 1);
	cr_assert_eq(rc_replay_find_after(&replay, psn_make(0xFFFFFD))->first_psn.v, 0xFFFFFE);
	cr_assert_eq(rc_replay_find_after(&replay, psn_make(0xFFFFFE))->first_psn.v, 1);
	cr_assert_eq(rc_replay_find_after(&replay, psn_make(0))->first_psn.v, 1);
	cr_assert_eq(rc_replay_find_after(&replay, psn_make(1))->first_psn.v, 8);
	cr_assert_eq(rc_replay_find_after(&replay, psn_make(7))->first_psn.v, 8);
	cr_assert_null(rc_replay_find_after(&replay, psn_make(8)));
	add(9, 1);
	cr_assert_eq(rc_replay_find_after(&replay, psn_make(0xFFFFFD))->first_psn.v, 1, "the oldest is gone");
}

Test(replay, answers_leave_in_request_order)
{
	struct rc_replay_entry *entries[4];

	RULE("S-14");
	RULE("S-12");
	open_replay(4, 4);
	for (uint32_t i = 0; i < 4; i++) {
		entries[i] = rc_replay_insert(&replay, psn_make(10 * i), 5);
		rc_replay_queue(&replay, entries[i], psn_make(10 * i), 5, 100);
	}
	cr_assert_eq(replay.unfinished, 4);
	/* Asked for again while it waits: it keeps its place and begins elsewhere. */
	rc_replay_queue(&replay, entries[1], psn_make(12), 2, 50);
	for (uint32_t i = 0; i < 4; i++) {
		struct rc_replay_entry *head = rc_replay_head(&replay);

		cr_assert_eq(head, entries[i]);
		cr_assert_eq(head->stretch.send_psn.v, i == 1 ? 12 : 10 * i);
		cr_assert_eq(head->stretch.end_psn.v, i == 1 ? 14 : 10 * i + 5);
		cr_assert_eq(head->stretch.end_bytes, i == 1 ? 50 : 100);
		rc_replay_pop(&replay);
		cr_assert_eq(replay.unfinished, 3 - i);
	}
	cr_assert_null(rc_replay_head(&replay));
	/* A repeated answer is not unfinished work: it takes no depth. */
	rc_replay_queue(&replay, entries[2], psn_make(20), 5, 100);
	rc_replay_queue(&replay, entries[0], psn_make(0), 5, 100);
	cr_assert_eq(replay.unfinished, 0);
	cr_assert_eq(rc_replay_head(&replay), entries[0], "in request order whatever was asked for first");
	rc_replay_pop(&replay);
	cr_assert_eq(rc_replay_head(&replay), entries[2]);
	rc_replay_pop(&replay);
	cr_assert_null(rc_replay_head(&replay));
}

/* An entry that is queued for a duplicate goes out of the cache and out of the queue, wherever it stands there. */
Test(replay, an_evicted_entry_leaves_the_queue_too)
{
	RULE("S-11");
	for (uint32_t order = 0; order < 3; order++) {
		struct rc_replay_entry *entries[3], *fresh;

		open_replay(3, 3);
		for (uint32_t i = 0; i < 3; i++)
			entries[i] = add(i, 1);
		for (uint32_t i = 0; i < 3; i++)
			rc_replay_queue(&replay, entries[(i + order) % 3], psn_make((i + order) % 3), 1, 0);
		fresh = rc_replay_insert(&replay, psn_make(3), 1);
		rc_replay_queue(&replay, fresh, psn_make(3), 1, 0);
		for (uint32_t i = 0; i < 3; i++) {
			if (i == 0)
				continue;
			cr_assert_eq(rc_replay_head(&replay)->first_psn.v, i, "order %u", order);
			rc_replay_pop(&replay);
		}
		cr_assert_eq(rc_replay_head(&replay), fresh);
		cr_assert_eq(replay.unfinished, 1);
		rc_replay_pop(&replay);
		cr_assert_null(rc_replay_head(&replay));
		free(memory);
	}
	memory = NULL;
}

Test(replay, reset_drops_all_entries_and_sets_another_depth)
{
	RULE("X-1");
	open_replay(8, 8);
	for (uint32_t i = 0; i < 8; i++)
		add(i, 1);
	rc_replay_queue(&replay, rc_replay_find(&replay, psn_make(3)), psn_make(3), 1, 0);
	rc_replay_reset(&replay, 2);
	cr_assert_null(rc_replay_head(&replay));
	for (uint32_t i = 0; i < 8; i++) {
		cr_assert_null(rc_replay_find(&replay, psn_make(i)));
		cr_assert_null(rc_replay_find_owner(&replay, psn_make(i)));
	}
	add(5, 1);
	add(6, 1);
	add(7, 1);
	cr_assert_null(rc_replay_find(&replay, psn_make(5)));
	cr_assert_not_null(rc_replay_find(&replay, psn_make(7)));
}

Test(replay, entries_from_more_than_half_the_psn_space_ago_are_forgotten)
{
	RULE("P-1");
	open_replay(8, 4);
	add(0, 1);
	add(10, 4);
	add(100, 1);
	rc_replay_expire(&replay, psn_make(0x800000));
	cr_assert_not_null(rc_replay_find(&replay, psn_make(0)), "half the space is still told apart");
	rc_replay_expire(&replay, psn_make(0x800001));
	cr_assert_null(rc_replay_find(&replay, psn_make(0)));
	cr_assert_not_null(rc_replay_find_owner(&replay, psn_make(12)));
	rc_replay_expire(&replay, psn_make(0x80000D));
	cr_assert_not_null(rc_replay_find_owner(&replay, psn_make(12)), "its last one can still be asked for");
	rc_replay_expire(&replay, psn_make(0x80000E));
	cr_assert_null(rc_replay_find_owner(&replay, psn_make(12)));
	cr_assert_eq(replay.used, 1);
	/* Not even answered: a peer that keeps to its window is not owed it any more. */
	rc_replay_queue(&replay, rc_replay_insert(&replay, psn_make(0x80000E), 1), psn_make(0x80000E), 1, 0);
	rc_replay_expire(&replay, psn_make(0x0E));
	cr_assert_eq(replay.unfinished, 1);
	rc_replay_expire(&replay, psn_make(0x0F));
	cr_assert_null(rc_replay_head(&replay));
	cr_assert_eq(replay.unfinished, 0);
	/* A READ of half of all PSNs moves ePSN so far that what was in reach before it is not any more. */
	add(0x0F, 1);
	rc_replay_expire(&replay, psn_make(0x80000F));
	cr_assert_not_null(rc_replay_find(&replay, psn_make(0x0F)));
	add(0x80000F, PSN_WINDOW);
	cr_assert_null(rc_replay_find(&replay, psn_make(0x0F)));
}

/* More room: what is there stays. Less: the oldest answered ones go, those still owed stay until they are answered. */
Test(replay, changed_depth_keeps_owed_and_newest_entries)
{
	struct rc_replay_entry *entry;

	RULE("S-11");
	RULE("S-12");
	open_replay(8, 4);
	for (uint32_t i = 0; i < 4; i++)
		add(i, 1);
	rc_replay_set_depth(&replay, 6);
	for (uint32_t i = 4; i < 6; i++)
		add(i, 1);
	for (uint32_t i = 0; i < 6; i++)
		cr_assert_not_null(rc_replay_find(&replay, psn_make(i)), "entry %u", i);
	rc_replay_queue(&replay, rc_replay_find(&replay, psn_make(1)), psn_make(1), 1, 0); /* for a duplicate */
	rc_replay_set_depth(&replay, 3);
	for (uint32_t i = 0; i < 6; i++)
		cr_assert_eq(rc_replay_find(&replay, psn_make(i)) != NULL, i >= 3, "entry %u", i);
	cr_assert_null(rc_replay_head(&replay), "what was forgotten is not answered");
	for (uint32_t i = 6; i < 9; i++) {
		entry = rc_replay_insert(&replay, psn_make(i), 1);
		rc_replay_queue(&replay, entry, psn_make(i), 1, 0);
	}
	rc_replay_set_depth(&replay, 1);
	cr_assert_eq(replay.unfinished, 3);
	for (uint32_t i = 6; i < 9; i++) {
		cr_assert_eq(rc_replay_head(&replay)->first_psn.v, i);
		rc_replay_pop(&replay);
	}
	add(9, 1);
	cr_assert_null(rc_replay_find(&replay, psn_make(8)), "the depth is one");
	cr_assert_not_null(rc_replay_find(&replay, psn_make(9)));
	rc_replay_set_depth(&replay, 0);
	cr_assert_null(rc_replay_find(&replay, psn_make(9)));
	cr_assert_eq(replay.used, 0);
	rc_replay_set_depth(&replay, 8);
	for (uint32_t i = 10; i < 30; i++)
		add(i, 1);
	for (uint32_t i = 10; i < 30; i++)
		cr_assert_eq(rc_replay_find(&replay, psn_make(i)) != NULL, i >= 22, "entry %u", i);
}

/* A READ may own half of the PSN space: later requests are distinguished, and it is answered first. */
Test(replay, read_of_half_the_psn_space_keeps_its_order)
{
	struct rc_replay_entry *first, *second;

	RULE("P-4");
	RULE("P-6");
	RULE("S-14");
	for (uint32_t start = 0; start < 0x1000000; start += 0x7FFFFF) {
		psn_t psn = psn_make(start), last = psn_make(start + PSN_WINDOW - 1), behind = psn_next(last);

		open_replay(4, 4);
		first = rc_replay_insert(&replay, psn, PSN_WINDOW);
		rc_replay_queue(&replay, first, psn, PSN_WINDOW, 0);
		second = rc_replay_insert(&replay, behind, 1);
		rc_replay_queue(&replay, second, behind, 1, 0);
		rc_replay_expire(&replay, psn_add(behind, 1));
		cr_assert_eq(replay.unfinished, 2);
		cr_assert_eq(rc_replay_find_owner(&replay, last), first);
		cr_assert_eq(rc_replay_find_owner(&replay, behind), second);
		cr_assert_eq(rc_replay_find_after(&replay, last), second);
		cr_assert_eq(rc_replay_head(&replay), first);
		rc_replay_pop(&replay);
		cr_assert_eq(rc_replay_head(&replay), second);
		rc_replay_queue(&replay, first, last, 1, 0); /* its last response again: before the other one */
		cr_assert_eq(rc_replay_head(&replay), first);
		rc_replay_pop(&replay);
		rc_replay_pop(&replay);
		cr_assert_null(rc_replay_head(&replay));
		/* A SEND behind it that comes again is acknowledged as what it is. */
		rc_replay_expire(&replay, psn_add(behind, 100));
		cr_assert_null(rc_replay_find_after(&replay, psn_add(behind, 50)));
		free(memory);
	}
	memory = NULL;
}
