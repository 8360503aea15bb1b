/* patterned.h - memory that repeats a pattern; pages that a test never writes to cost nothing */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. patterned_file(): a file with the pattern, for the life of the process
 *   2. patterned_map(): memory that holds the pattern again and again, with an inaccessible page at each end
 *   3. patterned_unmap() with the same size
 */
#ifndef TEST_PATTERNED_H
#define TEST_PATTERNED_H

#include <stdint.h>

#define PATTERNED_BYTES 65536u /* of the pattern; a multiple of the page size */

int patterned_file(const uint8_t *pattern);
/* bytes: a multiple of PATTERNED_BYTES. */
uint8_t *patterned_map(int file, uint32_t bytes);
void patterned_unmap(uint8_t *memory, uint32_t bytes);

#endif
