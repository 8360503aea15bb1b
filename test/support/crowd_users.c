/* crowd_users.c - what the users of a crowd call, how each call has to end, and how all has to end */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "cm/service.h"
#include "crowd.h"

/* ---- users ---- */

/*
 * There is a place for one more, and one for its ids to rest in. Those without a user only wait for their peer, and
 * give way.
 */
static bool has_room(const struct crowd *crowd, const struct crowd_host *host)
{
	struct cm_usage usage;
	uint32_t of_users = 0;

	for (uint32_t i = 0; i < CROWD_CONNECTIONS; i++)
		of_users += host->party_of[i] != CROWD_NONE;
	cm_usage(host->cm, &usage, crowd->now_ns);
	return of_users < host->config.connections &&
	       usage.connections + usage.timewait_ids < host->config.timewait_ids;
}

struct crowd_party *crowd_connect(struct crowd *crowd, uint32_t index, uint32_t to, uint32_t port,
				  const struct cm_connect *wishes)
{
	struct crowd_host *host = &crowd->hosts[index];
	struct crowd_party *party = crowd_new_party(crowd, index);
	struct cm_connect connect = *wishes;
	bool room = has_room(crowd, host);
	int error;

	if (party == NULL)
		return NULL;
	memcpy(connect.route.source, host->addr, 16);
	memcpy(connect.route.dest, crowd->hosts[to].addr, 16);
	connect.service_id = cm_service_id(CM_SPACE_TCP, (uint16_t)(CROWD_FIRST_PORT + port));
	connect.context = crowd_number(crowd, party);
	connect.side.qpn = party->qpn;
	connect.side.psn = party->psn;
	party->active = true;
	party->user_moves = connect.user_moves;
	party->stage = CROWD_WAITING;
	error = cm_connect(host->cm, &connect, crowd->now_ns, &party->connection);
	crowd_say(crowd, "party %u of host %u connects to %u: %d", crowd_number(crowd, party), index, to, error);
	if (error != (room ? 0 : -ENOBUFS))
		crowd_fail(crowd, "cm_connect() %s room: %d", room ? "with" : "without", error);
	if (error) {
		party->stage = CROWD_GONE;
		return NULL;
	}
	if (host->party_of[party->connection] != CROWD_NONE)
		crowd_fail(crowd, "party %u has the number of party %u", crowd_number(crowd, party),
			   host->party_of[party->connection]);
	host->party_of[party->connection] = crowd_number(crowd, party);
	crowd_drain(crowd, index);
	return party;
}

void crowd_accept(struct crowd *crowd, struct crowd_party *party, uint8_t ack_timeout)
{
	struct cm *cm = crowd->hosts[party->host].cm;
	struct cm_accept accept = {
		.context = crowd_number(crowd, party),
		.user_moves = party->user_moves,
		.side = { .qpn = party->qpn,
			  .psn = party->psn,
			  .responder_resources = 4,
			  .initiator_depth = 4,
			  .rnr_retry_count = 7,
			  .ack_timeout = ack_timeout },
	};
	bool asks = party->stage == CROWD_ASKED;
	int error;

	if (cm_is_asking(cm, party->connection) != asks)
		crowd_fail(crowd, "party %u %s", crowd_number(crowd, party), asks ? "asks no more" : "still asks");
	error = cm_accept(cm, party->connection, &accept, crowd->now_ns);
	crowd_say(crowd, "party %u accepts: %d", crowd_number(crowd, party), error);
	if (error != (asks ? 0 : -ENOTCONN))
		crowd_fail(crowd, "cm_accept() of party %u: %d", crowd_number(crowd, party), error);
	if (asks) {
		party->stage = CROWD_WAITING;
		party->qp = CROWD_QP_RTR;
	}
	crowd_drain(crowd, party->host);
}

void crowd_establish(struct crowd *crowd, struct crowd_party *party)
{
	bool can = party->stage == CROWD_RESPONDED;
	int error = cm_establish(crowd->hosts[party->host].cm, party->connection);

	crowd_say(crowd, "party %u establishes: %d", crowd_number(crowd, party), error);
	if (error != (can ? 0 : -ENOTCONN))
		crowd_fail(crowd, "cm_establish() of party %u: %d", crowd_number(crowd, party), error);
	if (can) {
		party->stage = CROWD_ESTABLISHED;
		party->qp = CROWD_QP_RTS;
		party->was_established = true;
		crowd->established++;
	}
	crowd_drain(crowd, party->host);
}

