/* slow_clock.c - loaded before DPDK, it makes a process take time for a thousandth of what it is, and start sooner */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Under valgrind everything takes a hundred times as long, and whatever is put off by some microseconds happens in each
 * round trip. The TSC is told to be a thousand times as fast as it is, so time stands nearly still instead. The drivers
 * of DPDK that loop ports do not need are not loaded: that takes longer than the messages that are counted.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

uint64_t rte_get_tsc_hz(void);

__attribute__((visibility("default"))) uint64_t rte_get_tsc_hz(void)
{
	return 2000000000000;
}

__attribute__((visibility("default"))) void *dlopen(const char *path, int flags)
{
	void *(*load)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
	bool is_driver = path && strstr(path, "/librte_") && !strstr(path, "/librte_mempool_ring");

	return load(is_driver ? NULL : path, flags);
}
