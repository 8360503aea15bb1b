/* sackmap.c - the map of packets in flight: which have come, as SACKs tell, and which were sent again */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/sackmap.h"

#include <string.h>

#include "rc/holes.h"

static struct rc_sack_map *map_of(const struct rc_qp *qp)
{
	return &qp->sack.map->sack;
}

static uint32_t ahead(const struct rc_qp *qp, psn_t psn)
{
	return psn_distance(psn, qp->win.snd_una);
}

bool rc_sackmap_borrow(struct rc_qp *qp)
{
	struct rc_boards *pool = qp_boards(qp);
	struct rc_board *board;

	if (!boards_has_one(pool))
		return false;
	board = boards_lend(pool);
	board->sack.base = board->sack.end = qp->win.snd_una;
	board->sack.lost = board->sack.given_up = 0;
	board->sack.news = true;
	board->sack.idle_probes = 0;
	memset(board->sack.states, 0, sizeof(board->sack.states));
	qp->sack.map = board;
	return true;
}

static void give_back(struct rc_qp *qp)
{
	struct rc_board *board = qp->sack.map;

	qp->sack.map = NULL;
	if (board)
		board_return(board);
}

void rc_sackmap_forget(struct rc_qp *qp)
{
	give_back(qp);
	qp->sack.again = !psn_equal(qp->win.snd_una, qp->win.snd_max);
	qp->sack.again_end = qp->win.snd_max;
	qp->sack.probe_end = qp->win.snd_una; /* the last PROBE left before the packets that are sent again */
	qp->sack.probing = false;
}

void rc_sackmap_reset(struct rc_qp *qp)
{
	give_back(qp);
	qp->sack = (struct rc_sack){ .map = NULL };
}

static void set(struct rc_sack_map *map, psn_t psn, uint16_t state)
{
	uint16_t *at = &map->states[psn.v % KEPT_SPAN];

	map->lost += (state == SACK_LOST) - (*at == SACK_LOST);
	*at = state;
}

void rc_sackmap_set(struct rc_qp *qp, psn_t psn, uint16_t state)
{
	struct rc_sack_map *map = map_of(qp);

	if (ahead(qp, psn) >= ahead(qp, map->end) || ahead(qp, map->end) > sendwin_outstanding(&qp->win))
		map->end = psn_next(psn);
	if (state == SACK_LOST && (map->lost == 0 || ahead(qp, psn) < ahead(qp, map->lost_from)))
		map->lost_from = psn;
	set(map, psn, state);
}

psn_t rc_sackmap_first_lost(struct rc_qp *qp)
{
	struct rc_sack_map *map = map_of(qp);

	if (ahead(qp, map->lost_from) >= sendwin_outstanding(&qp->win))
		map->lost_from = qp->win.snd_una; /* snd_una has passed lost_from */
	while (map->states[map->lost_from.v % KEPT_SPAN] != SACK_LOST)
		map->lost_from = psn_next(map->lost_from);
	return map->lost_from;
}

void rc_sackmap_acknowledged(struct rc_qp *qp)
{
	struct rc_sack_map *map = map_of(qp);
	uint32_t passed = psn_distance(qp->win.snd_una, map->base);

	for (uint32_t i = 0; i < passed && i < KEPT_SPAN; i++)
		set(map, psn_add(map->base, i), SACK_IN_FLIGHT);
	map->base = qp->win.snd_una;
	map->given_up = 0;
	map->news = true;
	if (ahead(qp, map->end) > sendwin_outstanding(&qp->win) || psn_equal(map->end, qp->win.snd_una))
		give_back(qp);
}

void rc_sackmap_probed(struct rc_qp *qp)
{
	struct rc_sack_map *map = map_of(qp);
	uint32_t count = ahead(qp, map->end);

	map->idle_probes = map->news ? 0 : map->idle_probes + (map->idle_probes < SACK_IDLE_PROBES);
	map->news = false;
	for (uint32_t i = 0; i < count && i < KEPT_SPAN; i++) {
		uint16_t *at = &map->states[psn_add(qp->win.snd_una, i).v % KEPT_SPAN];

		if (*at & SACK_RESENT)
			*at &= (uint16_t)~SACK_RESENT_SINCE;
	}
}
