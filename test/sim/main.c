/* main.c - uroce-sim: options, runs, the summary */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "sim/connections.h"
#include "sim/fabric.h"
#include "sim/fabric_table.h"
#include "sim/holes.h"
#include "sim/lossy.h"
#include "sim/paths.h"
#include "sim/peers.h"
#include "sim/stops.h"
#include "sim/shrink.h"
#include "sim/sweep.h"
#include "sim/world.h"
#include "wire/icrc_copy.h"

#ifndef SIM_COMMIT
#define SIM_COMMIT "unknown"
#endif
#define EXIT_USAGE 2
/* a run that takes more of the processor's time hangs in the core */
#define RUN_SECONDS 120u
#define LIMIT_RUN(seconds) setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = (seconds) }, NULL)
#define RUNS 100u
#define SWEEP_MESSAGES 100000u
#define STOPS_MESSAGES 20000u

static const char help_text[] =
	"uroce-sim [options]\n"
	"Runs lib/rc and lib/wire against each other in virtual time, over a network that loses, repeats, delays and\n"
	"spoils, and judges after every event. Everything follows from the seed.\n"
	"\n"
	"  --seed N         seed of the first run, 0 ... 2^64 - 1 (default 1); the others follow it\n"
	"  --runs N         how many seeds, 1 ... 2^32 - 1 (default 100)\n"
	"  --seconds S      begin no further run after so many seconds, 1 ... 10^6\n"
	"  --until-failed   begin no further run after one that failed\n"
	"  --messages N     requests of a run in all, 1 ... 10^7 (default: the seed draws 20 ... 6000)\n"
	"  --qps N          connections of a run, 1 ... 256 (default: the seed draws 1 ... 16)\n"
	"  --loss P --dup P --reorder P --corrupt P --truncate P --forge P --replay P --burst P\n"
	"                   probability of a frame, 0 ... 1 (default: the seed draws them)\n"
	"  --blackhole P --pause P --jump P --destroy P --error P --dereg P --bad-wr P --drain P\n"
	"  --migrate P --reset P\n"
	"                   the same of a request posted\n"
	"  --off A[,B...]   these never happen: names as above\n"
	"  --only X[,X...]  only these faults happen, as a failed run prints them; none: no fault at all\n"
	"  --icrc NAME    what copies payloads with their ICRC: isal, pclmul, vpclmul256 or vpclmul\n"
	"                   (default: the best)\n"
	"  --hours H        runs of H virtual hours, 1 ... 10000: mixed work with rests, 0.1 % loss\n"
	"  --sweep          goodput and failed requests by rate of loss, instead (--messages a row, default 100000)\n"
	"  --lossy          what is left of the goodput by loss, MTU and round trip, the median of --runs seeds\n"
	"  --spread         the same for a QP that spreads its packets over several paths, and when one of them dies\n"
	"  --peers          goodput with peers of all kinds, with probes and without, the median of --runs seeds\n"
	"                   (--messages small requests a row, and a hundredth of those of 1 MiB)\n"
	"  --holes          goodput beside 1000 QPs that keep the receiver waiting for a packet that never comes\n"
	"  --stops[=BYTES]  READs from a peer that stands still now and then, links of 10 Mbit/s to 100 Gbit/s: none\n"
	"                   may fail (--messages of 4 KiB in all, default 20000, a hundredth of 1 MiB, of 64 MiB the\n"
	"                   10000th part; BYTES: of one size only, 1073741824 is possible, in 9 GiB of memory)\n"
	"  --fabric PLAN    flows through switches: incast:N[:BYTES] (N hosts send BYTES to one, default 2000000),\n"
	"                   permutation:N[:BYTES] (each of N hosts sends to another; 4 leaves, N / 4 spines),\n"
	"                   star:FILE (one switch), dumbbell:FILE (two, each with half of the hosts),\n"
	"                   neck:MBPS:FILE (the same, and the link between them carries MBPS),\n"
	"                   leaf-spine:LEAVES:SPINES:FILE; lines of a FILE are FROM->TO start NS size BYTES.\n"
	"                   Prints a line a run, --runs of them (default 1)\n"
	"  --buffer KIB     of a port of those switches, 1 ... 2^20 (default 1024)\n"
	"  --sacks WHO      which of those hosts agree to SACKs: none, even (by their numbers) or all; a flow has\n"
	"                   them if both of its hosts do (default: none)\n"
	"  --paths N        each flow with SACKs is spread over so many ports, 4 ... 64; all have them if there\n"
	"                   is no --sacks\n"
	"  --cc NAME        of those: fixed, dcqcn or delay (default: all)\n"
	"  --connections    set-up, tear-down, crash and restart of connections by their managers, instead (--seed,\n"
	"                   --runs, --seconds, --until-failed, --verbose, --trace, --trace-hash, --tap)\n"
	"  --verbose        a line a run: seed, requests, faults, frames, virtual time, hash of its trace\n"
	"  --trace          every packet, completion and fault as a line\n"
	"  --trace-hash     one hash of all runs, the same whenever and with whatever compiler\n"
	"  --tap            the result as a test: ok 1 - ...\n"
	"  -h, --help\n"
	"Exit status: 0; 1: a run failed; 2: wrong usage.\n";

