/* crowd.c - hosts, users and a network: what they do, and what is judged after each event */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm/service.h"
#include "crowd.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define START_NS 1000000000ull
#define FIRST_QPN 100u

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

/* ---- what is told ---- */

void crowd_say(struct crowd *crowd, const char *format, ...)
{
	char line[256];
	va_list list;
	int length;

	length = snprintf(line, sizeof(line), "%12.6f ", (double)crowd->now_ns / 1e9);
	va_start(list, format);
	vsnprintf(line + length, sizeof(line) - (size_t)length, format, list);
	va_end(list);
	for (const char *at = line; *at; at++)
		crowd->hash = (crowd->hash ^ (uint8_t)*at) * 0x100000001B3ull;
	if (crowd->trace)
		puts(line);
}

void crowd_fail(struct crowd *crowd, const char *format, ...)
{
	va_list list;

	if (crowd->failure[0])
		return;
	va_start(list, format);
	vsnprintf(crowd->failure, sizeof(crowd->failure), format, list);
	va_end(list);
	crowd_say(crowd, "FAILED %s", crowd->failure);
}

uint32_t crowd_number(const struct crowd *crowd, const struct crowd_party *party)
{
	return (uint32_t)(party - crowd->parties);
}

/* ---- hosts ---- */

static void set_address(uint32_t host, uint8_t addr[16])
{
	static const uint8_t mapped[16] = { [10] = 0xFF, [11] = 0xFF, [12] = 10 };

	memcpy(addr, mapped, 16);
	addr[15] = (uint8_t)(host + 1);
}

static uint32_t host_of(const struct crowd *crowd, const uint8_t addr[16])
{
	for (uint32_t i = 0; i < CROWD_HOSTS; i++) {
		if (memcmp(crowd->hosts[i].addr, addr, 16) == 0)
			return i;
	}
	return CROWD_NONE;
}

void crowd_open(struct crowd *crowd, uint64_t seed)
{
	crowd->now_ns = START_NS;
	crowd->seed = seed;
	crowd->party_count = crowd->wire_count = crowd->established = crowd->lives = 0;
	crowd->order = crowd->datagrams = crowd->ways = 0;
	crowd->hash = 0xCBF29CE484222325ull;
	crowd->failure[0] = '\0';
	memset(crowd->hosts, 0, sizeof(crowd->hosts));
	for (uint32_t i = 0; i < CROWD_HOSTS; i++)
		set_address(i, crowd->hosts[i].addr);
}

void crowd_close(struct crowd *crowd)
{
	for (uint32_t i = 0; i < CROWD_HOSTS; i++) {
		free(crowd->hosts[i].memory);
		crowd->hosts[i].memory = NULL;
	}
}

void crowd_start(struct crowd *crowd, uint32_t index, const struct cm_config *config)
{
	struct crowd_host *host = &crowd->hosts[index];
	uint64_t bytes;

	host->config = *config;
	host->config.listeners = &host->listeners;
	host->config.ca_guid = 0x100 + index;
	host->life = ++crowd->lives;
	memcpy(host->config.key, &crowd->seed, 8);
	memcpy(host->config.key + 8, &host->life, sizeof(host->life));
	assert(config->connections <= CROWD_CONNECTIONS);
	bytes = (cm_bytes(&host->config) + 63) & ~63ull;
	free(host->memory);
	host->memory = aligned_alloc(64, bytes);
	assert(host->memory);
	memset(host->memory, 0, bytes);
	host->cm = cm_init(host->memory, &host->config);
	host->next_qpn = FIRST_QPN; /* as after a real one, the numbers of before come again */
	memset(host->party_of, 0xFF, sizeof(host->party_of));
	memset(host->sent, 0, sizeof(host->sent));
	memset(host->received, 0, sizeof(host->received));
	host->bad = 0;
	crowd_say(crowd, "host %u starts", index);
}

void crowd_crash(struct crowd *crowd, uint32_t index)
{
	struct crowd_host *host = &crowd->hosts[index];

	crowd_say(crowd, "host %u crashes", index);
	for (uint32_t i = 0; i < crowd->party_count; i++) {
		if (crowd->parties[i].host == index)
			crowd->parties[i].stage = CROWD_GONE;
	}
	for (uint32_t i = 0; i < CROWD_PORTS; i++)
		crowd_stop_listening(crowd, index, i);
	host->cm = NULL;
}

