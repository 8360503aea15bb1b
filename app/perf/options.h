/* options.h - the options of uroce-perf: what they ask for, and their parser */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_OPTIONS_H
#define APP_PERF_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/ports.h"
#include "drivers/fault/fault.h"
#include "perf/op.h"

#define PERF_SIZES_MAX 32
#define PERF_SIZE_MAX (1u << 30)

/* Parameters of a measurement that both ends must agree on. */
struct perf_case {
	enum perf_op op;
	enum perf_mode mode;
	uint32_t size_bytes, mtu_bytes;
	uint32_t idle; /* further QPs of this end, connected and idle; the other process has its own setting */
	uint32_t qps, depth, rx_depth, outs, cq_mod, inline_bytes;
	uint32_t timeout;       /* ACK timer code */
	uint32_t retries;       /* retry_cnt */
	uint32_t rnr_timer;     /* code */
	uint32_t rx_rate;       /* receives posted again per second by all QPs; 0: as they complete */
	uint32_t traffic_class; /* DSCP and ECN of the frames of both ends */
	uint32_t cc;            /* enum uroce_cc */
	uint32_t sack_window;   /* n: with SACKs 128 << n packets may be in flight; 0: no SACKs */
	uint32_t paths;         /* of each QP; 0: one */
	double rate;            /* messages a second that an end may post; 0: no limit */
	uint32_t burst;         /* messages posted at once */
	double seconds;         /* when iterations is 0 */
	uint64_t iterations;    /* messages a QP */
	bool flow_control;      /* end-to-end credits */
	bool use_srq;           /* the queue pairs of an end share a receive queue */
	bool ack_each;          /* no ACK for more than one message */
	bool no_read_repair;    /* read repair OFF; else ANY_ORDER, because both ends are ours */
	bool both_ways, verify;
};

struct perf_options {
	bool ops[PERF_OPS], modes[PERF_MODES];
	uint32_t sizes[PERF_SIZES_MAX], size_count; /* count 0: the mode's defaults */
	bool all_sizes, named_sizes;                /* -a, -s */
	/*
	 * What all cases have in common; op, mode, size_bytes and rate are set in each. mtu_bytes 0: 4096 on loop, 1024
	 * elsewhere; inline_bytes UINT32_MAX: that of the mode; burst 0: the messages of 10 ms.
	 */
	struct perf_case test;
	/* connections under way while they are set up and ended; 0: connections are not measured */
	uint32_t connections;
	double rate_limit; /* limit for what an end posts, in rate_units: g, M or p; 0: none */
	char rate_units;
	/* a case with less bandwidth, or fewer millions of messages a second, fails; 0: no limit */
	double least_gbit, least_mpps;
	bool histogram;    /* of latencies, printed */
	double failover_s; /* both ends here: how long into a case the first link is cut; 0: no second link */
	struct drivers_fault_config faults;
	uint32_t core_count;
	uint32_t more_lcores; /* lcores for what a developers' program measures besides (beside.h) */
	bool server;
	bool no_peak;       /* perftest's --noPeak: the table has no peak */
	const char *host;   /* NULL: a server, or both ends here */
	const char *device; /* "loop", or as in ports.h */
	const char *addresses[2];
	struct uroce_vlan vlan;
	const char *gateway;
	bool no_dad;
	uint32_t tcp_port;
	bool by_address; /* no TCP: the other process is reached through the ports */
	const char *json_path, *page_path;
	const char *record_path; /* NULL: failed queue pairs leave no files */
	bool dry_run;
};

/* Are both ends in this process? */
static inline bool options_are_local(const struct perf_options *options)
{
	return !options->server && options->host == NULL;
}

/* Busy lcores of this process. */
static inline uint32_t options_lcore_count(const struct perf_options *options)
{
	return options->core_count + options->more_lcores;
}

static inline bool options_have_faults(const struct perf_options *options)
{
	return options->faults.loss > 0 || options->faults.duplicate > 0 || options->faults.reorder > 0 ||
	       options->faults.corrupt > 0;
}

/* Reads the options, and checks them against each other. Returns 0 to go on, or 1 + the exit code. */
int perf_options_parse(int argc, char **argv, struct perf_options *options);

#endif
