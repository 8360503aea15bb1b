/* steer.c - the QP table */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "engine/place.h"
#include "engine/steer.h"

static uint32_t round_up_to_power_of_two(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

int engine_steer_init(struct uroce_engine *engine, uint32_t max_qps)
{
	uint32_t lcores = round_up_to_power_of_two(engine->lcore_count);
	/* Room for numbers that rest in time-wait, so that reconnecting does not wait for them. */
	uint32_t per_lcore = round_up_to_power_of_two((max_qps * 2 + lcores - 1) / lcores);

	engine->lcore_mask = lcores - 1;
	engine->index_count = per_lcore * lcores;
	engine->qps = engine_place_alloc(engine->index_count * sizeof(*engine->qps), -1);
	return engine->qps ? 0 : -ENOMEM;
}

void engine_steer_free(struct uroce_engine *engine)
{
	engine_place_free(engine->qps, engine->index_count * sizeof(*engine->qps));
	engine->qps = NULL;
}

/* 0 and 1 are special QPs, the last is multicast. */
static bool qpn_is_reserved(uint32_t qpn)
{
	return qpn < 2 || qpn == 0xFFFFFF;
}

/* A slot at random, or the next one behind it that is free; above its index, random digits make up a QPN (P-7). */
int engine_steer_name(struct uroce_engine *engine, struct uroce_qp *qp)
{
	uint32_t lcores = engine->lcore_mask + 1, mask = engine->index_count - 1, drawn;
	uint64_t now = engine_now_ns();

	if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
		return -EIO;
	for (uint32_t i = 0; i < engine->index_count; i += lcores) {
		uint32_t index = ((drawn & ~engine->lcore_mask) + i + qp->owner->index) & mask;
		struct engine_qp_slot *slot = &engine->qps[index];
		uint32_t qpn = ((drawn & ~mask) | index) & 0xFFFFFF;

		if (atomic_load_explicit(&slot->qp, memory_order_relaxed) || slot->usable_ns > now ||
		    qpn_is_reserved(qpn))
			continue;
		qp->index = index;
		qp->qpn = qpn;
		slot->usable_ns = UINT64_MAX; /* taken */
		atomic_store_explicit(&slot->qpn, qpn, memory_order_relaxed);
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
