/* paths.h - one QP that spreads its packets over several paths */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_PATHS_H
#define SIM_PATHS_H

#include "sim/world.h"

/* Prints two tables: what paths of different lengths leave of the goodput, and what the death of one costs. */
uint32_t sim_paths_run(uint64_t seed, uint32_t seeds, struct sim_memory *memory);

#endif
