/* cq.c - completion queues: a ring that lcores fill and the application empties */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/log.h"
#include "engine/numa_alloc.h"

static int refuse_depth(uint32_t depth)
{
	return engine_refuse(-ENOMEM, "no memory for a completion queue with a depth of %u; use a smaller depth",
			     depth);
}

static struct rte_ring *create_ring(const struct uroce_device *device, uint32_t depth, int *error)
{
	struct rte_ring *ring = NULL;

	*error = engine_check_range("depth", depth, 1, LIMIT_CQ_DEPTH) ? -EINVAL : 0;
	if (*error == 0)
		ring = engine_numa_create_ring(depth, CQ_PIECES, CQ_PIECE_BYTES, device->numa_node);
	if (*error == 0 && ring == NULL)
		*error = refuse_depth(depth);
	return ring;
}

int uroce_cq_create(struct uroce_device *device, uint32_t depth, struct uroce_cq **result)
{
	int error;
	struct rte_ring *ring = create_ring(device, depth, &error);
	struct uroce_cq *cq;

	if (ring == NULL)
		return error;
	cq = calloc(1, sizeof(*cq));
	if (cq == NULL) {
		engine_numa_free_ring(ring, CQ_PIECE_BYTES);
		return engine_refuse(-ENOMEM, "no memory for a completion queue");
	}
	atomic_init(&cq->ring, ring);
	cq->device = device;
	atomic_init(&cq->fd, -1);
	cq->wake_value = 1; /* the number that is written to an eventfd */
	atomic_fetch_add(&device->users, 1);
	*result = cq;
	return 0;
}

/* Frees the ring that was replaced, once it is empty and no lcore fills it. */
static void forget_before(struct uroce_cq *cq)
{
	engine_numa_free_ring(cq->before, CQ_PIECE_BYTES);
	cq->before = NULL;
}

/* Lets the new ring count on from the end of the old ring, so that marks stay in order. */
static void count_on(struct rte_ring *ring, const struct rte_ring *before)
{
	uint32_t at = before->cons.tail + rte_ring_get_size(before);

	ring->prod.head = ring->prod.tail = ring->cons.head = ring->cons.tail = at;
}

static void move_all(struct rte_ring *to, struct rte_ring *from)
{
	uint8_t piece[CQ_PIECE_BYTES];

	while (rte_ring_sc_dequeue_elem(from, piece, CQ_PIECE_BYTES) == 0)
		rte_ring_sp_enqueue_elem(to, piece, CQ_PIECE_BYTES);
}

/*
 * The depth was changed twice, and completions wait that came before the first change. They and those that came since
 * then are moved to one ring, which counts on from those that were polled. So a mark among them is passed late, and
 * never early.
 */
static void join_before(struct uroce_cq *cq, struct rte_ring *joined, struct rte_ring *later)
{
	struct rte_ring *earlier = cq->before;

	joined->prod.head = joined->prod.tail = joined->cons.head = joined->cons.tail = earlier->cons.tail;
	move_all(joined, earlier);
	move_all(joined, later);
	engine_numa_free_ring(earlier, CQ_PIECE_BYTES);
	engine_numa_free_ring(later, CQ_PIECE_BYTES);
	cq->before = joined;
}

/* Room for all that waits before a change of the depth, and for what comes before lcores know of the change. */
static struct rte_ring *create_joined(const struct uroce_cq *cq)
{
	uint32_t pieces = rte_ring_count(cq->before) + rte_ring_get_capacity(cq->ring);

	return engine_numa_create_ring(pieces / CQ_PIECES + 1, CQ_PIECES, CQ_PIECE_BYTES, cq->device->numa_node);
}

/* Lcores fill `ring` from now on. Returns the ring that they have filled. */
static struct rte_ring *replace_ring(struct uroce_cq *cq, struct rte_ring *ring)
{
	struct uroce_engine *engine = cq->device->engine;
	struct rte_ring *old;

	pthread_mutex_lock(&engine->lock);
	old = atomic_load(&cq->ring);
	count_on(ring, old);
	atomic_store_explicit(&cq->ring, ring, memory_order_release);
	/* After this no lcore is in a poll in which it has read the old ring. */
	rte_rcu_qsbr_synchronize(engine->qsbr, RTE_QSBR_THRID_INVALID);
	pthread_mutex_unlock(&engine->lock);
	return old;
}

