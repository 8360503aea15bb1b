/* slow_clock.c - loaded before DPDK, it makes a process take time for a thousandth of what it is */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Under valgrind everything takes a hundred times as long, and whatever is put off by some microseconds happens in each
 * round trip. The TSC is told to be a thousand times as fast as it is, so time stands nearly still instead.
 */
#include <stdint.h>

uint64_t rte_get_tsc_hz(void);

__attribute__((visibility("default"))) uint64_t rte_get_tsc_hz(void)
{
	return 2000000000000;
}
