/* perf.c - uroce-perf as a function: bandwidth and latency of RDMA operations, in one process or between two */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <uroce/uroce.h>

#include "common/control.h"
#include "common/dry.h"
#include "common/eal.h"
#include "common/ports.h"
#include "perf/connect.h"
#include "perf/environment.h"
#include "perf/json.h"
#include "perf/local.h"
#include "perf/options.h"
#include "perf/pair.h"
#include "perf/perf.h"
#include "perf/remote.h"
#include "perf/plan.h"
#include "perf/report.h"

#define LOOP_MTU_BYTES 4096u
#define WIRE_MTU_BYTES 1024u
#define QPS_MIN 4096u
#define QPS_MAX (1u << 20)
#define QPS_PER_IDLE 4u
#define QPS_PER_QP 8u /* QP numbers for a QP at both ends, and for destroyed QPs in time-wait */

struct perf {
	struct perf_options options;
	struct uroce_engine *engine;
	struct perf_pair pair; /* with two processes only its first end */
	uint32_t port_count;
	struct drivers_fault *faults[2];
	struct perf_end ends[2];
	struct perf_failover failover;
	struct perf_remote remote;
	struct perf_environment environment;
	struct perf_json *json;
	const struct perf_beside *beside;
	uint64_t failures;
};

static int create_engine(struct perf *perf)
{
	uint32_t pairs = 1 + perf->options.more_lcores;
	uint32_t qps = pairs * (perf->options.test.qps * QPS_PER_QP + perf->options.test.idle * QPS_PER_IDLE) +
		       perf->options.connections * QPS_PER_QP;
	struct uroce_engine_config config = {
		.lcore_count = options_lcore_count(&perf->options),
		.max_qps = qps < QPS_MIN ? QPS_MIN :
			   qps > QPS_MAX ? QPS_MAX :
					   qps,
		.max_mrs = 64 + (perf->options.ops[PERF_SEND_INV] || perf->options.server ? PERF_WINDOWS_MAX : 0),
		.ack_each = perf->options.test.ack_each,
	};
	int error = uroce_engine_create(&config, &perf->engine);

	return error ? app_complain(APP_EXIT_ENVIRONMENT, "cannot create an engine for %u queue pairs: %s",
				    config.max_qps, strerror(-error)) :
		       APP_EXIT_OK;
}

static struct app_port_config config_of_ports(const struct perf *perf)
{
	const struct perf_options *options = &perf->options;

	return (struct app_port_config){
		.device = options->device,
		.port = {
			.engine = perf->engine,
			.addresses = { options->addresses[0], options->addresses[1] },
			.mtu_bytes = options->test.mtu_bytes,
			.gateways = { options_are_local(options) ? NULL : options->gateway },
			.vlans = { options->vlan },
			.no_dad = options->no_dad,
			.record_path = options->record_path,
			.queue_count = 1, /* each end has an lcore of its own */
		},
	};
}

static int open_ports(struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	struct app_port_config config = config_of_ports(perf);
	bool here = options_are_local(options);
	int code = here ? perf_pair_open(&config, (uint16_t)(options->core_count - 1), &perf->pair) :
			  app_port_open(&config, &perf->pair.ends[0]);

	perf->port_count = code ? 0 : here ? 2 : 1;
	return code;
}

static int attach_faults(struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	struct uroce_error error;
	bool wanted = options_have_faults(options) || options->failover_s > 0;

	for (uint32_t i = 0; i < perf->port_count && wanted; i++) {
		struct drivers_fault_config config = options->faults;

		config.seed = config.seed * 2 + i;
		if (drivers_fault_attach(perf->pair.ends[i].ethdev, &config, &perf->faults[i], &error) != 0)
			return app_complain(APP_EXIT_ENVIRONMENT, "%s", error.text);
	}
	return APP_EXIT_OK;
}

static int open_ends(struct perf *perf)
{
	int code = APP_EXIT_OK;

	for (uint32_t i = 0; i < perf->port_count && code == APP_EXIT_OK; i++) {
		unsigned lcore = perf->options.core_count == 2 ? i : 0;

		code = perf_end_open(&perf->ends[i], &perf->pair.ends[i], uroce_engine_lcore(perf->engine, lcore),
				     i + perf->options.server);
		perf->ends[i].engine = perf->engine;
	}
	return code;
}

/*
 * A TCP connection to the other process is closed last, because its end tells the other process that our port is gone.
 * A connection by address needs the port, and is closed before the port.
 */
