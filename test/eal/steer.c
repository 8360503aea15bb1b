/* steer.c - the numbers of QPs: in no order, each of its own, and none again before it has rested */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/clock.h"
#include "engine/steer.h"
#include "network.h"
#include "rule.h"
#include "start.h"

#define MANY 512u
/*
 * Of so many steps between random numbers of 11 digits or more no two dozen are alike: for the most frequent of 2048
 * that takes 2048 x 0.25^24 / 24!, and chance never made a test fail. The bound of what rises is 19 deviations away.
 */
#define ALIKE_MAX 23u
#define RISING_MIN (MANY / 4)
#define RISING_MAX (MANY * 3 / 4)

TestSuite(steer, .init = test_eal_start, .timeout = 60);

static int create(struct network *network, struct uroce_qp **qp)
{
	struct uroce_qp_init_attr init = {
		.send_cq = network->ends[0].cq,
		.recv_cq = network->ends[0].cq,
		.max_send_wr = 1,
		.max_send_sge = 1,
		.max_recv_sge = 1,
	};

	return uroce_qp_create(network->ends[0].pd, &init, qp);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* How often the most frequent of the numbers occurs; they are sorted. */
static uint32_t most_alike(uint32_t *numbers, uint32_t count)
{
	uint32_t most = 0, run = 0;

	qsort(numbers, count, sizeof(*numbers), compare);
	for (uint32_t i = 0; i < count; i++) {
		run = i && numbers[i] == numbers[i - 1] ? run + 1 : 1;
		most = run > most ? run : most;
	}
	return most;
}

/* Are some digits of the numbers as if drawn? One that stays, counts or steps makes the steps between them alike. */
static void expect_no_order(const uint32_t *numbers, uint32_t shift, uint32_t mask, const char *what)
{
	uint32_t steps[MANY - 1], rising = 0;

	for (uint32_t i = 0; i + 1 < MANY; i++) {
		uint32_t a = numbers[i] >> shift & mask, b = numbers[i + 1] >> shift & mask;

		steps[i] = (b - a) & mask;
		rising += b > a;
	}
	cr_expect(rising >= RISING_MIN && rising <= RISING_MAX, "%s: %u of %u rise", what, rising, MANY - 1);
	cr_expect_leq(most_alike(steps, MANY - 1), ALIKE_MAX, "%s: steps are alike", what);
}

Test(steer, numbers_are_distinct_and_unordered)
{
	static struct network network;
	struct uroce_qp *qps[MANY];
	uint32_t numbers[MANY], mask, shift;

	RULE("P-7");
	network_open_sized(&network, 0);
	for (uint32_t i = 0; i < MANY; i++) {
		cr_assert_eq(create(&network, &qps[i]), 0);
		numbers[i] = uroce_qp_num(qps[i]);
		cr_assert(numbers[i] >= 2 && numbers[i] < 0xFFFFFF, "%#x is reserved", numbers[i]);
	}
	mask = network.engine->index_count - 1;
	shift = (uint32_t)__builtin_popcount(mask);
	cr_assert(shift >= 11 && shift <= 13, "the bounds are for 11 digits or more in both parts, not %u", shift);
	expect_no_order(numbers, 0, 0xFFFFFF, "all digits");
	expect_no_order(numbers, 0, mask, "the place");
	expect_no_order(numbers, shift, 0xFFFFFF >> shift, "what is above it");
	cr_expect_eq(most_alike(numbers, MANY), 1, "a number was given out twice");
	for (uint32_t i = 0; i < MANY; i++)
		cr_assert_eq(uroce_qp_destroy(qps[i]), 0);
	network_close(&network);
}

/* The place may be used at once, the number not: of sixteen others in its place one is drawn. */
Test(steer, destroyed_number_is_not_reused_at_once)
{
	static struct network network;
	static uint32_t numbers[4096];
	struct uroce_qp *qps[16], *more;
	uint32_t count = 0;

	RULE("P-7");
	network_open_sized(&network, 8);
	cr_assert_eq(network.engine->index_count, 16);
	network.engine->config.max_qps = 16; /* the half that stays free, too, so that one place is left */
	while (count < 16)
		cr_assert_eq(create(&network, &qps[count++]), 0);
	cr_assert_eq(create(&network, &more), -ENOSPC);
	for (uint32_t i = 0; i < 4096; i++) {
		numbers[i] = uroce_qp_num(qps[7]);
		cr_assert_eq(uroce_qp_destroy(qps[7]), 0);
		cr_assert_eq(create(&network, &qps[7]), 0, "the place rests, too, after %u", i);
		cr_assert_eq((uroce_qp_num(qps[7]) ^ numbers[i]) & 15, 0, "no other place was free");
	}
	cr_expect_eq(most_alike(numbers, 4096), 1, "one was given out twice: by chance 8 are");
	cr_expect_eq(network.engine->timewait.count, 4096);
	while (count > 0)
		cr_assert_eq(uroce_qp_destroy(qps[--count]), 0);
	network_close(&network);
}

/* The longer of the two ACK timeouts counts, four times, between the floor and the cap. */
Test(steer, time_wait_covers_stale_packets)
{
	static const struct {
		uint8_t timeout, alternate;
		uint64_t rest_ns;
	} rows[] = {
		{ 8, 0, TIME_WAIT_MIN_NS },      { 18, 0, 4 * (4096ull << 18) }, { 18, 19, 4 * (4096ull << 19) },
		{ 19, 18, 4 * (4096ull << 19) }, { 31, 0, TIME_WAIT_MAX_NS },
	};

	RULE("P-7");
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static struct network network;
		struct uroce_qp_attr attr = {
			.alt_path = { .source = network_address("10.0.0.1"), .dest = network_address("10.0.0.3") },
			.alt_pkey = 0xFFFF,
			.alt_timeout = rows[i].alternate,
		};
		uint64_t before, after;
		uint32_t qpn;

		network_open(&network, 1);
		network.timeout = rows[i].timeout;
		network_create_qp(&network, 0, 16, -1);
		network_create_qp(&network, 1, 16, -1);
		network_connect(&network, false);
		if (rows[i].alternate)
			cr_assert_eq(uroce_qp_modify(network.ends[0].qp, &attr, UROCE_QP_ALT_PATH, NULL), 0);
		qpn = uroce_qp_num(network.ends[0].qp);
		before = engine_now_ns();
		cr_assert_eq(uroce_qp_destroy(network.ends[0].qp), 0);
		after = engine_now_ns();
		network.ends[0].qp = NULL;
		engine_timewait_wake(&network.engine->timewait, before + rows[i].rest_ns - 1);
		cr_expect(engine_timewait_has(&network.engine->timewait, qpn), "row %u: it rests too short", i);
		engine_timewait_wake(&network.engine->timewait, after + rows[i].rest_ns);
		cr_expect_not(engine_timewait_has(&network.engine->timewait, qpn), "row %u: it rests too long", i);
		network_close(&network);
	}
}
