/* qp.c - queue pairs: checks arguments, calls the owner, rings the doorbell */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "api/post.h"
#include "engine/connect.h"
#include "engine/cq.h"
#include "engine/device.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/modify.h"
#include "engine/pd.h"
#include "engine/port_state.h"
#include "engine/resolve.h"
#include "engine/run_queue.h"
#include "engine/srq.h"
#include "engine/steer.h"
#include "engine/view.h"
#include "wire/packet.h"

static int check_cq(const char *name, const struct uroce_pd *pd, const struct uroce_cq *cq)
{
	if (cq == NULL || cq->device != pd->device)
		return engine_refuse(-EINVAL, "%s: %s", name,
				     cq ? "the CQ must belong to the same device as the PD" : "NULL");
	/* A CQ that has lost a completion cannot be used any more (E-5). */
	return atomic_load(&cq->overflowed) ? engine_refuse(-EINVAL, "%s: this CQ has overflowed", name) : 0;
}

static int check_init(const struct uroce_pd *pd, const struct uroce_qp_init_attr *init)
{
	if (check_cq("send_cq", pd, init->send_cq) || check_cq("recv_cq", pd, init->recv_cq))
		return -EINVAL;
	if (init->srq && init->srq->pd != pd)
		return engine_refuse(-EINVAL, "srq: it must belong to the same PD as the QP");
	if (init->srq == NULL && (engine_check_range("max_recv_wr", init->max_recv_wr, 0, LIMIT_QUEUE_DEPTH) ||
				  engine_check_range("max_recv_sge", init->max_recv_sge, 1, LIMIT_SGE)))
		return -EINVAL;
	if (engine_check_range("max_send_wr", init->max_send_wr, 1, LIMIT_QUEUE_DEPTH) ||
	    engine_check_range("max_send_sge", init->max_send_sge, 1, LIMIT_SGE) ||
	    engine_check_range("max_inline_data", init->max_inline_data, 0, LIMIT_INLINE_BYTES) ||
	    engine_check_range("max_dest_rd_atomic", init->max_dest_rd_atomic, 0, LIMIT_RD_ATOMIC))
		return -EINVAL;
	return 0;
}

static struct rc_qp_config core_config(const struct uroce_pd *pd, const struct uroce_qp_init_attr *init)
{
	return (struct rc_qp_config){
		.pd = pd->id,
		.mrs = &pd->device->mrs,
		.srq = init->srq ? init->srq->rc : NULL,
		.send_cq = init->send_cq,
		.recv_cq = init->recv_cq,
		.context = init->qp_context,
		.max_send_wr = init->max_send_wr,
		.max_recv_wr = init->max_recv_wr,
		.max_send_sge = init->max_send_sge,
		.max_recv_sge = init->max_recv_sge,
		.max_inline_data = init->max_inline_data,
		.max_dest_rd_atomic = init->max_dest_rd_atomic,
		.max_mtu_bytes = pd->device->config.mtu_bytes,
		.line_mbps = uroce_port_link_mbps(pd->device->port_id),
		.sq_sig_all = init->sq_sig_all,
	};
}

/* Gives the QP its lcore and its numbers, and lets packets find it. */
static int name_and_publish(struct uroce_qp *qp, struct rc_qp_config *config, struct uroce_lcore *lcore)
{
	struct uroce_engine *engine = qp->device->engine;
	int error;

	if (getrandom(&config->start_psn, sizeof(config->start_psn), 0) != sizeof(config->start_psn))
		return engine_refuse_random();
	pthread_mutex_lock(&engine->lock);
	qp->owner = engine_device_pick_lcore(qp->device, lcore);
	error = qp->owner ? engine_steer_reserve(engine, qp->owner->index, &qp->index, &qp->qpn) :
			    engine_refuse(-EINVAL,
					  "lcore %u: it does not serve the device; use NULL to have an lcore chosen",
					  lcore->index);
	pthread_mutex_unlock(&engine->lock);
	if (error)
		return error;
	config->qpn = qp->qpn;
	config->boards = &qp->owner->boards;
	rc_qp_init(qp_core(qp), config);
	qp->run_queue = &qp->owner->run_queue;
	engine_steer_publish(engine, qp);
	return 0;
}

static_assert(sizeof(struct uroce_qp) % 64 == 0, "the core's part follows, aligned");

int uroce_qp_create(struct uroce_pd *pd, const struct uroce_qp_init_attr *init, struct uroce_qp **result)
{
	struct rc_qp_config config;
	struct uroce_qp *qp;
	uint64_t bytes;
	int error;

	error = check_init(pd, init);
	if (error)
		return error;
	config = core_config(pd, init);
	bytes = sizeof(*qp) + rc_qp_bytes(&config);
	qp = engine_slab_alloc(&pd->device->slab, bytes);
	if (qp == NULL)
		return engine_refuse(-ENOMEM, "no memory for a QP of %lu bytes; use smaller queues", bytes);
	qp->bytes = bytes;
	qp->device = pd->device;
	qp->pd = pd;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	qp->srq = init->srq;
	error = name_and_publish(qp, &config, init->lcore);
	if (error) {
		engine_slab_return(&pd->device->slab, qp, bytes);
		return error;
	}
	atomic_fetch_add(&pd->users, 1);
	atomic_fetch_add(&qp->send_cq->users, 1);
	atomic_fetch_add(&qp->recv_cq->users, 1);
	if (qp->srq)
		atomic_fetch_add(&qp->srq->users, 1);
	*result = qp;
	return 0;
}

