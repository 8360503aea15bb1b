/* stops.h - READs from a peer that stands still now and then, over links of all rates */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_STOPS_H
#define SIM_STOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/memory.h"

/* Is there a table for READs of so many bytes? */
bool sim_stops_knows(const char *text, uint32_t *bytes);

/*
 * Prints a table; returns the rows in which a READ failed. messages: how many of 4 KiB; of longer ones their share.
 * bytes: READs of this size only; 0: of all sizes but 1 GiB, whose memory not every machine has.
 */
uint32_t sim_stops_run(uint64_t seed, uint32_t messages, uint32_t bytes, struct sim_memory *memory);

#endif