int uroce_cq_resize(struct uroce_cq *cq, uint32_t depth)
{
	struct rte_ring *ring, *joined = NULL;
	uint32_t waiting;
	int error;

	if (cq->before && rte_ring_empty(cq->before))
		forget_before(cq);
	waiting = (rte_ring_count(cq->ring) + (cq->before ? rte_ring_count(cq->before) : 0)) / CQ_PIECES;
	if (waiting > depth)
		return engine_refuse(-EINVAL, "depth %u: %u completions are queued; poll them first", depth, waiting);
	ring = create_ring(cq->device, depth, &error);
	if (ring == NULL)
		return error;
	if (cq->before)
		joined = create_joined(cq);
	if (cq->before && joined == NULL) {
		engine_numa_free_ring(ring, CQ_PIECE_BYTES);
		return refuse_depth(depth);
	}
	if (joined)
		join_before(cq, joined, replace_ring(cq, ring));
	else
		cq->before = replace_ring(cq, ring);
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
		return engine_refuse(-EBUSY, "cq: %u send and receive queues use it; destroy their QPs first",
				     (unsigned)atomic_load(&cq->users));
	atomic_fetch_sub(&cq->device->users, 1);
	engine_numa_free_ring(cq->ring, CQ_PIECE_BYTES);
	if (cq->before)
		forget_before(cq);
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
		fd = fd < 0 ? engine_refuse(-errno, "cannot create the file descriptor of the completion queue: %s",
					    strerror(errno)) :
			      fd;
		atomic_store(&cq->fd, fd < 0 ? -1 : fd);
		/*
		 * An lcore in the middle of a poll may not have seen the reader: this waits until that poll has ended.
		 */
		rte_rcu_qsbr_synchronize(engine->qsbr, RTE_QSBR_THRID_INVALID);
	}
	pthread_mutex_unlock(&engine->lock);
	return fd;
}

/* Waits until no lcore is in a poll in which it has read the old descriptor. */
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
		atomic_compare_exchange_strong(&cq->armed, &none, CQ_ARMED_SOLICITED); /* CQ_ARMED_ANY stays */
	else
		atomic_store(&cq->armed, CQ_ARMED_ANY);
	/* pairs with N1 in wake_reader: `armed` is set before the caller looks at the ring once more */
	atomic_thread_fence(memory_order_seq_cst);
}

uint32_t uroce_cq_mark(const struct uroce_cq *cq)
{
	const struct rte_ring *ring = cq->ring;

	return __atomic_load_n(&ring->prod.tail, __ATOMIC_ACQUIRE);
}

/*
 * The ring counts pieces modulo 2^32; a mark has been passed if it is not among the marks of waiting pieces. A very old
 * mark may fall among these by chance for a moment, which only delays the answer "passed".
 */
bool uroce_cq_passed(const struct uroce_cq *cq, uint32_t mark)
{
	const struct rte_ring *ring = cq->ring;
	const struct rte_ring *oldest = cq->before && !rte_ring_empty(cq->before) ? cq->before : ring;
	uint32_t taken = __atomic_load_n(&oldest->cons.tail, __ATOMIC_RELAXED);
	uint32_t waiting = __atomic_load_n(&ring->prod.tail, __ATOMIC_ACQUIRE) - taken;

	return mark - taken - 1 >= waiting; /* a mark equal to `taken` wraps around */
}

static inline uint32_t take(struct rte_ring *ring, uint32_t count, struct uroce_wc *wc)
{
	return rte_ring_dequeue_burst_elem(ring, wc, CQ_PIECE_BYTES, count * CQ_PIECES, NULL) / CQ_PIECES;
}

/* After a change of the depth: empties the old ring first. */
static __rte_noinline int poll_both(struct uroce_cq *cq, uint32_t count, struct uroce_wc *wc)
{
	uint32_t taken = take(cq->before, count, wc);

	if (rte_ring_empty(cq->before))
		forget_before(cq);
	return (int)(taken + take(cq->ring, count - taken, wc + taken));
}

int uroce_cq_poll(struct uroce_cq *cq, int count, struct uroce_wc *wc)
{
	uint32_t most = count < (int)LIMIT_CQ_DEPTH ? (uint32_t)count : LIMIT_CQ_DEPTH;

	if (count <= 0)
		return 0;
	if (unlikely(cq->before != NULL))
		return poll_both(cq, most, wc);
	return (int)take(atomic_load_explicit(&cq->ring, memory_order_relaxed), most, wc);
}
