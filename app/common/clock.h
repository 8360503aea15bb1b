/* clock.h - a clock that never goes back, for programs that measure or wait */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_CLOCK_H
#define APP_COMMON_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t app_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static inline uint64_t app_now_ms(void)
{
	return app_now_ns() / 1000000;
}

static inline double app_now_seconds(void)
{
	return (double)app_now_ns() / 1e9;
}

#endif
