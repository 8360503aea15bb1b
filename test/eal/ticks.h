/* ticks.h - the engine's clock as a test sets it: time passes with what the test does, however fast the machine is */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. A program that links ticks.c is linked with --wrap=engine_now_ns. Its clock is the real one at first.
 *   2. ticks_start(): from then on the time moves on by tick_ns each time it is read, and stands still otherwise
 */
#ifndef TEST_EAL_TICKS_H
#define TEST_EAL_TICKS_H

#include <stdint.h>

void ticks_start(uint64_t tick_ns);

#endif
