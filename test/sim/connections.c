/* connections.c - a story of connections: a network, hosts and users drawn from a seed, then calm, then the end */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * 1. The story: users connect, answer, think, use, load alternate ways, disconnect, forget; hosts crash and come back;
 *    ports are served and not. All datagrams may be lost, copied, delayed and overtaken.
 * 2. Calm: nobody begins anything any more, the network stays as it is. Users that are asked answer, those that are
 *    established send now and then, so that a QP whose peer has gone dies. Within a bound nothing is due any more.
 * 3. The end: all is forgotten, and time goes on until nothing may rest any more.
 */
#include "sim/connections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crowd.h"
#include "sim/random.h"

#define US 1000ull
#define MS 1000000ull
#define S 1000000000ull
#define STEPS 400000u /* more than any story takes */
#define STREAM_SHAPE 1u
#define STREAM_STORY 2u
#define STREAM_NET 3u

struct story {
	struct crowd crowd;
	struct sim_random users, net;
	uint32_t hosts, to_come, steps;
	uint32_t loss, copy, late;              /* per million */
	uint32_t move_fails, rude, crash, slow; /* the same */
	uint32_t own_qps;                       /* that their users move */
	uint64_t life_ns, jitter_ns;            /* the longest and the usual way of a datagram */
	uint64_t think_ns, patience_ns, wait_ns;
	uint64_t spawn_ns, next_spawn_ns, next_crash_ns, next_port_ns, cut_until_ns;
	uint64_t up_again_ns[CROWD_HOSTS];
	uint32_t cut_host;
	uint8_t ack_timeout;
	bool calm, ending;
	struct cm_config config;
};

/* ---- the shape of a story ---- */

static uint64_t code_ns(uint8_t code)
{
	return 4096ull << code;
}

static void draw_config(struct story *story, struct sim_random *random)
{
	struct cm_config *config = &story->config;

	*config = (struct cm_config){
		.connections = (uint32_t)random_between(random, 3, CROWD_CONNECTIONS),
		.half_open = (uint32_t)random_between(random, 2, 24),
		.refusals = 64,
		.max_path_mtu = (uint8_t)random_between(random, 2, 5),
		.response_timeout = (uint8_t)random_between(random, 12, 18),
		.max_retries = (uint8_t)random_between(random, 1, 15),
	};
	config->timewait_ids = (uint32_t)random_between(random, config->connections + 1, 64);
	config->packet_life = (uint8_t)random_between(random, 8, config->response_timeout - 1u);
	if (config->packet_life > 14)
		config->packet_life = 14;
	config->patience_ns = random_between(random, 10 * MS, 3 * S);
	story->crowd.few_ids = random_chance(random, 200000);
	if (story->crowd.few_ids) {
		/* 256 of them, more than can be used and rest. */
		config->id_mask = 0x00FFFFFF;
		config->id_low = 0x00ABCDEF;
	}
}

static uint32_t maybe(struct sim_random *random, uint32_t most)
{
	bool any = random_chance(random, 700000);

	return any ? (uint32_t)random_below(random, most) : 0;
}

