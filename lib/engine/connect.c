/* connect.c - carries out what the connection manager of an lcore decides */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include <rte_ethdev.h>

#include "cm/ip.h"
#include "engine/clock.h"
#include "engine/connect.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/lcore_state.h"
#include "engine/qp.h"
#include "engine/trace_points.h"
#include "engine/mailbox.h"
#include "engine/modify.h"
#include "engine/numa_alloc.h"
#include "engine/port.h"
#include "engine/resolve.h"
#include "engine/route.h"
#include "rc/path.h"
#include "wire/encap.h"
#include "wire/packet.h"

#define RESOLVE_NS 3000000000ull /* how long a connecting id asks for its peer's MAC */
#define LOOK_NS 1000000ull
#define DUE_PER_POLL 64u

/* ---- events ---- */

/*
 * Returns how many events may wait before an event of this type replaces the last one of the same type. Only the newest
 * route and the newest alternate path count, so events of these two types leave room for other types.
 */
static uint32_t room_for(enum uroce_cm_event_type type)
{
	if (type == UROCE_CM_ROUTE_RESOLVED)
		return 1;
	return type == UROCE_CM_ALTERNATE ? CONNECT_EVENTS / 2 : CONNECT_EVENTS;
}

/* Makes room for an event. If the application is so far behind that there is no room, the newest event is replaced. */
static struct uroce_cm_event *take_slot(struct uroce_cm_id *id, enum uroce_cm_event_type type)
{
	uint32_t waiting = id->event_tail - id->event_head;
	bool is_of_type = waiting && id->events[(id->event_tail - 1) % CONNECT_EVENTS].type == type;

	if (waiting == CONNECT_EVENTS || (is_of_type && waiting >= room_for(type)))
		id->event_tail--;
	return &id->events[id->event_tail++ % CONNECT_EVENTS];
}

static void raise_event(struct uroce_cm_id *id, const struct uroce_cm_event *event)
{
	struct uroce_cm_channel *channel = id->channel;
	struct uroce_cm_event *slot;
	bool wake = false;

	engine_trace_cm_event(uroce_cm_event_name(event->type), event->reason);
	rte_spinlock_lock(&channel->lock);
	slot = take_slot(id, event->type);
	*slot = *event;
	slot->id = id;
	if (!id->queued) {
		id->queued = true;
		wake = TAILQ_EMPTY(&channel->queue);
		channel->woken |= wake;
		TAILQ_INSERT_TAIL(&channel->queue, id, in_queue);
	}
	rte_spinlock_unlock(&channel->lock);
	if (wake)
		/* the write fails only while the counter is full, and then the descriptor is readable anyway */
		eventfd_write(channel->fd, 1);
}

static void set_addresses(struct uroce_cm_event *event, const struct cm_route *route)
{
	memcpy(event->local.bytes, route->source, sizeof(event->local.bytes));
	memcpy(event->peer.bytes, route->dest, sizeof(event->peer.bytes));
}

/*
 * Copies the values that the message carried. In a request the user's private data follow the header of IP addressing.
 */
static void set_message(struct uroce_cm_event *event, const struct cm_message *message)
{
	uint32_t skip = message->kind == CM_REQ || message->kind == CM_SIDR_REQ ? CM_IP_BYTES : 0;
	uint32_t bytes = cm_mad_private_bytes(message->kind) - skip;

	event->reason = message->kind == CM_REJ ? message->reason : 0;
	event->private_bytes = bytes;
	memcpy(event->private_data, message->private_data + skip, bytes);
	if (message->kind == CM_SIDR_REP) {
		event->reason = message->status;
		event->peer_qp_num = message->qpn;
		event->peer_qkey = message->qkey;
	}
	if (message->kind == CM_REQ || message->kind == CM_REP) {
		event->peer_qp_num = message->qpn;
		event->peer_initiator = message->initiator_depth;
		event->peer_responder = message->responder_resources;
		event->peer_retry_cnt = message->retry_count;
		event->peer_rnr_retry = message->rnr_retry_count;
		event->peer_srq = message->srq;
		event->peer_flow_control = message->flow_control;
	}
}

