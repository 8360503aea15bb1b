/* clock.c - the time of all lcores: the TSC, plus an offset for each time that it has gone back */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/clock.h"

#include <stdatomic.h>

#include <rte_cycles.h>

static _Atomic uint64_t clock_offset_ns;

uint64_t engine_clock_offset_ns(void)
{
	return atomic_load_explicit(&clock_offset_ns, memory_order_relaxed);
}

void engine_clock_add_offset(uint64_t offset_ns, uint64_t ns)
{
	atomic_compare_exchange_strong(&clock_offset_ns, &offset_ns, offset_ns + ns);
}

uint64_t engine_now_ns(void)
{
	static _Atomic uint64_t ns_per_cycle_32; /* fixed point, with 32 bits of fraction */
	uint64_t factor = atomic_load_explicit(&ns_per_cycle_32, memory_order_relaxed);

	if (factor == 0) {
		factor = (uint64_t)(((unsigned __int128)1000000000u << 32) / rte_get_tsc_hz());
		atomic_store_explicit(&ns_per_cycle_32, factor, memory_order_relaxed);
	}
	return (uint64_t)((unsigned __int128)rte_rdtsc() * factor >> 32) + engine_clock_offset_ns();
}
