/* pipeline.c - the poll of an lcore: doorbells, transmit, receive, timers, transmit, control calls */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_prefetch.h>

#include "engine/away.h"
#include "engine/clock.h"
#include "engine/connect.h"
#include "engine/deliver.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/landing.h"
#include "engine/lcore_state.h"
#include "engine/link.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/ping.h"
#include "engine/pipeline.h"
#include "engine/port.h"
#include "engine/port_state.h"
#include "engine/qp.h"
#include "engine/receive.h"
#include "engine/resolve.h"
#include "engine/run_queue.h"
#include "engine/steer.h"
#include "engine/trace_points.h"
#include "engine/ud.h"
#include "rc/fail.h"
#include "rc/memory_fault.h"
#include "rc/prefetch.h"

#define DOORBELLS_PER_POLL 256u
#define PREFETCH_AHEAD 6u
#define PREFETCH_WINDOW_AHEAD 4u
#define PREFETCH_REQUEST_AHEAD 2u
#define SERVICE_BYTES 16384u /* a QP that has sent this many bytes of frames in one service waits for the next poll */
#define CLOCK_JUMP_NS 1000000u

/* ---- timers ---- */

/* Runs the expired timers of a QP. If it has spent a retry, its peer is asked whether it is there at all. */
static void time_out(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	struct rc_qp *rc = qp_core(qp);
	uint64_t before = rc->counters[CNT_LOCAL_ACK_TIMEOUT_ERR];

	rc_qp_timeout(rc, lcore->before_ns);
	if (rc->counters[CNT_LOCAL_ACK_TIMEOUT_ERR] != before)
		engine_trace_qp_timeout(qp->device->port_id, qp->qpn, rc->win.snd_una.v, rc->loss.retries_left);
	if (rc->loss.retries_left < rc->loss.retry_cnt && rc->state != UROCE_QPS_ERR)
		engine_ping_ask(lcore, qp);
}

/*
 * Runs the timers that were due when the poll before this one began. A thread that did not run for a while finds
 * deadlines that have passed. Before it acts on these, it has received the frames that came meanwhile, and the other
 * end has had a poll to answer.
 */
static void fire_timers(struct uroce_lcore *lcore)
{
	struct engine_wheel_node *node;

	if (wheel_is_quiet(&lcore->wheel, lcore->before_ns))
		return;
	while ((node = engine_wheel_advance(&lcore->wheel, lcore->before_ns)) != NULL) {
		struct uroce_qp *qp = RTE_PTR_SUB(node, offsetof(struct uroce_qp, timer));

		if (rc_qp_deadline(qp_core(qp)) <= lcore->before_ns) {
			time_out(lcore, qp);
			run_queue_add(qp);
			lcore->work++;
		}
		qp_update_timer(lcore, qp);
	}
}

/* Moves a QP to ERR if one of its CQs has failed, or to its alternate path if the port of its path has failed. */
static void look_at(struct uroce_qp *qp)
{
	struct rc_qp *rc = qp_core(qp);
	const struct uroce_path *alternate = &rc->alternate.path;

	if (rc->state == UROCE_QPS_RESET || rc->state == UROCE_QPS_ERR)
		return;
	if (qp_cq_has_failed(qp))
		rc_fail_enter_error(rc, UROCE_EVENT_QP_FATAL);
	else if (rc->path.device == NULL || !atomic_load(&rc->path.device->link_down) || alternate->device == NULL ||
		 atomic_load(&alternate->device->link_down) || !rc_qp_port_failed(rc)) /* */
		return;
	run_queue_add(qp);
}

/* Checks all QPs of the lcore after one of the rare events that concern QPs of every lcore. */
static void take_broadcast(struct uroce_lcore *lcore)
{
	const struct uroce_engine *engine = lcore->engine;
	uint32_t epoch = atomic_load_explicit(&engine->broadcast_epoch, memory_order_acquire);

	if (epoch == lcore->broadcast_epoch)
		return;
	lcore->broadcast_epoch = epoch;
	for (uint32_t i = lcore->index; i < engine->index_count; i += engine->lcore_mask + 1) {
		struct uroce_qp *qp = steer_find(engine, i);

		if (qp)
			look_at(qp);
	}
}

static __rte_noinline void take_doorbells(struct uroce_lcore *lcore)
{
	void *entries[DOORBELLS_PER_POLL];
	unsigned count = rte_ring_dequeue_burst(lcore->doorbells, entries, DOORBELLS_PER_POLL, NULL);

	for (unsigned i = 0; i < count; i++) {
		struct uroce_qp *qp = steer_find(lcore->engine, (uint32_t)(uintptr_t)entries[i]);

		if (qp == NULL)
			continue; /* the QP was destroyed meanwhile */
		/* D1: `rung` is cleared before the send queue is read, so that a later post rings again */
		atomic_store(&qp->rung, false);
		run_queue_add(qp);
	}
	lcore->work += count;
}