static void set_request(struct uroce_cm_event *event, const struct cm_message *message)
{
	struct cm_ip ip;

	cm_ip_parse(message->private_data, &ip);
	event->peer_port = ip.source_port;
	if (message->kind == CM_SIDR_REQ)
		return;
	event->path_mtu = cm_mtu_bytes(message->path_mtu);
	event->has_alternate = connect_path_is_named(&message->alternate);
}

static uint32_t extensions_of(uint32_t ece)
{
	return ece & (UROCE_CM_ATOMIC_WRITE | UROCE_CM_FLUSH);
}

static_assert(UROCE_CM_ATOMIC_WRITE == (int)CM_ECE_ATOMIC_WRITE && UROCE_CM_FLUSH == (int)CM_ECE_FLUSH,
	      "API flags and CM flags are equal, so they are passed on unchanged");

/* Makes an id for an incoming REQ; without memory for one the request is refused. */
static struct uroce_cm_id *create_id(struct uroce_lcore *lcore, const struct cm_action *action)
{
	struct uroce_cm_id *listener = (struct uroce_cm_id *)(uintptr_t)action->context;
	struct uroce_cm_id *id = calloc(1, sizeof(*id));
	struct cm *cm = lcore->connect->cm;

	if (id == NULL) {
		cm_reject(cm, action->connection, CM_REJ_NO_RESOURCES, NULL, lcore->now_ns);
		cm_forget(cm, action->connection, lcore->now_ns);
		return NULL;
	}
	id->channel = listener->channel;
	id->context = listener->context;
	id->datagrams = listener->datagrams;
	id->lcore = lcore;
	id->is_request = true;
	id->connection = action->connection;
	id->device = cm_route_of(cm, action->connection)->device;
	atomic_fetch_add(&atomic_load(&id->channel)->ids, 1);
	cm_set_context(cm, action->connection, (uint64_t)(uintptr_t)id);
	return id;
}

static void carry_out_event(struct uroce_lcore *lcore, const struct cm_action *action)
{
	static const enum uroce_cm_event_type types[CM_EVENTS] = {
		[CM_EVENT_REQUEST] = UROCE_CM_CONNECT_REQUEST,   [CM_EVENT_ESTABLISHED] = UROCE_CM_ESTABLISHED,
		[CM_EVENT_REJECTED] = UROCE_CM_REJECTED,         [CM_EVENT_UNREACHABLE] = UROCE_CM_UNREACHABLE,
		[CM_EVENT_DISCONNECTED] = UROCE_CM_DISCONNECTED, [CM_EVENT_ALTERNATE] = UROCE_CM_ALTERNATE,
		[CM_EVENT_RESOLVED] = UROCE_CM_UD_RESOLVED,      [CM_EVENT_RESPONSE] = UROCE_CM_CONNECT_RESPONSE,
		[CM_EVENT_RESTED] = UROCE_CM_TIMEWAIT_EXIT,
	};
	struct uroce_cm_id *id = (struct uroce_cm_id *)(uintptr_t)action->context;
	struct cm *cm = lcore->connect->cm;
	struct uroce_cm_event event = {
		.type = types[action->event],
		.status = action->status,
		.extensions = extensions_of(cm_peer(cm, action->connection)->ece),
	};

	set_addresses(&event, cm_route_of(cm, action->connection));
	if (action->message)
		set_message(&event, action->message);
	if (action->event == CM_EVENT_REQUEST) {
		event.listener = id;
		set_request(&event, action->message);
		id = create_id(lcore, action);
		if (id == NULL)
			return;
	}
	event.context = id->context;
	raise_event(id, &event);
	/* Both ends load the alternate path of the REQ once the connection is established (C-20). */
	if (action->event == CM_EVENT_ESTABLISHED && id->request.alternate)
		cm_load_alternate(cm, action->connection, id->request.alternate, lcore->now_ns);
}