void crowd_reject(struct crowd *crowd, struct crowd_party *party)
{
	bool asks = party->stage == CROWD_ASKED || party->stage == CROWD_RESPONDED;
	int error = cm_reject(crowd->hosts[party->host].cm, party->connection, CM_REJ_CONSUMER, NULL, crowd->now_ns);

	crowd_say(crowd, "party %u rejects: %d", crowd_number(crowd, party), error);
	if (error != (asks ? 0 : -ENOTCONN))
		crowd_fail(crowd, "cm_reject() of party %u: %d", crowd_number(crowd, party), error);
	if (asks) {
		party->stage = CROWD_ENDED;
		party->ended_ns = crowd->now_ns;
	}
	crowd_drain(crowd, party->host);
}

void crowd_disconnect(struct crowd *crowd, struct crowd_party *party)
{
	bool can = !party->closing &&
		   (party->stage == CROWD_ESTABLISHED || (party->stage == CROWD_WAITING && !party->active));
	int error;

	party->closing = party->closing || can;
	error = cm_disconnect(crowd->hosts[party->host].cm, party->connection, NULL, crowd->now_ns);
	crowd_say(crowd, "party %u disconnects: %d", crowd_number(crowd, party), error);
	if (error != (can ? 0 : -ENOTCONN))
		crowd_fail(crowd, "cm_disconnect() of party %u: %d", crowd_number(crowd, party), error);
	crowd_drain(crowd, party->host);
}

void crowd_forget(struct crowd *crowd, struct crowd_party *party)
{
	struct crowd_host *host = &crowd->hosts[party->host];

	crowd_say(crowd, "party %u is forgotten", crowd_number(crowd, party));
	party->closing = true;
	party->stage = CROWD_GONE;
	party->ended_ns = party->ended_ns ? party->ended_ns : crowd->now_ns;
	cm_forget(host->cm, party->connection, crowd->now_ns);
	crowd_drain(crowd, party->host);
	host->party_of[party->connection] = CROWD_NONE;
}

void crowd_load_alternate(struct crowd *crowd, struct crowd_party *party)
{
	struct cm_path way = { .ack_timeout = 14, .hop_limit = 64 };
	bool can = party->stage == CROWD_ESTABLISHED && !party->closing;
	int error;

	crowd->ways++; /* no two are alike */
	memcpy(way.local_gid, &crowd->ways, sizeof(crowd->ways));
	memcpy(way.remote_gid, &crowd->ways, sizeof(crowd->ways));
	way.local_gid[15] = party->active;
	way.remote_gid[15] = !party->active;
	error = cm_load_alternate(crowd->hosts[party->host].cm, party->connection, &way, crowd->now_ns);
	crowd_say(crowd, "party %u loads an alternate way: %d", crowd_number(crowd, party), error);
	if (can && party->user_moves ? error != -EOPNOTSUPP :
	    can                      ? error != 0 && (error != -EALREADY || party->laps == 0) :
				       error != -ENOTCONN)
		crowd_fail(crowd, "cm_load_alternate() of party %u: %d", crowd_number(crowd, party), error);
	party->laps += error == 0;
	crowd_drain(crowd, party->host);
}

bool crowd_traffic(struct crowd *crowd, struct crowd_party *party)
{
	struct crowd_party *other = crowd_partner(crowd, party);
	struct cm *cm;

	if (other == NULL || (other->qp != CROWD_QP_RTR && other->qp != CROWD_QP_RTS))
		return false;
	cm = crowd->hosts[other->host].cm;
	if (cm_peer(cm, other->connection)->qpn != party->qpn || cm_peer(cm, other->connection)->psn != party->psn)
		return false;
	cm_packet_came(cm, other->connection, crowd->now_ns);
	crowd_drain(crowd, other->host);
	return true;
}

void crowd_qp_died(struct crowd *crowd, struct crowd_party *party)
{
	crowd_say(crowd, "party %u: its QP dies", crowd_number(crowd, party));
	party->qp = CROWD_QP_ERR;
	party->broken = true;
	cm_qp_died(crowd->hosts[party->host].cm, party->connection, crowd->now_ns);
	crowd_drain(crowd, party->host);
}

/* ---- when nothing is due ---- */

static const char *const stage_names[] = {
	[CROWD_ASKED] = "is asked",  [CROWD_WAITING] = "waits", [CROWD_ESTABLISHED] = "is established",
	[CROWD_ENDED] = "has ended", [CROWD_GONE] = "has gone", [CROWD_RESPONDED] = "has a response",
};

