/* region.h - a memory region that a test of keys registers */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_UNIT_RC_REGION_H
#define TEST_UNIT_RC_REGION_H

#include <criterion/criterion.h>

#include "rc/mr.h"

/* Returns the region's key, which is of protection domain 1. */
static inline uint32_t region_insert(struct rc_mr_table *table, void *memory, uint64_t bytes)
{
	int error = 0;
	uint32_t key = rc_mr_insert(table, 1, memory, bytes, UROCE_ACCESS_LOCAL_WRITE, &error);

	cr_assert_neq(key, 0, "error %d", error);
	return key;
}

#endif
