/* self.c - perf-self: uroce-perf, with measurements of the stack itself beside its cases */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "common/eal.h"
#include "common/number.h"
#include "core_latency.h"
#include "junk.h"
#include "lcores.h"
#include "perf/perf.h"
#include "raw_pingpong.h"

#define WINDOWS_SECONDS "1.55" /* 31 windows of 50 ms */

static const char *const junk_names[PERF_JUNKS] = {
	[PERF_JUNK_QPN] = "qpn",           [PERF_JUNK_ICRC] = "icrc",       [PERF_JUNK_REQ_UNSERVED] = "req-unserved",
	[PERF_JUNK_REQ_OPEN] = "req-open", [PERF_JUNK_REQ_BAD] = "req-bad",
};

static const char help[] =
	"perf-self [options of uroce-perf] --limit [--lose N] | --junk KIND | --lcores N\n"
	"Measures the stack beside uroce-perf's cases, in 31 pairs of windows that add up to -D (default 1.55 s),\n"
	"with both ends in this process. The results have more rows and keys than uroce-perf's.\n\n"
	"  --limit        bw: the least work that any such stack must do: mbuf, headers, copy with ICRC, tx, rx,\n"
	"                 copy with ICRC; --mode lat: bare frames, back and forth\n"
	"  --lose N       with --limit and lat: the cost of a loss of the Nth frame with payload of a message (the\n"
	"                 last one, if it has fewer)\n"
	"  --junk KIND    how fast frames are refused, and what the case keeps beside them: qpn (no QP has the\n"
	"                 number), icrc (wrong), req-unserved, req-open, req-bad (requests to connect that nobody\n"
	"                 answers for, that nobody accepts, or that are none)\n"
	"  --lcores N     lcores with both ends of QPs of their own each (2 ... 8), all at once and each alone\n"
	"\nWithout these it is uroce-perf. With --nb-cores 2 it measures the latency between the two cores, too.\n";

static struct self {
	bool limit;
	uint32_t lose; /* which frame of a message; 0: none */
	uint32_t lcores;
	uint32_t junk; /* enum perf_junk */
	/* set by open() */
	uint32_t core_count;
	double icrc_ratio; /* K of baseline.h */
	struct perf_lcores others;
	/* the results of the last case */
	struct perf_baseline_result baseline;
	struct perf_raw_pingpong_result bare;
	struct perf_junk_result refused;
	struct perf_scaling_result scaling;
	double hand_over_ns; /* with two cores; 0: not known */
} self;

static const char *own_option(void)
{
	return self.limit ? "--limit" : self.junk ? "--junk" : "--lcores";
}

static bool is_used(void)
{
	return self.limit || self.junk || self.lcores;
}

/* ---- what perf/beside.h asks for ---- */

static bool takes(const struct perf_case *test)
{
	const struct perf_op_info *op = &perf_ops[test->op];

	return is_used() && op->bytes == 0 && !op->flushes;
}

static bool takes_one(const struct perf_options *options)
{
	struct perf_case test;

	for (uint32_t i = 0; perf_case_at(options, i, &test); i++) {
		if (takes(&test))
			return true;
	}
	return false;
}

/* Windows that alternate need one lcore and a link without faults. */
static int check(struct perf_options *options)
{
	const struct perf_case *test = &options->test;

	if (self.lose && (options->modes[PERF_BW] || !self.limit))
		return app_complain(APP_EXIT_USAGE,
				    "--lose %u: in bare round trips of one message: use --limit and "
				    "--mode lat",
				    self.lose);
	if (!is_used())
		return APP_EXIT_OK;
	if (!options_are_local(options) || options->core_count != 1)
		return app_complain(APP_EXIT_USAGE,
				    "%s: both ends on one core of this process: leave out --server, HOST and "
				    "--nb-cores",
				    own_option());
	if (test->iterations || test->verify || test->both_ways || test->rx_rate || options->failover_s > 0 ||
	    options->rate_limit > 0 || options->connections || options_have_faults(options))
		return app_complain(APP_EXIT_USAGE,
				    "%s: leave out -n, --verify, -b, --rx-rate, --rate_limit, --failover, "
				    "--connections and faults of the link",
				    own_option());
	if ((self.junk || self.lcores) && (self.limit || (self.junk && self.lcores) || options->modes[PERF_LAT]))
		return app_complain(APP_EXIT_USAGE,
				    "%s: bandwidth only, and alone: leave out --mode lat and the others",
				    self.junk ? "--junk" : "--lcores");
	if (self.lcores && options->device)
		return app_complain(APP_EXIT_USAGE, "--lcores %u: on loop only: leave out -d", self.lcores);
	if (!takes_one(options))
		return app_complain(APP_EXIT_USAGE,
				    "%s: nothing is measured beside awrite, flush, fadd and cswap: use another --op",
				    own_option());
	/* With SACKs a queue pair drops junk by its source port, before it computes the ICRC. */
	if (self.junk == PERF_JUNK_ICRC)
		options->test.sack_window = 0;
	options->more_lcores = self.lcores ? self.lcores - 1 : 0;
	return APP_EXIT_OK;
}

