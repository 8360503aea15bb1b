/* options.c - the options of uroce-perf, a row each (perftest's letters where the notion is the same), and checks */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/eal.h"
#include "common/names.h"
#include "common/number.h"
#include "common/option.h"
#include "perf/pair.h"

#define A_DAY_S 86400
#define USUAL_SECONDS 0.6

/* ---- rows ---- */

static const struct perf_options defaults = {
	.test = {
		.qps = 1,
		.depth = 128,
		.outs = 16,
		.inline_bytes = UINT32_MAX,
		.timeout = 17,
		.sack_window = 1,
		.retries = 7,
		.rnr_timer = 12,
	},
	.faults.seed = 1,
	.core_count = 1,
	.rate_units = 'g',
	.tcp_port = 18515,
};

static int parse_sizes(const char *name, const char *text, void *place)
{
	char *copy = strdup(text), *rest = copy, *word;
	int code = copy ? APP_EXIT_OK : APP_EXIT_INTERNAL;
	struct perf_options *options = place;

	options->named_sizes = true;
	options->size_count = 0;
	while (code == APP_EXIT_OK && (word = strsep(&rest, ",")) != NULL) {
		if (options->size_count == PERF_SIZES_MAX)
			code = app_complain(APP_EXIT_USAGE, "%s: give up to %d sizes", name, PERF_SIZES_MAX);
		else
			code = app_size_expect32(name, word, 1, PERF_SIZE_MAX, &options->sizes[options->size_count++]);
	}
	free(copy);
	return code;
}

static int parse_all_sizes(const char *name, const char *text, void *place)
{
	struct perf_options *options = place;

	(void)name;
	(void)text;
	options->all_sizes = true;
	if (options->named_sizes)
		return APP_EXIT_OK;
	options->size_count = 0;
	for (uint32_t size = 1; size <= 1u << 20; size *= 2)
		options->sizes[options->size_count++] = size;
	return APP_EXIT_OK;
}

