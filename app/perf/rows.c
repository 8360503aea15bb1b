/* rows.c - the options of uroce-perf, a row each: perftest's letters where the notion is the same */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/eal.h"
#include "common/names.h"
#include "common/number.h"

#define QPS_MAX 131072
#define A_DAY_S 86400

const struct perf_options perf_defaults = {
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

const struct option_set perf_option_set = {
	.program = "uroce-perf",
	OPTION_ROWS(rows),
	OPTION_SPELLINGS,
	.usual = &perf_defaults,
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
