/* end.h - one end of a measurement: a device, and for each case its memory and queue pairs */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. perf_end_open() once
 *   2. for each case: perf_end_prepare(), exchange struct perf_peer, perf_end_connect(), then perf_end_poll() (poll.h)
 *      until perf_end_is_done(); perf_end_finish()
 *   3. perf_end_close()
 * An end belongs to the thread that polls its lcore.
 */
#ifndef APP_PERF_END_H
#define APP_PERF_END_H

#include <uroce/uroce.h>

#include "common/drops.h"
#include "common/ports.h"
#include "perf/case.h"
#include "perf/series.h"

/* What the other end has to know. */
struct perf_peer {
	struct uroce_addr addr;
	struct uroce_addr alternate; /* on the second link, when there is one */
	uint64_t target;             /* address of its target area */
	uint32_t rkey;
	uint32_t *qp_nums, *psns; /* one a flow */
	uint32_t window_count;    /* keys.h */
	uint32_t *window_keys;    /* of its windows before they were bound */
};

/* lat: of a message, counted on with it, for a division would take longer than much of what is measured. */
struct perf_place {
	uint32_t source, target; /* slots */
	uint8_t round;           /* how often the target slots have been used, modulo 255 */
};

/* A QP and the messages on it, numbered from 0. What posting and completing touch is a cache line. */
struct perf_flow {
	_Alignas(64) struct uroce_qp *qp;
	uint64_t posted, completed; /* requests */
	uint32_t slot, done_slot;   /* of the next to post, and to complete: the same, modulo the depth */
	uint64_t goal;              /* requests to post in all */
	uint64_t limit;             /* requests that may be posted before the peer has checked the rest */
	bool has_room;              /* a request has completed: more can be posted */
	bool asked;                 /* the peer was asked to check up to completed */

	uint64_t received, receives_posted;
	uint64_t bound, binds_posted;    /* windows, when SENDs name them: a receive each */
	uint64_t checked;                /* by the peer, when only it can see them */
	struct perf_place next, awaited; /* lat: of the next message to post, and to see */
};

enum perf_phase {
	PHASE_READY, /* not begun */
	PHASE_WARM,  /* running, the clock is not */
	PHASE_MEASURE,
	PHASE_DRAIN, /* nothing more is posted */
	PHASE_DONE
};

struct perf_end;

struct perf_end {
	/* for good */
	struct uroce_lcore *lcore;
	struct uroce_engine *engine; /* of uroce-perf itself; NULL for ends of lcores.h */
	struct app_port *port;
	struct app_port *alternate; /* on the second link; NULL: there is none */
	struct uroce_pd *pd;
	uint32_t way;           /* 0: starts the case; 1: the other */
	struct perf_end *other; /* the other end when it is in this process */

	/* of a case */
	struct perf_case test;
	struct perf_layout layout;
	bool requests; /* sends requests of its own */
	bool responds; /* the peer's requests come here */
	bool awaits;   /* lat: the answer to each of them, and not a message of the peer */
	bool watches;  /* lat: nothing but memory tells of that message */
	uint8_t *memory;
	struct uroce_mr *mr;
	struct uroce_cq *send_cq, *recv_cq;
	struct uroce_srq *srq; /* NULL: each flow has receives of its own */
	struct perf_flow *flows;
	struct uroce_qp **idle;         /* test.idle of them, as far as they exist */
	struct uroce_send_wr *send_wrs; /* depth of them, in a ring, shared by the flows */
	struct uroce_sge *send_sges;
	struct uroce_send_wr *lead_wrs; /* the WRITEs before FLUSHes: one for each of send_wrs; NULL: there are none */
	struct uroce_recv_wr *recv_wrs; /* rx_depth of them */
	struct uroce_sge *recv_sges;
	struct uroce_mw **windows; /* rx_depth of them a flow; NULL: the peer's requests name none */
	uint32_t *window_keys;
	struct uroce_send_wr *bind_wrs; /* rx_depth of them, in a ring */
	struct uroce_mw_bind bind;
	struct perf_peer peer;

	/* of its run */
	enum perf_phase phase;
	struct perf_tally tally;
	struct app_histogram *latency;
	uint64_t completed; /* of all flows */
	uint64_t posted;
	uint64_t seen_completed;                       /* at the last look at the clock */
	struct app_drops drops;                        /* told while nothing completes */
	uint64_t seen_acknowledged;                    /* when last asked for */
	uint64_t now, phase_began, progressed, looked; /* TSC */
	char failure[UROCE_EXPLAIN_BYTES];             /* what ended it first; of one without errors nothing reads it */
	uint64_t measure_began, base_completed, base_frames, base_retransmits, base_rnr_resent;
	uint64_t base_probes, base_rnr_naks;
	uint64_t rx_began, rx_posted; /* a slow receiver: since when it posts, and how many in all */
	struct uroce_recv_wr *taken;  /* of a shared queue: to be posted again, linked */
	uint32_t taken_count;
	double tokens;      /* with a rate: requests that may be posted */
	uint64_t filled;    /* when they were last counted, TSC */
	uint32_t next_flow; /* whose turn it is to post */
	uint64_t window_began, window_completed;
	uint64_t told, told_completed; /* when the last line of progress was printed, and what was counted until then */
	uint64_t told_again, told_probes;
	uint64_t ping_began;
	uint64_t replies; /* lat: messages answered */
	uint32_t polls;
	uint32_t unchecked_flows; /* flows at their limit */
	bool stopped;             /* the peer, or an error, wants no more */

	struct perf_series series; /* bw, unless windows alternate with others; last, for it is large and seldom used */
};

/* 0 or negative errno. */
int perf_end_open(struct perf_end *end, struct app_port *port, struct uroce_lcore *lcore, uint32_t way);

/* Makes everything a case needs and describes it in *own (whose arrays belong to the caller: qps entries each). */
int perf_end_prepare(struct perf_end *end, const struct perf_case *test, struct perf_peer *own);

/* Connects to the peer and posts receives; peer's arrays are only read now. */
int perf_end_connect(struct perf_end *end, const struct perf_peer *peer);

/* Frees what the case needed. */
void perf_end_finish(struct perf_end *end);
void perf_end_close(struct perf_end *end);

/* One complaint for the whole case: the first is the cause. */
void perf_end_fail(struct perf_end *end, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Frames received and sent by the port so far, and a counter of the device by its name. */
uint64_t perf_end_frames(const struct perf_end *end);
uint64_t perf_end_counter(const struct perf_end *end, const char *name);

/* Most messages are counted by their slots already. */
static inline uint64_t slot_of(uint64_t message, uint32_t slots)
{
	return message < slots ? message : message % slots;
}

static inline uint8_t *end_source(const struct perf_end *end, uint32_t flow, uint64_t message)
{
	const struct perf_layout *layout = &end->layout;

	return end->memory + layout->source_at + flow * layout->source_stride +
	       slot_of(message, layout->source_slots) * layout->slot_bytes;
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