/* ---- sending ---- */

/*
 * Serves a QP, which writes at most `room` frames and reports its completions. Returns true if the QP has more to do.
 * The caller leaves out a QP that has sent SERVICE_BYTES early in this poll (sent_poll): its next packets may depend on
 * responses that arrive meanwhile.
 */
static __rte_always_inline bool transmit_qp(struct uroce_lcore *lcore, struct uroce_qp *qp, uint32_t room)
{
	struct rc_outbox *out = &lcore->out;
	uint64_t bytes = 0;
	bool more;

	lcore->serving = qp;
	outbox_next_packets(out, &qp->template, room ? &qp->port->spare->places[qp->port->spare->count] : NULL, room);
	more = qp->responder_only ? rc_qp_respond(qp_core(qp), out) : rc_qp_transmit(qp_core(qp), lcore->now_ns, out);
	if (out->packet_count) /* without a frame qp->port may be NULL */
		bytes = port_send_frames(qp->port, out->frame_bytes, out->packet_count);
	if (!qp->responder_only)
		qp_update_timer(lcore, qp);
	if (bytes >= SERVICE_BYTES)
		qp->sent_poll = lcore->polls;
	lcore->work += out->packet_count;
	/* A QP without a MAC has nothing more to do until the MAC is found; then the QP is queued again. */
	more = more && (qp->resolved || !outbox_has_completion_room(out));
	if (out->completion_count >= COMPLETIONS_DRAIN || out->event_count) {
		if (qp->port)
			port_flush(qp->port); /* S-18 */
		deliver_all(lcore);
	}
	return more;
}

/*
 * While one QP is served, the cache lines of the next QPs are fetched: first the lines of the QP, then the lines that
 * its frames are made from. For a QP that may send requests the lines of its window follow, and then the requests.
 */
static void prefetch_queued(const struct engine_run_queue *queue)
{
	const struct engine_qp_ring *ring = run_queue_next_ring(queue);
	const struct uroce_qp *qp = run_queue_look(queue, ring, PREFETCH_AHEAD);

	if (qp) {
		rte_prefetch0(qp);
		rc_qp_prefetch_responder(qp_core(qp));
	}
	qp = run_queue_look(queue, ring, PREFETCH_WINDOW_AHEAD);
	if (qp && qp->responder_only) {
		rte_prefetch0(qp->template.ack);
	} else if (qp) {
		for (uint32_t at = offsetof(struct uroce_qp, template.bytes);
		     at < offsetof(struct uroce_qp, with_unresolved); at += RTE_CACHE_LINE_SIZE)
			rte_prefetch0(RTE_PTR_ADD(qp, at));
		rc_qp_prefetch_window(qp_core(qp));
	}
	if (ring == &queue->answers)
		return;
	qp = run_queue_look(queue, ring, PREFETCH_REQUEST_AHEAD);
	if (qp && !qp->responder_only)
		rc_qp_prefetch_requests(qp_core(qp));
}

/* The QP's path has changed: moves it to the run queue of its new port. */
static void take_new_path(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	engine_resolve_start(lcore, qp);
	run_queue_add(qp);
}

/*
 * While a port has no room, each poll serves one of its QPs without room, in turn: the QP's work may need no port, and
 * the port may never have room again. QPs that need room keep their places in the queue.
 */
static __rte_noinline void service_without_room(struct uroce_lcore *lcore, struct engine_run_queue *queue)
{
	uint32_t at = queue->looks++ % run_queue_count(queue), answers = qp_ring_count(&queue->answers);
	struct uroce_qp *qp = at < answers ? run_queue_look(queue, &queue->answers, at) :
					     run_queue_look(queue, &queue->turns, at - answers);

	if (qp == NULL || (qp->migrations == qp_core(qp)->migration.count && transmit_qp(lcore, qp, 0)))
		return;
	run_queue_remove(qp);
	if (qp->migrations != qp_core(qp)->migration.count)
		take_new_path(lcore, qp);
}

/*
 * Has the port taken its POLL_FRAMES of this poll? A QP that begins before these frames are used up may send all that
 * one service sends; otherwise the same QP could be cut short in every poll.
 */
static inline bool poll_is_over(const struct engine_port *port)
{
	return port_frames_out(port) >= port->poll_ends_at;
}

/* When the poll is over: may the next QP send? ACKs and NAKs, which are few, do not wait (S-18). Holes do not count. */
static inline bool next_may_answer(const struct engine_run_queue *queue)
{
	const struct engine_qp_ring *ring = run_queue_next_ring(queue);
	const struct uroce_qp *next = run_queue_look(queue, ring, 0);

	return !next || ring == &queue->answers ||
	       (next->responder_only && qp_core(next)->replay.queue_head == REPLAY_NONE);
}

