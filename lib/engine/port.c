/* port.c - sends frames; frames that the port does not take wait for their turn */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "engine/port.h"

#include "engine/device_state.h"
#include "engine/lcore_state.h"
#include "engine/port_state.h"
#include "engine/route.h"
#include "rc/path.h"
#include "wire/encap.h"

/*
 * Adds an mbuf to the spare ones, in the state that an mbuf has in its pool: one segment, one reference, no flag set.
 * Sending sets its lengths. No driver reads the other fields without a flag, so the second cache line of the mbuf is
 * not touched.
 */
static inline void put_spare(struct engine_spare *spare, uint32_t index, struct rte_mbuf *mbuf)
{
	mbuf->data_off = RTE_PKTMBUF_HEADROOM; /* a frame fits behind the headroom: pool_fits() in device.c */
	spare->places[index] = rte_pktmbuf_mtod(mbuf, uint8_t *);
	spare->mbufs[index] = mbuf;
}

static void fetch_spares(struct engine_port *port)
{
	struct engine_spare *spare = port->spare;
	unsigned wanted = OUTBOX_PACKETS - spare->count;
	void *mbufs[OUTBOX_PACKETS];

	/* The pool has fewer mbufs than wanted: takes those that it has, one at a time. */
	if (rte_mempool_get_bulk(spare->pool, mbufs, wanted) != 0) {
		unsigned most = wanted;

		for (wanted = 0; wanted < most && rte_mempool_get(spare->pool, &mbufs[wanted]) == 0;)
			wanted++;
	}
	for (unsigned i = 0; i < wanted; i++) {
		struct rte_mbuf *mbuf = mbufs[i];

		mbuf->ol_flags &= RTE_MBUF_F_EXTERNAL; /* mbufs of some pools always have RTE_MBUF_F_EXTERNAL */
		put_spare(spare, spare->count++, mbuf);
	}
	if (spare->count == 0)
		port->counters[CNT_PORT_NO_MBUF]++;
}

static_assert(offsetof(struct rte_mbuf, refcnt) == offsetof(struct rte_mbuf, rearm_data) + 2 &&
		      offsetof(struct rte_mbuf, nb_segs) == offsetof(struct rte_mbuf, rearm_data) + 4,
	      "one load reads refcnt and nb_segs");

/* Is the mbuf a single segment of this pool, with a buffer of its own and no other reference? */
static inline bool is_ours_alone(const struct rte_mbuf *mbuf, const struct rte_mempool *pool)
{
	uint64_t users_and_pieces = __atomic_load_n(mbuf->rearm_data, __ATOMIC_RELAXED) >> 16;

	return mbuf->pool == pool && RTE_MBUF_DIRECT(mbuf) && (uint32_t)users_and_pieces == (1 | 1 << 16);
}

void engine_port_recycle(struct engine_port *port, struct rte_mbuf **mbufs, unsigned count)
{
	struct engine_spare *spare = port->spare;
	uint32_t kept = spare->count, left = 0;

	for (unsigned i = 0; i < count; i++) {
		struct rte_mbuf *mbuf = mbufs[i];

		if (!is_ours_alone(mbuf, spare->pool)) {
			rte_pktmbuf_free_bulk(&mbufs[i], 1);
		} else if (kept == SPARE_MBUFS) {
			mbufs[left++] = mbuf;
		} else {
			mbuf->ol_flags = 0;
			put_spare(spare, kept++, mbuf);
		}
	}
	spare->count = kept;
	if (left) /* these mbufs are not reset: fetch_spares() sets all that a frame needs */
		rte_mempool_put_bulk(spare->pool, (void **)mbufs, left);
}

/* The port has taken only some of the waiting frames: the remaining frames move to the front. */
static __rte_noinline void close_up(struct engine_port *port, uint16_t taken)
{
	memmove(port->pending, port->pending + taken, port->pending_count * sizeof(port->pending[0]));
}

/*
 * Is the frame for an address of the port itself? MACs do not answer that: programs that share an interface have its
 * MAC in common.
 */
static bool is_own(const struct engine_port *port, const struct rte_mbuf *mbuf)
{
	uint8_t dest[16];

	return wire_encap_dest(rte_pktmbuf_mtod(mbuf, const uint8_t *), dest) &&
	       engine_route_find(&port->device->config, dest) >= 0;
}

