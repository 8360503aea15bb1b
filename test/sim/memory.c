/* memory.c - the arena and its shadow */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "sim/memory.h"
#include "sim/random.h"

#define ARENA_BYTES (5ull << 30) /* of address space: what a run does not use is never touched */
#define GUARD_BYTES 192u
#define USUAL_ADDRESS 0x200000000000ull /* in nobody's way, that of AddressSanitizer neither */
#define NOISE_BYTES (1u << 20)

static uint8_t *noise;

static void *map(void *address, int flags)
{
	void *at = mmap(address, ARENA_BYTES, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

bool sim_memory_open(struct sim_memory *memory, bool *usual)
{
	struct sim_random random = random_stream(1, 2, 3);

	memory->real = map((void *)USUAL_ADDRESS, MAP_FIXED_NOREPLACE);
	*usual = memory->real != NULL;
	if (memory->real == NULL)
		memory->real = map(NULL, 0);
	memory->shadow = map(NULL, 0);
	noise = malloc(NOISE_BYTES);
	if (memory->real == NULL || memory->shadow == NULL || noise == NULL)
		return false;
	for (uint32_t i = 0; i < NOISE_BYTES; i += 8) {
		uint64_t word = random_next(&random);

		memcpy(noise + i, &word, sizeof(word));
	}
	return true;
}

void sim_memory_close(struct sim_memory *memory)
{
	munmap(memory->real, ARENA_BYTES);
	munmap(memory->shadow, ARENA_BYTES);
	free(memory->loose);
	free(noise);
}

void sim_memory_reset(struct sim_memory *memory, uint64_t seed, uint64_t bytes)
{
	uint64_t shift = seed * 0x9E3779B97F4A7C15ull % NOISE_BYTES & ~7ull;

	if (bytes > ARENA_BYTES)
		bytes = ARENA_BYTES;
	for (uint64_t at = 0; at < bytes;) {
		uint64_t piece = NOISE_BYTES - shift < bytes - at ? NOISE_BYTES - shift : bytes - at;

		memcpy(memory->real + at, noise + shift, piece);
		memcpy(memory->shadow + at, noise + shift, piece);
		at += piece;
		shift = 0;
	}
	memory->used = GUARD_BYTES;
	memory->loose_count = 0;
}

bool sim_memory_take(struct sim_memory *memory, uint64_t bytes, uint64_t *at)
{
	uint64_t end = memory->used + ((bytes + 63) & ~63ull) + GUARD_BYTES;

	if (end > ARENA_BYTES)
		return false;
	*at = memory->used;
	memory->used = end;
	return true;
}

void sim_memory_loosen(struct sim_memory *memory, uint64_t at, uint64_t bytes)
{
	if (memory->loose_count == memory->loose_room) {
		memory->loose_room = memory->loose_room ? memory->loose_room * 2 : 64;
		memory->loose = realloc(memory->loose, memory->loose_room * sizeof(*memory->loose));
	}
	memory->loose[memory->loose_count++] = (struct sim_area){ at, bytes };
}

static void tighten(struct sim_memory *memory)
{
	for (uint32_t i = 0; i < memory->loose_count; i++)
		memcpy(memory->shadow + memory->loose[i].at, memory->real + memory->loose[i].at,
		       memory->loose[i].bytes);
}

uint64_t sim_memory_compare(struct sim_memory *memory, uint64_t at, uint64_t bytes)
{
	if (memcmp(memory->real + at, memory->shadow + at, bytes) == 0)
		return UINT64_MAX;
	tighten(memory);
	for (uint64_t i = at; i < at + bytes; i++) {
		if (memory->real[i] != memory->shadow[i])
			return i;
	}
	return UINT64_MAX;
}

uint64_t sim_memory_compare_all(struct sim_memory *memory)
{
	return sim_memory_compare(memory, 0, memory->used);
}

/* The next run of bytes of a buffer, at offset. */
static uint64_t run_at(const struct sim_buffer *buffer, uint64_t offset, uint64_t bytes, uint64_t *at)
{
	for (uint32_t i = 0; i < buffer->count; i++) {
		if (offset < buffer->bytes[i]) {
			*at = buffer->at[i] + offset;
			return bytes < buffer->bytes[i] - offset ? bytes : buffer->bytes[i] - offset;
		}
		offset -= buffer->bytes[i];
	}
	return 0;
}

uint64_t sim_memory_compare_part(struct sim_memory *memory, const struct sim_buffer *buffer, uint64_t offset,
				 uint64_t bytes)
{
	uint64_t at, run, wrong;

	for (; (run = run_at(buffer, offset, bytes, &at)) > 0; offset += run, bytes -= run) {
		wrong = sim_memory_compare(memory, at, run);
		if (wrong != UINT64_MAX)
			return wrong;
	}
	return UINT64_MAX;
}

void sim_memory_expect(struct sim_memory *memory, const struct sim_buffer *buffer, uint64_t offset, const void *data,
		       uint64_t bytes)
{
	const uint8_t *from = data;
	uint64_t at, run;

	for (; (run = run_at(buffer, offset, bytes, &at)) > 0; offset += run, bytes -= run, from += run)
		memcpy(memory->shadow + at, from, run);
}

void sim_memory_accept(struct sim_memory *memory, const struct sim_buffer *buffer, uint64_t offset, uint64_t bytes)
{
	uint64_t at, run;

	for (; (run = run_at(buffer, offset, bytes, &at)) > 0; offset += run, bytes -= run)
		memcpy(memory->shadow + at, memory->real + at, run);
}

void sim_memory_gather(const struct sim_memory *memory, const struct sim_buffer *buffer, uint64_t offset, void *data,
		       uint64_t bytes)
{
	uint8_t *to = data;
	uint64_t at, run;

	for (; (run = run_at(buffer, offset, bytes, &at)) > 0; offset += run, bytes -= run, to += run)
		memcpy(to, memory->shadow + at, run);
}
