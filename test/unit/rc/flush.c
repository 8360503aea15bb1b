/* flush.c - which cache lines a FLUSH writes back, and in how many polls */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an instruction does to a cache cannot be seen, but that it wants to read its address can: the region has no
 * rights here, and the handler of the fault notes each page and gives them back.
 */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "rc/codes.h"
#include "rc/flush.h"
#include "rc/qp.h"
#include "rule.h"

#define PAGE 4096u
#define PAGES 16u
#define SLICE_PAGES 4u /* of 16 KiB */
#define RIGHTS (UROCE_ACCESS_LOCAL_WRITE | UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)

static uint8_t *memory;
static bool touched[PAGES];
static uint32_t touched_count;

static void note(int number, siginfo_t *info, void *context)
{
	uint64_t page = (uint64_t)((uint8_t *)info->si_addr - memory) / PAGE;

	(void)number;
	(void)context;
	if ((uint8_t *)info->si_addr < memory || page >= PAGES)
		_Exit(3);
	touched[page] = true;
	touched_count++;
	mprotect(memory + page * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static struct rc_mr_entry entries[4];
static struct rc_mr_table table;
static struct rc_qp *qp;

static void set_up(void)
{
	struct sigaction action = { .sa_sigaction = note, .sa_flags = SA_SIGINFO };

	sigaction(SIGSEGV, &action, NULL);
	memory = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert(memory != MAP_FAILED);
	rc_mr_table_init(&table, entries, 4, &(struct rc_permute24){ .secret = { 1, 2, 3, 4 } });
	qp = aligned_alloc(64, (sizeof(*qp) + 63) & ~63ull);
	*qp = (struct rc_qp){ .mrs = &table, .pd = 1 };
}

static void tear_down(void)
{
	munmap(memory, PAGES * PAGE);
	free(qp);
}

TestSuite(flush, .init = set_up, .fini = tear_down);

static uint32_t region(void)
{
	int error;

	return rc_mr_insert(&table, 1, memory, PAGES * PAGE, RIGHTS, &error);
}

/* Runs it to its end. Returns how many polls it took. */
static uint32_t run(struct rc_replay_entry entry)
{
	enum rc_mr_verdict why = MR_BAD_KEY; /* it is always told */
	uint32_t polls = 1;

	for (; !rc_flush_some(qp, &entry, &why); polls++) {
		cr_assert_eq(why, MR_OK);
		cr_assert_eq(touched_count, polls * SLICE_PAGES, "after poll %u: %u pages", polls, touched_count);
		cr_assert_leq(polls, PAGES);
	}
	cr_assert_eq(why, MR_OK);
	return polls;
}

static void expect_pages(uint32_t from, uint32_t to)
{
	for (uint32_t page = 0; page < PAGES; page++) {
		cr_assert_eq(touched[page], page >= from && page < to, "page %u", page);
		touched[page] = false;
	}
	touched_count = 0;
	mprotect(memory, PAGES * PAGE, PROT_NONE);
}

Test(flush, only_lines_of_the_range_are_written_back)
{
	struct rc_replay_entry entry = { .rkey = region(), .flush = UROCE_FLUSH_PERSISTENT };

	RULE("S-20");
	entry.va = (uintptr_t)memory + 2 * PAGE + 100;
	entry.length_bytes = PAGE - 100;
	cr_assert_eq(run(entry), 1);
	expect_pages(2, 3);
	entry.length_bytes++; /* the first byte of the next page */
	cr_assert_eq(run(entry), 1);
	expect_pages(2, 4);
	entry.va = (uintptr_t)memory + 3 * PAGE - 1;
	entry.length_bytes = 1;
	cr_assert_eq(run(entry), 1);
	expect_pages(2, 3);
	entry.length_bytes = 0;
	cr_assert_eq(run(entry), 1);
	expect_pages(0, 0);
}

Test(flush, a_poll_writes_back_a_slice)
{
	struct rc_replay_entry entry = { .rkey = region(), .flush = UROCE_FLUSH_PERSISTENT };

	RULE("S-20");
	entry.va = (uintptr_t)memory + PAGE;
	for (uint32_t slices = 1; slices < 4; slices++) {
		entry.length_bytes = slices * SLICE_PAGES * PAGE;
		cr_assert_eq(run(entry), slices);
		expect_pages(1, 1 + slices * SLICE_PAGES);
		entry.length_bytes++;
		cr_assert_eq(run(entry), slices + 1, "a byte more");
		expect_pages(1, 2 + slices * SLICE_PAGES);
	}
}

Test(flush, the_whole_region_has_no_range)
{
	struct rc_replay_entry entry = {
		.rkey = region(), .flush = UROCE_FLUSH_PERSISTENT | FETH_WHOLE_REGION, .va = 1, .length_bytes = 1
	};

	RULE("S-20");
	cr_assert_eq(run(entry), PAGES / SLICE_PAGES);
	expect_pages(0, PAGES);
}

/* Visibility alone; and a whole region that has become less than was done already. */
Test(flush, empty_flush_writes_nothing_back)
{
	struct rc_replay_entry entry = { .rkey = region(), .flush = UROCE_FLUSH_GLOBAL };

	RULE("S-20");
	entry.va = (uintptr_t)memory;
	entry.length_bytes = PAGES * PAGE;
	cr_assert_eq(run(entry), 1);
	expect_pages(0, 0);
	entry.flush = UROCE_FLUSH_PERSISTENT | FETH_WHOLE_REGION;
	entry.original = PAGES * PAGE;
	cr_assert_eq(run(entry), 1);
	entry.original++;
	cr_assert_eq(run(entry), 1);
	expect_pages(0, 0);
}

Test(flush, required_rights_follow_the_flush_types)
{
	RULE("S-20");
	cr_assert_eq(rc_flush_rights(0), 0);
	cr_assert_eq(rc_flush_rights(UROCE_FLUSH_GLOBAL), UROCE_ACCESS_FLUSH_GLOBAL);
	cr_assert_eq(rc_flush_rights(UROCE_FLUSH_PERSISTENT), UROCE_ACCESS_FLUSH_PERSISTENT);
	cr_assert_eq(rc_flush_rights(UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT | FETH_WHOLE_REGION),
		     UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT);
}
