/* fault.c - a bad link does exactly what it counts, the same for the same seed, and loses no mbuf */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "drivers/fault/fault.h"
#include "drivers/loop/loop.h"
#include "start.h"

#define FRAMES 20000u
#define BURST 32u
#define IDLE_POLLS 100u

TestSuite(fault, .init = test_eal_start);

/* What arrived. */
struct arrivals {
	struct drivers_fault_counts counts;
	uint32_t total, damaged, doubled, late, missing;
	uint64_t hash; /* of all numbers in their order */
	uint8_t *seen;
	int64_t highest;
};

static void take(struct arrivals *arrivals, struct rte_mbuf *frame)
{
	int64_t number = test_frame_number(frame);

	arrivals->total++;
	arrivals->hash = (arrivals->hash ^ (uint64_t)number) * 0x100000001B3;
	if (number < 0 || number >= FRAMES) {
		arrivals->damaged++;
	} else {
		arrivals->doubled += arrivals->seen[number] > 0;
		arrivals->seen[number]++;
		if (number < arrivals->highest)
			arrivals->late++;
		else
			arrivals->highest = number;
	}
	rte_pktmbuf_free(frame);
}

/* Sends FRAMES frames over a loop whose far end has the faults of config. */
static void run(const struct drivers_fault_config *config, struct arrivals *arrivals)
{
	struct drivers_loop_config wires = { 0 };
	struct rte_mbuf *burst[BURST];
	struct drivers_fault *fault;
	struct uroce_error error;
	struct drivers_loop loop;
	uint32_t sent = 0, idle = 0;

	memset(arrivals, 0, sizeof(*arrivals));
	arrivals->highest = -1;
	arrivals->seen = calloc(FRAMES, 1);
	cr_assert_eq(drivers_loop_open(&wires, &loop, &error), 0, "%s", error.text);
	cr_assert_eq(drivers_fault_attach(&loop.ports[1], config, &fault, &error), 0, "%s", error.text);
	while (idle < IDLE_POLLS) {
		uint16_t count = 0;

		/* Half a burst: copies need room in what is taken out. */
		while (count < BURST / 2 && sent < FRAMES)
			burst[count++] = test_frame_create(loop.pool, sent++, 100);
		cr_assert_eq(rte_eth_tx_burst(loop.ports[0].port_id, 0, burst, count), count);
		idle = count ? 0 : idle + 1;
		count = rte_eth_rx_burst(loop.ports[1].port_id, 0, burst, BURST);
		for (uint16_t i = 0; i < count; i++)
			take(arrivals, burst[i]);
	}
	for (uint32_t i = 0; i < FRAMES; i++)
		arrivals->missing += arrivals->seen[i] == 0;
	drivers_fault_counts(fault, &arrivals->counts);
	drivers_fault_detach(fault);
	cr_assert_eq(drivers_loop_close(&loop), 0, "an mbuf was lost");
	free(arrivals->seen);
}

static void expect_about(uint64_t count, double probability, const char *what)
{
	double expected = FRAMES * probability;

	cr_expect(count > expected * 0.7 && count < expected * 1.3, "%s: %lu instead of about %.0f", what,
		  (unsigned long)count, expected);
}

Test(fault, zero_probabilities_inject_no_fault)
{
	struct drivers_fault_config config = { .seed = 1 };
	struct arrivals arrivals;

	run(&config, &arrivals);
	cr_expect_eq(arrivals.total, FRAMES);
	cr_expect_eq(arrivals.missing + arrivals.doubled + arrivals.late + arrivals.damaged, 0);
	cr_expect_eq(arrivals.counts.frames, FRAMES);
}

