/* fault.c - injects loss, copies, delay and damage in an rx callback */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The faults must not be injected in a tx callback: ethdev returns how many frames of the *compacted* array were sent,
 * so a caller whose frame was dropped there would send or free another frame twice.
 */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "drivers/fault/fault.h"

#define HELD_MAX 64u
#define LATE_FRAMES_MAX 8u
#define LATE_POLLS 64u
#define READY_MAX 1024u /* a power of two */
/* no copies are made while more frames than this are ready, so that their number stays bounded */
#define READY_FOR_COPIES (READY_MAX / 4)
#define ETHERTYPE_OFFSET 12u
#define WEYL 0x9E3779B97F4A7C15ull

/* A frame that is delayed, so that others overtake it. */
struct held_frame {
	struct rte_mbuf *mbuf;
	uint32_t frames_left;
	uint32_t polls_left;
};

/* One rx queue; only the lcore that polls it writes. */
struct fault_queue {
	struct drivers_fault *fault;
	const struct rte_eth_rxtx_callback *callback;
	uint64_t random;
	struct drivers_fault_counts counts;
	uint32_t lose_in, lose_min_bytes; /* the frame to lose: the lose_in-th with at least lose_min_bytes; 0: none */
	uint32_t held_count;
	uint32_t ready_head, ready_tail; /* never wrapped; the difference is how many frames are ready */
	struct held_frame held[HELD_MAX];
	struct rte_mbuf *ready[READY_MAX];
} __rte_cache_aligned;

struct drivers_fault {
	uint16_t port_id;
	uint16_t queue_count;
	struct rte_mempool *pool;
	_Atomic bool cut;
	/* written by any thread; one frame may be judged partly by old values */
	_Atomic bool by_chance;                             /* some probability is not 0 */
	_Atomic bool does_more;                             /* not only frames are lost */
	_Atomic uint64_t loss, duplicate, reorder, corrupt; /* compared with 64 random bits */
	struct fault_queue queues[];
};

/*
 * A frame takes its random numbers always in this order, so that its fate does not depend on the fate of other frames.
 */
enum fault_draw { DRAW_LOSS = 1, DRAW_COPY, DRAW_DELAY, DRAW_DAMAGE, DRAW_DETAIL, DRAWS_A_FRAME = DRAW_DETAIL };

/*
 * A Weyl sequence and a mixer of xorshifts and multiplications give 64 good bits from 64 bits of state. Any number of
 * the sequence can be computed without those before it, so only the needed numbers are computed.
 */
static uint64_t draw(uint64_t random, uint64_t number)
{
	uint64_t value = random + number * WEYL;

	value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
	value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
	return value ^ (value >> 31);
}

/* Returns where the random numbers of the next frame begin. */
static uint64_t begin_draws(struct fault_queue *queue)
{
	uint64_t random = queue->random;

	queue->random += DRAWS_A_FRAME * WEYL;
	return random;
}

static uint64_t threshold(double probability)
{
	return probability >= 1 ? UINT64_MAX : (uint64_t)(probability * 0x1p64);
}

/* Probability 1 hits every frame, even with the largest random number. */
static bool hits(uint64_t random, enum fault_draw which, uint64_t limit)
{
	return limit && (limit == UINT64_MAX || draw(random, which) < limit);
}

static uint64_t now(const _Atomic uint64_t *limit)
{
	return atomic_load_explicit(limit, memory_order_relaxed);
}

static bool now_bool(const _Atomic bool *flag)
{
	return atomic_load_explicit(flag, memory_order_relaxed);
}

static uint32_t ready_count(const struct fault_queue *queue)
{
	return queue->ready_tail - queue->ready_head;
}

static void pass(struct fault_queue *queue, struct rte_mbuf *mbuf)
{
	queue->ready[queue->ready_tail++ % READY_MAX] = mbuf;
}

static bool frame_is_ip(const struct rte_mbuf *mbuf)
{
	const uint8_t *type = rte_pktmbuf_mtod_offset(mbuf, const uint8_t *, ETHERTYPE_OFFSET);

	if (rte_pktmbuf_data_len(mbuf) < RTE_ETHER_HDR_LEN)
		return false;
	return (type[0] == 0x08 && type[1] == 0x00) || (type[0] == 0x86 && type[1] == 0xDD) ||
	       (type[0] == 0x81 && type[1] == 0x00);
}

static void flip_bit(struct rte_mbuf *mbuf, uint64_t bit)
{
	uint64_t offset = bit / 8;

	while (offset >= rte_pktmbuf_data_len(mbuf)) {
		offset -= rte_pktmbuf_data_len(mbuf);
		mbuf = mbuf->next;
	}
	*rte_pktmbuf_mtod_offset(mbuf, uint8_t *, offset) ^= (uint8_t)(1u << (bit % 8));
}

/* On net_ring the received mbuf is the sender's own, so only a copy may be changed. */
static struct rte_mbuf *damage(struct fault_queue *queue, struct rte_mbuf *mbuf, uint64_t value)
{
	struct rte_mbuf *copy;

