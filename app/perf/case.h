/* case.h - one measurement: its parameters, the layout of its memory, its result */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_CASE_H
#define APP_PERF_CASE_H

#include <stddef.h>

#include "common/histogram.h"
#include "perf/options.h"
#include "perf/series.h"

/*
 * Where the messages of a flow (a QP) lie in the memory of an end. There are three areas. Requests read from
 * the source or fetch into it, the peer's requests work on the target, and its SENDs go to the inbox. A message uses
 * the slot of its number modulo the slots. Flows share the areas (stride 0), as benchmarks do, unless bytes or counters
 * are checked.
 */
struct perf_layout {
	uint32_t depth;    /* a multiple of interval */
	uint32_t interval; /* requests between two completions */
	uint32_t rx_depth; /* receives of a flow, or of the receive queue that all flows share */
	uint32_t slot_bytes;
	uint32_t source_slots, target_slots, inbox_slots;
	uint64_t source_stride, target_stride, inbox_stride;
	uint64_t target_at, inbox_at, total_bytes;
};

/* What an end has done in a case. */
struct perf_tally {
	uint64_t messages;     /* completed while the clock ran */
	uint64_t all_messages; /* with those of warm-up and drain */
	uint64_t received;     /* receive completions */
	uint64_t checked;      /* messages whose bytes were checked */
	uint64_t errors;       /* failed completions, wrong lengths, counters or immediates, and stalls */
	uint64_t bad_bytes;
	uint64_t frames;      /* frames received and sent by the port while the clock ran */
	uint64_t retransmits; /* packets sent again after a loss */
	uint64_t rnr_resent;  /* packets sent again after an RNR NAK */
	uint64_t probes;      /* packets that only asked a silent peer */
	uint64_t rnr_naks;    /* RNR NAKs that were received and waited for */
	uint64_t cnps;        /* congestion notifications that lowered the rate */
	uint64_t cycles;      /* how long the clock ran */
	double seconds;
	double peak_per_s; /* messages a second in the best window */
	bool cut;          /* ended before all that was posted had completed: interrupted, or the receiver is slow */
};

/* A count of a tally by its name, and the counter of the device whose growth it is; NULL: none. */
struct perf_tally_row {
	const char *name;
	size_t offset;
	const char *counter;
};

#define PERF_TALLY_ROWS 11u
extern const struct perf_tally_row perf_tally_rows[PERF_TALLY_ROWS];

/* Returns a pointer through which the count can be changed although the tally is const, as strchr() does. */
static inline uint64_t *tally_count(const struct perf_tally *tally, const struct perf_tally_row *row)
{
	return (uint64_t *)(uintptr_t)((const char *)tally + row->offset);
}

/* With a second link: what happened after the first link was cut. Times are since the cut. */
struct perf_failover_result {
	bool cut;               /* the case lasted until the cut */
	uint64_t migrations[2]; /* PATH_MIG events of each end */
	double path_mig_ms[2];  /* until the last of them */
	double resumed_ms;      /* time until the first completion after the first migration; 0: there was none */
};

struct perf_result {
	struct perf_case test;
	struct perf_failover_result failover;
	struct perf_tally tally; /* sum of both ends; seconds are those of the longer one */
	uint32_t lcores;
	uint64_t interruptions; /* how often the measuring thread lost its core */
	double gbit_per_s, peak_gbit_per_s, messages_per_s;
	double cycles_per_packet;         /* cycles for a frame received or sent; 0: not known */
	struct app_histogram *latency;    /* in TSC cycles; NULL in bw mode */
	double latency_scale_us;          /* microseconds of a cycle; halved if a round trip is two messages */
	const struct perf_series *series; /* messages completed over time at the end that starts; NULL in lat mode */
	double cycle_s;
};

/* The latency that this fraction of the messages does not exceed. */
static inline double percentile_us(const struct perf_result *result, double fraction)
{
	return (double)app_histogram_percentile(result->latency, fraction) * result->latency_scale_us;
}

/* Case number `index` of the options: fills in *test and returns true, or false behind the last. */
bool perf_case_at(const struct perf_options *options, uint32_t index, struct perf_case *test);

/* How many memory windows an end has: one for each receive of each flow; 0: the operation needs none. */
uint32_t perf_case_windows(const struct perf_case *test);

void perf_case_lay_out(const struct perf_case *test, struct perf_layout *layout);

/* Adds the tally of another end to a sum. */
void perf_case_add(struct perf_tally *sum, const struct perf_tally *one);

#endif