static void draw_shape(struct story *story, uint64_t seed)
{
	struct sim_random random = random_stream(seed, STREAM_SHAPE, 0);

	draw_config(story, &random);
	story->hosts = (uint32_t)random_between(&random, 2, CROWD_HOSTS);
	story->to_come = (uint32_t)random_between(&random, 1, 40);
	story->loss = maybe(&random, 400000);
	story->copy = maybe(&random, 300000);
	story->late = maybe(&random, 500000);
	story->move_fails = maybe(&random, 100000);
	story->rude = maybe(&random, 200000);
	story->crash = maybe(&random, 1000000);
	story->slow = maybe(&random, 400000);
	story->own_qps = maybe(&random, 1000000);
	/* A packet is never older than its life: time-wait relies on that. */
	story->life_ns = code_ns(story->config.packet_life) - US;
	story->jitter_ns = random_between(&random, US, story->life_ns / 2);
	story->wait_ns = code_ns(story->config.response_timeout) + 2 * code_ns(story->config.packet_life);
	story->patience_ns = story->config.patience_ns;
	/* From much faster than packets travel to much slower. */
	story->think_ns =
		random_between(&random, MS / 20, MS / 20 + ((2 * story->wait_ns) >> random_below(&random, 9)));
	story->spawn_ns = random_between(&random, MS, 2 * story->wait_ns);
	story->ack_timeout = (uint8_t)random_between(&random, 8, 16);
	story->crowd.rest_ns = 2 * code_ns(story->config.packet_life);
	story->users = random_stream(seed, STREAM_STORY, 0);
	story->net = random_stream(seed, STREAM_NET, 0);
	story->crowd.lossless = story->loss == 0 && story->crash == 0;
	story->next_spawn_ns = story->crowd.now_ns;
	story->next_crash_ns =
		story->crash ? story->crowd.now_ns + random_below(&random, 20 * story->wait_ns) : UINT64_MAX;
	story->next_port_ns = story->crowd.now_ns + random_below(&random, 20 * story->wait_ns);
	for (uint32_t i = 0; i < CROWD_HOSTS; i++)
		story->up_again_ns[i] = UINT64_MAX;
}

/* ---- the network ---- */

static void send(struct crowd *crowd, struct crowd_datagram *datagram)
{
	struct story *story = crowd->driver;
	bool cut = crowd->now_ns < story->cut_until_ns &&
		   (story->cut_host == datagram->from || story->cut_host == datagram->to);
	uint32_t copies = 1;

	if (random_chance(&story->net, story->loss) || cut)
		copies = 0;
	while (copies < 4 && random_chance(&story->net, story->copy))
		copies++;
	for (uint32_t i = 0; i < copies; i++) {
		bool late = random_chance(&story->net, story->late);

		crowd_put(crowd, datagram, random_below(&story->net, late ? story->life_ns : story->jitter_ns));
	}
}

static int move(struct crowd *crowd, struct crowd_party *party, enum cm_move move)
{
	struct story *story = crowd->driver;

	(void)party;
	(void)move;
	return random_chance(&story->users, story->move_fails) ? -EIO : 0;
}

/* ---- users ---- */

static uint64_t a_while(struct story *story, uint64_t usual_ns)
{
	uint64_t draw = random_below(&story->users, usual_ns);

	return story->crowd.now_ns + 1 + (random_chance(&story->users, 50000) ? 10 * draw : draw);
}

static void notice(struct crowd *crowd, struct crowd_party *party)
{
	struct story *story = crowd->driver;
	bool slow = random_chance(&story->users, story->slow);

	party->dies_ns = UINT64_MAX;
	/* Some think for longer than their peer waits, some for longer than they may. */
	party->next_ns = a_while(story, slow ? 2 * story->patience_ns : story->think_ns);
}

static void connect(struct story *story)
{
	uint32_t from = (uint32_t)random_below(&story->users, story->hosts);
	uint32_t to = (uint32_t)random_below(&story->users, story->hosts);
	uint32_t port = (uint32_t)random_below(&story->users, CROWD_PORTS);
	struct cm_connect wishes = {
		.source_port = 4000,
		.side = { .responder_resources = (uint8_t)random_below(&story->users, 9),
			  .initiator_depth = (uint8_t)random_below(&story->users, 9),
			  .retry_count = 7,
			  .rnr_retry_count = 7,
			  .path_mtu = (uint8_t)random_between(&story->users, 1, 5),
			  .ack_timeout = story->ack_timeout },
		.max_retries = (uint8_t)random_below(&story->users, 16),
		.user_moves = random_chance(&story->users, story->own_qps),
	};
	struct crowd_party *party;

	if (story->crowd.hosts[from].cm == NULL)
		return;
	party = crowd_connect(&story->crowd, from, to, port, &wishes);
	if (party)
		party->next_ns = a_while(story, 4 * story->wait_ns);
}

