/* options.c - the command line of uroce-perf: perftest's letters where the notion is the same */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce/types.h>

#include "common/eal.h"
#include "common/number.h"
#include "perf/help.h"
#include "perf/options.h"
#include "perf/pair.h"
#include "perf/perftest.h"

#define QPS_MAX 131072
#define WINDOWS_SECONDS 1.55 /* 31 windows of 50 ms */

const char *const perf_mode_names[PERF_MODES] = { [PERF_BW] = "bw", [PERF_LAT] = "lat" };
const char *const perf_junk_names[PERF_JUNKS] = {
	[PERF_JUNK_QPN] = "qpn",           [PERF_JUNK_ICRC] = "icrc",       [PERF_JUNK_REQ_UNSERVED] = "req-unserved",
	[PERF_JUNK_REQ_OPEN] = "req-open", [PERF_JUNK_REQ_BAD] = "req-bad",
};

/* Options without a letter. */
enum {
	OPT_OP = 256,
	OPT_MODE,
	OPT_VERIFY,
	OPT_CORES,
	OPT_LCORES,
	OPT_SERVER,
	OPT_IP,
	OPT_VLAN,
	OPT_GATEWAY,
	OPT_LOSS,
	OPT_DUP,
	OPT_REORDER,
	OPT_CORRUPT,
	OPT_SEED,
	OPT_RETRIES,
	OPT_RNR_TIMER,
	OPT_FLOW_CONTROL,
	OPT_ACK_EACH,
	OPT_RX_RATE,
	OPT_FAILOVER,
	OPT_CONNECTIONS,
	OPT_LIMIT,
	OPT_LOSE,
	OPT_JUNK,
	OPT_IDLE,
	OPT_ICRC,
	OPT_JSON,
	OPT_RECORD,
	OPT_REPORT,
	OPT_DRY_RUN
};

static const struct option long_options[] = {
	{ "op", required_argument, NULL, OPT_OP },
	{ "mode", required_argument, NULL, OPT_MODE },
	{ "size", required_argument, NULL, 's' },
	{ "all", no_argument, NULL, 'a' },
	{ "mtu", required_argument, NULL, 'm' },
	{ "qps", required_argument, NULL, 'q' },
	{ "tx-depth", required_argument, NULL, 't' },
	{ "rx-depth", required_argument, NULL, 'r' },
	{ "outs", required_argument, NULL, 'o' },
	{ "cq-mod", required_argument, NULL, 'Q' },
	{ "inline", required_argument, NULL, 'I' },
	{ "qp-timeout", required_argument, NULL, 'u' },
	{ "retry-cnt", required_argument, NULL, OPT_RETRIES },
	{ "rnr-timer", required_argument, NULL, OPT_RNR_TIMER },
	{ "flow-control", no_argument, NULL, OPT_FLOW_CONTROL },
	{ "ack-each", no_argument, NULL, OPT_ACK_EACH },
	{ "rx-rate", required_argument, NULL, OPT_RX_RATE },
	{ "failover", required_argument, NULL, OPT_FAILOVER },
	{ "connections", required_argument, NULL, OPT_CONNECTIONS },
	{ "duration", required_argument, NULL, 'D' },
	{ "iters", required_argument, NULL, 'n' },
	{ "bidirectional", no_argument, NULL, 'b' },
	{ "verify", no_argument, NULL, OPT_VERIFY },
	{ "nb-cores", required_argument, NULL, OPT_CORES },
	{ "vlan", required_argument, NULL, OPT_VLAN },
	{ "gateway", required_argument, NULL, OPT_GATEWAY },
	{ "lcores", required_argument, NULL, OPT_LCORES },
	{ "server", no_argument, NULL, OPT_SERVER },
	{ "port", required_argument, NULL, 'p' },
	{ "rdma_cm", no_argument, NULL, 'R' },
	{ "device", required_argument, NULL, 'd' },
	{ "ip", required_argument, NULL, OPT_IP },
	{ "loss", required_argument, NULL, OPT_LOSS },
	{ "dup", required_argument, NULL, OPT_DUP },
	{ "reorder", required_argument, NULL, OPT_REORDER },
	{ "corrupt", required_argument, NULL, OPT_CORRUPT },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "icrc", required_argument, NULL, OPT_ICRC },
	{ "idle", required_argument, NULL, OPT_IDLE },
	{ "limit", no_argument, NULL, OPT_LIMIT },
	{ "lose", required_argument, NULL, OPT_LOSE },
	{ "junk", required_argument, NULL, OPT_JUNK },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "record", required_argument, NULL, OPT_RECORD },
	{ "report", required_argument, NULL, OPT_REPORT },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	PERFTEST_LONG_OPTIONS,
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static int take_mtu(const char *text, uint32_t *mtu_bytes)
{
	uint64_t value;

	if (!app_number_parse(text, 256, 4096, &value) || (value & (value - 1)) != 0)
		return app_complain(APP_EXIT_USAGE, "-m %s: use 256, 512, 1024, 2048 or 4096", text);
	*mtu_bytes = (uint32_t)value;
	return APP_EXIT_OK;
}

