/* qp.c - queue pairs: checks arguments, travels to the owner, rings the doorbell */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "engine/discover.h"
#include "engine/engine.h"
#include "engine/mailbox.h"
#include "engine/pipeline.h"
#include "engine/place.h"
#include "engine/steer.h"
#include "rc/codes.h"

static bool init_is_valid(const struct uroce_pd *pd, const struct uroce_qp_init_attr *init)
{
	if (init->send_cq == NULL || init->recv_cq == NULL || init->send_cq->device != pd->device ||
	    init->recv_cq->device != pd->device)
		return false;
	return init->max_send_wr >= 1 && init->max_send_wr <= LIMIT_QUEUE_DEPTH &&
	       init->max_recv_wr <= LIMIT_QUEUE_DEPTH && init->max_send_sge >= 1 && init->max_send_sge <= LIMIT_SGE &&
	       init->max_recv_sge >= 1 && init->max_recv_sge <= LIMIT_SGE &&
	       init->max_inline_data <= LIMIT_INLINE_BYTES && init->max_dest_rd_atomic <= LIMIT_RD_ATOMIC;
}

static int create_core(struct uroce_qp *qp, const struct uroce_qp_init_attr *init)
{
	struct rc_qp_config config = {
		.qpn = qp->qpn,
		.pd = qp->pd->id,
		.mrs = &qp->device->mrs,
		.send_cq = qp->send_cq,
		.recv_cq = qp->recv_cq,
		.context = init->qp_context,
		.max_send_wr = init->max_send_wr,
		.max_recv_wr = init->max_recv_wr,
		.max_send_sge = init->max_send_sge,
		.max_recv_sge = init->max_recv_sge,
		.max_inline_data = init->max_inline_data,
		.max_dest_rd_atomic = init->max_dest_rd_atomic,
		.max_mtu_bytes = qp->device->config.mtu_bytes,
		.sq_sig_all = init->sq_sig_all,
	};
	void *memory;

	if (getrandom(&config.start_psn, sizeof(config.start_psn), 0) != sizeof(config.start_psn))
		return -EIO;
	qp->rc_bytes = rc_qp_bytes(&config);
	memory = engine_place_alloc(qp->rc_bytes, qp->device->numa_node);
	if (memory == NULL)
		return -ENOMEM;
	qp->rc = rc_qp_init(memory, &config);
	return 0;
}

static int name_and_create(struct uroce_qp *qp, const struct uroce_qp_init_attr *init)
{
	struct uroce_engine *engine = qp->device->engine;
	int error;

	pthread_mutex_lock(&engine->lock);
	qp->owner = engine_pick_lcore(qp->device, init->lcore);
	error = qp->owner ? engine_steer_name(engine, qp) : -EINVAL;
	pthread_mutex_unlock(&engine->lock);
	if (error)
		return error;
	error = create_core(qp, init);
	if (error)
		engine_steer_remove(engine, qp, 0);
	else
		engine_steer_publish(engine, qp);
	return error;
}

int uroce_qp_create(struct uroce_pd *pd, const struct uroce_qp_init_attr *init, struct uroce_qp **result)
{
	struct uroce_qp *qp;
	int error;

	if (!init_is_valid(pd, init))
		return -EINVAL;
	qp = engine_place_alloc(sizeof(*qp), pd->device->numa_node);
	if (qp == NULL)
		return -ENOMEM;
	qp->device = pd->device;
	qp->pd = pd;
	qp->send_cq = init->send_cq;
	qp->recv_cq = init->recv_cq;
	error = name_and_create(qp, init);
	if (error) {
		engine_place_free(qp, sizeof(*qp));
		return error;
	}
	atomic_fetch_add(&pd->users, 1);
	atomic_fetch_add(&qp->send_cq->users, 1);
	atomic_fetch_add(&qp->recv_cq->users, 1);
	*result = qp;
	return 0;
}

static int destroy_on_owner(void *argument)
{
	struct uroce_qp *qp = argument;
	uint64_t time_wait_ns = qp->rc->timeout ? 4 * rc_codes_timeout_ns(qp->rc->timeout) : 0;
	struct engine_port *port = engine_find_port(qp->owner, qp->device);

	engine_pipeline_forget(qp->owner, qp);
	engine_steer_remove(qp->device->engine, qp, time_wait_ns);
	for (uint32_t i = 0; i < CNT_QP_COUNTERS; i++)
		port->retired[i] += qp->rc->counters[i];
	return 0;
}

int uroce_qp_destroy(struct uroce_qp *qp)
{
	int error = engine_mailbox_call(qp->owner, destroy_on_owner, qp);

	if (error)
		return error; /* the lcore still has it: freeing would not be safe */
	atomic_fetch_sub(&qp->pd->users, 1);
	atomic_fetch_sub(&qp->send_cq->users, 1);
	atomic_fetch_sub(&qp->recv_cq->users, 1);
	engine_place_free(qp->rc, qp->rc_bytes);
	engine_place_free(qp, sizeof(*qp));
	return 0;
}

