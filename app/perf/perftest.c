/* perftest.c - a row for each option of perftest that is not ours: the sentence that is told instead */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/perftest.h"

#include <getopt.h>
#include <string.h>

#include "common/eal.h"
#include "common/number.h"

#define A_DAY_S 86400

static const struct {
	char letter; /* 0: it has none */
	const char *name, *why;
} rows[] = {
	{ 'x', "gid-index", "there is one GID an address: that of --ip is used" },
	{ 'i', "ib-port", "a device has one port: -d names it" },
	{ 'e', "events", "completions are polled for; who sleeps on them is shown by examples/echo.c" },
	{ 'S', "sl", "service levels are InfiniBand's; RoCE has the priority of a VLAN tag: --vlan ID:PRIO" },
	{ 'l', "post_list", "requests are posted in lists already: none is shorter than -Q says" },
	{ 'U', "report-unsorted", "single results are not kept: -H prints how many took how long" },
	{ 'C', "report-cycles", "--json FILE has cycles_per_packet; latency is in microseconds" },
	{ 'z', "com_rdma_cm", "connections by address are -R" },
	{ 'B', NULL, "source and destination are --ip and HOST" },
	{ 'g', "mcg", "there is no multicast" },
	{ 0, "rate_limit_type", "the program keeps to the rate by its own clock, as with SW" },
	{ 0, "output", "--json FILE has all of it" },
	{ 0, "ipv6", "the address of --ip says which it is" },
	{ 0, "ipv6-addr", "the address of --ip says which it is" },
	{ 0, "bind_source_ip", "source and destination are --ip and HOST" },
	{ 0, "perform_warm_up", "each case has a warm-up that does not count" },
	{ 0, "cpu_util", "an lcore polls: it is always busy; uroce-top says how much of that was work" },
	{ 0, "use_hugepages", "hugepages are used when enough are free" },
	{ 0, "mmap", "memory is the process's own" },
	{ 0, "use_cuda", "memory is the host's" },
	{ 0, "odp", "nothing is pinned, so there is nothing to page on demand" },
	{ 0, "retry_count", "--retry-cnt N" },
	{ 0, "dont_xchg_versions", "both ends have to be uroce-perf of one version" },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

static int take_atomic(const char *text, struct perf_options *options)
{
	if (strcmp(text, "CMP_AND_SWAP") != 0 && strcmp(text, "FETCH_AND_ADD") != 0)
		return app_complain(APP_EXIT_USAGE, "-A %s: use CMP_AND_SWAP or FETCH_AND_ADD", text);
	options->ops[text[0] == 'C' ? PERF_CSWAP : PERF_FADD] = true;
	return APP_EXIT_OK;
}

static int take_units(const char *text, char *units)
{
	if (text[0] == '\0' || text[1] != '\0' || strchr("gMp", text[0]) == NULL)
		return app_complain(APP_EXIT_USAGE, "--rate_units %s: use g (Gbit/s), M (MiB/s) or p (messages/s)",
				    text);
	*units = text[0];
	return APP_EXIT_OK;
}

/* Those about what an end may post, and what the results have to be. -1: it is none of them. */
static int take_rate(int letter, const char *text, struct perf_options *options)
{
	switch (letter) {
	case PERFTEST_RATE:
		return app_number_take_real("--rate_limit", text, 1e-6, 1e9, &options->rate_limit);
	case PERFTEST_UNITS:
		return take_units(text, &options->rate_units);
	case PERFTEST_BURST:
		return app_number_take32("--burst_size", text, 1, 1u << 20, &options->burst);
	case 'w':
		return app_number_take_real("-w", text, 1e-6, 1e6, &options->least_gbit);
	case 'y':
		return app_number_take_real("-y", text, 1e-6, 1e6, &options->least_mpps);
	}
	return -1;
}

int perf_perftest_take(int letter, const char *text, struct perf_options *options)
{
	switch (letter) {
	case 'A':
		return take_atomic(text, options);
	case 'T':
		return app_number_take32("-T", text, 0, 255, &options->traffic_class);
	case 'c':
		return strcmp(text, "RC") == 0 ? APP_EXIT_OK :
						 app_complain(APP_EXIT_USAGE, "-c %s: connections are RC", text);
	case 'F': /* the CPU's frequency is not looked at anyway */
	case 'N': /* nor is there a peak: medians and percentiles of windows tell more */
	case PERFTEST_GBITS:
		return APP_EXIT_OK; /* it is what is printed anyway */
	case PERFTEST_ENDLESS:
		options->seconds = A_DAY_S;
		return APP_EXIT_OK;
	case PERFTEST_JSON: /* not by itself: it would be taken for the one below */
		return app_complain(APP_EXIT_USAGE, "--out_json: --json FILE, or --json - for the standard output");
	case PERFTEST_JSON_FILE:
		options->json_path = text;
		return APP_EXIT_OK;
	case PERFTEST_SRQ:
		options->use_srq = true;
		return APP_EXIT_OK;
	case 'H':
		options->histogram = true;
		return APP_EXIT_OK;
	}
	return take_rate(letter, text, options);
}

/* Does one of the operations take receives? All of them are meant when none is named. */
static bool receives(const struct perf_options *options)
{
	bool any = false;

	for (unsigned i = 0; i < PERF_OPS; i++) {
		any |= options->ops[i];
		if (options->ops[i] && perf_ops[i].receives)
			return true;
	}
	return !any;
}

/* A rate alone means bandwidth. */
static int check_rate(struct perf_options *options)
{
	bool windows = options_take_turns(options);

	if (options->rate_limit == 0)
		return options->burst ?
			       app_complain(APP_EXIT_USAGE, "--burst_size %u: is about --rate_limit", options->burst) :
			       APP_EXIT_OK;
	if (options->modes[PERF_LAT] || windows || options->connections)
		return app_complain(APP_EXIT_USAGE, "--rate_limit %g: bandwidth only: leave out %s",
				    options->rate_limit,
				    windows              ? "--limit, --junk and --lcores" :
				    options->connections ? "--connections" :
							   "--mode lat");
	options->modes[PERF_BW] = true;
	return APP_EXIT_OK;
}

int perf_perftest_check(struct perf_options *options)
{
	bool least = options->least_gbit > 0 || options->least_mpps > 0;
	bool bw = options->modes[PERF_BW] || !options->modes[PERF_LAT];

	if (options->use_srq && !receives(options))
		return app_complain(APP_EXIT_USAGE,
				    "--use-srq: is about receives: use --op send, send_imm or write_imm");
	if (options->use_srq && options->flow_control)
		return app_complain(APP_EXIT_USAGE, "--use-srq: a shared queue gives no credits: leave out "
						    "--flow-control");
	if (least && (!bw || options->server || options->connections))
		return app_complain(APP_EXIT_USAGE, "%s: is about bandwidth that this process prints: not with %s",
				    options->least_gbit > 0 ? "-w" : "-y",
				    options->server      ? "--server" :
				    options->connections ? "--connections" :
							   "--mode lat");
	if (options->histogram && options->modes[PERF_BW] && !options->modes[PERF_LAT])
		return app_complain(APP_EXIT_USAGE, "-H: is about latency: use --mode lat");
	return check_rate(options);
}

/* The sentence for a letter or a long option without its dashes, which may have "=value" behind it. */
static const char *find_why(char letter, const char *name)
{
	for (size_t i = 0; i < ROWS; i++) {
		size_t bytes = rows[i].name ? strlen(rows[i].name) : 0;

		if ((letter && rows[i].letter == letter) || (name && bytes && strncmp(name, rows[i].name, bytes) == 0 &&
							     (name[bytes] == '\0' || name[bytes] == '=')))
			return rows[i].why;
	}
	return NULL;
}

int perf_perftest_refuse(char *const *argv, int letter)
{
	const char *word = argv[optind - 1];
	bool is_long = strncmp(word, "--", 2) == 0 && (optopt == 0 || letter == ':');
	const char *why;

	if (letter == ':')
		return is_long ? app_complain(APP_EXIT_USAGE, "option '%s' requires an argument", word) :
				 app_complain(APP_EXIT_USAGE, "option requires an argument -- '%c'", optopt);
	if (!is_long && strncmp(word, "--", 2) == 0 && strchr(word, '='))
		return app_complain(APP_EXIT_USAGE, "option '%s' takes no argument", word);
	is_long = optopt == 0;
	why = find_why(is_long ? '\0' : (char)optopt, is_long ? word + 2 : NULL);
	if (why)
		return is_long ? app_complain(APP_EXIT_USAGE, "%s: %s", word, why) :
				 app_complain(APP_EXIT_USAGE, "-%c: %s", optopt, why);
	return is_long ? app_complain(APP_EXIT_USAGE, "unrecognized option '%s'; --help lists them", word) :
			 app_complain(APP_EXIT_USAGE, "invalid option -- '%c'; --help lists them", optopt);
}
