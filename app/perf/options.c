/* options.c - checks the options of uroce-perf against each other */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/options.h"

#include <string.h>

#include <uroce/types.h>

#include "common/eal.h"
#include "perf/pair.h"
#include "perf/rows.h"

#define USUAL_SECONDS 0.6

static int check_ends(const struct perf_options *options)
{
	bool local = options_are_local(options);
	bool pair = options->device == NULL || perf_pair_knows(options->device);
	struct uroce_addr addr;

	if (options->server && options->test.rx_rate)
		return app_complain(APP_EXIT_USAGE,
				    "--rx-rate %u: only the client has this option: remove it from the server",
				    options->test.rx_rate);
	if (options->server && options->host)
		return app_complain(APP_EXIT_USAGE, "--server and HOST %s cannot be combined: remove one of the two",
				    options->host);
	if (local && !pair)
		return app_complain(APP_EXIT_USAGE, "-d %s: a single port requires a peer: add --server or HOST",
				    options->device);
	if (!local && options->device && pair)
		return app_complain(APP_EXIT_USAGE, "-d %s runs both ends in this process: remove --server and HOST",
				    options->device);
	if (options->by_address && (local || options->connections))
		return app_complain(APP_EXIT_USAGE,
				    "-R: requires --server or HOST, and cannot be combined with --connections");
	if (options->by_address && options->host && uroce_addr_parse(options->host, &addr, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "HOST %s: -R requires a RoCE address, such as 10.0.0.1",
				    options->host);
	if (!local && options->addresses[0] == NULL)
		return app_complain(APP_EXIT_USAGE, "--ip ADDR/LEN is missing: give the local address of the port");
	if (!local && options->addresses[1])
		return app_complain(APP_EXIT_USAGE, "--ip %s: give a single address with --server or HOST",
				    options->addresses[1]);
	if (local && options->addresses[0] && options->addresses[1] == NULL)
		return app_complain(APP_EXIT_USAGE, "--ip %s: loop requires two addresses, one for each end",
				    options->addresses[0]);
	if (!local && options->failover_s > 0)
		return app_complain(APP_EXIT_USAGE,
				    "--failover %g: both ends must be in this process: remove --server and HOST",
				    options->failover_s);
	if (options->server && (options->json_path || options->page_path))
		return app_complain(APP_EXIT_USAGE,
				    "%s: only the client reports results: remove this option from the server",
				    options->json_path ? "--json" : "--report");
	if (options->page_path && options->connections)
		return app_complain(
			APP_EXIT_USAGE,
			"--report and --connections cannot be combined: connections have no result page. Remove one");
	if (options->page_path && (strcmp(options->page_path, "-") == 0 ||
				   (options->json_path && strcmp(options->page_path, options->json_path) == 0)))
		return app_complain(APP_EXIT_USAGE,
				    "--report %s: use a file other than standard output and the file of --json",
				    options->page_path);
	if (!local && options->core_count > 1)
		return app_complain(
			APP_EXIT_USAGE,
			"--nb-cores %u: with --server or HOST, each process uses one core: remove --nb-cores",
			options->core_count);
	return APP_EXIT_OK;
}

/* -a is a list of sizes by itself. */
static int check_size_options(const struct perf_options *options)
{
	return options->all_sizes && options->named_sizes ?
		       app_complain(APP_EXIT_USAGE,
				    "-a and -s %u cannot be combined: -a measures all sizes. Remove one of the two",
				    options->sizes[0]) :
		       APP_EXIT_OK;
}

/* A rate alone implies bandwidth. */
static int check_rate(struct perf_options *options)
{
	if (options->rate_limit == 0)
		return options->test.burst ? app_complain(APP_EXIT_USAGE, "--burst_size %u: requires --rate_limit",
							  options->test.burst) :
					     APP_EXIT_OK;
	if (options->modes[PERF_LAT] || options->connections)
		return app_complain(APP_EXIT_USAGE, "--rate_limit %g: supported for bandwidth only: remove %s",
				    options->rate_limit, options->connections ? "--connections" : "--mode lat");
	options->modes[PERF_BW] = true;
	return APP_EXIT_OK;
}

/* Refuses what does not go with perftest's options, before defaults are filled in. */
static int check_perftest(struct perf_options *options)
{
	bool least = options->least_gbit > 0 || options->least_mpps > 0;
	bool bw = options->modes[PERF_BW] || !options->modes[PERF_LAT];

	if (options->test.use_srq && options->test.flow_control)
		return app_complain(
			APP_EXIT_USAGE,
			"--use-srq: a shared receive queue has no end-to-end credits: remove --flow-control");
	if (options->test.paths && options->test.sack_window == 0)
		return app_complain(APP_EXIT_USAGE, "--paths %u: multipath requires SACKs: remove --sack-window off",
				    options->test.paths);
	if (least && (!bw || options->server || options->connections))
		return app_complain(
			APP_EXIT_USAGE,
			"%s: supported only for bandwidth tests whose results are printed by this process: remove %s",
			options->least_gbit > 0 ? "-w" : "-y",
			options->server      ? "--server" :
			options->connections ? "--connections" :
					       "--mode lat");
	if (options->histogram && options->modes[PERF_BW] && !options->modes[PERF_LAT])
		return app_complain(APP_EXIT_USAGE, "-H: supported for latency only: use --mode lat");
	return check_rate(options);
}

/* The first operation that is named, if all of them lack the property; NULL: one has it, or none is named. */
static const struct perf_op_info *all_lack(const struct perf_options *options,
					   bool (*has)(const struct perf_op_info *op))
{
	const struct perf_op_info *first = NULL;

	for (unsigned i = PERF_OPS; i-- > 0;) {
		if (options->ops[i] && has(&perf_ops[i]))
			return NULL;
		if (options->ops[i])
			first = &perf_ops[i];
	}
	return first;
}

static bool has_size(const struct perf_op_info *op)
{
	return op->bytes == 0;
}

static int check_sizes(const struct perf_options *options)
{
	const struct perf_op_info *op = all_lack(options, has_size);

	for (uint32_t i = 0; i < options->size_count && op; i++) {
		if (options->sizes[i] != op->bytes)
			return app_complain(APP_EXIT_USAGE,
					    "-s %u: --op %s always transfers %u bytes: remove -s and -a",
					    options->sizes[i], perf_op_names[op - perf_ops], op->bytes);
	}
	return APP_EXIT_OK;
}

/* Does each queue pair that takes SENDs with invalidate have at least one window? */
static bool has_windows(const struct perf_options *options)
{
	return options->test.qps <= PERF_WINDOWS_MAX;
}

/*
 * Checks that operations and other options go together. If no operation is named it sets all those that fit the
 * options.
 */
static int check_ops(struct perf_options *options)
{
	const struct perf_op_info *op = all_lack(options, op_shares_receives);
	bool any = false;
	int code = check_sizes(options);

	if (code)
		return code;
	if (options->test.use_srq && op)
		return app_complain(APP_EXIT_USAGE,
				    op->receives ?
					    "--use-srq: --op %s requires a memory window per queue pair, so receives "
					    "cannot be shared: use --op send, send_imm or write_imm" :
					    "--use-srq: --op %s uses no receives: use --op send, send_imm or write_imm",
				    perf_op_names[op - perf_ops]);
	if (options->ops[PERF_SEND_INV] && !has_windows(options))
		return app_complain(APP_EXIT_USAGE,
				    "-q %u: --op send_inv requires a memory window per queue pair: use up to %u",
				    options->test.qps, PERF_WINDOWS_MAX);
	for (unsigned i = 0; i < PERF_OPS; i++)
		any |= options->ops[i];
	for (unsigned i = 0; i < PERF_OPS && !any; i++)
		options->ops[i] = !perf_ops[i].invalidates || has_windows(options);
	return APP_EXIT_OK;
}

static int check(struct perf_options *options)
{
	bool any_mode = false;
	int code = check_size_options(options);

	if (code == APP_EXIT_OK)
		code = check_perftest(options);
	if (code == APP_EXIT_OK)
		code = check_ops(options);
	if (code)
		return code;
	for (unsigned i = 0; i < PERF_MODES; i++)
		any_mode |= options->modes[i];
	for (unsigned i = 0; i < PERF_MODES && !any_mode; i++)
		options->modes[i] = true;
	if (options->test.iterations && options->test.seconds > 0)
		return app_complain(APP_EXIT_USAGE, "-D and -n cannot be combined: remove one");
	if (options->test.seconds == 0)
		options->test.seconds = USUAL_SECONDS;
	if (options->failover_s >= options->test.seconds && options->test.iterations == 0)
		return app_complain(APP_EXIT_USAGE, "--failover %g: must be less than -D, %g s", options->failover_s,
				    options->test.seconds);
	if (options->test.cq_mod > options->test.depth)
		return app_complain(APP_EXIT_USAGE, "-Q %u: must not exceed the tx depth (-t), %u",
				    options->test.cq_mod, options->test.depth);
	if ((uint64_t)options->test.qps * options->test.depth > 1u << 20)
		return app_complain(APP_EXIT_USAGE,
				    "-q %u -t %u: the total of outstanding requests must not exceed 1048576: use a "
				    "depth of up to %u",
				    options->test.qps, options->test.depth, (1u << 20) / options->test.qps);
	return check_ends(options);
}

int perf_options_parse(int argc, char **argv, struct perf_options *options)
{
	int code;

	*options = perf_defaults;
	code = app_option_parse(&perf_option_set, argc, argv, options);
	if (code)
		return code;
	if (optind < argc)
		options->host = argv[optind++];
	if (optind < argc)
		return 1 + app_complain(APP_EXIT_USAGE, "'%s': only one HOST", argv[optind]);
	code = check(options);
	return code ? 1 + code : 0;
}