void crowd_listen(struct crowd *crowd, uint32_t index, uint32_t port, uint32_t backlog)
{
	struct crowd_host *host = &crowd->hosts[index];
	struct cm_listener *listener = &host->ports[port];

	if (atomic_load(&host->listeners.slots[port]))
		return;
	memset(listener, 0, sizeof(*listener));
	listener->service_id = cm_service_id(CM_SPACE_TCP, (uint16_t)(CROWD_FIRST_PORT + port));
	listener->backlog = backlog;
	listener->context = CROWD_CONTEXT + port;
	atomic_store(&host->listeners.slots[port], listener);
}

void crowd_stop_listening(struct crowd *crowd, uint32_t index, uint32_t port)
{
	struct crowd_host *host = &crowd->hosts[index];
	struct cm_listener *listener = atomic_load(&host->listeners.slots[port]);

	if (listener == NULL)
		return;
	atomic_store(&host->listeners.slots[port], NULL);
	if (host->cm)
		cm_forget_listener(host->cm, listener);
	if (host->cm && atomic_load(&listener->pending) != 0)
		crowd_fail(crowd, "%u still count at a listener that has gone", atomic_load(&listener->pending));
}

/* ---- judging events ---- */

struct crowd_party *crowd_partner(struct crowd *crowd, const struct crowd_party *party)
{
	const struct cm *cm = crowd->hosts[party->host].cm;
	const struct cm_side *peer = cm_peer(cm, party->connection);
	uint32_t at = host_of(crowd, cm_route_of(cm, party->connection)->dest);

	for (uint32_t i = 0; i < crowd->party_count && at != CROWD_NONE; i++) {
		struct crowd_party *other = &crowd->parties[i];

		if (other->stage != CROWD_GONE && other->host == at && other->qpn == peer->qpn &&
		    other->psn == peer->psn)
			return other;
	}
	return NULL;
}

/* An established connection ends because one of its ends wants that or can no more; nobody else can do it. */
static void judge_cause(struct crowd *crowd, const struct crowd_party *party)
{
	const struct crowd_party *other;

	if (crowd->forged || !party->was_established || party->closing || party->broken)
		return;
	other = crowd_partner(crowd, party);
	if (other && other->stage != CROWD_ENDED && !other->closing && !other->broken)
		crowd_fail(crowd, "party %u is told an end, but %u has not ended", crowd_number(crowd, party),
			   crowd_number(crowd, other));
}

/* Where nothing is lost each message is answered in time, or the other side is told to wait (C-12). */
static void judge_silence(struct crowd *crowd, const struct crowd_party *party, const struct cm_action *action)
{
	if (action->event == CM_EVENT_DISCONNECTED)
		crowd_fail(crowd, "party %u has no answer to its DREQ", crowd_number(crowd, party));
	for (uint32_t i = 0; i < crowd->party_count; i++) {
		const struct crowd_party *other = &crowd->parties[i];
		bool waits = other->stage == CROWD_WAITING || other->stage == CROWD_RESPONDED ||
			     other->stage == CROWD_ESTABLISHED;

		if (other->active == party->active || other->request_id != party->request_id ||
		    other->request_from != party->request_from)
			continue;
		/* A user who was asked has had all its time. */
		if (party->active ? other->stage != CROWD_ENDED : waits && !other->closing && party->local_id)
			crowd_fail(crowd, "party %u has no answer of party %u", crowd_number(crowd, party), i);
	}
}

static void judge_end(struct crowd *crowd, struct crowd_party *party, const struct cm_action *action)
{
	enum cm_event event = action->event;

	if (crowd->lossless && !crowd->few_ids && action->status == -ETIMEDOUT && party->stage != CROWD_RESPONDED)
		judge_silence(crowd, party, action);
	if (event == CM_EVENT_REJECTED && party->was_established)
		crowd_fail(crowd, "party %u was established and is rejected", crowd_number(crowd, party));
	if (event == CM_EVENT_UNREACHABLE && party->was_established)
		crowd_fail(crowd, "party %u was established and is unreachable", crowd_number(crowd, party));
	if (party->user_moves)
		party->qp = CROWD_QP_ERR;
	if (party->was_established && party->qp != CROWD_QP_ERR)
		crowd_fail(crowd, "party %u has ended, but its QP works", crowd_number(crowd, party));
	judge_cause(crowd, party);
	party->stage = CROWD_ENDED;
	party->ended_ns = crowd->now_ns;
}

