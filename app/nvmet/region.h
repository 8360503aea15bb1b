/* region.h - memory that is registered with all ports of the target */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_REGION_H
#define NVMET_REGION_H

#include "nvmet/server_state.h"

/* Memory that ports may use: a key for each port. */
struct region {
	struct uroce_mr *mrs[SERVER_PORTS_MAX];
	uint32_t lkeys[SERVER_PORTS_MAX];
};

/* Registers memory with all ports. NULL: no memory, or no room in a port's table. */
struct region *region_open(const struct server *server, void *base, uint64_t bytes);
void region_close(struct region *region);

#endif
