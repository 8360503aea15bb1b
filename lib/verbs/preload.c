/* preload.c - makes completion channels for our devices; libibverbs would ask the kernel for them */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibv_create_comp_channel() is the only call that libibverbs does not pass to a provider. So uroce-run preloads this
 * library; channels of other devices are made as before. chain.c is the other part of the library.
 */
#include <dlfcn.h>
#include <errno.h>

#include "verbs/channel.h"

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
	return channel_is_ours(context) ? channel_create(context) : channel_of_kernel(context);
}