static int take_sizes(const char *text, struct perf_options *options)
{
	char *copy = strdup(text), *rest = copy, *word;
	int code = copy ? APP_EXIT_OK : APP_EXIT_INTERNAL;

	options->size_count = 0;
	while (code == APP_EXIT_OK && (word = strsep(&rest, ",")) != NULL) {
		if (options->size_count == PERF_SIZES_MAX)
			code = app_complain(APP_EXIT_USAGE, "-s: at most %d sizes", PERF_SIZES_MAX);
		else
			code = app_size_take32("-s", word, 1, PERF_SIZE_MAX, &options->sizes[options->size_count++]);
	}
	free(copy);
	return code;
}

static void take_all_sizes(struct perf_options *options)
{
	options->size_count = 0;
	for (uint32_t size = 1; size <= 1u << 20; size *= 2)
		options->sizes[options->size_count++] = size;
}

static int take_mode(const char *text, struct perf_options *options)
{
	for (unsigned i = 0; i < PERF_MODES; i++) {
		if (strcmp(text, perf_mode_names[i]) == 0) {
			options->modes[i] = true;
			return APP_EXIT_OK;
		}
	}
	return app_complain(APP_EXIT_USAGE, "--mode %s: use bw or lat", text);
}

static int take_junk(const char *text, struct perf_options *options)
{
	for (unsigned i = PERF_JUNK_NONE + 1; i < PERF_JUNKS; i++) {
		if (strcmp(text, perf_junk_names[i]) == 0) {
			options->junk = (enum perf_junk)i;
			return APP_EXIT_OK;
		}
	}
	return app_complain(APP_EXIT_USAGE, "--junk %s: use qpn, icrc, req-unserved, req-open or req-bad", text);
}

