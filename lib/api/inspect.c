/* inspect.c - views of QPs, ports and lcores, each made by its owner, so that it cannot be destroyed meanwhile */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>

#include <rte_ethdev.h>

#include <uroce/inspect.h>

#include "api/stats.h"
#include "engine/away.h"
#include "engine/clock.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/link.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/port_state.h"
#include "engine/steer.h"
#include "engine/view.h"

/* ---- queue pairs ---- */

uint32_t uroce_inspect_qps(const struct uroce_engine *engine, uint32_t *next, uint32_t *qp_nums, uint32_t count)
{
	uint32_t found = 0;

	for (; *next < engine->index_count && found < count; (*next)++) {
		if (steer_find(engine, *next))
			qp_nums[found++] = atomic_load_explicit(&engine->qps[*next].qpn, memory_order_relaxed);
	}
	return found;
}

struct qp_call {
	const struct uroce_engine *engine;
	uint32_t qp_num;
	struct uroce_qp_view *view;
};

static int view_qp(void *argument)
{
	const struct qp_call *call = argument;
	const struct uroce_qp *qp = steer_lookup(call->engine, call->qp_num);

	if (qp == NULL)
		return engine_refuse_often(-ENOENT, "qp_num %u: no QP has this number", call->qp_num);
	engine_view_qp(qp, call->view);
	return 0;
}

int uroce_inspect_qp(struct uroce_engine *engine, uint32_t qp_num, struct uroce_qp_view *view)
{
	struct qp_call call = { .engine = engine, .qp_num = qp_num, .view = view };
	uint32_t owner = steer_lcore(engine, qp_num);

	if (owner >= engine->lcore_count)
		return engine_refuse_often(-ENOENT, "qp_num %u: no QP has this number", qp_num);
	return engine_mailbox_look(engine->lcores[owner], view_qp, &call);
}

bool uroce_inspect_failed(const struct uroce_engine *engine, unsigned lcore, uint32_t *next, struct uroce_qp_view *view)
{
	return lcore < engine->lcore_count && engine_view_next_failed(engine->lcores[lcore]->failed, next, view);
}

/* ---- ports ---- */

struct port_call {
	struct uroce_lcore *lcore;
	uint16_t *ids; /* filled as far as there is room */
	uint32_t room, count;
	uint16_t port_id;
	struct uroce_port_view *view;
	bool found;
};

static int list_ports(void *argument)
{
	struct port_call *call = argument;

	for (unsigned i = 0; i < call->lcore->port_count; i++) {
		uint16_t id = call->lcore->ports[i]->device->port_id;
		uint32_t known = 0;

		while (known < call->count && call->ids[known] != id)
			known++;
		if (known == call->count && call->count < call->room)
			call->ids[call->count++] = id;
	}
	return 0;
}

uint32_t uroce_inspect_ports(struct uroce_engine *engine, uint16_t *port_ids, uint32_t count)
{
	struct port_call call = { .ids = port_ids, .room = count };

	for (unsigned i = 0; i < engine->lcore_count; i++) {
		call.lcore = engine->lcores[i];
		if (engine_mailbox_look(call.lcore, list_ports, &call) == -ETIMEDOUT)
			break;
	}
	return call.count;
}

static void describe_port(const struct uroce_device *device, struct uroce_port_view *view)
{
	rte_eth_dev_get_name_by_port(device->port_id, view->name);
	view->link_up = !engine_link_is_down(device);
	view->queue_count = device->config.queue_count;
	view->first_lcore = device->config.first_lcore;
	view->regions = device->mrs.used;
	uroce_device_query(device, &view->info);
}

static int view_port(void *argument)
{
	struct port_call *call = argument;

	for (unsigned i = 0; i < call->lcore->port_count; i++) {
		struct uroce_device *device = call->lcore->ports[i]->device;

		if (device->port_id != call->port_id)
			continue;
		if (!call->found)
			describe_port(device, call->view);
		call->found = true;
		call->view->qps += stats_collect(call->lcore, device, &call->view->stats);
	}
	return 0;
}

