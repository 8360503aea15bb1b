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
#include <sys/uio.h>
#include <unistd.h>

#define THREADS 4u
#define JOBS 2048u

struct job {
	struct io_uring_sqe sqe;
	struct ring_entry *entry;
	int result;
	struct job *next;
};

/* A first-in first-out list. */
struct list {
	struct job *first, *last;
};

struct workers {
	struct job jobs[JOBS];
	/* for the polling thread only */
	struct job *free;
	struct list prepared;
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

static void append(struct list *list, struct job *job)
{
	job->next = NULL;
	if (list->first)
		list->last->next = job;
	else
		list->first = job;
	list->last = job;
}

static void append_all(struct list *list, struct list *other)
{
	if (other->first == NULL)
		return;
	if (list->first)
		list->last->next = other->first;
	else
		list->first = other->first;
	list->last = other->last;
	other->first = NULL;
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
	case IORING_OP_FALLOCATE: /* in this operation the length stands where others have the address */
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

		while (workers->queued.first == NULL && !workers->ending)
			pthread_cond_wait(&workers->come, &workers->lock);
		job = workers->queued.first;
		if (job == NULL)
			break;
		workers->queued.first = job->next;
		pthread_mutex_unlock(&workers->lock);
		job->result = carry_out(&job->sqe);
		pthread_mutex_lock(&workers->lock);
		append(&workers->done, job);
		eventfd_write(workers->fd, 1); /* fails only while the descriptor is readable anyway */
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
	for (uint32_t i = 0; i < JOBS; i++) {
		workers->jobs[i].next = workers->free;
		workers->free = &workers->jobs[i];
	}
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
 * What completes from now on makes the descriptor readable again; what completed before is found by the next
 * workers_poll().
 */
void workers_wake(const struct workers *workers)
{
	eventfd_t times;

	eventfd_read(workers->fd, &times);
}

struct io_uring_sqe *workers_entry(struct workers *workers, struct ring_entry *entry)
{
	struct job *job = workers->free;

	if (job == NULL)
		return NULL;
	workers->free = job->next;
	memset(&job->sqe, 0, sizeof(job->sqe));
	job->entry = entry;
	append(&workers->prepared, job);
	return &job->sqe;
}

unsigned workers_poll(struct workers *workers)
{
	struct list done = { NULL, NULL };
	unsigned count = 0;

	if (workers->prepared.first == NULL && workers->under_way == 0)
		return 0;
	for (const struct job *job = workers->prepared.first; job; job = job->next)
		workers->under_way++;
	pthread_mutex_lock(&workers->lock);
	if (workers->prepared.first)
		pthread_cond_broadcast(&workers->come);
	append_all(&workers->queued, &workers->prepared);
	append_all(&done, &workers->done);
	pthread_mutex_unlock(&workers->lock);
	while (done.first) {
		struct job *job = done.first;
		struct ring_entry *entry = job->entry;
		int result = job->result;

		done.first = job->next;
		job->next = workers->free;
		workers->free = job;
		workers->under_way--;
		entry->complete(entry, result);
		count++;
	}
	return count;
}
