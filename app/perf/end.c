/* end.c - one end of a measurement: opens and closes it, and keeps what has failed */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/end.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <rte_cycles.h>

#include "common/eal.h"
#include "common/explain.h"

#define DRAIN_S 0.5 /* after an interruption */
#define DRAIN_SLOW_S 1.0

int perf_end_open(struct perf_end *end, struct app_port *port, struct uroce_lcore *lcore, uint32_t way)
{
	int error;

	memset(end, 0, sizeof(*end));
	end->port = port;
	end->lcore = lcore;
	end->way = way;
	error = uroce_pd_alloc(port->device, &end->pd);
	return error ? app_complain(APP_EXIT_INTERNAL, "cannot create a protection domain: %s", strerror(-error)) :
		       APP_EXIT_OK;
}

void perf_end_close(struct perf_end *end)
{
	if (end->pd)
		uroce_pd_dealloc(end->pd);
	end->pd = NULL;
}

static void fail(struct perf_end *end, const char *status, const char *text)
{
	if (end->tally.errors++ == 0) {
		snprintf(end->failure, sizeof(end->failure), "%s", text);
		app_complain_of(status, APP_EXIT_FAILURE, "%s %s %u bytes: %s", perf_op_names[end->test.op],
				perf_mode_names[end->test.mode], end->test.size_bytes, text);
	}
	end->stopped = true;
}

void perf_end_fail(struct perf_end *end, const char *format, ...)
{
	char text[UROCE_EXPLAIN_BYTES];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	fail(end, NULL, text);
}

void perf_end_fail_by(struct perf_end *end, const struct uroce_wc *wc, const char *what)
{
	struct uroce_qp *qp = end->flows[wc->qp_context].qp;
	enum uroce_wc_status status = app_explain_status(qp, wc);
	char line[UROCE_EXPLAIN_BYTES], text[2 * UROCE_EXPLAIN_BYTES];

	snprintf(text, sizeof(text), "%s%s", what, app_explain(qp, wc, line, sizeof(line)));
	end->unreachable |= end->tally.errors == 0 && status == UROCE_WC_RETRY_EXC_ERR;
	fail(end, uroce_wc_status_name(status), text);
}

bool perf_end_gives_up(const struct perf_end *end, uint64_t drain_began)
{
	double patience_s = app_is_interrupted() ? DRAIN_S : DRAIN_SLOW_S;

	return (app_is_interrupted() || end->test.rx_rate) &&
	       rte_rdtsc() - drain_began > (uint64_t)(patience_s * (double)rte_get_tsc_hz());
}

uint64_t perf_end_frames(const struct perf_end *end)
{
	struct drivers_ethdev_stats stats;

	return drivers_ethdev_stats(end->port->ethdev, &stats) == 0 ? stats.rx_frames + stats.tx_frames : 0;
}

uint64_t perf_end_counter(const struct perf_end *end, const char *name)
{
	struct uroce_stats stats;
	int index = uroce_counter_find(name);

	if (index < 0)
		return 0;
	uroce_device_stats(end->port->device, &stats);
	return stats.values[index];
}
