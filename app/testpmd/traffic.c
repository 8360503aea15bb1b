/* traffic.c - creates the queue pairs of uroce-testpmd, and keeps requests outstanding on them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_common.h>
#include <rte_launch.h>

#include "testpmd/mix.h"
#include "testpmd/traffic.h"
#include "testpmd/verbose.h"

#define POLL_BATCH 32
#define AREA_ALIGN 64u
#define STOP_PATIENCE_MS 2000
#define SLEEP_NS 1000000u /* how often a worker without work looks whether it is to pause or to quit */
#define NAP_NS 50000u     /* how often a worker without work looks for frames, if frames do not wake it */
#define SRQ_MAX 32768u
#define COUNTER_BYTES 8u
#define PEERS_MAY                                                                            \
	(UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_ATOMIC | \
	 UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT)

/* What a completion reports the end of. */
enum work { WORK_REQUEST, WORK_RECEIVE, WORK_KEY, WORKS };

/* Each queue pair has its own area on both sides: a message, behind it a counter for atomics, and what keys.h says. */
static_assert(COUNTER_BYTES + sizeof(struct keys_words) <= AREA_ALIGN,
	      "struct keys_words fits behind the counter of an area");

static uint64_t area_bytes(uint32_t message_bytes)
{
	return ((uint64_t)message_bytes + AREA_ALIGN - 1) / AREA_ALIGN * AREA_ALIGN + AREA_ALIGN;
}

/* Enough for the queue pairs of the settings, or for 64 queue pairs of a peer with messages of 1 MiB. */
uint64_t traffic_memory_bytes(const struct settings *settings)
{
	uint64_t peers = area_bytes(1u << 20) * 64, ours = area_bytes(settings->size) * settings->qps;

	return peers > ours ? peers : ours;
}

/* ---- the workers ---- */

/*
 * Finds the area of a flow. With two ports the flows alternate between them, and each port counts only its own flows.
 */
static uint64_t area_of(const struct traffic *traffic, const struct flow *flow)
{
	uint64_t number = (uint64_t)(flow - traffic->flows) / (traffic->port_count == 2 ? 2 : 1);

	return number * area_bytes(traffic->area_message_bytes);
}

/* The wr_id. */
static uint64_t name_work(const struct traffic *traffic, const struct flow *flow, enum work work)
{
	return (uint64_t)(flow - traffic->flows) * WORKS + work;
}

static struct keys_place place_of(const struct traffic *traffic, const struct flow *flow)
{
	const struct traffic_port *port = &traffic->ports[flow->port];
	uint64_t counter = area_of(traffic, flow) + area_bytes(traffic->area_message_bytes) - AREA_ALIGN;

	return (struct keys_place){
		.qp = flow->qp,
		.ours = (struct keys_words *)(void *)(port->memory + counter + COUNTER_BYTES),
		.theirs = flow->remote_va + counter + COUNTER_BYTES,
		.rkey = flow->remote_rkey,
		.mr = port->objects.mr,
		.open_addr = (uintptr_t)port->memory + counter,
		.wr_id = name_work(traffic, flow, WORK_KEY),
	};
}

/*
 * Returns the key that a SEND invalidates, or 0 if the peer has offered none yet: the flow goes on when a key arrives.
 */
static uint32_t take_key(const struct traffic *traffic, struct flow *flow)
{
	const struct keys_place place = place_of(traffic, flow);
	uint32_t key = traffic->settings->rkey ? traffic->settings->rkey : keys_take(&flow->keys, &place);

	flow->wants_key = key == 0;
	return key;
}