enum {
	OPT_SEED = 1000,
	OPT_RUNS,
	OPT_SECONDS,
	OPT_MESSAGES,
	OPT_QPS,
	OPT_OFF,
	OPT_ONLY,
	OPT_ICRC,
	OPT_HOURS,
	OPT_PATHS,
	OPT_SACKS,
	OPT_STOPS,
	OPT_CONNECTIONS,
	OPT_FABRIC,
	OPT_CC,
	OPT_BUFFER,
	OPT_VERBOSE,
	OPT_TRACE,
	OPT_HASH,
	OPT_TAP,
	OPT_UNTIL,
	OPT_SWEEP, /* tables, up to OPT_HOLES */
	OPT_LOSSY,
	OPT_SPREAD,
	OPT_PEERS,
	OPT_HOLES,
	OPT_RATE
};

struct settings {
	struct sim_options options;
	uint64_t runs, seconds;
	uint32_t stops_bytes;
	struct sim_plan plan; /* of --fabric */
	enum sim_fabric_cc cc;
	uint32_t buffer_kib; /* 0: the usual one */
	uint32_t plan_paths; /* of each flow of --fabric with SACKs; 0: one */
	enum sim_sacks sacks;
	int table; /* OPT_SWEEP to OPT_HOLES: that one, instead of runs; 0: none */
	bool stops, fabric, connections, verbose, hash, tap, until_failed, help;
};

/* ---- the command line ---- */

static int complain(const char *option, const char *value, const char *range)
{
	fprintf(stderr, "uroce-sim: --%s %s: not %s; see uroce-sim --help\n", option, value, range);
	return EXIT_USAGE;
}

static int take_number(const char *option, const char *text, uint64_t from, uint64_t to, uint64_t *number)
{
	char range[64], *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 0);
	snprintf(range, sizeof(range), "a number %lu ... %lu", from, to);
	if (errno || end == text || *end || *text == '-' || value < from || value > to)
		return complain(option, text, range);
	*number = value;
	return 0;
}

static int take_count(const char *option, const char *text, uint64_t to, uint32_t *number)
{
	uint64_t value = 0;
	int code = take_number(option, text, 1, to, &value);

	*number = (uint32_t)value;
	return code;
}

static int take_rate(enum sim_fault_kind kind, const char *text, uint32_t *rate)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (errno || end == text || *end || !(value >= 0 && value <= 1))
		return complain(sim_fault_names[kind], text, "a probability 0 ... 1");
	*rate = (uint32_t)(value * MILLION + 0.5);
	return 0;
}

static int take_off(const char *text, uint32_t *off)
{
	while (*text) {
		size_t length = strcspn(text, ",");
		uint32_t kind = 0;

		while (kind < FAULT_KINDS &&
		       (strlen(sim_fault_names[kind]) != length || strncmp(sim_fault_names[kind], text, length) != 0))
			kind++;
		if (kind == FAULT_KINDS)
			return complain("off", text, "a list of faults such as loss,dup");
		*off |= 1u << kind;
		text += length + (text[length] == ',');
	}
	return 0;
}

