/* agenda.h - what is to happen next in virtual time */
/* SPDX-License-Identifier: BSD-3-Clause */
/* A heap. What is due at the same time happens in the order in which it was put down. */
#ifndef SIM_AGENDA_H
#define SIM_AGENDA_H

#include <stdbool.h>
#include <stdint.h>

struct sim_frame;

enum sim_due_kind {
	DUE_ARRIVAL, /* a frame reaches its node */
	DUE_HOP,     /* or a switch on its way */
	DUE_POLL,    /* a QP may send */
	DUE_TIMER,   /* a QP's deadline may have passed */
	DUE_APP,     /* an application polls and posts */
	DUE_CLOSE,   /* a connection is taken down */
	DUE_OPEN,    /* and set up again */
	DUE_READY,   /* an end goes from RTR to RTS */
	DUE_WATCH    /* does everything go on? */
};

struct sim_due {
	uint64_t when_ns;
	uint64_t order;
	uint8_t kind;  /* enum sim_due_kind */
	uint32_t whom; /* index of an end, a connection, a node or a switch */
	uint32_t life; /* of the end: what was meant for an earlier QP is for nobody */
	struct sim_frame *frame;
};

struct sim_agenda {
	struct sim_due *heap;
	uint32_t count, room;
	uint32_t busy; /* entries that are work: neither timers nor the watch */
	uint64_t next_order;
};

/* What was taken, and is due later: it keeps its age, so what came first goes first. */
void sim_agenda_put_off(struct sim_agenda *agenda, struct sim_due due);
void sim_agenda_add(struct sim_agenda *agenda, struct sim_due due);
/* false: there is nothing. */
bool sim_agenda_take(struct sim_agenda *agenda, struct sim_due *due);

#endif
