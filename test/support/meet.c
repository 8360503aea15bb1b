/* meet.c - two managers in virtual time */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "meet.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_NS 1000000000ull
#define PORT_SPACE_TCP 0x0000000001060000ull

static const uint8_t addresses[2][16] = {
	{ [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 1 },
	{ [10] = 0xFF, [11] = 0xFF, [12] = 10, [15] = 2 },
};

static const char *const event_names[CM_EVENTS] = {
	[CM_EVENT_REQUEST] = "REQUEST",
	[CM_EVENT_ESTABLISHED] = "ESTABLISHED",
	[CM_EVENT_REJECTED] = "REJECTED",
	[CM_EVENT_UNREACHABLE] = "UNREACHABLE",
	[CM_EVENT_DISCONNECTED] = "DISCONNECTED",
	[CM_EVENT_ALTERNATE] = "ALTERNATE",
	[CM_EVENT_RESOLVED] = "RESOLVED",
	[CM_EVENT_RESPONSE] = "RESPONSE",
	[CM_EVENT_RESTED] = "RESTED",
};

static const char *const move_names[] = {
	[CM_MOVE_RTS] = "RTS",
	[CM_MOVE_ERROR] = "ERR",
	[CM_MOVE_ALTERNATE] = "ALTERNATE",
};

static void note(struct meet *meet, enum meet_name name, const char *what, const char *which, int status)
{
	size_t at = strlen(meet->notes);

	if (at + 64 > sizeof(meet->notes))
		return;
	at += (size_t)snprintf(meet->notes + at, sizeof(meet->notes) - at, "%s%c %s%s", at ? ", " : "", "AB"[name],
			       what, which);
	if (status)
		snprintf(meet->notes + at, sizeof(meet->notes) - at, " %d", status);
}

static struct cm_config config_of(enum meet_name name, const struct cm_config *given, struct cm_listeners *listeners,
				  uint64_t life)
{
	struct cm_config config = given ? *given : (struct cm_config){ 0 };

	config.connections = config.connections ? config.connections : 64;
	config.half_open = config.half_open ? config.half_open : 32;
	config.refusals = config.refusals ? config.refusals : 16;
	config.timewait_ids = config.timewait_ids ? config.timewait_ids : 2 * config.connections;
	config.ca_guid = 0x100 + name;
	config.max_path_mtu = config.max_path_mtu ? config.max_path_mtu : 5;
	config.key[0] = (uint8_t)(name + 1);
	memcpy(config.key + 8, &life, sizeof(life));
	config.listeners = listeners;
	return config;
}

static void open_end(struct meet *meet, enum meet_name name, const struct cm_config *given)
{
	static uint64_t lives;
	struct meet_end *end = &meet->end[name];
	struct cm_config config = config_of(name, given, &end->listeners, lives++);
	uint64_t bytes = (cm_bytes(&config) + 63) & ~63ull;

	end->memory = aligned_alloc(64, bytes);
	assert(end->memory);
	memset(end->memory, 0, bytes);
	end->cm = cm_init(end->memory, &config);
}

struct meet *meet_open(const struct cm_config *config)
{
	struct meet *meet = calloc(1, sizeof(*meet));

	assert(meet);
	meet->now_ns = START_NS;
	open_end(meet, MEET_A, config);
	open_end(meet, MEET_B, config);
	return meet;
}

static void free_listeners(struct meet_end *end)
{
	for (uint32_t i = 0; i < CM_LISTENERS; i++) {
		free(atomic_load(&end->listeners.slots[i]));
		atomic_store(&end->listeners.slots[i], NULL);
	}
}

void meet_close(struct meet *meet)
{
	for (int i = 0; i < 2; i++) {
		free_listeners(&meet->end[i]);
		free(meet->end[i].memory);
	}
	free(meet);
}

void meet_restart(struct meet *meet, enum meet_name name, const struct cm_config *config)
{
	free(meet->end[name].memory);
	for (uint32_t i = 0; i < SHARE_PEERS; i++)
		atomic_store(&meet->end[name].listeners.waiting[i], 0);
	for (uint32_t i = 0; i < CM_LISTENERS; i++) {
		struct cm_listener *listener = atomic_load(&meet->end[name].listeners.slots[i]);

		if (listener)
			atomic_store(&listener->pending, 0);
	}
	open_end(meet, name, config);
}

static void note_event(struct meet *meet, enum meet_name name, const struct cm_action *action)
{
	struct meet_end *end = &meet->end[name];
	struct meet_event *event = &end->events[end->event_count++ % MEET_EVENTS];

	*event = (struct meet_event){
		.event = action->event,
		.status = action->status,
		.connection = action->connection,
		.context = action->context,
		.has_message = action->message != NULL,
	};
	if (action->message)
		event->message = *action->message;
	note(meet, name, "event ", event_names[action->event], action->status);
}

static void send(struct meet *meet, enum meet_name name, const struct cm_action *action)
{
	struct meet_end *end = &meet->end[name];
	struct meet_datagram datagram = { .route = action->route };
	struct cm_message message;
	int copies;

	memcpy(datagram.mad, action->mad, CM_MAD_BYTES);
	assert(cm_mad_parse(action->mad, CM_MAD_BYTES, &message) == CM_MAD_OK);
	meet->sent++;
	note(meet, name, cm_mad_kind_short(message.kind), "", message.kind == CM_REJ ? message.reason : 0);
	copies = meet->fate ? meet->fate(meet, name, &message) : 1;
	for (int i = 0; i < copies && end->tail - end->head < MEET_WIRE; i++)
		end->wire[end->tail++ % MEET_WIRE] = datagram;
}

void meet_drain(struct meet *meet, enum meet_name name)
{
	struct meet_end *end = &meet->end[name];
	struct cm_action action;

	while (cm_pop_action(end->cm, &action)) {
		switch (action.kind) {
		case CM_SEND:
			send(meet, name, &action);
			break;
		case CM_EVENT:
			note_event(meet, name, &action);
			break;
		case CM_MOVE:
			end->moves++;
			note(meet, name, "QP to ", move_names[action.move], end->move_error);
			cm_qp_moved(end->cm, action.connection, action.move, end->move_error, meet->now_ns);
			break;
		}
	}
}

struct cm_route meet_back(const struct cm_route *route)
{
	struct cm_route back = *route;

	memcpy(back.source, route->dest, 16);
	memcpy(back.dest, route->source, 16);
	return back;
}

bool meet_carry(struct meet *meet, enum meet_name from)
{
	struct meet_end *end = &meet->end[from];
	struct meet_datagram *datagram;
	struct cm_route back;

	if (end->head == end->tail)
		return false;
	datagram = &end->wire[end->head++ % MEET_WIRE];
	back = meet_back(&datagram->route);
	cm_receive(meet->end[!from].cm, &back, datagram->mad, CM_MAD_BYTES, meet->now_ns);
	meet_drain(meet, !from);
	return true;
}

void meet_run(struct meet *meet)
{
	meet_drain(meet, MEET_A);
	meet_drain(meet, MEET_B);
	while (meet_carry(meet, MEET_A) || meet_carry(meet, MEET_B))
		;
}

bool meet_wait(struct meet *meet, uint64_t until_ns)
{
	uint64_t a = cm_deadline(meet->end[MEET_A].cm), b = cm_deadline(meet->end[MEET_B].cm);
	enum meet_name name = a <= b ? MEET_A : MEET_B;
	uint64_t next = a <= b ? a : b;

	if (next > until_ns)
		return false;
	if (next > meet->now_ns)
		meet->now_ns = next;
	cm_timeout(meet->end[name].cm, meet->now_ns);
	meet_run(meet);
	return true;
}

void meet_settle(struct meet *meet, uint64_t until_ns)
{
	meet_run(meet);
	while (meet_wait(meet, until_ns))
		;
	if (meet->now_ns < until_ns)
		meet->now_ns = until_ns;
}

const char *meet_notes(struct meet *meet)
{
	static char notes[MEET_NOTES];

	memcpy(notes, meet->notes, sizeof(notes));
	meet->notes[0] = '\0';
	return notes;
}

struct cm_message meet_take(struct meet *meet, enum meet_name from, struct cm_route *route)
{
	struct meet_end *end = &meet->end[from];
	struct meet_datagram *datagram = &end->wire[end->head % MEET_WIRE];
	struct cm_message message;

	assert(end->head != end->tail);
	end->head++;
	assert(cm_mad_parse(datagram->mad, CM_MAD_BYTES, &message) == CM_MAD_OK);
	*route = meet_back(&datagram->route);
	return message;
}

void meet_give(struct meet *meet, enum meet_name to, const struct cm_message *message, const struct cm_route *route)
{
	uint8_t mad[CM_MAD_BYTES];

	cm_mad_build(message, mad);
	cm_receive(meet->end[to].cm, route, mad, sizeof(mad), meet->now_ns);
	meet_drain(meet, to);
}

void meet_forget_notes(struct meet *meet)
{
	meet->notes[0] = '\0';
}

struct cm_listener *meet_listen(struct meet *meet, enum meet_name name, uint16_t port, uint32_t backlog)
{
	struct cm_listener *listener = calloc(1, sizeof(*listener));
	struct cm_listeners *listeners = &meet->end[name].listeners;
	uint32_t slot = 0;

	assert(listener);
	listener->service_id = PORT_SPACE_TCP | port;
	listener->backlog = backlog;
	listener->context = 1000u + port;
	while (atomic_load(&listeners->slots[slot]))
		slot++;
	atomic_store(&listeners->slots[slot], listener);
	return listener;
}

struct cm_connect meet_request(uint16_t port, uint32_t qpn)
{
	struct cm_connect connect = {
		.service_id = PORT_SPACE_TCP | port,
		.source_port = 4000,
		.context = qpn,
		.side = { .qpn = qpn,
			  .psn = 77,
			  .responder_resources = 4,
			  .initiator_depth = 8,
			  .retry_count = 7,
			  .rnr_retry_count = 7,
			  .path_mtu = 5,
			  .ack_timeout = 14 },
	};

	memcpy(connect.route.source, addresses[MEET_A], 16);
	memcpy(connect.route.dest, addresses[MEET_B], 16);
	return connect;
}

uint32_t meet_connect(struct meet *meet, uint16_t port, uint32_t qpn)
{
	struct cm_connect connect = meet_request(port, qpn);
	uint32_t connection = CM_NONE;

	assert(cm_connect(meet->end[MEET_A].cm, &connect, meet->now_ns, &connection) == 0);
	meet_drain(meet, MEET_A);
	return connection;
}

int meet_accept(struct meet *meet, uint32_t connection, uint32_t qpn)
{
	struct cm_accept accept = {
		.context = qpn,
		.side = { .qpn = qpn,
			  .psn = 99,
			  .responder_resources = 16,
			  .initiator_depth = 16,
			  .rnr_retry_count = 6,
			  .ack_timeout = 14 },
	};
	int error = cm_accept(meet->end[MEET_B].cm, connection, &accept, meet->now_ns);

	meet_drain(meet, MEET_B);
	return error;
}

const struct meet_event *meet_last(const struct meet *meet, enum meet_name name)
{
	const struct meet_end *end = &meet->end[name];

	return end->event_count ? &end->events[(end->event_count - 1) % MEET_EVENTS] : NULL;
}

void meet_establish(struct meet *meet, uint32_t *a, uint32_t *b)
{
	static uint32_t qpn = 100;

	*a = meet_connect(meet, 7174, qpn++);
	meet_run(meet);
	*b = meet_last(meet, MEET_B)->connection;
	meet_accept(meet, *b, qpn++);
	meet_run(meet);
}

int meet_lose_all(struct meet *meet, enum meet_name from, const struct cm_message *message)
{
	(void)meet;
	(void)from;
	(void)message;
	return 0;
}

int meet_lose_laps(struct meet *meet, enum meet_name from, const struct cm_message *message)
{
	(void)meet;
	(void)from;
	return message->kind != CM_LAP;
}
