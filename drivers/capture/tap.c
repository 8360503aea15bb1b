/* tap.c - callbacks on the queues of a port, which pass frames to a recorder and a stream */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "drivers/capture/tap.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf_dyn.h>

#include <uroce/inspect.h>

#define RECORD_FLOWS 1024u /* flows for each queue and direction */
#define WAIT_US 1000u
#define WAITS 1000u

enum direction { INBOUND, OUTBOUND, DIRECTIONS };

/*
 * The flows and the stream that take the frames of one queue in one direction. Used by the one lcore that polls the
 * queue.
 */
struct tap_queue {
	struct drivers_flows *_Atomic flows;   /* NULL: no recording */
	struct drivers_stream *_Atomic stream; /* NULL: no stream */
	_Atomic bool busy;                     /* the lcore is using the stream */
	const struct rte_eth_rxtx_callback *callback;
	uint32_t places[UROCE_LCORES_MAX]; /* for each lcore: number of its failures that have been handled */
} __rte_cache_aligned;

struct drivers_tap {
	uint16_t port_id;
	uint16_t queue_count;
	uint64_t seen;                               /* an mbuf flag: this mbuf was offered to the port before */
	const struct uroce_engine *engine;           /* the engine whose failures are recorded */
	_Atomic uint32_t recorded[UROCE_LCORES_MAX]; /* how many failures of each lcore have been recorded */
	struct tap_queue queues[][DIRECTIONS];
};

static void copy_to_stream(struct drivers_stream *stream, const struct rte_mbuf *mbuf,
			   const struct drivers_stream_frame *frame)
{
	struct rte_mbuf *copy = rte_pktmbuf_copy(mbuf, stream->pool, 0, stream->kept_bytes);

	if (copy) {
		*(struct drivers_stream_frame *)rte_mbuf_to_priv(copy) = *frame;
		if (rte_ring_enqueue(stream->ring, copy) == 0)
			return;
		rte_pktmbuf_free(copy);
	}
	atomic_fetch_add_explicit(&stream->lost, 1, memory_order_relaxed);
}

static void hold_path(struct drivers_tap *tap, struct drivers_flows *flows, const struct uroce_qp_view *view,
		      const struct uroce_path *path, bool outbound, uint32_t number)
{
	drivers_flows_hold(flows, outbound ? view->attr.dest_qp_num : view->qp_num,
			   outbound ? path->dest.bytes : path->source.bytes, &tap->recorded[view->lcore], number);
}

/* Holds the flows of QPs that have failed since the last burst until their failures are recorded. */
static void hold_failed(struct drivers_tap *tap, struct tap_queue *queue, struct drivers_flows *flows, bool outbound)
{
	struct uroce_qp_view view;

	for (unsigned i = 0; i < uroce_engine_lcore_count(tap->engine); i++) {
		while (uroce_inspect_failed(tap->engine, i, &queue->places[i], &view)) {
			if (view.port_id != tap->port_id)
				continue;
			hold_path(tap, flows, &view, &view.attr.path, outbound, queue->places[i]);
			hold_path(tap, flows, &view, &view.attr.alt_path, outbound, queue->places[i]);
		}
	}
}

/* Passes a burst on. A thread that takes the stream away waits until `busy` is false. */
static void note_burst(struct drivers_tap *tap, uint16_t queue_index, struct rte_mbuf **mbufs, uint16_t count,
		       bool outbound)
{
	struct tap_queue *queue = &tap->queues[queue_index][outbound ? OUTBOUND : INBOUND];
	struct drivers_flows *flows = atomic_load_explicit(&queue->flows, memory_order_acquire);
	struct drivers_stream *stream = atomic_load_explicit(&queue->stream, memory_order_relaxed);
	struct drivers_stream_frame frame = { .port_id = tap->port_id, .outbound = outbound };

	if (count == 0 || (flows == NULL && stream == NULL))
		return;
	frame.cycles = rte_get_tsc_cycles();
	if (flows)
		hold_failed(tap, queue, flows, outbound);
	if (stream) {
		atomic_store(&queue->busy, true);
		stream = atomic_load(&queue->stream);
	}
	for (uint16_t i = 0; i < count; i++) {
		if (outbound && mbufs[i]->ol_flags & tap->seen)
			continue;
		if (outbound)
			mbufs[i]->ol_flags |= tap->seen;
		if (flows)
			drivers_flows_note(flows, mbufs[i], frame.cycles, outbound);
		frame.frame_bytes = rte_pktmbuf_pkt_len(mbufs[i]);
		if (stream)
			copy_to_stream(stream, mbufs[i], &frame);
	}
	atomic_store_explicit(&queue->busy, false, memory_order_release);
}

static uint16_t on_receive(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, uint16_t room,
			   void *context)
{
	(void)port_id;
	(void)room;
	note_burst(context, queue, mbufs, count, false);
	return count;
}

static uint16_t on_send(uint16_t port_id, uint16_t queue, struct rte_mbuf **mbufs, uint16_t count, void *context)
{
	(void)port_id;
	note_burst(context, queue, mbufs, count, true);
	return count;
}

