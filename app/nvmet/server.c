/* server.c - a running target: opens and runs the lanes, and what they share */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/server.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/eal.h"
#include "nvmet/lane.h"
#include "nvmet/queue.h"
#include "nvmf/change.h"

#define BACKLOG 1024u
#define QPS 8192u
#define MRS 16384u

/* MRs need no shares of their own, because queues have shares of the QPs. */
static_assert(QPS + LANES_MAX + NVMF_SUBSYSTEMS_MAX * NVMF_NAMESPACES_MAX <= MRS,
	      "a port has MRs for all queues, for the buffers of all lanes and for all namespaces in memory");

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
		.no_dad = config->no_dad,
		.queue_count = (uint16_t)server->lane_count,
		/* ports begin at different lcores, so that ports with one queue use different lcores */
		.first_lcore = (uint16_t)(index % server->lane_count),
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
	if (port->port->queue_count < server->lane_count)
		fprintf(stderr,
			"note: port %s has only %u rx/tx queue pairs for %u lcores: the remaining lcores do not serve "
			"its hosts\n",
			port->device, port->port->queue_count, server->lane_count);
	else if (server->lane_count > 1 && strcmp(port->port->driver, "net_memif") == 0)
		fprintf(stderr, "note: port %s: the other end of the memif must also have %u rx/tx queue pairs\n",
			port->device, port->port->queue_count);
	if (uroce_pd_alloc(port->port->device, &port->pd) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for %s", port->device);
	tell_address(server, port);
	return APP_EXIT_OK;
}

static int open_engine(struct server *server, enum uroce_idle idle)
{
	/* Data for a namespace in memory is received where another host may just be reading. */
	struct uroce_engine_config config = {
		.lcore_count = server->lane_count,
		.max_qps = QPS,
		.max_mrs = MRS,
		.check_icrc_first = true,
		.idle = idle,
	};

	return uroce_engine_create(&config, &server->engine) == 0 ?
		       APP_EXIT_OK :
		       app_complain(APP_EXIT_ENVIRONMENT, "no memory for an engine");
}

static int open_lanes(struct server *server, const struct server_config *config)
{
	uint64_t pool_bytes = config->pool_bytes / server->lane_count / POOL_MOST_BYTES * POOL_MOST_BYTES;
	int code = APP_EXIT_OK;

	if (pool_bytes < POOL_LEAST_SHARE)
		pool_bytes = POOL_LEAST_SHARE;
	for (uint32_t i = 0; i < server->lane_count && code == APP_EXIT_OK; i++) {
		STAILQ_INIT(&server->lanes[i].waiting);
		STAILQ_INIT(&server->lanes[i].turns);
		STAILQ_INIT(&server->lanes[i].requests);
		server->lanes[i].server = server;
		server->lanes[i].index = i;
		server->lanes[i].queue_places.size = QPS / server->lane_count;
		server->lanes[i].lcore = uroce_engine_lcore(server->engine, i);
		code = lane_open(&server->lanes[i], pool_bytes, config->threads);
	}
	return code;
}

static int open_all(struct server *server, const struct server_config *config)
{
	int code = nvmf_target_init(&server->target, &config->nvmf);

	if (code)
		return app_complain(APP_EXIT_USAGE, "queue-depth, io-queues, in-capsule or max-data is out of range");
	server->service = config->service;
	server->lane_count = config->lanes ? config->lanes : 1;
	server->lanes = aligned_alloc(_Alignof(struct lane), server->lane_count * sizeof(*server->lanes));
	if (server->lanes == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for lcores");
	memset(server->lanes, 0, server->lane_count * sizeof(*server->lanes));
	code = open_engine(server, config->idle);
	for (uint32_t i = 0; i < config->port_count && code == APP_EXIT_OK; i++)
		code = open_port(server, config, i);
	if (code)
		return code;
	if (uroce_cm_channel_create(server->engine, &server->channel) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for connections");
	return open_lanes(server, config);
}

int server_open(struct server *server, const struct server_config *config)
{
	int code;

	memset(server, 0, sizeof(*server));
	pthread_mutex_init(&server->events_lock, NULL);
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
					    "cannot listen on %s, port %u: %s; choose another --port, or give each "
					    "port its own address",
					    server->ports[i].address, server->service, strerror(-error));
	}
	return APP_EXIT_OK;
}

/* ---- running ---- */

bool server_poll(struct server *server)
{
	uint32_t count = server->has_threads ? 1 : server->lane_count;
	bool worked = false;

	for (uint32_t i = 0; i < count; i++)
		worked |= lane_poll(&server->lanes[i]);
	return worked;
}

void server_end(struct server *server, unsigned seconds)
{
	uint64_t until_ns = app_now_ns() + seconds * 1000000000ull;

	server->ending = true;
	server_poll(server);
	while (server_queue_count(server) && app_now_ns() < until_ns)
		server_poll(server);
	/* Answers what the hosts still ask. */
	for (until_ns = app_now_ns() + 200000000; app_now_ns() < until_ns;)
		server_poll(server);
}

void server_close_queues(struct server *server)
{
	for (uint32_t i = 0; server->lanes && i < server->lane_count; i++) {
		struct lane *lane = &server->lanes[i];

		while (!LIST_EMPTY(&lane->queues))
			queue_close(LIST_FIRST(&lane->queues));
		LIST_INIT(&lane->ending_queues);
		STAILQ_INIT(&lane->waiting);
		STAILQ_INIT(&lane->turns);
	}
}

void server_close(struct server *server)
{
	server_close_queues(server);
	for (uint32_t i = 0; i < SERVER_PORTS_MAX; i++) {
		if (server->listeners[i])
			uroce_cm_id_destroy(server->listeners[i]);
	}
	for (uint32_t i = 0; server->lanes && i < server->lane_count; i++)
		lane_close(&server->lanes[i]);
	if (server->channel)
		uroce_cm_channel_destroy(server->channel);
	for (uint32_t i = 0; i < server->port_count; i++) {
		if (server->ports[i].pd)
			uroce_pd_dealloc(server->ports[i].pd);
		uroce_port_close(server->ports[i].port);
	}
	if (server->engine)
		uroce_engine_destroy(server->engine);
	nvmf_target_free(&server->target);
	pthread_mutex_destroy(&server->events_lock);
	free(server->spare);
	free(server->lanes);
	memset(server, 0, sizeof(*server));
}

/* ---- all lanes together ---- */

uint32_t server_queue_count(const struct server *server)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < server->lane_count; i++)
		sum += server->lanes[i].queue_count;
	return sum;
}

struct server_counts server_counts(const struct server *server)
{
	struct server_counts sum = { 0 };

	for (uint32_t i = 0; i < server->lane_count; i++) {
		const uint64_t *from = (const uint64_t *)&server->lanes[i].counts;
		uint64_t *to = (uint64_t *)&sum;

		for (size_t k = 0; k < sizeof(sum) / sizeof(*to); k++)
			to[k] += __atomic_load_n(&from[k], __ATOMIC_RELAXED);
	}
	return sum;
}

uint64_t server_used_bytes(const struct server *server)
{
	uint64_t units = 0;

	for (uint32_t i = 0; i < server->lane_count; i++)
		units += __atomic_load_n(&server->lanes[i].pool.units.used, __ATOMIC_RELAXED);
	return units * POOL_LEAST_BYTES;
}
