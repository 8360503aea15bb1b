/* peers.h - what asking early is worth with peers of all kinds, slow ones above all */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_PEERS_H
#define SIM_PEERS_H

#include "sim/world.h"

/*
 * A line for each kind of peer and request, the median of so many seeds. messages: small requests a row, and fewer of
 * large ones; 0: a few. Returns how many rows are not as they should.
 */
uint32_t sim_peers_run(uint64_t seed, uint32_t seeds, uint32_t messages, struct sim_memory *memory);

#endif
