/* ud.c - queue pairs for datagrams: checks arguments, calls the owner */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "api/post.h"
#include "engine/cq.h"
#include "engine/device.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/numa_alloc.h"
#include "engine/pd.h"
#include "engine/route.h"
#include "engine/srq.h"
#include "engine/steer.h"
#include "engine/ud.h"

static int check_init(const struct uroce_pd *pd, const struct uroce_ud_init_attr *init)
{
	if (init->send_cq == NULL || init->send_cq->device != pd->device)
		return engine_refuse(-EINVAL, "send_cq: the CQ must belong to the same device as the PD");
	if (init->recv_cq == NULL || init->recv_cq->device != pd->device)
		return engine_refuse(-EINVAL, "recv_cq: the CQ must belong to the same device as the PD");
	if (init->srq)
		return init->srq->pd == pd ? 0 : engine_refuse(-EINVAL, "srq: it must belong to the same PD as the QP");
	if (init->max_recv_wr < 1 || init->max_recv_wr > LIMIT_QUEUE_DEPTH)
		return engine_refuse(-EINVAL, "max_recv_wr %u: 1 ... %u", init->max_recv_wr, LIMIT_QUEUE_DEPTH);
	if (init->max_recv_sge < 1 || init->max_recv_sge > LIMIT_SGE)
		return engine_refuse(-EINVAL, "max_recv_sge %u: 1 ... %u", init->max_recv_sge, LIMIT_SGE);
	return 0;
}

static uint64_t bytes_of(const struct uroce_ud *ud)
{
	return sizeof(*ud) + (uint64_t)(ud->receives.mask + 1) * ud->receives.slot_bytes;
}

/* Gives the queue pair a number, and lets packets find it. */
static int enter(struct uroce_engine *engine, struct uroce_ud *ud, struct uroce_lcore *lcore)
{
	int error = 0;

	pthread_mutex_lock(&engine->lock);
	ud->owner = engine_device_pick_lcore(ud->device, lcore);
	if (ud->owner == NULL)
		error = engine_refuse(-EINVAL,
				      "lcore %u: it does not serve the device; use NULL to have an lcore chosen",
				      lcore->index);
	for (ud->slot = 0; error == 0 && ud->slot < ENGINE_UDS && engine->uds[ud->slot]; ud->slot++)
		;
	if (error == 0 && ud->slot == ENGINE_UDS)
		error = engine_refuse(-ENOSPC, "the engine already has %u UD QPs, the maximum; destroy one first",
				      ENGINE_UDS);
	if (error == 0)
		error = engine_steer_reserve(engine, ud->owner->index, &ud->index, &ud->qpn);
	if (error == 0) {
		/* U1: publishes the complete queue pair; pairs with the load in find() of lib/engine/ud.c */
		atomic_store_explicit(&engine->uds[ud->slot], ud, memory_order_release);
		atomic_fetch_add(&engine->ud_count, 1);
	}
	pthread_mutex_unlock(&engine->lock);
	return error;
}

int uroce_ud_create(struct uroce_pd *pd, const struct uroce_ud_init_attr *init, struct uroce_ud **result)
{
	int error = check_init(pd, init);
	uint32_t depth, sges;
	struct uroce_ud *ud;

	if (error)
		return error;
	depth = init->srq ? 1 : rte_align32pow2(init->max_recv_wr);
	sges = init->srq ? init->srq->rc->sge_limit : init->max_recv_sge;
	ud = engine_numa_alloc(sizeof(*ud) + (uint64_t)depth * recv_wqe_slot_bytes(sges), pd->device->numa_node);
	if (ud == NULL)
		return engine_refuse(-ENOMEM, "no memory for a UD QP");
	ud->device = pd->device;
	ud->pd = pd;
	ud->send_cq = init->send_cq;
	ud->recv_cq = init->recv_cq;
	ud->context = init->qp_context;
	TAILQ_INIT(&ud->waiting);
	ud->qkey = init->qkey ? init->qkey : UROCE_CM_UD_QKEY;
	ud->srq = init->srq;
	rc_recvq_place(&ud->receives, (uint8_t *)(ud + 1), depth, depth, sges, init->srq ? init->srq->rc : NULL);
	error = enter(pd->device->engine, ud, init->lcore);
	if (error) {
		engine_numa_free(ud, bytes_of(ud));
		return error;
	}
	atomic_fetch_add(&pd->users, 1);
	atomic_fetch_add(&ud->send_cq->users, 1);
	atomic_fetch_add(&ud->recv_cq->users, 1);
	if (ud->srq)
		atomic_fetch_add(&ud->srq->users, 1);
	*result = ud;
	return 0;
}

