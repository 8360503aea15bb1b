/* idle.h - what a target does that finds nothing to do: it gives its core away, and is back when something comes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_IDLE_H
#define NVMET_IDLE_H

#include "nvmet/server.h"

/* Zeros but for `how`. */
struct idle {
	enum uroce_idle how;
	uint64_t worked_ns;       /* when something was found last */
	uint64_t looked_ns;       /* when was asked how often the thread has lost its core */
	uint64_t shared_until_ns; /* others want the core: it is given to them at once */
	long lost;                /* how often until then */
};

/* After each poll. most_ns: the caller has something to look at then, whatever comes. */
void idle_rest(struct idle *idle, const struct lane *lane, bool worked, uint64_t most_ns);

#endif
