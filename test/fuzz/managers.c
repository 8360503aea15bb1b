/* managers.c - fuzz target: two connection managers, their users, and a network that may also forge */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The input says what users do, when time goes on, and what becomes of each datagram: whether it arrives, how often,
 * how late, with which bytes changed, and what is made up in between from what was seen. test/support/crowd.h judges.
 */
#include <errno.h>
#include <string.h>

#include "crowd.h"
#include "input.h"

#define HOSTS 2u
#define MS 1000000ull
#define ACK_TIMEOUT 12u
#define STEPS_AT_THE_END 200000u

struct play {
	struct crowd crowd;
	struct input input;
	struct crowd_datagram seen[HOSTS]; /* what each has sent last, as its receiver has it */
	bool moves_fail;
};

static struct play play;

static void send(struct crowd *crowd, struct crowd_datagram *datagram)
{
	uint8_t fate = input_byte(&play.input), more = fate >> 3;

	if (datagram->from < HOSTS)
		play.seen[datagram->from] = *datagram;
	switch (fate & 7) {
	case 4:
		return;
	case 5:
		crowd_put(crowd, datagram, more * MS);
		break;
	case 6:
		crowd_put(crowd, datagram, more * 2 * MS);
		return;
	case 7:
		if (more == 0) /* what follows the end of the input is zeros */
			break;
		datagram->mad[input_byte(&play.input)] ^= more;
		crowd->forged = true;
		break;
	}
	crowd_put(crowd, datagram, more * MS / 10);
}

static int move(struct crowd *crowd, struct crowd_party *party, enum cm_move move)
{
	(void)crowd;
	(void)party;
	(void)move;
	return play.moves_fail ? -EIO : 0;
}

static void notice(struct crowd *crowd, struct crowd_party *party)
{
	(void)crowd;
	(void)party;
}

static void start(uint32_t host)
{
	struct cm_config config = {
		.connections = 8,
		.half_open = 6,
		.refusals = 16,
		.timewait_ids = 16,
		.max_path_mtu = 4,
		.response_timeout = 16,
		.packet_life = 14, /* nothing is on its way for longer */
		.max_retries = 3,
		.patience_ns = 300 * MS,
	};

	crowd_start(&play.crowd, host, &config);
	crowd_listen(&play.crowd, host, 0, 4);
}

/* ---- steps ---- */

static void connect(uint8_t choice)
{
	struct cm_connect wishes = {
		.source_port = 4000,
		.user_moves = choice & 16,
		.side = { .responder_resources = 4,
			  .initiator_depth = 4,
			  .path_mtu = choice & 8 ? 5 : 3,
			  .ack_timeout = ACK_TIMEOUT },
	};

	crowd_connect(&play.crowd, choice & 1, choice >> 1 & 1, choice >> 2 & 1, &wishes);
}

/* A message that was seen, or none, with some of what an attacker would like to say. */
static void forge(uint8_t choice)
{
	struct crowd_datagram datagram = play.seen[choice & 1];
	uint32_t changes = input_byte(&play.input) & 7;

	if (datagram.order == UINT64_MAX)
		return;
	if (choice & 2)
		datagram.mad[17] = (uint8_t)(CM_KIND_FIRST + (choice >> 2) % CROWD_KINDS);
	if (choice & 64) { /* as if the receiver had sent it: ids change over */
		uint8_t id[4];

		memcpy(id, datagram.mad + 24, 4);
		memcpy(datagram.mad + 24, datagram.mad + 28, 4);
		memcpy(datagram.mad + 28, id, 4);
	}
	for (uint32_t i = 0; i < changes; i++) {
		uint8_t at = input_byte(&play.input);

		datagram.mad[at] = input_byte(&play.input);
	}
	if (choice & 128)
		datagram.route.dest[15] = 77; /* from elsewhere */
	play.crowd.forged = true;
	crowd_put(&play.crowd, &datagram, 0);
}

/* It is not back, with the same QPNs, before what it has sent has arrived or died. */
static void restart(uint32_t host)
{
	struct crowd *crowd = &play.crowd;

	for (uint32_t i = 0; i < crowd->wire_count;) {
		if (crowd->wire[i].from == host)
			crowd->wire[i] = crowd->wire[--crowd->wire_count];
		else
			i++;
	}
	crowd_crash(crowd, host);
	start(host);
}

