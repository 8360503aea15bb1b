/* modify.c - the state transitions of a QP, and its attributes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/qp.h"

#include <errno.h>

#include "rc/ack.h"
#include "rc/ask.h"
#include "rc/codes.h"
#include "rc/fail.h"
#include "rc/migration.h"
#include "rc/path.h"
#include "rc/ports.h"
#include "rc/report.h"
#include "rc/requester.h"
#include "rc/responder.h"
#include "rc/kept.h"
#include "rc/loss.h"
#include "rc/spread.h"
#include "wire/encap.h"

/*
 * One legal transition, with the attributes that it requires and the attributes that it allows; all others are refused.
 */
struct transition {
	bool legal;
	uint32_t required;
	uint32_t optional;
};

/* start PSN and RNR timer have defaults (P-2, R-2), so they are optional, although verbs require them */
#define RTR_REQUIRED \
	(UROCE_QP_PATH | UROCE_QP_PATH_MTU | UROCE_QP_DEST_QPN | UROCE_QP_RQ_PSN | UROCE_QP_MAX_DEST_RD_ATOMIC)
#define RTS_REQUIRED (UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | UROCE_QP_MAX_RD_ATOMIC)
#define RTR_OPTIONAL                                                                                                \
	(UROCE_QP_SQ_PSN | UROCE_QP_ACCESS_FLAGS | UROCE_QP_MIN_RNR_TIMER | UROCE_QP_PKEY | UROCE_QP_FLOW_CONTROL | \
	 UROCE_QP_ALT_PATH | UROCE_QP_CC | UROCE_QP_SACK_WINDOW | UROCE_QP_PATHS)
#define RTS_OPTIONAL (RUNNING | UROCE_QP_SQ_PSN | UROCE_QP_FLOW_CONTROL)
#define RUNNING                                                                                         \
	(UROCE_QP_ACCESS_FLAGS | UROCE_QP_MIN_RNR_TIMER | UROCE_QP_ALT_PATH | UROCE_QP_PATH_MIG_STATE | \
	 UROCE_QP_IMPRECISE_ERRORS | UROCE_QP_NO_PROBE | UROCE_QP_KEEPALIVE | UROCE_QP_READ_REPAIR)
#define DRAINED                                                                                                 \
	(RUNNING | UROCE_QP_PATH | UROCE_QP_PKEY | UROCE_QP_TIMEOUT | UROCE_QP_RETRY_CNT | UROCE_QP_RNR_RETRY | \
	 UROCE_QP_MAX_RD_ATOMIC | UROCE_QP_MAX_DEST_RD_ATOMIC)

static const struct transition transitions[UROCE_QP_STATES][UROCE_QP_STATES] = {
	[UROCE_QPS_RESET] = {
		[UROCE_QPS_RESET] = { .legal = true },
		[UROCE_QPS_INIT] = { .legal = true, .required = UROCE_QP_ACCESS_FLAGS, .optional = UROCE_QP_PKEY },
	},
	[UROCE_QPS_INIT] = {
		[UROCE_QPS_RESET] = { .legal = true },
		[UROCE_QPS_INIT] = { .legal = true, .optional = UROCE_QP_ACCESS_FLAGS | UROCE_QP_PKEY },
		[UROCE_QPS_RTR] = { .legal = true, .required = RTR_REQUIRED, .optional = RTR_OPTIONAL },
		[UROCE_QPS_ERR] = { .legal = true },
	},
	[UROCE_QPS_RTR] = {
		[UROCE_QPS_RESET] = { .legal = true },
		[UROCE_QPS_RTS] = { .legal = true, .required = RTS_REQUIRED, .optional = RTS_OPTIONAL },
		[UROCE_QPS_ERR] = { .legal = true },
	},
	[UROCE_QPS_RTS] = {
		[UROCE_QPS_RESET] = { .legal = true },
		[UROCE_QPS_RTS] = { .legal = true, .optional = RUNNING },
		[UROCE_QPS_SQD] = { .legal = true },
		[UROCE_QPS_ERR] = { .legal = true },
	},
	[UROCE_QPS_SQD] = {
		[UROCE_QPS_RESET] = { .legal = true },
		[UROCE_QPS_RTS] = { .legal = true, .optional = RUNNING },
		[UROCE_QPS_SQD] = { .legal = true, .optional = DRAINED },
		[UROCE_QPS_ERR] = { .legal = true },
	},
	[UROCE_QPS_ERR] = {
		[UROCE_QPS_RESET] = { .legal = true },
		[UROCE_QPS_ERR] = { .legal = true },
	},
};

