/* spread.c - several paths to the peer: which one a packet takes, and which ones still work */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/spread.h"

#include <string.h>

#include "rc/ports.h"
#include "rc/sackmap.h"

#define LATE_TRIPS 2u /* round trips: a packet that left this long before one that has come is lost */

static uint32_t ahead(const struct rc_qp *qp, psn_t psn)
{
	return psn_distance(psn, qp->win.snd_una);
}

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
	struct rc_boards *pool = qp_boards(qp);
	struct rc_board *board;

	rc_spread_forget(qp);
	/* Most boards are reserved for repairing the losses of all QPs; without a board the packets take one path. */
	if (paths < 2 || !boards_has_one(pool) || boards_left_by_spreads(pool) <= pool->spreads)
		return;
	board = boards_lend(pool);
	pool->spreads++;
	qp->spread.board = (uint16_t)(board - pool->all + 1);
	begin(qp, &board->spread, (uint8_t)paths);
	qp_note_attributes(qp);
}

uint32_t rc_spread_count(const struct rc_qp *qp)
{
	return qp_spreads(qp) ? spread_of(qp)->count : 0;
}

void rc_spread_forget(struct rc_qp *qp)
{
	uint16_t board = qp->spread.board;

	if (board == 0)
		return;
	qp->spread.board = 0;
	qp_boards(qp)->spreads--;
	board_return(&qp_boards(qp)->all[board - 1u]);
	qp_note_attributes(qp);
}

void rc_spread_path_changed(struct rc_qp *qp)
{
	if (qp_spreads(qp))
		begin(qp, spread_of(qp), spread_of(qp)->count);
}

/* ---- time ---- */

/* Remembers, about twice in a round trip, which PSN is the next to be sent. */
static void mark_time(const struct rc_qp *qp, struct rc_spread *spread, uint64_t now_ns)
{
	struct rc_spread_mark *newest = &spread->marks[spread->mark];

	spread->now_ns = now_ns;
	if (newest->at_ns == 0)
		spread->quiet_end = qp->win.snd_max; /* nothing has left yet */
	if (newest->at_ns && now_ns - newest->at_ns < qp->rtt.srtt_ns / 2)
		return;
	spread->mark = (uint8_t)((spread->mark + 1) % SPREAD_MARKS);
	spread->marks[spread->mark] = (struct rc_spread_mark){ .at_ns = now_ns, .psn = qp->win.snd_max };
}

/*
 * Returns a PSN: all packets before that PSN were sent at least LATE_TRIPS round trips earlier than mark `from`, where
 * 0 is the newest mark and 1 the one before. Returns snd_una if no packet in flight was sent that early.
 */
static psn_t long_before(const struct rc_qp *qp, const struct rc_spread *spread, uint32_t from)
{
	uint64_t from_ns = spread->marks[(spread->mark - from) % SPREAD_MARKS].at_ns;

	for (uint32_t i = from + 1; i < SPREAD_MARKS; i++) {
		const struct rc_spread_mark *mark = &spread->marks[(spread->mark - i) % SPREAD_MARKS];

		if (mark->at_ns && from_ns - mark->at_ns >= LATE_TRIPS * qp->rtt.srtt_ns)
			return mark->psn;
	}
	return qp->win.snd_una;
}

static void find_aged(const struct rc_qp *qp, struct rc_spread *spread)
{
	uint32_t newest = ahead(qp, qp->sack.newest);

	spread->aged = qp->win.snd_una;
	if (newest >= sendwin_outstanding(&qp->win) || qp->rtt.srtt_ns == 0)
		return;
	/*
	 * Finds the newest mark that is not behind the newest packet that has come. A mark before snd_una is of no use,
	 * because no packet that left long before that mark is in flight.
	 */
	for (uint32_t i = 0; i < SPREAD_MARKS && spread->marks[(spread->mark - i) % SPREAD_MARKS].at_ns; i++) {
		if (ahead(qp, spread->marks[(spread->mark - i) % SPREAD_MARKS].psn) <= newest) {
			spread->aged = long_before(qp, spread, i);
			return;
		}
	}
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

	mark_time(qp, spread, now_ns);
	if (out->packet_limit == 0)
		return;
	if (spread->asks_all)
		move_answers(qp, out);
	spread->sack_path = spread->ack_path;
	rc_spread_answers(qp, out);
}

