/* cm_route.c - chooses device and address for a peer, before there is a connection or a queue pair */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "api/cm_id.h"
#include "cm/service.h"
#include "engine/device.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"
#include "engine/route.h"

#define PATIENCE_DEFAULT_MS 3000u

bool api_cm_is_any(const struct uroce_addr *addr)
{
	static const struct uroce_addr any;

	return addr == NULL || memcmp(addr, &any, sizeof(any)) == 0;
}

/* ---- choosing ---- */

/* Chooses the device with the source address, or with the one that suits dest best. With the lock held. NULL: none. */
static struct uroce_device *choose_device(const struct uroce_engine *engine, const struct uroce_addr *source,
					  const struct uroce_addr *dest)
{
	struct uroce_device *chosen = NULL;
	unsigned best = 0;

	if (!api_cm_is_any(source))
		return engine_connect_device_of(engine, source);
	for (unsigned i = 0; i < ENGINE_DEVICES; i++) {
		unsigned rank = 0;

		if (engine->devices[i])
			engine_route_choose_source(&engine->devices[i]->config, dest, &rank);
		if (rank > best) {
			best = rank;
			chosen = engine->devices[i];
		}
	}
	return chosen;
}

/*
 * Chooses the given address, or the one that suits dest best, with its VLAN. Returns 0; -EADDRNOTAVAIL; -ENETUNREACH.
 */
static int choose_source(struct uroce_device *device, const struct uroce_addr *given, const struct uroce_addr *dest,
			 struct uroce_path *path)
{
	const struct uroce_device_config *config = &device->config;
	bool named = !api_cm_is_any(given);
	char text[INET6_ADDRSTRLEN], own[INET6_ADDRSTRLEN];
	unsigned rank;
	int index = named ? engine_route_find(config, given->bytes) : engine_route_choose_source(config, dest, &rank);

	if (index < 0)
		return named ? engine_refuse(-EADDRNOTAVAIL, "source %s: port %u does not have this address",
					     uroce_addr_format(given, text, sizeof(text)), device->port_id) :
			       engine_refuse(-ENETUNREACH, "dest %s: port %u has no address of that family",
					     uroce_addr_format(dest, text, sizeof(text)), device->port_id);
	*path = (struct uroce_path){ .source = config->addrs[index], .dest = *dest, .device = device };
	engine_route_complete(config, path);
	if (engine_route_next_hop(config, path))
		return 0;
	return engine_refuse(-ENETUNREACH, "dest %s: it is outside the network of %s, which has no gateway",
			     uroce_addr_format(dest, text, sizeof(text)),
			     uroce_addr_format(&path->source, own, sizeof(own)));
}

static int refuse_device(const struct uroce_addr *source, const struct uroce_addr *dest)
{
	char text[INET6_ADDRSTRLEN];

	if (!api_cm_is_any(source))
		return engine_refuse(-EADDRNOTAVAIL, "source %s: no device of the engine has this address",
				     uroce_addr_format(source, text, sizeof(text)));
	return engine_refuse(-ENETUNREACH, "dest %s: no device of the engine has a route to it",
			     uroce_addr_format(dest, text, sizeof(text)));
}

/* From now on an lcore of the device serves the id. */
static void take_device(struct uroce_cm_id *id, struct uroce_device *device)
{
	pthread_mutex_lock(&device->engine->lock);
	if (id->lcore == NULL)
		id->lcore = engine_device_pick_lcore(device, NULL);
	pthread_mutex_unlock(&device->engine->lock);
	id->device = device;
}

/* The id does not wait for the route any more, because its user has asked for something else. */
static int stop_on_owner(void *argument)
{
	struct uroce_cm_id *id = argument;

	if (id->aim != CONNECT_ROUTE)
		return 0;
	engine_connect_pause(id);
	id->resolving = false;
	return 0;
}

int api_cm_find_path(struct uroce_cm_id *id, const struct uroce_addr *source, const struct uroce_addr *dest,
		     struct uroce_path *path)
{
	struct uroce_engine *engine = atomic_load(&id->channel)->engine;
	struct uroce_device *device = id->device;
	struct uroce_addr bound;
	int error;