/* runs on the owner, so that afterwards no packet, timer or doorbell finds the QP. */
static int destroy_on_owner(void *argument)
{
	struct uroce_qp *qp = argument;
	struct engine_port *port = engine_find_port(qp->owner, qp->device);

	if (qp->cm_id)
		engine_connect_forget_qp(qp);
	engine_wheel_disarm(&qp->owner->wheel, &qp->timer);
	engine_resolve_forget(qp);
	run_queue_remove(qp);
	engine_steer_release(qp->device->engine, qp->index, qp->qpn, engine_modify_time_wait_ns(qp));
	engine_modify_hold_devices(qp, NULL, NULL);
	rc_qp_return_boards(qp_core(qp));
	for (uint32_t i = 0; i < CNT_QP_COUNTERS; i++)
		port->retired[i] += qp_core(qp)->counters[i];
	return 0;
}

int uroce_qp_destroy(struct uroce_qp *qp)
{
	int error = engine_mailbox_call(qp->owner, destroy_on_owner, qp);

	if (error)
		return error; /* the lcore still uses the QP, so it cannot be freed */
	atomic_fetch_sub(&qp->pd->users, 1);
	atomic_fetch_sub(&qp->send_cq->users, 1);
	atomic_fetch_sub(&qp->recv_cq->users, 1);
	if (qp->srq)
		atomic_fetch_sub(&qp->srq->users, 1);
	engine_slab_return(&qp->device->slab, qp, qp->bytes);
	return 0;
}

int uroce_qp_modify(struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask, uint32_t *bad_mask)
{
	return engine_modify_qp(qp, attr, mask, bad_mask);
}

struct attr_query {
	const struct uroce_qp *qp;
	struct uroce_qp_attr *attr;
};

static int query_on_owner(void *argument)
{
	struct attr_query *query = argument;

	rc_qp_query(qp_core(query->qp), query->attr);
	return 0;
}

int uroce_qp_query(struct uroce_qp *qp, struct uroce_qp_attr *attr)
{
	struct attr_query query = { .qp = qp, .attr = attr };

	return engine_mailbox_call(qp->owner, query_on_owner, &query);
}

struct error_query {
	struct uroce_qp *qp;
	struct uroce_qp_error *error;
};

static int last_error_on_owner(void *argument)
{
	struct error_query *query = argument;

	engine_view_last_error(query->qp, query->error);
	return 0;
}

int uroce_qp_last_error(struct uroce_qp *qp, struct uroce_qp_error *error)
{
	struct error_query query = { .qp = qp, .error = error };

	return engine_mailbox_call(qp->owner, last_error_on_owner, &query);
}

void uroce_qp_query_init(const struct uroce_qp *qp, struct uroce_qp_init_attr *init)
{
	const struct rc_qp *rc = qp_core(qp);

	*init = (struct uroce_qp_init_attr){
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.srq = qp->srq,
		.qp_context = rc->context,
		.max_send_wr = rc->win.depth,
		.max_recv_wr = qp->srq ? 0 : rc->recvq.depth,
		.max_send_sge = rc->win.sge_limit,
		.max_recv_sge = qp->srq ? 0 : rc->recvq.sge_limit,
		.max_inline_data = rc->win.inline_limit,
		.max_dest_rd_atomic = rc->replay.limit,
		.sq_sig_all = rc->win.signal_all,
		.lcore = qp->owner,
	};
}

uint32_t uroce_qp_num(const struct uroce_qp *qp)
{
	return qp->qpn;
}

uint32_t uroce_qp_send_free_count(const struct uroce_qp *qp)
{
	return sendwin_free_count(&qp_core(qp)->win);
}

int uroce_qp_connect(struct uroce_qp *qp, const struct uroce_qp_attr *given, uint32_t *bad_mask)
{
	static const struct {
		enum uroce_qp_state state;
		uint32_t mask;
	} steps[] = {
		{ UROCE_QPS_INIT, UROCE_QP_ACCESS_FLAGS | UROCE_QP_PKEY },
		{ UROCE_QPS_RTR, UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN |
					 UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_MIN_RNR_TIMER | UROCE_QP_FLOW_CONTROL |
					 UROCE_QP_CC | UROCE_QP_SACK_WINDOW | UROCE_QP_PATHS },
		{ UROCE_QPS_RTS, UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC |
					 UROCE_QP_IMPRECISE_ERRORS | UROCE_QP_NO_PROBE | UROCE_QP_KEEPALIVE |
					 UROCE_QP_READ_REPAIR },
	};
	struct uroce_qp_attr attr = *given;

	if (attr.path_mtu == 0)
		attr.path_mtu = qp->device->config.mtu_bytes;
	if (attr.pkey == 0)
		attr.pkey = PKEY_DEFAULT;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		uint32_t mask = UROCE_QP_STATE | steps[i].mask;
		int error;

		attr.qp_state = steps[i].state;
		if (attr.use_sq_psn && attr.qp_state != UROCE_QPS_INIT)
			mask |= UROCE_QP_SQ_PSN;
		error = engine_modify_qp(qp, &attr, mask, bad_mask);
		if (error)
			return error;
	}
	return 0;
}

