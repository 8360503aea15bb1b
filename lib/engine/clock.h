/* clock.h - the time of all lcores */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CLOCK_H
#define ENGINE_CLOCK_H

#include <stdint.h>

/* Nanoseconds of a clock that only goes forward. */
uint64_t engine_now_ns(void);

/*
 * What is added to the TSC since it has gone back. Who saw it go back by ns, when `offset` was added, adds that, too;
 * of those who see the same jump one does.
 */
uint64_t engine_clock_offset_ns(void);
void engine_clock_add_offset(uint64_t offset_ns, uint64_t ns);

#endif