static int take_icrc(const char *text)
{
	for (int impl = 0; impl < WIRE_ICRC_IMPLS; impl++) {
		if (strcmp(text, wire_icrc_impl_name((enum wire_icrc_impl)impl)) == 0 &&
		    wire_icrc_choose((enum wire_icrc_impl)impl))
			return 0;
	}
	return complain("icrc", text, "isal, pclmul, vpclmul256 or vpclmul, or not on this CPU");
}

static int take_only(const char *text, struct sim_options *options)
{
	uint64_t *names = calloc(strlen(text) + 1, sizeof(*names));
	uint32_t count = 0;
	const char *at = text;

	options->allowed = names;
	if (strcmp(text, "none") == 0)
		return 0;
	while (*at) {
		char *end;

		names[count++] = strtoull(at, &end, 16);
		if (end == at || (*end && *end != ','))
			return complain("only", text, "a list of faults as a failed run prints it");
		at = end + (*end == ',');
	}
	sim_fault_sort(names, count);
	options->allowed_count = count;
	return 0;
}

static int take_plan(const char *text, struct settings *settings)
{
	const char *why;

	sim_plan_forget(&settings->plan);
	settings->fabric = true;
	if (sim_plan_make(text, &settings->plan, &why))
		return 0;
	fprintf(stderr, "uroce-sim: --fabric %s: %s; see uroce-sim --help\n", text, why);
	return EXIT_USAGE;
}

static int take_cc(const char *text, struct settings *settings)
{
	if (strcmp(text, "fixed") == 0)
		settings->cc = FABRIC_FIXED;
	else if (strcmp(text, "dcqcn") == 0)
		settings->cc = FABRIC_DCQCN;
	else if (strcmp(text, "delay") == 0)
		settings->cc = FABRIC_DELAY;
	else
		return complain("cc", text, "fixed, dcqcn or delay");
	return 0;
}

static int take_option(int letter, const char *text, struct settings *settings)
{
	struct sim_options *options = &settings->options;

	if (letter >= OPT_RATE)
		return take_rate((enum sim_fault_kind)(letter - OPT_RATE), text, &options->rates[letter - OPT_RATE]);
	if (letter >= OPT_SWEEP) {
		settings->table = letter;
		return 0;
	}
	switch (letter) {
	case OPT_SEED:
		return take_number("seed", text, 0, UINT64_MAX, &options->seed);
	case OPT_RUNS:
		return take_number("runs", text, 1, UINT32_MAX, &settings->runs);
	case OPT_SECONDS:
		return take_number("seconds", text, 1, 1000000, &settings->seconds);
	case OPT_MESSAGES:
		return take_count("messages", text, 10000000, &options->messages);
	case OPT_QPS:
		return take_count("qps", text, 256, &options->connections);
	case OPT_OFF:
		return take_off(text, &options->off);
	case OPT_ICRC:
		return take_icrc(text);
	case OPT_ONLY:
		return take_only(text, options);
	case OPT_HOURS:
		return take_count("hours", text, 10000, &options->hours);
	case OPT_STOPS:
		settings->stops = true;
		if (text && !sim_stops_knows(text, &settings->stops_bytes))
			return complain("stops", text, "4096, 1048576, 67108864 or 1073741824");
		return 0;
	case OPT_CONNECTIONS:
		settings->connections = true;
		return 0;
	case OPT_FABRIC:
		return take_plan(text, settings);
	case OPT_BUFFER:
		return take_count("buffer", text, 1 << 20, &settings->buffer_kib);
	case OPT_PATHS:
		return take_count("paths", text, SPREAD_MOST, &settings->plan_paths);
	case OPT_SACKS:
		return sim_plan_read_sacks(text, &settings->sacks) ? 0 : complain("sacks", text, "none, even or all");
	case OPT_CC:
		return take_cc(text, settings);
	case OPT_VERBOSE:
		settings->verbose = true;
		return 0;
	case OPT_TRACE:
		options->trace = true;
		return 0;
	case OPT_HASH:
		settings->hash = true;
		return 0;
	case OPT_UNTIL:
		settings->until_failed = true;
		return 0;
	case OPT_TAP:
		settings->tap = true;
		return 0;
	case 'h':
		settings->help = true;
		return 0;
	}
	return EXIT_USAGE;
}

