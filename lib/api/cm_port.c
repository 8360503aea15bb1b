/* cm_port.c - the port numbers of ids */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "api/cm_id.h"
#include "cm/service.h"
#include "engine/engine.h"
#include "engine/log.h"
#include "wire/encap.h"

static_assert(CM_ANY_FAMILY == (int)UROCE_CM_ANY_FAMILY && CM_IPV4 == (int)UROCE_CM_IPV4 &&
		      CM_IPV6 == (int)UROCE_CM_IPV6,
	      "the manager's are those of the public header");

/* The family of an address; the unspecified one has the family that the id was told. */
static enum cm_family family_of(const uint8_t addr[16], enum cm_family told)
{
	static const uint8_t any[16];

	if (memcmp(any, addr, 16) == 0)
		return told;
	return encap_addr_is_ipv4(addr) ? CM_IPV4 : CM_IPV6;
}

/* Do two ids with the same port accept a common address? */
static bool meet(const struct cm_listener *one, const uint8_t addr[16], enum cm_family told)
{
	static const uint8_t any[16];
	enum cm_family family = family_of(addr, told), other = family_of(one->addr, one->family);

	if (family != other && family != CM_ANY_FAMILY && other != CM_ANY_FAMILY)
		return false;
	return memcmp(one->addr, addr, 16) == 0 || memcmp(any, addr, 16) == 0 || memcmp(one->addr, any, 16) == 0;
}

/* Does another id keep the port from an id that may share it (reuses)? With the engine's lock held. */
static bool port_is_taken(const struct uroce_engine *engine, uint64_t service_id, const uint8_t addr[16],
			  enum cm_family family, bool reuses)
{
	const struct uroce_cm_id *id;

	LIST_FOREACH(id, &engine->bound, with_bound) {
		if (id->listener.service_id == service_id && meet(&id->listener, addr, family) &&
		    !(reuses && id->reuses_port && !id->listens))
			return true;
	}
	return false;
}

static int refuse_port(uint16_t port)
{
	return engine_refuse(-EADDRINUSE, "port %u: it is in use; use 0 for a free port", port);
}

int api_cm_check_alone(const struct uroce_engine *engine, const struct uroce_cm_id *id)
{
	const struct uroce_cm_id *other;

	LIST_FOREACH(other, &engine->bound, with_bound) {
		if (other != id && other->listener.service_id == id->listener.service_id &&
		    meet(&other->listener, id->listener.addr, id->listener.family))
			return refuse_port(id->port);
	}
	return 0;
}

/* Finds a free port, beginning at a random one. 0: there is none. */
static uint16_t choose_port(const struct uroce_engine *engine, uint64_t space, const uint8_t addr[16],
			    enum cm_family family)
{
	uint32_t start = 0;

	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		start = 0;
	for (uint32_t i = 0; i < PORTS; i++) {
		uint16_t port = (uint16_t)(PORT_FIRST + (start + i) % PORTS);

		if (!port_is_taken(engine, space | port, addr, family, false))
			return port;
	}
	return 0;
}

/* With the engine's lock held. */
static int take_port(struct uroce_engine *engine, struct uroce_cm_id *id, const uint8_t addr[16], uint16_t port)
{
	uint64_t space = cm_service_id(id->datagrams ? CM_SPACE_UDP : CM_SPACE_TCP, 0);
	enum cm_family family = id->listener.family;

	if (port == 0)
		port = choose_port(engine, space, addr, family);
	if (port == 0 || port_is_taken(engine, space | port, addr, family, id->reuses_port))
		return refuse_port(port);
	memcpy(id->listener.addr, addr, sizeof(id->listener.addr));
	id->listener.service_id = space | port;
	id->port = port;
	id->is_bound = true;
	LIST_INSERT_HEAD(&engine->bound, id, with_bound);
	return 0;
}

int uroce_cm_set_family(struct uroce_cm_id *id, enum uroce_cm_family family)
{
	if ((unsigned)family > UROCE_CM_IPV6)
		return engine_refuse(-EINVAL, "family %u: must be 0 to %u", (unsigned)family, (unsigned)UROCE_CM_IPV6);
	if (id->is_bound)
		return engine_refuse(-EINVAL,
				     "id: it is already bound to a port; set the family before the id is bound");
	id->listener.family = (enum cm_family)family;
	return 0;
}

int uroce_cm_set_reuse(struct uroce_cm_id *id, bool reuse)
{
	if (id->is_bound)
		return engine_refuse(-EINVAL, "id: it is already bound to a port; set reuse before the id is bound");
	id->reuses_port = reuse;
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
		return engine_refuse(-EINVAL, "id: it is already bound to a port, or is connecting");
	pthread_mutex_lock(&engine->lock);
	if (!api_cm_is_any(addr)) {
		device = engine_connect_device_of(engine, addr);
		if (device == NULL)
			error = engine_refuse(-EADDRNOTAVAIL, "addr %s: no device of the engine has this address",
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