/* ---- PROBEs ---- */

/*
 * The packet at psn is missing: should a PROBE leave over its path? Yes if no PROBE has left over that path behind the
 * packet, or if it is no use to wait longer for the answer to that PROBE. A PROBE over every path with each answer
 * would be more than a slow peer can answer.
 */
static bool wants_probe(const struct rc_qp *qp, psn_t psn, uint32_t index)
{
	const struct rc_spread *spread = spread_of(qp);
	const struct rc_spread_path *path = &spread->paths[index];
	uint32_t state = qp->sack.map ? sackmap_state(qp, psn) : SACK_IN_FLIGHT;

	if (path->probe == 0 || path->probe < spread->paths[spread->answer_path].probe)
		return true; /* a PROBE that left later, over another path, has been answered */
	return state & SACK_RESENT ? state & SACK_RESENT_SINCE : !psn_before(psn, path->probe_end);
}

uint64_t rc_spread_probe_paths(struct rc_qp *qp, bool by_timer)
{
	struct rc_spread *spread = spread_of(qp);
	uint32_t outstanding = sendwin_outstanding(&qp->win);
	/*
	 * If a packet is suspected the timer asks about all packets that others have overtaken, otherwise about all
	 * packets in flight, of which those before quiet_end have been silent for long.
	 */
	bool suspects = by_timer && spread->suspects && !spread->asked;
	psn_t end = suspects ? psn_next(qp->sack.newest) : spread->quiet_end;
	uint32_t limit = suspects ? ahead(qp, end) : outstanding;
	uint64_t paths = 0;

	spread->asked |= by_timer;
	for (uint32_t i = 0; i < outstanding && i < limit && i < KEPT_SPAN; i++) {
		psn_t psn = psn_add(qp->win.snd_una, i);
		uint32_t index = spread->path_of[psn.v % KEPT_SPAN] & SPREAD_INDEX;

		if (qp->sack.map && sackmap_state(qp, psn) == SACK_KEPT)
			continue;
		if (by_timer || wants_probe(qp, psn, index))
			paths |= 1ull << index;
	}
	if (!by_timer)
		return paths;
	spread->patient = ahead(qp, end) <= outstanding;
	spread->patient_end = end;
	spread->patient_from = spread->probes + 1;
	/*
	 * A PROBE leaves over the next two paths in turn as well: if the path of the missing packets is dead, the
	 * answer to that PROBE tells.
	 */
	for (uint32_t i = 0; i < 2 && i < spread->turns; i++)
		paths |= 1ull << spread->turn[(spread->next + i) % spread->turns];
	return paths;
}

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

bool rc_spread_heard(struct rc_qp *qp, psn_t received, bool answers, uint64_t now_ns)
{
	struct rc_spread *spread = spread_of(qp);
	bool less = spread->seen_is_known && psn_before(received, spread->seen);

	mark_time(qp, spread, now_ns);
	spread->quiet_end = qp->win.snd_max;
	find_aged(qp, spread);
	/*
	 * A SACK that tells of less than `seen` is old. But if it answers a PROBE that left after `seen` was known, the
	 * peer has given up packets that it had.
	 */
	if (less && !(answers && spread->paths[spread->answer_path].probe > spread->seen_after))
		return false;
	if (!spread->seen_is_known || !psn_equal(received, spread->seen))
		spread->seen_after = spread->probes;
	spread->seen = received;
	spread->seen_is_known = true;
	return true;
}

/*
 * Has a packet that left behind the one at psn come? If the packet at psn was sent again: has a PROBE left behind its
 * last copy?
 */
static bool was_overtaken(const struct rc_qp *qp, psn_t psn)
{
	uint32_t outstanding = sendwin_outstanding(&qp->win), newest = ahead(qp, qp->sack.newest);
	uint32_t state = sackmap_state(qp, psn);

	if (state & SACK_RESENT)
		return !(state & SACK_RESENT_SINCE);
	return newest < outstanding && ahead(qp, psn) < newest && state == SACK_IN_FLIGHT;
}

