/* memory.h - the memory of all nodes, and its shadow: what it should contain */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One arena. Areas are cut from it with a guard between any two; what lies in no area, or in one that nobody may write
 * to, has to stay as it was. The core writes to `real`, the model of the simulator to `shadow`, and both have to be
 * the same after every event. An area whose connection met a forger (fault.h) is loose: it may contain anything.
 * The arena lies at the same address in each run, for the address stands in the packets and so in the trace.
 */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_PIECES 3u

/* Where the parts of a request's data lie, as offsets into the arena. */
struct sim_buffer {
	uint32_t count;
	uint64_t at[MEMORY_PIECES];
	uint32_t bytes[MEMORY_PIECES];
};

struct sim_area {
	uint64_t at, bytes;
};

struct sim_memory {
	uint8_t *real, *shadow;
	uint64_t used;
	struct sim_area *loose;
	uint32_t loose_count, loose_room;
};

/* The process has one arena; false: the system gives no memory. *usual: it lies where it always does. */
bool sim_memory_open(struct sim_memory *memory, bool *usual);
void sim_memory_close(struct sim_memory *memory);
/* Fills everything with the numbers of a seed. */
void sim_memory_reset(struct sim_memory *memory, uint64_t seed, uint64_t bytes);
/* Bytes for areas that were taken since; false: the arena is too small. */
bool sim_memory_take(struct sim_memory *memory, uint64_t bytes, uint64_t *at);
/* Nobody can tell any more what the area should contain. */
void sim_memory_loosen(struct sim_memory *memory, uint64_t at, uint64_t bytes);

/* The first byte that is not as it should be: in a range, in a part of a buffer, anywhere. UINT64_MAX: none. */
uint64_t sim_memory_compare(struct sim_memory *memory, uint64_t at, uint64_t bytes);
uint64_t sim_memory_compare_part(struct sim_memory *memory, const struct sim_buffer *buffer, uint64_t offset,
				 uint64_t bytes);
uint64_t sim_memory_compare_all(struct sim_memory *memory);

/* data belongs into the buffer at offset. */
void sim_memory_expect(struct sim_memory *memory, const struct sim_buffer *buffer, uint64_t offset, const void *data,
		       uint64_t bytes);
/* Whatever stands there is right: a buffer is undefined until its request completes. */
void sim_memory_accept(struct sim_memory *memory, const struct sim_buffer *buffer, uint64_t offset, uint64_t bytes);
/* What should stand in the buffer. */
void sim_memory_gather(const struct sim_memory *memory, const struct sim_buffer *buffer, uint64_t offset, void *data,
		       uint64_t bytes);

#endif
