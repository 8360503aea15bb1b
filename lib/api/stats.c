/* stats.c - counters by name; sums over lcores and QPs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include "api/stats.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/port_state.h"
#include "engine/qp.h"
#include "engine/steer.h"

static_assert(CNT_COUNTERS <= UROCE_COUNTERS_MAX, "struct uroce_stats holds all");

uint32_t uroce_counter_count(void)
{
	return CNT_COUNTERS;
}

uint32_t uroce_qp_counter_count(void)
{
	return CNT_QP_COUNTERS;
}

const char *uroce_counter_name(uint32_t index)
{
	return index < CNT_COUNTERS ? rc_counters[index].name : NULL;
}

const char *uroce_counter_text(uint32_t index)
{
	return index < CNT_COUNTERS ? rc_counters[index].sentence : NULL;
}

int uroce_counter_find(const char *name)
{
	for (uint32_t i = 0; i < CNT_COUNTERS; i++) {
		if (strcmp(rc_counters[i].name, name) == 0)
			return (int)i;
	}
	return engine_refuse(-ENOENT, "name %.64s: no counter has this name, see uroce_counter_name()", name);
}

struct collection {
	struct uroce_lcore *lcore;
	struct uroce_device *device;
	struct uroce_stats *stats;
};

uint32_t stats_collect(const struct uroce_lcore *lcore, const struct uroce_device *device, struct uroce_stats *stats)
{
	const struct uroce_engine *engine = lcore->engine;
	const struct engine_port *port = engine_find_port(lcore, device);
	uint64_t *values = stats->values;
	uint32_t qps = 0;

	if (port) {
		for (uint32_t i = 0; i < CNT_COUNTERS; i++)
			values[i] += i < CNT_QP_COUNTERS ? port->retired[i] : port->counters[i];
		stats->rx_frames += port->rx_frames;
		stats->tx_frames += port->tx_frames;
		stats->rx_bytes += port->rx_bytes;
		stats->tx_bytes += port->tx_bytes;
	}
	for (uint32_t i = lcore->index; i < engine->index_count; i += engine->lcore_mask + 1) {
		const struct uroce_qp *qp = steer_find(engine, i);

		if (qp == NULL || qp->device != device)
			continue;
		qps++;
		for (uint32_t c = 0; c < CNT_QP_COUNTERS; c++)
			values[c] += qp_core(qp)->counters[c];
	}
	return qps;
}

static int collect(void *argument)
{
	const struct collection *collection = argument;

	stats_collect(collection->lcore, collection->device, collection->stats);
	return 0;
}

void uroce_device_stats(struct uroce_device *device, struct uroce_stats *stats)
{
	struct uroce_engine *engine = device->engine;

	memset(stats, 0, sizeof(*stats));
	stats->count = CNT_COUNTERS;
	for (unsigned i = 0; i < engine->lcore_count; i++) {
		struct collection collection = { .lcore = engine->lcores[i], .device = device, .stats = stats };

		engine_mailbox_call(engine->lcores[i], collect, &collection);
	}
	stats->values[CNT_PORT_EVENT_LOST] += atomic_load(&device->events_lost);
}

struct qp_collection {
	struct uroce_qp *qp;
	struct uroce_stats *stats;
};

static int collect_qp(void *argument)
{
	const struct qp_collection *collection = argument;

	memcpy(collection->stats->values, qp_core(collection->qp)->counters, sizeof(qp_core(collection->qp)->counters));
	return 0;
}

int uroce_qp_stats(struct uroce_qp *qp, struct uroce_stats *stats)
{
	struct qp_collection collection = { .qp = qp, .stats = stats };

	memset(stats, 0, sizeof(*stats));
	stats->count = CNT_QP_COUNTERS;
	return engine_mailbox_call(qp->owner, collect_qp, &collection);
}