static int take_options(int argc, char **argv, struct settings *settings)
{
	static const struct option fixed[] = {
		{ "seed", required_argument, NULL, OPT_SEED },
		{ "runs", required_argument, NULL, OPT_RUNS },
		{ "seconds", required_argument, NULL, OPT_SECONDS },
		{ "messages", required_argument, NULL, OPT_MESSAGES },
		{ "qps", required_argument, NULL, OPT_QPS },
		{ "off", required_argument, NULL, OPT_OFF },
		{ "icrc", required_argument, NULL, OPT_ICRC },
		{ "only", required_argument, NULL, OPT_ONLY },
		{ "hours", required_argument, NULL, OPT_HOURS },
		{ "sweep", no_argument, NULL, OPT_SWEEP },
		{ "lossy", no_argument, NULL, OPT_LOSSY },
		{ "spread", no_argument, NULL, OPT_SPREAD },
		{ "peers", no_argument, NULL, OPT_PEERS },
		{ "holes", no_argument, NULL, OPT_HOLES },
		{ "stops", optional_argument, NULL, OPT_STOPS },
		{ "fabric", required_argument, NULL, OPT_FABRIC },
		{ "buffer", required_argument, NULL, OPT_BUFFER },
		{ "paths", required_argument, NULL, OPT_PATHS },
		{ "sacks", required_argument, NULL, OPT_SACKS },
		{ "cc", required_argument, NULL, OPT_CC },
		{ "connections", no_argument, NULL, OPT_CONNECTIONS },
		{ "verbose", no_argument, NULL, OPT_VERBOSE },
		{ "trace", no_argument, NULL, OPT_TRACE },
		{ "trace-hash", no_argument, NULL, OPT_HASH },
		{ "tap", no_argument, NULL, OPT_TAP },
		{ "until-failed", no_argument, NULL, OPT_UNTIL },
		{ "help", no_argument, NULL, 'h' },
	};
	struct option all[sizeof(fixed) / sizeof(fixed[0]) + FAULT_KINDS + 1] = { 0 };
	uint32_t count = sizeof(fixed) / sizeof(fixed[0]);
	int letter, code = 0;

	memcpy(all, fixed, sizeof(fixed));
	for (int kind = 0; kind < FAULT_KINDS; kind++)
		all[count++] = (struct option){ sim_fault_names[kind], required_argument, NULL, OPT_RATE + kind };
	while (code == 0 && (letter = getopt_long(argc, argv, ":h", all, NULL)) != -1) {
		code = take_option(letter, optarg, settings);
		if (letter == '?' || letter == ':')
			fprintf(stderr, "uroce-sim: '%s': %s; see uroce-sim --help\n", argv[optind - 1],
				letter == '?' ? "not an option" : "wants a value");
	}
	if (code == 0 && optind < argc) {
		fprintf(stderr, "uroce-sim: '%s': not an option; see uroce-sim --help\n", argv[optind]);
		code = EXIT_USAGE;
	}
	return code;
}

/* ---- when the core itself stops ---- */

static char last_words[160];

/* Of the sanitizers, where there are any. */
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void say_last_words(void)
{
	if (write(STDERR_FILENO, last_words, strlen(last_words)) < 0)
		_exit(1);
}

/* An assert of the core, a bad access, or no end: what to say is written before each run. */
static void die(int number)
{
	const char *why = number == SIGPROF ? "does not end: " : "crashed: ";

	if (write(STDERR_FILENO, why, strlen(why)) < 0)
		_exit(1);
	say_last_words();
	signal(number, SIG_DFL);
	raise(number == SIGPROF ? SIGKILL : number);
}

static volatile sig_atomic_t stop_asked; /* the run at hand is finished, and what was done is told */

static void ask_to_stop(int number)
{
	(void)number;
	stop_asked = 1;
}