/* Whatever it is good for. */
static void be_rude(struct story *story, struct crowd_party *party)
{
	switch (random_below(&story->users, 7)) {
	case 0:
		crowd_accept(&story->crowd, party, story->ack_timeout);
		break;
	case 1:
		crowd_reject(&story->crowd, party);
		break;
	case 2:
		crowd_disconnect(&story->crowd, party);
		break;
	case 3:
		crowd_load_alternate(&story->crowd, party);
		break;
	case 4:
		crowd_qp_died(&story->crowd, party);
		break;
	case 5:
		crowd_forget(&story->crowd, party);
		break;
	case 6:
		crowd_establish(&story->crowd, party);
		break;
	}
}

static void answer(struct story *story, struct crowd_party *party)
{
	uint64_t choice = random_below(&story->users, 100);

	party->user_moves = random_chance(&story->users, story->own_qps);
	if (choice < 75)
		crowd_accept(&story->crowd, party, story->ack_timeout);
	else if (choice < 88)
		crowd_reject(&story->crowd, party);
	else
		crowd_forget(&story->crowd, party);
}

/* The QP has been moved, or cannot be. */
static void respond(struct story *story, struct crowd_party *party)
{
	uint64_t choice = random_below(&story->users, 100);

	if (choice < 85)
		crowd_establish(&story->crowd, party);
	else if (choice < 93)
		crowd_reject(&story->crowd, party);
	else
		crowd_forget(&story->crowd, party);
}

/* RC notices by itself that nobody hears it, after its retries. */
static void talk(struct story *story, struct crowd_party *party)
{
	if (crowd_traffic(&story->crowd, party))
		party->dies_ns = UINT64_MAX;
	else if (party->dies_ns == UINT64_MAX)
		party->dies_ns = story->crowd.now_ns + 1 + random_below(&story->users, 4 * story->wait_ns);
}

static void use(struct story *story, struct crowd_party *party)
{
	uint64_t choice = story->calm ? 0 : random_below(&story->users, 100);

	if (party->closing)
		return;
	if (choice < 60)
		talk(story, party);
	else if (choice < 72)
		crowd_load_alternate(&story->crowd, party);
	else if (choice < 84)
		crowd_disconnect(&story->crowd, party);
	else if (choice < 92)
		crowd_forget(&story->crowd, party);
	else if (choice < 95)
		crowd_qp_died(&story->crowd, party);
}

static void act(struct story *story, struct crowd_party *party)
{
	party->next_ns = a_while(story, 4 * story->think_ns + story->wait_ns / 32);
	if (party->stage == CROWD_GONE) {
		party->next_ns = UINT64_MAX;
	} else if (party->dies_ns <= story->crowd.now_ns) {
		party->dies_ns = UINT64_MAX;
		if (party->stage == CROWD_ESTABLISHED && !party->closing)
			crowd_qp_died(&story->crowd, party);
	} else if (!story->calm && random_chance(&story->users, story->rude)) {
		be_rude(story, party);
	} else if (party->stage == CROWD_ASKED) {
		answer(story, party);
	} else if (party->stage == CROWD_RESPONDED) {
		respond(story, party);
	} else if (party->stage == CROWD_ESTABLISHED) {
		use(story, party);
	} else if (story->calm) {
		party->next_ns = UINT64_MAX;
	} else if (party->stage == CROWD_ENDED ? random_chance(&story->users, 500000) :
						 random_chance(&story->users, 100000)) {
		crowd_forget(&story->crowd, party);
	}
}

/* ---- hosts ---- */

static void serve(struct story *story, uint32_t host)
{
	for (uint32_t port = 0; port < CROWD_PORTS; port++)
		crowd_listen(&story->crowd, host, port, 1 + (uint32_t)random_below(&story->users, 16));
}

