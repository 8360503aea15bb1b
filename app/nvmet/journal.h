/* journal.h - lines about events of a running target, no more of them than a person can read */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_JOURNAL_H
#define NVMET_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Not a share (share.h): a line that was printed is not given back, and what is left out is counted. */
struct journal {
	uint64_t second; /* the second that lines are counted in */
	uint32_t lines, left_out;
	bool silent; /* no lines are printed */
};

/* Prints a line on standard output; or, if there were too many in this second, counts it as left out. */
void journal_tell(struct journal *journal, uint64_t now_ns, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The name of a host, in characters that cannot harm a terminal or JSON. Returns out. */
const char *journal_name(const char *name, char *out, size_t bytes);

#endif