/*
 * Sends the ACKs and NAKs of a QP whose requests wait for their turn (S-18). Its port has room. If the QP also owes
 * READ responses, its ACKs wait for them (S-14).
 */
static __rte_noinline void answer_early(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	uint32_t work = qp_work(qp_core(qp), WORK_RESPONDER | WORK_EVENT);
	bool responder_only = qp->responder_only;

	if (!qp->resolved || qp->migrations != qp_core(qp)->migration.count || !work_has_an_ack(work))
		return;
	if (work_is_an_ack(work)) {
		port_send_ack(lcore, qp);
		return;
	}
	qp->responder_only = true;
	transmit_qp(lcore, qp, port_room(qp->port));
	qp->responder_only = responder_only;
}

/*
 * The port has taken its POLL_FRAMES of this poll: serves the next QP if it owes answers, for ACKs and NAKs, which are
 * few, do not wait (S-18). Its requests wait for their turn. Returns false if the next QP owes none.
 */
static __rte_noinline bool answer_behind_poll(struct uroce_lcore *lcore, struct engine_run_queue *queue,
					      const struct engine_port *port)
{
	struct uroce_qp *qp;

	if (!next_may_answer(queue))
		return false;
	qp = run_queue_pop(queue);
	if (qp == NULL)
		return true;
	if (!qp->responder_only || qp->migrations != qp_core(qp)->migration.count)
		run_queue_add(qp);
	if (qp->rings)
		answer_early(lcore, qp);
	else if (transmit_qp(lcore, qp, port_room(port)))
		run_queue_add(qp);
	return true;
}

/*
 * A QP that owes answers was taken out of the queue, and its requests wait for their turn. If it can send answers alone
 * they are sent. Otherwise this is its turn, its place is gone, and true is returned.
 */
static __rte_noinline bool takes_turn(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	if (qp_answers_alone(qp_core(qp))) {
		answer_early(lcore, qp);
		return false;
	}
	run_queue_remove(qp);
	return true;
}

/*
 * Returns how many of the services, of which number i is done, are left to do: a QP was queued, which may have closed
 * holes that they have counted.
 */
static inline uint32_t at_most_left(uint32_t services, uint32_t i, const struct engine_run_queue *queue)
{
	uint32_t left = run_queue_count(queue);

	return services - i - 1 < left ? services : i + 1 + left;
}

/*
 * QPs with more to do are queued only at the end: queueing them while others are served could close holes of a full
 * queue, and `services` has counted these holes.
 */
static void queue_served(struct uroce_lcore *lcore)
{
	for (uint32_t i = 0; i < lcore->served_count; i++) {
		run_queue_add(lcore->served[i]);
		run_queue_add_answer(lcore->served[i]);
	}
	lcore->served_count = 0;
}

/*
 * Serves the queued QPs of a port, or the queued QPs that have no port, in order: each QP once with at most an outbox
 * of frames, while the port has room, and within the limits of QPs and frames per poll. A QP that has more to send is
 * queued at the end, and the other QPs keep their order, so that each gets its turn (L3).
 */
static void transmit(struct uroce_lcore *lcore, struct engine_run_queue *queue, struct engine_port *port)
{
	uint32_t services = run_queue_count(queue);

	if (services > SERVICES_PER_POLL)
		services = SERVICES_PER_POLL;
	for (uint32_t i = 0; i < services; i++) {
		struct uroce_qp *qp;

		if (port && !port_make_room(port)) {
			if (i == 0)
				service_without_room(lcore, queue);
			break;
		}
		if (port && __builtin_expect(poll_is_over(port), 0)) {
			if (!answer_behind_poll(lcore, queue, port))
				break;
			services = at_most_left(services, i, queue);
			continue;
		}
		if (run_queue_count(queue) > PREFETCH_REQUEST_AHEAD)
			prefetch_queued(queue);
		qp = run_queue_pop(queue);
		if (qp == NULL)
			continue;
		if (__builtin_expect(qp->rings, 0) && !takes_turn(lcore, qp))
			continue;
		if (qp->migrations != qp_core(qp)->migration.count) {
			take_new_path(lcore, qp);
			services = at_most_left(services, i, queue);
		} else if (port && qp->responder_only &&
			   work_is_an_ack(qp_work(qp_core(qp), WORK_RESPONDER | WORK_EVENT))) {
			port_send_ack(lcore, qp);
		} else if (qp->sent_poll == lcore->polls || transmit_qp(lcore, qp, port ? port_room(port) : 0)) {
			lcore->served[lcore->served_count++] = qp;
		}
	}
	queue_served(lcore);
}

