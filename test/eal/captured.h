/* captured.h - how much is in a capture file that was written */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_EAL_CAPTURED_H
#define TEST_EAL_CAPTURED_H

#include <stdint.h>

struct captured {
	uint32_t count, bytes, original_bytes;
	uint64_t first_ns, last_ns;
};

/* The test fails when the file is not whole. */
struct captured captured_read(const char *path);

#endif