static bool path_is_bad(const struct uroce_path *path)
{
	return path->flow_label > 0xFFFFF ||
	       encap_addr_is_ipv4(path->source.bytes) != encap_addr_is_ipv4(path->dest.bytes);
}

/*
 * Is the new alternate path the path in use? A packet that asks to migrate must not look like a packet along the path
 * in use.
 */
static bool is_path_in_use(const struct rc_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask)
{
	const struct uroce_path *path = mask & UROCE_QP_PATH ? &attr->path : &qp->path;
	const struct uroce_path *alternate = mask & UROCE_QP_ALT_PATH ? &attr->alt_path : &qp->alternate.path;
	uint16_t pkey = mask & UROCE_QP_PKEY ? attr->pkey : qp->pkey;
	uint16_t alternate_pkey = mask & UROCE_QP_ALT_PATH ? attr->alt_pkey : qp->alternate.pkey;

	return path_is_same(path, alternate) && ((pkey ^ alternate_pkey) & 0x7FFF) == 0;
}

static bool alternate_is_bad(const struct rc_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask)
{
	return path_is_bad(&attr->alt_path) || (attr->alt_pkey & 0x7FFF) == 0 || attr->alt_timeout > 31 ||
	       is_path_in_use(qp, attr, mask);
}

/* Is the new path the alternate path that is loaded? */
static bool becomes_alternate(const struct rc_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask)
{
	return qp->alternate.loaded && !(mask & UROCE_QP_ALT_PATH) && is_path_in_use(qp, attr, mask);
}

/* Only the peer's packets lead to ARMED, and REARM needs an alternate path. */
static bool migration_is_bad(const struct rc_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask)
{
	bool loaded = qp->alternate.loaded || (mask & UROCE_QP_ALT_PATH);

	if (attr->path_mig_state == UROCE_PATH_REARM)
		return !loaded;
	/*
	 * While this QP is in REARM the peer may already be armed, and would take MigReq 1 on this path for an error
	 * (A-6)
	 */
	return attr->path_mig_state != UROCE_PATH_MIGRATED || qp->migration.state == UROCE_PATH_REARM;
}

/* Packets over several paths overtake each other, so both ends have to have agreed to SACKs (W-10). */
static bool paths_are_bad(const struct uroce_qp_attr *attr, uint32_t mask)
{
	return attr->paths > 1 && (attr->paths < SPREAD_LEAST || attr->paths > SPREAD_MOST ||
				   !(mask & UROCE_QP_SACK_WINDOW) || attr->sack_window == 0);
}

/* Returns the first attribute of mask whose value is out of range; 0 if all are right. */
static uint32_t find_bad_value(const struct rc_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask)
{
	const uint32_t remote = UROCE_ACCESS_REMOTE_WRITE | UROCE_ACCESS_REMOTE_READ | UROCE_ACCESS_REMOTE_ATOMIC |
				UROCE_ACCESS_FLUSH_GLOBAL | UROCE_ACCESS_FLUSH_PERSISTENT;
	const struct {
		uint32_t bit;
		bool bad;
	} checks[] = {
		{ UROCE_QP_ACCESS_FLAGS, (attr->access_flags & ~(remote | UROCE_ACCESS_LOCAL_WRITE)) != 0 },
		{ UROCE_QP_PKEY, (attr->pkey & 0x7FFF) == 0 },
		{ UROCE_QP_PATH_MTU, !mtu_is_valid(attr->path_mtu) || attr->path_mtu > qp->max_mtu_bytes },
		{ UROCE_QP_DEST_QPN, attr->dest_qp_num < 2 || attr->dest_qp_num > PSN_MASK },
		{ UROCE_QP_RQ_PSN, attr->rq_psn > PSN_MASK },
		{ UROCE_QP_SQ_PSN, attr->sq_psn > PSN_MASK },
		{ UROCE_QP_MAX_RD_ATOMIC, attr->max_rd_atomic > LIMIT_RD_ATOMIC },
		{ UROCE_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic > qp->replay.limit },
		{ UROCE_QP_MIN_RNR_TIMER, attr->min_rnr_timer > 31 },
		{ UROCE_QP_TIMEOUT, attr->timeout > 31 },
		{ UROCE_QP_RETRY_CNT, attr->retry_cnt > 7 },
		{ UROCE_QP_RNR_RETRY, attr->rnr_retry > 7 },
		{ UROCE_QP_READ_REPAIR, attr->read_repair > UROCE_READ_REPAIR_ANY_ORDER },
		{ UROCE_QP_CC, attr->cc >= UROCE_CC_ALGORITHMS },
		{ UROCE_QP_SACK_WINDOW, !sack_window_is_valid(attr->sack_window) },
		{ UROCE_QP_PATHS, paths_are_bad(attr, mask) },
		{ UROCE_QP_PATH, path_is_bad(&attr->path) || becomes_alternate(qp, attr, mask) },
		{ UROCE_QP_PKEY, becomes_alternate(qp, attr, mask) },
		{ UROCE_QP_ALT_PATH, alternate_is_bad(qp, attr, mask) },
		{ UROCE_QP_PATH_MIG_STATE, migration_is_bad(qp, attr, mask) },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if ((mask & checks[i].bit) && checks[i].bad)
			return checks[i].bit;
	}
	return 0;
}

