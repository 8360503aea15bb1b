/* device.c - opens the device with libibverbs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdmacm/cma.h"
#include "verbs/stack.h"

static struct {
	pthread_mutex_t lock;
	struct ibv_context *context;
	struct stack *stack;
} device = { .lock = PTHREAD_MUTEX_INITIALIZER };

int cma_result(int error)
{
	if (error == 0)
		return 0;
	errno = -error;
	return -1;
}

/* With the lock held. */
static struct ibv_context *open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i] && device.context == NULL; i++) {
		if (strncmp(ibv_get_device_name(list[i]), "uroce", 5) == 0)
			device.context = ibv_open_device(list[i]);
	}
	if (list)
		ibv_free_device_list(list);
	if (device.context == NULL)
		errno = ENODEV;
	else if (stack_get(&device.stack) != 0)
		device.context = NULL;
	return device.context;
}

struct ibv_context *cma_context(void)
{
	struct ibv_context *context;

	pthread_mutex_lock(&device.lock);
	context = device.context ? device.context : open_device();
	pthread_mutex_unlock(&device.lock);
	return context;
}

struct uroce_engine *cma_engine(void)
{
	return cma_context() ? device.stack->engine : NULL;
}

const struct uroce_device_info *cma_device_info(void)
{
	return &device.stack->info;
}

uint16_t cma_sack_window(void)
{
	return device.stack->sack_window;
}

uint8_t cma_paths(void)
{
	return device.stack->paths;
}

CMA_API struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **list = calloc(2, sizeof(*list));

	if (list)
		list[0] = cma_context();
	if (list == NULL || list[0] == NULL) {
		free(list);
		return NULL;
	}
	if (num_devices)
		*num_devices = 1;
	return list;
}

CMA_API void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
