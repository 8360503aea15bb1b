/* end.h - one end of a measurement: a device, and for each case memory and queue pairs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. perf_end_open() once
 *   2. for each case: perf_setup_prepare(), exchange struct perf_peer, perf_setup_connect() (setup.h), then
 *      perf_end_poll() (poll.h) until perf_end_is_done(); perf_setup_finish()
 *   3. perf_end_close()
 * An end belongs to the thread that polls its lcore.
 */
#ifndef APP_PERF_END_H
#define APP_PERF_END_H

#include <uroce/uroce.h>

#include "common/ports.h"
#include "perf/case.h"
#include "perf/series.h"

/* What one end has to tell the other. */
struct perf_peer {
	struct uroce_addr addr;
	struct uroce_addr alternate; /* address on the second link, if there is one */
	uint64_t target;             /* address of its target area */
	uint32_t rkey;
	uint32_t *qp_nums, *psns; /* one a flow */
	uint32_t window_count;    /* for SENDs with invalidate (keys.h) */
	uint32_t *window_keys;    /* keys of the windows before they were bound */
};

/* lat: the slots of a message. They are counted up from message to message, because a division takes too long here. */
struct perf_place {
	uint32_t source, target; /* indexes of slots */
	uint8_t round;           /* how often the target slots have been used, modulo 255 */
};

/* A QP and its messages, numbered from 0. Posting and completing touch only one cache line of it. */
struct perf_flow {
	_Alignas(64) struct uroce_qp *qp;
	uint64_t posted, completed; /* requests */
	uint32_t slot, done_slot;   /* posted and completed modulo the depth */
	uint64_t goal;              /* how many requests to post in all */
	uint64_t limit;             /* how many messages may be posted before the peer has checked the earlier ones */
	bool has_room;              /* a request has completed, so more can be posted */
	bool asked;                 /* the peer was asked to check completed messages, and has not answered */

	uint64_t received, receives_posted;
	uint64_t bound, binds_posted;    /* numbers of windows, if SENDs name windows: one for each receive */
	uint64_t checked;                /* messages that the peer has checked, if only the peer sees them */
	struct perf_place next, awaited; /* lat: places of the next message to post, and of the next to arrive */
};

enum perf_phase {
	PHASE_READY, /* not begun */
	PHASE_WARM,  /* running, but the clock has not started */
	PHASE_MEASURE,
	PHASE_DRAIN, /* nothing is posted any more */
	PHASE_DONE
};

struct perf_end;

struct perf_end {
	/* set by perf_end_open() */
	struct uroce_lcore *lcore;
	struct uroce_engine *engine; /* the engine of uroce-perf; NULL for ends of lcores.h */
	struct app_port *port;
	struct app_port *alternate; /* port of the second link; NULL: there is none */
	struct uroce_pd *pd;
	uint32_t way;           /* 0: the end that starts the case; 1: the other */
	struct perf_end *other; /* the other end when it is in this process */

	/* kept from case to case */
	struct app_histogram *latency; /* lat; NULL: there was no case in lat mode yet */
	struct app_drops drops;        /* printed while nothing completes */

	/* what belongs to the current case */
	struct perf_case test;
	struct perf_layout layout;
	bool requests; /* sends requests of its own */
	bool responds; /* the peer's requests come here */
	bool awaits;   /* lat: an answer completes each request, so no message of the peer is awaited */
	bool watches;  /* lat: only memory shows that the peer's message has come */
	uint8_t *memory;
	struct uroce_mr *mr;
	struct uroce_cq *send_cq, *recv_cq;
	struct uroce_srq *srq; /* NULL: each flow has its own receive queue */
	struct perf_flow *flows;
	struct uroce_qp **idle;         /* idle QPs, as many as have been created */
	struct uroce_send_wr *send_wrs; /* depth requests, as a ring, shared by the flows */
	struct uroce_sge *send_sges;
	struct uroce_send_wr *lead_wrs; /* the WRITEs before FLUSHes, one for each of send_wrs; NULL: none */
	struct uroce_recv_wr *recv_wrs; /* rx_depth of them */
	struct uroce_sge *recv_sges;
	struct uroce_mw **windows; /* rx_depth windows for each flow; NULL: the peer's requests name no windows */
	uint32_t *window_keys;
	struct uroce_send_wr *bind_wrs; /* rx_depth of them, in a ring */
	struct uroce_mw_bind bind;
	struct perf_peer peer;

