/* failover.c - cutting the first of two links in the middle of a case */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include <rte_cycles.h>

#include "common/eal.h"
#include "perf/failover.h"

int perf_failover_open(struct perf_failover *failover, const struct perf_options *options, struct uroce_engine *engine,
		       struct drivers_fault *const *faults, struct perf_end *ends)
{
	struct app_port_config config = {
		.port = {
			.engine = engine,
			.addresses = { "10.0.1.1/24", "10.0.1.2/24" },
			.mtu_bytes = options->test.mtu_bytes,
		},
	};
	int code = app_loop_open(&config, (uint16_t)(options->core_count - 1), failover->ports);

	if (code)
		return code;
	failover->open = true;
	failover->ends = ends;
	failover->after_s = options->failover_s;
	for (unsigned i = 0; i < 2; i++) {
		failover->faults[i] = faults[i];
		ends[i].alternate = &failover->ports[i];
	}
	return APP_EXIT_OK;
}

void perf_failover_close(struct perf_failover *failover)
{
	if (failover->open)
		app_loop_close(failover->ports);
	failover->open = false;
}

static void cut(struct perf_failover *failover, bool yes)
{
	for (unsigned i = 0; i < 2; i++)
		drivers_fault_cut(failover->faults[i], yes);
}

void perf_failover_begin(struct perf_failover *failover)
{
	if (!failover->open)
		return;
	cut(failover, false);
	failover->cut_at = failover->first_migration_at = failover->resumed_at = 0;
	memset(failover->migrated_at, 0, sizeof(failover->migrated_at));
	memset(failover->migrations, 0, sizeof(failover->migrations));
}

static void handle_events(struct perf_failover *failover, unsigned side)
{
	struct uroce_event event;

	while (uroce_event_poll(failover->ends[side].port->device, &event)) {
		if (event.type != UROCE_EVENT_PATH_MIG)
			continue;
		failover->migrations[side]++;
		failover->migrated_at[side] = rte_rdtsc();
		if (failover->first_migration_at == 0) {
			failover->first_migration_at = failover->migrated_at[side];
			failover->completed = failover->ends[0].completed;
		}
	}
}

void perf_failover_poll(struct perf_failover *failover)
{
	const struct perf_end *end = failover->ends ? &failover->ends[0] : NULL;

	if (!failover->open)
		return;
	handle_events(failover, 0);
	handle_events(failover, 1);
	if (failover->cut_at == 0 && end->phase == PHASE_MEASURE &&
	    rte_rdtsc() - end->measure_began > (uint64_t)(failover->after_s * (double)rte_get_tsc_hz())) {
		failover->cut_at = rte_rdtsc();
		cut(failover, true);
	}
	if (failover->first_migration_at && failover->resumed_at == 0 && end->completed != failover->completed)
		failover->resumed_at = rte_rdtsc();
}

/* Milliseconds from the cut to `at`, 0 if `at` is 0. Negative if a queue pair migrated before the cut. */
static double milliseconds(const struct perf_failover *failover, uint64_t at)
{
	return at ? (double)(int64_t)(at - failover->cut_at) * 1e3 / (double)rte_get_tsc_hz() : 0;
}

void perf_failover_result(struct perf_failover *failover, struct perf_failover_result *result)
{
	struct perf_end *end = failover->ends ? &failover->ends[0] : NULL;

	memset(result, 0, sizeof(*result));
	if (!failover->open || failover->cut_at == 0)
		return;
	result->cut = true;
	result->resumed_ms = milliseconds(failover, failover->resumed_at);
	for (unsigned i = 0; i < 2; i++) {
		result->migrations[i] = failover->migrations[i];
		result->path_mig_ms[i] = milliseconds(failover, failover->migrated_at[i]);
		if (result->path_mig_ms[i] < 0)
			perf_end_fail(end,
				      "queue pairs of end %u migrated %.3f ms before the link was cut, because their "
				      "peer did not respond; on a busy machine use a larger ACK timeout (-u)",
				      i + 1, -result->path_mig_ms[i]);
		if (failover->migrations[i] != end->test.qps)
			perf_end_fail(end, "only %lu of the %u queue pairs of end %u migrated",
				      (unsigned long)failover->migrations[i], end->test.qps, i + 1);
	}
}
