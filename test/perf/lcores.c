/* lcores.c - measures windows of one lcore alone and of all together */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include <rte_launch.h>

#include "common/eal.h"
#include "lcores.h"
#include "core_latency.h"
#include "perf/poll.h"
#include "perf/result.h"
#include "perf/setup.h"
#include "window.h"

#define SETTLE_POLLS 256u
#define ADDR_BYTES 48u

/* A window that an EAL worker runs. */
struct job {
	struct perf_end *ends;
	uint64_t cycles;
	double rate;
};

static int run_job(void *argument)
{
	struct job *job = argument;

	job->rate = perf_window_run(job->ends, job->cycles);
	return 0;
}

/* ---- ports and ends ---- */

static int open_one(struct perf_lcore *one, uint32_t index, const struct perf_options *options,
		    struct uroce_engine *engine)
{
	char addresses[2][ADDR_BYTES];
	struct app_port_config config = {
		.device = "loop",
		.port = {
			.engine = engine,
			.addresses = { addresses[0], addresses[1] },
			.mtu_bytes = options->test.mtu_bytes,
			.first_lcore = (uint16_t)index,
			.queue_count = 1,
		},
	};
	int code;

	for (unsigned side = 0; side < 2; side++)
		snprintf(addresses[side], sizeof(addresses[side]), "10.0.%u.%u/24", index, side + 1);
	code = perf_pair_open(&config, 0, &one->pair);
	for (unsigned side = 0; side < 2 && code == APP_EXIT_OK; side++)
		code = perf_end_open(&one->ends[side], &one->pair.ends[side], uroce_engine_lcore(engine, index), side);
	return code;
}

int perf_lcores_open(struct perf_lcores *lcores, uint32_t count, const struct perf_options *options,
		     struct uroce_engine *engine)
{
	int code = APP_EXIT_OK;

	for (uint32_t i = 1; i < count && code == APP_EXIT_OK; i++)
		code = open_one(&lcores->others[lcores->count++], i, options, engine);
	return code;
}

void perf_lcores_close(struct perf_lcores *lcores)
{
	for (uint32_t i = 0; i < lcores->count; i++) {
		for (unsigned side = 0; side < 2; side++)
			perf_end_close(&lcores->others[i].ends[side]);
		perf_pair_close(&lcores->others[i].pair);
	}
	lcores->count = 0;
}

/* ---- windows ---- */

/* Returns messages a second of lcore `index` alone. Its end's tally stays as it was, except for errors. */
static double run_alone(struct perf_lcores *lcores, struct perf_end *ends, uint32_t index, uint64_t cycles)
{
	struct job job = { .ends = index ? lcores->others[index - 1].ends : ends, .cycles = cycles };
	struct perf_tally before = job.ends[0].tally;

	if (index == 0 || rte_eal_remote_launch(run_job, &job, app_eal_worker(index - 1)) != 0)
		run_job(&job);
	else
		rte_eal_wait_lcore(app_eal_worker(index - 1));
	before.errors = job.ends[0].tally.errors;
	job.ends[0].tally = before;
	return job.rate;
}

/* Messages a second of all lcores together. */
static double run_all(struct perf_lcores *lcores, struct perf_end *ends, uint64_t cycles)
{
	struct job jobs[PERF_LCORES_MAX - 1], own = { .ends = ends, .cycles = cycles };
	double rate;

	for (uint32_t i = 0; i < lcores->count; i++) {
		jobs[i] = (struct job){ .ends = lcores->others[i].ends, .cycles = cycles };
		rte_eal_remote_launch(run_job, &jobs[i], app_eal_worker(i));
	}
	run_job(&own);
	rate = own.rate;
	for (uint32_t i = 0; i < lcores->count; i++) {
		rte_eal_wait_lcore(app_eal_worker(i));
		rate += jobs[i].rate;
	}
	return rate;
}

static bool has_failed(const struct perf_lcores *lcores, const struct perf_end *ends)
{
	bool failed = window_failed(ends);

	for (uint32_t i = 0; i < lcores->count; i++)
		failed |= window_failed(lcores->others[i].ends);
	return failed;
}

static bool goes_on(const struct perf_lcores *lcores, const struct perf_end *ends)
{
	return !has_failed(lcores, ends) && perf_window_goes_on(ends);
}

/* The largest value over all workers. */
static double hand_over_ns(const struct perf_lcores *lcores)
{
	double most = 0;

	for (uint32_t i = 0; i < lcores->count; i++) {
		double ns = perf_core_latency_ns(i);

		most = ns > most ? ns : most;
	}
	return most;
}

static void measure(struct perf_lcores *lcores, struct perf_end *ends, struct perf_scaling_result *scaling)
{
	double scalings[WINDOW_PAIRS], distances[WINDOW_PAIRS];
	uint64_t cycles = perf_window_cycles(ends[0].test.seconds);
	uint32_t count = 0;

	for (uint32_t index = 0; index <= lcores->count; index++)
		run_alone(lcores, ends, index, cycles / 8);
	for (; count < WINDOW_PAIRS && goes_on(lcores, ends); count += goes_on(lcores, ends)) {
		double alone = 0;

		for (uint32_t index = 0; index <= lcores->count; index++)
			alone += run_alone(lcores, ends, index, cycles);
		scalings[count] = run_all(lcores, ends, cycles) / alone;
		distances[count] = hand_over_ns(lcores);
	}
	if (has_failed(lcores, ends) || count == 0)
		return;
	*scaling = (struct perf_scaling_result){
		.measured = true,
		.ratio = perf_window_spread(scalings, count),
		.hand_over_ns = perf_window_spread(distances, count),
	};
}

int perf_lcores_run(struct perf_lcores *lcores, struct perf_end *ends, struct perf_result *result,
		    struct perf_scaling_result *scaling)
{
	uint32_t connected = 0;
	int error = 0;

	memset(scaling, 0, sizeof(*scaling));
	result->lcores = 1 + lcores->count;
	for (; connected < lcores->count && error == 0; connected++) {
		error = perf_setup_connect_both(lcores->others[connected].ends, &result->test);
		if (error == 0)
			perf_window_begin(lcores->others[connected].ends);
	}
	if (error == 0)
		measure(lcores, ends, scaling);
	for (uint32_t i = 0; i < connected; i++) {
		struct perf_end *others = lcores->others[i].ends;

		/* This thread owns the lcore again, so calls run at once. */
		for (uint32_t poll = 0; poll < SETTLE_POLLS && error == 0; poll++)
			perf_window_poll(others);
		for (unsigned side = 0; side < 2; side++) {
			perf_end_sum_up(&others[side]);
			perf_result_add(result, &others[side].tally);
			perf_setup_finish(&others[side]);
		}
	}
	return error;
}
