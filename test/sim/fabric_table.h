/* fabric_table.h - flows through switches: when they are done, and what it cost */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_FABRIC_TABLE_H
#define SIM_FABRIC_TABLE_H

#include <stdint.h>

#include "sim/flows.h"
#include "sim/memory.h"

enum sim_fabric_cc { FABRIC_FIXED = 1, FABRIC_DCQCN = 2, FABRIC_DELAY = 4, FABRIC_ALL = 7 };

/* Prints a line a run, and the medians of several seeds. Returns how many runs were not right. */
uint32_t sim_fabric_run(const struct sim_plan *plan, enum sim_fabric_cc cc, uint64_t seed, uint32_t seeds,
			struct sim_memory *memory);
/*
 * Tests that all flows complete, that a seed repeats its run, that with marks fewer frames are dropped or queues are
 * shorter, and that flows with SACKs and those without share what there is.
 */
uint32_t sim_fabric_judge(const struct sim_plan *plan, uint64_t seed, struct sim_memory *memory);

#endif
