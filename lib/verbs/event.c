/* event.c - a thread takes the device's events and writes them to the contexts of programs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "verbs/event.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "verbs/ops.h"
#include "verbs/pipe.h"
#include "verbs/signals.h"

/* An event as libibverbs reads it from the kernel. */
struct entry {
	uint64_t element;
	uint32_t type, reserved;
};

static struct {
	pthread_mutex_t lock; /* protects all below */
	bool runs;
	struct verb_context *contexts;
	struct verb_qp *qps;
	struct verb_cq *cqs;
	struct verb_srq *srqs;
} told = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- contexts and objects ---- */

static void **list_of(enum verb_kind kind)
{
	switch (kind) {
	case VERB_QP:
		return (void **)&told.qps;
	case VERB_CQ:
		return (void **)&told.cqs;
	case VERB_SRQ:
		break;
	}
	return (void **)&told.srqs;
}

static void **next_of(enum verb_kind kind, void *object)
{
	switch (kind) {
	case VERB_QP:
		return (void **)&((struct verb_qp *)object)->next;
	case VERB_CQ:
		return (void **)&((struct verb_cq *)object)->next;
	case VERB_SRQ:
		break;
	}
	return (void **)&((struct verb_srq *)object)->next;
}

static uint64_t number_of(enum verb_kind kind, const void *object)
{
	switch (kind) {
	case VERB_QP:
		return ((const struct verb_qp *)object)->number;
	case VERB_CQ:
		return ((const struct verb_cq *)object)->number;
	case VERB_SRQ:
		break;
	}
	return ((const struct verb_srq *)object)->number;
}

uint64_t verb_event_draw(void)
{
	static _Atomic uint64_t drawn;

	return atomic_fetch_add_explicit(&drawn, 1, memory_order_relaxed) + 1;
}

void verb_event_add(enum verb_kind kind, void *object)
{
	pthread_mutex_lock(&told.lock);
	*next_of(kind, object) = *list_of(kind);
	*list_of(kind) = object;
	pthread_mutex_unlock(&told.lock);
}

/* With the lock held. Returns NULL if the object has been destroyed. */
static void *find(enum verb_kind kind, uint64_t number)
{
	void *at = *list_of(kind);

	while (at && number_of(kind, at) != number)
		at = *next_of(kind, at);
	return at;
}

static struct ibv_context *context_of(enum verb_kind kind, void *object)
{
	switch (kind) {
	case VERB_QP:
		return ((struct verb_qp *)object)->ibv.qp_base.context;
	case VERB_CQ:
		return ((struct verb_cq *)object)->ibv.context;
	case VERB_SRQ:
		break;
	}
	return ((struct verb_srq *)object)->ibv.context;
}

void verb_event_remove(enum verb_kind kind, void *object)
{
	struct verb_context *context = verb_context_of(context_of(kind, object));

	pthread_mutex_lock(&told.lock);
	for (void **at = list_of(kind); *at; at = next_of(kind, *at)) {
		if (*at == object) {
			*at = *next_of(kind, object);
			break;
		}
	}
	/* An event that was written and not read yet is removed, so that it needs no acknowledgement. */
	verb_pipe_forget(context->verbs.context.async_fd, context->async_write_fd, (uintptr_t)object,
			 sizeof(struct entry));
	pthread_mutex_unlock(&told.lock);
}

void verb_event_wait(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed, uint32_t told_count)
{
	pthread_mutex_lock(mutex);
	while (*completed != told_count)
		pthread_cond_wait(cond, mutex);
	pthread_mutex_unlock(mutex);
}

/* ---- the thread ---- */

/*
 * Verbs have no event for the last two. Programs learn of QP_FATAL by a failed completion or CQ_ERR; for them it means
 * a broken device.
 */
static bool is_for_programs(uint32_t type)
{
	return type != UROCE_EVENT_QP_FATAL && type != UROCE_EVENT_ANOMALY && type != UROCE_EVENT_ADDRESS_CONFLICT;
}

static void write_entry(const struct verb_context *context, uint64_t element, uint32_t type)
{
	const struct entry entry = { .element = element, .type = type };

	/* If a program reads no events the pipe fills up, and further events are lost. */
	if (write(context->async_write_fd, &entry, sizeof(entry)) < 0 && errno != EAGAIN)
		fprintf(stderr, "uroce: an asynchronous event could not be delivered: %m\n");
}

static void tell(const struct uroce_event *event)
{
	enum verb_kind kind = event->type == UROCE_EVENT_CQ_ERR ? VERB_CQ :
			      event->type == UROCE_EVENT_SRQ_LIMIT_REACHED || event->type == UROCE_EVENT_SRQ_ERR ?
								  VERB_SRQ :
								  VERB_QP;
	void *object;

	if (!is_for_programs(event->type))
		return;
	pthread_mutex_lock(&told.lock);
	if (event->type == UROCE_EVENT_PORT_ACTIVE || event->type == UROCE_EVENT_PORT_ERR) {
		for (struct verb_context *at = told.contexts; at; at = at->next)
			write_entry(at, 1, event->type); /* number of the port */
	} else if ((object = find(kind, event->qp_context))) {
		write_entry(verb_context_of(context_of(kind, object)), (uintptr_t)object, event->type);
	}
	pthread_mutex_unlock(&told.lock);
}

static void *run(void *argument)
{
	struct uroce_device *device = argument;
	struct pollfd waiting = { .fd = uroce_event_fd(device), .events = POLLIN };
	struct uroce_event event;
	uint64_t count;

	while (waiting.fd >= 0 && poll(&waiting, 1, -1) >= 0) {
		if (read(waiting.fd, &count, sizeof(count)) < 0)
			continue;
		while (uroce_event_poll(device, &event))
			tell(&event);
	}
	return NULL;
}

static int start(struct uroce_device *device)
{
	sigset_t before = signals_block();
	pthread_t thread;
	int error = pthread_create(&thread, NULL, run, device);

	signals_restore(before);
	if (error == 0)
		pthread_detach(thread);
	return error;
}

int verb_open(struct verb_context *context)
{
	int fd = pipe_open(), error = 0;

	if (fd < 0)
		return errno;
	context->async_write_fd = verb_pipe_writer(fd);
	if (context->async_write_fd < 0) {
		error = errno;
		close(fd);
		return error;
	}
	pthread_mutex_lock(&told.lock);
	if (!told.runs)
		error = start(context->stack->device);
	told.runs = told.runs || error == 0;
	context->verbs.context.async_fd = fd;
	context->verbs.context.num_comp_vectors = 1;
	context->next = told.contexts;
	told.contexts = context;
	pthread_mutex_unlock(&told.lock);
	return error;
}

void verb_close(struct verb_context *context)
{
	pthread_mutex_lock(&told.lock);
	for (struct verb_context **at = &told.contexts; *at; at = &(*at)->next) {
		if (*at == context) {
			*at = context->next;
			break;
		}
	}
	pthread_mutex_unlock(&told.lock);
	close(context->async_write_fd);
}

/* libibverbs has read an event; if it is about an object, it has to be acknowledged. */
void verb_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
	uint32_t *count = NULL;

	(void)context;
	switch (event->event_type) {
	case IBV_EVENT_CQ_ERR:
		count = &verb_cq_of(event->element.cq)->async_events;
		break;
	case IBV_EVENT_SRQ_ERR:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		count = &verb_srq_of(event->element.srq)->async_events;
		break;
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		count = &verb_qp_of(event->element.qp)->async_events;
		break;
	default:
		return; /* events about a port, the device or a work queue are not counted */
	}
	__atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}
