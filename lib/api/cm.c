/* cm.c - connections: checks arguments, travels to the lcore of the connection, hands out events */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "engine/connect.h"
#include "engine/mailbox.h"
#include "engine/route.h"
#include "rc/codes.h"
#include "wire/encap.h"

#define SERVICE_TCP 0x0000000001060000ull /* port space of rdma_cm */
#define BACKLOG_MAX 65536u
#define PORT_FIRST 49152u /* of those that are chosen */
#define PORTS 16384u
#define TIMEOUT_DEFAULT 14u
#define RETRY_DEFAULT 7u
#define RNR_TIMER_DEFAULT_CODE 12u
#define RD_ATOMIC_DEFAULT 16u
#define POLL_MS 100u

/* ---- channels ---- */

int uroce_cm_channel_create(struct uroce_engine *engine, struct uroce_cm_channel **result)
{
	struct uroce_cm_channel *channel = calloc(1, sizeof(*channel));
	int error = 0;

	if (channel == NULL)
		return -ENOMEM;
	channel->engine = engine;
	rte_spinlock_init(&channel->lock);
	channel->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (channel->fd < 0) {
		error = -errno;
		free(channel);
		return error;
	}
	pthread_mutex_lock(&engine->lock);
	if (engine->channels == 0)
		error = engine_connect_open(engine);
	if (error == 0)
		engine->channels++;
	pthread_mutex_unlock(&engine->lock);
	if (error) {
		close(channel->fd);
		free(channel);
		return error;
	}
	*result = channel;
	return 0;
}

/* The managers stay until the engine goes: connections of ids that are gone may still be ending. */
int uroce_cm_channel_destroy(struct uroce_cm_channel *channel)
{
	if (atomic_load(&channel->ids) > 0)
		return -EBUSY;
	close(channel->fd);
	free(channel);
	return 0;
}

int uroce_cm_channel_fd(const struct uroce_cm_channel *channel)
{
	return channel->fd;
}

int uroce_cm_next(struct uroce_cm_channel *channel, struct uroce_cm_event *event)
{
	struct uroce_cm_id *id;
	uint64_t count;
	int error = -EAGAIN;

	rte_spinlock_lock(&channel->lock);
	id = channel->first;
	if (id) {
		*event = id->events[id->event_head++ % CONNECT_EVENTS];
		channel->first = id->next;
		if (channel->first == NULL)
			channel->last = NULL;
		id->queued = id->event_head != id->event_tail;
		if (id->queued) { /* its next one has its turn behind those of others */
			id->next = NULL;
			if (channel->last)
				channel->last->next = id;
			else
				channel->first = id;
			channel->last = id;
		}
		error = 0;
	}
	if (channel->first == NULL && read(channel->fd, &count, sizeof(count)) < 0)
		count = 0; /* nobody had written: it is empty as it should be */
	rte_spinlock_unlock(&channel->lock);
	return error;
}

/* Turns what nobody else does. false: all lcores have threads of their own. */
static bool turn_lcores(const struct uroce_engine *engine)
{
	bool turned = false;

	for (unsigned i = 0; i < engine->lcore_count; i++) {
		struct uroce_lcore *lcore = engine->lcores[i];

		if (atomic_load(&lcore->owned) && !pthread_equal(atomic_load(&lcore->owner), pthread_self()))
			continue;
		uroce_lcore_poll(lcore);
		turned = true;
	}
	return turned;
}

int uroce_cm_wait(struct uroce_cm_channel *channel, unsigned timeout_ms, struct uroce_cm_event *event)
{
	uint64_t until_ns = engine_now_ns() + timeout_ms * 1000000ull;

	for (;;) {
		struct pollfd readable = { .fd = channel->fd, .events = POLLIN };
		int error = uroce_cm_next(channel, event);

		if (error != -EAGAIN)
			return error;
		if (engine_now_ns() >= until_ns)
			return -ETIMEDOUT;
		if (!turn_lcores(channel->engine) &&
		    poll(&readable, 1, timeout_ms < POLL_MS ? (int)timeout_ms : (int)POLL_MS) < 0)
			return -errno;
	}
}