static bool add_callbacks(struct drivers_tap *tap)
{
	for (uint16_t i = 0; i < tap->queue_count; i++) {
		struct tap_queue *queue = tap->queues[i];

		queue[INBOUND].callback = rte_eth_add_rx_callback(tap->port_id, i, on_receive, tap);
		queue[OUTBOUND].callback = rte_eth_add_tx_callback(tap->port_id, i, on_send, tap);
		if (queue[INBOUND].callback == NULL || queue[OUTBOUND].callback == NULL)
			return false;
	}
	return true;
}

static void remove_callbacks(const struct drivers_tap *tap)
{
	for (uint16_t i = 0; i < tap->queue_count; i++) {
		const struct tap_queue *in = &tap->queues[i][INBOUND], *out = &tap->queues[i][OUTBOUND];

		if (in->callback)
			rte_eth_remove_rx_callback(tap->port_id, i, in->callback);
		if (out->callback)
			rte_eth_remove_tx_callback(tap->port_id, i, out->callback);
	}
}

int drivers_tap_attach(const struct drivers_ethdev *port, struct drivers_tap **result, struct uroce_error *error)
{
	static const struct rte_mbuf_dynflag flag = { .name = "uroce_tap_seen" };
	int bit = rte_mbuf_dynflag_register(&flag);
	struct drivers_tap *tap;

	if (bit < 0)
		return drivers_error_set(error, -ENOTSUP, "cannot capture port %s: no dynamic mbuf flag is free",
					 port->name);
	tap = rte_zmalloc("drivers_tap", sizeof(*tap) + port->queue_count * sizeof(tap->queues[0]),
			  RTE_CACHE_LINE_SIZE);
	if (tap == NULL)
		return drivers_error_set(error, -ENOMEM,
					 "no memory for the capture of port %s: give EAL more memory with -m",
					 port->name);
	tap->port_id = port->port_id;
	tap->queue_count = port->queue_count;
	tap->seen = 1ull << bit;
	if (!add_callbacks(tap)) {
		/*
		 * Lcores may still be in the callbacks that were added, so these callbacks are removed, but their
		 * memory is not freed.
		 */
		remove_callbacks(tap);
		return drivers_error_set(
			error, -ENOTSUP,
			"port %s supports no rx/tx callbacks (%s): use a DPDK built with RTE_ETHDEV_RXTX_CALLBACKS",
			port->name, rte_strerror(rte_errno));
	}
	*result = tap;
	return 0;
}

void drivers_tap_detach(struct drivers_tap *tap)
{
	if (tap == NULL)
		return;
	remove_callbacks(tap);
	for (uint16_t i = 0; i < tap->queue_count; i++) {
		struct tap_queue *in = &tap->queues[i][INBOUND], *out = &tap->queues[i][OUTBOUND];

		rte_free((void *)(uintptr_t)in->callback);
		rte_free((void *)(uintptr_t)out->callback);
		drivers_flows_destroy(atomic_load(&in->flows));
		drivers_flows_destroy(atomic_load(&out->flows));
	}
	rte_free(tap);
}

int drivers_tap_record(struct drivers_tap *tap, const struct uroce_engine *engine)
{
	tap->engine = engine;
	for (uint16_t i = 0; i < tap->queue_count; i++) {
		for (int d = 0; d < DIRECTIONS; d++) {
			struct drivers_flows *flows = drivers_flows_create(RECORD_FLOWS);

			if (flows == NULL)
				return -ENOMEM;
			atomic_store(&tap->queues[i][d].flows, flows);
		}
	}
	return 0;
}

void drivers_tap_recorded(struct drivers_tap *tap, unsigned lcore, uint32_t count)
{
	atomic_store_explicit(&tap->recorded[lcore], count, memory_order_release); /* H1 */
}

uint32_t drivers_tap_queues(const struct drivers_tap *tap)
{
	return tap->queue_count;
}

uint32_t drivers_tap_copy(const struct drivers_tap *tap, bool outbound, uint32_t qp_num, const uint8_t address[16],
			  struct drivers_flow_frame *frames)
{
	uint32_t count = 0;

	for (uint16_t i = 0; i < tap->queue_count; i++) {
		const struct drivers_flows *flows = atomic_load(&tap->queues[i][outbound].flows);

		if (flows)
			count += drivers_flows_copy(flows, qp_num, address, frames + count);
	}
	return count;
}

static bool wait_until_idle(const struct tap_queue *queue)
{
	for (uint32_t i = 0; i < WAITS; i++) {
		if (!atomic_load(&queue->busy))
			return true;
		usleep(WAIT_US);
	}
	return false;
}

bool drivers_tap_stream(struct drivers_tap *tap, struct drivers_stream *stream)
{
	bool idle = true;

	for (uint16_t i = 0; i < tap->queue_count; i++) {
		for (int d = 0; d < DIRECTIONS; d++) {
			atomic_store(&tap->queues[i][d].stream, stream);
			if (stream == NULL)
				idle &= wait_until_idle(&tap->queues[i][d]);
		}
	}
	return idle;
}