static void take_event(struct crowd *crowd, struct crowd_party *party, const struct cm_action *action)
{
	uint32_t number = crowd_number(crowd, party);

	if (action->context != number)
		crowd_fail(crowd, "party %u gets the context %lu", number, action->context);
	if (party->stage == CROWD_ENDED)
		crowd_fail(crowd, "party %u gets %s after its end", number, event_names[action->event]);
	switch (action->event) {
	case CM_EVENT_RESOLVED:
	case CM_EVENT_RESTED:
	case CM_EVENT_REQUEST:
	case CM_EVENTS:
		crowd_fail(crowd, "party %u gets %s", number, event_names[action->event]);
		break;
	case CM_EVENT_RESPONSE:
		if (party->stage != CROWD_WAITING || !party->active || !party->user_moves)
			crowd_fail(crowd, "party %u is told a response, and wants none", number);
		party->stage = CROWD_RESPONDED;
		break;
	case CM_EVENT_ESTABLISHED:
		if (party->user_moves && party->qp == CROWD_QP_RTR)
			party->qp = CROWD_QP_RTS;
		/* That his QP has died its user knows, and no manager does. */
		if (party->stage != CROWD_WAITING || party->closing ||
		    (party->qp != CROWD_QP_RTS && !(party->user_moves && party->broken)))
			crowd_fail(crowd, "party %u is established too early, twice or too late", number);
		party->stage = CROWD_ESTABLISHED;
		party->was_established = true;
		crowd->established++;
		break;
	case CM_EVENT_REJECTED:
	case CM_EVENT_UNREACHABLE:
	case CM_EVENT_DISCONNECTED:
		judge_end(crowd, party, action);
		break;
	case CM_EVENT_ALTERNATE:
		if (party->stage != CROWD_ESTABLISHED || party->closing)
			crowd_fail(crowd, "party %u gets ALTERNATE when it is not established", number);
		party->laps = 0;
		party->loaded_by_both = action->status == 0;
		break;
	}
}

/* One REQ makes one connection: none that was established before, none beside it (C-11). */
static void judge_request(struct crowd *crowd, const struct crowd_party *party)
{
	for (uint32_t i = 0; i < crowd_number(crowd, party) && !crowd->few_ids && !crowd->forged; i++) {
		const struct crowd_party *other = &crowd->parties[i];

		if (other->active || other->host != party->host || other->life != party->life ||
		    other->request_id != party->request_id || other->request_from != party->request_from)
			continue;
		if (other->stage < CROWD_ENDED || other->was_established || crowd->lossless)
			crowd_fail(crowd, "the REQ of party %u makes party %u, too", i, crowd_number(crowd, party));
	}
}

struct crowd_party *crowd_new_party(struct crowd *crowd, uint32_t index)
{
	struct crowd_host *host = &crowd->hosts[index];
	struct crowd_party *party;

	if (crowd->party_count == CROWD_PARTIES)
		return NULL;
	party = &crowd->parties[crowd->party_count];
	*party = (struct crowd_party){
		.host = index,
		.life = host->life,
		.qpn = host->next_qpn++,
		.psn = ++crowd->party_count, /* in the whole crowd one of a kind */
		.next_ns = UINT64_MAX,
		.dies_ns = UINT64_MAX,
	};
	return party;
}

static void take_request(struct crowd *crowd, uint32_t index, const struct cm_action *action)
{
	struct crowd_host *host = &crowd->hosts[index];
	struct crowd_party *party = crowd_new_party(crowd, index);
	uint32_t from = host_of(crowd, cm_route_of(host->cm, action->connection)->dest);

	if (action->context < CROWD_CONTEXT)
		crowd_fail(crowd, "a REQUEST has the context %lu", action->context);
	if (party == NULL)
		return; /* its user never looks at it: the manager's patience ends that */
	party->connection = action->connection;
	party->stage = CROWD_ASKED;
	party->request_id = action->message->local_id;
	party->request_from = from;
	host->party_of[action->connection] = crowd_number(crowd, party);
	cm_set_context(host->cm, action->connection, crowd_number(crowd, party));
	judge_request(crowd, party);
	crowd_say(crowd, "party %u of host %u is asked by id %08x", crowd_number(crowd, party), index,
		  party->request_id);
	crowd->notice(crowd, party);
}

