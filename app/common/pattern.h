/* pattern.h - payload in which every byte shows which message it belongs to */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_PATTERN_H
#define APP_COMMON_PATTERN_H

#include <stddef.h>
#include <stdint.h>

/* A key for message number `message` of a flow. `way` is the direction, which also changes the key. */
static inline uint64_t pattern_key(uint32_t way, uint32_t flow, uint64_t message)
{
	return message * 0x9E3779B97F4A7C15 + ((uint64_t)flow << 33 | way) * 0xC2B2AE3D27D4EB4F;
}

void app_pattern_fill(uint8_t *data, size_t bytes, uint64_t key);

/* Returns how many bytes differ from those that app_pattern_fill() writes for this key. */
uint64_t app_pattern_count_bad(const uint8_t *data, size_t bytes, uint64_t key);

#endif
