/* cm_listen.c - begins and ends listeners, while lcores may look them up */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>

#include <uroce/cm.h>
#include <uroce/ud.h>

#include "api/cm_id.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/log.h"
#include "engine/mailbox.h"

#define BACKLOG_MAX 65536u
#define BACKLOG_DEFAULT 1024u

static int check_listener(const struct uroce_cm_id *id)
{
	if (id->listens)
		return engine_refuse(-EINVAL, "id: it listens");
	return id->lcore ? engine_refuse(-EINVAL, "id: it is connecting to a peer, so it cannot listen") : 0;
}

/* With the engine's lock held. */
static int enter_listener(struct uroce_engine *engine, struct uroce_cm_id *id)
{
	struct cm_listeners *listeners = &engine->listeners;

	for (id->slot = 0; id->slot < CM_LISTENERS; id->slot++) {
		if (atomic_load(&listeners->slots[id->slot]) == NULL) {
			id->listens = true;
			atomic_store_explicit(&listeners->slots[id->slot], &id->listener, memory_order_release);
			return 0;
		}
	}
	return engine_refuse(-ENOSPC, "the engine already has %u listeners, the maximum; destroy one first",
			     CM_LISTENERS);
}

/* Begins to listen; service, address and the options are set already. */
static int begin_to_listen(struct uroce_cm_id *id)
{
	struct uroce_engine *engine = atomic_load(&id->channel)->engine;
	int error = id->is_bound ? 0 : uroce_cm_bind(id, NULL, 0);

	if (error)
		return error;
	id->listener.context = (uint64_t)(uintptr_t)id;
	pthread_mutex_lock(&engine->lock);
	error = api_cm_check_alone(engine, id);
	if (error == 0)
		error = enter_listener(engine, id);
	pthread_mutex_unlock(&engine->lock);
	return error;
}

static int check_backlog(uint32_t backlog)
{
	return backlog <= BACKLOG_MAX ?
		       0 :
		       engine_refuse(-EINVAL, "backlog %u: must be 0 to %u pending requests", backlog, BACKLOG_MAX);
}

int uroce_cm_listen_bound(struct uroce_cm_id *id, uint32_t backlog)
{
	int error = check_listener(id);

	if (error == 0)
		error = check_backlog(backlog);
	if (error)
		return error;
	id->listener.backlog = backlog ? backlog : BACKLOG_DEFAULT;
	id->listener.asks_user = id->datagrams;
	return begin_to_listen(id);
}

int uroce_cm_listen(struct uroce_cm_channel *channel, const struct uroce_addr *addr, uint16_t port, uint32_t backlog,
		    uint64_t context, struct uroce_cm_id **listener)
{
	struct uroce_cm_id *id;
	int error = check_backlog(backlog);

	if (error == 0)
		error = uroce_cm_id_create(channel, context, &id);
	if (error)
		return error;
	error = uroce_cm_bind(id, addr, port);
	if (error == 0)
		error = uroce_cm_listen_bound(id, backlog);
	if (error)
		api_cm_drop(id);
	else
		*listener = id;
	return error;
}

int uroce_cm_listen_ud(struct uroce_cm_channel *channel, const struct uroce_addr *addr, uint16_t port,
		       const struct uroce_ud *ud, struct uroce_cm_id **listener)
{
	struct uroce_cm_id *id;
	int error;

	if (ud == NULL)
		return engine_refuse(-EINVAL, "ud: NULL");
	error = uroce_cm_id_create_ud(channel, 0, &id);
	if (error)
		return error;
	id->listener.datagram_qpn = uroce_ud_num(ud);
	id->listener.datagram_qkey = uroce_ud_qkey(ud);
	error = uroce_cm_bind(id, addr, port);
	if (error == 0)
		error = begin_to_listen(id);
	if (error)
		api_cm_drop(id);
	else
		*listener = id;
	return error;
}

struct listener_on_lcore {
	struct uroce_lcore *lcore;
	struct cm_listener *listener;
};

static int forget_listener_on_owner(void *argument)
{
	const struct listener_on_lcore *on = argument;

	cm_forget_listener(on->lcore->connect->cm, on->listener);
	return 0;
}

/* Refuses the requests that nobody has read, and frees their ids. Returns 0 or a negative errno. */
static int refuse_unread(const struct uroce_cm_id *listener)
{
	struct uroce_cm_channel *channel = listener->channel;
	struct uroce_cm_id *id;

	while ((id = api_cm_pop_unread(channel, listener)) != NULL) {
		int error = api_cm_end(id); /* the id of a request does not listen */

		if (error) {
			api_cm_put_back(id);
			return error;
		}
	}
	return 0;
}

int api_cm_stop_listening(struct uroce_cm_id *id)
{
	struct uroce_engine *engine = atomic_load(&id->channel)->engine;

	pthread_mutex_lock(&engine->lock);
	if (atomic_load(&engine->listeners.slots[id->slot]) == &id->listener)
		atomic_store(&engine->listeners.slots[id->slot], NULL);
	pthread_mutex_unlock(&engine->lock);
	rte_rcu_qsbr_synchronize(engine->qsbr, RTE_QSBR_THRID_INVALID);
	for (unsigned i = 0; i < engine->lcore_count; i++) {
		struct listener_on_lcore on = { engine->lcores[i], &id->listener };
		int error = engine_mailbox_call(engine->lcores[i], forget_listener_on_owner, &on);

		if (error)
			return error;
	}
	return refuse_unread(id);
}
