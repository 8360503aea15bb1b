/* wheel.c - the timer wheel: never early, hardly late, however far away and whatever time does */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "draw.h"
#include "engine/wheel.h"
#include "rule.h"

#define TICK_NS (1ull << WHEEL_TICK_SHIFT)

static struct engine_wheel wheel;

/* Advances to now and returns how many nodes fired; the last one in *fired. */
static uint32_t advance(uint64_t now_ns, struct engine_wheel_node **fired)
{
	struct engine_wheel_node *node;
	uint32_t count = 0;

	while ((node = engine_wheel_advance(&wheel, now_ns)) != NULL) {
		cr_assert_not(wheel_node_is_armed(node));
		if (fired)
			*fired = node;
		count++;
	}
	return count;
}

Test(wheel, node_fires_once_between_its_deadline_and_two_ticks_later)
{
	static const uint64_t distances[] = {
		0,
		1,
		TICK_NS - 1,
		TICK_NS,
		10000,
		20000,
		255 * TICK_NS,
		256 * TICK_NS,
		257 * TICK_NS,
		65535 * TICK_NS,
		65536 * TICK_NS,
		65537 * TICK_NS,
		16777216 * TICK_NS,
		16777217 * TICK_NS,
		8796093022208ull,
	};
	static const uint64_t starts[] = { 0, 1, 255 * TICK_NS, 65535 * TICK_NS + 77, (1ull << 45) - 3, 1ull << 60 };

	RULE("T-1");
	for (size_t s = 0; s < sizeof(starts) / sizeof(starts[0]); s++) {
		for (size_t d = 0; d < sizeof(distances) / sizeof(distances[0]); d++) {
			struct engine_wheel_node node = { .next = NULL };
			uint64_t deadline = starts[s] + distances[d];

			engine_wheel_init(&wheel, starts[s]);
			engine_wheel_arm(&wheel, &node, deadline);
			cr_assert(wheel_node_is_armed(&node));
			cr_assert_eq(advance(deadline > starts[s] ? deadline - 1 : starts[s], NULL), 0,
				     "start %lu distance %lu: early", starts[s], distances[d]);
			cr_assert_eq(advance(deadline + 2 * TICK_NS, NULL), 1, "start %lu distance %lu: late",
				     starts[s], distances[d]);
			cr_assert_eq(advance(deadline + 1000 * TICK_NS, NULL), 0, "fired twice");
			cr_assert_eq(wheel.armed, 0);
		}
	}
}

Test(wheel, a_disarmed_node_never_fires)
{
	struct engine_wheel_node node = { .next = NULL };

	engine_wheel_init(&wheel, 5);
	engine_wheel_arm(&wheel, &node, 1000000);
	engine_wheel_disarm(&wheel, &node);
	engine_wheel_disarm(&wheel, &node);
	cr_assert_not(wheel_node_is_armed(&node));
	cr_assert_eq(advance(1ull << 40, NULL), 0);
}

Test(wheel, arming_again_moves_the_node)
{
	struct engine_wheel_node node = { .next = NULL };

	engine_wheel_init(&wheel, 0);
	engine_wheel_arm(&wheel, &node, 1ull << 36);
	engine_wheel_arm(&wheel, &node, 50000);
	cr_assert_eq(wheel.armed, 1);
	cr_assert_eq(advance(50000 + 2 * TICK_NS, NULL), 1);
	engine_wheel_arm(&wheel, &node, 100);
	cr_assert_eq(advance(50000 + 4 * TICK_NS, NULL), 1, "a deadline in the past fires with the next tick");
}

/* TC-H-9: a hundred times 2^32 ticks. */
Test(wheel, deadline_beyond_the_span_fires_early_for_rearming)
{
	struct engine_wheel_node node = { .next = NULL };
	uint32_t times = 0;

	engine_wheel_init(&wheel, 0);
	engine_wheel_arm(&wheel, &node, 100ull << 45);
	while (advance((uint64_t)(times + 1) << 45, NULL) == 1 && ++times < 200 && (uint64_t)times << 45 < 100ull << 45)
		engine_wheel_arm(&wheel, &node, 100ull << 45);
	cr_assert_geq(times, 99);
	cr_assert_leq(times, 102);
}

struct timer {
	struct engine_wheel_node node; /* first: a node is its timer */
	uint64_t deadline_ns, armed_ns;
};

#define MANY_TICKS (3ull << 32)
#define FEW 64

/*
 * TC-H-9: the lower 32 bits of a tick go round three times, in steps of all sizes. What is farther away than the wheel
 * reaches fires early, for its owner to look and arm it again; everything else in its time.
 */