static void close_all(struct perf *perf)
{
	if (perf->remote.link.pipe)
		perf_remote_close(&perf->remote);
	for (uint32_t i = 0; i < perf->port_count; i++) {
		perf_end_close(&perf->ends[i]);
		free(perf->ends[i].latency);
	}
	perf_failover_close(&perf->failover);
	if (perf->beside)
		perf->beside->close();
	/* Frees late frames before their pool. */
	for (uint32_t i = 0; i < perf->port_count; i++)
		drivers_fault_detach(perf->faults[i]);
	perf_pair_close(&perf->pair);
	if (perf->engine)
		uroce_engine_destroy(perf->engine);
	perf_remote_close(&perf->remote);
}

static uint64_t count_interruptions(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_nivcsw : 0;
}

/* The row of a case in which nothing was completed is no measurement. */
static bool has_nothing(const struct perf_result *result)
{
	if (result->tally.messages || result->tally.errors || app_is_interrupted())
		return false;
	app_complain(APP_EXIT_FAILURE,
		     "%s %s %u bytes: no message completed in the measured time of %.2f s: use a longer -D",
		     perf_op_names[result->test.op], perf_mode_names[result->test.mode], result->test.size_bytes,
		     result->tally.seconds);
	return true;
}

/* Is the result below the least that the user has asked for? */
static bool misses_the_least(const struct perf_options *options, const struct perf_result *result)
{
	const char *op = perf_op_names[result->test.op];
	double mpps = result->messages_per_s / 1e6;
	bool slow = result->gbit_per_s < options->least_gbit, few = mpps < options->least_mpps;

	if (result->test.mode != PERF_BW)
		return false;
	if (slow)
		app_complain(APP_EXIT_FAILURE, "%s, %u bytes: %.3f Gbit/s is less than the minimum (-w), %g Gbit/s", op,
			     result->test.size_bytes, result->gbit_per_s, options->least_gbit);
	if (few)
		app_complain(
			APP_EXIT_FAILURE,
			"%s, %u bytes: %.6f million messages/s is less than the minimum (-y), %g million messages/s",
			op, result->test.size_bytes, mpps, options->least_mpps);
	return slow || few;
}

/* broken: the case was not finished. */
static void take_result(struct perf *perf, struct perf_result *result, uint64_t interruptions_before, bool broken)
{
	/* Nothing was measured before the interruption, or before the other side was gone: there is no row. */
	if (result->tally.messages == 0 && (broken || (app_is_interrupted() && result->tally.errors == 0)))
		return;
	result->interruptions = count_interruptions() - interruptions_before;
	perf->failures += result->tally.errors + result->tally.bad_bytes;
	/*
	 * The JSON file is written before the row: a result that a user sees is kept, even if the program is killed
	 * then.
	 */
	if (perf->json)
		perf_json_result(perf->json, result, perf->beside);
	perf_report_result(result, perf->beside);
	if (perf->options.histogram && result->latency)
		perf_report_histogram(result);
	perf->failures += has_nothing(result) || misses_the_least(&perf->options, result);
}

/* Runs all cases, between two ends in this process or with the server. */
static int run_cases(struct perf *perf)
{
	bool here = options_are_local(&perf->options);
	const struct perf_local local = {
		.ends = perf->ends,
		.core_count = perf->options.core_count,
		.failover = &perf->failover,
		.beside = perf->beside,
	};
	struct perf_result result;
	struct perf_case test;
	bool broken;

	app_finish_when_interrupted();
	for (uint32_t i = 0; !app_is_interrupted() && perf_case_at(&perf->options, i, &test); i++) {
		uint64_t interruptions = count_interruptions();

		if (here && perf_local_run(&local, &test, &result) != 0)
			return APP_EXIT_ENVIRONMENT;
		broken = !here && perf_remote_run(&perf->remote, &test, &result) != 0;
		take_result(perf, &result, interruptions, broken);
		if (broken)
			return APP_EXIT_FAILURE;
	}
	return perf->failures ? APP_EXIT_FAILURE : APP_EXIT_OK;
}

static int run_remote(struct perf *perf)
{
	struct perf_remote *remote = &perf->remote;
	int code = perf_remote_open(remote, perf->engine, &perf->ends[0], &perf->options);

	if (code)
		return code;
	if (!perf->options.server)
		return run_cases(perf);
	return perf_remote_serve(remote, &perf->failures) == 0 && perf->failures == 0 ? APP_EXIT_OK : APP_EXIT_FAILURE;
}

/* Measures connections. The server is in this process or at HOST, or this process is the server. */
static int run_connections(struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	struct perf_connect connect = {
		.engine = perf->engine,
		.port = (uint16_t)options->tcp_port,
		.under_way = options->connections,
		.seconds = options->test.seconds,
	};

	if (options_are_local(options)) {
		connect.client = &perf->ends[0];
		connect.server = &perf->ends[1];
		connect.dest = perf->pair.ends[1].addr;
	} else if (options->server) {
		connect.server = &perf->ends[0];
	} else {
		connect.client = &perf->ends[0];
		if (uroce_addr_parse(options->host, &connect.dest, NULL) != 0)
			return app_complain(APP_EXIT_USAGE,
					    "HOST \"%s\": --connections requires a RoCE address, such as 10.0.0.1",
					    options->host);
		if (app_check_peer("HOST", &perf->ends[0].port->addr, &connect.dest))
			return APP_EXIT_USAGE;
	}
	return perf_connect_run(&connect);
}