/* A sanitizer reports a bad access itself, and then aborts or exits by its own ways. */
static void listen_for_death(void)
{
	static const int numbers[] = { SIGABRT, SIGPROF, SIGSEGV, SIGBUS, SIGFPE, SIGILL };

	for (uint32_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		struct sigaction before;

		if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			signal(numbers[i], die);
	}
	signal(SIGINT, ask_to_stop);
	signal(SIGTERM, ask_to_stop);
	if (__sanitizer_set_death_callback)
		__sanitizer_set_death_callback(say_last_words);
}

static void prepare_last_words(const struct sim_options *options)
{
	snprintf(last_words, sizeof(last_words),
		 "FAILED seed %lu, commit %s\n  repeat:  uroce-sim --seed %lu --runs 1\n", options->seed, SIM_COMMIT,
		 options->seed);
	LIMIT_RUN(options->hours ? RUN_SECONDS * 30 : RUN_SECONDS);
}

/* ---- runs ---- */

struct totals {
	uint64_t runs, messages, faults, failed, hash;
};

static void run_one(const struct settings *settings, struct sim_world *world, struct sim_memory *memory,
		    struct totals *totals)
{
	const struct sim_options *options = &settings->options;
	bool failed;

	prepare_last_words(options);
	sim_world_run(world, options, memory);
	failed = world->failed;
	totals->runs++;
	totals->messages += world->posted;
	totals->faults += world->faults.count;
	totals->failed += failed;
	totals->hash = (totals->hash ^ world->hash) * 0x9E3779B97F4A7C15ull;
	if (settings->verbose) {
		printf("seed %lu: %u requests, %lu done, %lu failed, %lu flushed, %u faults, %lu frames, ",
		       options->seed, world->posted, world->successes, world->errors, world->flushes,
		       world->faults.count, world->frames);
		if (world->fabric)
			sim_fabric_print(world->fabric);
		printf("%.3f ms, hash %016lx%s\n", (double)world->now_ns / 1e6, world->hash, failed ? " FAILED" : "");
		if (failed)
			printf("  %s\n", world->failure);
	}
	sim_world_forget(world);
	LIMIT_RUN(RUN_SECONDS * 10);
	if (failed)
		sim_shrink_report(options, memory, SIM_COMMIT);
	LIMIT_RUN(0);
	fflush(stdout);
}

/* The same of managers of connections. */
static void run_connections(const struct settings *settings, struct totals *totals)
{
	struct sim_connections run = { .seed = settings->options.seed, .trace = settings->options.trace };

	snprintf(last_words, sizeof(last_words),
		 "FAILED seed %lu, commit %s\n  repeat:  uroce-sim --connections --seed %lu --runs 1 --trace\n",
		 run.seed, SIM_COMMIT, run.seed);
	LIMIT_RUN(RUN_SECONDS);
	sim_connections_run(&run);
	LIMIT_RUN(0);
	totals->runs++;
	totals->messages += run.established;
	totals->faults += run.datagrams;
	totals->failed += run.failure[0] != '\0';
	totals->hash = (totals->hash ^ run.hash) * 0x9E3779B97F4A7C15ull;
	if (settings->verbose)
		printf("seed %lu: %u parties, %u established, %lu datagrams, hash %016lx\n", run.seed, run.parties,
		       run.established, run.datagrams, run.hash);
	if (run.failure[0])
		printf("%s  %s\n", last_words, run.failure);
	fflush(stdout);
}

static void run_all(struct settings *settings, struct sim_memory *memory, struct totals *totals)
{
	struct sim_world *world = malloc(sizeof(*world));
	time_t started = time(NULL);
	uint64_t first = settings->options.seed;

	for (uint64_t i = 0; i < settings->runs; i++) {
		if (settings->seconds && (uint64_t)(time(NULL) - started) >= settings->seconds)
			break;
		if (stop_asked || (settings->until_failed && totals->failed))
			break;
		settings->options.seed = first + i;
		if (settings->connections)
			run_connections(settings, totals);
		else
			run_one(settings, world, memory, totals);
	}
	free(world);
	if (settings->seconds || stop_asked)
		printf("seeds %lu ... %lu, commit %s\n", first, settings->options.seed, SIM_COMMIT);
}

