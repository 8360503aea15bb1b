/* plan.c - prints for --dry-run what would be measured, and where */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "perf/plan.h"

#include <stdio.h>

#include "perf/case.h"

static void print_ends(const struct perf_options *options)
{
	uint32_t lcores = options_lcore_count(options);
	const char *mtu_from = options->test.mtu_bytes ? "" : " set by the client";

	if (options_are_local(options))
		printf("both ends in this process, on %u lcore%s\n", lcores, lcores > 1 ? "s" : "");
	else if (options->server)
		printf("server: waits on %s port %u\n", options->by_address ? "its address," : "TCP",
		       options->tcp_port);
	else
		printf("client: connects to the server at %s, %s port %u\n", options->host,
		       options->by_address ? "connected by address," : "TCP", options->tcp_port);
	if (options_are_local(options))
		printf("ports: %s, with %s and %s", options->device,
		       options->addresses[0] ? options->addresses[0] : "10.0.0.1/24",
		       options->addresses[1] ? options->addresses[1] : "10.0.0.2/24");
	else
		printf("port: %s, with %s", options->device, options->addresses[0]);
	if (options->gateway)
		printf(", gateway %s", options->gateway);
	if (options->vlan.id || options->vlan.priority)
		printf(", VLAN %u, priority %u", options->vlan.id, options->vlan.priority);
	printf("; path MTU%s", mtu_from);
	if (options->test.mtu_bytes)
		printf(" %u", options->test.mtu_bytes);
	printf("\n");
	if (options_have_faults(options))
		printf("faults: loss %g, dup %g, reorder %g, corrupt %g, seed %lu\n", options->faults.loss,
		       options->faults.duplicate, options->faults.reorder, options->faults.corrupt,
		       (unsigned long)options->faults.seed);
}

static void print_case(const struct perf_case *test)
{
	printf("  %-9s %-3s %10u bytes, %u queue pair%s, ", perf_op_names[test->op], perf_mode_names[test->mode],
	       test->size_bytes, test->qps, test->qps > 1 ? "s" : "");
	if (test->mode == PERF_LAT)
		printf("one message at a time, ");
	else
		printf("up to %u requests outstanding, ", test->depth);
	if (test->iterations)
		printf("%lu messages\n", (unsigned long)test->iterations);
	else
		printf("%g s\n", test->seconds);
}

void perf_plan_print(const struct perf_options *options)
{
	struct perf_case test;
	double seconds = 0;
	uint32_t count = 0;

	print_ends(options);
	if (options->server)
		printf("cases: set by the client\n");
	else if (options->connections)
		printf("%u concurrent connections, for %g s\n", options->connections, options->test.seconds);
	if (options->server || options->connections)
		return;
	for (; perf_case_at(options, count, &test); count++) {
		print_case(&test);
		seconds += test.iterations ? 0 : test.seconds;
	}
	printf("%u cases", count);
	if (seconds > 0)
		printf(", about %.1f s", seconds);
	printf("\n");
}
