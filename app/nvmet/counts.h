/* counts.h - the counters of a target and of each namespace, by name */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_COUNTS_H
#define NVMET_COUNTS_H

#include "nvmet/disk.h"

#define COUNTS_MAX 24u

struct count {
	const char *name;
	uint64_t value;
};

/* Each function fills `counts`, and returns the number of counts. */
uint32_t counts_of_target(const struct server *server, struct count counts[COUNTS_MAX]);
uint32_t counts_of_disk(const struct disk *disk, struct count counts[COUNTS_MAX]);

#endif
