/* captured.c - reads a capture file that was written as our programs do */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "captured.h"

#include <criterion/criterion.h>

#include "common/capture_file.h"

struct captured captured_read(const char *path)
{
	struct capture_file *file = capture_file_open(path);
	struct captured found = { 0 };
	struct capture_frame frame;

	while (capture_file_next(file, &frame) == 1) {
		found.first_ns = found.count++ ? found.first_ns : frame.time_ns;
		found.last_ns = frame.time_ns;
		found.bytes += frame.bytes;
		found.original_bytes += frame.original_bytes;
	}
	cr_assert_null(capture_file_error(file), "%s", capture_file_error(file));
	capture_file_close(file);
	return found;
}