/* ---- ids ---- */

static struct uroce_cm_id *make_id(struct uroce_cm_channel *channel, uint64_t context)
{
	struct uroce_cm_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	id->channel = channel;
	id->context = context;
	id->connection = CM_NONE;
	atomic_fetch_add(&channel->ids, 1);
	return id;
}

int uroce_cm_id_create(struct uroce_cm_channel *channel, uint64_t context, struct uroce_cm_id **id)
{
	*id = make_id(channel, context);
	return *id ? 0 : -ENOMEM;
}

static int forget_on_owner(void *argument)
{
	engine_connect_forget(argument);
	return 0;
}

/* No event of it waits any more. */
static void leave_channel(struct uroce_cm_id *id)
{
	struct uroce_cm_channel *channel = id->channel;
	struct uroce_cm_id *before = NULL;

	rte_spinlock_lock(&channel->lock);
	for (struct uroce_cm_id *at = channel->first; at && id->queued; before = at, at = at->next) {
		if (at != id)
			continue;
		if (before)
			before->next = id->next;
		else
			channel->first = id->next;
		if (channel->last == id)
			channel->last = before;
		id->queued = false;
	}
	rte_spinlock_unlock(&channel->lock);
	atomic_fetch_sub(&channel->ids, 1);
}

/* ---- listening ---- */

/* The lcores have seen that it is not there any more. */
static void wait_for_readers(const struct uroce_engine *engine)
{
	uint64_t token = rte_rcu_qsbr_start(engine->qsbr);
	const struct timespec pause = { .tv_nsec = 20000 };

	while (rte_rcu_qsbr_check(engine->qsbr, token, false) != 1)
		nanosleep(&pause, NULL);
}

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
static uint16_t choose_port(const struct cm_listeners *listeners, const uint8_t addr[16])
{
	uint32_t start = 0;

	if (getrandom(&start, sizeof(start), 0) != sizeof(start))
		start = 0;
	for (uint32_t i = 0; i < PORTS; i++) {
		uint16_t port = (uint16_t)(PORT_FIRST + (start + i) % PORTS);

		if (!port_is_taken(listeners, SERVICE_TCP | port, addr))
			return port;
	}
	return 0;
}

/* Under the engine's lock. */
static int enter_listener(struct uroce_engine *engine, struct uroce_cm_id *id, uint16_t port)
{
	struct cm_listeners *listeners = &engine->listeners;

	id->port = port ? port : choose_port(listeners, id->listener.addr);
	id->listener.service_id = SERVICE_TCP | id->port;
	if (id->port == 0 || port_is_taken(listeners, id->listener.service_id, id->listener.addr))
		return -EADDRINUSE;
	for (id->slot = 0; id->slot < CM_LISTENERS; id->slot++) {
		if (atomic_load(&listeners->slots[id->slot]) == NULL) {
			atomic_store_explicit(&listeners->slots[id->slot], &id->listener, memory_order_release);
			return 0;
		}
	}
	return -ENOSPC;
}

