/* holes.h - goodput beside many QPs that wait for a packet that never comes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_HOLES_H
#define SIM_HOLES_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory.h"

/*
 * Prints a table of medians of so many seeds; tap: its last row, and whether all went well. Returns the number of rows
 * in which a request failed, or less was left than 0.9.
 */
uint32_t sim_holes_run(uint64_t seed, uint32_t seeds, bool tap, struct sim_memory *memory);

#endif