int uroce_inspect_port(struct uroce_engine *engine, uint16_t port_id, struct uroce_port_view *view)
{
	struct port_call call = { .port_id = port_id, .view = view };

	*view = (struct uroce_port_view){ .stats = { .count = CNT_COUNTERS } };
	for (unsigned i = 0; i < engine->lcore_count; i++) {
		int error;

		call.lcore = engine->lcores[i];
		error = engine_mailbox_look(call.lcore, view_port, &call);
		if (error)
			return error;
	}
	return call.found ? 0 :
			    engine_refuse_often(-ENOENT, "port_id %u: no device of the engine uses this port", port_id);
}

/* ---- memory regions ---- */

struct mr_call {
	const struct uroce_lcore *lcore;
	struct uroce_mr_view *views;
	uint32_t *next;
	uint32_t room, count;
	uint16_t port_id;
	bool found;
};

/* Returns false if the entry is not valid, or was changed while it was read. */
static bool view_mr(const struct rc_mr_entry *entry, struct uroce_mr_view *view)
{
	uint32_t key = atomic_load_explicit(&entry->key, memory_order_acquire);
	uint32_t version = atomic_load_explicit(&entry->version, memory_order_acquire), windows;

	if (key == 0 || version & 1)
		return false;
	windows = atomic_load_explicit(&entry->windows, memory_order_relaxed);
	*view = (struct uroce_mr_view){
		.addr = entry->va,
		.bytes = entry->bytes,
		.access = entry->access & ~MR_ACCESS_LOCAL,
		.domain = entry->pd,
		.windows = entry->kind == MR_REGION ? windows : 0,
		.is_window = entry->kind != MR_REGION,
	};
	/* pairs with the release of the writer: the fields belong together if key and version have not changed */
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&entry->key, memory_order_relaxed) == key &&
	       atomic_load_explicit(&entry->version, memory_order_relaxed) == version;
}

static int view_mrs(void *argument)
{
	struct mr_call *call = argument;

	for (unsigned i = 0; i < call->lcore->port_count; i++) {
		const struct uroce_device *device = call->lcore->ports[i]->device;

		if (device->port_id != call->port_id)
			continue;
		call->found = true;
		for (; *call->next < device->mrs.count && call->count < call->room; ++*call->next)
			call->count += view_mr(&device->mrs.entries[*call->next], &call->views[call->count]);
	}
	return 0;
}

int uroce_inspect_mrs(struct uroce_engine *engine, uint16_t port_id, uint32_t *next, struct uroce_mr_view *views,
		      uint32_t count)
{
	struct mr_call call = { .views = views, .next = next, .room = count, .port_id = port_id };

	for (unsigned i = 0; i < engine->lcore_count && !call.found; i++) {
		int error;

		call.lcore = engine->lcores[i];
		error = engine_mailbox_look(engine->lcores[i], view_mrs, &call);
		if (error)
			return error;
	}
	return call.found ? (int)call.count :
			    engine_refuse_often(-ENOENT, "port_id %u: no device of the engine uses this port", port_id);
}

/* ---- lcores ---- */

struct lcore_call {
	const struct uroce_lcore *lcore;
	struct uroce_lcore_view *view;
};

static int view_lcore(void *argument)
{
	const struct lcore_call *call = argument;
	const struct uroce_engine *engine = call->lcore->engine;

	*call->view = (struct uroce_lcore_view){
		.lcore_id = call->lcore->lcore_id,
		.since_ns = engine_now_ns() - call->lcore->made_ns,
		.busy_ns = call->lcore->busy_ns,
		.starved_ns = engine_away_starved_ns(call->lcore),
		.away_count = call->lcore->away.count,
		.away_ns = call->lcore->away.total_ns,
	};
	for (uint32_t i = call->lcore->index; i < engine->index_count; i += engine->lcore_mask + 1)
		call->view->qps += steer_find(engine, i) != NULL;
	return 0;
}

int uroce_inspect_lcore(struct uroce_engine *engine, unsigned lcore, struct uroce_lcore_view *view)
{
	struct lcore_call call = { .view = view };

	if (lcore >= engine->lcore_count)
		return engine_refuse_often(-ENOENT, "lcore %u: the engine has no lcore with this index", lcore);
	call.lcore = engine->lcores[lcore];
	return engine_mailbox_look(engine->lcores[lcore], view_lcore, &call);
}
