/* channel.h - completion channels for our devices; libibverbs would ask the kernel for them */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef VERBS_CHANNEL_H
#define VERBS_CHANNEL_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "verbs/pipe.h"

static inline bool channel_is_ours(const struct ibv_context *context)
{
	return strncmp(context->device->name, "uroce", 5) == 0;
}

/* NULL: errno is set. libibverbs frees it. */
static inline struct ibv_comp_channel *channel_create(struct ibv_context *context)
{
	struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));

	if (channel == NULL)
		return NULL;
	channel->context = context;
	channel->fd = pipe_open();
	if (channel->fd >= 0)
		return channel;
	free(channel);
	return NULL;
}

#endif
