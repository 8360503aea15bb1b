/* journal.h - what a target tells while it runs: a line an event, and not more of them than somebody can read */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_JOURNAL_H
#define NVMET_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct journal {
	uint64_t second; /* the one that is told of */
	uint32_t lines, left_out;
	bool silent; /* nothing is told */
};

/* A line on standard output, or, when there were too many in this second, one more that is said to be missing. */
void journal_tell(struct journal *journal, uint64_t now_ns, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* What a host calls itself, in characters that can do nothing to a terminal or to JSON. Returns out. */
const char *journal_name(const char *name, char *out, size_t bytes);

#endif
