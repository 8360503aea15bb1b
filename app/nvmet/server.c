/* server.c - the target as it runs: ports, hosts' queues, stores, one lcore that polls them all */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/eal.h"
#include "nvmet/slot.h"

#define BURST 64
#define BACKLOG 1024u
#define LOOK_NS 100000000ull
#define QPS 8192u
#define MRS 16384u

/* ---- memory that ports may move ---- */

struct region *server_register(struct server *server, void *base, uint64_t bytes)
{
	struct region *region = calloc(1, sizeof(*region));

	if (region == NULL)
		return NULL;
	region->base = base;
	region->bytes = bytes;
	for (uint32_t i = 0; i < server->port_count; i++) {
		if (uroce_mr_reg(server->ports[i].pd, base, bytes, UROCE_ACCESS_LOCAL_WRITE, &region->mrs[i]) != 0) {
			server_deregister(server, region);
			return NULL;
		}
		region->lkeys[i] = uroce_mr_lkey(region->mrs[i]);
	}
	return region;
}

void server_deregister(struct server *server, struct region *region)
{
	for (uint32_t i = 0; i < server->port_count; i++) {
		if (region->mrs[i])
			uroce_mr_dereg(region->mrs[i]);
	}
	free(region);
}

/* ---- opening ---- */

static void tell_address(struct server *server, const struct server_port *port)
{
	static const uint8_t mapped[12] = { [10] = 0xFF, [11] = 0xFF };
	struct nvmf_address address = { .family = NVME_FAMILY_IPV6, .port_id = (uint16_t)(port - server->ports + 1) };

	if (memcmp(port->addr.bytes, mapped, sizeof(mapped)) == 0)
		address.family = NVME_FAMILY_IPV4;
	uroce_addr_format(&port->addr, address.address, sizeof(address.address));
	snprintf(address.service, sizeof(address.service), "%u", server->service);
	nvmf_target_add_address(&server->target, &address);
}

