/* scoreboard.c - which packets in flight have come, as SACKs tell, and which of them are lost */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/scoreboard.h"

#include <string.h>

#include "rc/flight.h"
#include "rc/spread.h"

#define ORDER_MASK (SACK_RESENT_SINCE - 1u) /* the bits of a PSN that the state of a packet has room for */
#define ORDER_MOST (2 * KEPT_SPAN)          /* so far ahead of snd_una is that PSN at most */
#define LATE_TRIPS 2u /* round trips: a packet that left this long before one that has come is lost */

static_assert(2 * ORDER_MOST < SACK_RESENT_SINCE, "which of two PSNs is later must show in these bits");

static uint32_t state_of(const struct rc_qp *qp, psn_t psn)
{
	return scoreboard_has_map(qp) ? scoreboard_state(qp, psn) : SACK_IN_FLIGHT;
}

/* ---- the map ---- */

static bool begin(struct rc_qp *qp)
{
	struct rc_board *board = rc_board_borrow(qp, BOARD_SACK);

	if (board == NULL)
		return false;
	board->sack.base = board->sack.end = qp->win.snd_una;
	board->sack.lost = board->sack.given_up = 0;
	board->sack.news = true;
	board->sack.idle_probes = 0;
	memset(board->sack.states, 0, sizeof(board->sack.states));
	rc_flight_copy_sent(qp, 0, 0); /* sets flight.echoes, so that the scoreboard is told when snd_una moves */
	return true;
}

void rc_scoreboard_forget(struct rc_qp *qp)
{
	rc_board_return(qp, BOARD_SACK);
	qp->sack.probe_end = qp->win.snd_una; /* the last PROBE left before the packets that are sent again */
	qp->sack.probing = false;
	if (qp_spreads(qp)) {
		struct rc_spread *spread = spread_of(qp);

		spread->seen_is_known = spread->suspects = false;
		for (uint32_t i = 0; i < spread->count; i++)
			spread->paths[i].probe_end = qp->win.snd_una;
	}
}

void rc_scoreboard_reset(struct rc_qp *qp)
{
	rc_board_return(qp, BOARD_SACK);
	qp->sack = (struct rc_sack){ 0 };
}

static void set_in(struct rc_sack_map *map, psn_t psn, uint16_t state)
{
	uint16_t *at = &map->states[psn.v % KEPT_SPAN];

	map->lost += (state == SACK_LOST) - (*at == SACK_LOST);
	*at = state;
}

static void set(struct rc_qp *qp, psn_t psn, uint16_t state)
{
	struct rc_sack_map *map = scoreboard_map(qp);

	if (qp_ahead(qp, psn) >= qp_ahead(qp, map->end) || qp_ahead(qp, map->end) > sendwin_outstanding(&qp->win))
		map->end = psn_next(psn);
	if (state == SACK_LOST && (map->lost == 0 || qp_ahead(qp, psn) < qp_ahead(qp, map->lost_from)))
		map->lost_from = psn;
	set_in(map, psn, state);
}

/* The search begins at the packet that it found last, or at an earlier packet that was lost since. */
psn_t rc_scoreboard_first_lost(struct rc_qp *qp)
{
	struct rc_sack_map *map = scoreboard_map(qp);

	if (qp_ahead(qp, map->lost_from) >= sendwin_outstanding(&qp->win))
		map->lost_from = qp->win.snd_una; /* snd_una has passed lost_from */
	while (map->states[map->lost_from.v % KEPT_SPAN] != SACK_LOST)
		map->lost_from = psn_next(map->lost_from);
	return map->lost_from;
}

void rc_scoreboard_acknowledged(struct rc_qp *qp)
{
	struct rc_sack_map *map = scoreboard_map(qp);
	uint32_t passed = psn_distance(qp->win.snd_una, map->base);

	for (uint32_t i = 0; i < passed && i < KEPT_SPAN; i++)
		set_in(map, psn_add(map->base, i), SACK_IN_FLIGHT);
	map->base = qp->win.snd_una;
	map->given_up = 0;
	map->news = true;
	if (qp_ahead(qp, map->end) > sendwin_outstanding(&qp->win) || psn_equal(map->end, qp->win.snd_una))
		rc_board_return(qp, BOARD_SACK);
}

/* ---- the order in which packets left ---- */