static void apply_values(struct rc_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask)
{
	if (mask & UROCE_QP_ACCESS_FLAGS)
		qp->access = attr->access_flags;
	if (mask & UROCE_QP_PKEY)
		qp->pkey = attr->pkey;
	if (mask & UROCE_QP_PATH_MTU) {
		qp->mtu_bytes = attr->path_mtu;
		qp->mtu_shift = (uint8_t)__builtin_ctz(attr->path_mtu);
	}
	if (mask & UROCE_QP_DEST_QPN)
		qp->dest_qpn = attr->dest_qp_num;
	if (mask & UROCE_QP_RQ_PSN)
		qp->rq_psn = psn_make(attr->rq_psn);
	if (mask & UROCE_QP_SQ_PSN)
		qp->sq_psn = psn_make(attr->sq_psn);
	if (mask & UROCE_QP_MAX_RD_ATOMIC) {
		requester_set_depth(qp, attr->max_rd_atomic);
		sendwin_refuse_rd_atomic(&qp->win, attr->max_rd_atomic == 0);
	}
	if (mask & UROCE_QP_MAX_DEST_RD_ATOMIC) {
		qp->max_dest_rd_atomic = attr->max_dest_rd_atomic;
		rc_replay_set_depth(&qp->replay, attr->max_dest_rd_atomic);
	}
	if (mask & UROCE_QP_MIN_RNR_TIMER)
		responder_set_rnr_timer(qp, attr->min_rnr_timer);
	if (mask & UROCE_QP_TIMEOUT) {
		qp->timeout = attr->timeout;
		rc_loss_set_timeout(qp, rc_codes_timeout_ns(attr->timeout));
	}
	if (mask & UROCE_QP_RETRY_CNT)
		rc_loss_set_retry_count(qp, attr->retry_cnt);
	if (mask & UROCE_QP_RNR_RETRY)
		rc_loss_set_rnr_count(qp, attr->rnr_retry);
	if (mask & UROCE_QP_PATH)
		qp_take_path(qp, &attr->path);
	if (mask & UROCE_QP_FLOW_CONTROL)
		qp_set_flow_control(qp, attr->flow_control);
	if (mask & UROCE_QP_IMPRECISE_ERRORS)
		qp->imprecise_errors = attr->imprecise_errors;
	if (mask & UROCE_QP_NO_PROBE)
		ask_set_probes(qp, !attr->no_probe);
	if (mask & UROCE_QP_READ_REPAIR)
		qp->read_repair = attr->read_repair;
	if (mask & UROCE_QP_SACK_WINDOW)
		rc_kept_agree(qp, attr->sack_window);
	if (mask & UROCE_QP_PATHS)
		rc_spread_over(qp, attr->paths);
	if (mask & UROCE_QP_CC)
		rc_cc_choose(qp, (enum uroce_cc)attr->cc);
	if (mask & UROCE_QP_KEEPALIVE)
		rc_ask_set_interval(qp, attr->keepalive_ms);
	if (mask & UROCE_QP_ALT_PATH)
		rc_migration_load(qp, attr);
	qp_note_bth(qp);
	if ((mask & UROCE_QP_PATH_MIG_STATE) && rc_migration_modify(qp, attr->path_mig_state))
		rc_loss_path_left(qp);
}