static void come_back(struct story *story, uint32_t host)
{
	story->up_again_ns[host] = UINT64_MAX;
	crowd_start(&story->crowd, host, &story->config);
	serve(story, host);
}

static void let_crash(struct story *story)
{
	uint32_t host = (uint32_t)random_below(&story->users, story->hosts);

	story->next_crash_ns = a_while(story, 40 * story->wait_ns);
	if (random_chance(&story->users, 300000)) {
		story->cut_host = host;
		story->cut_until_ns = a_while(story, 4 * story->wait_ns);
	} else if (story->crowd.hosts[host].cm) {
		crowd_crash(&story->crowd, host);
		story->up_again_ns[host] = a_while(story, 4 * story->wait_ns);
	}
}

static void change_port(struct story *story)
{
	uint32_t host = (uint32_t)random_below(&story->users, story->hosts);

	story->next_port_ns = a_while(story, 10 * story->wait_ns);
	if (story->crowd.hosts[host].cm == NULL)
		return;
	crowd_stop_listening(&story->crowd, host, 0);
	if (random_chance(&story->users, 700000))
		serve(story, host);
}

/* ---- time ---- */

/* When a user has something to do. */
static uint64_t wakes_ns(const struct crowd_party *party)
{
	return party->dies_ns < party->next_ns ? party->dies_ns : party->next_ns;
}

static struct crowd_party *first_user(struct story *story)
{
	struct crowd_party *first = NULL;

	for (uint32_t i = 0; i < story->crowd.party_count; i++) {
		struct crowd_party *party = &story->crowd.parties[i];

		if (party->stage != CROWD_GONE && wakes_ns(party) != UINT64_MAX &&
		    (first == NULL || wakes_ns(party) < wakes_ns(first)))
			first = party;
	}
	return first;
}

static bool is_first(uint64_t when_ns, uint64_t *first_ns)
{
	bool first = when_ns < *first_ns;

	if (first)
		*first_ns = when_ns;
	return first;
}

/* Hosts and the world around them. false: nothing of that is due before next_ns. */
static bool poll_of_hosts(struct story *story, uint64_t next_ns)
{
	enum { NOTHING, COMES_BACK, CRASH, PORT, CONNECT } what = NOTHING;
	uint64_t first_ns = next_ns;
	uint32_t host = 0;

	for (uint32_t i = 0; i < story->hosts; i++) {
		if (is_first(story->up_again_ns[i], &first_ns)) {
			what = COMES_BACK;
			host = i;
		}
	}
	if (!story->calm && is_first(story->next_crash_ns, &first_ns))
		what = CRASH;
	if (!story->calm && is_first(story->next_port_ns, &first_ns))
		what = PORT;
	if (!story->calm && story->to_come && is_first(story->next_spawn_ns, &first_ns))
		what = CONNECT;
	if (what == NOTHING)
		return false;
	if (first_ns > story->crowd.now_ns)
		story->crowd.now_ns = first_ns;
	switch (what) {
	case NOTHING:
		break;
	case COMES_BACK:
		come_back(story, host);
		break;
	case CRASH:
		let_crash(story);
		break;
	case PORT:
		change_port(story);
		break;
	case CONNECT:
		story->to_come--;
		story->next_spawn_ns = a_while(story, story->spawn_ns);
		connect(story);
		break;
	}
	return true;
}

/* The next thing that happens. false: nothing does before until_ns. */
static bool poll_once(struct story *story, uint64_t until_ns)
{
	struct crowd *crowd = &story->crowd;
	uint64_t next_ns = crowd_next(crowd);
	struct crowd_party *user = story->ending ? NULL : first_user(story);

	if (crowd->failure[0])
		return false;
	if (++story->steps > STEPS) {
		crowd_fail(crowd, "it does not end");
		return false;
	}
	if (user && wakes_ns(user) < next_ns)
		next_ns = wakes_ns(user);
	else
		user = NULL;
	if (poll_of_hosts(story, next_ns < until_ns ? next_ns : until_ns))
		return true;
	if (next_ns > until_ns || next_ns == UINT64_MAX)
		return false;
	if (user) {
		crowd->now_ns = next_ns > crowd->now_ns ? next_ns : crowd->now_ns;
		act(story, user);
	} else {
		crowd_step(crowd);
	}
	return true;
}