/* Is the packet at `later` in flight, and had the last copy of the packet at psn left before it? */
static bool left_before(const struct rc_qp *qp, psn_t psn, uint32_t state, psn_t later)
{
	if (qp_ahead(qp, later) >= sendwin_outstanding(&qp->win))
		return false;
	if (state & SACK_RESENT)
		return ((later.v - state) & ORDER_MASK) <= ORDER_MASK / 2;
	return qp_ahead(qp, later) >= qp_ahead(qp, flight_was_rewound(qp, psn) ? qp->flight_past.rewind_limit : psn);
}

/* Had the last copy of the packet at psn left before the PROBE that left when `end` was snd_nxt? */
static bool left_before_probe(psn_t psn, uint32_t state, psn_t end)
{
	return state & SACK_RESENT ? !(state & SACK_RESENT_SINCE) : psn_before(psn, end);
}

/* The highest PSN that has come over the path of the packet at psn. */
static psn_t newest_on_path(const struct rc_qp *qp, psn_t psn)
{
	return qp_spreads(qp) ? spread_path_of(spread_of(qp), psn)->newest : qp->sack.newest;
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
	uint32_t newest = qp_ahead(qp, qp->sack.newest);

	spread->aged = qp->win.snd_una;
	if (newest >= sendwin_outstanding(&qp->win) || qp->rtt.srtt_ns == 0)
		return;
	/*
	 * Finds the newest mark that is not behind the newest packet that has come. A mark before snd_una is of no use,
	 * because no packet that left long before that mark is in flight.
	 */
	for (uint32_t i = 0; i < SPREAD_MARKS && spread->marks[(spread->mark - i) % SPREAD_MARKS].at_ns; i++) {
		if (qp_ahead(qp, spread->marks[(spread->mark - i) % SPREAD_MARKS].psn) <= newest) {
			spread->aged = long_before(qp, spread, i);
			return;
		}
	}
}

/* ---- is a packet lost? ---- */

/*
 * The packet at psn was sent again, or the peer had it and has given it up: is a PROBE's answer alone reason enough to
 * send it again? While such answers tell nothing new, they are reason enough only for the oldest packet: perhaps no
 * packet of its length passes at all, and further packets would be sent in vain.
 */
static bool may_go_again(const struct rc_qp *qp, psn_t psn)
{
	return scoreboard_map(qp)->idle_probes == 0 || psn_equal(psn, qp->win.snd_una);
}

/*
 * A PROBE was answered that took another path than the last copy of the packet at psn. That tells of the packet only if
 * the PROBE left because of a long silence, or if the packet's path is BAD.
 */
static bool other_path_tells(const struct rc_qp *qp, psn_t psn, uint32_t state)
{
	struct rc_spread *spread = spread_of(qp);
	const struct rc_spread_path *answered = &spread->paths[spread->answer_path];
	bool bad = spread_path_of(spread, psn)->state == SPREAD_BAD;

	if (!spread->patient || answered->probe < spread->patient_from)
		return false;
	if (state & SACK_RESENT)
		return !(state & SACK_RESENT_SINCE) &&
		       (bad || (spread->suspects && spread->asked && psn_equal(psn, spread->suspect)));
	return !flight_was_rewound(qp, psn) &&
	       (psn_before(psn, spread->patient_end) || (bad && psn_before(psn, answered->probe_end)));
}

/* Does the answer to a PROBE that is at hand tell that the last copy of the packet at psn is lost? */
static bool probe_tells(const struct rc_qp *qp, psn_t psn, uint32_t state, bool overtaken)
{
	const struct rc_spread_path *answered =
		qp_spreads(qp) ? &spread_of(qp)->paths[spread_of(qp)->answer_path] : NULL;

	if (state == SACK_KEPT && overtaken)
		return false;
	if (state != SACK_IN_FLIGHT && !may_go_again(qp, psn))
		return false;
	if (answered && answered != spread_path_of(spread_of(qp), psn))
		return other_path_tells(qp, psn, state);
	return left_before_probe(psn, state, answered ? answered->probe_end : qp->sack.probe_end);
}

bool rc_scoreboard_is_lost(const struct rc_qp *qp, psn_t psn, struct rc_sack_kind kind)
{
	uint32_t state = state_of(qp, psn);

	if (state == SACK_LOST)
		return false;
	if (kind.answered && probe_tells(qp, psn, state, kind.overtaken))
		return true;
	if (state == SACK_KEPT || kind.overtaken)
		return false;
	return left_before(qp, psn, state, newest_on_path(qp, psn)) ||
	       (qp_spreads(qp) && left_before(qp, psn, state, psn_previous(spread_of(qp)->aged)));
}

