/* workers.c - threads that read and write files where io_uring cannot be used */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/workers.h"

#include <errno.h>
#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <sys/uio.h>
#include <unistd.h>

#define THREADS 4u
#define JOBS 64u /* the most jobs between two polls, enough for the threads; further work waits for its turn */

struct job {
	struct io_uring_sqe sqe;
	int result;
	STAILQ_ENTRY(job) next;
};

STAILQ_HEAD(list, job);

struct workers {
	struct job jobs[JOBS];
	/* for the polling thread only */
	struct list free, prepared;
	unsigned under_way;
	/* for all threads, under the lock */
	pthread_mutex_t lock;
	pthread_cond_t come;
	struct list queued, done;
	bool ending;
	pthread_t threads[THREADS];
	unsigned thread_count;
	int fd; /* written to when a job is done */
};

/* NULL: the list is empty. */
static struct job *take(struct list *list)
{
	struct job *job = STAILQ_FIRST(list);

	if (job)
		STAILQ_REMOVE_HEAD(list, next);
	return job;
}

/* Carries out the operations that file.c submits. */
static int carry_out(const struct io_uring_sqe *sqe)
{
	struct iovec iov = { (void *)(uintptr_t)sqe->addr, sqe->len };
	ssize_t result = -1;

	switch ((enum io_uring_op)sqe->opcode) {
	case IORING_OP_READ:
		result = preadv2(sqe->fd, &iov, 1, (off_t)sqe->off, (int)sqe->rw_flags);
		break;
	case IORING_OP_WRITE:
		result = pwritev2(sqe->fd, &iov, 1, (off_t)sqe->off, (int)sqe->rw_flags);
		break;
	case IORING_OP_FSYNC:
		result = fdatasync(sqe->fd);
		break;
	case IORING_OP_FALLOCATE: /* for this operation sqe->addr is the length */
		result = fallocate(sqe->fd, (int)sqe->len, (off_t)sqe->off, (off_t)sqe->addr);
		break;
	default:
		return -EOPNOTSUPP;
	}
	return result < 0 ? -errno : (int)result;
}

static void *work(void *argument)
{
	struct workers *workers = argument;

	pthread_mutex_lock(&workers->lock);
	for (;;) {
		struct job *job;

		while (STAILQ_EMPTY(&workers->queued) && !workers->ending)
			pthread_cond_wait(&workers->come, &workers->lock);
		job = take(&workers->queued);
		if (job == NULL)
			break;
		pthread_mutex_unlock(&workers->lock);
		job->result = carry_out(&job->sqe);
		pthread_mutex_lock(&workers->lock);
		STAILQ_INSERT_TAIL(&workers->done, job, next);
		eventfd_write(workers->fd, 1); /* fails only while the descriptor is readable already */
	}
	pthread_mutex_unlock(&workers->lock);
	return NULL;
}

struct workers *workers_open(void)
{
	struct workers *workers = calloc(1, sizeof(*workers));

	if (workers == NULL)
		return NULL;
	workers->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	pthread_mutex_init(&workers->lock, NULL);
	pthread_cond_init(&workers->come, NULL);
	STAILQ_INIT(&workers->free);
	STAILQ_INIT(&workers->prepared);
	STAILQ_INIT(&workers->queued);
	STAILQ_INIT(&workers->done);
	for (uint32_t i = 0; i < JOBS; i++)
		STAILQ_INSERT_HEAD(&workers->free, &workers->jobs[i], next);
	while (workers->thread_count < THREADS &&
	       pthread_create(&workers->threads[workers->thread_count], NULL, work, workers) == 0)
		workers->thread_count++;
	if (workers->thread_count && workers->fd >= 0)
		return workers;
	workers_close(workers);
	return NULL;
}

void workers_close(struct workers *workers)
{
	pthread_mutex_lock(&workers->lock);
	workers->ending = true;
	pthread_cond_broadcast(&workers->come);
	pthread_mutex_unlock(&workers->lock);
	for (unsigned i = 0; i < workers->thread_count; i++)
		pthread_join(workers->threads[i], NULL);
	pthread_cond_destroy(&workers->come);
	pthread_mutex_destroy(&workers->lock);
	if (workers->fd >= 0)
		close(workers->fd);
	free(workers);
}

int workers_fd(const struct workers *workers)
{
	return workers->fd;
}

/*
 * Empties the descriptor. A job that completes after this makes it readable again; the next workers_poll() finds the
 * jobs that have completed before.
 */
void workers_wake(const struct workers *workers)
{
	eventfd_t times;

	eventfd_read(workers->fd, &times);
}

struct io_uring_sqe *workers_entry(struct workers *workers)
{
	struct job *job = take(&workers->free);

	if (job == NULL)
		return NULL;
	STAILQ_INSERT_TAIL(&workers->prepared, job, next);
	return &job->sqe;
}

bool workers_have_room(const struct workers *workers)
{
	return !STAILQ_EMPTY(&workers->free);
}

unsigned workers_poll(struct workers *workers, workers_completed *completed)
{
	struct list done = STAILQ_HEAD_INITIALIZER(done);
	struct job *job;
	unsigned count = 0;

	if (STAILQ_EMPTY(&workers->prepared) && workers->under_way == 0)
		return 0;
	STAILQ_FOREACH(job, &workers->prepared, next)
		workers->under_way++;
	pthread_mutex_lock(&workers->lock);
	if (!STAILQ_EMPTY(&workers->prepared))
		pthread_cond_broadcast(&workers->come);
	STAILQ_CONCAT(&workers->queued, &workers->prepared);
	STAILQ_CONCAT(&done, &workers->done);
	pthread_mutex_unlock(&workers->lock);
	while ((job = take(&done)) != NULL) {
		void *data = (void *)(uintptr_t)job->sqe.user_data;
		int result = job->result;

		STAILQ_INSERT_HEAD(&workers->free, job, next);
		workers->under_way--;
		completed(data, result);
		count++;
	}
	return count;
}