static int parse_address(const char *name, const char *text, void *place)
{
	const char **addresses = place;
	struct uroce_addr addr;

	if (uroce_addr_parse(text, &addr, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: use an address such as 10.0.0.1/24 or fd00::1/64", name,
				    text);
	if (addresses[0] && addresses[1])
		return app_complain(APP_EXIT_USAGE, "%s %s: give up to two addresses, one for each end", name, text);
	addresses[addresses[0] ? 1 : 0] = text;
	return APP_EXIT_OK;
}

static int parse_icrc(const char *name, const char *text, void *place)
{
	int error = uroce_icrc_choose(text);

	(void)place;
	if (error == -ENOTSUP)
		return app_complain(APP_EXIT_ENVIRONMENT, "%s %s: this CPU lacks the required instructions: use %s",
				    name, text, uroce_icrc());
	if (error)
		return app_complain(APP_EXIT_USAGE, "%s %s: use vpclmul, vpclmul256, pclmul or isal", name, text);
	return APP_EXIT_OK;
}

static int parse_atomic(const char *name, const char *text, void *ops)
{
	if (strcmp(text, "CMP_AND_SWAP") != 0 && strcmp(text, "FETCH_AND_ADD") != 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: use CMP_AND_SWAP or FETCH_AND_ADD", name, text);
	((bool *)ops)[text[0] == 'C' ? PERF_CSWAP : PERF_FADD] = true;
	return APP_EXIT_OK;
}

static int parse_units(const char *name, const char *text, void *units)
{
	if (text[0] == '\0' || text[1] != '\0' || strchr("gMp", text[0]) == NULL)
		return app_complain(APP_EXIT_USAGE, "%s %s: use g (Gbit/s), M (MiB/s) or p (messages/s)", name, text);
	*(char *)units = text[0];
	return APP_EXIT_OK;
}

static int parse_service(const char *name, const char *text, void *place)
{
	(void)place;
	return strcmp(text, "RC") == 0 ? APP_EXIT_OK :
					 app_complain(APP_EXIT_USAGE, "%s %s: only RC is supported", name, text);
}

/* Accepts options that ask for what is always done, and changes nothing. */
static int parse_nothing(const char *name, const char *text, void *place)
{
	(void)name;
	(void)text;
	(void)place;
	return APP_EXIT_OK;
}

static int parse_endless(const char *name, const char *text, void *seconds)
{
	(void)name;
	(void)text;
	*(double *)seconds = A_DAY_S;
	return APP_EXIT_OK;
}

#define AT(member) OPTION_AT(struct perf_options, member)
#define CASE(member) AT(test.member)
#define WHOLE 0, sizeof(struct perf_options)
#define TITLE(text)           \
	{                     \
		.title = text \
	}

/* clang-format off */
static const struct option_row rows[] = {
	TITLE("Measurement"),
	{ WORD_OF(OP), AT(ops), .low = 0, .high = PERF_OPS - 1, .names = perf_op_names, .usual = "all",
	  .more = "send_inv: each SEND invalidates a memory window, which is bound again; awrite: ATOMIC WRITE; flush: "
		  "a WRITE, then a FLUSH of the written range" },
	{ WORD_OF(MODE), AT(modes), .low = 0, .high = PERF_MODES - 1, .names = perf_mode_names, .usual = "both" },
	{ WORD_OF(SIZE), WHOLE, .parse = parse_sizes, .more = "or several: N,N,...",
	  .usual = "64k for bw, 64 for lat, always 8 for awrite, fadd and cswap" },
	{ WORD_OF(ALL), WHOLE, .parse = parse_all_sizes },
	{ WORD_OF(MTU), CASE(mtu_bytes), .usual = "4096 on loop, 1024 elsewhere" },
	{ WORD_OF(QPS), CASE(qps), .more = "lat uses one" },
	{ WORD_OF(IDLE_QPS), CASE(idle) },
	{ WORD_OF(TX_DEPTH), CASE(depth) },
	{ WORD_OF(RX_DEPTH), CASE(rx_depth), .usual = "twice the tx depth, up to 512" },
	{ WORD_OF(OUTS), CASE(outs) },
	{ WORD_OF(CQ_MOD), CASE(cq_mod), .usual = "16, or depth / 4" },
	{ WORD_OF(INLINE), CASE(inline_bytes), .usual = "0 for bw, 220 for lat" },
	{ WORD_OF(TIMEOUT), CASE(timeout) },
	{ WORD_OF(RETRY_CNT), CASE(retries) },
	{ WORD_OF(RNR_TIMER), CASE(rnr_timer) },
	{ WORD_OF(FLOW_CONTROL), CASE(flow_control) },
	{ WORD_OF(ACK_EACH), CASE(ack_each) },
	{ WORD_OF(NO_READ_REPAIR), CASE(no_read_repair) },
	{ WORD_OF(CC), CASE(cc), .more = "both ends" },
	{ WORD_OF(SACK_WINDOW), CASE(sack_window), .more = "both ends" },
	{ WORD_OF(PATHS), CASE(paths), .low = 4, .high = 64, .usual = "" },
	{ WORD_OF(RX_RATE), CASE(rx_rate), .usual = "" },
	{ WORD_OF(USE_SRQ), CASE(use_srq), .more = "-r is its size, up to 32768" },
	{ WORD_OF(RATE_LIMIT), AT(rate_limit), .more = "bw", .usual = "none" },
	{ WORD_OF(RATE_UNITS), AT(rate_units), .parse = parse_units, .usual = "g" },
	{ WORD_OF(BURST_SIZE), CASE(burst), .usual = "the messages of 10 ms" },
	{ WORD_OF(DURATION), CASE(seconds), .more = "per case", .usual = "0.6s" },
	{ WORD_OF(ITERS), CASE(iterations), .usual = "" },
	{ WORD_OF(BIDIRECTIONAL), CASE(both_ways), .more = "bw" },
	{ WORD_OF(VERIFY), CASE(verify), .more = "and every counter" },
	{ WORD_OF(LIMIT_BW), AT(least_gbit), .more = "bw", .usual = "" },
	{ WORD_OF(LIMIT_MSGRATE), AT(least_mpps), .more = "bw", .usual = "" },
	{ WORD_OF(HISTOGRAM), AT(histogram), .more = "lat" },
	{ WORD_OF(ICRC), WHOLE, .parse = parse_icrc, .usual = "the fastest" },

	TITLE("Where"),
	{ WORD_OF(NB_CORES), AT(core_count), .low = 1, .high = 2,
	  .more = "1: one lcore for both ends; 2: one lcore per end" },
	{ WORD_OF(SERVER), AT(server), .more = "the client gives this server's address as HOST" },
	{ WORD_OF(PEER), AT(host), .usual = "", .more = "the same as HOST" },
	{ WORD_OF(PORT), AT(tcp_port), .more = "TCP" },
	{ WORD_OF(RDMA_CM), AT(by_address) },
	{ WORD_OF(DEVICE), AT(device),
	  .usual = "the first port given to EAL with --server or HOST, otherwise loop",
	  .more = "to run both ends in this process: loop, or memif[,rsize=N][,bsize=N] (shared memory)" },
	{ WORD_OF(FAILOVER), AT(failover_s), .more = "on loop", .usual = "" },
	{ WORD_OF(CONNECTIONS), AT(connections), .more = "HOST is a RoCE address", .usual = "" },
	{ WORD_OF(IP), AT(addresses), .parse = parse_address, .more = "two addresses if both ends run in this process",
	  .usual = "10.0.0.1/24 and 10.0.0.2/24" },
	APP_VLAN_ROW(struct perf_options),
	APP_NO_DAD_ROW(struct perf_options),
	{ WORD_OF(GATEWAY), AT(gateway), .more = "with --server or HOST" },

	TITLE("Faults injected into the frames that this process receives"),
	{ WORD_OF(LOSS), AT(faults.loss) },
	{ WORD_OF(DUP), AT(faults.duplicate) },
	{ WORD_OF(REORDER), AT(faults.reorder) },
	{ WORD_OF(CORRUPT), AT(faults.corrupt) },
	{ WORD_OF(SEED), AT(faults.seed) },

	TITLE("Output"),
	{ WORD_OF(RECORD), AT(record_path) },
	{ WORD_OF(JSON), AT(json_path) },
	{ WORD_OF(REPORT), AT(page_path) },
	{ WORD_OF(DRY_RUN), AT(dry_run) },

	/* perftest's options without a counterpart */
	{ WORD_OF(ATOMIC_TYPE), AT(ops), .parse = parse_atomic },
	{ WORD_OF(CONNECTION), WHOLE, .parse = parse_service },
	{ WORD_OF(TOS), CASE(traffic_class) },
	{ WORD_OF(CPU_FREQ), WHOLE, .parse = parse_nothing }, /* the CPU's frequency is never looked at */
	{ WORD_OF(NO_PEAK), AT(no_peak) },
	{ WORD_OF(RUN_INFINITELY), CASE(seconds), .parse = parse_endless },
	{ WORD_OF(REPORT_GBITS), WHOLE, .parse = parse_nothing }, /* rates are always in Gbit/s */
};
/* clang-format on */

static const struct option_set option_set = {
	.program = "uroce-perf",
	OPTION_ROWS(rows),
	OPTION_SPELLINGS,
	.usual = &defaults,
	.by_letter = true,
	.head = "uroce-perf [EAL options] -- [options]             both ends in this process, over loop ports\n"
		"uroce-perf [EAL options] -- --server --ip A/LEN [options]\n"
		"uroce-perf [EAL options] -- --ip A/LEN [options] HOST\n"
		"Measures bandwidth and latency of RDMA operations. Without -- all arguments are the program's.\n",
	.tail = "\nperftest options with the same meaning: -A TYPE, -c RC, -F, -N, -T TOS, --run_infinitely, "
		"--report_gbits,\n"
		"--out_json_file FILE. Bandwidth is always in Gbit/s, as with --report_gbits. Other "
		"perftest options are\n"
		"rejected with their replacement. uroce-perf must run at both ends: its "
		"control protocol is not perftest's.\n"
		"\n"
		"Runs longer than a second print one line per second.\n"
		"Exit: 0 all went well, 1 a completion failed, a byte was wrong, or -w or -y was not reached, 2 "
		"usage,\n"
		"3 environment (also: nobody listens at HOST), 4 internal, 130 interrupted (ctrl-C; the results so far "
		"have\n"
		"been printed).\n",
};

/* ---- checks ---- */

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

	*options = defaults;
	code = app_option_parse(&option_set, argc, argv, options);
	if (code)
		return code;
	if (optind < argc)
		options->host = argv[optind++];
	if (optind < argc)
		return 1 + app_complain(APP_EXIT_USAGE, "'%s': only one HOST", argv[optind]);
	code = check(options);
	return code ? 1 + code : 0;
}
