/* poll.c - the work of an end besides polling its lcore: completions, posts, and the clock of the case */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <rte_cycles.h>

#include <uroce/inspect.h>

#include "common/eal.h"
#include "perf/latency.h"
#include "perf/receive.h"
#include "perf/report.h"
#include "perf/stream.h"
#include "perf/poll.h"

#define POLLS_A_LOOK 16u /* polls between two readings of the clock */
#define WARM_UP_S 0.05
#define WINDOW_S 0.01 /* window for the peak */
#define TELL_S 1.0    /* between two lines of progress */
#define MOVES_S 1.0   /* while nothing completes: time between two looks at what is acknowledged */
#define STALL_S 10.0  /* time without an acknowledgement after which a case fails: all retries are spent by then */
#define ACK_TRIES 8.0

static uint64_t cycles_of(double seconds)
{
	return (uint64_t)(seconds * (double)rte_get_tsc_hz());
}

/*
 * Does this end have the clock of the case? In bw mode each end that sends requests has one, in lat mode only the end
 * that starts.
 */
static bool has_clock(const struct perf_end *end)
{
	return end->requests && (end->way == 0 || end->test.mode == PERF_BW);
}

static void start_measuring(struct perf_end *end)
{
	end->phase = PHASE_MEASURE;
	end->base_frames = perf_end_frames(end);
	end->base_completed = end->window_completed = end->completed;
	end->now = end->measure_began = end->window_began = rte_rdtsc();
	if (end->test.mode == PERF_LAT && end->test.iterations)
		end->flows[0].goal = end->completed + end->test.iterations + (end->posted - end->completed);
}

static void drain(struct perf_end *end)
{
	end->phase = PHASE_DRAIN;
	end->phase_began = end->now;
}

static void stop_measuring(struct perf_end *end)
{
	end->tally.cycles = rte_rdtsc() - end->measure_began;
	end->tally.seconds = (double)end->tally.cycles / (double)rte_get_tsc_hz();
	end->tally.messages = end->completed - end->base_completed;
	end->tally.frames = perf_end_frames(end) - end->base_frames;
	drain(end);
}

/* Adds up a counter of this end, and of the other end if that is in this process. */
static uint64_t count_both(const struct perf_end *end, const char *name)
{
	return perf_end_counter(end, name) + (end->other ? perf_end_counter(end->other, name) : 0);
}

/* A sum that changes whenever a peer acknowledges a packet, or a READ response arrives. */
static uint64_t acknowledged(const struct perf_end *end)
{
	struct uroce_qp_view view;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < end->test.qps && end->engine; i++) {
		if (uroce_inspect_qp(end->engine, uroce_qp_num(end->flows[i].qp), &view) == 0)
			sum += view.acked_psn;
	}
	return sum;
}

static void begin_to_tell(struct perf_end *end)
{
	end->told = end->now;
	end->told_completed = end->completed;
	/* The acknowledged PSNs are asked for later, because an lcore answers only once it is polled. */
	end->knows_acknowledged = false;
	end->told_again = count_both(end, "retransmitted_packets");
	end->told_probes = count_both(end, "early_probes");
}

void perf_end_begin(struct perf_end *end)
{
	for (const struct perf_tally_row *row = perf_tally_rows; row < perf_tally_rows + PERF_TALLY_ROWS; row++) {
		if (row->counter)
			*tally_count(&end->base, row) = perf_end_counter(end, row->counter);
	}
	end->phase_began = end->progressed = end->looked = end->now = rte_rdtsc();
	begin_to_tell(end);
	end->phase = has_clock(end) ? PHASE_WARM : PHASE_DONE;
	if (end->phase == PHASE_DONE)
		return;
	if (end->test.mode == PERF_LAT) {
		if (end->test.iterations)
			end->flows[0].goal = LATENCY_WARM_UP;
		return;
	}
	if (end->test.iterations)
		start_measuring(end);
	end->tokens = end->layout.interval;
	end->filled = rte_rdtsc();
	for (uint32_t i = 0; i < end->test.qps; i++)
		perf_stream_post(end, i);
}

/* Remembers the best 10 ms. */
static void look_at_window(struct perf_end *end)
{
	uint64_t cycles = end->now - end->window_began;
	double per_s;

	if (cycles < cycles_of(WINDOW_S))
		return;
	per_s = (double)(end->completed - end->window_completed) * (double)rte_get_tsc_hz() / (double)cycles;
	if (per_s > end->tally.peak_per_s)
		end->tally.peak_per_s = per_s;
	perf_series_add(&end->series, end->now - end->measure_began, end->completed - end->base_completed);
	end->window_began = end->now;
	end->window_completed = end->completed;
}

static bool warm_up_is_over(const struct perf_end *end)
{
	double seconds = end->test.seconds / 2 < WARM_UP_S ? end->test.seconds / 2 : WARM_UP_S;

	if (end->completed == 0)
		return false; /* the peer's MAC may still be asked for */
	if (end->test.mode == PERF_LAT && end->test.iterations)
		return end->completed >= LATENCY_WARM_UP;
	return end->now - end->phase_began >= cycles_of(seconds);
}

