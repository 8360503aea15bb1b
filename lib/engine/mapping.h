/* mapping.h - whether a range of addresses is mapped, and with which rights */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MAPPING_H
#define ENGINE_MAPPING_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Checks the mappings of this process that cover [addr, addr + bytes). No page is populated or written, so the check
 * takes a time that depends on the number of mappings and not on bytes. Returns 0; -EFAULT if a part is unmapped, may
 * not be read, or may not be written although `writable` is true. Returns 0 without a check if /proc is not mounted.
 * Thread-safe.
 */
int engine_mapping_check(const void *addr, size_t bytes, bool writable);

#endif
