/* pipe.c - events that were not read are taken back when their object goes away */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/pipe.h"

#include <criterion/criterion.h>

#define ENTRY 16u

static void put(int writer, uint64_t value, uint64_t number)
{
	uint64_t entry[2] = { value, number };

	cr_assert_eq(write(writer, entry, sizeof(entry)), ENTRY);
}

/* The pipe is full, and entries to remove are among the first and the last. */
Test(pipe, entry_is_removed_at_any_position)
{
	int fd = pipe_open(), writer = verb_pipe_writer(fd);
	uint32_t count = (uint32_t)fcntl(fd, F_GETPIPE_SZ) / ENTRY, seen = 0;
	uint64_t entry[2];

	cr_assert(fd >= 0 && writer >= 0 && count > 1000);
	for (uint32_t i = 0; i < count; i++)
		put(writer, i % 3 == 0 ? 7 : 8, i);
	cr_assert_lt(write(writer, entry, sizeof(entry)), 0, "it is full");
	verb_pipe_forget(fd, writer, 7, ENTRY);
	fcntl(fd, F_SETFL, O_NONBLOCK);
	for (uint32_t i = 0; i < count; i++) {
		if (i % 3 == 0)
			continue;
		cr_assert_eq(read(fd, entry, sizeof(entry)), ENTRY);
		cr_assert(entry[0] == 8 && entry[1] == i, "%lu of %lu where 8 of %u is next", entry[0], entry[1], i);
		seen++;
	}
	cr_assert_lt(read(fd, entry, sizeof(entry)), 0);
	cr_assert_eq(seen, count - (count + 2) / 3);
	close(writer);
	close(fd);
}

Test(pipe, an_empty_pipe_stays_empty)
{
	int fd = pipe_open(), writer = verb_pipe_writer(fd);
	uint64_t entry;

	verb_pipe_forget(fd, writer, 7, 8);
	put(writer, 7, 8);
	cr_assert_eq(read(fd, &entry, sizeof(entry)), 8);
	cr_assert_eq(entry, 7);
	close(writer);
	close(fd);
}