	if (!frame_is_ip(mbuf))
		return mbuf;
	copy = rte_pktmbuf_copy(mbuf, queue->fault->pool, 0, UINT32_MAX);
	if (copy == NULL) {
		queue->counts.not_copied++;
		return mbuf;
	}
	flip_bit(copy, value % (8ull * rte_pktmbuf_pkt_len(copy)));
	rte_pktmbuf_free(mbuf);
	queue->counts.corrupted++;
	return copy;
}

static void duplicate(struct fault_queue *queue, struct rte_mbuf *mbuf)
{
	struct rte_mbuf *copy = NULL;

	if (ready_count(queue) < READY_FOR_COPIES)
		copy = rte_pktmbuf_copy(mbuf, queue->fault->pool, 0, UINT32_MAX);
	if (copy == NULL) {
		queue->counts.not_copied++;
		return;
	}
	pass(queue, copy);
	queue->counts.duplicated++;
}

static void release_held(struct fault_queue *queue, uint32_t index)
{
	pass(queue, queue->held[index].mbuf);
	queue->held_count--;
	memmove(&queue->held[index], &queue->held[index + 1], (queue->held_count - index) * sizeof(queue->held[0]));
}

/* One more frame has passed a delayed one. */
static void age_held_by_frame(struct fault_queue *queue)
{
	for (uint32_t i = 0; i < queue->held_count;) {
		if (--queue->held[i].frames_left == 0)
			release_held(queue, i);
		else
			i++;
	}
}

static void age_held_by_poll(struct fault_queue *queue)
{
	for (uint32_t i = 0; i < queue->held_count;) {
		if (--queue->held[i].polls_left == 0)
			release_held(queue, i);
		else
			i++;
	}
}

static void lose(struct fault_queue *queue, struct rte_mbuf *mbuf)
{
	queue->counts.lost++;
	rte_pktmbuf_free(mbuf);
}

static bool is_the_nth(struct fault_queue *queue, const struct rte_mbuf *mbuf)
{
	return queue->lose_in && rte_pktmbuf_pkt_len(mbuf) >= queue->lose_min_bytes && --queue->lose_in == 0;
}

/* Is the frame lost? *random is where its random numbers begin. */
static bool is_lost(struct fault_queue *queue, const struct rte_mbuf *mbuf, bool cut, uint64_t *random)
{
	const struct drivers_fault *fault = queue->fault;

	queue->counts.frames++;
	if (is_the_nth(queue, mbuf))
		return true;
	if (!now_bool(&fault->by_chance) && !cut)
		return false;
	*random = begin_draws(queue);
	return cut || hits(*random, DRAW_LOSS, now(&fault->loss));
}

/* Decides what else happens to a frame that is not lost. */
static void judge(struct fault_queue *queue, struct rte_mbuf *mbuf, uint64_t random)
{
	const struct drivers_fault *fault = queue->fault;
	bool doubled = hits(random, DRAW_COPY, now(&fault->duplicate));

	if (hits(random, DRAW_DAMAGE, now(&fault->corrupt)))
		mbuf = damage(queue, mbuf, draw(random, DRAW_DETAIL) >> 8);
	if (hits(random, DRAW_DELAY, now(&fault->reorder)) && queue->held_count < HELD_MAX) {
		if (doubled)
			duplicate(queue, mbuf);
		queue->held[queue->held_count++] = (struct held_frame){
			.mbuf = mbuf,
			.frames_left = 1 + (uint32_t)(draw(random, DRAW_DETAIL) % LATE_FRAMES_MAX),
			.polls_left = LATE_POLLS,
		};
		queue->counts.reordered++;
		return;
	}
	pass(queue, mbuf);
	if (doubled)
		duplicate(queue, mbuf);
	age_held_by_frame(queue);
}

/* For settings that can only lose frames: removes the lost ones from the array, and moves the others up. */
static uint16_t lose_some(struct fault_queue *queue, struct rte_mbuf **frames, uint16_t count, bool cut)
{
	uint16_t given = 0;
	uint64_t random = 0;

	for (uint16_t i = 0; i < count; i++) {
		if (is_lost(queue, frames[i], cut, &random))
			lose(queue, frames[i]);
		else
			frames[given++] = frames[i];
	}
	return given;
}

/* Is also called with count 0, so that delayed frames arrive even if no other frame follows. */
static uint16_t on_receive(uint16_t port_id, uint16_t queue_index, struct rte_mbuf **frames, uint16_t count,
			   uint16_t most, void *argument)
{
	struct fault_queue *queue = argument;
	bool cut = atomic_load_explicit(&queue->fault->cut, memory_order_relaxed);
	uint16_t given = 0;
	uint64_t random = 0;

	RTE_SET_USED(port_id);
	RTE_SET_USED(queue_index);
	if (!now_bool(&queue->fault->does_more) && queue->held_count == 0 && ready_count(queue) == 0)
		return lose_some(queue, frames, count, cut);
	for (uint16_t i = 0; i < count; i++) {
		if (is_lost(queue, frames[i], cut, &random))
			lose(queue, frames[i]);
		else
			judge(queue, frames[i], random);
	}
	age_held_by_poll(queue);
	while (given < most && ready_count(queue))
		frames[given++] = queue->ready[queue->ready_head++ % READY_MAX];
	return given;
}