	if (id->has_route) { /* the owner may be reading its request */
		error = engine_mailbox_call(id->lcore, stop_on_owner, id);
		if (error)
			return error;
	}
	if (id->connection != CM_NONE || id->resolving)
		return engine_refuse(-EISCONN, "id: it was already resolved or connected; create a new id");
	if (api_cm_is_any(dest) && !id->has_route)
		return engine_refuse(-EINVAL, "dest: an address is required unless uroce_cm_route() has set one");
	if (api_cm_is_any(dest)) {
		*path = connect_path(&id->request.route);
		return 0;
	}
	memcpy(bound.bytes, id->listener.addr, sizeof(bound.bytes));
	if (id->is_bound && api_cm_is_any(source))
		source = &bound;
	if (device == NULL) {
		pthread_mutex_lock(&engine->lock);
		device = choose_device(engine, source, dest);
		pthread_mutex_unlock(&engine->lock);
	}
	if (device == NULL)
		return refuse_device(source, dest);
	error = choose_source(device, source, dest, path);
	if (error == 0)
		take_device(id, device);
	return error;
}

/* ---- asking ---- */

int api_cm_begin_on_owner(void *argument)
{
	struct uroce_cm_id *id = argument;

	if (id->connection != CM_NONE)
		return engine_refuse(-EISCONN, "id: it was already resolved or connected; create a new id");
	engine_connect_begin(id);
	return 0;
}

int uroce_cm_route(struct uroce_cm_id *id, const struct uroce_addr *source, const struct uroce_addr *dest,
		   unsigned timeout_ms)
{
	struct uroce_path path;
	int error;

	if (id->listens)
		return engine_refuse(-EINVAL, "id: it listens");
	error = api_cm_find_path(id, source, dest, &path);
	if (error)
		return error;
	id->request = (struct cm_connect){ .route = connect_route(&path) };
	id->has_route = true;
	id->aim = CONNECT_ROUTE;
	id->patience_ns = (timeout_ms ? timeout_ms : PATIENCE_DEFAULT_MS) * 1000000ull;
	return engine_mailbox_call(id->lcore, api_cm_begin_on_owner, id);
}

/* ---- services of datagrams ---- */

int api_cm_ask(struct uroce_cm_id *id, const struct uroce_path *path, uint16_t port,
	       const struct uroce_cm_options *options)
{
	int error = api_cm_check_datagrams(options, UROCE_CM_UD_CONNECT_PRIVATE_MAX);

	if (error)
		return error;
	if (!id->is_bound)
		id->port = (uint16_t)(PORT_FIRST + (uintptr_t)id / 64 % PORTS);
	id->aim = CONNECT_ASK;
	id->request = (struct cm_connect){
		.route = connect_route(path),
		.service_id = cm_service_id(CM_SPACE_UDP, port),
		.source_port = id->port,
		.context = (uint64_t)(uintptr_t)id,
		.side = { .ack_timeout = TIMEOUT_DEFAULT },
		.response_timeout = options->cm_timeout,
		.max_retries = options->cm_retries,
		.user = { id->request_private, options->private_bytes },
	};
	id->request.route.traffic_class = options->traffic_class;
	if (options->private_bytes)
		memcpy(id->request_private, options->private_data, options->private_bytes);
	return engine_mailbox_call(id->lcore, api_cm_begin_on_owner, id);
}

/* There is no QP, so any lcore that serves the device asks the peer. */
int uroce_cm_resolve_ud(struct uroce_cm_id *id, struct uroce_device *device, const struct uroce_addr *source,
			const struct uroce_addr *dest, uint16_t port)
{
	struct uroce_path path;
	int error;

	if (id->listens || id->qp)
		return engine_refuse(-EINVAL, "id: it is a listener, or already has a QP");
	if (id->lcore)
		return engine_refuse(-EISCONN, "id: it was already resolved or connected; create a new id");
	error = choose_source(device, source, dest, &path);
	if (error)
		return error;
	take_device(id, device);
	return api_cm_ask(id, &path, port, &api_cm_no_options);
}
