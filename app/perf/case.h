/* case.h - one measurement: what it is, how its memory is laid out, what came out */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef APP_PERF_CASE_H
#define APP_PERF_CASE_H

#include "common/histogram.h"
#include "perf/options.h"
#include "perf/series.h"

/* What both ends must agree about. */
struct perf_case {
	enum perf_op op;
	enum perf_mode mode;
	uint32_t size_bytes, mtu_bytes;
	uint32_t idle; /* of this end; the other process has its own */
	uint32_t qps, depth, rx_depth, outs, cq_mod, inline_bytes, timeout, retries, rnr_timer, rx_rate, traffic_class;
	double rate;    /* messages a second that an end may post; 0: as fast as it can */
	uint32_t burst; /* of them at once */
	double seconds;
	uint64_t iterations;
	uint32_t lose; /* with limit, lat: frames of a message up to the one that is lost; 0: none is */
	enum perf_junk junk;
	bool both_ways, verify, flow_control, use_srq, ack_each, no_read_repair, limit;
};

/*
 * Where the messages of a flow (a QP) lie in the memory of an end. Three areas: `source` is what requests read or
 * fetch into, `target` what the peer's requests work on, `inbox` where its SENDs go. A message uses slot number
 * modulo slots. Flows share the areas (stride 0), as benchmarks do, unless bytes or counters are checked.
 */
struct perf_layout {
	uint32_t depth;    /* a multiple of interval */
	uint32_t interval; /* requests between two completions */
	uint32_t rx_depth; /* of a flow, or of the queue that all flows share */
	uint32_t slot_bytes;
	uint32_t source_slots, target_slots, inbox_slots;
	uint64_t source_stride, target_stride, inbox_stride;
	uint64_t source_at, target_at, inbox_at, total_bytes;
};

/* What an end did in a case. */
struct perf_tally {
	uint64_t messages;     /* completed while the clock ran */
	uint64_t all_messages; /* with warm-up and drain */
	uint64_t received;     /* receive completions */
	uint64_t checked;      /* messages whose bytes were looked at */
	uint64_t errors;       /* failed completions, wrong lengths, counters or immediates, and stalls */
	uint64_t bad_bytes;
	uint64_t frames;      /* received and sent by the port while the clock ran */
	uint64_t retransmits; /* packets sent again after a loss */
	uint64_t rnr_resent;  /* and after an RNR NAK */
	uint64_t probes;      /* and those that only asked a silent peer */
	uint64_t rnr_naks;    /* received and waited for */
	uint64_t cycles;      /* of the clock */
	double seconds;
	double peak_per_s; /* messages a second in the best window */
};

/* With a second link: what happened when the first was cut. Times are counted from the cut. */
struct perf_failover_result {
	bool cut;               /* the case lasted so long */
	uint64_t migrations[2]; /* PATH_MIG events of each end */
	double path_mig_ms[2];  /* to the last of them */
	double resumed_ms;      /* to the first completion after the first of them; 0: none came */
};

/* With --limit: the stack against the least that any must do (limit.h), of pairs of windows. */
struct perf_baseline_result {
	bool measured;
	double gbit_per_s, messages_per_s;           /* of the limit step, medians */
	double fraction, fraction_p10, fraction_p90; /* the stack's goodput over it, pair by pair */
	double over_copy;                            /* the limit step's over that of the same without ICRC */
};

/* The same in lat mode: round trips of the stack against those of bare frames (bare.h). */
struct perf_raw_pingpong_result {
	bool measured;
	double rtt_us;                      /* of bare frames, median */
	double ratio, ratio_p10, ratio_p90; /* the stack's over it, pair by pair */

	/* With a frame that is lost (recovery.h): what that costs, in bare round trips. */
	bool lost;
	double recovery, recovery_p10, recovery_p90;
};

/* With --junk: frames that are refused (junk.h). */
struct perf_junk_result {
	bool measured;
	double refused_per_s;               /* when nothing else comes, median of windows */
	double share, share_p10, share_p90; /* of its goodput that the case keeps when every second frame is junk */
};

/* With --lcores: all at once against each alone (lcores.h). */
struct perf_scaling_result {
	bool measured;
	double ratio, ratio_p10, ratio_p90;
	double hand_over_p10, hand_over_p90; /* of perf_result's hand_over_ns, over the windows */
};

struct perf_result {
	struct perf_case test;
	struct perf_baseline_result limit;
	struct perf_raw_pingpong_result bare;
	struct perf_junk_result junk;
	struct perf_scaling_result scaling;
	double hand_over_ns; /* of a cache line between lcores (placement.h); 0: there is one, or it is not known */
	struct perf_failover_result failover;
	struct perf_tally tally; /* of both ends, seconds of the longer one */
	uint32_t lcores;
	uint64_t interruptions; /* times that the measuring thread lost its core to another */
	double gbit_per_s, peak_gbit_per_s, messages_per_s;
	double cycles_per_packet;         /* per frame received or sent; 0: not known */
	struct app_histogram *latency;    /* in TSC cycles; NULL in bw mode */
	double latency_scale_us;          /* microseconds a cycle; half of it where a round trip is two messages */
	const struct perf_series *series; /* of the end that started; NULL in lat mode */
	double cycle_s;
};

/* The cases of the options in their order: fills *test and returns true, or false behind the last. */
bool perf_case_at(const struct perf_options *options, uint32_t index, struct perf_case *test);

/* Memory windows of an end: one for each receive of each flow. 0: the operation names none. */
uint32_t perf_case_windows(const struct perf_case *test);

void perf_case_lay_out(const struct perf_case *test, struct perf_layout *layout);

/* Adds the tally of another end to a sum. */
void perf_case_add(struct perf_tally *sum, const struct perf_tally *one);

#endif