Test(wheel, ticks_beyond_32_bits_work)
{
	static struct timer timers[FEW];
	uint64_t state = draw_start(32), begin = (0xFFFFFF00ull << WHEEL_TICK_SHIFT) + 5, now = begin;
	uint32_t fired = 0, early = 0;

	RULE("T-1");
	engine_wheel_init(&wheel, now);
	while ((now - begin) >> WHEEL_TICK_SHIFT < MANY_TICKS) {
		struct timer *timer = &timers[draw_below(&state, FEW)];
		struct engine_wheel_node *node;
		uint64_t reach;

		reach = 1ull << (12 + draw_below(&state, 35));
		timer->deadline_ns = now + draw_next(&state) % reach;
		timer->armed_ns = now;
		engine_wheel_arm(&wheel, &timer->node, timer->deadline_ns);
		reach = 1ull << (8 + draw_below(&state, 34));
		now += draw_next(&state) % reach;
		while ((node = engine_wheel_advance(&wheel, now)) != NULL) {
			timer = (struct timer *)node;
			fired++;
			if (timer->deadline_ns <= now)
				continue;
			early++;
			cr_assert_geq(timer->deadline_ns - timer->armed_ns, ((1ull << 32) - 1) << WHEEL_TICK_SHIFT,
				      "in reach, and early");
			timer->armed_ns = wheel.now_tick << WHEEL_TICK_SHIFT; /* it has not come to `now` yet */
			engine_wheel_arm(&wheel, node, timer->deadline_ns);
		}
		for (uint32_t i = 0; i < FEW; i++)
			cr_assert(!wheel_node_is_armed(&timers[i].node) || timers[i].deadline_ns + 2 * TICK_NS > now,
				  "timer %u is late at tick %#lx", i, now >> WHEEL_TICK_SHIFT);
	}
	cr_assert(early > 100 && fired - early > 1000, "%u fired, %u early", fired, early);
}

/* Who sleeps until the next moment, again and again, is as late as one that polls all the time. */
Test(wheel, a_sleeper_wakes_for_each_node)
{
	static struct timer timers[FEW];
	uint64_t state = 0x9E3779B97F4A7C15, now = 777, wakes = 0;

	engine_wheel_init(&wheel, now);
	cr_assert_eq(engine_wheel_next_ns(&wheel), UINT64_MAX);
	for (uint32_t round = 0; round < 200; round++) {
		for (uint32_t i = 0; i < FEW; i++) {
			timers[i].deadline_ns = now + draw_next(&state) % (1ull << (8 + draw_below(&state, 33)));
			engine_wheel_arm(&wheel, &timers[i].node, timers[i].deadline_ns);
		}
		while (wheel.armed) {
			const struct engine_wheel_node *node;
			uint64_t next = engine_wheel_next_ns(&wheel);

			wakes++;
			cr_assert(next > now || wheel_is_quiet(&wheel, now) == false, "round %u: it is not over",
				  round);
			now = next > now ? next : now;
			while ((node = engine_wheel_advance(&wheel, now)) != NULL)
				cr_assert_lt(now - ((const struct timer *)node)->deadline_ns, 2 * TICK_NS, "round %u",
					     round);
		}
	}
	cr_assert_leq(wakes, 200 * FEW * WHEEL_LEVELS);
	cr_assert_eq(engine_wheel_next_ns(&wheel), UINT64_MAX);
}

Test(wheel, idle_wheel_skips_any_distance)
{
	engine_wheel_init(&wheel, 0);
	cr_assert_eq(advance(UINT64_MAX >> 1, NULL), 0);
	cr_assert_eq(wheel.now_tick, (UINT64_MAX >> 1) >> WHEEL_TICK_SHIFT);
}

#define NODES 500

/* TC-H-10: random arming, moving, disarming and time jumps, compared with a list of deadlines. */
Test(wheel, random_work_agrees_with_a_list)
{
	static struct timer timers[NODES];
	uint64_t state = 0x2545F4914F6CDD1D, now = 12345678;

	engine_wheel_init(&wheel, now);
	for (uint32_t step = 0; step < 20000; step++) {
		struct timer *timer;
		struct engine_wheel_node *node;

		draw_next(&state);
		timer = &timers[(state >> 8) % NODES];
		if (state % 7 == 0) {
			engine_wheel_disarm(&wheel, &timer->node);
		} else {
			timer->deadline_ns = now + (state >> 20) % (1ull << (10 + state % 34));
			engine_wheel_arm(&wheel, &timer->node, timer->deadline_ns);
		}
		now += (state >> 30) % (1ull << (state % 28));
		while ((node = engine_wheel_advance(&wheel, now)) != NULL) {
			timer = (struct timer *)node;
			cr_assert_leq(timer->deadline_ns, now, "step %u: fired early", step);
		}
		for (uint32_t i = 0; i < NODES; i++)
			cr_assert(!wheel_node_is_armed(&timers[i].node) || timers[i].deadline_ns + 2 * TICK_NS > now,
				  "step %u: timer %u is late", step, i);
	}
}