static bool post_request(struct traffic *traffic, struct flow *flow)
{
	const struct traffic_port *port = &traffic->ports[flow->port];
	enum uroce_wr_opcode op = flow->wants_key ? UROCE_WR_SEND_WITH_INV : mix_pick(traffic->settings, &flow->random);
	bool atomic =
		op == UROCE_WR_ATOMIC_CMP_AND_SWP || op == UROCE_WR_ATOMIC_FETCH_AND_ADD || op == UROCE_WR_ATOMIC_WRITE;
	uint64_t counter = area_bytes(traffic->area_message_bytes) - AREA_ALIGN;
	uint64_t area = area_of(traffic, flow);
	struct uroce_sge sge = {
		.addr = (uintptr_t)port->memory + area + (atomic ? counter : 0),
		.length = atomic ? 8 : atomic_load_explicit(&traffic->message_bytes, memory_order_relaxed),
		.lkey = uroce_mr_lkey(port->objects.mr),
	};
	struct uroce_send_wr wr = {
		.wr_id = name_work(traffic, flow, WORK_REQUEST),
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = UROCE_SEND_SIGNALED,
		.remote_addr = flow->remote_va + area + (atomic ? counter : 0),
		.rkey = flow->remote_rkey,
		.compare_add = 1,
		.swap = 2,
	};

	if (op == UROCE_WR_FLUSH) {
		wr.num_sge = 0;
		wr.flush = UROCE_FLUSH_GLOBAL | UROCE_FLUSH_PERSISTENT;
		wr.flush_bytes = sge.length;
	}
	if (op == UROCE_WR_SEND_WITH_INV && (wr.rkey = take_key(traffic, flow)) == 0)
		return false;
	return uroce_qp_post_send(flow->qp, &wr, NULL) == 0;
}

/* Posts to the port's shared queue, if there is one. */
static bool post_receive(struct traffic *traffic, struct flow *flow)
{
	const struct traffic_port *port = &traffic->ports[flow->port];
	struct uroce_sge sge = {
		.addr = (uintptr_t)port->memory + area_of(traffic, flow),
		.length = traffic->area_message_bytes,
		.lkey = uroce_mr_lkey(port->objects.mr),
	};
	struct uroce_recv_wr wr = { .wr_id = name_work(traffic, flow, WORK_RECEIVE), .sg_list = &sge, .num_sge = 1 };

	return (port->srq ? uroce_srq_post_recv(port->srq, &wr, NULL) : uroce_qp_post_recv(flow->qp, &wr, NULL)) == 0;
}

/* One thread at a time may post to the shared queue of a port: the worker of its first queue does. */
static void fill_shared(struct traffic *traffic, struct flow *flow)
{
	struct traffic_port *port = &traffic->ports[flow->port];
	struct uroce_srq_attr attr;

	if (flow->worker != port->first_worker)
		return;
	uroce_srq_query(port->srq, &attr);
	for (; attr.count < attr.max_wr && post_receive(traffic, flow); attr.count++)
		;
}

static void offer_keys(const struct traffic *traffic, struct flow *flow)
{
	const struct keys_place place = place_of(traffic, flow);

	keys_offer(&flow->keys, &place);
}

static void feed(struct traffic *traffic, struct flow *flow)
{
	uint32_t depth = traffic->settings->depth, burst = traffic->settings->burst;

	if (atomic_load_explicit(&flow->dead, memory_order_relaxed))
		return;
	if (flow->serves && traffic->ports[flow->port].srq)
		fill_shared(traffic, flow);
	else if (flow->serves)
		while (flow->receives < flow->room && post_receive(traffic, flow))
			flow->receives++;
	if (flow->serves)
		offer_keys(traffic, flow);
	if (!flow->asks || !atomic_load_explicit(&traffic->running, memory_order_relaxed))
		return;
	while (flow->requests < depth && burst-- > 0 && post_request(traffic, flow))
		flow->requests++;
}

/* Returns the flow of a completion; the completion of a receive from a shared queue names only the QP. */
static struct flow *flow_of(struct traffic *traffic, const struct uroce_wc *wc)
{
	struct flow *flow = &traffic->flows[wc->wr_id / WORKS];

	if (flow->qp && uroce_qp_num(flow->qp) == wc->qp_num)
		return flow;
	flow = traffic_find(traffic, wc->qp_num);
	return flow ? flow : &traffic->flows[wc->wr_id / WORKS];
}