static bool measuring_is_over(const struct perf_end *end)
{
	uint64_t wanted = end->test.iterations * end->test.qps;

	if (end->test.iterations)
		return end->completed - end->base_completed >= wanted;
	return end->now - end->measure_began >= cycles_of(end->test.seconds);
}

static double stall_seconds(const struct perf_end *end)
{
	double timeout_s = end->test.timeout ? 4.096e-6 * (double)(1ull << end->test.timeout) : 0;

	return STALL_S + ACK_TRIES * timeout_s;
}

/*
 * If both ends are in this process, the end that starts prints for both. An lcore that asks another lcore waits until
 * the other one has been polled, so two lcores that ask each other at the same time would wait for each other.
 */
static void tell_drops(struct perf_end *end)
{
	if (end->way != 0 && end->other)
		return;
	app_drops_tell(&end->drops, end->port);
	if (end->other)
		app_drops_tell(&end->other->drops, end->other->port);
}

/* Does anything move? A long message over a slow link makes progress long before it completes. */
static bool moves(struct perf_end *end)
{
	uint64_t before = end->seen_acknowledged;

	end->looked = end->now;
	tell_drops(end);
	end->seen_acknowledged = acknowledged(end);
	return end->seen_acknowledged != before;
}

/* Fails the end if nothing has made progress for too long. A pause is no stall while the rate forbids posting. */
static void watch_progress(struct perf_end *end)
{
	bool paced = end->test.rate > 0 && end->completed == end->posted;

	if (end->completed != end->seen_completed || paced)
		end->progressed = end->looked = end->now;
	else if (end->now - end->looked > cycles_of(MOVES_S) && moves(end))
		end->progressed = end->now;
	if (end->now - end->progressed <= cycles_of(stall_seconds(end)))
		return;
	end->unreachable |= end->tally.errors == 0;
	perf_end_fail(end, "no message was acknowledged for %.0f s; %lu messages are outstanding", stall_seconds(end),
		      (unsigned long)(end->posted - end->completed));
}

/*
 * Bytes that have moved since the last line: of messages that completed, or if none has, of packets acknowledged. PSNs
 * have 24 bits, and in a second in which no message completes fewer than 2^24 packets are acknowledged.
 */
static uint64_t moved_bytes(const struct perf_end *end)
{
	uint64_t messages = end->completed - end->told_completed;

	if (messages || !end->knows_acknowledged)
		return messages * end->test.size_bytes;
	return ((acknowledged(end) - end->told_acknowledged) & 0xFFFFFF) * end->test.mtu_bytes;
}

/* If both ends are in this process, the end that starts prints. */
static void tell_progress(struct perf_end *end)
{
	uint64_t cycles = end->now - end->told;

	if (!end->knows_acknowledged && end->test.size_bytes > end->test.mtu_bytes) {
		end->told_acknowledged = acknowledged(end);
		end->knows_acknowledged = true;
	}
	if (cycles < cycles_of(TELL_S) || (end->way != 0 && end->other))
		return;
	perf_report_progress(&end->test,
			     &(struct perf_tally){
				     .messages = end->completed - end->told_completed,
				     .seconds = (double)cycles / (double)rte_get_tsc_hz(),
				     .retransmits = count_both(end, "retransmitted_packets") - end->told_again,
				     .probes = count_both(end, "early_probes") - end->told_probes,
			     },
			     moved_bytes(end));
	begin_to_tell(end);
}

static void look_at_clock(struct perf_end *end)
{
	end->now = rte_rdtsc();
	tell_progress(end);
	watch_progress(end);
	end->seen_completed = end->completed;
	end->stopped |= app_is_interrupted();
	if (end->phase == PHASE_WARM && warm_up_is_over(end))
		start_measuring(end);
	else if (end->phase == PHASE_MEASURE)
		look_at_window(end);
	if (end->phase == PHASE_MEASURE && (measuring_is_over(end) || end->stopped))
		stop_measuring(end);
	if (end->stopped && end->phase == PHASE_WARM)
		drain(end);
	if (end->phase != PHASE_DRAIN)
		return;
	end->tally.cut = end->completed != end->posted && perf_end_gives_up(end, end->phase_began);
	if (end->completed == end->posted || end->tally.errors || end->tally.cut)
		end->phase = PHASE_DONE;
}

void perf_end_poll(struct perf_end *end)
{
	uroce_lcore_poll(end->lcore);
	if (perf_ops[end->test.op].receives && end->responds)
		perf_receive_poll(end);
	if (end->test.mode == PERF_LAT)
		perf_latency_poll(end);
	else if (end->requests)
		perf_stream_poll(end);
	if (++end->polls % POLLS_A_LOOK == 0 && end->phase != PHASE_READY && end->phase != PHASE_DONE)
		look_at_clock(end);
}

void perf_end_sum_up(struct perf_end *end)
{
	if (end->phase == PHASE_MEASURE) /* the case was ended by something else than its clock */
		stop_measuring(end);
	end->tally.all_messages = end->completed;
	for (const struct perf_tally_row *row = perf_tally_rows; row < perf_tally_rows + PERF_TALLY_ROWS; row++) {
		if (row->counter)
			*tally_count(&end->tally, row) =
				perf_end_counter(end, row->counter) - *tally_count(&end->base, row);
	}
	if (end->test.mode == PERF_LAT && has_clock(end))
		end->tally.messages = end->latency->count;
}
