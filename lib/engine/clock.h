/* clock.h - the time of all lcores */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CLOCK_H
#define ENGINE_CLOCK_H

#include <stdint.h>

/* Nanoseconds of a clock that only goes forward. */
uint64_t engine_now_ns(void);

/* The clock went back by so much since `made_up`, which is what engine_made_up_ns() said before: makes up for it. */
uint64_t engine_made_up_ns(void);
void engine_make_up(uint64_t made_up, uint64_t ns);

#endif