/* ---- QPs ---- */

/* Returns the SACK window that both ends have offered, or 0 if an end sends no SACKs. */
static uint16_t window_of(uint32_t ece)
{
	if (!(ece & CM_ECE_KEEP) || !(ece & CM_ECE_SACK))
		return 0;
	if (ece & CM_ECE_WINDOW_2048)
		return 2048;
	if (ece & CM_ECE_WINDOW_1024)
		return 1024;
	return ece & CM_ECE_WINDOW_512 ? 512 : 256;
}

void engine_connect_complete_attr(struct uroce_cm_id *id)
{
	const struct cm *cm = id->lcore->connect->cm;
	const struct cm_side *peer = cm_peer(cm, id->connection), *own = cm_own(cm, id->connection);
	struct uroce_qp_attr *attr = &id->attr;

	attr->dest_qp_num = peer->qpn;
	attr->rq_psn = own->psn; /* each end tells the other its first PSN (C-7) */
	attr->sq_psn = peer->psn;
	attr->path_mtu = cm_mtu_bytes(own->path_mtu);
	attr->max_rd_atomic = own->initiator_depth;
	attr->max_dest_rd_atomic = own->responder_resources;
	attr->rnr_retry = peer->rnr_retry_count;
	attr->retry_cnt = peer->retry_count;
	attr->flow_control = own->flow_control && peer->flow_control && !own->srq && !peer->srq;
	if (own->ece & peer->ece & CM_ECE_ANY_ORDER)
		attr->read_repair = UROCE_READ_REPAIR_ANY_ORDER;
	attr->sack_window = window_of(own->ece & peer->ece);
	if (attr->sack_window == 0 || !(own->ece & peer->ece & CM_ECE_SPREAD))
		attr->paths = 0;
}

static int move_qp(struct uroce_cm_id *id, enum uroce_qp_state state, uint32_t mask)
{
	struct uroce_qp_attr attr = id->attr;

	attr.qp_state = state;
	return engine_modify_qp(id->qp, &attr, mask, NULL);
}

/* Completes id->attr and moves the QP of the active side to RTR. */
static int to_rtr(struct uroce_cm_id *id)
{
	engine_connect_complete_attr(id);
	return move_qp(id, UROCE_QPS_RTR, CONNECT_TO_RTR);
}

/* Would packets with the path's hop limit end at a router? */
static bool ends_at_router(const struct uroce_path *path)
{
	const struct uroce_addr *hop = engine_route_next_hop(&path->device->config, path);

	return path->hop_limit <= 1 && hop && hop != &path->dest;
}

int engine_connect_alternate_path(const struct uroce_cm_id *id, const struct cm_path *alternate,
				  struct uroce_path *path)
{
	*path = (struct uroce_path){
		.traffic_class = alternate->traffic_class,
		.flow_label = alternate->flow_label,
		.hop_limit = alternate->hop_limit,
	};
	memcpy(path->source.bytes, alternate->local_gid, sizeof(path->source.bytes));
	memcpy(path->dest.bytes, alternate->remote_gid, sizeof(path->dest.bytes));
	path->device = engine_connect_device_of(id->qp->device->engine, &path->source);
	if (path->device == NULL)
		return -EADDRNOTAVAIL;
	if (encap_addr_is_ipv4(path->source.bytes) != encap_addr_is_ipv4(path->dest.bytes))
		return -EAFNOSUPPORT;
	if (ends_at_router(path))
		return -EHOSTUNREACH;
	engine_route_complete(&path->device->config, path);
	return path_is_same(path, &qp_core(id->qp)->path) ? -EEXIST : 0;
}

