/* objects.c - creates what queue pairs need: protection domain, memory region, completion queue */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/objects.h"

static int register_memory(const struct app_objects_config *config, struct app_objects *objects)
{
	return uroce_mr_reg(objects->pd, config->memory, config->bytes, UROCE_ACCESS_LOCAL_WRITE | config->access,
			    &objects->mr);
}

int app_objects_open(const struct app_objects_config *config, struct app_objects *objects)
{
	*objects = (struct app_objects){ NULL };
	if (app_check("protection domain", uroce_pd_alloc(config->device, &objects->pd)) ||
	    (config->memory && app_check("memory region", register_memory(config, objects))) ||
	    (config->completions &&
	     app_check("completion queue", uroce_cq_create(config->device, config->completions, &objects->cq))))
		return APP_EXIT_FAILURE;
	return APP_EXIT_OK;
}

void app_objects_close(struct app_objects *objects)
{
	if (objects->cq)
		uroce_cq_destroy(objects->cq);
	if (objects->mr)
		uroce_mr_dereg(objects->mr);
	if (objects->pd)
		uroce_pd_dealloc(objects->pd);
	*objects = (struct app_objects){ NULL };
}
