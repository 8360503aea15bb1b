/* cq.c - completion queues: a ring that lcores fill and the application empties */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/engine.h"
#include "engine/numa_alloc.h"

int uroce_cq_create(struct uroce_device *device, uint32_t depth, struct uroce_cq **result)
{
	struct uroce_cq *cq;

	if (engine_check_range("depth", depth, 1, LIMIT_CQ_DEPTH))
		return -EINVAL;
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL)
		return engine_refuse(-ENOMEM, "no memory for a completion queue");
	cq->ring = engine_numa_create_ring(depth, CQ_PIECES, CQ_PIECE_BYTES, device->numa_node);
	if (cq->ring == NULL) {
		free(cq);
		return engine_refuse(-ENOMEM, "no memory for a completion queue of %u: a smaller depth needs less",
				     depth);
	}
	cq->device = device;
	atomic_init(&cq->fd, -1);
	cq->wake_value = 1; /* to an eventfd */
	atomic_fetch_add(&device->users, 1);
	*result = cq;
	return 0;
}

static void close_own_fd(const struct uroce_cq *cq)
{
	if (atomic_load(&cq->fd) >= 0 && !cq->fd_is_callers)
		close(atomic_load(&cq->fd));
}

int uroce_cq_destroy(struct uroce_cq *cq)
{
	if (atomic_load(&cq->users) > 0)
		return engine_refuse(-EBUSY, "cq: it is used %u times by queue pairs; destroy them first",
				     (unsigned)atomic_load(&cq->users));
	atomic_fetch_sub(&cq->device->users, 1);
	engine_numa_free_ring(cq->ring, CQ_PIECE_BYTES);
	close_own_fd(cq);
	free(cq);
	return 0;
}

int uroce_cq_fd(struct uroce_cq *cq)
{
	struct uroce_engine *engine = cq->device->engine;
	int fd;

	pthread_mutex_lock(&engine->lock);
	fd = atomic_load(&cq->fd);
	if (fd < 0) {
		fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		fd = fd < 0 ? engine_refuse(-errno, "the descriptor of a completion queue: %s", strerror(errno)) : fd;
		atomic_store(&cq->fd, fd < 0 ? -1 : fd);
		/* A lcore in the middle of a poll may have found no reader: it has finished the poll when we return. */
		rte_rcu_qsbr_synchronize(engine->qsbr, RTE_QSBR_THRID_INVALID);
	}
	pthread_mutex_unlock(&engine->lock);
	return fd;
}

/* No lcore is in the middle of a poll in which it has read the descriptor. */
static void change_fd(struct uroce_cq *cq, int fd)
{
	atomic_store(&cq->fd, fd);
	rte_rcu_qsbr_synchronize(cq->device->engine->qsbr, RTE_QSBR_THRID_INVALID);
}

void uroce_cq_set_fd(struct uroce_cq *cq, int fd, uint64_t value)
{
	struct uroce_engine *engine = cq->device->engine;
	int before;

	pthread_mutex_lock(&engine->lock);
	before = cq->fd_is_callers ? -1 : atomic_load(&cq->fd);
	change_fd(cq, -1);
	cq->fd_is_callers = true;
	cq->wake_value = value;
	change_fd(cq, fd);
	if (before >= 0)
		close(before);
	pthread_mutex_unlock(&engine->lock);
}

void uroce_cq_set_context(struct uroce_cq *cq, uint64_t context)
{
	cq->context = context;
}

void uroce_cq_arm(struct uroce_cq *cq, bool solicited_only)
{
	uint32_t none = CQ_NOT_ARMED;

	if (solicited_only)
		atomic_compare_exchange_strong(&cq->armed, &none, CQ_ARMED_SOLICITED); /* "any" stays "any" */
	else
		atomic_store(&cq->armed, CQ_ARMED_ANY);
	/* pairs with N1 in wake_reader: armed before the caller looks at the ring once more */
	atomic_thread_fence(memory_order_seq_cst);
}

uint32_t uroce_cq_mark(const struct uroce_cq *cq)
{
	return __atomic_load_n(&cq->ring->prod.tail, __ATOMIC_ACQUIRE);
}

/*
 * The ring counts pieces modulo 2^32, and the mark is passed when it is not among those that wait. A mark of long ago
 * may come to lie among them for a moment, which only puts off the answer.
 */
bool uroce_cq_passed(const struct uroce_cq *cq, uint32_t mark)
{
	uint32_t taken = __atomic_load_n(&cq->ring->cons.tail, __ATOMIC_RELAXED);
	uint32_t waiting = __atomic_load_n(&cq->ring->prod.tail, __ATOMIC_ACQUIRE) - taken;

	return mark - taken - 1 >= waiting; /* a mark at `taken` itself wraps around */
}

int uroce_cq_poll(struct uroce_cq *cq, int count, struct uroce_wc *wc)
{
	uint32_t pieces;

	if (count <= 0)
		return 0;
	pieces = (count < (int)LIMIT_CQ_DEPTH ? (uint32_t)count : LIMIT_CQ_DEPTH) * CQ_PIECES;
	return (int)(rte_ring_dequeue_burst_elem(cq->ring, wc, CQ_PIECE_BYTES, pieces, NULL) / CQ_PIECES);
}