uint64_t rc_spread_patience(struct rc_qp *qp, psn_t missing, uint64_t now_ns)
{
	struct rc_spread *spread = spread_of(qp);
	uint64_t wait_ns = rtt_bound_ns(&qp->rtt, qp->loss.timeout_ns);

	if (!(sackmap_state(qp, missing) & SACK_RESENT))
		wait_ns /= 2; /* the packet that overtook `missing` had left a round trip ago already */
	if (!spread->suspects || !psn_equal(spread->suspect, missing)) {
		spread->asked = false;
		spread->suspect = missing;
		spread->suspect_ns = now_ns;
	}
	spread->suspects = was_overtaken(qp, missing);
	if (!spread->suspects || spread->asked)
		return RC_NEVER;
	if (spread->paths[spread->path_of[missing.v % KEPT_SPAN] & SPREAD_INDEX].state == SPREAD_BAD)
		return 0;
	return now_ns - spread->suspect_ns < wait_ns ? spread->suspect_ns + wait_ns - now_ns : 0;
}

void rc_spread_came(struct rc_qp *qp, psn_t psn)
{
	struct rc_spread *spread = spread_of(qp);
	struct rc_spread_path *path = &spread->paths[spread->path_of[psn.v % KEPT_SPAN] & SPREAD_INDEX];

	path->missed = 0;
	if (ahead(qp, path->newest) >= sendwin_outstanding(&qp->win) || ahead(qp, psn) > ahead(qp, path->newest))
		path->newest = psn;
}

bool rc_spread_answer_tells(const struct rc_qp *qp, psn_t psn, bool resent)
{
	const struct rc_spread *spread = spread_of(qp);
	const struct rc_spread_path *answered = &spread->paths[spread->answer_path];
	uint32_t index = spread->path_of[psn.v % KEPT_SPAN] & SPREAD_INDEX;
	bool again = qp->sack.again && ahead(qp, psn) < ahead(qp, qp->sack.again_end);
	bool left_before = psn_before(psn, answered->probe_end), bad = spread->paths[index].state == SPREAD_BAD;

	if (index == spread->answer_path)
		return resent || left_before;
	if (!spread->patient || answered->probe < spread->patient_from)
		return false;
	if (resent)
		return bad || (spread->suspects && spread->asked && psn_equal(psn, spread->suspect));
	return !again && (psn_before(psn, spread->patient_end) || (bad && left_before));
}

void rc_spread_lost(struct rc_qp *qp, psn_t psn)
{
	struct rc_spread *spread = spread_of(qp);
	uint8_t *of = &spread->path_of[psn.v % KEPT_SPAN];
	struct rc_spread_path *path = &spread->paths[*of & SPREAD_INDEX];
	uint32_t outstanding = sendwin_outstanding(&qp->win);

	*of |= SPREAD_LOST;
	spread->suspects &= !psn_equal(psn, spread->suspect);
	if (path->state == SPREAD_BAD)
		return;
	if (ahead(qp, path->newest) >= outstanding || ahead(qp, path->newest) < ahead(qp, psn))
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

void rc_spread_rewound(struct rc_qp *qp)
{
	struct rc_spread *spread;

	if (!qp_spreads(qp))
		return;
	spread = spread_of(qp);
	spread->seen_is_known = spread->suspects = false;
	for (uint32_t i = 0; i < spread->count; i++)
		/* the last PROBE of each path left before the packets that are sent again */
		spread->paths[i].probe_end = qp->win.snd_una;
}

void rc_spread_map_begins(struct rc_qp *qp)
{
	struct rc_spread *spread = spread_of(qp);

	for (uint32_t i = 0; i < spread->count; i++)
		spread->paths[i].newest = psn_previous(qp->win.snd_una);
	spread->suspects = false; /* everything that an earlier map knew of has come */
	if (!psn_before(qp->win.snd_una, spread->patient_end))
		spread->patient = false;
}