	/* what belongs to the run of the case: from here on zeros at first */
	enum perf_phase phase;
	struct perf_tally tally;
	uint64_t completed; /* requests of all flows that have completed */
	uint64_t posted;
	uint64_t seen_completed;                       /* at the last look at the clock */
	uint64_t seen_acknowledged;                    /* when last asked for */
	uint64_t now, phase_began, progressed, looked; /* TSC */
	char failure[UROCE_EXPLAIN_BYTES];             /* what ended the case; only valid with errors */
	uint64_t measure_began, base_completed, base_frames;
	struct perf_tally base;       /* the device's counters when the case began */
	uint64_t rx_began, rx_posted; /* slow receiver: since when it posts receives, and how many it has posted */
	struct uroce_recv_wr *taken;  /* shared queue: entries to be posted again, as a list */
	uint32_t taken_count;
	double tokens;      /* with a rate: how many requests may be posted */
	uint64_t filled;    /* when tokens were last added, TSC */
	uint32_t next_flow; /* the flow that posts next */
	uint64_t window_began, window_completed;
	uint64_t told, told_completed; /* when progress was last printed, and how many messages had completed */
	uint64_t told_again, told_probes, told_acknowledged;
	uint64_t ping_began;
	uint64_t replies; /* lat: messages that were answered */
	uint32_t polls;
	uint32_t unchecked_flows; /* flows that wait for checks */
	bool knows_acknowledged;  /* told_acknowledged is of this second */
	bool unreachable;         /* the failure was that the peer answered nothing */
	bool stopped;             /* no more posts: the peer has asked to stop, or there was an error */

	/* bw: messages over time, unless windows alternate; the last member because it is large */
	struct perf_series series;
};

/* Returns APP_EXIT_OK, or the exit code after a complaint. */
int perf_end_open(struct perf_end *end, struct app_port *port, struct uroce_lcore *lcore, uint32_t way);

void perf_end_close(struct perf_end *end);

/* Complains once for the whole case: the first failure is the cause. */
void perf_end_fail(struct perf_end *end, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same, with an explanation of the completion behind `what`. */
void perf_end_fail_by(struct perf_end *end, const struct uroce_wc *wc, const char *what);

/*
 * Has an interrupted run, or a run with a slow receiver, waited long enough for outstanding requests? drain_began: TSC.
 */
bool perf_end_gives_up(const struct perf_end *end, uint64_t drain_began);

/* Frames received and sent by the port so far, and a counter of the device by its name. */
uint64_t perf_end_frames(const struct perf_end *end);
uint64_t perf_end_counter(const struct perf_end *end, const char *name);

/* message modulo slots; usually message is smaller. */
static inline uint64_t slot_of(uint64_t message, uint32_t slots)
{
	return message < slots ? message : message % slots;
}

static inline uint8_t *end_source(const struct perf_end *end, uint32_t flow, uint64_t message)
{
	const struct perf_layout *layout = &end->layout;

	return end->memory + flow * layout->source_stride + slot_of(message, layout->source_slots) * layout->slot_bytes;
}

static inline uint64_t layout_target(const struct perf_layout *layout, uint32_t flow, uint64_t message)
{
	return flow * layout->target_stride + slot_of(message, layout->target_slots) * layout->slot_bytes;
}

static inline uint8_t *end_target(const struct perf_end *end, uint32_t flow, uint64_t message)
{
	return end->memory + end->layout.target_at + layout_target(&end->layout, flow, message);
}

static inline uint8_t *end_inbox(const struct perf_end *end, uint32_t flow, uint64_t message)
{
	const struct perf_layout *layout = &end->layout;

	return end->memory + layout->inbox_at + flow * layout->inbox_stride +
	       message % layout->inbox_slots * layout->slot_bytes;
}

static inline bool perf_end_is_done(const struct perf_end *end)
{
	return end->phase == PHASE_DONE;
}

#endif
