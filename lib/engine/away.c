/* away.c - notices that the thread of an lcore had no core although the lcore has QPs to serve */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A long time between two polls has two kinds of reasons. The thread computed something else, or slept: that is the
 * choice of the application. Or other threads had its core, its process was stopped, or the virtual machine was paused:
 * then the lcore was away, and its peers wait and retry. The kernel counts for how long a thread waited for a core, how
 * long it had one, and how often it gave its core away by itself. It counts a stop as a sleep. So a thread that polls
 * busily, without a sleep, is taken for stopped, and one that sleeps now and then is not.
 *
 * An absence is counted, logged, and reported to SACK peers (lib/rc/ask.h).
 */
#include "engine/away.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/clock.h"
#include "engine/device_state.h"
#include "engine/engine.h"
#include "engine/log.h"
#include "engine/qp.h"
#include "engine/run_queue.h"
#include "engine/steer.h"
#include "rc/ask.h"

#define LOOK_NS 50000000ull
#define AWAY_NS 100000000ull  /* shorter than the usual ACK timeouts with their retries */
#define BUSY_NS 1000000000ull /* a thread that has not slept for so long polls busily */
#define LOG_NS 10000000000ull
#define REPORT_NS 1000000000ull
/*
 * A report costs two frames. Reports to all peers at once would keep an lcore with thousands of QPs busy that has too
 * little CPU time anyway, so at most this many leave per LOOK_NS: 1 000 per second.
 */
#define REPORTS_PER_LOOK 50u
#define MS_NS 1000000u
#define S_NS 1000000000ull

static uint64_t timeval_ns(const struct timeval *time)
{
	return (uint64_t)time->tv_sec * S_NS + (uint64_t)time->tv_usec * 1000;
}

uint64_t engine_away_starved_ns(const struct uroce_lcore *lcore)
{
	unsigned long ran_ns, starved_ns = 0;
	int fd = lcore->away.schedstat_fd;
	char text[64];
	ssize_t bytes = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

	if (bytes <= 0)
		return 0;
	text[bytes] = '\0';
	return sscanf(text, "%lu %lu", &ran_ns, &starved_ns) == 2 ? starved_ns : 0;
}

/* Queries the kernel about the calling thread. */
static struct engine_core_use query_core_use(const struct uroce_lcore *lcore, uint64_t now_ns)
{
	struct rusage usage = { 0 };

	getrusage(RUSAGE_THREAD, &usage);
	return (struct engine_core_use){
		.at_ns = now_ns,
		.starved_ns = engine_away_starved_ns(lcore),
		.ran_ns = timeval_ns(&usage.ru_utime) + timeval_ns(&usage.ru_stime),
		.sleeps = (uint64_t)usage.ru_nvcsw,
	};
}

/* A thread of EAL sleeps only for a few milliseconds. */
static bool polls_busily(const struct uroce_lcore *lcore)
{
	const struct engine_away *away = &lcore->away;

	return lcore->lcore_id != LCORE_ID_ANY || lcore->before_ns >= away->slept_ns + BUSY_NS;
}

/* How long the thread had no core, other than by its own choice, between the last two polls. */
static uint64_t away_ns(const struct uroce_lcore *lcore, const struct engine_core_use *now)
{
	const struct engine_core_use *before = &lcore->away.use;
	uint64_t between_ns = lcore->now_ns - lcore->before_ns, passed_ns = now->at_ns - before->at_ns;
	uint64_t ran_ns = now->ran_ns - before->ran_ns;
	uint64_t starved_ns = now->starved_ns > before->starved_ns ? now->starved_ns - before->starved_ns : 0;

	/* ran_ns is too large, too, if the lcore's thread has ended and another one has its id now. */
	if (between_ns < AWAY_NS || ran_ns > passed_ns)
		return 0;
	if (now->sleeps != before->sleeps && !polls_busily(lcore))
		return RTE_MIN(between_ns, starved_ns);
	return RTE_MIN(between_ns, passed_ns - ran_ns);
}

static bool is_connected(const struct uroce_qp *qp)
{
	return qp && qp_core(qp)->state >= UROCE_QPS_RTR && qp_core(qp)->state <= UROCE_QPS_SQD;
}