static void carry_out_event(struct crowd *crowd, uint32_t index, const struct cm_action *action)
{
	struct crowd_host *host = &crowd->hosts[index];
	uint32_t number = action->connection < CROWD_CONNECTIONS ? host->party_of[action->connection] : CROWD_NONE;
	struct crowd_party *party = number == CROWD_NONE ? NULL : &crowd->parties[number];

	if (action->event == CM_EVENT_REQUEST && party == NULL) {
		take_request(crowd, index, action);
		return;
	}
	if (party == NULL) {
		if (crowd->party_count < CROWD_PARTIES)
			crowd_fail(crowd, "host %u: %s for nobody", index, event_names[action->event]);
		return;
	}
	crowd_say(crowd, "party %u of host %u: %s %d", number, index, event_names[action->event], action->status);
	if (party->stage == CROWD_GONE) {
		crowd_fail(crowd, "party %u gets %s after it was forgotten", number, event_names[action->event]);
		return;
	}
	take_event(crowd, party, action);
	crowd->notice(crowd, party);
}

/* ---- carrying out ---- */

static int move_qp(struct crowd *crowd, struct crowd_party *party, enum cm_move move)
{
	int error = 0;

	switch (move) {
	case CM_MOVE_ERROR:
		party->qp = CROWD_QP_ERR;
		return 0;
	case CM_MOVE_RTS:
		if (party->qp == CROWD_QP_RTS)
			crowd_fail(crowd, "the QP of party %u moves to RTS twice", crowd_number(crowd, party));
		error = party->qp == CROWD_QP_ERR ? -EINVAL : crowd->move(crowd, party, move);
		party->qp = error ? CROWD_QP_ERR : CROWD_QP_RTS;
		party->broken = party->broken || error;
		return error;
	case CM_MOVE_ALTERNATE:
		if (party->qp != CROWD_QP_RTS && !party->broken)
			crowd_fail(crowd, "an alternate way for the QP of party %u, which does not work",
				   crowd_number(crowd, party));
		error = crowd->move(crowd, party, move);
		if (error == 0)
			party->loaded = *cm_alternate(crowd->hosts[party->host].cm, party->connection);
		return error;
	}
	return error;
}

static void carry_out_move(struct crowd *crowd, uint32_t index, const struct cm_action *action)
{
	struct crowd_host *host = &crowd->hosts[index];
	uint32_t number = host->party_of[action->connection];
	int error = 0;

	if (number != CROWD_NONE && crowd->parties[number].user_moves)
		crowd_fail(crowd, "the QP of party %u, which its user moves, is moved", number);
	if (number != CROWD_NONE)
		error = move_qp(crowd, &crowd->parties[number], action->move);
	else if (crowd->party_count < CROWD_PARTIES)
		crowd_fail(crowd, "host %u moves the QP of nobody", index);
	if (error)
		crowd_say(crowd, "party %u: its QP cannot be moved", number);
	cm_qp_moved(host->cm, action->connection, action->move, error, crowd->now_ns);
}

/* The first message of a connection tells its id: one that has not been in use until a moment ago (C-16). */
static void note_id(struct crowd *crowd, uint32_t index, const struct cm_message *message)
{
	struct crowd_party *party = NULL;

	if (message->kind != CM_REQ && message->kind != CM_REP)
		return;
	for (uint32_t i = 0; i < crowd->party_count; i++) {
		const struct crowd_party *other = &crowd->parties[i];

		if (other->host == index && other->life == crowd->hosts[index].life && other->qpn == message->qpn)
			party = &crowd->parties[i];
	}
	if (party == NULL || party->local_id)
		return;
	for (uint32_t i = 0; i < crowd->party_count && crowd->rest_ns; i++) {
		const struct crowd_party *other = &crowd->parties[i];

		if (other->host == index && other->life == party->life && other->local_id == message->local_id &&
		    (other->ended_ns == 0 || other->ended_ns + crowd->rest_ns > crowd->now_ns))
			crowd_fail(crowd, "party %u has the id of party %u, which rests", crowd_number(crowd, party),
				   i);
	}
	party->local_id = message->local_id;
	if (party->active) {
		party->request_from = index;
		party->request_id = message->local_id;
	}
}

