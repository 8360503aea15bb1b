/* input.h - what a fuzzer offers, taken piece by piece; behind its end there are zeros */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_FUZZ_INPUT_H
#define TEST_FUZZ_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* What must hold whatever the input. */
#define MUST(condition)                                                                         \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                \
		}                                                                               \
	} while (0)

struct input {
	const uint8_t *at, *end;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline bool input_is_over(const struct input *input)
{
	return input->at >= input->end;
}

static inline uint8_t input_byte(struct input *input)
{
	return input_is_over(input) ? 0 : *input->at++;
}

static inline uint32_t input_bytes(struct input *input, int count)
{
	uint32_t value = 0;

	for (int i = 0; i < count; i++)
		value = value << 8 | input_byte(input);
	return value;
}

#endif