static void change_host(uint8_t choice)
{
	uint32_t host = choice & 1;

	switch (choice >> 1 & 3) {
	case 0:
		crowd_stop_listening(&play.crowd, host, 0);
		break;
	case 1:
		crowd_listen(&play.crowd, host, choice >> 3 & 1, 4);
		break;
	case 2:
		restart(host);
		break;
	case 3:
		play.moves_fail = choice >> 3 & 1;
		break;
	}
}

static void let_user_act(uint8_t deed, uint8_t choice)
{
	struct crowd *crowd = &play.crowd;
	struct crowd_party *party = &crowd->parties[crowd->party_count - 1 - choice % crowd->party_count];

	if (party->stage == CROWD_GONE)
		return;
	switch (deed) {
	case 0:
		if (party->stage == CROWD_RESPONDED) {
			crowd_establish(crowd, party);
			break;
		}
		party->user_moves = party->stage == CROWD_ASKED ? choice & 128 : party->user_moves;
		crowd_accept(crowd, party, ACK_TIMEOUT);
		break;
	case 1:
		crowd_reject(crowd, party);
		break;
	case 2:
		crowd_disconnect(crowd, party);
		break;
	case 3:
		crowd_forget(crowd, party);
		break;
	case 4:
		crowd_load_alternate(crowd, party);
		break;
	case 5:
		crowd_qp_died(crowd, party);
		break;
	case 6:
		if (party->stage == CROWD_ESTABLISHED)
			crowd_traffic(crowd, party);
		break;
	}
}

static void take_step(void)
{
	uint8_t what = input_byte(&play.input) & 15, choice = input_byte(&play.input);

	if (what < 7) {
		if (play.crowd.party_count)
			let_user_act(what, choice);
	} else if (what < 9) {
		connect(choice);
	} else if (what < 10) {
		change_host(choice);
	} else if (what < 12) {
		forge(choice);
	} else {
		for (uint32_t i = 0; i <= choice % 8u && crowd_next(&play.crowd) != UINT64_MAX; i++)
			crowd_step(&play.crowd);
	}
}

/* ---- the end ---- */

static void settle(void)
{
	for (uint32_t i = 0; crowd_next(&play.crowd) != UINT64_MAX; i++) {
		MUST(i < STEPS_AT_THE_END);
		crowd_step(&play.crowd);
	}
}

/* RC notices that nobody hears it. */
static void talk(void)
{
	for (uint32_t i = 0; i < play.crowd.party_count; i++) {
		struct crowd_party *party = &play.crowd.parties[i];

		if (party->stage == CROWD_ESTABLISHED && !crowd_traffic(&play.crowd, party)) {
			crowd_qp_died(&play.crowd, party);
			settle();
			i = UINT32_MAX; /* and so on, from the first one */
		}
	}
}

static void judge(void)
{
	if (play.crowd.failure[0])
		fprintf(stderr, "%s\n", play.crowd.failure);
	MUST(play.crowd.failure[0] == '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct crowd *crowd = &play.crowd;

	if (size == 0 || size > 2048)
		return 0;
	crowd_open(crowd, data[0]);
	crowd->forged = crowd->few_ids = crowd->lossless = false;
	crowd->rest_ns = 0;
	crowd->send = send;
	crowd->move = move;
	crowd->notice = notice;
	crowd->trace = getenv("UROCE_FUZZ_TRACE") != NULL;
	play.input = (struct input){ data, data + size };
	play.moves_fail = false;
	for (uint32_t i = 0; i < HOSTS; i++) {
		play.seen[i].order = UINT64_MAX;
		start(i);
	}
	while (!input_is_over(&play.input)) {
		take_step();
		judge();
	}
	settle();
	talk();
	settle();
	crowd_check_quiet(crowd);
	judge();
	for (uint32_t i = 0; i < crowd->party_count; i++) {
		if (crowd->parties[i].stage != CROWD_GONE)
			crowd_forget(crowd, &crowd->parties[i]);
	}
	settle();
	crowd->now_ns += 1000 * MS;
	if (crowd->party_count < CROWD_PARTIES)
		crowd_check_nothing_left(crowd);
	crowd_check_quiet(crowd);
	judge();
	crowd_close(crowd);
	return 0;
}