static void handle_completion(struct traffic *traffic, const struct uroce_wc *wc)
{
	struct flow *flow = flow_of(traffic, wc);
	enum work work = (enum work)(wc->wr_id % WORKS);
	uint32_t verbose = __atomic_load_n(&traffic->settings->verbose, __ATOMIC_RELAXED);

	if (verbose && work != WORK_KEY)
		verbose_note(verbose, wc);
	if (work == WORK_RECEIVE)
		flow->receives -= traffic->ports[flow->port].srq == NULL;
	else if (work == WORK_KEY)
		keys_completed(&flow->keys, wc);
	else
		flow->requests--;
	if (work == WORK_RECEIVE && wc->status == UROCE_WC_SUCCESS && wc->wc_flags & UROCE_WC_WITH_INV)
		keys_invalidated(&flow->keys, wc->invalidated_rkey);
	if (wc->status == UROCE_WC_SUCCESS && (work == WORK_KEY || (work == WORK_RECEIVE && flow->asks)))
		return; /* this is no message, or the flow that has sent the message counts it */
	if (wc->status == UROCE_WC_SUCCESS) {
		atomic_fetch_add_explicit(&flow->messages, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&flow->bytes, wc->byte_len, memory_order_relaxed);
	} else if (!atomic_load_explicit(&flow->dead, memory_order_relaxed)) {
		flow->error = *wc;
		/* pairs with the acquire in deaths_tell: error is complete */
		atomic_store_explicit(&flow->dead, true, memory_order_release);
	}
}

static int run_worker(void *argument)
{
	struct worker *worker = argument;
	struct traffic *traffic = worker->traffic;

	while (!atomic_load_explicit(&traffic->quit, memory_order_relaxed)) {
		unsigned work = uroce_lcore_poll(worker->lcore);

		bool pause = atomic_load_explicit(&traffic->pause, memory_order_acquire);

		atomic_store_explicit(&worker->paused, pause, memory_order_release);
		if (pause)
			continue;
		for (unsigned p = 0; p < SETTINGS_PORTS; p++) {
			struct uroce_wc wc[POLL_BATCH];
			int count = worker->cqs[p] ? uroce_cq_poll(worker->cqs[p], POLL_BATCH, wc) : 0;

			for (int i = 0; i < count; i++)
				handle_completion(traffic, &wc[i]);
		}
		for (uint32_t i = 0; i < atomic_load_explicit(&traffic->flow_count, memory_order_relaxed); i++) {
			if (traffic->flows[i].worker == worker->index)
				feed(traffic, &traffic->flows[i]);
		}
		if (work == 0 && traffic->settings->idle == UROCE_IDLE_YIELD)
			sched_yield();
		else if (work == 0 && traffic->settings->idle == UROCE_IDLE_SLEEP)
			uroce_lcore_wait(worker->lcore, NULL, 0, uroce_lcore_wakes(worker->lcore) ? SLEEP_NS : NAP_NS);
	}
	return 0;
}

/* Asks the workers to leave the queue pairs alone, or to go on, and waits until all have noticed. */
static void set_pause(struct traffic *traffic, bool pause)
{
	atomic_store_explicit(&traffic->pause, pause, memory_order_release);
	for (unsigned i = 0; i < traffic->worker_count; i++) {
		while (atomic_load_explicit(&traffic->workers[i].paused, memory_order_acquire) != pause)
			usleep(100);
	}
}

/* ---- opening and closing ---- */

static int create_shared(const struct traffic *traffic, struct traffic_port *port)
{
	uint32_t wanted = 2 * traffic->settings->depth * traffic->settings->qps;
	struct uroce_srq_attr attr = { .max_wr = wanted < SRQ_MAX ? wanted : SRQ_MAX, .max_sge = 1 };

	return traffic->settings->srq ? uroce_srq_create(port->objects.pd, &attr, &port->srq) : 0;
}

static int open_port(struct traffic *traffic, unsigned index)
{
	struct traffic_port *port = &traffic->ports[index];
	struct app_objects_config objects = {
		.device = port->port->device,
		.bytes = traffic->memory_bytes,
		.access = PEERS_MAY | UROCE_ACCESS_MW_BIND,
	};

	port->memory = objects.memory = calloc(1, traffic->memory_bytes);
	if (port->memory == NULL)
		return app_check("memory for messages", -ENOMEM);
	if (app_objects_open(&objects, &port->objects) != APP_EXIT_OK ||
	    app_check("shared receive queue", create_shared(traffic, port)))
		return -1;
	for (unsigned i = 0; i < port->worker_count; i++) {
		struct worker *worker = &traffic->workers[port->first_worker + i];

		if (app_check("completion queue",
			      uroce_cq_create(port->port->device, traffic->cq_depth, &worker->cqs[index])))
			return -1;
	}
	return 0;
}

