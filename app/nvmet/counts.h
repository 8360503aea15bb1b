/* counts.h - the counters of a target and of each namespace, by name */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_COUNTS_H
#define NVMET_COUNTS_H

#include "nvmet/disk.h"

#define COUNTS_MAX 24u

/* The counters of the target, or of a namespace. */
struct counts {
	const struct disk *disk; /* NULL: the target */
	uint32_t count;
	struct count {
		const char *name;
		uint64_t value;
	} rows[COUNTS_MAX];
};

/* Calls show() with the counters of the target, and then with those of each namespace. */
typedef void counts_show(const struct counts *counts, void *argument);
void counts_each(const struct server *server, const struct disks *disks, counts_show *show, void *argument);

#endif