/* Tells the owner that there is work. Each QP is in the ring at most once. */
static void ring_doorbell(struct uroce_qp *qp)
{
	if (lcore_is_ours(qp->owner)) {
		run_queue_add(qp);
		return;
	}
	/* pairs with D1 in take_doorbells: either the owner sees this post, or the bell rings again */
	if (!atomic_exchange(&qp->rung, true)) {
		rte_ring_enqueue(qp->owner->doorbells, (void *)(uintptr_t)qp->index);
		lcore_wake(qp->owner);
	}
}

/* Converts a bind to the core's terms: keys instead of handles. */
static int post_bind(struct uroce_qp *qp, const struct uroce_send_wr *given, enum uroce_mw_type type)
{
	const struct uroce_send_wr once = *given, *wr = &once; /* M-6 */
	const struct uroce_mw_bind *bind = wr->bind;
	struct rc_mr_bind keys = { .key = wr->rkey };
	int error;

	if (wr->mw == NULL || bind == NULL || wr->mw->type != type || (wr->rkey ^ atomic_load(&wr->mw->key)) >> 8)
		return -EINVAL; /* api_post_refuse_send() says why */
	keys.va = bind->addr;
	keys.bytes = bind->length_bytes;
	keys.access = bind->access;
	keys.region_key = bind->mr ? bind->mr->key : 0;
	error = rc_qp_post_bind(qp_core(qp), wr, &keys);
	if (error == 0)
		atomic_store(&wr->mw->key, wr->rkey);
	return error;
}

int uroce_mw_bind(struct uroce_qp *qp, struct uroce_mw *mw, const struct uroce_mw_bind *bind, uint64_t wr_id,
		  uint32_t send_flags)
{
	const struct uroce_send_wr wr = {
		.wr_id = wr_id,
		.send_flags = send_flags,
		.rkey = uroce_mw_next_rkey(mw),
		.mw = mw,
		.bind = bind,
	};
	int error = post_bind(qp, &wr, UROCE_MW_TYPE_1);

	ring_doorbell(qp);
	return error ? api_post_refuse_send(qp, error, &wr) : 0;
}

static inline int post_one(struct uroce_qp *qp, const struct uroce_send_wr *wr)
{
	return wr->opcode == UROCE_WR_BIND_MW ? post_bind(qp, wr, UROCE_MW_TYPE_2) : rc_qp_post_send(qp_core(qp), wr);
}

/*
 * A QP in a state that refuses requests may be about to leave that state, so the owner is waited for, and the post
 * repeated.
 */
static int post_refused(struct uroce_qp *qp, const struct uroce_send_wr *wr, int error)
{
	return error == -EINVAL && engine_connect_catch_up(qp) ? post_one(qp, wr) : error;
}

int uroce_qp_post_send(struct uroce_qp *qp, const struct uroce_send_wr *wr, const struct uroce_send_wr **bad_wr)
{
	int error = 0;

	for (; wr; wr = wr->next) {
		error = post_one(qp, wr);
		if (error)
			error = post_refused(qp, wr, error);
		if (error) {
			api_post_refuse_send(qp, error, wr);
			if (bad_wr)
				*bad_wr = wr;
			break;
		}
	}
	ring_doorbell(qp);
	return error;
}

int uroce_qp_post_recv(struct uroce_qp *qp, const struct uroce_recv_wr *wr, const struct uroce_recv_wr **bad_wr)
{
	int error = 0;

	for (; wr; wr = wr->next) {
		error = rc_qp_post_recv(qp_core(qp), wr);
		if (error) {
			api_post_refuse_recv(&qp_core(qp)->recvq, error, wr);
			if (bad_wr)
				*bad_wr = wr;
			break;
		}
	}
	/* pairs with C1 in rc_credit_unsolicited_due */
	atomic_thread_fence(memory_order_seq_cst);
	/*
	 * A running QP needs no doorbell for a receive, unless its peer waits for credits; a QP in ERR has to flush the
	 * receive.
	 */
	if (atomic_load_explicit(&qp_core(qp)->win.post_wakes, memory_order_relaxed) ||
	    atomic_load_explicit(&qp_core(qp)->win.post_state, memory_order_acquire) == UROCE_QPS_ERR)
		ring_doorbell(qp);
	return error;
}
