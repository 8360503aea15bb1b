/* turn.h - work that goes on over several polls: a step in each, and the hosts have their steps in turn */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_TURN_H
#define NVMET_TURN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

/* step: does as much as one poll has time for, and returns whether the work goes on. A step adds no other work. */
struct turn_work {
	bool (*step)(struct turn_work *work);
	STAILQ_ENTRY(turn_work) next;
};

/*
 * The work of the hosts at one address: its steps and its entries in the ring for files. Not a share (share.h): they
 * end by themselves, so an address waits for its turn and not for places that another address holds.
 */
struct turn {
	STAILQ_HEAD(, turn_work) works;
	STAILQ_ENTRY(turn) next;
};

/* The turns of a lane that have work, the next one first. */
STAILQ_HEAD(turns, turn);

void turn_add(struct turns *turns, struct turn *turn, struct turn_work *work);
/* Takes one step of the work whose address has its turn. Returns whether there was any work. */
bool turn_poll(struct turns *turns);

#endif
