/* region.c - memory that is registered with all ports of the target */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/region.h"

#include <stdlib.h>

struct region *region_open(const struct server *server, void *base, uint64_t bytes)
{
	struct region *region = calloc(1, sizeof(*region));

	if (region == NULL)
		return NULL;
	for (uint32_t i = 0; i < server->port_count; i++) {
		if (uroce_mr_reg(server->ports[i].pd, base, bytes, UROCE_ACCESS_LOCAL_WRITE, &region->mrs[i]) != 0) {
			region_close(region);
			return NULL;
		}
		region->lkeys[i] = uroce_mr_lkey(region->mrs[i]);
	}
	return region;
}

void region_close(struct region *region)
{
	for (uint32_t i = 0; i < SERVER_PORTS_MAX; i++) {
		if (region->mrs[i])
			uroce_mr_dereg(region->mrs[i]);
	}
	free(region);
}
