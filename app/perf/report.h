/* report.h - tables for people */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_REPORT_H
#define APP_PERF_REPORT_H

#include "perf/case.h"
#include "perf/end.h"
#include "perf/environment.h"

/* Where tables go: standard output, or standard error while JSON goes there. */
void perf_report_open(bool json_on_stdout, bool without_peak);

/* Once: what is measured where, and what would make the figures worthless. */
void perf_report_environment(const struct perf_environment *environment, const struct perf_options *options);

/* The head of a table when test is the first of its operation and mode, with the connection's facts. */
void perf_report_connection(const struct perf_case *test, const struct perf_peer *local,
			    const struct perf_peer *remote);

/* How it goes, of a case that takes long: messages, retransmits and probes of the last `seconds`. */
void perf_report_progress(const struct perf_case *test, const struct perf_tally *last);

/* A row of it, and what else there is to know. */
void perf_report_result(const struct perf_result *result);

/* lat: how many took how long, a row for each bucket that has any. */
void perf_report_histogram(const struct perf_result *result);

/* At the end: what the device dropped, and why. */
void perf_report_drops(const struct app_port *port);

/* Where a server waits. */
void perf_report_waiting(unsigned tcp_port);
void perf_report_waiting_by_address(unsigned port);

/* The server's line: what came in. */
void perf_report_served(const struct perf_end *end);

#endif