/* Both were told that both have loaded a way: then it is the same one. */
static void check_ways(struct crowd *crowd, const struct crowd_party *party, const struct crowd_party *other)
{
	if (party->loaded_by_both && other->loaded_by_both &&
	    (memcmp(party->loaded.local_gid, other->loaded.remote_gid, 16) != 0 ||
	     memcmp(party->loaded.remote_gid, other->loaded.local_gid, 16) != 0))
		crowd_fail(crowd, "parties %u and %u have loaded different ways", crowd_number(crowd, party),
			   crowd_number(crowd, other));
}

/* No half state for ever; and what one end takes for established is so for the other. */
static void check_party(struct crowd *crowd, struct crowd_party *party)
{
	const struct crowd_party *other;

	if (party->stage == CROWD_GONE)
		return;
	if (party->stage == CROWD_ASKED || party->stage == CROWD_WAITING || party->stage == CROWD_RESPONDED ||
	    (party->closing && party->stage != CROWD_ENDED)) {
		crowd_fail(crowd, "party %u %s, and nothing is due", crowd_number(crowd, party),
			   stage_names[party->stage]);
		return;
	}
	if (party->stage == CROWD_ENDED || crowd->forged)
		return;
	if (party->laps)
		crowd_fail(crowd, "party %u waits for its alternate way, and nothing is due",
			   crowd_number(crowd, party));
	other = crowd_partner(crowd, party);
	if (other == NULL || other->stage != CROWD_ESTABLISHED || crowd_partner(crowd, other) != party)
		crowd_fail(crowd, "party %u is established, party %d %s", crowd_number(crowd, party),
			   other ? (int)crowd_number(crowd, other) : -1,
			   other ? stage_names[other->stage] : "is not there");
	else if (cm_own(crowd->hosts[party->host].cm, party->connection)->initiator_depth >
		 cm_own(crowd->hosts[other->host].cm, other->connection)->responder_resources)
		crowd_fail(crowd, "party %u asks for more at a time than party %u answers", crowd_number(crowd, party),
			   crowd_number(crowd, other));
	else
		check_ways(crowd, party, other);
}

/* What a host says that it has sent and received is what has left and come. */
static void check_counts(struct crowd *crowd, uint32_t index)
{
	const struct crowd_host *host = &crowd->hosts[index];

	for (uint32_t kind = 0; kind < CROWD_KINDS; kind++) {
		enum cm_kind which = (enum cm_kind)(kind + CM_KIND_FIRST);

		if (cm_count_sent(host->cm, which) != host->sent[kind])
			crowd_fail(crowd, "host %u counts %lu of %s sent, not %lu", index,
				   cm_count_sent(host->cm, which), cm_mad_kind_short((uint8_t)which), host->sent[kind]);
		if (cm_count_received(host->cm, which) != host->received[kind])
			crowd_fail(crowd, "host %u counts %lu of %s received, not %lu", index,
				   cm_count_received(host->cm, which), cm_mad_kind_short((uint8_t)which),
				   host->received[kind]);
	}
	if (cm_count(host->cm, CM_CNT_DROP_MALFORMED) != host->bad)
		crowd_fail(crowd, "host %u counts %lu malformed, not %lu", index,
			   cm_count(host->cm, CM_CNT_DROP_MALFORMED), host->bad);
}

void crowd_check_quiet(struct crowd *crowd)
{
	for (uint32_t i = 0; i < crowd->party_count; i++)
		check_party(crowd, &crowd->parties[i]);
	for (uint32_t i = 0; i < CROWD_HOSTS; i++) {
		if (crowd->hosts[i].cm)
			check_counts(crowd, i);
	}
}

void crowd_check_nothing_left(struct crowd *crowd)
{
	for (uint32_t i = 0; i < CROWD_HOSTS; i++) {
		struct crowd_host *host = &crowd->hosts[i];
		struct cm_usage usage;

		if (host->cm == NULL)
			continue;
		cm_timeout(host->cm, crowd->now_ns);
		cm_usage(host->cm, &usage, crowd->now_ns);
		if (usage.connections || usage.half_open || usage.timewait_ids || usage.timers)
			crowd_fail(crowd, "host %u is left with %u connections, %u half open, %u rests, %u timers", i,
				   usage.connections, usage.half_open, usage.timewait_ids, usage.timers);
		for (uint32_t port = 0; port < CROWD_PORTS; port++) {
			if (atomic_load(&host->ports[port].pending))
				crowd_fail(crowd, "host %u: %u still count at a listener", i,
					   atomic_load(&host->ports[port].pending));
		}
	}
}
