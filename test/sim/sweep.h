/* sweep.h - how much gets through when more and more is lost */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_SWEEP_H
#define SIM_SWEEP_H

#include "sim/world.h"

/* A line for each rate of loss. Returns how many requests failed that should not have. */
uint32_t sim_sweep_run(uint64_t seed, uint32_t messages, struct sim_memory *memory);

#endif
