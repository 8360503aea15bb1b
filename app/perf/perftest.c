/* perftest.c - a row for each option of perftest that is not ours: the sentence that is told instead */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/perftest.h"

#include <string.h>

#include "common/eal.h"
#include "common/number.h"
#include "common/option.h"

#define A_DAY_S 86400

static const struct {
	char letter; /* 0: it has none */
	const char *name, *why;
} rows[] = {
	{ 'x', "gid-index", "a port has one GID for each address: --ip says which address is used" },
	{ 'i', "ib-port", "a device has one port: -d names it" },
	{ 'e', "events", "uroce-perf polls for completions; examples/echo.c shows how to sleep until one comes" },
	{ 'X', "vector", "uroce-perf polls for completions, so there are no interrupts to place" },
	{ 'S', "sl", "service levels are InfiniBand's; RoCE has the priority of a VLAN tag: --vlan ID:PRIO" },
	{ 'l', "post_list",
	  "uroce-perf always posts requests in lists; -Q says how many requests a list has at least" },
	{ 0, "recv_post_list", "receives are posted as they complete" },
	{ 'U', "report-unsorted", "single results are not kept; -H prints how many messages took how long" },
	{ 'C', "report-cycles", "latency is in microseconds; --json FILE has cycles_per_packet" },
	{ 'W', "report-counters", "losses and probes are printed with each result; --verify compares every counter" },
	{ 'z', "com_rdma_cm", "-R connects by address, without TCP" },
	{ 'B', NULL, "the addresses of the two ends are --ip and HOST" },
	{ 'g', "mcg", "there is no multicast" },
	{ 'M', "MGID", "there is no multicast" },
	{ 'O', "dualport", "a run uses one port; run a second uroce-perf for the other port" },
	{ 0, "report-both", "-b reports both directions together" },
	{ 0, "report-per-port", "a run uses one port, so there is nothing to tell apart" },
	{ 'L', "hop_limit", "packets leave with a hop limit of 64" },
	{ 'f', "margin", "each case has a warm-up that does not count" },
	{ 0, "perform_warm_up", "each case has a warm-up that does not count" },
	{ 0, "rate_limit_type",
	  "uroce-perf keeps the rate of --rate_limit by its own clock, as perftest's type SW does" },
	{ 0, "typical_pkt_size", "--rate_limit counts payload; --burst_size says how many messages may leave at once" },
	{ 0, "output", "--json FILE has all results" },
	{ 0, "ipv6", "the address of --ip says whether it is IPv4 or IPv6" },
	{ 0, "ipv6-addr", "the address of --ip says whether it is IPv4 or IPv6" },
	{ 0, "bind_source_ip", "the addresses of the two ends are --ip and HOST" },
	{ 0, "source_ip", "the addresses of the two ends are --ip and HOST" },
	{ 0, "force-link", "every port is an Ethernet port" },
	{ 0, "pkey_index", "there is one P_Key, FFFFh" },
	{ 0, "dlid", "RoCE has no LIDs: the peer is found by its address" },
	{ 0, "reversed", "start the end that is to send as the client: the one with HOST" },
	{ 0, "latency_gap", "lat sends the next message as soon as the answer to the one before has come" },
	{ 0, "wait_destroy", "queue pairs are destroyed at once" },
	{ 0, "inline_recv", "received data always goes to the receive's own memory" },
	{ 0, "mr_per_qp", "all queue pairs of an end use one memory region" },
	{ 0, "use_old_post_send", "there is one way to post a request" },
	{ 0, "cpu_util", "an lcore that polls is always busy; uroce-top says how much of that was work" },
	{ 0, "use_hugepages", "hugepages are used when enough of them are free" },
	{ 0, "disable_pcie_relaxed", "data is copied by the CPU, not by a device over PCIe" },
	{ 0, "mmap", "messages lie in the program's own memory" },
	{ 0, "mmap-offset", "messages lie in the program's own memory" },
	{ 0, "use_rocm", "messages lie in the memory of the host" },
	{ 0, "flow_label", "packets of IPv6 leave with flow label 0, and so with one way through the network" },
	{ 0, "no_enhanced_reorder", "packets leave in order, and one that comes out of order is asked for again" },
	{ 0, "use_cuda", "messages lie in the memory of the host" },
	{ 0, "odp", "no memory is pinned, so there is nothing to page on demand" },
	{ 0, "log_dci_streams", "connections are RC" },
	{ 0, "log_active_dci_streams", "connections are RC" },
	{ 0, "aes_block_size", "RoCE does not encrypt" },
	{ 0, "retry_count", "use --retry-cnt N" },
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
	case PERFTEST_GBITS:
		return APP_EXIT_OK; /* it is what is printed anyway */
	case 'N':
		options->no_peak = true;
		return APP_EXIT_OK;
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

	if (letter == ':' || (!is_long && strncmp(word, "--", 2) == 0 && strchr(word, '=')))
		return app_option_refuse(argv, letter);
	is_long = optopt == 0;
	why = find_why(is_long ? '\0' : (char)optopt, is_long ? word + 2 : NULL);
	if (why)
		return is_long ? app_complain(APP_EXIT_USAGE, "%s: %s", word, why) :
				 app_complain(APP_EXIT_USAGE, "-%c: %s", optopt, why);
	return app_option_refuse(argv, letter);
}
