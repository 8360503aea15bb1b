/* ring.c - the io_uring of a target: submitted to once a turn, reaped in the turn */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/ring.h"

#include <errno.h>
#include <liburing.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES 2048u
#define REAP 64u

struct ring {
	struct io_uring uring;
	bool fixed;
	unsigned under_way;
};

struct ring *ring_open(void *memory, size_t bytes, char *error, size_t error_bytes)
{
	struct iovec iov = { memory, bytes };
	struct ring *ring = calloc(1, sizeof(*ring));
	int code = ring ? io_uring_queue_init(ENTRIES, &ring->uring, 0) : -ENOMEM;

	if (code) {
		snprintf(error, error_bytes, "io_uring: %s%s", strerror(-code),
			 code == -ENOSYS || code == -EPERM ?
				 "; it is switched off here (kernel.io_uring_disabled, or seccomp)" :
				 "");
		free(ring);
		return NULL;
	}
	/* Pinned memory counts against RLIMIT_MEMLOCK: without it all works, a little slower. */
	ring->fixed = io_uring_register_buffers(&ring->uring, &iov, 1) == 0;
	return ring;
}

void ring_close(struct ring *ring)
{
	io_uring_queue_exit(&ring->uring);
	free(ring);
}

struct io_uring_sqe *ring_entry(struct ring *ring, struct ring_entry *entry)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&ring->uring);

	if (sqe == NULL) {
		io_uring_submit(&ring->uring);
		sqe = io_uring_get_sqe(&ring->uring);
	}
	if (sqe) {
		memset(sqe, 0, sizeof(*sqe));
		io_uring_sqe_set_data(sqe, entry);
		ring->under_way++;
	}
	return sqe;
}

bool ring_has_fixed_memory(const struct ring *ring)
{
	return ring->fixed;
}

unsigned ring_poll(struct ring *ring)
{
	struct io_uring_cqe *cqes[REAP];
	unsigned count;

	if (io_uring_sq_ready(&ring->uring))
		io_uring_submit(&ring->uring);
	if (ring->under_way == 0)
		return 0;
	/* Where work is finished by the kernel on our own thread, it has to be entered once. */
	if (io_uring_cq_has_overflow(&ring->uring))
		io_uring_get_events(&ring->uring);
	count = io_uring_peek_batch_cqe(&ring->uring, cqes, REAP);
	for (unsigned i = 0; i < count; i++) {
		struct ring_entry *entry = io_uring_cqe_get_data(cqes[i]);
		int result = cqes[i]->res;

		ring->under_way--;
		io_uring_cqe_seen(&ring->uring, cqes[i]);
		entry->complete(entry, result);
	}
	return count;
}