uint8_t engine_connect_accept_to_rtr(struct uroce_cm_id *id, int *error)
{
	const struct cm_path *alternate = cm_alternate(id->lcore->connect->cm, id->connection);
	struct uroce_qp_attr *attr = &id->attr;
	bool named = connect_path_is_named(alternate);

	engine_connect_complete_attr(id);
	if (named && engine_connect_alternate_path(id, alternate, &attr->alt_path) == 0) {
		attr->alt_pkey = PKEY_DEFAULT;
		attr->alt_timeout = alternate->ack_timeout;
		attr->path_mig_state = UROCE_PATH_REARM; /* with RTS */
		*error = move_qp(id, UROCE_QPS_RTR, CONNECT_TO_RTR | UROCE_QP_ALT_PATH);
		if (*error == 0)
			return CM_FAILOVER_ACCEPTED;
		attr->path_mig_state = UROCE_PATH_MIGRATED;
	}
	*error = move_qp(id, UROCE_QPS_RTR, CONNECT_TO_RTR);
	return named ? CM_FAILOVER_REJECTED : CM_FAILOVER_ACCEPTED;
}

static int load_alternate(struct uroce_cm_id *id, const struct cm_path *alternate)
{
	struct uroce_qp_attr attr = {
		.alt_pkey = PKEY_DEFAULT,
		.alt_timeout = alternate->ack_timeout,
		.path_mig_state = UROCE_PATH_REARM,
	};
	int error = engine_connect_alternate_path(id, alternate, &attr.alt_path);

	return error ? error : engine_modify_qp(id->qp, &attr, UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE, NULL);
}

static int carry_out_move(struct uroce_lcore *lcore, struct uroce_cm_id *id, const struct cm_action *action)
{
	int error = 0;

	if (id->qp == NULL)
		return -ENOTCONN; /* the application has destroyed the QP */
	switch (action->move) {
	case CM_MOVE_RTS:
		/* The active side moves its QP to RTR now; the passive side has done so before its REP left. */
		if (qp_core(id->qp)->state != UROCE_QPS_RTR)
			error = to_rtr(id);
		if (error == 0 && id->attr.path_mig_state == UROCE_PATH_REARM)
			return move_qp(id, UROCE_QPS_RTS, CONNECT_TO_RTS | UROCE_QP_PATH_MIG_STATE);
		return error ? error : move_qp(id, UROCE_QPS_RTS, CONNECT_TO_RTS);
	case CM_MOVE_ERROR:
		if (qp_core(id->qp)->state != UROCE_QPS_RESET)
			move_qp(id, UROCE_QPS_ERR, UROCE_QP_STATE);
		return 0;
	case CM_MOVE_ALTERNATE:
		return load_alternate(id, cm_alternate(lcore->connect->cm, action->connection));
	}
	return 0;
}

/*
 * Sends a MAD in a UD SEND. A MAD that cannot leave now counts as lost on the network: the manager repeats it (C-10).
 */
static void send_mad(struct uroce_lcore *lcore, const struct cm_route *route, const uint8_t *mad)
{
	struct engine_connect *connect = lcore->connect;
	struct uroce_path path = connect_path(route);
	const struct wire_packet packet = {
		.opcode = OP_UD_SEND_ONLY,
		.psn = connect->psn++ & PSN_MASK,
		.dest_qpn = CM_QPN,
		.pkey = PKEY_DEFAULT,
		.qkey = CM_QKEY,
		.source_qpn = CM_QPN,
		.payload_bytes = CM_MAD_BYTES,
		.payload = mad,
	};

	if (!engine_resolve_send_datagram(lcore, &path, &packet)) {
		connect->unresolved++;
		return;
	}
	connect->sent++;
	lcore->work++;
}

void engine_connect_run(struct uroce_lcore *lcore)
{
	struct cm *cm = lcore->connect->cm;
	struct cm_action action;
	int error;

	while (cm_pop_action(cm, &action)) {
		switch (action.kind) {
		case CM_SEND:
			send_mad(lcore, &action.route, action.mad);
			break;
		case CM_EVENT:
			carry_out_event(lcore, &action);
			break;
		case CM_MOVE:
			error = carry_out_move(lcore, (struct uroce_cm_id *)(uintptr_t)action.context, &action);
			cm_qp_moved(cm, action.connection, action.move, error, lcore->now_ns);
			break;
		}
	}
}

