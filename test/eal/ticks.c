/* ticks.c - the engine's clock as a test sets it: time passes with what the test does, however fast the machine is */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "ticks.h"

#include <stdatomic.h>

static _Atomic uint64_t now_ns, step_ns; /* step_ns is 0: the real clock */

uint64_t __real_engine_now_ns(void);
uint64_t __wrap_engine_now_ns(void);

/* Linked in the place of engine_now_ns(). */
uint64_t __wrap_engine_now_ns(void)
{
	uint64_t step = atomic_load(&step_ns);

	return step ? atomic_fetch_add(&now_ns, step) + step : __real_engine_now_ns();
}

void ticks_start(uint64_t tick_ns)
{
	atomic_store(&now_ns, __real_engine_now_ns());
	atomic_store(&step_ns, tick_ns);
}
