/* fabric_table.c - runs of a plan, and what is told of them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/fabric_table.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/fabric.h"
#include "sim/median.h"

#define MTU 4096u
#define SEEDS_MAX 100u
#define UNFAIR 4

enum measure { LAST, MEDIAN, P99, FIRST, DROPS, MARKS, CNPS, SENT, RESENT, ASKS, TIMEOUTS, QUEUE, JAIN, MEASURES };
/* Of flows with SACKs, or of those without. RATE is the mean of the flows' goodputs in Gbit/s. */
enum half_measure { HALF_FLOWS, HALF_LAST, HALF_MEDIAN, HALF_FIRST, HALF_RATE, HALF_MEASURES };

/* Of one run. Times in us, the queue in KiB. */
struct result {
	double of[MEASURES];
	double half[2][HALF_MEASURES]; /* without SACKs, and with them */
	uint64_t hash;
	bool bad; /* a flow is not done, or an oracle objects */
};

static const char *const names[] = { [FABRIC_FIXED] = "fixed", [FABRIC_DCQCN] = "dcqcn", [FABRIC_DELAY] = "delay" };

/* ---- a run ---- */

static struct sim_config config_of(const struct sim_plan *plan, enum sim_fabric_cc cc)
{
	struct sim_config config = sim_swarm_steady(plan->flow_count);

	config.nodes = plan->hosts;
	config.connections = plan->flow_count;
	config.mtu = MTU;
	config.max_packets = (plan->largest + MTU - 1) / MTU;
	config.only_writes = true;
	config.paths = plan->paths;
	config.window = plan->sacks ? WINDOW_PACKETS : 0;
	config.cc = cc == FABRIC_DCQCN ? UROCE_CC_DCQCN : cc == FABRIC_DELAY ? UROCE_CC_DELAY : UROCE_CC_DEFAULT;
	config.byte_ps = plan->limits.byte_ps;
	config.delay_ns = plan->limits.delay_ns;
	return config;
}

/* From its start to its completion. */
static double flow_us(const struct sim_world *world, uint32_t flow)
{
	const struct sim_end *end = &world->ends[2 * flow];

	return (double)(end->last_progress_ns - end->begins_ns) / 1000;
}

/* When flows were done; their throughputs say how fair it was. */
static void measure_flows(const struct sim_world *world, const struct sim_plan *plan, struct result *result)
{
	double *times = calloc(plan->flow_count, sizeof(*times)), sum = 0, squares = 0;
	uint32_t count = plan->flow_count;

	for (uint32_t i = 0; i < count; i++) {
		double rate;

		times[i] = flow_us(world, i);
		rate = plan->flows[i].bytes / times[i];
		sum += rate;
		squares += rate * rate;
	}
	result->of[MEDIAN] = sim_median(times, count); /* which sorts them */
	result->of[FIRST] = times[0];
	result->of[LAST] = times[count - 1];
	result->of[P99] = times[(uint64_t)count * 99 / 100];
	result->of[JAIN] = sum * sum / (count * squares);
	free(times);
}

static void measure_half(const struct sim_world *world, const struct sim_plan *plan, bool sacks, double *half)
{
	double *times = calloc(plan->flow_count, sizeof(*times)), sum = 0;
	uint32_t count = 0;

	for (uint32_t i = 0; i < plan->flow_count; i++) {
		if (sim_plan_has_sacks(plan, &plan->flows[i]) != sacks)
			continue;
		times[count++] = flow_us(world, i);
		sum += plan->flows[i].bytes * 8 / (flow_us(world, i) * 1000);
	}
	half[HALF_FLOWS] = count;
	if (count) {
		half[HALF_MEDIAN] = sim_median(times, count); /* which sorts them */
		half[HALF_FIRST] = times[0];
		half[HALF_LAST] = times[count - 1];
		half[HALF_RATE] = sum / count;
	}
	free(times);
}

static struct result run_once(const struct sim_plan *plan, enum sim_fabric_cc cc, uint64_t seed,
			      struct sim_memory *memory)
{
	struct sim_world *world = malloc(sizeof(*world));
	struct sim_config config = config_of(plan, cc);
	struct sim_options options = { .seed = seed, .steady = &config, .plan = plan };
	struct sim_fabric_counts counts;
	struct result result = { .bad = true };