static int open_others(const struct perf_options *options, struct uroce_engine *engine)
{
	self.core_count = options->core_count;
	if (self.limit)
		self.icrc_ratio = perf_baseline_icrc();
	return perf_lcores_open(&self.others, self.lcores, options, engine);
}

static void close_others(void)
{
	perf_lcores_close(&self.others);
}

static int run(struct perf_end *ends, struct perf_result *result)
{
	int error;

	perf_window_begin(ends);
	error = self.lcores                   ? perf_lcores_run(&self.others, ends, result, &self.scaling) :
		self.junk                     ? perf_junk_run(ends, (enum perf_junk)self.junk, &self.refused) :
		ends[0].test.mode == PERF_LAT ? perf_raw_pingpong_run(ends, self.lose, &self.bare) :
						perf_baseline_run(ends, &self.baseline);
	if (error == -EIO) {
		perf_end_fail(&ends[0], self.junk ? "not every junk frame was refused for what is wrong with it" :
						    "a frame of the limit step was lost or not right");
		error = 0;
	}
	return error;
}

static void put_real(json_t *object, const char *name, double value)
{
	json_object_set_new(object, name, json_real(value));
}

/* As NAME, NAME_p10 and NAME_p90. */
static void put_spread(json_t *object, const char *name, const struct perf_spread *spread)
{
	char text[64];

	put_real(object, name, spread->median);
	snprintf(text, sizeof(text), "%s_p10", name);
	put_real(object, text, spread->p10);
	snprintf(text, sizeof(text), "%s_p90", name);
	put_real(object, text, spread->p90);
}

static void put(json_t *object, const struct perf_result *result)
{
	bool taken = takes(&result->test);

	if (self.limit)
		put_real(object, "icrc_over_memcpy", self.icrc_ratio);
	if (taken && self.baseline.measured) {
		put_real(object, "limit_gbit_per_s", self.baseline.gbit_per_s);
		put_real(object, "limit_messages_per_s", self.baseline.messages_per_s);
		put_spread(object, "fraction_of_limit", &self.baseline.fraction);
		put_real(object, "limit_over_copy", self.baseline.over_copy);
	}
	if (taken && self.bare.measured) {
		put_real(object, "bare_rtt_us", self.bare.rtt_us);
		put_spread(object, "rtt_over_bare", &self.bare.ratio);
	}
	if (taken && self.bare.lost) {
		json_object_set_new(object, "lost_frame", json_integer(self.lose));
		put_spread(object, "recovery_rtts", &self.bare.recovery);
	}
	if (taken && self.refused.measured) {
		json_object_set_new(object, "junk", json_string(junk_names[self.junk]));
		put_real(object, "junk_refused_per_s", self.refused.refused_per_s);
		put_spread(object, "goodput_beside_junk", &self.refused.share);
	}
	if (taken && self.scaling.measured) {
		put_spread(object, "scaling", &self.scaling.ratio);
		put_spread(object, "hand_over_ns", &self.scaling.hand_over_ns);
	}
	/* The second core has ended its part of the case. */
	self.hand_over_ns = self.core_count == 2 ? perf_core_latency_ns(0) : 0;
	if (self.hand_over_ns > 0)
		put_real(object, "hand_over_ns", self.hand_over_ns);
}

