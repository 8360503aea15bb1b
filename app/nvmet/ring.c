/* ring.c - reads and writes files with io_uring, submitted and reaped once in each poll */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/ring.h"

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvmet/workers.h"

#define ENTRIES 2048u
#define REAP 64u

struct ring {
	struct io_uring uring;
	struct workers *workers; /* NULL: io_uring is used */
	bool fixed;
	unsigned under_way;
	struct turns waiting; /* addresses with requests that wait for an entry */
};

static bool use_io_uring(struct ring *ring, void *memory, size_t bytes, char *reason, size_t reason_bytes)
{
	struct iovec iov = { memory, bytes };
	/*
	 * COOP_TASKRUN: work is finished when this thread looks at the ring, without an interrupt for each completion.
	 */
	int code = io_uring_queue_init(ENTRIES, &ring->uring, IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);

	if (code == -EINVAL) /* for Linux before 5.19 */
		code = io_uring_queue_init(ENTRIES, &ring->uring, 0);
	if (code) {
		snprintf(reason, reason_bytes, "no io_uring: %s%s", strerror(-code),
			 code == -ENOSYS || code == -EPERM ? " (kernel.io_uring_disabled, or seccomp)" : "");
		return false;
	}
	/* Registered memory counts against RLIMIT_MEMLOCK; without it everything works, a little slower. */
	ring->fixed = io_uring_register_buffers(&ring->uring, &iov, 1) == 0;
	return true;
}

struct ring *ring_open(void *memory, size_t bytes, bool threads, char *reason, size_t reason_bytes)
{
	struct ring *ring = calloc(1, sizeof(*ring));

	*reason = '\0';
	if (ring)
		STAILQ_INIT(&ring->waiting);
	if (ring == NULL || (!threads && use_io_uring(ring, memory, bytes, reason, reason_bytes)))
		return ring;
	ring->workers = workers_open();
	if (ring->workers)
		return ring;
	free(ring);
	return NULL;
}

void ring_close(struct ring *ring)
{
	if (ring->workers)
		workers_close(ring->workers);
	else
		io_uring_queue_exit(&ring->uring);
	free(ring);
}

struct io_uring_sqe *ring_entry(struct ring *ring, struct ring_entry *entry)
{
	struct io_uring_sqe *sqe = ring->workers ? workers_entry(ring->workers) : io_uring_get_sqe(&ring->uring);

	if (sqe == NULL && ring->workers == NULL) {
		io_uring_submit(&ring->uring);
		sqe = io_uring_get_sqe(&ring->uring);
	}
	if (sqe == NULL)
		return NULL;
	memset(sqe, 0, sizeof(*sqe));
	io_uring_sqe_set_data(sqe, entry);
	ring->under_way += ring->workers == NULL;
	return sqe;
}

void ring_await(struct ring *ring, struct turn *turn, struct turn_work *work)
{
	turn_add(&ring->waiting, turn, work);
}

bool ring_is_awaited(const struct ring *ring)
{
	return !STAILQ_EMPTY(&ring->waiting);
}

static bool has_room(const struct ring *ring)
{
	return ring->workers ? workers_have_room(ring->workers) : io_uring_sq_space_left(&ring->uring) > 0;
}

bool ring_has_fixed_memory(const struct ring *ring)
{
	return ring->fixed;
}

int ring_fd(const struct ring *ring)
{
	return ring->workers ? workers_fd(ring->workers) : ring->uring.ring_fd;
}

void ring_wake(const struct ring *ring)
{
	if (ring->workers)
		workers_wake(ring->workers);
}

static void complete(void *data, int result)
{
	struct ring_entry *entry = data;

	entry->complete(entry, result);
}

static unsigned poll_io_uring(struct ring *ring)
{
	struct io_uring_cqe *cqes[REAP];
	unsigned count;

	if (io_uring_sq_ready(&ring->uring))
		io_uring_submit(&ring->uring);
	if (ring->under_way == 0)
		return 0;
	/*
	 * Enters the kernel if the ring says that there is work to finish, or if there are more completions than it
	 * holds.
	 */
	count = io_uring_peek_batch_cqe(&ring->uring, cqes, REAP);
	for (unsigned i = 0; i < count; i++) {
		void *data = io_uring_cqe_get_data(cqes[i]);
		int result = cqes[i]->res;

		ring->under_way--;
		io_uring_cqe_seen(&ring->uring, cqes[i]);
		complete(data, result);
	}
	return count;
}

unsigned ring_poll(struct ring *ring)
{
	unsigned count = 0;

	while (has_room(ring) && turn_poll(&ring->waiting))
		count++;
	return count + (ring->workers ? workers_poll(ring->workers, complete) : poll_io_uring(ring));
}