	options.messages = options.connections = UINT32_MAX;
	for (uint32_t i = 0; i < FAULT_KINDS; i++)
		options.rates[i] = UINT32_MAX;
	sim_world_run(world, &options, memory);
	counts = sim_fabric_counts(world->fabric);
	if (world->failed)
		printf("seed %lu, %s: %s\n", seed, names[cc], world->failure);
	if (world->successes != plan->flow_count)
		printf("seed %lu, %s: %lu flows of %u are done\n", seed, names[cc], world->successes, plan->flow_count);
	result.bad = world->failed || world->successes != plan->flow_count;
	result.hash = world->hash;
	measure_flows(world, plan, &result);
	for (uint32_t i = 0; i < 2; i++)
		measure_half(world, plan, i, result.half[i]);
	result.of[DROPS] = (double)counts.drops;
	result.of[MARKS] = (double)counts.marks;
	result.of[CNPS] = (double)world->tally[CNT_CNP_HANDLED];
	result.of[SENT] = (double)world->payload_frames;
	result.of[RESENT] = (double)world->tally[CNT_RETRANSMITTED_PACKETS];
	result.of[ASKS] = (double)world->tally[CNT_EARLY_PROBES];
	result.of[TIMEOUTS] = (double)world->tally[CNT_LOCAL_ACK_TIMEOUT_ERR];
	result.of[QUEUE] = (double)counts.queue_max / 1024;
	sim_world_forget(world);
	free(world);
	return result;
}

/* ---- the table ---- */

/* What a flow's frames take on links. */
static uint64_t flow_bytes(const struct sim_flow *flow)
{
	return flow->bytes + (uint64_t)((flow->bytes + MTU - 1) / MTU) * (14 + 20 + 8 + 12 + 4 + 24);
}

/*
 * When the last byte of all flows to the busiest host would have left a port that never rests, or the last to hosts of
 * one leaf the neck between them.
 */
static double ideal_us(const struct sim_plan *plan)
{
	uint64_t most_ps = 0, through[2] = { 0, 0 };

	for (uint32_t host = 0; host < plan->hosts; host++) {
		uint64_t bytes = 0;

		for (uint32_t i = 0; i < plan->flow_count; i++) {
			const struct sim_flow *flow = &plan->flows[i];

			if (flow->to != host)
				continue;
			bytes += flow_bytes(flow);
			if (plan->neck_byte_ps && sim_plan_leaf(plan, flow->from) != sim_plan_leaf(plan, host))
				through[sim_plan_leaf(plan, host)] += flow_bytes(flow);
		}
		if (bytes * plan->limits.byte_ps > most_ps)
			most_ps = bytes * plan->limits.byte_ps;
	}
	for (uint32_t leaf = 0; leaf < 2; leaf++) {
		if (through[leaf] * plan->neck_byte_ps > most_ps)
			most_ps = through[leaf] * plan->neck_byte_ps;
	}
	return (double)most_ps / 1e6;
}

static void print_half(const double *half)
{
	printf(" %.0f | %.1f | %.1f | %.1f | %.2f |", half[HALF_FLOWS], half[HALF_LAST], half[HALF_MEDIAN],
	       half[HALF_FIRST], half[HALF_RATE]);
}

static void print_line(const struct sim_plan *plan, enum sim_fabric_cc cc, const char *seed,
		       const struct result *result)
{
	const double *of = result->of;

	printf("| %s | %s | %.1f | %.1f | %.1f | %.1f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.3f |",
	       names[cc], seed, of[LAST], of[MEDIAN], of[P99], of[FIRST], of[DROPS], of[MARKS], of[CNPS], of[SENT],
	       of[RESENT], of[ASKS], of[TIMEOUTS], of[QUEUE], of[JAIN]);
	for (int i = 1; i >= 0 && plan->sacks == SACKS_EVEN; i--)
		print_half(result->half[i]);
	printf("%s\n", result->bad ? " not ok" : "");
	fflush(stdout);
}

/* The median of one measure of all runs. */
static double middle(const struct result *results, uint32_t count, size_t offset)
{
	double values[SEEDS_MAX];

	for (uint32_t i = 0; i < count; i++)
		memcpy(&values[i], (const char *)&results[i] + offset, sizeof(values[i]));
	return sim_median(values, count);
}

static struct result medians_of(const struct result *results, uint32_t count)
{
	struct result medians = { .bad = false };

	for (uint32_t i = 0; i < MEASURES; i++)
		medians.of[i] = middle(results, count, offsetof(struct result, of[i]));
	for (uint32_t i = 0; i < 2 * HALF_MEASURES; i++)
		(&medians.half[0][0])[i] = middle(results, count, offsetof(struct result, half) + i * sizeof(double));
	return medians;
}

