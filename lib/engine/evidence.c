/* evidence.c - collects what was seen around a queue pair when it failed, and has it judged */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "engine/evidence.h"

#include <string.h>

#include "engine/device_state.h"
#include "engine/finding.h"
#include "engine/history.h"
#include "engine/qp.h"
#include "engine/resolve.h"
#include "engine/steer.h"
#include "rc/qp.h"

/* The port as it is now. */
static struct engine_moment look(const struct engine_port *port, uint64_t now_ns)
{
	struct engine_moment moment = {
		.at_ns = now_ns,
		.away_ns = port->lcore->away.total_ns,
		.tx_frames = port->tx_frames,
		.link_downs = atomic_load_explicit(&port->device->link_downs, memory_order_relaxed),
	};

	memcpy(moment.counters, port->counters + CNT_QP_COUNTERS, sizeof(moment.counters));
	return moment;
}

void engine_evidence_keep(struct engine_port *port, uint64_t now_ns)
{
	struct engine_moment moment;

	if (now_ns < port->history.next_ns)
		return;
	moment = look(port, now_ns);
	engine_history_keep(&port->history, &moment);
}

/* Judges a silence of so long. The path leads through the port. */
static enum uroce_finding judge(struct uroce_lcore *lcore, const struct engine_port *port,
				const struct uroce_path *path, enum uroce_cause cause, uint64_t silence_ns)
{
	struct uroce_device *device = port->device;
	uint64_t since_ns = lcore->now_ns - silence_ns;
	const struct engine_moment *then = engine_history_find(&port->history, since_ns);
	struct engine_facts facts = {
		.cause = cause,
		.link_is_down = atomic_load(&device->link_down),
		.frames_wait = port->pending_count > 0,
		.silence_ns = silence_ns,
		.now = look(port, lcore->now_ns),
		.ping = engine_pings_result(&device->pings, &path->dest, path->vlan_id, since_ns, lcore->now_ns),
	};

	if (then)
		facts.then = *then;
	return engine_finding_judge(&facts);
}

/* How long the QP had no answer. Who waits for a MAC has sent nothing yet, and so has no time of its first packet. */
static uint64_t silence_of(const struct uroce_qp_error *error)
{
	return error->cause == UROCE_CAUSE_UNRESOLVED ? UNRESOLVED_NS : error->elapsed_us * 1000ull;
}

void engine_evidence_judge_qp(struct uroce_lcore *lcore, struct uroce_qp *qp)
{
	struct uroce_qp_error error;
	const struct engine_port *port;

	rc_qp_last_error(qp_core(qp), &error);
	port = error.path.device ? engine_find_port(lcore, error.path.device) : NULL;
	if (error.status == UROCE_WC_SUCCESS || error.responder || port == NULL)
		return;
	rc_qp_found(qp_core(qp), (uint8_t)judge(lcore, port, &error.path, error.cause, silence_of(&error)));
}

uint8_t engine_evidence_so_far(const struct uroce_qp *qp)
{
	const struct rc_qp *rc = qp_core(qp);

	if (rc->state != UROCE_QPS_RTS || rc->loss.since_ns == 0 || rc->loss.retries_left == rc->loss.retry_cnt ||
	    qp->port == NULL || !qp->resolved)
		return UROCE_FINDING_NONE;
	return (uint8_t)judge(qp->owner, qp->port, &rc->path, UROCE_CAUSE_TIMEOUT,
			      qp->owner->now_ns - rc->loss.since_ns);
}

void engine_evidence_judge(struct uroce_lcore *lcore)
{
	struct rc_outbox *out = &lcore->out;

	out->has_failure = false;
	for (uint32_t i = 0; i < out->completion_count; i++) {
		struct uroce_wc *wc = &out->completions[i];
		struct uroce_qp *qp;
		struct uroce_qp_error error;

		if (wc->status == UROCE_WC_SUCCESS || wc->status == UROCE_WC_WR_FLUSH_ERR)
			continue;
		qp = steer_lookup(lcore->engine, wc->qp_num);
		if (qp == NULL)
			continue;
		engine_evidence_judge_qp(lcore, qp);
		rc_qp_last_error(qp_core(qp), &error);
		if (error.psn == wc->psn && error.cause == wc->vendor_err)
			wc->finding = error.finding;
	}
}