static int measure(struct perf *perf)
{
	int code = attach_faults(perf);

	if (code == APP_EXIT_OK)
		code = open_ends(perf);
	if (code == APP_EXIT_OK && perf->options.failover_s > 0)
		code = perf_failover_open(&perf->failover, &perf->options, perf->engine, perf->faults, perf->ends);
	if (code == APP_EXIT_OK && perf->beside)
		code = perf->beside->open(&perf->options, perf->engine);
	if (code)
		return code;
	perf_environment_collect(&perf->options, perf->pair.ends, perf->port_count, &perf->environment);
	perf_report_environment(&perf->environment, &perf->options);
	if (perf->json)
		perf_json_environment(perf->json, &perf->environment);
	code = perf->options.connections         ? run_connections(perf) :
	       options_are_local(&perf->options) ? run_cases(perf) :
						   run_remote(perf);
	for (uint32_t i = 0; i < perf->port_count; i++)
		perf_report_drops(&perf->pair.ends[i]);
	if (!options_are_local(&perf->options) && !perf->options.connections)
		perf_remote_part(&perf->remote);
	return code;
}

static int open_and_measure(struct perf *perf)
{
	int code = create_engine(perf);

	if (code == APP_EXIT_OK)
		code = open_ports(perf);
	if (code == APP_EXIT_OK)
		code = measure(perf);
	close_all(perf);
	return code;
}

/* Fills in options that depend on where the ends are. */
static int choose_device(struct perf_options *options, const struct app_args *args)
{
	if (options_are_local(options)) {
		options->device = options->device ? options->device : "loop";
		options->test.mtu_bytes = options->test.mtu_bytes ? options->test.mtu_bytes : LOOP_MTU_BYTES;
		return APP_EXIT_OK;
	}
	/* A server uses the client's path MTU, as far as its port allows. */
	if (options->test.mtu_bytes == 0 && !options->server)
		options->test.mtu_bytes = WIRE_MTU_BYTES;
	return app_eal_choose_device(args, &options->device);
}

static int start(struct perf *perf, const struct app_args *args)
{
	struct perf_options *options = &perf->options;
	struct uroce_eal_config config = {
		.worker_count = options_lcore_count(options) - 1,
		.main_is_busy = true,
		.last_core = options->host != NULL,
	};

	config.devices[0] = options->device;
	perf_report_open(options->no_peak);
	if (options->json_path || options->page_path) {
		perf->json = perf_json_open(options->json_path, options->page_path);
		if (perf->json == NULL)
			return APP_EXIT_ENVIRONMENT;
	}
	return app_eal_start(args, &config);
}

static int dry_run(const struct perf *perf)
{
	const struct perf_options *options = &perf->options;
	struct app_port_config config = config_of_ports(perf);
	int code = app_dry_port(options->device, &config.port);

	if (code == APP_EXIT_OK && options->server && !options->by_address)
		code = app_control_check_port(PERF_PORT_OPTION, options->tcp_port);
	if (code == APP_EXIT_OK)
		code = app_dry_write("--report", options->page_path);
	if (code == APP_EXIT_OK)
		code = app_dry_write("--json", options->json_path);
	if (code == APP_EXIT_OK)
		perf_plan_print(options);
	return code;
}

int perf_main(int argc, char **argv, const struct perf_beside *beside)
{
	static struct perf perf = { .remote.link.fd = -1 };
	struct app_args args;
	int code;

	perf.beside = beside;
	if (app_eal_split(argc, argv, &args) != 0)
		return APP_EXIT_INTERNAL;
	app_end_when_interrupted();
	code = perf_options_parse(args.own_count, args.own, &perf.options);
	if (code)
		return code - 1;
	if (beside)
		code = beside->check(&perf.options);
	if (code == APP_EXIT_OK)
		code = choose_device(&perf.options, &args);
	if (code)
		return code;
	if (perf.options.dry_run)
		return dry_run(&perf);
	code = start(&perf, &args);
	if (perf.json)
		perf_json_start(perf.json, argc, argv);
	if (code == APP_EXIT_OK)
		code = open_and_measure(&perf);
	if (perf.json && perf_json_close(perf.json) != 0 && code == APP_EXIT_OK)
		code = APP_EXIT_ENVIRONMENT;
	uroce_eal_stop();
	if (app_is_interrupted())
		return app_complain(APP_EXIT_INTERRUPTED, "interrupted");
	return code;
}