static bool has_connected_qp(const struct uroce_lcore *lcore)
{
	const struct uroce_engine *engine = lcore->engine;

	for (uint32_t i = lcore->index; i < engine->index_count; i += engine->lcore_mask + 1) {
		if (is_connected(steer_find(engine, i)))
			return true;
	}
	return false;
}

/*
 * The absence is to be reported to the SACK peers of the lcore's QPs. Absences within REPORT_NS of an earlier one are
 * not reported. While the earlier one is still being reported, the QPs that follow get the newer time, and those before
 * get it after them.
 */
static void start_reports(struct uroce_lcore *lcore, uint64_t ns)
{
	struct engine_away *away = &lcore->away;

	if (away->reported_ns && lcore->now_ns - away->reported_ns < REPORT_NS)
		return;
	away->reported_ns = lcore->now_ns;
	away->report_ms = (uint32_t)RTE_MIN(ns / MS_NS, UINT32_MAX);
	away->reports_left = lcore->engine->index_count / (lcore->engine->lcore_mask + 1);
}

static void send_some_reports(struct uroce_lcore *lcore)
{
	const struct uroce_engine *engine = lcore->engine;
	struct engine_away *away = &lcore->away;

	for (uint32_t sent = 0; away->reports_left && sent < REPORTS_PER_LOOK; away->reports_left--) {
		struct uroce_qp *qp = steer_find(engine, away->report_index * (engine->lcore_mask + 1) + lcore->index);

		away->report_index = (away->report_index + 1) % (engine->index_count / (engine->lcore_mask + 1));
		if (is_connected(qp) && rc_ask_report_away(qp_core(qp), away->report_ms)) {
			run_queue_add(qp);
			sent++;
		}
	}
}

static void log_absences(struct uroce_lcore *lcore)
{
	struct engine_away *away = &lcore->away;
	static const char why[] =
		"the lcore's thread was not scheduled, or was stopped; give the lcore a core of its own";

	if (away->logged_ns && lcore->now_ns - away->logged_ns < LOG_NS)
		return;
	if (away->unlogged == 1)
		engine_log(UROCE_LOG_WARNING, "lcore %u was away for %lu ms: %s", lcore->index,
			   away->longest_ns / MS_NS, why);
	else
		engine_log(UROCE_LOG_WARNING, "lcore %u was away %u times, for up to %lu ms: %s", lcore->index,
			   away->unlogged, away->longest_ns / MS_NS, why);
	away->logged_ns = lcore->now_ns;
	away->unlogged = 0;
	away->longest_ns = 0;
}

void engine_away_look(struct uroce_lcore *lcore)
{
	struct engine_away *away = &lcore->away;
	const struct engine_core_use use = query_core_use(lcore, lcore->now_ns);
	uint64_t ns = away_ns(lcore, &use);

	if (use.starved_ns < away->use.starved_ns) { /* the file is of a thread that has ended; this one has its id */
		engine_away_begin(lcore);
		return;
	}
	away->look_ns = lcore->now_ns + LOOK_NS;
	if (use.sleeps != away->use.sleeps)
		away->slept_ns = lcore->now_ns;
	away->use = use;
	if (ns >= AWAY_NS && has_connected_qp(lcore)) {
		away->count++;
		away->total_ns += ns;
		away->unlogged++;
		away->longest_ns = RTE_MAX(away->longest_ns, ns);
		log_absences(lcore);
		start_reports(lcore, ns);
	}
	send_some_reports(lcore);
}

void engine_away_begin(struct uroce_lcore *lcore)
{
	struct engine_away *away = &lcore->away;

	engine_away_end(lcore);
	away->schedstat_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	away->use = query_core_use(lcore, engine_now_ns());
	away->slept_ns = away->use.at_ns;
	away->look_ns = away->use.at_ns + LOOK_NS;
}

void engine_away_end(struct uroce_lcore *lcore)
{
	if (lcore->away.schedstat_fd >= 0)
		close(lcore->away.schedstat_fd);
	lcore->away.schedstat_fd = -1;
}