static void print_results(const struct settings *settings, const struct totals *totals)
{
	if (settings->hash)
		printf("trace hash %016lx\n", totals->hash);
	if (settings->tap)
		printf("%s 1 - %lu seeds keep every promise\n1..1\n", totals->failed ? "not ok" : "ok", totals->runs);
	printf("%s%lu runs, %lu %s, %lu %s, %lu failed\n", settings->tap ? "# " : "", totals->runs, totals->messages,
	       settings->connections ? "ends established" : "messages", totals->faults,
	       settings->connections ? "datagrams" : "faults", totals->failed);
}

/* What there is besides runs of the swarm. false: nothing of it is asked for. */
static bool run_measures(struct settings *settings, struct sim_memory *memory, uint32_t *bad)
{
	const struct sim_options *options = &settings->options;
	uint32_t messages = options->messages, runs = settings->runs ? (uint32_t)settings->runs : RUNS;

	if (settings->buffer_kib)
		sim_plan_set_buffer(&settings->plan, (uint64_t)settings->buffer_kib << 10);
	settings->plan.paths = (uint8_t)settings->plan_paths;
	settings->plan.sacks = settings->plan_paths && settings->sacks == SACKS_NONE ? SACKS_ALL : settings->sacks;
	if (settings->fabric && settings->tap) {
		*bad = sim_fabric_judge(&settings->plan, options->seed, memory);
	} else if (settings->fabric) {
		*bad = sim_fabric_run(&settings->plan, settings->cc, options->seed,
				      settings->runs ? (uint32_t)settings->runs : 1, memory);
	} else if (settings->table == OPT_SPREAD) {
		*bad = sim_paths_run(options->seed, runs, memory);
	} else if (settings->table == OPT_LOSSY) {
		*bad = sim_lossy_run(options->seed, runs, memory);
	} else if (settings->table == OPT_PEERS) {
		*bad = sim_peers_run(options->seed, runs, messages == UINT32_MAX ? 0 : messages, memory);
	} else if (settings->table == OPT_HOLES) {
		*bad = sim_holes_run(options->seed, runs, settings->tap, memory);
	} else if (settings->stops) {
		listen_for_death();
		*bad = sim_stops_run(options->seed, messages == UINT32_MAX ? STOPS_MESSAGES : messages,
				     settings->stops_bytes, memory);
		if (settings->tap)
			printf("1..1\n%s 1 - no READ of a peer that stands still now and then fails\n",
			       *bad ? "not ok" : "ok");
	} else if (settings->table == OPT_SWEEP) {
		listen_for_death();
		*bad = sim_sweep_run(options->seed, messages == UINT32_MAX ? SWEEP_MESSAGES : messages, memory);
	} else {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	struct settings settings = {
		.cc = FABRIC_ALL,
		.options = { .seed = 1, .messages = UINT32_MAX, .connections = UINT32_MAX },
	};
	struct totals totals = { 0 };
	struct sim_memory memory = { 0 };
	uint32_t bad = 0;
	bool usual;
	int code;

	memset(settings.options.rates, 0xFF, sizeof(settings.options.rates));
	code = take_options(argc, argv, &settings);
	if (code)
		return code;
	if (settings.help) {
		fputs(help_text, stdout);
		return 0;
	}
	if (!sim_memory_open(&memory, &usual)) {
		fprintf(stderr, "uroce-sim: no memory for the arena: 10 GiB of address space are needed\n");
		return 1;
	}
	if (!usual)
		printf("# the arena does not lie where it usually does: trace hashes are of this run only\n");
	if (run_measures(&settings, &memory, &bad)) {
		sim_plan_forget(&settings.plan);
		sim_memory_close(&memory);
		return bad ? 1 : 0;
	}
	listen_for_death();
	if (settings.runs == 0)
		settings.runs = RUNS;
	run_all(&settings, &memory, &totals);
	print_results(&settings, &totals);
	sim_memory_close(&memory);
	return totals.failed ? 1 : 0;
}