int traffic_open(struct traffic *traffic)
{
	pthread_mutex_init(&traffic->flows_lock, NULL);
	traffic->memory_bytes = traffic_memory_bytes(traffic->settings);
	traffic->depth = traffic->settings->depth;
	traffic->cq_depth = traffic->settings->qps * (8 * traffic->settings->depth + KEYS_WRS) + 64;
	if (traffic->settings->cq_depth)
		traffic->cq_depth = traffic->settings->cq_depth;
	traffic->area_message_bytes = traffic->settings->size;
	atomic_store(&traffic->message_bytes, traffic->settings->size);
	for (unsigned i = 0; i < traffic->worker_count; i++) {
		traffic->workers[i].traffic = traffic;
		traffic->workers[i].index = i;
		traffic->workers[i].lcore = uroce_engine_lcore(traffic->engine, i);
	}
	for (unsigned i = 0; i < traffic->port_count; i++) {
		if (open_port(traffic, i) != 0)
			return -1;
	}
	return 0;
}

int traffic_launch(struct traffic *traffic)
{
	for (unsigned i = 0; i < traffic->worker_count; i++) {
		if (app_check("launching a worker", rte_eal_remote_launch(run_worker, &traffic->workers[i], i + 1)))
			return -1;
	}
	/*
	 * After this each worker has polled its lcore and owns it: uroce_cm_wait() polls lcores that nobody has polled.
	 */
	set_pause(traffic, true);
	set_pause(traffic, false);
	return 0;
}

void traffic_close(struct traffic *traffic)
{
	atomic_store(&traffic->quit, true);
	rte_eal_mp_wait_lcore();
	for (uint32_t i = 0; i < atomic_load(&traffic->flow_count); i++) {
		/* No worker polls the lcores now, so the main thread does. */
		struct flow *flow = &traffic->flows[i];

		uroce_lcore_poll(traffic->workers[flow->worker].lcore);
		uroce_qp_destroy(flow->qp);
		keys_close(&flow->keys);
	}
	atomic_store(&traffic->flow_count, 0);
	for (unsigned w = 0; w < traffic->worker_count; w++) {
		uroce_lcore_poll(traffic->workers[w].lcore);
		for (unsigned p = 0; p < SETTINGS_PORTS; p++) {
			if (traffic->workers[w].cqs[p])
				uroce_cq_destroy(traffic->workers[w].cqs[p]);
		}
	}
	for (unsigned i = 0; i < traffic->port_count; i++) {
		if (traffic->ports[i].srq)
			uroce_srq_destroy(traffic->ports[i].srq);
		app_objects_close(&traffic->ports[i].objects);
		free(traffic->ports[i].memory);
	}
}

/* ---- queue pairs ---- */

static int create_flow(struct traffic *traffic, unsigned port_index, uint32_t number, bool asks)
{
	const struct traffic_port *port = &traffic->ports[port_index];
	struct flow *flow = &traffic->flows[atomic_load(&traffic->flow_count)];
	uint32_t depth = traffic->depth;
	struct uroce_qp_init_attr init = {
		.max_send_wr = (asks || traffic->settings->both ? depth : 0) + KEYS_WRS,
		.max_recv_wr = port->srq ? 0 : 2 * depth,
		.srq = port->srq,
		.max_send_sge = 1,
		.max_recv_sge = 1,
		.max_inline_data = KEYS_INLINE_BYTES,
		.max_dest_rd_atomic = 16,
	};

	memset(flow, 0, sizeof(*flow));
	flow->port = port_index;
	flow->worker = port->first_worker + number % port->worker_count;
	flow->asks = asks || traffic->settings->both;
	flow->serves = !asks || traffic->settings->both;
	flow->room = 2 * depth;
	flow->random = 0x9E3779B97F4A7C15ull * (number + 1);
	init.lcore = uroce_engine_lcore(traffic->engine, flow->worker);
	init.send_cq = init.recv_cq = traffic->workers[flow->worker].cqs[port_index];
	memset(place_of(traffic, flow).ours, 0, sizeof(struct keys_words));
	if (app_check("queue pair", uroce_qp_create(port->objects.pd, &init, &flow->qp)))
		return -1;
	atomic_fetch_add(&traffic->flow_count, 1);
	return flow->serves && app_check("memory windows", keys_open(&flow->keys, port->objects.pd)) ? -1 : 0;
}

