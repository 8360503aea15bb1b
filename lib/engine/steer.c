/* steer.c - the QP table: from QPNs to QPs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "share/hash.h"
#include "engine/engine.h"
#include "engine/log.h"
#include "engine/clock.h"
#include "engine/numa_alloc.h"
#include "engine/qp.h"
#include "engine/steer.h"
#include "rc/path.h"
#include "wire/packet.h"

#define DRAWS 16u /* the most QPNs that are tried because earlier ones are in time-wait */
#define STEP 0x9E3779B1u

int engine_steer_init(struct uroce_engine *engine, uint32_t max_qps)
{
	uint32_t lcores = rte_align32pow2(engine->lcore_count);
	/* Half of the table stays empty, so that the search for a free slot is short. */
	uint32_t per_lcore = rte_align32pow2((max_qps * 2 + lcores - 1) / lcores);

	engine->lcore_mask = lcores - 1;
	engine->index_count = per_lcore * lcores;
	engine->qps = engine_numa_alloc(engine->index_count * sizeof(*engine->qps), -1);
	engine->peers = engine_numa_alloc(engine->index_count * sizeof(*engine->peers), -1);
	return engine->qps && engine->peers ?
		       engine_timewait_init(&engine->timewait) :
		       engine_refuse(-ENOMEM, "no memory for the QP table; use a smaller max_qps");
}

void engine_steer_free(struct uroce_engine *engine)
{
	engine_numa_free(engine->qps, engine->index_count * sizeof(*engine->qps));
	engine_numa_free(engine->peers, engine->index_count * sizeof(*engine->peers));
	engine->qps = NULL;
	engine->peers = NULL;
	engine_timewait_free(&engine->timewait);
}

/* QPNs 0 and 1 are for management, the last one is for multicast. */
static bool qpn_is_reserved(uint32_t qpn)
{
	return qpn < 2 || qpn == 0xFFFFFF;
}

/*
 * Makes a QPN whose low digits are the index; the other digits were drawn at random. If this QPN is in time-wait, tries
 * some further QPNs at a fixed distance. Returns 0 if none of these may be used.
 */
static uint32_t choose_number(const struct uroce_engine *engine, uint32_t index, uint32_t drawn)
{
	uint32_t places = engine->index_count;

	for (uint32_t i = 0; i < DRAWS; i++) {
		uint32_t qpn = (((drawn + i * STEP * places) & ~(places - 1)) | index) & (TIMEWAIT_NUMBERS - 1);

		if (qpn_is_reserved(qpn))
			return 0;
		if (!engine_timewait_has(&engine->timewait, qpn))
			return qpn;
	}
	return 0;
}

/* The search begins at a random slot of the owner (P-7). */
int engine_steer_reserve(struct uroce_engine *engine, unsigned owner, uint32_t *index, uint32_t *qpn)
{
	uint32_t lcores = engine->lcore_mask + 1, mask = engine->index_count - 1, drawn;

	if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
		return engine_refuse_random();
	if (atomic_load_explicit(&engine->qp_count, memory_order_relaxed) >= engine->config.max_qps)
		return engine_refuse(-ENOSPC, "max_qps %u: all QPs are in use", engine->config.max_qps);
	engine_timewait_wake(&engine->timewait, engine_now_ns());
	for (uint32_t i = 0; i < engine->index_count; i += lcores) {
		uint32_t at = ((drawn & ~engine->lcore_mask) + i + owner) & mask;
		struct engine_qp_slot *slot = &engine->qps[at];

		if (atomic_load_explicit(&slot->taken, memory_order_relaxed))
			continue;
		*qpn = choose_number(engine, at, drawn);
		if (*qpn == 0)
			continue;
		*index = at;
		atomic_store_explicit(&slot->taken, true, memory_order_relaxed);
		atomic_store_explicit(&slot->qpn, *qpn, memory_order_relaxed);
		atomic_fetch_add_explicit(&engine->qp_count, 1, memory_order_relaxed);
		return 0;
	}
	return engine_refuse(-ENOSPC, "lcore %u: no free QPN (all in use or in time-wait)", owner + 1);
}

void engine_steer_publish(struct uroce_engine *engine, struct uroce_qp *qp)
{
	/* T1: publishes the complete QP */
	atomic_store_explicit(&engine->qps[qp->index].qp, qp, memory_order_release);
}

void engine_steer_release(struct uroce_engine *engine, uint32_t index, uint32_t qpn, uint64_t time_wait_ns)
{
	struct engine_qp_slot *slot = &engine->qps[index];

	atomic_store_explicit(&slot->qp, NULL, memory_order_release);
	atomic_store_explicit(&engine->peers[index], 0, memory_order_relaxed);
	engine_timewait_begin(&engine->timewait, qpn, engine_now_ns(), time_wait_ns);
	atomic_store_explicit(&slot->taken, false, memory_order_release);
	atomic_fetch_sub_explicit(&engine->qp_count, 1, memory_order_relaxed);
}

/* ---- whose frames are handed to another lcore ---- */

/* Never 0, which stands for no path. */
static uint32_t hash_of(const struct uroce_engine *engine, const uint8_t peer[16], const uint8_t own[16])
{
	uint8_t addresses[32];

	memcpy(addresses, peer, 16);
	memcpy(addresses + 16, own, 16);
	return (uint32_t)share_hash_table(engine->cm_key, addresses, sizeof(addresses)) | 1;
}

static uint32_t hash_of_path(const struct uroce_engine *engine, const struct uroce_path *path)
{
	return path->device ? hash_of(engine, path->dest.bytes, path->source.bytes) : 0;
}

void engine_steer_set_peers(struct uroce_engine *engine, const struct uroce_qp *qp)
{
	const struct rc_qp *rc = qp_core(qp);
	uint32_t path = hash_of_path(engine, &rc->path), alternate = hash_of_path(engine, &rc->alternate.path);

	/* The word is all that other lcores read, so there is nothing to order it with. */
	atomic_store_explicit(&engine->peers[qp->index], (uint64_t)alternate << 32 | path, memory_order_relaxed);
}

enum rc_counter engine_steer_judge(const struct uroce_engine *engine, const struct wire_packet *packet,
				   const struct rc_origin *origin, bool crowded)
{
	uint32_t index = packet->dest_qpn & (engine->index_count - 1), hash;
	uint64_t peers = atomic_load_explicit(&engine->peers[index], memory_order_relaxed);
	uint8_t source[16], dest[16];

	if (peers == 0)
		return CNT_PORT_QP_STATE;
	origin_addresses(origin, source, dest);
	hash = hash_of(engine, source, dest);
	if (hash == (uint32_t)peers || hash == peers >> 32)
		return CNT_COUNTERS;
	/* An armed QP reports a request to migrate to another path; such frames get half of the ring. */
	if ((packet->flags & WIRE_MIGREQ) && peers >> 32 && !crowded)
		return CNT_COUNTERS;
	return CNT_PORT_ADDRESS;
}