/* ---- what SACKs tell ---- */

void rc_scoreboard_begin(struct rc_qp *qp, psn_t cack)
{
	if (!scoreboard_has_map(qp)) {
		qp->sack.newest = psn_previous(qp->win.snd_una); /* nothing is known of what is in flight */
		return;
	}
	while (scoreboard_map(qp)->lost > 0 && !psn_before(cack, rc_scoreboard_first_lost(qp)))
		set(qp, scoreboard_map(qp)->lost_from, SACK_KEPT); /* it has come, so it is not sent again */
}

void rc_scoreboard_drawn_by(struct rc_qp *qp, psn_t psn)
{
	uint32_t outstanding = sendwin_outstanding(&qp->win);

	if (qp_ahead(qp, psn) < outstanding &&
	    (qp_ahead(qp, qp->sack.newest) >= outstanding || qp_ahead(qp, psn) > qp_ahead(qp, qp->sack.newest)))
		qp->sack.newest = psn;
}

bool rc_scoreboard_heard(struct rc_qp *qp, psn_t received, bool answers, uint64_t now_ns)
{
	struct rc_spread *spread = spread_of(qp);
	bool less = spread->seen_is_known && psn_before(received, spread->seen) &&
		    !psn_before(qp->win.snd_max, spread->seen); /* or it is from half of all PSNs ago */

	rc_spread_mark_time(qp, now_ns);
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

/* No map has told of the packets in flight: on no path has one of them come. */
static void begin_paths(struct rc_qp *qp, struct rc_spread *spread)
{
	for (uint32_t i = 0; i < spread->count; i++)
		spread->paths[i].newest = psn_previous(qp->win.snd_una);
	spread->suspects = false; /* everything that an earlier map knew of has come */
	if (qp_ahead(qp, spread->patient_end) - 1 >= sendwin_outstanding(&qp->win))
		spread->patient = false;
}

void rc_scoreboard_paths_work(struct rc_qp *qp, psn_t first, uint64_t bitmap, uint32_t limit)
{
	struct rc_spread *spread = spread_of(qp);

	if (!scoreboard_has_map(qp))
		begin_paths(qp, spread);
	for (; bitmap; bitmap &= bitmap - 1) {
		psn_t psn = psn_add(first, (uint32_t)__builtin_ctzll(bitmap));
		struct rc_spread_path *path = spread_path_of(spread, psn);

		if (qp_ahead(qp, psn) >= limit || state_of(qp, psn) != SACK_IN_FLIGHT)
			continue;
		path->missed = 0;
		if (qp_ahead(qp, path->newest) >= sendwin_outstanding(&qp->win) ||
		    qp_ahead(qp, psn) > qp_ahead(qp, path->newest))
			path->newest = psn;
	}
}

bool rc_scoreboard_came(struct rc_qp *qp, psn_t psn)
{
	if (state_of(qp, psn) == SACK_KEPT)
		return false;
	if (!scoreboard_has_map(qp) && !begin(qp))
		return true;
	set(qp, psn, SACK_KEPT);
	if (scoreboard_map(qp)->given_up > 0) {
		scoreboard_map(qp)->given_up--;
		return false;
	}
	scoreboard_map(qp)->news = true;
	return true;
}

bool rc_scoreboard_mark_lost(struct rc_qp *qp, psn_t psn)
{
	if (!scoreboard_has_map(qp) && !begin(qp))
		return false;
	scoreboard_map(qp)->given_up += scoreboard_state(qp, psn) == SACK_KEPT;
	set(qp, psn, SACK_LOST);
	if (qp_spreads(qp)) {
		spread_of(qp)->suspects &= !psn_equal(psn, spread_of(qp)->suspect);
		rc_spread_lost(qp, psn);
	}
	return true;
}

/*
 * Has a packet that left behind the one at psn come? If the packet at psn was sent again: has a PROBE left behind its
 * last copy?
 */
static bool was_overtaken(const struct rc_qp *qp, psn_t psn)
{
	uint32_t newest = qp_ahead(qp, qp->sack.newest), state = scoreboard_state(qp, psn);

	if (state & SACK_RESENT)
		return !(state & SACK_RESENT_SINCE);
	return newest < sendwin_outstanding(&qp->win) && qp_ahead(qp, psn) < newest && state == SACK_IN_FLIGHT;
}

uint64_t rc_scoreboard_probe_delay_ns(struct rc_qp *qp, psn_t missing, uint64_t now_ns)
{
	struct rc_spread *spread = spread_of(qp);
	uint64_t wait_ns = rtt_bound_ns(&qp->rtt, qp->loss.timeout_ns);

	if (!(scoreboard_state(qp, missing) & SACK_RESENT))
		wait_ns /= 2; /* the packet that overtook `missing` had left a round trip ago already */
	if (!spread->suspects || !psn_equal(spread->suspect, missing)) {
		spread->asked = false;
		spread->suspect = missing;
		spread->suspect_ns = now_ns;
	}
	spread->suspects = was_overtaken(qp, missing);
	if (!spread->suspects || spread->asked)
		return RC_NEVER;
	if (spread_path_of(spread, missing)->state == SPREAD_BAD)
		return 0;
	return now_ns - spread->suspect_ns < wait_ns ? spread->suspect_ns + wait_ns - now_ns : 0;
}

/* ---- what leaves ---- */

/* The peer keeps nothing that is ORDER_MOST ahead, where the PSNs of the responses to a long READ may lie. */
void rc_scoreboard_sent_again(struct rc_qp *qp, psn_t psn)
{
	uint32_t limit = qp_ahead(qp, qp->win.snd_max);
	psn_t next = psn_add(qp->win.snd_una, limit < ORDER_MOST ? limit : ORDER_MOST);

	set(qp, psn, (uint16_t)(SACK_RESENT | SACK_RESENT_SINCE | (next.v & ORDER_MASK)));
}

/*
 * The packet at psn is missing: should a PROBE leave over its path? Yes if no PROBE has left over that path behind the
 * packet, or if it is no use to wait longer for the answer to that PROBE. A PROBE over every path with each answer
 * would be more than a slow peer can answer.
 */
static bool wants_probe(struct rc_spread *spread, psn_t psn, uint32_t state)
{
	const struct rc_spread_path *path = spread_path_of(spread, psn);

	if (path->probe == 0 || path->probe < spread->paths[spread->answer_path].probe)
		return true; /* a PROBE that left later, over another path, has been answered */
	return !left_before_probe(psn, state, path->probe_end);
}

/*
 * The paths of missing packets. by_timer: nothing has come for long; then the paths of all missing packets. Otherwise a
 * path over which a PROBE has left behind the packet is skipped, because the answer is on its way.
 */
static uint64_t paths_to_probe(struct rc_qp *qp, bool by_timer)
{
	struct rc_spread *spread = spread_of(qp);
	uint32_t outstanding = sendwin_outstanding(&qp->win);
	/*
	 * If a packet is suspected the timer asks about all packets that others have overtaken, otherwise about all
	 * packets in flight, of which those before quiet_end have been silent for long.
	 */
	bool suspects = by_timer && spread->suspects && !spread->asked;
	psn_t end = suspects ? psn_next(qp->sack.newest) : spread->quiet_end;
	uint32_t limit = suspects ? qp_ahead(qp, end) : outstanding;
	uint64_t paths = 0;

	spread->asked |= by_timer;
	for (uint32_t i = 0; i < outstanding && i < limit && i < KEPT_SPAN; i++) {
		psn_t psn = psn_add(qp->win.snd_una, i);
		uint32_t state = state_of(qp, psn);

		if (state != SACK_KEPT && (by_timer || wants_probe(spread, psn, state)))
			paths |= 1ull << spread_index_of(spread, psn);
	}
	if (!by_timer)
		return paths;
	spread->patient = qp_ahead(qp, end) <= outstanding;
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

/* A PROBE leaves behind all copies of the packets whose states the map has. */
static void note_probe(struct rc_qp *qp)
{
	struct rc_sack_map *map = scoreboard_map(qp);
	uint32_t count = qp_ahead(qp, map->end);

	map->idle_probes = map->news ? 0 : map->idle_probes + (map->idle_probes < SACK_IDLE_PROBES);
	map->news = false;
	for (uint32_t i = 0; i < count && i < KEPT_SPAN; i++) {
		uint16_t *at = &map->states[psn_add(qp->win.snd_una, i).v % KEPT_SPAN];

		if (*at & SACK_RESENT)
			*at &= (uint16_t)~SACK_RESENT_SINCE;
	}
}

uint64_t rc_scoreboard_probed(struct rc_qp *qp, bool by_timer)
{
	uint64_t paths = qp_spreads(qp) ? paths_to_probe(qp, by_timer) : 0;

	qp->sack.probe_end = qp->win.snd_nxt;
	if (scoreboard_has_map(qp))
		note_probe(qp);
	return paths;
}