uint32_t traffic_sack_window(const struct traffic *traffic)
{
	return traffic->settings->sack_window ? 128u << traffic->settings->sack_window : 0;
}

static int connect_flow(struct traffic *traffic, struct flow *flow, const struct exchange *peer, uint32_t number)
{
	struct uroce_qp_attr ours, attr = {
		.access_flags = PEERS_MAY,
		.pkey = (uint16_t)traffic->settings->pkey,
		.path_mtu = peer->mtu,
		.dest_qp_num = peer->qpn[number],
		.rq_psn = peer->psn[number],
		.max_rd_atomic = 16,
		.max_dest_rd_atomic = 16,
		.min_rnr_timer = 1,
		.timeout = (uint8_t)traffic->settings->timeout,
		.retry_cnt = (uint8_t)traffic->settings->retry_cnt,
		.rnr_retry = 7,
		.cc = (uint8_t)traffic->settings->cc,
		.sack_window = (uint16_t)RTE_MIN(peer->sack_window, traffic_sack_window(traffic)),
		.path = { .source = traffic->ports[flow->port].port->addr, .dest = peer->addr },
	};
	char text[64];
	int error;

	if (app_check("query", uroce_qp_query(flow->qp, &ours)))
		return -1;
	if (app_check_peer("--ip", &attr.path.source, &peer->addr)) {
		snprintf(traffic->trouble, sizeof(traffic->trouble),
			 "both ends have the address %s: give each end its own address",
			 uroce_addr_format(&peer->addr, text, sizeof(text)));
		return -1;
	}
	attr.sq_psn = ours.sq_psn;
	attr.paths = attr.sack_window ? (uint8_t)RTE_MIN(peer->paths, 255u) : 0;
	flow->remote_va = peer->va;
	flow->remote_rkey = traffic->settings->rkey ? traffic->settings->rkey : peer->rkey;
	error = uroce_qp_connect(flow->qp, &attr, NULL);
	if (error == 0)
		return 0;
	snprintf(traffic->trouble, sizeof(traffic->trouble), "queue pair 0x%06x: %s", uroce_qp_num(flow->qp),
		 app_reason_of(error));
	return app_complain(-1, "%s", traffic->trouble);
}

/* The part of an exchange about a port; describe_flow() adds its queue pairs. */
static void describe_port(const struct traffic *traffic, unsigned port_index, struct exchange *out)
{
	const struct traffic_port *port = &traffic->ports[port_index];

	out->addr = port->port->addr;
	out->rkey = uroce_mr_rkey(port->objects.mr);
	out->va = (uintptr_t)port->memory;
}

static int describe_flow(const struct flow *flow, struct exchange *out, uint32_t number)
{
	struct uroce_qp_attr attr;

	if (app_check("query", uroce_qp_query(flow->qp, &attr)))
		return -1;
	out->qpn[number] = uroce_qp_num(flow->qp);
	out->psn[number] = attr.sq_psn;
	return 0;
}

