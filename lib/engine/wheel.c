/* wheel.c - the timer wheel: its slots are circular lists, and a node moves down a level as its time comes near */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>
#include <string.h>

#include "engine/wheel.h"

#define SLOT_MASK (WHEEL_SLOTS - 1)
#define WHEEL_SPAN_BITS (WHEEL_LEVELS * WHEEL_SLOT_BITS)
#define WHEEL_SPAN (1ull << WHEEL_SPAN_BITS)

void engine_wheel_init(struct engine_wheel *wheel, uint64_t now_ns)
{
	wheel->now_tick = now_ns >> WHEEL_TICK_SHIFT;
	wheel->armed = 0;
	memset(wheel->occupied, 0, sizeof(wheel->occupied));
	for (int level = 0; level < WHEEL_LEVELS; level++) {
		for (uint32_t slot = 0; slot < WHEEL_SLOTS; slot++) {
			struct engine_wheel_node *head = &wheel->slots[level][slot];

			head->next = head->previous = head;
		}
	}
}

static void mark(struct engine_wheel *wheel, const struct engine_wheel_node *head, bool occupied)
{
	uint32_t index = (uint32_t)(head - &wheel->slots[0][0]);
	uint64_t *word = &wheel->occupied[index / WHEEL_SLOTS][index % WHEEL_SLOTS / 64];
	uint64_t bit = 1ull << (index % 64);

	*word = occupied ? *word | bit : *word & ~bit;
}

static void unlink_node(struct engine_wheel *wheel, struct engine_wheel_node *node)
{
	node->previous->next = node->next;
	node->next->previous = node->previous;
	if (node->next == node->previous) /* only the head is left */
		mark(wheel, node->next, false);
	node->next = node->previous = NULL;
}

/* A node's level is that of the highest digit in which its tick differs from now. */
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
	mark(wheel, head, true);
}

void engine_wheel_arm(struct engine_wheel *wheel, struct engine_wheel_node *node, uint64_t deadline_ns)
{
	uint64_t tick = wheel_tick_of(deadline_ns);

	if (wheel_node_is_armed(node))
		engine_wheel_disarm(wheel, node);
	if (tick <= wheel->now_tick)
		tick = wheel->now_tick + 1;
	if (tick - wheel->now_tick >= WHEEL_SPAN)
		/* a node too far away fires early, and its owner arms it again */
		tick = wheel->now_tick + WHEEL_SPAN - 1;
	node->tick = tick;
	link_node(wheel, node);
	wheel->armed++;
}

void engine_wheel_disarm(struct engine_wheel *wheel, struct engine_wheel_node *node)
{
	if (!wheel_node_is_armed(node))
		return;
	unlink_node(wheel, node);
	wheel->armed--;
}

/* Moves the nodes of a slot to lower levels, because a higher digit has changed. */
static void cascade(struct engine_wheel *wheel, int level)
{
	struct engine_wheel_node *head =
		&wheel->slots[level][(wheel->now_tick >> (level * WHEEL_SLOT_BITS)) & SLOT_MASK];
	struct engine_wheel_node *node = head->next;

	head->next = head->previous = head;
	mark(wheel, head, false);
	while (node != head) {
		struct engine_wheel_node *next = node->next;

		link_node(wheel, node);
		node = next;
	}
}

/* The first occupied slot of a level from `from` on; WHEEL_SLOTS if there is none. */
static uint32_t find_occupied(const struct engine_wheel *wheel, int level, uint32_t from)
{
	for (uint32_t word = from / 64; word < WHEEL_SLOTS / 64; word++) {
		uint64_t bits = wheel->occupied[level][word];

		if (word == from / 64)
			bits &= ~0ull << (from % 64);
		if (bits)
			return word * 64 + (uint32_t)__builtin_ctzll(bits);
	}
	return WHEEL_SLOTS;
}

/*
 * The next tick at which a node fires or a slot is moved down. A node's digit on its level is greater than the digit of
 * the present tick, so the lowest level with an occupied slot comes first; only on the highest level may the digit have
 * wrapped.
 */
static uint64_t next_event(const struct engine_wheel *wheel)
{
	uint32_t slot;

	for (int level = 0; level < WHEEL_LEVELS; level++) {
		int shift = level * WHEEL_SLOT_BITS;
		uint32_t digit = (uint32_t)(wheel->now_tick >> shift) & SLOT_MASK;
		uint64_t above = wheel->now_tick >> (shift + WHEEL_SLOT_BITS) << (shift + WHEEL_SLOT_BITS);

		slot = digit == SLOT_MASK ? WHEEL_SLOTS : find_occupied(wheel, level, digit + 1);
		if (slot < WHEEL_SLOTS)
			return above | (uint64_t)slot << shift;
	}
	slot = find_occupied(wheel, WHEEL_LEVELS - 1, 0);
	return (wheel->now_tick / WHEEL_SPAN + 1) * WHEEL_SPAN | (uint64_t)slot << (WHEEL_SPAN_BITS - WHEEL_SLOT_BITS);
}

uint64_t engine_wheel_next_ns(const struct engine_wheel *wheel)
{
	const struct engine_wheel_node *head = &wheel->slots[0][wheel->now_tick & SLOT_MASK];

	if (wheel->armed == 0)
		return UINT64_MAX;
	return (head->next != head ? wheel->now_tick : next_event(wheel)) << WHEEL_TICK_SHIFT;
}

static void move_to(struct engine_wheel *wheel, uint64_t tick)
{
	wheel->now_tick = tick;
	for (int level = WHEEL_LEVELS - 1; level > 0; level--) {
		if ((tick & ((1ull << (level * WHEEL_SLOT_BITS)) - 1)) == 0)
			cascade(wheel, level);
	}
}

struct engine_wheel_node *engine_wheel_advance(struct engine_wheel *wheel, uint64_t now_ns)
{
	uint64_t target = now_ns >> WHEEL_TICK_SHIFT;

	for (;;) {
		struct engine_wheel_node *head = &wheel->slots[0][wheel->now_tick & SLOT_MASK];
		uint64_t next;

		if (head->next != head) {
			struct engine_wheel_node *node = head->next;

			engine_wheel_disarm(wheel, node);
			return node;
		}
		if (wheel->now_tick >= target)
			return NULL;
		next = wheel->armed ? next_event(wheel) : UINT64_MAX;
		if (next > target) {
			wheel->now_tick = target;
			return NULL;
		}
		move_to(wheel, next);
	}
}
