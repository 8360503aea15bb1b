/* shrink.h - makes the history of a failing run short, and prints it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef SIM_SHRINK_H
#define SIM_SHRINK_H

#include "sim/world.h"

/* Prints what failed, how to repeat it and the faults that it takes. commit: of the sources. */
void sim_shrink_report(const struct sim_options *options, struct sim_memory *memory, const char *commit);

#endif