static void carry_out_send(struct crowd *crowd, uint32_t index, const struct cm_action *action)
{
	struct crowd_datagram datagram = { .from = index,
					   .to = host_of(crowd, action->route.dest),
					   .route = action->route };
	struct cm_message message;

	if (cm_mad_parse(action->mad, CM_MAD_BYTES, &message) != CM_MAD_OK) {
		crowd_fail(crowd, "host %u sends what is no message", index);
		return;
	}
	note_id(crowd, index, &message);
	crowd->datagrams++;
	crowd->hosts[index].sent[message.kind - CM_KIND_FIRST]++;
	crowd_say(crowd, "host %u sends %s %08x to %08x", index, cm_mad_kind_short(message.kind), message.local_id,
		  message.remote_id);
	memcpy(datagram.route.source, action->route.dest, 16);
	memcpy(datagram.route.dest, action->route.source, 16);
	memcpy(datagram.mad, action->mad, CM_MAD_BYTES);
	if (datagram.to == CROWD_NONE && !crowd->forged)
		crowd_fail(crowd, "host %u sends to nowhere", index);
	else if (datagram.to != CROWD_NONE)
		crowd->send(crowd, &datagram);
}

void crowd_drain(struct crowd *crowd, uint32_t index)
{
	struct cm_action action;

	while (cm_pop_action(crowd->hosts[index].cm, &action)) {
		switch (action.kind) {
		case CM_SEND:
			carry_out_send(crowd, index, &action);
			break;
		case CM_EVENT:
			carry_out_event(crowd, index, &action);
			break;
		case CM_MOVE:
			carry_out_move(crowd, index, &action);
			break;
		}
	}
}

/* ---- time ---- */

void crowd_put(struct crowd *crowd, const struct crowd_datagram *datagram, uint64_t delay_ns)
{
	struct crowd_datagram *put = &crowd->wire[crowd->wire_count];

	if (crowd->wire_count == CROWD_WIRE)
		return;
	*put = *datagram;
	put->when_ns = crowd->now_ns + delay_ns;
	put->order = crowd->order++;
	crowd->wire_count++;
}

static const struct crowd_datagram *first_of_wire(const struct crowd *crowd)
{
	const struct crowd_datagram *first = NULL;

	for (uint32_t i = 0; i < crowd->wire_count; i++) {
		const struct crowd_datagram *one = &crowd->wire[i];

		if (first == NULL || one->when_ns < first->when_ns ||
		    (one->when_ns == first->when_ns && one->order < first->order))
			first = one;
	}
	return first;
}

static uint32_t first_of_hosts(const struct crowd *crowd, uint64_t *deadline_ns)
{
	uint32_t first = CROWD_NONE;

	*deadline_ns = UINT64_MAX;
	for (uint32_t i = 0; i < CROWD_HOSTS; i++) {
		if (crowd->hosts[i].cm && cm_deadline(crowd->hosts[i].cm) < *deadline_ns) {
			first = i;
			*deadline_ns = cm_deadline(crowd->hosts[i].cm);
		}
	}
	return first;
}

uint64_t crowd_next(const struct crowd *crowd)
{
	const struct crowd_datagram *datagram = first_of_wire(crowd);
	uint64_t deadline_ns;

	first_of_hosts(crowd, &deadline_ns);
	return datagram && datagram->when_ns < deadline_ns ? datagram->when_ns : deadline_ns;
}

static void deliver(struct crowd *crowd, const struct crowd_datagram *datagram)
{
	struct crowd_host *host = &crowd->hosts[datagram->to];
	struct cm_message message;

	if (host->cm == NULL)
		return;
	if (cm_mad_parse(datagram->mad, CM_MAD_BYTES, &message) == CM_MAD_OK)
		host->received[message.kind - CM_KIND_FIRST]++;
	else
		host->bad++;
	cm_receive(host->cm, &datagram->route, datagram->mad, CM_MAD_BYTES, crowd->now_ns);
	crowd_drain(crowd, datagram->to);
}

void crowd_step(struct crowd *crowd)
{
	const struct crowd_datagram *first = first_of_wire(crowd);
	struct crowd_datagram datagram;
	uint64_t deadline_ns;
	uint32_t host = first_of_hosts(crowd, &deadline_ns);

	if (first && first->when_ns < deadline_ns) {
		datagram = *first;
		crowd->wire[first - crowd->wire] = crowd->wire[--crowd->wire_count];
		if (datagram.when_ns > crowd->now_ns)
			crowd->now_ns = datagram.when_ns;
		deliver(crowd, &datagram);
	} else if (host != CROWD_NONE) {
		if (deadline_ns > crowd->now_ns)
			crowd->now_ns = deadline_ns;
		cm_timeout(crowd->hosts[host].cm, crowd->now_ns);
		crowd_drain(crowd, host);
	}
}