int uroce_cm_listen(struct uroce_cm_channel *channel, const struct uroce_addr *addr, uint16_t port, uint32_t backlog,
		    uint64_t context, struct uroce_cm_id **result)
{
	static const struct uroce_addr any;
	struct uroce_engine *engine = channel->engine;
	bool named = addr && memcmp(addr, &any, sizeof(any)) != 0;
	struct uroce_cm_id *id;
	int error = 0;

	if (backlog < 1 || backlog > BACKLOG_MAX)
		return -EINVAL;
	id = make_id(channel, context);
	if (id == NULL)
		return -ENOMEM;
	id->listens = true;
	id->listener.backlog = backlog;
	id->listener.context = (uint64_t)(uintptr_t)id;
	if (named)
		memcpy(id->listener.addr, addr->bytes, sizeof(id->listener.addr));
	pthread_mutex_lock(&engine->lock);
	if (named && engine_connect_device_of(engine, addr) == NULL)
		error = -EADDRNOTAVAIL;
	if (error == 0)
		error = enter_listener(engine, id, port);
	pthread_mutex_unlock(&engine->lock);
	if (error) {
		atomic_fetch_sub(&channel->ids, 1);
		free(id);
		return error;
	}
	*result = id;
	return 0;
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

static int stop_listening(struct uroce_cm_id *id)
{
	struct uroce_engine *engine = id->channel->engine;

	pthread_mutex_lock(&engine->lock);
	if (atomic_load(&engine->listeners.slots[id->slot]) == &id->listener)
		atomic_store(&engine->listeners.slots[id->slot], NULL);
	pthread_mutex_unlock(&engine->lock);
	wait_for_readers(engine);
	for (unsigned i = 0; i < engine->lcore_count; i++) {
		struct farewell what = { engine->lcores[i], &id->listener };
		int error = engine_mailbox_call(engine->lcores[i], forget_listener_on_owner, &what);

		if (error)
			return error;
	}
	return 0;
}

int uroce_cm_id_destroy(struct uroce_cm_id *id)
{
	int error = 0;

	if (id->listens)
		error = stop_listening(id);
	else if (id->lcore)
		error = engine_mailbox_call(id->lcore, forget_on_owner, id);
	if (error)
		return error;
	leave_channel(id);
	free(id);
	return 0;
}

/* ---- QPs ---- */

static int adopt_on_owner(void *argument)
{
	struct uroce_cm_id *id = argument;

	id->qp->cm_id = id;
	return 0;
}

int uroce_cm_qp_create(struct uroce_cm_id *id, struct uroce_pd *pd, const struct uroce_qp_init_attr *given,
		       uint32_t access_flags, struct uroce_qp **result)
{
	struct uroce_qp_init_attr init = *given;
	struct uroce_qp_attr attr = { .qp_state = UROCE_QPS_INIT, .access_flags = access_flags };
	struct uroce_qp *qp;
	int error;

	if (id->qp)
		return -EBUSY;
	if (id->listens || (id->lcore && id->device != pd->device))
		return -EINVAL;
	if (id->lcore) /* where the REQ is */
		init.lcore = (int)id->lcore->index;
	error = uroce_qp_create(pd, &init, &qp);
	if (error)
		return error;
	error = uroce_qp_modify(qp, &attr, UROCE_QP_STATE | UROCE_QP_ACCESS_FLAGS, NULL);
	if (error) {
		uroce_qp_destroy(qp);
		return error;
	}
	id->qp = qp;
	id->device = pd->device;
	id->lcore = qp->owner;
	error = engine_mailbox_call(qp->owner, adopt_on_owner, id);
	if (error)
		return error; /* the id's call to the owner may yet run: both stay */
	*result = qp;
	return 0;
}

struct uroce_qp *uroce_cm_qp(const struct uroce_cm_id *id)
{
	return id->qp;
}

struct uroce_device *uroce_cm_device(const struct uroce_cm_id *id)
{
	return id->device;
}

uint64_t uroce_cm_context(const struct uroce_cm_id *id)
{
	return id->context;
}

void uroce_cm_set_context(struct uroce_cm_id *id, uint64_t context)
{
	id->context = context;
}

/* ---- what a connection is to be like ---- */

static uint8_t or_default(uint8_t given, uint8_t by_default)
{
	return given ? given : by_default;
}

static bool options_are_valid(const struct uroce_cm_id *id, const struct uroce_cm_options *options,
			      uint32_t private_max)
{
	return options->private_bytes <= private_max && (options->private_bytes == 0 || options->private_data) &&
	       (options->path_mtu == 0 ||
		(mtu_is_valid(options->path_mtu) && options->path_mtu <= id->device->config.mtu_bytes)) &&
	       options->timeout <= 31 && options->retry_cnt <= 7 && options->rnr_retry <= 7 &&
	       options->min_rnr_timer <= 31 && options->max_rd_atomic <= LIMIT_RD_ATOMIC &&
	       options->max_dest_rd_atomic <= qp_core(id->qp)->replay.limit && options->cm_timeout <= 31 &&
	       options->cm_retries <= 15;
}

static struct cm_end end_of(const struct uroce_cm_id *id, const struct uroce_cm_options *options)
{
	const struct rc_qp *rc = qp_core(id->qp);
	uint32_t mtu_bytes = options->path_mtu ? options->path_mtu : id->device->config.mtu_bytes;
	uint32_t answers = options->max_dest_rd_atomic ? options->max_dest_rd_atomic : rc->replay.limit;

	return (struct cm_end){
		.qpn = id->qp->qpn,
		.psn = rc->sq_psn.v,
		.responder_resources = (uint8_t)answers,
		.initiator_depth = or_default(options->max_rd_atomic, RD_ATOMIC_DEFAULT),
		.retry_count = or_default(options->retry_cnt, RETRY_DEFAULT),
		.rnr_retry_count = or_default(options->rnr_retry, RETRY_DEFAULT),
		.flow_control = options->flow_control && id->qp->srq == NULL,
		.srq = id->qp->srq != NULL,
		.path_mtu = (uint8_t)(__builtin_ctz(mtu_bytes) - 7),
		.ack_timeout = or_default(options->timeout, TIMEOUT_DEFAULT),
		.ece = CM_ECE_UNDERSTOOD | CM_ECE_ATOMIC_WRITE | CM_ECE_FLUSH,
	};
}

static const struct uroce_cm_options no_options;

/* ---- connecting ---- */

static int choose_source(const struct uroce_device *device, const struct uroce_addr *given,
			 const struct uroce_addr *dest, struct uroce_addr *source, struct uroce_vlan *vlan)
{
	static const struct uroce_addr any;

	if (given && memcmp(given, &any, sizeof(any)) != 0) {
		*source = *given;
		for (uint32_t i = 0; i < device->config.addr_count; i++) {
			*vlan = device->config.vlans[i];
			if (memcmp(&device->config.addrs[i], given, sizeof(*given)) == 0)
				return 0;
		}
		return -EADDRNOTAVAIL;
	}
	for (uint32_t i = 0; i < device->config.addr_count; i++) {
		*source = device->config.addrs[i];
		*vlan = device->config.vlans[i];
		if (encap_addr_is_ipv4(source->bytes) == encap_addr_is_ipv4(dest->bytes))
			return 0;
	}
	return -ENETUNREACH;
}

static struct cm_way way_of(const struct uroce_path *path, uint8_t timeout)
{
	struct cm_way way = {
		.local_lid = 0, /* over RoCE an alternate way is known by its GIDs (C-19) */
		.flow_label = path->flow_label,
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit ? path->hop_limit : 64,
		.ack_timeout = timeout,
	};

	memcpy(way.local_gid, path->source.bytes, sizeof(way.local_gid));
	memcpy(way.remote_gid, path->dest.bytes, sizeof(way.remote_gid));
	return way;
}

static void set_attr(struct uroce_cm_id *id, const struct uroce_cm_options *options, const struct cm_route *route,
		     uint8_t timeout)
{
	id->attr = (struct uroce_qp_attr){
		.timeout = timeout,
		.min_rnr_timer = or_default(options->min_rnr_timer, RNR_TIMER_DEFAULT_CODE),
		.path = { .traffic_class = route->traffic_class,
			  .vlan_id = route->vlan_id,
			  .vlan_priority = route->vlan_priority,
			  .device = id->device },
	};
	memcpy(id->attr.path.source.bytes, route->source, 16);
	memcpy(id->attr.path.dest.bytes, route->dest, 16);
}

static int connect_on_owner(void *argument)
{
	struct uroce_cm_id *id = argument;

	if (id->connection != CM_NONE || id->resolving)
		return -EISCONN;
	engine_connect_begin(id);
	return 0;
}

int uroce_cm_connect(struct uroce_cm_id *id, const struct uroce_addr *source, const struct uroce_addr *dest,
		     uint16_t port, const struct uroce_cm_options *options)
{
	struct uroce_vlan vlan;
	struct uroce_path path;
	struct uroce_addr chosen;
	int error;

	if (options == NULL)
		options = &no_options;
	if (id->qp == NULL || id->listens || !options_are_valid(id, options, UROCE_CM_CONNECT_PRIVATE_MAX))
		return -EINVAL;
	if (id->connection != CM_NONE || id->resolving)
		return -EISCONN;
	error = choose_source(id->device, source, dest, &chosen, &vlan);
	if (error)
		return error;
	path = (struct uroce_path){ .source = chosen, .dest = *dest };
	if (engine_route_next_hop(&id->device->config, &path) == NULL)
		return -ENETUNREACH;
	id->request = (struct cm_connect){
		.route = { .traffic_class = options->traffic_class,
			   .vlan_id = vlan.id,
			   .vlan_priority = vlan.priority,
			   .device = id->device },
		.service_id = SERVICE_TCP | port,
		.source_port = (uint16_t)(PORT_FIRST + id->qp->qpn % PORTS),
		.context = (uint64_t)(uintptr_t)id,
		.end = end_of(id, options),
		.response_timeout = options->cm_timeout,
		.max_retries = options->cm_retries,
		.user = { id->request_private, options->private_bytes },
	};
	memcpy(id->request.route.source, chosen.bytes, 16);
	memcpy(id->request.route.dest, dest->bytes, 16);
	if (options->private_bytes)
		memcpy(id->request_private, options->private_data, options->private_bytes);
	if (options->alternate) {
		id->alternate = way_of(options->alternate, id->request.end.ack_timeout);
		id->request.alternate = &id->alternate;
	}
	set_attr(id, options, &id->request.route, id->request.end.ack_timeout);
	return engine_mailbox_call(id->lcore, connect_on_owner, id);
}

/* ---- accepting ---- */

struct answer {
	struct uroce_cm_id *id;
	const struct uroce_cm_options *options;
	struct cm_private user;
	const struct cm_way *way;
};

/* The QP is in RTR before the REP leaves (C-9). */
static int accept_on_owner(void *argument)
{
	const struct answer *answer = argument;
	struct uroce_cm_id *id = answer->id;
	struct cm *cm = id->lcore->connect->cm;
	struct cm_accept accept = { .context = (uint64_t)(uintptr_t)id, .user = answer->user };
	int error;

	if (id->connection == CM_NONE || !cm_is_asking(cm, id->connection))
		return -ENOTCONN;
	accept.end = end_of(id, answer->options);
	accept.end.ack_timeout = cm_peer(cm, id->connection)->ack_timeout;
	accept.end.path_mtu = cm_peer(cm, id->connection)->path_mtu;
	accept.failover = 1; /* LAP loads one (C-20) */
	cm_propose(cm, id->connection, &accept.end);
	set_attr(id, answer->options, cm_route_of(cm, id->connection), accept.end.ack_timeout);
	engine_connect_complete(id);
	error = engine_connect_to_rtr(id);
	if (error)
		return error;
	error = cm_accept(cm, id->connection, &accept, engine_now_ns());
	engine_connect_run(id->lcore);
	return error;
}

int uroce_cm_accept(struct uroce_cm_id *id, const struct uroce_cm_options *options)
{
	struct answer answer = { .id = id, .options = options ? options : &no_options };

	if (id->qp == NULL || id->listens || !options_are_valid(id, answer.options, UROCE_CM_ACCEPT_PRIVATE_MAX))
		return -EINVAL;
	answer.user = (struct cm_private){ answer.options->private_data, answer.options->private_bytes };
	return engine_mailbox_call(id->lcore, accept_on_owner, &answer);
}

static int reject_on_owner(void *argument)
{
	const struct answer *answer = argument;
	struct uroce_lcore *lcore = answer->id->lcore;
	int error =
		cm_reject(lcore->connect->cm, answer->id->connection, CM_REJ_CONSUMER, &answer->user, engine_now_ns());

	engine_connect_run(lcore);
	return error;
}

int uroce_cm_reject(struct uroce_cm_id *id, const void *private_data, uint32_t private_bytes)
{
	struct answer answer = { .id = id, .user = { private_data, private_bytes } };

	if (private_bytes > UROCE_CM_REJECT_PRIVATE_MAX || (private_bytes && private_data == NULL))
		return -EINVAL;
	if (id->lcore == NULL || id->connection == CM_NONE)
		return -ENOTCONN;
	return engine_mailbox_call(id->lcore, reject_on_owner, &answer);
}

static int disconnect_on_owner(void *argument)
{
	struct uroce_cm_id *id = argument;
	int error = id->connection == CM_NONE ?
			    -ENOTCONN :
			    cm_disconnect(id->lcore->connect->cm, id->connection, NULL, engine_now_ns());

	engine_connect_run(id->lcore);
	return error;
}

int uroce_cm_disconnect(struct uroce_cm_id *id)
{
	return id->lcore ? engine_mailbox_call(id->lcore, disconnect_on_owner, id) : -ENOTCONN;
}

static int alternate_on_owner(void *argument)
{
	const struct answer *answer = argument;
	struct uroce_cm_id *id = answer->id;
	int error = id->connection == CM_NONE ?
			    -ENOTCONN :
			    cm_load_alternate(id->lcore->connect->cm, id->connection, answer->way, engine_now_ns());

	if (error == 0)
		id->alternate_is_ours = true;
	engine_connect_run(id->lcore);
	return error;
}

int uroce_cm_load_alternate(struct uroce_cm_id *id, const struct uroce_path *path, uint8_t timeout)
{
	struct cm_way way = way_of(path, or_default(timeout, TIMEOUT_DEFAULT));
	struct answer answer = { .id = id, .way = &way };

	if (id->lcore == NULL || id->qp == NULL)
		return -ENOTCONN;
	if (timeout > 31 || engine_connect_device_of(id->channel->engine, &path->source) == NULL)
		return -EINVAL;
	return engine_mailbox_call(id->lcore, alternate_on_owner, &answer);
}

/* ---- names and numbers ---- */

const char *uroce_cm_event_name(enum uroce_cm_event_type type)
{
	static const char *const names[UROCE_CM_EVENT_TYPES] = {
		[UROCE_CM_REQUEST] = "request",           [UROCE_CM_ESTABLISHED] = "established",
		[UROCE_CM_REJECTED] = "rejected",         [UROCE_CM_UNREACHABLE] = "unreachable",
		[UROCE_CM_DISCONNECTED] = "disconnected", [UROCE_CM_ALTERNATE] = "alternate path",
	};

	return (unsigned)type < UROCE_CM_EVENT_TYPES ? names[type] : "unknown";
}

const char *uroce_cm_reason_name(uint16_t reason)
{
	return cm_mad_reason_name(reason);
}

unsigned uroce_cm_counter_count(void)
{
	return CM_COUNTERS;
}

const char *uroce_cm_counter_name(unsigned index)
{
	return index < CM_COUNTERS ? cm_counter_rows[index].name : "unknown";
}

struct count {
	struct uroce_lcore *lcore;
	uint64_t *values;
	struct uroce_cm_usage *usage;
};

static int count_on_owner(void *argument)
{
	const struct count *count = argument;
	const struct cm *cm = count->lcore->connect->cm;
	struct cm_usage usage;

	for (unsigned i = 0; count->values && i < CM_COUNTERS; i++)
		count->values[i] += cm_count(cm, (enum cm_counter)i);
	if (count->usage) {
		cm_usage(cm, &usage);
		count->usage->connections += usage.connections;
		count->usage->half_open += usage.half_open;
		count->usage->resting_ids += usage.rests;
		count->usage->timers += usage.timers;
	}
	return 0;
}

static int count_all(struct uroce_engine *engine, uint64_t *values, struct uroce_cm_usage *usage)
{
	int error = 0;

	for (unsigned i = 0; i < engine->lcore_count && error == 0; i++) {
		struct count count = { engine->lcores[i], values, usage };

		if (engine->lcores[i]->connect)
			error = engine_mailbox_call(engine->lcores[i], count_on_owner, &count);
	}
	return error;
}

int uroce_cm_counters(struct uroce_engine *engine, uint64_t *values)
{
	memset(values, 0, CM_COUNTERS * sizeof(*values));
	return count_all(engine, values, NULL);
}

int uroce_cm_usage(struct uroce_engine *engine, struct uroce_cm_usage *usage)
{
	*usage = (struct uroce_cm_usage){ 0 };
	return count_all(engine, NULL, usage);
}
