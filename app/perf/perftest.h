/* perftest.h - words that users of perftest have in their fingers: what they mean here, or why they mean nothing */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_PERFTEST_H
#define APP_PERF_PERFTEST_H

#include "perf/options.h"

/* Letters with perftest's meaning, besides those that are ours, too; and the long options that stand for them. */
#define PERFTEST_LETTERS "A:c:FHNT:w:y:"
enum {
	PERFTEST_ENDLESS = 1000,
	PERFTEST_GBITS,
	PERFTEST_JSON,
	PERFTEST_JSON_FILE,
	PERFTEST_SRQ,
	PERFTEST_RATE,
	PERFTEST_UNITS,
	PERFTEST_BURST
};
#define PERFTEST_LONG_OPTIONS                                                                                     \
	{ "atomic_type", required_argument, NULL, 'A' }, { "connection", required_argument, NULL, 'c' },          \
		{ "tos", required_argument, NULL, 'T' }, { "tclass", required_argument, NULL, 'T' },              \
		{ "CPU-freq", no_argument, NULL, 'F' }, { "noPeak", no_argument, NULL, 'N' },                     \
		{ "run_infinitely", no_argument, NULL, PERFTEST_ENDLESS },                                        \
		{ "report_gbits", no_argument, NULL, PERFTEST_GBITS },                                            \
		{ "out_json", no_argument, NULL, PERFTEST_JSON }, { "use-srq", no_argument, NULL, PERFTEST_SRQ }, \
		{ "rate_limit", required_argument, NULL, PERFTEST_RATE },                                         \
		{ "rate_units", required_argument, NULL, PERFTEST_UNITS },                                        \
		{ "burst_size", required_argument, NULL, PERFTEST_BURST },                                        \
		{ "limit_bw", required_argument, NULL, 'w' }, { "limit_msgrate", required_argument, NULL, 'y' },  \
		{ "report-histogram", no_argument, NULL, 'H' }, { "inline_size", required_argument, NULL, 'I' },  \
		{ "ib-dev", required_argument, NULL, 'd' }, { "qp", required_argument, NULL, 'q' },               \
	{                                                                                                         \
		"out_json_file", required_argument, NULL, PERFTEST_JSON_FILE                                      \
	}

/* Takes one of them. APP_EXIT_OK or APP_EXIT_USAGE; -1: it is none. */
int perf_perftest_take(int letter, const char *text, struct perf_options *options);

/* What they do not go with, before defaults are filled in. APP_EXIT_OK or APP_EXIT_USAGE. */
int perf_perftest_check(struct perf_options *options);

/* Complains of an option that getopt_long() refused, the last it looked at in argv. Returns what to exit with. */
int perf_perftest_refuse(char *const *argv, int letter);

#endif
