/* event.c - asynchronous events */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/log.h"

bool uroce_event_poll(struct uroce_device *device, struct uroce_event *event)
{
	return rte_ring_dequeue_elem(device->events, event, sizeof(*event)) == 0;
}

int uroce_event_fd(struct uroce_device *device)
{
	uint64_t one = 1;
	int fd;

	pthread_mutex_lock(&device->engine->lock);
	fd = atomic_load(&device->event_fd);
	if (fd < 0) {
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		fd = fd < 0 ? engine_refuse(-errno, "cannot create the file descriptor for device events: %s",
					    strerror(errno)) :
			      fd;
		atomic_store(&device->event_fd, fd < 0 ? -1 : fd);
		/* N2: publishes the descriptor, then looks for events raised before */
		atomic_thread_fence(memory_order_seq_cst);
		if (fd >= 0 && rte_ring_count(device->events) > 0 && write(fd, &one, sizeof(one)) < 0)
			fd = engine_refuse(-errno, "cannot create the file descriptor for device events: %s",
					   strerror(errno));
	}
	pthread_mutex_unlock(&device->engine->lock);
	return fd;
}
