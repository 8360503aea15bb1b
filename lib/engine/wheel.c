/* wheel.c - the timer wheel: slots are circular lists, far nodes cascade down as time comes near */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "engine/wheel.h"

#define SLOT_MASK (WHEEL_SLOTS - 1)
#define WHEEL_SPAN (1ull << (WHEEL_LEVELS * WHEEL_SLOT_BITS))

void engine_wheel_init(struct engine_wheel *wheel, uint64_t now_ns)
{
	wheel->now_tick = now_ns >> WHEEL_TICK_SHIFT;
	wheel->armed = 0;
	for (int level = 0; level < WHEEL_LEVELS; level++) {
		for (uint32_t slot = 0; slot < WHEEL_SLOTS; slot++) {
			struct engine_wheel_node *head = &wheel->slots[level][slot];

			head->next = head->previous = head;
		}
	}
}

static void unlink_node(struct engine_wheel_node *node)
{
	node->previous->next = node->next;
	node->next->previous = node->previous;
	node->next = node->previous = NULL;
}

/* The level is that of the highest digit in which the node's tick differs from now. */
static void link_node(struct engine_wheel *wheel, struct engine_wheel_node *node)
{
	uint64_t differs = (node->tick ^ wheel->now_tick) & (WHEEL_SPAN - 1);
	int level = differs == 0 ? 0 : (63 - __builtin_clzll(differs)) / WHEEL_SLOT_BITS;
	uint32_t slot = (uint32_t)(node->tick >> (level * WHEEL_SLOT_BITS)) & SLOT_MASK;
	struct engine_wheel_node *head = &wheel->slots[level][slot];

	node->next = head;
	node->previous = head->previous;
	head->previous->next = node;
	head->previous = node;
}

void engine_wheel_arm(struct engine_wheel *wheel, struct engine_wheel_node *node, uint64_t deadline_ns)
{
	uint64_t tick = wheel_tick_of(deadline_ns);

	if (wheel_node_is_armed(node))
		engine_wheel_disarm(wheel, node);
	if (tick <= wheel->now_tick)
		tick = wheel->now_tick + 1;
	if (tick - wheel->now_tick >= WHEEL_SPAN)
		tick = wheel->now_tick + WHEEL_SPAN - 1; /* fires early; its owner arms it again */
	node->tick = tick;
	link_node(wheel, node);
	wheel->armed++;
}

void engine_wheel_disarm(struct engine_wheel *wheel, struct engine_wheel_node *node)
{
	if (!wheel_node_is_armed(node))
		return;
	unlink_node(node);
	wheel->armed--;
}

/* A digit above has turned: its slot's nodes belong further down now. */
static void cascade(struct engine_wheel *wheel, int level)
{
	struct engine_wheel_node *head =
		&wheel->slots[level][(wheel->now_tick >> (level * WHEEL_SLOT_BITS)) & SLOT_MASK];
	struct engine_wheel_node *node = head->next;

	head->next = head->previous = head;
	while (node != head) {
		struct engine_wheel_node *next = node->next;

		link_node(wheel, node);
		node = next;
	}
}

static void turn(struct engine_wheel *wheel)
{
	wheel->now_tick++;
	for (int level = 1; level < WHEEL_LEVELS; level++) {
		if (wheel->now_tick & ((1ull << (level * WHEEL_SLOT_BITS)) - 1))
			break;
		cascade(wheel, level);
	}
}

/*
 * Time jumped (a pause of the machine): skip to the next tick at which anything can happen, a digit of the lowest
 * level at a time.
 */
static void skip_empty_level(struct engine_wheel *wheel, uint64_t target)
{
	uint64_t end = wheel->now_tick | SLOT_MASK;

	if (end >= target)
		return;
	for (uint64_t tick = wheel->now_tick; tick <= end; tick++) {
		const struct engine_wheel_node *head = &wheel->slots[0][tick & SLOT_MASK];

		if (head->next != head)
			return;
	}
	wheel->now_tick = end;
}

struct engine_wheel_node *engine_wheel_advance(struct engine_wheel *wheel, uint64_t now_ns)
{
	uint64_t target = now_ns >> WHEEL_TICK_SHIFT;

	for (;;) {
		struct engine_wheel_node *head = &wheel->slots[0][wheel->now_tick & SLOT_MASK];

		if (head->next != head) {
			struct engine_wheel_node *node = head->next;

			unlink_node(node);
			wheel->armed--;
			return node;
		}
		if (wheel->now_tick >= target)
			return NULL;
		if (wheel->armed == 0) {
			wheel->now_tick = target;
			return NULL;
		}
		skip_empty_level(wheel, target);
		turn(wheel);
	}
}
