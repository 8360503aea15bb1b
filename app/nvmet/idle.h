/* idle.h - gives the core away while a target has no work, and takes it back when work comes */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMET_IDLE_H
#define NVMET_IDLE_H

#include "nvmet/server.h"

/* All zeros at first, except `how`. */
struct idle {
	enum uroce_idle how;
	uint64_t worked_ns;       /* when work was last found */
	uint64_t looked_ns;       /* when the kernel was last asked how often the thread has lost its core */
	uint64_t shared_until_ns; /* until this time the core is given to other threads after each poll without work */
	long lost;                /* how often it had lost its core by then */
};

/* To be called after each poll. most_ns: after this time the caller has to poll again, even if no work comes. */
void idle_rest(struct idle *idle, const struct lane *lane, bool worked, uint64_t most_ns);

#endif