static uint32_t run_row(const struct sim_plan *plan, enum sim_fabric_cc cc, uint64_t seed, uint32_t seeds,
			struct sim_memory *memory)
{
	struct result results[SEEDS_MAX], medians;
	uint32_t bad = 0;

	for (uint32_t i = 0; i < seeds; i++) {
		char name[24];

		results[i] = run_once(plan, cc, seed + i, memory);
		snprintf(name, sizeof(name), "%lu", seed + i);
		print_line(plan, cc, name, &results[i]);
		bad += results[i].bad;
	}
	medians = medians_of(results, seeds);
	if (seeds > 1)
		print_line(plan, cc, "median", &medians);
	return bad;
}

static void print_head(const struct sim_plan *plan)
{
	bool halves = plan->sacks == SACKS_EVEN;

	printf("| cc | seed | last | median | p99 | first | drops | marks | CNPs | packets | sent again | "
	       "asked early | time-outs | longest queue, KiB | Jain |%s\n",
	       halves ? " with SACKs | last | median | first | Gbit/s | without | last | median | first | Gbit/s |" :
			"");
	printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|%s\n",
	       halves ? "---|---|---|---|---|---|---|---|---|---|" : "");
}

uint32_t sim_fabric_run(const struct sim_plan *plan, enum sim_fabric_cc cc, uint64_t seed, uint32_t seeds,
			struct sim_memory *memory)
{
	uint32_t bad = 0;

	printf("%u hosts, %u flows, MTU %u, %.0f Gbit/s, links of %.1f us, %lu KiB a port, marks from %lu to %lu KiB. "
	       "Times in us; if the busiest link never rested: %.1f.\n\n",
	       plan->hosts, plan->flow_count, MTU, 8000.0 / (double)plan->limits.byte_ps,
	       (double)plan->limits.delay_ns / 1000, plan->limits.limit >> 10, plan->limits.kmin >> 10,
	       plan->limits.kmax >> 10, ideal_us(plan));
	print_head(plan);
	if (seeds > SEEDS_MAX)
		seeds = SEEDS_MAX;
	for (enum sim_fabric_cc one = FABRIC_FIXED; one <= FABRIC_DELAY; one *= 2) {
		if (cc & one)
			bad += run_row(plan, one, seed, seeds, memory);
	}
	return bad;
}

/* ---- as tests ---- */

static uint32_t report(uint32_t number, bool right, const char *what)
{
	printf("%s %u - %s\n", right ? "ok" : "not ok", number, what);
	return !right;
}

/* Nobody starves: neither flows with SACKs nor those without get less than a quarter of what the others do. */
static bool is_fair(const struct result *result)
{
	double plain = result->half[0][HALF_RATE], sacks = result->half[1][HALF_RATE];

	return plain > sacks / UNFAIR && sacks > plain / UNFAIR;
}

uint32_t sim_fabric_judge(const struct sim_plan *plan, uint64_t seed, struct sim_memory *memory)
{
	struct result fixed = run_once(plan, FABRIC_FIXED, seed, memory);
	struct result dcqcn = run_once(plan, FABRIC_DCQCN, seed, memory);
	struct result again = run_once(plan, FABRIC_DCQCN, seed, memory);
	uint32_t bad = 0;

	printf("1..%u\n", plan->sacks == SACKS_EVEN ? 6u : 5u);
	bad += report(1, !fixed.bad && !dcqcn.bad && !again.bad, "every flow is done, with its bytes");
	bad += report(2, dcqcn.hash == again.hash, "a seed tells the same twice");
	bad += report(3, dcqcn.of[MARKS] > 0 && dcqcn.of[CNPS] > 0 && fixed.of[MARKS] + fixed.of[CNPS] == 0,
		      "marks draw notifications where both ends listen to them");
	bad += report(4,
		      fixed.of[DROPS] > 0 ? dcqcn.of[DROPS] < fixed.of[DROPS] :
					    dcqcn.of[DROPS] == 0 && dcqcn.of[QUEUE] < fixed.of[QUEUE],
		      "who listens has fewer frames dropped, or shorter queues where none are");
	bad += report(5, dcqcn.of[LAST] < 2 * fixed.of[LAST],
		      "who listens is done with all flows in less than twice the time");
	if (plan->sacks == SACKS_EVEN)
		bad += report(6, is_fair(&fixed) && is_fair(&dcqcn),
			      "neither flows with SACKs nor those without starve");
	return bad;
}
