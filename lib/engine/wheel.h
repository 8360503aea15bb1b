/* wheel.h - a hierarchical timer wheel: one node a QP, armed only when its deadline comes nearer (T-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Four levels of 256 slots; a tick is 8.192 us. A node fires at the first tick that is not before its deadline: never
 * early, and less than two ticks late in the wheel's time. A deadline that becomes later needs no call: when the node
 * fires, its owner arms it again. A poll with nothing due costs a comparison.
 */
#ifndef ENGINE_WHEEL_H
#define ENGINE_WHEEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WHEEL_LEVELS 4
#define WHEEL_SLOT_BITS 8
#define WHEEL_SLOTS (1u << WHEEL_SLOT_BITS)
#define WHEEL_TICK_SHIFT 13 /* nanoseconds to ticks */

struct engine_wheel_node {
	struct engine_wheel_node *next, *previous; /* NULL: not armed */
	uint64_t tick;                             /* the tick at which it fires */
};

struct engine_wheel {
	uint64_t now_tick;                                         /* all nodes up to here have fired */
	uint32_t armed;                                            /* number of armed nodes */
	uint64_t occupied[WHEEL_LEVELS][WHEEL_SLOTS / 64];         /* one bit a slot: its list is not empty */
	struct engine_wheel_node slots[WHEEL_LEVELS][WHEEL_SLOTS]; /* list heads */
};

void engine_wheel_init(struct engine_wheel *wheel, uint64_t now_ns);

/*
 * Arms the node for deadline_ns, even if it was armed already. A node whose deadline is in the past fires with the next
 * advance.
 */
void engine_wheel_arm(struct engine_wheel *wheel, struct engine_wheel_node *node, uint64_t deadline_ns);
void engine_wheel_disarm(struct engine_wheel *wheel, struct engine_wheel_node *node);

/*
 * Moves time on. Returns a node that is due, and disarms it, or returns NULL if none is due. To be called until it
 * returns NULL.
 */
struct engine_wheel_node *engine_wheel_advance(struct engine_wheel *wheel, uint64_t now_ns);

/* When engine_wheel_advance() next has work, if only to move a node down; UINT64_MAX: never. */
uint64_t engine_wheel_next_ns(const struct engine_wheel *wheel);

/* Would engine_wheel_advance() do nothing? */
static inline bool wheel_is_quiet(const struct engine_wheel *wheel, uint64_t now_ns)
{
	const struct engine_wheel_node *head = &wheel->slots[0][wheel->now_tick & (WHEEL_SLOTS - 1)];

	return wheel->now_tick >= now_ns >> WHEEL_TICK_SHIFT && head->next == head;
}

static inline bool wheel_node_is_armed(const struct engine_wheel_node *node)
{
	return node->next != NULL;
}

/* The tick at which a deadline fires. */
static inline uint64_t wheel_tick_of(uint64_t deadline_ns)
{
	return (deadline_ns >> WHEEL_TICK_SHIFT) + 1;
}

#endif
