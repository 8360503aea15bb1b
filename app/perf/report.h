/* report.h - prints tables */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_REPORT_H
#define APP_PERF_REPORT_H

#include "perf/case.h"
#include "perf/end.h"
#include "perf/environment.h"

struct perf_beside;

/* without_peak: tables have no peak bandwidth. */
void perf_report_open(bool without_peak);

/* Prints once what is measured where, and what makes the results worthless. */
void perf_report_environment(const struct perf_environment *environment, const struct perf_options *options);

/* Prints the head of a table if test is the first of its operation and mode, and facts of the connection. */
void perf_report_connection(const struct perf_case *test, const struct perf_peer *local,
			    const struct perf_peer *remote);

/* Prints the progress of a long case: messages, retransmits and probes of the last `seconds`, and bytes that moved. */
void perf_report_progress(const struct perf_case *test, const struct perf_tally *last, uint64_t bytes);

/* Prints a row of the table, and further facts. beside: what adds to them (beside.h); NULL: nothing. */
void perf_report_result(const struct perf_result *result, const struct perf_beside *beside);

/* lat: prints a row for each bucket of the histogram that is not empty. */
void perf_report_histogram(const struct perf_result *result);

/* At the end: prints what the device has dropped, and why. */
void perf_report_drops(const struct app_port *port);

/* Prints where a server waits. */
void perf_report_waiting(unsigned tcp_port);
void perf_report_waiting_by_address(unsigned port);

/* Prints what a server has received. */
void perf_report_served(const struct perf_end *end);

#endif