int traffic_connect_ports(struct traffic *traffic)
{
	struct exchange *sides = calloc(2, sizeof(*sides));
	uint32_t qps = traffic->settings->qps;
	int error = sides == NULL;

	for (unsigned p = 0; p < 2 && !error; p++) {
		describe_port(traffic, p, &sides[p]);
		sides[p].mtu = traffic->settings->mtu;
		sides[p].sack_window = traffic_sack_window(traffic);
		sides[p].paths = traffic->settings->paths;
	}
	/* Flows alternate between the ports: 2n sends requests, 2n + 1 serves them. */
	for (uint32_t i = 0; i < 2 * qps && !error; i++)
		error = create_flow(traffic, i % 2, i / 2, i % 2 == 0) ||
			describe_flow(&traffic->flows[i], &sides[i % 2], i / 2);
	for (uint32_t i = 0; i < 2 * qps && !error; i++)
		error = connect_flow(traffic, &traffic->flows[i], &sides[(i + 1) % 2], i / 2);
	free(sides);
	return error ? -1 : 0;
}

int traffic_offer(struct traffic *traffic, bool asks, struct exchange *ours)
{
	uint32_t qps = ours->qps, size = ours->size;
	int error = 0;

	if (area_bytes(size) * qps > traffic->memory_bytes) {
		snprintf(traffic->trouble, sizeof(traffic->trouble),
			 "the messages of %u queue pairs, %u bytes each, do not fit in %lu bytes of memory", qps, size,
			 traffic->memory_bytes);
		return app_complain(-1, "%s", traffic->trouble);
	}
	set_pause(traffic, true);
	traffic->area_message_bytes = size;
	atomic_store(&traffic->message_bytes, size);
	describe_port(traffic, 0, ours);
	for (uint32_t i = 0; i < qps && !error; i++)
		error = create_flow(traffic, 0, i, asks) || describe_flow(&traffic->flows[i], ours, i);
	/* traffic_accept() and traffic_drop_flows() end the pause. */
	return error ? -1 : 0;
}

int traffic_accept(struct traffic *traffic, const struct exchange *theirs)
{
	int error = 0;

	for (uint32_t i = 0; i < atomic_load(&traffic->flow_count) && !error; i++)
		error = connect_flow(traffic, &traffic->flows[i], theirs, i);
	set_pause(traffic, false);
	return error;
}

void traffic_drop_flows(struct traffic *traffic)
{
	struct uroce_wc wc[POLL_BATCH];

	set_pause(traffic, true);
	pthread_mutex_lock(&traffic->flows_lock);
	for (uint32_t i = 0; i < atomic_load(&traffic->flow_count); i++) {
		uroce_qp_destroy(traffic->flows[i].qp);
		keys_close(&traffic->flows[i].keys);
		traffic->flows[i].qp = NULL; /* the wr_id of a receive left in a shared queue still names this flow */
	}
	atomic_store(&traffic->flow_count, 0);
	pthread_mutex_unlock(&traffic->flows_lock);
	/* Drops completions of flows that are gone. */
	for (unsigned w = 0; w < traffic->worker_count; w++) {
		while (traffic->workers[w].cqs[0] && uroce_cq_poll(traffic->workers[w].cqs[0], POLL_BATCH, wc) > 0)
			;
	}
	set_pause(traffic, false);
}

struct flow *traffic_find(struct traffic *traffic, uint32_t qp_num)
{
	for (uint32_t i = 0; i < atomic_load(&traffic->flow_count); i++) {
		if (uroce_qp_num(traffic->flows[i].qp) == qp_num)
			return &traffic->flows[i];
	}
	return NULL;
}

int traffic_resize(struct traffic *traffic, uint32_t bytes)
{
	if (bytes > traffic->area_message_bytes)
		return app_complain(-1, "size %u: the buffers hold messages of 1 to %u: start with a larger --size",
				    bytes, traffic->area_message_bytes);
	atomic_store(&traffic->message_bytes, bytes);
	return 0;
}

void traffic_start(struct traffic *traffic)
{
	atomic_store(&traffic->running, true);
}

void traffic_stop(struct traffic *traffic)
{
	atomic_store(&traffic->running, false);
	for (int ms = 0; ms < STOP_PATIENCE_MS; ms++) {
		uint32_t busy = 0;

		for (uint32_t i = 0; i < atomic_load(&traffic->flow_count); i++) {
			const volatile struct flow *flow = &traffic->flows[i];

			busy += flow->asks && flow->requests > 0;
		}
		if (busy == 0)
			return;
		usleep(1000);
	}
}
