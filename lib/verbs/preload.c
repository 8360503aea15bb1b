/* preload.c - makes completion channels for our devices; libibverbs would ask the kernel for them */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibv_create_comp_channel() is the only call for which a provider is not asked. So uroce-run preloads this library,
 * which does nothing else; channels of other devices are made as before.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "verbs/pipe.h"

static struct ibv_comp_channel *channel_of_kernel(struct ibv_context *context)
{
	struct ibv_comp_channel *(*next)(struct ibv_context *) = NULL;

	*(void **)&next = dlvsym(RTLD_NEXT, "ibv_create_comp_channel", "IBVERBS_1.0");
	if (next)
		return next(context);
	errno = ENOSYS;
	return NULL;
}

__attribute__((visibility("default"))) struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	struct ibv_comp_channel *channel;

	if (strncmp(context->device->name, "uroce", 5) != 0)
		return channel_of_kernel(context);
	channel = calloc(1, sizeof(*channel)); /* libibverbs frees it */
	if (channel == NULL)
		return NULL;
	channel->context = context;
	channel->fd = pipe_open();
	if (channel->fd >= 0)
		return channel;
	free(channel);
	return NULL;
}
