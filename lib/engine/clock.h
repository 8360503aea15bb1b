/* clock.h - the time of all lcores */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CLOCK_H
#define ENGINE_CLOCK_H

#include <stdint.h>

/* Nanoseconds of a clock that never goes back. */
uint64_t engine_now_ns(void);

/*
 * The offset that is added to the TSC, which goes back when a virtual machine moves. An lcore that sees the time go
 * back by ns adds ns to the offset that it had read before. If several lcores see the same jump, only one of them
 * changes the offset.
 */
uint64_t engine_clock_offset_ns(void);
void engine_clock_add_offset(uint64_t offset_ns, uint64_t ns);

#endif