static int open_port(struct server *server, const struct server_config *config, uint32_t index)
{
	struct uroce_port_config port_config = {
		.engine = server->engine,
		.addresses = { config->addresses[index] },
		.gateways = { config->gateways[index] },
		.vlans = { config->vlans[index] },
		.record_path = config->record_path,
	};
	struct server_port *port = &server->ports[index];
	struct uroce_error error;
	int code = uroce_port_open(config->devices[index], &port_config, &port->port, &error);

	if (code)
		return app_complain(app_exit_of(code), "%s", error.text);
	server->port_count = index + 1;
	port->device = config->devices[index];
	port->address = config->addresses[index];
	uroce_addr_parse(port->address, &port->addr, NULL);
	if (uroce_pd_alloc(port->port->device, &port->pd) != 0 ||
	    uroce_cq_create(port->port->device, SERVER_COMPLETIONS, &port->cq) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for the completions of %s", port->device);
	tell_address(server, port);
	return APP_EXIT_OK;
}

static int open_all(struct server *server, const struct server_config *config)
{
	/* Data for a namespace in memory come straight to where another host may just be reading. */
	struct uroce_engine_config engine_config = { .max_qps = QPS, .max_mrs = MRS, .check_icrc_first = true };
	char reason[STORE_ERROR_BYTES];
	int code = nvmf_target_init(&server->target, &config->nvmf);

	if (code)
		return app_complain(APP_EXIT_USAGE, "a size of queues or data is out of range");
	server->service = config->service;
	if (uroce_engine_create(&engine_config, &server->engine) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for an engine");
	server->lcore = uroce_engine_lcore(server->engine, 0);
	for (uint32_t i = 0; i < config->port_count; i++) {
		code = open_port(server, config, i);
		if (code)
			return code;
	}
	if (uroce_cm_channel_create(server->engine, &server->channel) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for connections");
	if (pool_open(&server->pool, config->pool_bytes) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for %lu bytes of buffers: use a smaller pool",
				    config->pool_bytes);
	server->pool_region = server_register(server, server->pool.base, server->pool.bytes);
	if (server->pool_region == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for regions");
	server->ring = ring_open(server->pool.base, server->pool.bytes, config->threads, reason, sizeof(reason));
	if (server->ring == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for the work on files");
	if (reason[0])
		fprintf(stderr, "note: %s; threads read and write files\n", reason);
	return APP_EXIT_OK;
}

int server_open(struct server *server, const struct server_config *config)
{
	int code;

	memset(server, 0, sizeof(*server));
	code = open_all(server, config);
	if (code)
		server_close(server);
	return code;
}

int server_listen(struct server *server)
{
	for (uint32_t i = 0; i < server->port_count; i++) {
		int error = uroce_cm_listen(server->channel, &server->ports[i].addr, server->service, BACKLOG, 0,
					    &server->listeners[i]);

		if (error)
			return app_complain(APP_EXIT_ENVIRONMENT,
					    "listen at %s port %u: %s; choose another --port, or an address of its own "
					    "for each port",
					    server->ports[i].address, server->service, strerror(-error));
	}
	return APP_EXIT_OK;
}

/* ---- running ---- */

static void take_event(struct server *server, const struct uroce_cm_event *event)
{
	struct queue *queue = (struct queue *)(uintptr_t)event->context;

	switch (event->type) {
	case UROCE_CM_REQUEST:
		queue_open(server, event);
		break;
	case UROCE_CM_REJECTED:
	case UROCE_CM_UNREACHABLE:
	case UROCE_CM_DISCONNECTED:
		if (queue)
			queue_end(queue, event->status ? strerror(-event->status) : "it has disconnected");
		break;
	case UROCE_CM_ESTABLISHED:
	case UROCE_CM_ALTERNATE:
	case UROCE_CM_RESOLVED:
	case UROCE_CM_EVENT_TYPES:
		break;
	}
}

static unsigned take_completions(struct server *server)
{
	struct uroce_wc wc[BURST];
	unsigned taken = 0;

	for (uint32_t i = 0; i < server->port_count; i++) {
		int count = uroce_cq_poll(server->ports[i].cq, BURST, wc);

		for (int k = 0; k < count; k++)
			queue_take_completion((struct queue *)(uintptr_t)wc[k].qp_context, &wc[k]);
		taken += (unsigned)count;
	}
	return taken;
}

static void look_around(struct server *server)
{
	struct nvmf_controller *controller;

	server->looked_ns = server->now_ns;
	slot_tell_events(server);
	queue_look(server);
	while ((controller = nvmf_target_expired(&server->target, server->now_ns)) != NULL) {
		server->counts.expired++;
		queue_end(nvmf_controller_queue(controller)->context, "it has not been heard for its keep-alive time");
	}
}

bool server_poll(struct server *server)
{
	struct uroce_cm_event event;
	unsigned work;

	server->now_ns = app_now_ns();
	work = uroce_lcore_poll(server->lcore);
	while (uroce_cm_next(server->channel, &event) == 0) {
		take_event(server, &event);
		work++;
	}
	work += take_completions(server);
	if (server->ring)
		work += ring_poll(server->ring);
	if (server->waiting_first)
		slot_try_again(server);
	if (server->ending_queues)
		queue_close_done(server);
	if (server->now_ns - server->looked_ns >= LOOK_NS)
		look_around(server);
	return work > 0;
}

void server_end(struct server *server, unsigned seconds)
{
	uint64_t until_ns = app_now_ns() + seconds * 1000000000ull;

	server->ending = true;
	for (struct queue *queue = server->queues; queue; queue = queue->next)
		queue_end(queue, "the target ends");
	while (server->queues && server->now_ns < until_ns)
		server_poll(server);
	/* What the hosts still ask is answered. */
	for (until_ns = app_now_ns() + 200000000; server->now_ns < until_ns;)
		server_poll(server);
}

void server_close_queues(struct server *server)
{
	while (server->queues)
		queue_close(server->queues);
	server->ending_queues = server->waiting_first = server->waiting_last = NULL;
}

void server_close(struct server *server)
{
	server_close_queues(server);
	for (uint32_t i = 0; i < SERVER_PORTS_MAX; i++) {
		if (server->listeners[i])
			uroce_cm_id_destroy(server->listeners[i]);
	}
	if (server->channel)
		uroce_cm_channel_destroy(server->channel);
	if (server->ring)
		ring_close(server->ring);
	if (server->pool_region)
		server_deregister(server, server->pool_region);
	pool_close(&server->pool);
	for (uint32_t i = 0; i < server->port_count; i++) {
		if (server->ports[i].cq)
			uroce_cq_destroy(server->ports[i].cq);
		if (server->ports[i].pd)
			uroce_pd_dealloc(server->ports[i].pd);
		uroce_port_close(server->ports[i].port);
	}
	if (server->engine)
		uroce_engine_destroy(server->engine);
	nvmf_target_free(&server->target);
	memset(server, 0, sizeof(*server));
}
