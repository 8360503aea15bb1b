/* preload.c - completion channels of our devices, which libibverbs makes by a command to the kernel */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibv_create_comp_channel() is the one call that a provider is not asked about. So uroce-run preloads this library,
 * which has nothing but it; channels of other devices are made as ever.
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
