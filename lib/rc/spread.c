/* spread.c - several paths to the peer: which one a packet takes, and which ones still work */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/spread.h"

#include <string.h>

#include "rc/ports.h"

/* ---- the set ---- */

/*
 * Lists the paths that take packets: the good ones, or one of them while the peer keeps nothing; if no path is good,
 * the one that has failed least often.
 */
static void fill_turn(struct rc_spread *spread)
{
	uint8_t least = 0, most = spread->alone_ns ? 1 : spread->count;

	spread->turns = 0;
	for (uint8_t i = 0; i < spread->count; i++) {
		if (spread->paths[i].state == SPREAD_GOOD && spread->turns < most)
			spread->turn[spread->turns++] = i;
		if (spread->paths[i].tries < spread->paths[least].tries)
			least = i;
	}
	if (spread->turns == 0)
		spread->turn[spread->turns++] = least;
}

void rc_spread_turn(struct rc_spread *spread)
{
	if (spread->skipped > 0) {
		for (uint32_t i = 0; i < spread->count; i++) {
			if (spread->paths[i].state == SPREAD_SKIP)
				spread->paths[i].state = SPREAD_GOOD;
		}
		spread->skipped = 0;
		fill_turn(spread);
	}
	if (spread->alone_ns && spread->now_ns >= spread->alone_ns) {
		spread->alone_ns = 0;
		fill_turn(spread);
	}
	spread->next = 0;
}

bool rc_spread_kept(struct rc_qp *qp, bool something, uint64_t now_ns)
{
	struct rc_spread *spread = spread_of(qp);

	if (something)
		spread->alone_tries = 0;
	if (something || spread->alone_ns)
		return false;
	spread->alone_ns = now_ns + rtt_doubled_ns(SPREAD_ALONE_NS, spread->alone_tries);
	spread->alone_tries += spread->alone_tries < SPREAD_ALONE_TRIES;
	spread->alone_end = qp->win.snd_max;
	spread->alone_packets = psn_distance(qp->win.snd_max, qp->win.snd_una);
	fill_turn(spread);
	return true;
}

bool rc_spread_repeats_flight(const struct rc_qp *qp)
{
	const struct rc_spread *spread = spread_of(qp);

	return spread->alone_ns && psn_distance(spread->alone_end, qp->win.snd_una) - 1 < spread->alone_packets;
}

static void begin(const struct rc_qp *qp, struct rc_spread *spread, uint8_t paths)
{
	memset(spread, 0, sizeof(*spread));
	spread->count = paths;
	for (uint32_t i = 0; i < paths; i++)
		spread->paths[i].port = rc_ports_own(qp, i);
	fill_turn(spread);
}

void rc_spread_over(struct rc_qp *qp, uint32_t paths)
{
	struct rc_board *board;

	rc_spread_forget(qp);
	if (paths < 2)
		return;
	board = rc_board_borrow(qp, BOARD_SPREAD);
	if (board == NULL)
		return; /* the packets take one path */
	begin(qp, &board->spread, (uint8_t)paths);
	qp_note_attributes(qp);
}

uint32_t rc_spread_count(const struct rc_qp *qp)
{
	return qp_board(qp, BOARD_SPREAD) ? spread_of(qp)->count : 0;
}

void rc_spread_forget(struct rc_qp *qp)
{
	if (qp_board(qp, BOARD_SPREAD) == NULL)
		return;
	rc_board_return(qp, BOARD_SPREAD);
	qp_note_attributes(qp);
}

void rc_spread_path_changed(struct rc_qp *qp)
{
	if (qp_spreads(qp))
		begin(qp, spread_of(qp), spread_of(qp)->count);
}

/* ---- time ---- */

void rc_spread_mark_time(struct rc_qp *qp, uint64_t now_ns)
{
	struct rc_spread *spread = spread_of(qp);
	struct rc_spread_mark *newest = &spread->marks[spread->mark];

	spread->now_ns = now_ns;
	if (newest->at_ns == 0)
		spread->quiet_end = qp->win.snd_max; /* nothing has left yet */
	if (newest->at_ns && now_ns - newest->at_ns < qp->rtt.srtt_ns / 2)
		return;
	spread->mark = (uint8_t)((spread->mark + 1) % SPREAD_MARKS);
	spread->marks[spread->mark] = (struct rc_spread_mark){ .at_ns = now_ns, .psn = qp->win.snd_max };
}

/* ---- what leaves ---- */

void rc_spread_answers(const struct rc_qp *qp, struct rc_outbox *out)
{
	const struct rc_spread *spread = spread_of(qp);

	if (out->packet_limit > 0)
		frame_set_source_port(out->template, spread->paths[spread->ack_path].port);
}

/* Returns the next path behind this one that is not bad, or this path if all others are bad. */
static uint8_t next_path(const struct rc_spread *spread, uint32_t path)
{
	for (uint32_t i = 1; i < spread->count; i++) {
		uint32_t next = (path + i) % spread->count;

		if (spread->paths[next].state != SPREAD_BAD)
			return (uint8_t)next;
	}
	return (uint8_t)path;
}

