/* pattern.c - payload in which every byte shows which message it belongs to */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "common/pattern.h"

/* Eight bytes of the pattern. Neighbouring words, and neighbouring keys, differ in every byte as a rule. */
static inline uint64_t word_at(uint64_t key, size_t index)
{
	uint64_t word = key ^ (index + 1) * 0xD6E8FEB86659FD93;

	word ^= word >> 32;
	word *= 0xD6E8FEB86659FD93;
	return word ^ (word >> 29);
}

void app_pattern_fill(uint8_t *data, size_t bytes, uint64_t key)
{
	size_t at = 0;

	for (; at + 8 <= bytes; at += 8) {
		uint64_t word = word_at(key, at / 8);

		memcpy(data + at, &word, 8);
	}
	if (at < bytes) {
		uint64_t word = word_at(key, at / 8);

		memcpy(data + at, &word, bytes - at);
	}
}

static uint64_t count_bad_in(const uint8_t *data, size_t bytes, uint64_t word)
{
	uint64_t bad = 0;

	for (size_t i = 0; i < bytes; i++)
		bad += data[i] != (uint8_t)(word >> 8 * i);
	return bad;
}

uint64_t app_pattern_count_bad(const uint8_t *data, size_t bytes, uint64_t key)
{
	uint64_t bad = 0, found;
	size_t at = 0;

	for (; at + 8 <= bytes; at += 8) {
		uint64_t word = word_at(key, at / 8);

		memcpy(&found, data + at, 8);
		if (found != word)
			bad += count_bad_in(data + at, 8, word);
	}
	if (at < bytes)
		bad += count_bad_in(data + at, bytes - at, word_at(key, at / 8));
	return bad;
}