static bool is_probability(double value)
{
	return value >= 0 && value <= 1;
}

static int check(const struct drivers_fault_config *config, struct uroce_error *error)
{
	const struct {
		const char *name;
		double value;
	} rows[] = {
		{ "loss", config->loss },
		{ "dup", config->duplicate },
		{ "reorder", config->reorder },
		{ "corrupt", config->corrupt },
	};

	for (unsigned i = 0; i < RTE_DIM(rows); i++) {
		if (!is_probability(rows[i].value))
			return drivers_error_set(error, -EINVAL, "the probability %s is %g: use 0 ... 1", rows[i].name,
						 rows[i].value);
	}
	return 0;
}

int drivers_fault_set(struct drivers_fault *fault, const struct drivers_fault_config *config, struct uroce_error *error)
{
	bool more = config->duplicate > 0 || config->reorder > 0 || config->corrupt > 0;
	int code = check(config, error);

	if (code)
		return code;
	atomic_store(&fault->loss, threshold(config->loss));
	atomic_store(&fault->duplicate, threshold(config->duplicate));
	atomic_store(&fault->reorder, threshold(config->reorder));
	atomic_store(&fault->corrupt, threshold(config->corrupt));
	atomic_store(&fault->does_more, more);
	atomic_store(&fault->by_chance, more || config->loss > 0);
	return 0;
}

int drivers_fault_attach(const struct drivers_ethdev *port, const struct drivers_fault_config *config,
			 struct drivers_fault **result, struct uroce_error *error)
{
	struct drivers_fault *fault;
	int code = check(config, error);

	if (code)
		return code;
	fault = rte_zmalloc("drivers_fault", sizeof(*fault) + port->queue_count * sizeof(fault->queues[0]),
			    RTE_CACHE_LINE_SIZE);
	if (fault == NULL)
		return drivers_error_set(error, -ENOMEM,
					 "no memory for the fault injection of port %s: give EAL more memory with -m",
					 port->name);
	fault->port_id = port->port_id;
	fault->queue_count = port->queue_count;
	fault->pool = config->pool ? config->pool : port->pool;
	drivers_fault_set(fault, config, error);
	for (uint16_t i = 0; i < fault->queue_count; i++) {
		struct fault_queue *queue = &fault->queues[i];

		queue->fault = fault;
		/* A drawn start keeps the random numbers of one queue from being a shifted copy of another's. */
		queue->random = draw(config->seed + i, 1);
		/* First among the callbacks, so that the others see the frames as the bad link has delivered them. */
		queue->callback = rte_eth_add_first_rx_callback(fault->port_id, i, on_receive, queue);
		if (queue->callback == NULL) {
			code = -rte_errno;
			drivers_fault_detach(fault);
			return drivers_error_set(error, code,
						 "port %s supports no rx callbacks (%s): use a DPDK built with "
						 "RTE_ETHDEV_RXTX_CALLBACKS",
						 port->name, rte_strerror(-code));
		}
	}
	*result = fault;
	return 0;
}

void drivers_fault_cut(struct drivers_fault *fault, bool cut)
{
	atomic_store(&fault->cut, cut);
}

void drivers_fault_lose_nth(struct drivers_fault *fault, uint32_t nth, uint32_t min_bytes)
{
	for (uint16_t i = 0; i < fault->queue_count; i++) {
		fault->queues[i].lose_in = nth;
		fault->queues[i].lose_min_bytes = min_bytes;
	}
}

void drivers_fault_counts(const struct drivers_fault *fault, struct drivers_fault_counts *counts)
{
	memset(counts, 0, sizeof(*counts));
	for (uint16_t i = 0; i < fault->queue_count; i++) {
		const struct drivers_fault_counts *one = &fault->queues[i].counts;

		counts->frames += one->frames;
		counts->lost += one->lost;
		counts->duplicated += one->duplicated;
		counts->reordered += one->reordered;
		counts->corrupted += one->corrupted;
		counts->not_copied += one->not_copied;
	}
}

void drivers_fault_detach(struct drivers_fault *fault)
{
	if (fault == NULL)
		return;
	for (uint16_t i = 0; i < fault->queue_count; i++) {
		struct fault_queue *queue = &fault->queues[i];

		if (queue->callback == NULL)
			continue;
		rte_eth_remove_rx_callback(fault->port_id, i, queue->callback);
		rte_free((void *)(uintptr_t)queue->callback);
		while (ready_count(queue))
			rte_pktmbuf_free(queue->ready[queue->ready_head++ % READY_MAX]);
		for (uint32_t h = 0; h < queue->held_count; h++)
			rte_pktmbuf_free(queue->held[h].mbuf);
	}
	rte_free(fault);
}
