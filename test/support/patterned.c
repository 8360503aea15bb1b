/* patterned.c - memory that repeats a pattern; pages that a test never writes to cost nothing */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

#include "patterned.h"

#define GUARD_BYTES PATTERNED_BYTES

int patterned_file(const uint8_t *pattern)
{
	int file = memfd_create("pattern", MFD_CLOEXEC);

	cr_assert_eq(write(file, pattern, PATTERNED_BYTES), PATTERNED_BYTES);
	return file;
}

uint8_t *patterned_map(int file, uint32_t bytes)
{
	uint8_t *guarded = mmap(NULL, bytes + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint8_t *memory = guarded + GUARD_BYTES;

	cr_assert_neq(guarded, MAP_FAILED);
	cr_assert_eq(bytes % PATTERNED_BYTES, 0);
	for (uint32_t at = 0; at < bytes; at += PATTERNED_BYTES)
		cr_assert_eq(mmap(memory + at, PATTERNED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file,
				  0),
			     memory + at);
	return memory;
}

void patterned_unmap(uint8_t *memory, uint32_t bytes)
{
	cr_assert_eq(munmap(memory - GUARD_BYTES, bytes + 2 * GUARD_BYTES), 0);
}