/*
 * Serves the queued QPs, and passes their frames to the ports, and after that their completions to the CQs (S-18): when
 * a program ends with its last completion, the ACKs of what it has received have left.
 */
static void send_all(struct uroce_lcore *lcore)
{
	for (unsigned i = 0; i < lcore->port_count; i++) {
		if (run_queue_count(&lcore->ports[i]->run_queue))
			transmit(lcore, &lcore->ports[i]->run_queue, lcore->ports[i]);
	}
	if (run_queue_count(&lcore->run_queue))
		transmit(lcore, &lcore->run_queue, NULL);
	/* After all QPs: a QP whose path has changed may have asked for a MAC at any port. */
	for (unsigned i = 0; i < lcore->port_count; i++)
		port_flush(lcore->ports[i]);
	deliver_all(lcore);
}

/*
 * Returns the time of a poll, which never goes back: otherwise timers would wait that much longer. A clock that shows a
 * little less than before belongs to another core, to which the thread has moved: then time stands still until that
 * clock has caught up. If the clock steps back by more, that step is added to its offset.
 */
static uint64_t read_clock(const struct uroce_lcore *lcore)
{
	uint64_t offset = engine_clock_offset_ns(), now = engine_now_ns();

	if (__builtin_expect(now >= lcore->now_ns, 1))
		return now;
	if (lcore->now_ns - now > CLOCK_JUMP_NS)
		engine_clock_add_offset(offset, lcore->now_ns - now);
	return lcore->now_ns;
}

/* Never part of engine_pipeline_poll_landing(), which would make it slower. */
__rte_noinline unsigned engine_pipeline_poll(struct uroce_lcore *lcore)
{
	struct rte_rcu_qsbr *qsbr = lcore->engine->qsbr;

	lcore->before_ns = lcore->now_ns;
	lcore->now_ns = read_clock(lcore);
	away_poll(lcore);
	if (lcore->work)
		lcore->busy_ns += lcore->now_ns - lcore->before_ns;
	lcore->polls++;
	lcore->work = 0;
	/* Regions are looked up only until rte_rcu_qsbr_thread_offline() below, which uroce_mr_dereg() waits for. */
	rte_rcu_qsbr_thread_online(qsbr, lcore->index);
	if (!rte_ring_empty(lcore->doorbells))
		take_doorbells(lcore);
	for (unsigned i = 0; i < lcore->port_count; i++)
		lcore->ports[i]->poll_ends_at = port_frames_out(lcore->ports[i]) + POLL_FRAMES;
	send_all(lcore);
	engine_receive_poll(lcore);
	engine_link_poll(lcore);
	take_broadcast(lcore);
	fire_timers(lcore);
	if (lcore->seeks_mac && engine_resolve_poll(lcore))
		engine_ud_poll(lcore);
	if (lcore->connect)
		engine_connect_poll(lcore);
	send_all(lcore);
	lcore->serving = NULL;
	rte_rcu_qsbr_thread_offline(qsbr, lcore->index);
	lcore->work += engine_mailbox_serve(lcore);
	return lcore->work;
}

/* Reports a fault once for each QP. */
static void report_memory_fault(const struct uroce_lcore *lcore, const struct uroce_qp *qp, const void *address)
{
	if (qp_core(qp)->lost_memory)
		return;
	engine_find_port(lcore, qp->device)->counters[CNT_PORT_MEMORY_FAULT]++;
	engine_log(UROCE_LOG_WARNING,
		   "port %u, QP 0x%06x: registered memory at %p cannot be accessed: it was unmapped, protected or "
		   "truncated; the QP fails",
		   qp->device->port_id, qp->qpn, address);
}

void engine_pipeline_recover(struct uroce_lcore *lcore)
{
	struct uroce_qp *qp = lcore->serving;

	report_memory_fault(lcore, qp, lcore->landing.address);
	rc_memory_fault_take(qp_core(qp), lcore->landing.address);
	if (lcore->burst.count == 0) {
		/* these frames are complete, and the QP counts them as sent */
		if (lcore->out.packet_count)
			port_send_frames(qp->port, lcore->out.frame_bytes, lcore->out.packet_count);
		lcore->out.packet_count = 0;
	}
	run_queue_add(qp);
	queue_served(lcore);
	lcore->serving = NULL;
	rte_rcu_qsbr_thread_offline(lcore->engine->qsbr, lcore->index);
}

/* LANDING_SET() makes the function save all registers that belong to its caller. */
unsigned engine_pipeline_poll_landing(struct uroce_lcore *lcore)
{
	if (LANDING_SET(&lcore->landing) == 0)
		return engine_pipeline_poll(lcore);
	engine_pipeline_recover(lcore);
	return lcore->work;
}