static int catch_up_on_owner(void *argument)
{
	struct uroce_qp *qp = argument;
	struct uroce_lcore *lcore = qp->owner;
	const struct rc_qp *core = qp_core(qp);

	if (qp->cm_id == NULL || qp->cm_id->connection == CM_NONE || core->state != UROCE_QPS_RTR || !core->established)
		return -EINVAL;
	cm_packet_came(lcore->connect->cm, qp->cm_id->connection, engine_now_ns());
	engine_connect_run(lcore);
	return core->state == UROCE_QPS_RTS ? 0 : -EINVAL;
}

bool engine_connect_catch_up(struct uroce_qp *qp)
{
	return qp->cm_id && engine_mailbox_call(qp->owner, catch_up_on_owner, qp) == 0;
}

/* During a burst only the burst's packets may change a QP, so the event waits for the end of the poll. */
void engine_connect_tell(struct uroce_qp *qp, enum connect_qp_event event)
{
	struct uroce_cm_id *id = qp->cm_id;

	if (id == NULL)
		return;
	if (id->qp_events == 0)
		LIST_INSERT_HEAD(&qp->owner->connect->with_qp_events, id, with_qp_events);
	id->qp_events |= event;
}

void engine_connect_forget_qp(struct uroce_qp *qp)
{
	struct uroce_cm_id *id = qp->cm_id;

	qp->cm_id = NULL;
	id->qp = NULL;
	if (id->connection == CM_NONE)
		return;
	cm_qp_died(qp->owner->connect->cm, id->connection, engine_now_ns());
	engine_connect_run(qp->owner);
}

/* ---- resolving ---- */

/* Tells the application that the path to the peer has been resolved, or why the connection cannot begin. */
static void raise_resolved(struct uroce_cm_id *id, enum uroce_cm_event_type type, int status)
{
	struct uroce_cm_event event = { .type = type, .status = status, .context = id->context };

	set_addresses(&event, &id->request.route);
	raise_event(id, &event);
}

/* The peer's MAC is known: the id goes on with the step that needed the MAC. */
static void do_aim(struct uroce_lcore *lcore, struct uroce_cm_id *id)
{
	struct cm *cm = lcore->connect->cm;
	uint64_t now_ns = engine_now_ns();
	int error = 0;

	switch (id->aim) {
	case CONNECT_CONNECT:
		error = cm_connect(cm, &id->request, now_ns, &id->connection);
		break;
	case CONNECT_ASK:
		error = cm_resolve_service(cm, &id->request, now_ns, &id->connection);
		break;
	case CONNECT_ROUTE:
		raise_resolved(id, UROCE_CM_ROUTE_RESOLVED, 0);
		return;
	}
	if (error)
		raise_resolved(id, UROCE_CM_UNREACHABLE, error);
	else
		engine_connect_run(lcore);
}

void engine_connect_begin(struct uroce_cm_id *id)
{
	struct uroce_lcore *lcore = id->lcore;
	struct uroce_path path = connect_path(&id->request.route);
	struct uroce_mac mac;

	if (engine_resolve_find(lcore, &path, &mac)) {
		do_aim(lcore, id);
		return;
	}
	id->resolving = true;
	id->resolve_until_ns = engine_now_ns() + (id->aim == CONNECT_ROUTE ? id->patience_ns : RESOLVE_NS);
	engine_connect_go_on(id);
}

void engine_connect_pause(struct uroce_cm_id *id)
{
	if (id->resolving)
		TAILQ_REMOVE(&id->lcore->connect->resolving, id, with_resolving);
}

void engine_connect_go_on(struct uroce_cm_id *id)
{
	if (id->resolving)
		TAILQ_INSERT_TAIL(&id->lcore->connect->resolving, id, with_resolving);
}