static void print(const struct perf_result *result)
{
	bool taken = takes(&result->test);

	if (taken && self.baseline.measured)
		printf("            limit %.3f Gbit/s, %.3f M messages/s: %.3f of it (p10 %.3f, p90 %.3f); "
		       "%.3f times as fast as the same without ICRC\n"
		       "            ICRC code: copies with the ICRC %.3f times as fast as memcpy (K, 4096 bytes)\n",
		       self.baseline.gbit_per_s, self.baseline.messages_per_s / 1e6, self.baseline.fraction.median,
		       self.baseline.fraction.p10, self.baseline.fraction.p90, self.baseline.over_copy,
		       self.icrc_ratio);
	if (taken && self.bare.measured)
		printf("            bare frames %.3f us there and back: the round trip takes %.2f times as long "
		       "(p10 %.2f, p90 %.2f)\n",
		       self.bare.rtt_us, self.bare.ratio.median, self.bare.ratio.p10, self.bare.ratio.p90);
	if (taken && self.bare.lost)
		printf("            frame %u lost: %.2f bare round trips more (p10 %.2f, p90 %.2f)\n", self.lose,
		       self.bare.recovery.median, self.bare.recovery.p10, self.bare.recovery.p90);
	if (taken && self.refused.measured)
		printf("            junk (%s): %.3f M frames/s are refused; beside as many of them as good ones %.3f "
		       "of the goodput (p10 %.3f, p90 %.3f)\n",
		       junk_names[self.junk], self.refused.refused_per_s / 1e6, self.refused.share.median,
		       self.refused.share.p10, self.refused.share.p90);
	if (taken && self.scaling.measured)
		printf("            %u lcores with QPs of their own: %.3f of what they do alone "
		       "(p10 %.3f, p90 %.3f)\n",
		       result->lcores, self.scaling.ratio.median, self.scaling.ratio.p10, self.scaling.ratio.p90);
	if (taken && self.scaling.measured && self.scaling.hand_over_ns.median > 0)
		printf("            a cache line takes %.0f ns from core to core\n", self.scaling.hand_over_ns.median);
}

/* ---- options ---- */

static int parse_junk(const char *name, const char *value)
{
	for (uint32_t kind = 1; kind < PERF_JUNKS; kind++) {
		if (strcmp(value, junk_names[kind]) == 0) {
			self.junk = kind;
			return APP_EXIT_OK;
		}
	}
	return app_complain(APP_EXIT_USAGE, "%s %s: use qpn, icrc, req-unserved, req-open or req-bad", name, value);
}

static int parse_number(const char *name, const char *value, uint64_t low, uint64_t high, uint32_t *out)
{
	uint64_t number = 0;
	int code = app_number_expect(name, value, low, high, &number);

	*out = (uint32_t)number;
	return code;
}

/* Reads our own option argv[0], whose value may be argv[1]. Returns how many words it has; 0: it is uroce-perf's. */
static int take_own(char **argv, int *code)
{
	const char *name = argv[0], *value = argv[1] ? argv[1] : "";

	if (strcmp(name, "--limit") == 0) {
		self.limit = true;
		return 1;
	}
	if (strcmp(name, "--lose") == 0)
		*code = parse_number(name, value, 1, PERF_SIZE_MAX, &self.lose);
	else if (strcmp(name, "--lcores") == 0)
		*code = parse_number(name, value, 2, PERF_LCORES_MAX, &self.lcores);
	else if (strcmp(name, "--junk") == 0)
		*code = parse_junk(name, value);
	else
		return 0;
	return argv[1] ? 2 : 1;
}

/* Returns the words for uroce-perf: defaults of our own come first, so that a user's options replace them. */
static char **split(int argc, char **argv, int *count, int *code)
{
	char **words = calloc((size_t)argc + 5, sizeof(*words)), **theirs = calloc((size_t)argc + 1, sizeof(*theirs));
	int first = 1, taken, their_count = 0;
	bool has_mode = false;

	*code = words && theirs ? APP_EXIT_OK : APP_EXIT_INTERNAL;
	for (int i = 1; i < argc; i++)
		first = first == 1 && strcmp(argv[i], "--") == 0 ? i + 1 : first; /* behind EAL's options */
	for (int i = first; i < argc && *code == APP_EXIT_OK; i += taken ? taken : 1) {
		taken = take_own(&argv[i], code);
		if (taken == 0)
			theirs[their_count++] = argv[i];
		has_mode |= strncmp(argv[i], "--mode", 6) == 0;
	}
	*count = 0;
	for (int i = 0; i < first && *code == APP_EXIT_OK; i++)
		words[(*count)++] = argv[i];
	if (*code == APP_EXIT_OK && is_used()) {
		words[(*count)++] = (char *)"-D";
		words[(*count)++] = (char *)WINDOWS_SECONDS;
	}
	if (*code == APP_EXIT_OK && is_used() && !has_mode) {
		words[(*count)++] = (char *)"--mode";
		words[(*count)++] = self.lose ? (char *)"lat" : (char *)"bw";
	}
	for (int i = 0; i < their_count && *code == APP_EXIT_OK; i++)
		words[(*count)++] = theirs[i];
	free(theirs);
	return words;
}

int main(int argc, char **argv)
{
	static const struct perf_beside beside = {
		.check = check,
		.open = open_others,
		.takes = takes,
		.run = run,
		.put = put,
		.print = print,
		.close = close_others,
	};
	int count, code;
	char **words;

	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		fputs(help, stdout);
		return APP_EXIT_OK;
	}
	words = split(argc, argv, &count, &code);
	if (code == APP_EXIT_OK)
		code = perf_main(count, words, &beside);
	free(words);
	return code;
}
