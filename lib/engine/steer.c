/* steer.c - the QP table */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "engine/steer.h"

static uint32_t round_up_to_power_of_two(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

int engine_steer_init(struct uroce_engine *engine, uint32_t max_qps)
{
	uint32_t lcores = round_up_to_power_of_two(engine->lcore_count);
	/* Room for numbers that rest in time-wait, so that reconnecting does not wait for them. */
	uint32_t per_lcore = (max_qps * 2 + lcores - 1) / lcores;

	engine->lcore_mask = lcores - 1;
	engine->index_count = per_lcore * lcores;
	engine->qps = calloc(engine->index_count, sizeof(*engine->qps));
	if (engine->qps == NULL)
		return -ENOMEM;
	if (getrandom(&engine->qpn_space, sizeof(engine->qpn_space), 0) != sizeof(engine->qpn_space) ||
	    getrandom(&engine->index_hand, sizeof(engine->index_hand), 0) != sizeof(engine->index_hand))
		return -EIO;
	return 0;
}

void engine_steer_free(struct uroce_engine *engine)
{
	free(engine->qps);
	engine->qps = NULL;
}

/* 0 and 1 are special QPs, the last is multicast. */
static bool qpn_is_reserved(uint32_t qpn)
{
	return qpn < 2 || qpn == 0xFFFFFF;
}

int engine_steer_name(struct uroce_engine *engine, struct uroce_qp *qp)
{
	uint32_t lcores = engine->lcore_mask + 1;
	uint32_t per_lcore = engine->index_count / lcores;
	uint64_t now = engine_now_ns();

	for (uint32_t i = 0; i < per_lcore; i++) {
		uint32_t index = engine->index_hand++ % per_lcore * lcores + qp->owner->index;
		struct engine_qp_slot *slot = &engine->qps[index];
		uint32_t qpn = keyspace_name(&engine->qpn_space, index);

		if (atomic_load_explicit(&slot->qp, memory_order_relaxed) || slot->usable_ns > now ||
		    qpn_is_reserved(qpn))
			continue;
		qp->index = index;
		qp->qpn = qpn;
		slot->usable_ns = UINT64_MAX; /* taken */
		return 0;
	}
	return -ENOSPC;
}

void engine_steer_publish(struct uroce_engine *engine, struct uroce_qp *qp)
{
	/* T1: the QP is complete */
	atomic_store_explicit(&engine->qps[qp->index].qp, qp, memory_order_release);
}

void engine_steer_remove(struct uroce_engine *engine, struct uroce_qp *qp, uint64_t time_wait_ns)
{
	struct engine_qp_slot *slot = &engine->qps[qp->index];

	atomic_store_explicit(&slot->qp, NULL, memory_order_release);
	slot->usable_ns = engine_now_ns() + time_wait_ns;
}