/* Runs on the owner, between packets: afterwards no packet finds the queue pair. */
static int leave_on_owner(void *argument)
{
	struct uroce_ud *ud = argument;
	struct uroce_engine *engine = ud->device->engine;

	engine_ud_forget(ud);
	atomic_store(&engine->uds[ud->slot], NULL);
	atomic_fetch_sub(&engine->ud_count, 1);
	engine_steer_release(engine, ud->index, ud->qpn, TIME_WAIT_MIN_NS);
	return 0;
}

int uroce_ud_destroy(struct uroce_ud *ud)
{
	struct uroce_engine *engine = ud->device->engine;
	int error = engine_mailbox_call(ud->owner, leave_on_owner, ud);

	if (error)
		return error;
	/* Waits for other lcores that may be handing over a packet to the queue pair. */
	rte_rcu_qsbr_synchronize(engine->qsbr, RTE_QSBR_THRID_INVALID);
	atomic_fetch_sub(&ud->pd->users, 1);
	atomic_fetch_sub(&ud->send_cq->users, 1);
	atomic_fetch_sub(&ud->recv_cq->users, 1);
	if (ud->srq)
		atomic_fetch_sub(&ud->srq->users, 1);
	engine_numa_free(ud, bytes_of(ud));
	return 0;
}

uint32_t uroce_ud_num(const struct uroce_ud *ud)
{
	return ud->qpn;
}

uint32_t uroce_ud_qkey(const struct uroce_ud *ud)
{
	return ud->qkey;
}

void uroce_ud_set_qkey(struct uroce_ud *ud, uint32_t qkey)
{
	__atomic_store_n(&ud->qkey, qkey, __ATOMIC_RELAXED);
}

int uroce_ud_post_recv(struct uroce_ud *ud, const struct uroce_recv_wr *wr)
{
	int error;

	if (ud->srq)
		return engine_refuse(-EINVAL,
				     "the QP receives from its SRQ: post to the SRQ with uroce_srq_post_recv()");
	error = rc_recvq_post(&ud->receives, wr);
	return error ? api_post_refuse_recv(&ud->receives, error, wr) : 0;
}

struct sending {
	struct uroce_ud *ud;
	const struct uroce_ud_addr *to;
	const struct uroce_send_wr *wr;
};

static int send_on_owner(void *argument)
{
	const struct sending *sending = argument;

	return engine_ud_send(sending->ud, sending->to, sending->wr);
}

int uroce_ud_send(struct uroce_ud *ud, const struct uroce_ud_addr *to, const struct uroce_send_wr *wr)
{
	struct sending sending = { ud, to, wr };
	uint64_t bytes = 0;

	if (wr->opcode != UROCE_WR_SEND && wr->opcode != UROCE_WR_SEND_WITH_IMM)
		return engine_refuse(-EINVAL, "opcode %u: a UD QP supports only SEND and SEND_WITH_IMM",
				     (unsigned)wr->opcode);
	if (wr->num_sge > LIMIT_SGE || (wr->num_sge && wr->sg_list == NULL))
		return engine_refuse(-EINVAL, "num_sge %u: must be 0 to %u, and sg_list must not be NULL", wr->num_sge,
				     LIMIT_SGE);
	for (uint32_t i = 0; i < wr->num_sge; i++)
		bytes += wr->sg_list[i].length;
	if (bytes > ud->device->config.mtu_bytes)
		return engine_refuse(-EINVAL, "%lu bytes: must not exceed %u, the path MTU of the device", bytes,
				     ud->device->config.mtu_bytes);
	if (to->qp_num < 1 || to->qp_num > PSN_MASK)
		return engine_refuse(-EINVAL, "qp_num %u: 1 ... %u", to->qp_num, PSN_MASK);
	if (engine_route_find(&ud->device->config, to->path.source.bytes) < 0)
		return engine_refuse(-EINVAL, "path.source: not an address of the device");
	return engine_mailbox_call(ud->owner, send_on_owner, &sending);
}
