/* local.c - runs a case with both ends in this process */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <rte_launch.h>

#include "common/eal.h"
#include "perf/beside.h"
#include "perf/local.h"
#include "perf/result.h"
#include "perf/setup.h"
#include "perf/stream.h"
#include "perf/poll.h"

#define SETTLE_POLLS 256u /* after the last ACK so many polls receive the frames still under way */

/* Shared by the two threads of a run on two cores. */
struct second_thread {
	struct perf_end *end;
	_Atomic bool started, go, done, failed, stop;
};

static int run_second(void *argument)
{
	struct second_thread *thread = argument;

	while (!atomic_load(&thread->go)) {
		uroce_lcore_poll(thread->end->lcore);
		atomic_store(&thread->started, true);
	}
	perf_end_begin(thread->end);
	while (!atomic_load(&thread->stop)) {
		perf_end_poll(thread->end);
		if (thread->end->tally.errors)
			atomic_store(&thread->failed, true);
		if (perf_end_is_done(thread->end))
			atomic_store(&thread->done, true);
	}
	return 0;
}

static int run_on_two_cores(struct perf_end *ends, struct perf_failover *failover)
{
	struct second_thread thread = { .end = &ends[1] };
	unsigned worker = app_eal_worker(0);
	int error = rte_eal_remote_launch(run_second, &thread, worker);

	if (error)
		return error;
	/* Requests that leave before both threads poll would only use up their retries. */
	while (!atomic_load(&thread.started))
		uroce_lcore_poll(ends[0].lcore);
	perf_end_begin(&ends[0]);
	atomic_store(&thread.go, true);
	while (!perf_end_is_done(&ends[0]) || !atomic_load(&thread.done)) {
		perf_end_poll(&ends[0]);
		perf_failover_poll(failover);
		if (atomic_load(&thread.failed))
			ends[0].stopped = true;
		if (ends[0].tally.errors && perf_end_is_done(&ends[0]))
			break;
	}
	atomic_store(&thread.stop, true);
	rte_eal_wait_lcore(worker);
	return 0;
}

static void run_on_one_core(struct perf_end *ends, struct perf_failover *failover)
{
	perf_end_begin(&ends[1]);
	perf_end_begin(&ends[0]);
	while (!perf_end_is_done(&ends[0]) || !perf_end_is_done(&ends[1])) {
		perf_end_poll(&ends[0]);
		perf_end_poll(&ends[1]);
		perf_failover_poll(failover);
		if (ends[0].tally.errors || ends[1].tally.errors)
			ends[0].stopped = ends[1].stopped = true;
	}
}

static void settle(struct perf_end *ends)
{
	for (unsigned i = 0; i < SETTLE_POLLS; i++) {
		perf_end_poll(&ends[0]);
		perf_end_poll(&ends[1]);
	}
}

static void check_final(struct perf_end *ends)
{
	uint64_t *completed = calloc(ends[0].test.qps, sizeof(*completed));

	for (unsigned side = 0; side < 2 && completed && ends[0].test.mode == PERF_BW; side++) {
		for (uint32_t i = 0; i < ends[0].test.qps; i++)
			completed[i] = ends[side].flows[i].completed;
		perf_stream_check_final(&ends[!side], completed);
	}
	free(completed);
}

static int run(struct perf_end *ends, uint32_t core_count, struct perf_failover *failover)
{
	int error = 0;

	perf_failover_begin(failover);
	if (core_count == 2)
		error = run_on_two_cores(ends, failover);
	else
		run_on_one_core(ends, failover);
	if (error)
		return error;
	/* After a run on two cores this thread takes over the second lcore, whose thread has ended. */
	settle(ends);
	if (ends[0].tally.errors == 0 && ends[1].tally.errors == 0 && !ends[0].tally.cut && !ends[1].tally.cut)
		check_final(ends);
	perf_end_sum_up(&ends[0]);
	perf_end_sum_up(&ends[1]);
	return 0;
}

/* Leaves the case to what a developers' program measures beside it. */
static int run_beside(const struct perf_local *local, struct perf_result *result)
{
	struct perf_end *ends = local->ends;
	int error = local->beside->run(ends, result);

	ends[0].phase = PHASE_DONE;
	if (error)
		return error;
	perf_end_sum_up(&ends[0]);
	perf_end_sum_up(&ends[1]);
	return 0;
}

int perf_local_run(const struct perf_local *local, const struct perf_case *test, struct perf_result *result)
{
	struct perf_end *ends = local->ends;
	bool beside = local->beside && local->beside->takes(test);
	int error;

	perf_result_begin(result, test, local->core_count);
	error = perf_setup_connect_both(ends, test);
	if (error == 0)
		error = beside ? run_beside(local, result) : run(ends, local->core_count, local->failover);
	if (error == 0) {
		perf_failover_result(local->failover, &result->failover);
		perf_result_add(result, &ends[0].tally);
		perf_result_add(result, &ends[1].tally);
		perf_result_close(result, &ends[0], true);
	}
	perf_setup_finish(&ends[0]);
	perf_setup_finish(&ends[1]);
	return error;
}