Test(fault, each_fault_matches_its_counter)
{
	struct drivers_fault_config loss = { .loss = 0.05, .seed = 2 }, duplicate = { .duplicate = 0.05, .seed = 3 };
	struct drivers_fault_config reorder = { .reorder = 0.05, .seed = 4 }, corrupt = { .corrupt = 0.05, .seed = 5 };
	struct arrivals arrivals;

	run(&loss, &arrivals);
	cr_expect_eq(arrivals.counts.lost, arrivals.missing);
	cr_expect_eq(arrivals.total, FRAMES - arrivals.missing);
	expect_about(arrivals.missing, loss.loss, "lost");

	run(&duplicate, &arrivals);
	cr_expect_eq(arrivals.counts.duplicated, arrivals.doubled);
	cr_expect_eq(arrivals.missing + arrivals.damaged + arrivals.late, 0);
	expect_about(arrivals.doubled, duplicate.duplicate, "doubled");

	run(&reorder, &arrivals);
	cr_expect_eq(arrivals.missing + arrivals.damaged + arrivals.doubled, 0, "a late frame comes all the same");
	expect_about(arrivals.counts.reordered, reorder.reorder, "reordered");
	expect_about(arrivals.late, reorder.reorder, "late");

	run(&corrupt, &arrivals);
	cr_expect_eq(arrivals.counts.corrupted, arrivals.damaged);
	cr_expect_eq(arrivals.total, FRAMES);
	expect_about(arrivals.damaged, corrupt.corrupt, "damaged");
}

Test(fault, equal_seeds_repeat_a_run)
{
	struct drivers_fault_config config = { .loss = 0.01, .duplicate = 0.02, .reorder = 0.03, .corrupt = 0.04 };
	struct arrivals first, second, other;

	config.seed = 6;
	run(&config, &first);
	run(&config, &second);
	config.seed = 7;
	run(&config, &other);
	cr_expect_eq(first.hash, second.hash);
	cr_expect_eq(memcmp(&first.counts, &second.counts, sizeof(first.counts)), 0);
	cr_expect_neq(first.hash, other.hash);
	cr_expect_eq(first.total, FRAMES - first.counts.lost + first.counts.duplicated);
}

Test(fault, probability_one_hits_every_frame)
{
	struct drivers_fault_config all_lost = { .loss = 1 }, all_late = { .reorder = 1 };
	struct arrivals arrivals;

	run(&all_lost, &arrivals);
	cr_expect_eq(arrivals.total, 0);
	run(&all_late, &arrivals);
	cr_expect_eq(arrivals.total, FRAMES, "those that nothing follows come after some polls");
}

/* Numbers of the frames of so many bytes that arrive, of 8. */
static uint32_t pass_eight(struct drivers_loop *loop, const uint32_t *bytes)
{
	struct rte_mbuf *burst[8];
	uint32_t numbers = 0;
	uint16_t count;

	for (uint32_t i = 0; i < 8; i++)
		burst[i] = test_frame_create(loop->pool, i, bytes[i]);
	cr_assert_eq(rte_eth_tx_burst(loop->ports[0].port_id, 0, burst, 8), 8);
	count = rte_eth_rx_burst(loop->ports[1].port_id, 0, burst, 8);
	for (uint16_t i = 0; i < count; i++) {
		numbers |= 1u << test_frame_number(burst[i]);
		rte_pktmbuf_free(burst[i]);
	}
	return numbers;
}

Test(fault, only_the_nth_large_frame_is_lost)
{
	static const uint32_t bytes[8] = { 100, 500, 100, 500, 500, 100, 500, 500 };
	struct drivers_fault_config config = { .seed = 9 };
	struct drivers_loop_config wires = { 0 };
	struct drivers_fault_counts counts;
	struct drivers_fault *fault;
	struct uroce_error error;
	struct drivers_loop loop;

	cr_assert_eq(drivers_loop_open(&wires, &loop, &error), 0, "%s", error.text);
	cr_assert_eq(drivers_fault_attach(&loop.ports[1], &config, &fault, &error), 0, "%s", error.text);
	drivers_fault_lose_nth(fault, 3, 500);
	cr_expect_eq(pass_eight(&loop, bytes), 0xFF & ~(1u << 4));
	cr_expect_eq(pass_eight(&loop, bytes), 0xFF);
	drivers_fault_lose_nth(fault, 7, 500);
	cr_expect_eq(pass_eight(&loop, bytes), 0xFF);
	cr_expect_eq(pass_eight(&loop, bytes), 0xFF & ~(1u << 3));
	drivers_fault_lose_nth(fault, 1, 0);
	cr_expect_eq(pass_eight(&loop, bytes), 0xFE);
	drivers_fault_counts(fault, &counts);
	cr_expect_eq(counts.lost, 3);
	drivers_fault_detach(fault);
	cr_expect_eq(drivers_loop_close(&loop), 0, "an mbuf was lost");
}