/* What entering a state does besides setting the attributes `given`. */
static void enter_state(struct rc_qp *qp, enum uroce_qp_state from, enum uroce_qp_state to, uint32_t given)
{
	if (to == UROCE_QPS_RESET) {
		rc_qp_forget(qp);
	} else if (from == UROCE_QPS_INIT && to == UROCE_QPS_RTR) {
		responder_begin(qp, qp->rq_psn);
		if (given & UROCE_QP_SQ_PSN)
			rc_ports_expect(qp);
	} else if (from == UROCE_QPS_RTR && to == UROCE_QPS_RTS) {
		rc_sendwin_reset(&qp->win, qp->sq_psn);
		rc_cc_reset(qp);
		rc_ports_expect(qp);
	} else if (from == UROCE_QPS_RTS && to == UROCE_QPS_SQD) {
		report_drain(qp);
	} else if (to == UROCE_QPS_ERR) {
		rc_fail_stop_requests(qp);
		rc_replay_reset(&qp->replay, qp->max_dest_rd_atomic);
		ack_forget(&qp->responder.ack);
		rc_qp_return_boards(qp); /* nothing is answered any more */
	}
	qp_set_state(qp, to);
	sendwin_set_post_state(&qp->win, (uint8_t)to);
}

int rc_qp_modify(struct rc_qp *qp, const struct uroce_qp_attr *attr, uint32_t mask, uint32_t *bad_mask)
{
	enum uroce_qp_state from = (enum uroce_qp_state)qp->state;
	enum uroce_qp_state to = mask & UROCE_QP_STATE ? attr->qp_state : from;
	const struct transition *transition;
	uint32_t given = mask & ~(uint32_t)UROCE_QP_STATE;
	uint32_t bad = UROCE_QP_STATE;

	if ((uint32_t)to < UROCE_QP_STATES && transitions[from][to].legal) {
		transition = &transitions[from][to];
		bad = transition->required & ~given;
		if (bad == 0)
			bad = given & ~(transition->required | transition->optional);
		if (bad == 0)
			bad = find_bad_value(qp, attr, given);
	}
	if (bad) {
		if (bad_mask)
			*bad_mask = bad & -bad;
		return -EINVAL;
	}
	if ((given & UROCE_QP_PATH_MIG_STATE) && attr->path_mig_state == UROCE_PATH_REARM &&
	    !rc_migration_may_rearm(qp)) {
		if (bad_mask)
			*bad_mask = UROCE_QP_PATH_MIG_STATE;
		return -EAGAIN;
	}
	apply_values(qp, attr, given);
	rc_responder_enable(qp);
	if (to != from)
		enter_state(qp, from, to, given);
	if (to == UROCE_QPS_RTS || to == UROCE_QPS_SQD)
		/*
		 * software waits for the drain, and the timer of an ACK request that was put off may have been stopped
		 */
		ask_hurry(qp);
	return 0;
}

void rc_qp_query(const struct rc_qp *qp, struct uroce_qp_attr *attr)
{
	*attr = (struct uroce_qp_attr){
		.qp_state = (enum uroce_qp_state)qp->state,
		.access_flags = qp->access,
		.pkey = qp->pkey,
		.path_mtu = qp->mtu_bytes,
		.dest_qp_num = qp->dest_qpn,
		.rq_psn = qp->rq_psn.v,
		.sq_psn = qp->sq_psn.v,
		.max_rd_atomic = qp->requester.max_rd_atomic,
		.max_dest_rd_atomic = qp->max_dest_rd_atomic,
		.min_rnr_timer = qp->responder.min_rnr_timer,
		.timeout = qp->timeout,
		.retry_cnt = qp->loss.retry_cnt,
		.rnr_retry = qp->loss.rnr_retry,
		.path = qp->path,
		.flow_control = qp->flow_control,
		.imprecise_errors = qp->imprecise_errors,
		.no_probe = !qp->ask.probes,
		.read_repair = qp->read_repair,
		.cc = (uint8_t)rc_cc_chosen(qp),
		.sack_window = qp->kept.window,
		.paths = (uint8_t)rc_spread_count(qp),
		.rate_mbps = qp->pace.mbps,
		.keepalive_ms = qp->keepalive.interval_ms,
		.alt_path = qp->alternate.path,
		.alt_pkey = qp->alternate.pkey,
		.alt_timeout = qp->alternate.timeout,
		.path_mig_state = (enum uroce_path_mig_state)qp->migration.state,
	};
}