/* Treats frames for the port itself as received, because no switch would send them back. */
static __rte_noinline void take_own(struct engine_port *port)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < port->pending_count; i++) {
		struct rte_mbuf *mbuf = port->pending[i];

		if (!is_own(port, mbuf)) {
			port->pending[kept++] = mbuf;
			continue;
		}
		mbuf->port = port->device->port_id;
		port->counters[CNT_PORT_OWN]++;
		if (rte_ring_enqueue(port->lcore->handover, mbuf) != 0) {
			port->counters[CNT_PORT_HANDOVER_FULL]++;
			rte_pktmbuf_free(mbuf);
		}
	}
	port->pending_count = kept;
}

void engine_port_flush(struct engine_port *port)
{
	uint16_t taken;

	if (__builtin_expect(port->has_own, 0))
		take_own(port);
	if (port->pending_count == 0)
		return;
	taken = rte_eth_tx_burst(port->device->port_id, port->queue, port->pending, port->pending_count);
	port->tx_frames += taken;
	port->pending_count = (uint16_t)(port->pending_count - taken);
	if (port->pending_count)
		close_up(port, taken);
}

bool engine_port_make_room(struct engine_port *port)
{
	if (port->spare->count < PORT_SPARE_LITTLE)
		fetch_spares(port);
	if (port->pending_count > OUTBOX_PACKETS)
		engine_port_flush(port);
	return port_room(port) > 0;
}

bool engine_port_make_room_for(struct engine_port *port, uint32_t bytes)
{
	return port_make_room(port) &&
	       bytes + RTE_PKTMBUF_HEADROOM <= rte_pktmbuf_data_room_size(port->device->config.pool);
}

bool engine_port_refuse(struct engine_port *port, enum rc_counter drop, const struct rc_origin *origin)
{
	uint8_t source[16], dest[16];
	bool ours = true;

	if (drop == CNT_PORT_UNKNOWN_QPN || drop == CNT_PORT_ADDRESS) {
		origin_addresses(origin, source, dest);
		ours = engine_route_find(&port->device->config, dest) >= 0;
	}
	port->counters[ours ? drop : CNT_PORT_OTHER_ADDRESS]++;
	return ours;
}

void engine_port_drop(struct engine_port *port, enum rc_counter reason)
{
	port->counters[reason] += port->pending_count;
	rte_pktmbuf_free_bulk(port->pending, port->pending_count);
	port->pending_count = 0;
}

/* Finds the lcore's list of spare mbufs of this pool; if there is none, a list that is not in use. */
static struct engine_spare *find_spare(struct uroce_lcore *lcore, const struct rte_mempool *pool)
{
	struct engine_spare *unused = NULL;

	for (unsigned i = 0; i < ENGINE_DEVICES; i++) {
		if (lcore->spares[i].pool == pool)
			return &lcore->spares[i];
		if (lcore->spares[i].pool == NULL && unused == NULL)
			unused = &lcore->spares[i];
	}
	return unused; /* there are as many lists as ports */
}

bool engine_port_hand_over(struct engine_port *port, struct uroce_lcore *owner, struct rte_mbuf *mbuf)
{
	mbuf->port = port->device->port_id; /* not every driver sets it */
	if (rte_ring_enqueue(owner->handover, mbuf) != 0) {
		port->counters[CNT_PORT_HANDOVER_FULL]++;
		return false;
	}
	port->counters[CNT_PORT_HANDED_OVER]++;
	lcore_wake(owner);
	return true;
}

int engine_port_attach(void *argument)
{
	struct engine_port *port = argument;
	struct uroce_lcore *lcore = port->lcore;

	port->spare = find_spare(lcore, port->device->config.pool);
	port->spare->pool = port->device->config.pool;
	port->spare->users++;
	lcore->ports[lcore->port_count++] = port;
	return 0;
}

int engine_port_detach(void *argument)
{
	struct engine_port *port = argument;
	struct uroce_lcore *lcore = port->lcore;
	struct engine_spare *spare = port->spare;

	for (unsigned i = 0; i < lcore->port_count; i++) {
		if (lcore->ports[i] == port)
			lcore->ports[i] = lcore->ports[--lcore->port_count];
	}
	rte_pktmbuf_free_bulk(port->pending, port->pending_count);
	if (--spare->users > 0)
		return 0;
	rte_pktmbuf_free_bulk(spare->mbufs, spare->count);
	spare->count = 0;
	spare->pool = NULL;
	return 0;
}
