/* cm_listen.c - listeners: their addresses and ports, and how they go while lcores look them up */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <uroce/cm.h>
#include <uroce/ud.h>

#include "api/cm_id.h"
#include "engine/log.h"
#include "engine/mailbox.h"

#define BACKLOG_MAX 65536u

static bool port_is_taken(const struct cm_listeners *listeners, uint64_t service_id, const uint8_t addr[16])
{
	static const uint8_t any[16];

	for (uint32_t i = 0; i < CM_LISTENERS; i++) {
		const struct cm_listener *listener = atomic_load(&listeners->slots[i]);

		if (listener && listener->service_id == service_id &&
		    (memcmp(listener->addr, addr, 16) == 0 || memcmp(any, addr, 16) == 0 ||
		     memcmp(listener->addr, any, 16) == 0))
			return true;
	}
	return false;
}

/* One that is free, beginning anywhere. 0: none. */
static uint16_t choose_port(const struct cm_listeners *listeners, uint64_t space, const uint8_t addr[16])
{
	uint32_t start = 0;

	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		start = 0;
	for (uint32_t i = 0; i < PORTS; i++) {
		uint16_t port = (uint16_t)(PORT_FIRST + (start + i) % PORTS);

		if (!port_is_taken(listeners, space | port, addr))
			return port;
	}
	return 0;
}

/* Under the engine's lock. */
static int enter_listener(struct uroce_engine *engine, struct uroce_cm_id *id, uint64_t space, uint16_t port)
{
	struct cm_listeners *listeners = &engine->listeners;

	id->port = port ? port : choose_port(listeners, space, id->listener.addr);
	id->listener.service_id = space | id->port;
	if (id->port == 0 || port_is_taken(listeners, id->listener.service_id, id->listener.addr))
		return engine_refuse(-EADDRINUSE, "port %u: somebody listens there already; 0 takes a free one", port);
	for (id->slot = 0; id->slot < CM_LISTENERS; id->slot++) {
		if (atomic_load(&listeners->slots[id->slot]) == NULL) {
			atomic_store_explicit(&listeners->slots[id->slot], &id->listener, memory_order_release);
			return 0;
		}
	}
	return engine_refuse(-ENOSPC, "the engine has %u listeners already; destroy one first", CM_LISTENERS);
}

/* ud: NULL: for connections. */
static int listen_at(struct uroce_cm_channel *channel, const struct uroce_addr *addr, uint16_t port,
		     const struct cm_listener *what, const struct uroce_ud *ud, struct uroce_cm_id **result)
{
	static const struct uroce_addr any;
	struct uroce_engine *engine = channel->engine;
	bool named = addr && memcmp(addr, &any, sizeof(any)) != 0;
	struct uroce_cm_id *id = api_cm_make_id(channel, what->context);
	char text[64];
	int error = 0;

	if (id == NULL)
		return engine_refuse(-ENOMEM, "no memory for a listener");
	id->listens = true;
	id->listener.backlog = what->backlog;
	id->listener.context = (uint64_t)(uintptr_t)id;
	id->listener.datagram_qpn = ud ? uroce_ud_num(ud) : 0;
	id->listener.datagram_qkey = ud ? uroce_ud_qkey(ud) : 0;
	if (named)
		memcpy(id->listener.addr, addr->bytes, sizeof(id->listener.addr));
	pthread_mutex_lock(&engine->lock);
	if (named && engine_connect_device_of(engine, addr) == NULL)
		error = engine_refuse(-EADDRNOTAVAIL, "addr %s: no device of the engine has it",
				      uroce_addr_format(addr, text, sizeof(text)));
	if (error == 0)
		error = enter_listener(engine, id, ud ? SERVICE_UDP : SERVICE_TCP, port);
	pthread_mutex_unlock(&engine->lock);
	if (error) {
		atomic_fetch_sub(&channel->ids, 1);
		free(id);
		return error;
	}
	*result = id;
	return 0;
}

int uroce_cm_listen(struct uroce_cm_channel *channel, const struct uroce_addr *addr, uint16_t port, uint32_t backlog,
		    uint64_t context, struct uroce_cm_id **listener)
{
	const struct cm_listener what = { .backlog = backlog, .context = context };

	if (backlog < 1 || backlog > BACKLOG_MAX)
		return engine_refuse(-EINVAL, "backlog %u: 1 ... %u requests that wait to be accepted", backlog,
				     BACKLOG_MAX);
	return listen_at(channel, addr, port, &what, NULL, listener);
}

int uroce_cm_listen_datagrams(struct uroce_cm_channel *channel, const struct uroce_addr *addr, uint16_t port,
			      const struct uroce_ud *ud, struct uroce_cm_id **listener)
{
	const struct cm_listener what = { .backlog = 0 }; /* nobody connects to it */

	if (ud == NULL)
		return engine_refuse(-EINVAL, "ud: NULL");
	return listen_at(channel, addr, port, &what, ud, listener);
}

uint16_t uroce_cm_port(const struct uroce_cm_id *id)
{
	return id->port;
}

struct farewell {
	struct uroce_lcore *lcore;
	struct cm_listener *listener;
};

static int forget_listener_on_owner(void *argument)
{
	const struct farewell *what = argument;

	cm_forget_listener(what->lcore->connect->cm, what->listener);
	return 0;
}

/* Those whose REQUEST nobody has read: their ids are nobody's, and they are refused. 0 or negative errno. */
static int refuse_unread(const struct uroce_cm_id *listener)
{
	struct uroce_cm_id *id;

	while ((id = api_cm_take_unread(listener->channel, listener)) != NULL) {
		int error = uroce_cm_id_destroy(id);

		if (error) {
			api_cm_put_back(id);
			return error;
		}
	}
	return 0;
}

int api_cm_stop_listening(struct uroce_cm_id *id)
{
	struct uroce_engine *engine = id->channel->engine;

	pthread_mutex_lock(&engine->lock);
	if (atomic_load(&engine->listeners.slots[id->slot]) == &id->listener)
		atomic_store(&engine->listeners.slots[id->slot], NULL);
	pthread_mutex_unlock(&engine->lock);
	rte_rcu_qsbr_synchronize(engine->qsbr, RTE_QSBR_THRID_INVALID);
	for (unsigned i = 0; i < engine->lcore_count; i++) {
		struct farewell what = { engine->lcores[i], &id->listener };
		int error = engine_mailbox_call(engine->lcores[i], forget_listener_on_owner, &what);

		if (error)
			return error;
	}
	return refuse_unread(id);
}
