/* objects.h - creates what queue pairs need: protection domain, memory region, completion queue */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_COMMON_OBJECTS_H
#define APP_COMMON_OBJECTS_H

#include <uroce/uroce.h>

#include "common/eal.h"

struct app_objects {
	struct uroce_pd *pd;
	struct uroce_mr *mr;
	struct uroce_cq *cq;
};

struct app_objects_config {
	struct uroce_device *device;
	void *memory; /* NULL: no region */
	size_t bytes;
	uint32_t access;      /* access to the memory, besides UROCE_ACCESS_LOCAL_WRITE */
	uint32_t completions; /* 0: no completion queue */
};

/* Returns APP_EXIT_OK, or APP_EXIT_FAILURE after a complaint; app_objects_close() frees what exists in either case. */
int app_objects_open(const struct app_objects_config *config, struct app_objects *objects);
/* All queue pairs must have been destroyed. The memory is not freed; closing twice does no harm. */
void app_objects_close(struct app_objects *objects);

#endif
