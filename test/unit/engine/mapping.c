/* mapping.c - ranges that are mapped, unmapped and protected, as new and as old kernels list them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/mapping.h"
#include "rule.h"

#define PAGES 8u

static bool kernel_is_old; /* it has no PROCMAP_QUERY */

int __real_ioctl(int fd, unsigned long request, void *argument);
int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	va_list arguments;
	void *argument;

	va_start(arguments, request);
	argument = va_arg(arguments, void *);
	va_end(arguments);
	if (kernel_is_old) {
		errno = ENOTTY;
		return -1;
	}
	return __real_ioctl(fd, request, argument);
}

static uint8_t *memory;
static size_t page;

static void map_pages(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	memory = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(memory, MAP_FAILED);
}

static void expect(unsigned from, unsigned count, bool writable, int expected)
{
	for (int old = 0; old < 2; old++) {
		kernel_is_old = old;
		cr_expect_eq(engine_mapping_check(memory + from * page + 1, count * page - 2, writable), expected,
			     "pages %u to %u, writable %d, old kernel %d", from, from + count, writable, old);
	}
}

TestSuite(mapping, .init = map_pages);

Test(mapping, mapped_memory_passes)
{
	expect(0, PAGES, false, 0);
	expect(0, PAGES, true, 0);
}

Test(mapping, neighbouring_mappings_of_different_rights_pass_together)
{
	mprotect(memory + 2 * page, page, PROT_READ | PROT_WRITE | PROT_EXEC);
	expect(0, PAGES, true, 0);
}

Test(mapping, read_only_memory_passes_only_for_reading)
{
	RULE("M-2");
	mprotect(memory + 3 * page, page, PROT_READ);
	expect(0, PAGES, false, 0);
	expect(0, PAGES, true, -EFAULT);
	expect(3, 1, true, -EFAULT);
	expect(0, 3, true, 0);
	expect(4, 4, true, 0);
}

Test(mapping, memory_without_rights_fails)
{
	mprotect(memory + 5 * page, page, PROT_NONE);
	expect(0, PAGES, false, -EFAULT);
	expect(5, 1, false, -EFAULT);
	expect(0, 5, true, 0);
}

Test(mapping, unmapped_memory_fails_at_any_position)
{
	munmap(memory + 7 * page, page);
	expect(6, 2, false, -EFAULT);
	munmap(memory + 3 * page, page);
	expect(2, 3, false, -EFAULT);
	expect(3, 1, false, -EFAULT);
	munmap(memory, page);
	expect(0, 2, false, -EFAULT);
	expect(1, 2, true, 0);
}

Test(mapping, populates_no_page)
{
	unsigned char resident[PAGES];

	expect(0, PAGES, true, 0);
	cr_assert_eq(mincore(memory, PAGES * page, resident), 0);
	for (unsigned i = 0; i < PAGES; i++)
		cr_expect_eq(resident[i] & 1, 0, "page %u", i);
}