struct modification {
	struct uroce_qp *qp;
	const struct uroce_qp_attr *attr;
	uint32_t mask;
	uint32_t bad_mask;
};

/* The path's source must be an address of the device: the peer's frames come to no other. */
static bool source_is_ours(const struct uroce_device *device, const struct uroce_path *path)
{
	for (uint32_t i = 0; i < device->config.addr_count; i++) {
		if (memcmp(&device->config.addrs[i], &path->source, sizeof(path->source)) == 0)
			return true;
	}
	return false;
}

static int modify_on_owner(void *argument)
{
	struct modification *modification = argument;
	struct uroce_qp *qp = modification->qp;
	int error;

	if ((modification->mask & UROCE_QP_PATH) && !source_is_ours(qp->device, &modification->attr->path)) {
		modification->bad_mask = UROCE_QP_PATH;
		return -EINVAL;
	}
	error = rc_qp_modify(qp->rc, modification->attr, modification->mask, &modification->bad_mask);
	if (error)
		return error;
	if (modification->mask & UROCE_QP_PATH)
		engine_discover_start(qp->owner, qp);
	engine_pipeline_activate(qp->owner, qp);
	return 0;
}

int uroce_qp_modify(struct uroce_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask, uint32_t *bad_mask)
{
	struct modification modification = { .qp = qp, .attr = attr, .mask = mask };
	int error = engine_mailbox_call(qp->owner, modify_on_owner, &modification);

	if (error && bad_mask)
		*bad_mask = modification.bad_mask;
	return error;
}

static int query_on_owner(void *argument)
{
	struct modification *query = argument;

	rc_qp_query(query->qp->rc, (struct uroce_qp_attr *)(uintptr_t)query->attr);
	return 0;
}

int uroce_qp_query(struct uroce_qp *qp, struct uroce_qp_attr *attr)
{
	struct modification query = { .qp = qp, .attr = attr };

	return engine_mailbox_call(qp->owner, query_on_owner, &query);
}

uint32_t uroce_qp_num(const struct uroce_qp *qp)
{
	return qp->qpn;
}

int uroce_qp_connect(struct uroce_qp *qp, const struct uroce_qp_attr *given, uint32_t *bad_mask)
{
	static const struct {
		enum uroce_qp_state state;
		uint32_t mask;
	} steps[] = {
		{ UROCE_QPS_INIT, UROCE_QP_ACCESS_FLAGS | UROCE_QP_PKEY },
		{ UROCE_QPS_RTR, UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN |
					 UROCE_QP_MAX_DEST_RD_ATOMIC | UROCE_QP_MIN_RNR_TIMER | UROCE_QP_FLOW_CONTROL },
		{ UROCE_QPS_RTS, UROCE_QP_SQ_PSN | UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY |
					 UROCE_QP_MAX_RD_ATOMIC },
	};
	struct uroce_qp_attr attr = *given;

	if (attr.path_mtu == 0)
		attr.path_mtu = qp->device->config.mtu_bytes;
	if (attr.pkey == 0)
		attr.pkey = 0xFFFF;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int error;

		attr.qp_state = steps[i].state;
		error = uroce_qp_modify(qp, &attr, UROCE_QP_STATE | steps[i].mask, bad_mask);
		if (error)
			return error;
	}
	return 0;
}

/* Tells the owner that there is work; at most one entry a QP stands in the ring. */
static void ring_doorbell(struct uroce_qp *qp)
{
	struct uroce_lcore *lcore = qp->owner;

	if (atomic_load_explicit(&lcore->owned, memory_order_acquire) &&
	    pthread_equal(atomic_load_explicit(&lcore->owner, memory_order_relaxed), pthread_self())) {
		engine_pipeline_activate(lcore, qp);
		return;
	}
	/* pairs with D1 in take_doorbells: what was posted before is seen, or the bell rings again */
	if (!atomic_exchange(&qp->rung, true))
		rte_ring_enqueue(lcore->doorbells, (void *)(uintptr_t)qp->index);
}

int uroce_qp_post_send(struct uroce_qp *qp, const struct uroce_send_wr *wr, const struct uroce_send_wr **bad_wr)
{
	int error = 0;

	for (; wr; wr = wr->next) {
		error = rc_qp_post_send(qp->rc, wr);
		if (error) {
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
		error = rc_qp_post_recv(qp->rc, wr);
		if (error) {
			if (bad_wr)
				*bad_wr = wr;
			break;
		}
	}
	/* pairs with C1 in rc_credit_news_due */
	atomic_thread_fence(memory_order_seq_cst);
	/* A running QP needs no bell for a receive, but its peer may wait for one; a QP in ERR has to flush it. */
	if (atomic_load_explicit(&qp->rc->post_wakes, memory_order_relaxed) ||
	    atomic_load_explicit(&qp->rc->post_state, memory_order_acquire) == UROCE_QPS_ERR)
		ring_doorbell(qp);
	return error;
}