static bool nothing_is_due(const struct story *story)
{
	for (uint32_t i = 0; i < story->crowd.party_count; i++) {
		const struct crowd_party *party = &story->crowd.parties[i];

		if (party->stage != CROWD_GONE && (party->dies_ns != UINT64_MAX || party->stage == CROWD_ASKED))
			return false;
	}
	return crowd_next(&story->crowd) == UINT64_MAX;
}

/* Everything that waits ends by itself within this. */
static uint64_t bound_ns(const struct story *story)
{
	return 8 * story->patience_ns + 100 * (story->wait_ns + story->think_ns) + S;
}

/* Each one that is established sends something. true: all were heard. */
static bool all_talk(struct story *story)
{
	bool heard = true;

	for (uint32_t i = 0; i < story->crowd.party_count; i++) {
		struct crowd_party *party = &story->crowd.parties[i];

		if (party->stage == CROWD_ESTABLISHED && !party->closing) {
			talk(story, party);
			heard = heard && party->dies_ns == UINT64_MAX;
		}
	}
	return heard && nothing_is_due(story);
}

static void calm_down(struct story *story)
{
	uint64_t until_ns = story->crowd.now_ns + bound_ns(story);

	story->calm = true;
	crowd_say(&story->crowd, "all calm down");
	do {
		while (poll_once(story, nothing_is_due(story) ? story->crowd.now_ns : until_ns))
			;
	} while (!all_talk(story) && story->crowd.now_ns < until_ns && !story->crowd.failure[0]);
	if (!nothing_is_due(story))
		crowd_fail(&story->crowd, "something is still due after %.3f s of calm", (double)bound_ns(story) / 1e9);
	crowd_check_quiet(&story->crowd);
}

/* In a calm network an established connection can load an alternate way: nothing of an earlier one is left. */
static void end(struct story *story)
{
	struct crowd *crowd = &story->crowd;

	story->ending = true;
	for (uint32_t i = 0; i < crowd->party_count && !crowd->failure[0]; i++) {
		struct crowd_party *party = &crowd->parties[i];

		if (party->stage == CROWD_ESTABLISHED && party->active)
			crowd_load_alternate(crowd, party);
		if (party->stage == CROWD_ESTABLISHED && random_chance(&story->users, 300000))
			crowd_disconnect(crowd, party);
		if (party->stage != CROWD_GONE)
			crowd_forget(crowd, party);
	}
	while (poll_once(story, crowd->now_ns + bound_ns(story)))
		;
	crowd->now_ns += 2 * code_ns(story->config.packet_life) + code_ns(story->ack_timeout);
	crowd_check_nothing_left(crowd);
	crowd_check_quiet(crowd);
}

void sim_connections_run(struct sim_connections *run)
{
	struct story *story = calloc(1, sizeof(*story));
	struct crowd *crowd = &story->crowd;

	crowd_open(crowd, run->seed);
	crowd->trace = run->trace;
	crowd->driver = story;
	crowd->send = send;
	crowd->move = move;
	crowd->notice = notice;
	draw_shape(story, run->seed);
	for (uint32_t i = 0; i < story->hosts; i++)
		come_back(story, i);
	while ((story->to_come || random_chance(&story->users, 990000)) && poll_once(story, UINT64_MAX))
		;
	calm_down(story);
	end(story);
	run->hash = crowd->hash;
	run->datagrams = crowd->datagrams;
	run->parties = crowd->party_count;
	run->established = crowd->established;
	memcpy(run->failure, crowd->failure, sizeof(run->failure));
	crowd_close(crowd);
	free(story);
}
