/* lossy.h - what is kept of the goodput when packets are lost, by MTU and round trip */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_LOSSY_H
#define SIM_LOSSY_H

#include "sim/memory.h"
#include "sim/world.h"

/* Prints the table; the median of so many seeds. Returns the number of rows in which a request failed. */
uint32_t sim_lossy_run(uint64_t seed, uint32_t seeds, struct sim_memory *memory);

#endif