/* A frame delayed before the change is still delivered. */
Test(fault, reconfigured_faults_apply_from_then_on)
{
	static const uint32_t bytes[8] = { 100, 100, 100, 100, 100, 100, 100, 100 };
	struct drivers_fault_config config = { .seed = 9 };
	struct drivers_loop_config wires = { 0 };
	struct drivers_fault *fault;
	struct uroce_error error;
	struct drivers_loop loop;
	struct rte_mbuf *frame;
	uint16_t late = 0;

	cr_assert_eq(drivers_loop_open(&wires, &loop, &error), 0, "%s", error.text);
	cr_assert_eq(drivers_fault_attach(&loop.ports[1], &config, &fault, &error), 0, "%s", error.text);
	cr_expect_eq(pass_eight(&loop, bytes), 0xFF);
	config.loss = 1;
	cr_expect_eq(drivers_fault_set(fault, &config, &error), 0);
	cr_expect_eq(pass_eight(&loop, bytes), 0);
	config.corrupt = -0.5;
	cr_expect_eq(drivers_fault_set(fault, &config, &error), -EINVAL);
	cr_expect_not_null(strstr(error.text, "-0.5"), "%s", error.text);
	cr_expect_eq(pass_eight(&loop, bytes), 0, "nothing has changed");
	config = (struct drivers_fault_config){ .reorder = 1 };
	cr_expect_eq(drivers_fault_set(fault, &config, &error), 0);
	frame = test_frame_create(loop.pool, 1, 64);
	cr_assert_eq(rte_eth_tx_burst(loop.ports[0].port_id, 0, &frame, 1), 1);
	cr_expect_eq(rte_eth_rx_burst(loop.ports[1].port_id, 0, &frame, 1), 0);
	config.reorder = 0;
	cr_expect_eq(drivers_fault_set(fault, &config, &error), 0);
	for (uint32_t i = 0; late == 0 && i < IDLE_POLLS; i++)
		late = rte_eth_rx_burst(loop.ports[1].port_id, 0, &frame, 1);
	cr_assert_eq(late, 1);
	rte_pktmbuf_free(frame);
	cr_expect_eq(pass_eight(&loop, bytes), 0xFF);
	drivers_fault_detach(fault);
	cr_expect_eq(drivers_loop_close(&loop), 0, "an mbuf was lost");
}

Test(fault, held_frames_are_freed_and_bad_values_refused)
{
	struct drivers_fault_config config = { .reorder = 1, .seed = 8 };
	struct drivers_loop_config wires = { 0 };
	struct drivers_fault *fault;
	struct uroce_error error;
	struct drivers_loop loop;
	struct rte_mbuf *frame;

	cr_assert_eq(drivers_loop_open(&wires, &loop, &error), 0, "%s", error.text);
	cr_assert_eq(drivers_fault_attach(&loop.ports[1], &config, &fault, &error), 0, "%s", error.text);
	frame = test_frame_create(loop.pool, 1, 64);
	cr_assert_eq(rte_eth_tx_burst(loop.ports[0].port_id, 0, &frame, 1), 1);
	cr_expect_eq(rte_eth_rx_burst(loop.ports[1].port_id, 0, &frame, 1), 0);
	drivers_fault_detach(fault);
	config.loss = 1.5;
	cr_expect_eq(drivers_fault_attach(&loop.ports[1], &config, &fault, &error), -EINVAL);
	cr_expect_not_null(strstr(error.text, "1.5"), "%s", error.text);
	cr_expect_eq(drivers_loop_close(&loop), 0, "an mbuf was lost");
}
