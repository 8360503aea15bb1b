/* preload.c - completion channels of our devices, which libibverbs makes by a command to the kernel */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ibv_create_comp_channel() is the one call that a provider is not asked about. So uroce-run preloads this library,
 * which has nothing but it; channels of other devices are made as ever.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

/* The end of a pipe that reads and writes: as long as it is open the pipe has a writer. -1, with errno. */
static int open_pipe(void)
{
	char path[32];
	int ends[2], fd;

	if (pipe2(ends, O_CLOEXEC) != 0)
		return -1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	fd = open(path, O_RDWR | O_CLOEXEC);
	close(ends[0]);
	close(ends[1]);
	return fd;
}

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
	channel->fd = open_pipe();
	if (channel->fd >= 0)
		return channel;
	free(channel);
	return NULL;
}
