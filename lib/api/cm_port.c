/* cm_port.c - the port numbers of ids */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "api/cm_id.h"
#include "cm/service.h"
#include "engine/engine.h"
#include "engine/log.h"

/* With the engine's lock held. */
static bool port_is_taken(const struct uroce_engine *engine, uint64_t service_id, const uint8_t addr[16])
{
	static const uint8_t any[16];
	const struct uroce_cm_id *id;

	LIST_FOREACH(id, &engine->bound, with_bound)
	{
		if (id->listener.service_id == service_id &&
		    (memcmp(id->listener.addr, addr, 16) == 0 || memcmp(any, addr, 16) == 0 ||
		     memcmp(id->listener.addr, any, 16) == 0))
			return true;
	}
	return false;
}

/* Finds a free port, beginning at a random one. 0: there is none. */
static uint16_t choose_port(const struct uroce_engine *engine, uint64_t space, const uint8_t addr[16])
{
	uint32_t start = 0;

	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		start = 0;
	for (uint32_t i = 0; i < PORTS; i++) {
		uint16_t port = (uint16_t)(PORT_FIRST + (start + i) % PORTS);

		if (!port_is_taken(engine, space | port, addr))
			return port;
	}
	return 0;
}

/* With the engine's lock held. */
static int take_port(struct uroce_engine *engine, struct uroce_cm_id *id, const uint8_t addr[16], uint16_t port)
{
	uint64_t space = cm_service_id(id->datagrams ? CM_SPACE_UDP : CM_SPACE_TCP, 0);

	if (port == 0)
		port = choose_port(engine, space, addr);
	if (port == 0 || port_is_taken(engine, space | port, addr))
		return engine_refuse(-EADDRINUSE, "port %u: somebody has it already; 0 takes a free one", port);
	memcpy(id->listener.addr, addr, sizeof(id->listener.addr));
	id->listener.service_id = space | port;
	id->port = port;
	id->is_bound = true;
	LIST_INSERT_HEAD(&engine->bound, id, with_bound);
	return 0;
}

int uroce_cm_bind(struct uroce_cm_id *id, const struct uroce_addr *addr, uint16_t port)
{
	static const struct uroce_addr any;
	struct uroce_engine *engine = atomic_load(&id->channel)->engine;
	struct uroce_device *device = id->device;
	char text[64];
	int error = 0;

	if (id->is_bound || id->lcore)
		return engine_refuse(-EINVAL, "id: it has a port, or is on its way to a peer");
	pthread_mutex_lock(&engine->lock);
	if (!api_cm_is_any(addr)) {
		device = engine_connect_device_of(engine, addr);
		if (device == NULL)
			error = engine_refuse(-EADDRNOTAVAIL, "addr %s: no device of the engine has it",
					      uroce_addr_format(addr, text, sizeof(text)));
	}
	if (error == 0)
		error = take_port(engine, id, api_cm_is_any(addr) ? any.bytes : addr->bytes, port);
	pthread_mutex_unlock(&engine->lock);
	if (error == 0)
		id->device = device;
	return error;
}

void api_cm_unbind(struct uroce_cm_id *id)
{
	struct uroce_engine *engine = atomic_load(&id->channel)->engine;

	pthread_mutex_lock(&engine->lock);
	if (id->is_bound)
		LIST_REMOVE(id, with_bound);
	id->is_bound = false;
	pthread_mutex_unlock(&engine->lock);
}

uint16_t uroce_cm_port(const struct uroce_cm_id *id)
{
	return id->port;
}