/*
 * The peer asks though nothing seems to be missing, perhaps because ACKs and SACKs of ours were lost: ACKs and SACKs
 * take another path from now on. READ responses keep their path, because the peer asks again for a response that others
 * have overtaken.
 */
static void move_answers(const struct rc_qp *qp, struct rc_outbox *out)
{
	struct rc_spread *spread = spread_of(qp);

	spread->asks_all = false;
	if (qp->replay.queue_head != REPLAY_NONE || qp->replay.has_parts)
		return;
	spread->ack_path = next_path(spread, spread->ack_path);
	frame_renew_ack(out->template);
}

void rc_spread_begin(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_spread *spread = spread_of(qp);

	rc_spread_mark_time(qp, now_ns);
	if (out->packet_limit == 0)
		return;
	if (spread->asks_all)
		move_answers(qp, out);
	spread->sack_path = spread->ack_path;
	rc_spread_answers(qp, out);
}

/* ---- PROBEs ---- */

uint64_t rc_spread_retries(struct rc_qp *qp)
{
	struct rc_spread *spread = spread_of(qp);
	uint64_t paths = 0;

	if (spread->turns == spread->count) /* nearly always */
		return 0;
	for (uint32_t i = 0; i < spread->count; i++) {
		struct rc_spread_path *path = &spread->paths[i];

		if (path->state != SPREAD_BAD || path->retry_ns > spread->now_ns)
			continue;
		path->tries = rtt_count_try(path->tries) & 63;
		path->retry_ns = spread->now_ns + rtt_doubled_ns(SPREAD_RETRY_NS, path->tries);
		paths |= 1ull << i;
	}
	return paths;
}

/* The id of the last PROBE over a path: the path in the low bits, and above them a number that is never 0. */
static uint16_t probe_id(const struct rc_spread *spread, uint32_t path)
{
	return (uint16_t)(((spread->paths[path].probe - 1) % (UINT16_MAX / SPREAD_MOST) + 1) * SPREAD_MOST + path);
}

uint16_t rc_spread_probe(struct rc_qp *qp, uint32_t path, struct rc_outbox *out)
{
	struct rc_spread *spread = spread_of(qp);
	struct rc_spread_path *of = &spread->paths[path];

	of->probe = ++spread->probes;
	of->probe_end = qp->win.snd_nxt;
	frame_set_source_port(out->template, of->port);
	return probe_id(spread, path);
}

bool rc_spread_answered(struct rc_qp *qp, uint16_t id)
{
	struct rc_spread *spread = spread_of(qp);
	struct rc_spread_path *path = &spread->paths[id & SPREAD_INDEX];

	if ((id & SPREAD_INDEX) >= spread->count || path->probe == 0 || probe_id(spread, id & SPREAD_INDEX) != id)
		return false;
	spread->answer_path = id & SPREAD_INDEX;
	path->missed = path->tries = 0;
	if (path->state == SPREAD_BAD) {
		path->state = SPREAD_GOOD;
		fill_turn(spread);
	}
	return true;
}

void rc_spread_probed(struct rc_qp *qp, uint16_t id)
{
	struct rc_spread *spread = spread_of(qp);

	spread->asks_all |= !qp->responder.nak_outstanding;
	if (id == 0)
		return;
	spread->waits |= 1ull << (id & SPREAD_INDEX);
	spread->waiting[id & SPREAD_INDEX] = id;
}

uint16_t rc_spread_next_probe(struct rc_qp *qp, struct rc_outbox *out)
{
	struct rc_spread *spread = spread_of(qp);
	uint32_t first;

	if (spread->waits == 0)
		return 0;
	first = (uint32_t)__builtin_ctzll(spread->waits);
	spread->waits &= spread->waits - 1;
	spread->sack_path = next_path(spread, spread->sack_path);
	if (out->packet_limit > 0)
		frame_set_source_port(out->template, spread->paths[spread->sack_path].port);
	return spread->waiting[first];
}

/* ---- what SACKs tell ---- */

void rc_spread_lost(struct rc_qp *qp, psn_t psn)
{
	struct rc_spread *spread = spread_of(qp);
	uint8_t *of = &spread->path_of[psn.v % KEPT_SPAN];
	struct rc_spread_path *path = &spread->paths[*of & SPREAD_INDEX];
	uint32_t outstanding = sendwin_outstanding(&qp->win);

	*of |= SPREAD_LOST;
	if (path->state == SPREAD_BAD)
		return;
	if (qp_ahead(qp, path->newest) >= outstanding || qp_ahead(qp, path->newest) < qp_ahead(qp, psn))
		path->missed++;
	if (path->missed >= 2) {
		path->state = SPREAD_BAD;
		path->tries = 0;
		path->retry_ns = spread->now_ns + SPREAD_RETRY_NS;
	} else {
		path->state = SPREAD_SKIP;
		spread->skipped = 1;
	}
	fill_turn(spread);
}