static int take_address(const char *text, struct perf_options *options)
{
	struct uroce_addr addr;

	if (uroce_addr_parse(text, &addr, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "--ip %s: use an address such as 10.0.0.1/24 or fd00::1/64", text);
	if (options->addresses[0] && options->addresses[1])
		return app_complain(APP_EXIT_USAGE, "--ip %s: two addresses are enough, one for each end", text);
	options->addresses[options->addresses[0] ? 1 : 0] = text;
	return APP_EXIT_OK;
}

static int take_icrc(const char *text)
{
	int error = uroce_icrc_choose(text);

	if (error == -ENOTSUP)
		return app_complain(APP_EXIT_ENVIRONMENT, "--icrc %s: this CPU has not the instructions: use %s", text,
				    uroce_icrc());
	if (error)
		return app_complain(APP_EXIT_USAGE, "--icrc %s: use vpclmul, vpclmul256, pclmul or isal", text);
	return APP_EXIT_OK;
}

/* Options that choose what is measured. */
static int take_what(int letter, const char *text, struct perf_options *options)
{
	switch (letter) {
	case OPT_OP:
		return perf_op_take(text, options);
	case OPT_MODE:
		return take_mode(text, options);
	case 's':
		return take_sizes(text, options);
	case 'a':
		take_all_sizes(options);
		return APP_EXIT_OK;
	case 'm':
		return take_mtu(text, &options->mtu_bytes);
	case 'q':
		return app_number_take32("-q", text, 1, QPS_MAX, &options->qps);
	case OPT_IDLE:
		return app_number_take32("--idle", text, 0, QPS_MAX, &options->idle);
	case 't':
		return app_number_take32("-t", text, 1, 32768, &options->depth);
	case 'r':
		return app_number_take32("-r", text, 1, 32768, &options->rx_depth);
	case 'o':
		return app_number_take32("-o", text, 1, 128, &options->outs);
	case 'Q':
		return app_number_take32("-Q", text, 1, 32768, &options->cq_mod);
	case 'I':
		return app_size_take32("-I", text, 0, 512, &options->inline_bytes);
	case 'u':
		return app_number_take32("-u", text, 0, 31, &options->timeout);
	case OPT_RETRIES:
		return app_number_take32("--retry-cnt", text, 0, 7, &options->retries);
	case OPT_RNR_TIMER:
		return app_number_take32("--rnr-timer", text, 0, 31, &options->rnr_timer);
	case OPT_FLOW_CONTROL:
		options->flow_control = true;
		return APP_EXIT_OK;
	case OPT_ACK_EACH:
		options->ack_each = true;
		return APP_EXIT_OK;
	case OPT_RX_RATE:
		return app_number_take32("--rx-rate", text, 1, 1000000000, &options->rx_rate);
	case 'D':
		return app_number_take_real("-D", text, 0.01, 86400, &options->seconds);
	case 'n':
		return app_number_take("-n", text, 1, 1000000000000, &options->iterations);
	case 'b':
		options->both_ways = true;
		return APP_EXIT_OK;
	case OPT_ICRC:
		return take_icrc(text);
	case OPT_LIMIT:
		options->limit = true;
		return APP_EXIT_OK;
	case OPT_LOSE:
		return app_number_take32("--lose", text, 1, PERF_SIZE_MAX, &options->lose);
	case OPT_JUNK:
		return take_junk(text, options);
	case OPT_VERIFY:
		options->verify = true;
		return APP_EXIT_OK;
	}
	return perf_perftest_take(letter, text, options);
}

/* Options that choose where, and on what link. */
static int take_option(int letter, const char *text, struct perf_options *options)
{
	switch (letter) {
	case OPT_CORES:
		return app_number_take32("--nb-cores", text, 1, 2, &options->core_count);
	case OPT_LCORES:
		return app_number_take32("--lcores", text, 2, PERF_LCORES_MAX, &options->lcores);
	case OPT_SERVER:
		options->server = true;
		return APP_EXIT_OK;
	case OPT_IP:
		return take_address(text, options);
	case OPT_GATEWAY:
		options->gateway = text;
		return APP_EXIT_OK;
	case OPT_VLAN:
		return app_vlan_parse("--vlan", text, &options->vlan);
	case 'p':
		return app_number_take32("-p", text, 1, 65535, &options->tcp_port);
	case 'R':
		options->by_address = true;
		return APP_EXIT_OK;
	case 'd':
		options->device = text;
		return APP_EXIT_OK;
	case OPT_FAILOVER:
		return app_number_take_real("--failover", text, 0.001, 86400, &options->failover_s);
	case OPT_CONNECTIONS:
		return app_number_take32("--connections", text, 1, 65536, &options->connections);
	case OPT_LOSS:
		return app_number_take_real("--loss", text, 0, 1, &options->loss);
	case OPT_DUP:
		return app_number_take_real("--dup", text, 0, 1, &options->duplicate);
	case OPT_REORDER:
		return app_number_take_real("--reorder", text, 0, 1, &options->reorder);
	case OPT_CORRUPT:
		return app_number_take_real("--corrupt", text, 0, 1, &options->corrupt);
	case OPT_SEED:
		return app_number_take("--seed", text, 0, UINT64_MAX, &options->seed);
	case OPT_RECORD:
		options->record_path = text;
		return APP_EXIT_OK;
	case OPT_JSON:
		options->json_path = text;
		return APP_EXIT_OK;
	case OPT_REPORT:
		options->page_path = text;
		return APP_EXIT_OK;
	case OPT_DRY_RUN:
		options->dry_run = true;
		return APP_EXIT_OK;
	}
	return take_what(letter, text, options);
}

static int check_ends(const struct perf_options *options)
{
	bool local = options_are_local(options);
	bool pair = options->device == NULL || perf_pair_knows(options->device);
	struct uroce_addr addr;

	if (options->server && options->rx_rate)
		return app_complain(APP_EXIT_USAGE,
				    "--rx-rate %u: the client says how the server receives: give it there",
				    options->rx_rate);
	if (options->server && options->host)
		return app_complain(APP_EXIT_USAGE, "--server and HOST %s: this process is one or the other",
				    options->host);
	if (local && !pair)
		return app_complain(APP_EXIT_USAGE, "-d %s: one port needs a peer: add --server or HOST",
				    options->device);
	if (!local && options->device && pair)
		return app_complain(APP_EXIT_USAGE,
				    "-d %s: both of its ends are in one process: leave out --server and HOST",
				    options->device);
	if (options->by_address && (local || options->connections))
		return app_complain(APP_EXIT_USAGE, "-R: is about --server or HOST, and --connections does without it");
	if (options->by_address && options->host && uroce_addr_parse(options->host, &addr, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "HOST %s: with -R it is a RoCE address, such as 10.0.0.1",
				    options->host);
	if (!local && options->addresses[0] == NULL)
		return app_complain(APP_EXIT_USAGE, "--ip ADDR/LEN is missing: our own address on the port");
	if (!local && options->addresses[1])
		return app_complain(APP_EXIT_USAGE, "--ip %s: one address is enough with --server or HOST",
				    options->addresses[1]);
	if (local && options->addresses[0] && options->addresses[1] == NULL)
		return app_complain(APP_EXIT_USAGE, "--ip %s: on loop give two, one for each end",
				    options->addresses[0]);
	if (!local && options->failover_s > 0)
		return app_complain(APP_EXIT_USAGE,
				    "--failover %g: the links are cut in this process: leave out --server and HOST",
				    options->failover_s);
	if (options->server && (options->json_path || options->page_path))
		return app_complain(APP_EXIT_USAGE, "%s: the results are the client's",
				    options->json_path ? "--json" : "--report");
	if (options->page_path && options->connections)
		return app_complain(APP_EXIT_USAGE, "--report: --connections has one number, and no page of them");
	if (options->page_path && (strcmp(options->page_path, "-") == 0 ||
				   (options->json_path && strcmp(options->page_path, options->json_path) == 0)))
		return app_complain(APP_EXIT_USAGE, "--report %s: give it a file of its own", options->page_path);
	if (!local && options->core_count > 1)
		return app_complain(APP_EXIT_USAGE, "--nb-cores %u: with --server or HOST each process has one core",
				    options->core_count);
	return APP_EXIT_OK;
}

/* Windows of the stack and of something beside it alternate on one lcore and one clean link. */
static int check_windows(struct perf_options *options)
{
	const char *name = options->limit ? "--limit" : options->junk ? "--junk" : "--lcores";

	if (!options_are_local(options) || options->core_count != 1)
		return app_complain(APP_EXIT_USAGE,
				    "%s: both ends on one core of this process: leave out --server, HOST and "
				    "--nb-cores",
				    name);
	if (options->iterations || options->verify || options->both_ways || options->rx_rate ||
	    options->failover_s > 0 || options_have_faults(options))
		return app_complain(APP_EXIT_USAGE,
				    "%s: leave out -n, --verify, -b, --rx-rate, --failover and faults of the link",
				    name);
	if (options->junk && (options->limit || options->modes[PERF_LAT]))
		return app_complain(APP_EXIT_USAGE, "--junk %s: bandwidth only: leave out --limit and --mode lat",
				    perf_junk_names[options->junk]);
	if (options->lcores && (options->limit || options->junk || options->device || options->modes[PERF_LAT]))
		return app_complain(APP_EXIT_USAGE,
				    "--lcores %u: bandwidth on loop only: leave out --limit, --junk, -d and --mode lat",
				    options->lcores);
	if (options->lose && options->modes[PERF_BW])
		return app_complain(APP_EXIT_USAGE, "--lose %u: one message after the other: use --mode lat",
				    options->lose);
	options->modes[PERF_LAT] |= options->lose > 0;
	options->modes[PERF_BW] |= !options->modes[PERF_LAT];
	return APP_EXIT_OK;
}

static int check(struct perf_options *options)
{
	bool any_mode = false;
	int code = options_take_turns(options) ? check_windows(options) : APP_EXIT_OK;

	if (code == APP_EXIT_OK)
		code = perf_perftest_check(options);
	if (code)
		return code;
	if (options->lose && !options->limit)
		return app_complain(APP_EXIT_USAGE, "--lose %u: what it costs is told in bare round trips: use --limit",
				    options->lose);
	code = perf_op_check(options);
	if (code)
		return code;
	for (unsigned i = 0; i < PERF_MODES; i++)
		any_mode |= options->modes[i];
	for (unsigned i = 0; i < PERF_MODES && !any_mode; i++)
		options->modes[i] = true;
	if (options->iterations && options->seconds > 0)
		return app_complain(APP_EXIT_USAGE,
				    "-D and -n: a case ends after a time or after a number of messages");
	if (options->seconds == 0)
		options->seconds = options_take_turns(options) ? WINDOWS_SECONDS : 0.6;
	if (options->failover_s >= options->seconds && options->iterations == 0)
		return app_complain(APP_EXIT_USAGE, "--failover %g: use less than -D, which is %g s",
				    options->failover_s, options->seconds);
	if (options->cq_mod > options->depth)
		return app_complain(APP_EXIT_USAGE, "-Q %u: at most the tx depth, which is %u", options->cq_mod,
				    options->depth);
	if ((uint64_t)options->qps * options->depth > 1u << 20)
		return app_complain(APP_EXIT_USAGE,
				    "-q %u -t %u: at most 1048576 requests outstanding in all: use a depth of "
				    "at most %u",
				    options->qps, options->depth, (1u << 20) / options->qps);
	return check_ends(options);
}

int perf_options_parse(int argc, char **argv, struct perf_options *options, bool *done)
{
	int letter, code = APP_EXIT_OK;

	*options = (struct perf_options){
		.qps = 1,
		.depth = 128,
		.outs = 16,
		.inline_bytes = UINT32_MAX,
		.timeout = 14,
		.retries = 7,
		.rnr_timer = 12,
		.seed = 1,
		.core_count = 1,
		.rate_units = 'g',
		.tcp_port = 18515,
	};
	*done = false;
	opterr = 0; /* what it would say is said by perftest.c */
	while (code == APP_EXIT_OK &&
	       (letter = getopt_long(argc, argv, ":s:am:q:t:r:o:Q:I:u:D:n:bp:Rd:hV" PERFTEST_LETTERS, long_options,
				     NULL)) != -1) {
		if (letter == 'h' || letter == 'V') {
			if (letter == 'h')
				fputs(perf_help_text, stdout);
			else
				printf("uroce-perf %s\n", uroce_version());
			*done = true;
			return APP_EXIT_OK;
		}
		code = letter == '?' || letter == ':' ? perf_perftest_refuse(argv, letter) :
							take_option(letter, optarg, options);
	}
	opterr = 1; /* EAL asks getopt, too */
	if (code == APP_EXIT_OK && optind < argc)
		options->host = argv[optind++];
	if (code == APP_EXIT_OK && optind < argc)
		code = app_complain(APP_EXIT_USAGE, "'%s': only one HOST", argv[optind]);
	return code == APP_EXIT_OK ? check(options) : code;
}