static void look_at_resolving(struct uroce_lcore *lcore)
{
	struct engine_connect *connect = lcore->connect;
	struct uroce_cm_id *next;

	connect->resolve_ns = lcore->now_ns + LOOK_NS;
	for (struct uroce_cm_id *id = TAILQ_FIRST(&connect->resolving); id; id = next) {
		struct uroce_path path = connect_path(&id->request.route);
		struct uroce_mac mac;
		bool found = engine_resolve_find(lcore, &path, &mac);

		next = TAILQ_NEXT(id, with_resolving);
		id->resolve_until_ns += resolve_absent_ns(lcore);
		if (!found && lcore->now_ns < id->resolve_until_ns)
			continue;
		TAILQ_REMOVE(&connect->resolving, id, with_resolving);
		id->resolving = false;
		if (found)
			do_aim(lcore, id);
		else
			raise_resolved(id, id->aim == CONNECT_ROUTE ? UROCE_CM_ROUTE_RESOLVED : UROCE_CM_UNREACHABLE,
				       -EHOSTUNREACH);
	}
}

void engine_connect_forget(struct uroce_cm_id *id)
{
	struct uroce_lcore *lcore = id->lcore;
	struct engine_connect *connect = lcore->connect;

	engine_connect_pause(id);
	if (id->qp_events)
		LIST_REMOVE(id, with_qp_events);
	id->resolving = false;
	id->qp_events = 0;
	if (id->connection != CM_NONE) {
		cm_forget(connect->cm, id->connection, engine_now_ns());
		engine_connect_run(lcore);
	}
	id->connection = CM_NONE;
	if (id->qp)
		id->qp->cm_id = NULL;
}

/* ---- the poll ---- */

static void follow_qp(struct cm *cm, const struct uroce_cm_id *id)
{
	struct uroce_path path = qp_core(id->qp)->path;
	struct cm_route route;

	if (path.device == NULL)
		path.device = id->qp->device;
	route = connect_route(&path);
	cm_qp_migrated(cm, id->connection, &route);
}

static void handle_qp_events(struct uroce_lcore *lcore)
{
	struct engine_connect *connect = lcore->connect;
	struct uroce_cm_id *id;

	while ((id = LIST_FIRST(&connect->with_qp_events)) != NULL) {
		uint32_t events = id->qp_events;

		LIST_REMOVE(id, with_qp_events);
		id->qp_events = 0;
		if (id->connection == CM_NONE)
			continue;
		if (events & CONNECT_PACKET_CAME)
			cm_packet_came(connect->cm, id->connection, lcore->now_ns);
		engine_connect_run(lcore);
		if ((events & CONNECT_QP_MIGRATED) && id->qp)
			follow_qp(connect->cm, id);
		if (events & CONNECT_QP_DIED)
			cm_qp_died(connect->cm, id->connection, lcore->now_ns);
		engine_connect_run(lcore);
	}
}

void engine_connect_poll(struct uroce_lcore *lcore)
{
	struct engine_connect *connect = lcore->connect;

	handle_qp_events(lcore);
	if (!TAILQ_EMPTY(&connect->resolving) && (lcore->now_ns >= connect->resolve_ns || lcore->resolve_ns == 0))
		look_at_resolving(lcore);
	for (uint32_t i = 0; i < DUE_PER_POLL && cm_deadline(connect->cm) <= lcore->before_ns; i++) {
		cm_timeout(connect->cm, lcore->before_ns);
		engine_connect_run(lcore);
	}
}

struct uroce_device *engine_connect_device_of(const struct uroce_engine *engine, const struct uroce_addr *addr)
{
	for (unsigned i = 0; i < ENGINE_DEVICES; i++) {
		if (engine->devices[i] && engine_route_find(&engine->devices[i]->config, addr->bytes) >= 0)
			return engine->devices[i];
	}
	return NULL;
}
