/* turn.c - work that goes on over several polls: a step in each, and the hosts have their steps in turn */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/turn.h"

void turn_add(struct turns *turns, struct turn *turn, struct turn_work *work)
{
	if (STAILQ_EMPTY(&turn->works))
		STAILQ_INSERT_TAIL(turns, turn, next);
	STAILQ_INSERT_TAIL(&turn->works, work, next);
}

bool turn_poll(struct turns *turns)
{
	struct turn *turn = STAILQ_FIRST(turns);
	struct turn_work *work;

	if (turn == NULL)
		return false;
	work = STAILQ_FIRST(&turn->works);
	STAILQ_REMOVE_HEAD(turns, next);
	STAILQ_REMOVE_HEAD(&turn->works, next);
	/* The work is queued behind the other works of its address, and the address behind the other addresses. */
	if (work->step(work))
		STAILQ_INSERT_TAIL(&turn->works, work, next);
	if (!STAILQ_EMPTY(&turn->works))
		STAILQ_INSERT_TAIL(turns, turn, next);
	return true;
}
