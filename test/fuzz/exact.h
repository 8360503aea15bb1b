/* exact.h - memory of exactly a length, so that a byte too far is seen */
/* SPDX-License-Identifier: BSD-3-Clause */
/* AddressSanitizer sees it by itself; without it, the memory ends where a page begins that nobody may touch. */
#ifndef TEST_FUZZ_EXACT_H
#define TEST_FUZZ_EXACT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "input.h"

#define EXACT_MAX_BYTES 12288u /* whole pages */
#define EXACT_PAGE_BYTES 4096u

#if defined(__SANITIZE_ADDRESS__)
#define EXACT_BY_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define EXACT_BY_ASAN 1
#endif
#endif

/* One copy at a time; it is written to at will. */
static inline uint8_t *exact_take(const uint8_t *data, size_t bytes)
{
	uint8_t *copy;

#ifdef EXACT_BY_ASAN
	copy = malloc(bytes);
	MUST(copy);
#else
	static uint8_t *pages;

	if (!pages) {
		pages = mmap(NULL, EXACT_MAX_BYTES + EXACT_PAGE_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		MUST(pages != MAP_FAILED);
		MUST(mprotect(pages + EXACT_MAX_BYTES, EXACT_PAGE_BYTES, PROT_NONE) == 0);
	}
	MUST(bytes <= EXACT_MAX_BYTES);
	copy = pages + EXACT_MAX_BYTES - bytes;
#endif
	return memcpy(copy, data, bytes);
}

static inline void exact_give_back(uint8_t *copy)
{
#ifdef EXACT_BY_ASAN
	free(copy);
#else
	(void)copy;
#endif
}

#endif
