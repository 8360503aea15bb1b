/* report.c - failures, completions and events, in the order that the application may rely on (Q-6, E-1) */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/report.h"

#include "rc/outbox.h"
#include "rc/srq.h"

/* ---- failures (E-4) ---- */

static void record(struct rc_qp *qp, uint8_t status, uint8_t cause, psn_t psn, uint32_t retries)
{
	qp->failure.error = (struct uroce_qp_error){
		.status = status,
		.cause = cause,
		.psn = psn.v,
		.aeth = qp->last_aeth,
		.retries = retries,
		.path_index = qp->migration.count - qp->migration.count_at_reset,
		.path = qp->path,
	};
}

static uint32_t spent_retries(const struct rc_loss *loss)
{
	return (uint32_t)(loss->retry_cnt - loss->retries_left);
}

void rc_report_send_failed(struct rc_qp *qp, uint8_t status, uint8_t cause)
{
	const struct rc_loss *loss = &qp->loss;

	record(qp, status, cause, qp->win.snd_una,
	       cause == UROCE_CAUSE_RNR ? (uint32_t)(loss->rnr_retry - loss->rnr_left) : spent_retries(loss));
	qp->report.send_failed = true;
}

/* Sets the time of a failure, which says how long the oldest packet has waited. */
static void note_time(struct rc_qp *qp, uint64_t now_ns)
{
	qp->failure.error.elapsed_us = qp->loss.since_ns ? (uint32_t)((now_ns - qp->loss.since_ns) / 1000) : 0;
}

void rc_report_idle_failed(struct rc_qp *qp, uint8_t status, uint8_t cause, uint64_t now_ns)
{
	record(qp, status, cause, psn_previous(qp->win.snd_una), spent_retries(&qp->loss));
	note_time(qp, now_ns);
}

void rc_report_responder_failed(struct rc_qp *qp, uint8_t status, uint8_t cause, psn_t psn)
{
	record(qp, status, cause, psn, 0);
	qp->failure.error.responder = true;
}

void rc_report_reset(struct rc_qp *qp)
{
	qp->report = (struct rc_report){ 0 };
	qp->failure = (struct rc_failure){ 0 };
}

void rc_report_found(struct rc_qp *qp, uint8_t finding)
{
	struct uroce_qp_error *error = &qp->failure.error;

	if (error->status != UROCE_WC_SUCCESS && !error->responder && error->finding == UROCE_FINDING_NONE)
		error->finding = finding;
}

static void explain(struct uroce_wc *wc, const struct uroce_qp_error *error, struct rc_outbox *out)
{
	out->has_failure = true;
	wc->finding = error->finding;
	wc->vendor_err = error->cause;
	wc->psn = error->psn;
	wc->aeth = error->aeth;
	wc->retries = error->retries;
	wc->elapsed_us = error->elapsed_us;
	wc->path = error->path_index;
}

/* ---- completions ---- */

static struct uroce_wc *add_completion(struct rc_qp *qp, void *cq, uint64_t wr_id, uint8_t opcode, uint8_t status,
				       struct rc_outbox *out)
{
	struct uroce_wc *wc = outbox_add_completion(out, cq);

	*wc = (struct uroce_wc){
		.wr_id = wr_id,
		.status = status,
		.opcode = opcode,
		.qp_num = qp->qpn,
		.qp_context = qp->context,
	};
	return wc;
}

static struct uroce_wc *add_send_completion(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint8_t status,
					    struct rc_outbox *out)
{
	struct uroce_wc *wc = add_completion(qp, qp->send_cq, wqe->wr_id, rc_ops[wqe->opcode].completion, status, out);

	wc->byte_len = wqe->length_bytes;
	return wc;
}

bool rc_report_answered(struct rc_qp *qp, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;

	while (win->head != win->acked) {
		const struct rc_send_wqe *wqe = sendwin_slot(win, win->head);

		if (!(wqe->flags & UROCE_SEND_SIGNALED)) {
			/* the application gets the slot back with the next request that has a completion */
			sendwin_finish(win);
			continue;
		}
		if (!outbox_has_completion_room(out))
			return true;
		add_send_completion(qp, wqe, UROCE_WC_SUCCESS, out);
		sendwin_finish(win);
		sendwin_free_slots(win);
	}
	return false;
}

static void report_failed_send(struct rc_qp *qp, struct rc_outbox *out)
{
	const struct uroce_qp_error *error = report_failure(qp);
	struct uroce_wc *wc = add_send_completion(qp, sendwin_slot(&qp->win, qp->win.head), error->status, out);

	explain(wc, error, out);
	qp->counters[CNT_REQ_CQE_ERROR]++;
	qp->report.send_failed = false;
}

/*
 * E-6, E-1: the failed request completes even if it asked for no completion (E-9), then the requests behind it are
 * flushed.
 */
static bool flush_sends(struct rc_qp *qp, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;

	sendwin_take_posted(win);
	while (win->head != win->tail) {
		if (!outbox_has_completion_room(out))
			return true;
		if (qp->report.send_failed) {
			report_failed_send(qp, out);
		} else {
			add_send_completion(qp, sendwin_slot(win, win->head), UROCE_WC_WR_FLUSH_ERR, out)->vendor_err =
				UROCE_CAUSE_FLUSHED;
			qp->counters[CNT_REQ_CQE_FLUSH_ERROR]++;
		}
		sendwin_flush(win);
		sendwin_free_slots(win);
	}
	return false;
}

/* E-6: receives are flushed also when a send request has failed. */
static bool flush_receives(struct rc_qp *qp, struct rc_outbox *out)
{
	struct rc_report *report = &qp->report;
	struct rc_recv_wqe *wqe;

	while ((wqe = recvq_peek(&qp->recvq)) != NULL) {
		uint8_t status = report->recv_failed ? report_failure(qp)->status : (uint8_t)UROCE_WC_WR_FLUSH_ERR;
		struct uroce_wc *wc;

		if (!outbox_has_completion_room(out))
			return true;
		wc = add_completion(qp, qp->recv_cq, wqe->wr_id, UROCE_WC_RECV, status, out);
		wc->vendor_err = UROCE_CAUSE_FLUSHED;
		if (report->recv_failed)
			explain(wc, report_failure(qp), out);
		qp->counters[report->recv_failed ? CNT_RESP_CQE_ERROR : CNT_RESP_CQE_FLUSH_ERROR]++;
		report->recv_failed = false;
		recvq_pop(&qp->recvq);
	}
	return false;
}

/* A failure is the last thing that happens to a QP, so its events come after the others. */
#define FROM_FAILURES                                                                                  \
	(1u << UROCE_EVENT_QP_FATAL | 1u << UROCE_EVENT_QP_REQ_ERR | 1u << UROCE_EVENT_QP_ACCESS_ERR | \
	 1u << UROCE_EVENT_QP_LAST_WQE_REACHED | 1u << UROCE_EVENT_ANOMALY)

/* How long the peer was silent when a keep-alive ended the QP; 0: something else did. */
static uint64_t silent_us(const struct rc_qp *qp)
{
	const struct uroce_qp_error *error = report_failure(qp);

	return error->cause == UROCE_CAUSE_KEEPALIVE ? error->elapsed_us : 0;
}

static bool raise_events(struct rc_qp *qp, struct rc_outbox *out)
{
	while (qp->report.events) {
		uint32_t before = qp->report.events & ~FROM_FAILURES;
		uint32_t type = (uint32_t)__builtin_ctz(before ? before : qp->report.events);

		if (out->event_count == OUTBOX_EVENTS)
			return true;
		out->events[out->event_count++] = (struct uroce_event){
			.type = type,
			.qp_num = qp->qpn,
			.qp_context = qp->context,
			.silent_us = type == UROCE_EVENT_QP_FATAL ? silent_us(qp) : 0,
		};
		qp->report.events &= ~(1u << type);
	}
	return false;
}

/*
 * Raises the limit event of a shared queue (M-4), from the first QP that sees the limit reached and has room for an
 * event.
 */
static bool raise_srq_limit(struct rc_qp *qp, struct rc_outbox *out)
{
	if (out->event_count == OUTBOX_EVENTS)
		return true;
	if (rc_srq_limit_reached(qp->recvq.srq))
		out->events[out->event_count++] = (struct uroce_event){
			.type = UROCE_EVENT_SRQ_LIMIT_REACHED,
			.qp_num = qp->qpn, /* the host finds the device by this QP, though the event concerns no QP */
			.srq = qp->recvq.srq->handle,
		};
	return false;
}

/* A QP in ERR takes nothing more from its shared queue, and its own entry has been flushed (M-4). */
static void notice_last_receive(struct rc_qp *qp)
{
	if (qp->recvq.srq == NULL || qp->report.last_taken)
		return;
	qp->report.last_taken = true;
	report_raise(qp, UROCE_EVENT_QP_LAST_WQE_REACHED);
}

static void notice_drained(struct rc_qp *qp)
{
	struct rc_sendwin *win = &qp->win;

	if (qp->report.drained || win->started != win->acked || !psn_equal(win->snd_una, win->snd_max))
		return;
	qp->report.drained = true;
	report_raise(qp, UROCE_EVENT_SQ_DRAINED);
}

bool rc_report_run(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	bool shared = qp->recvq.srq != NULL;

	if (qp->report.send_failed)
		note_time(qp, now_ns); /* what has failed the request did not know the time */
	if (rc_report_answered(qp, out))
		return true;
	if (qp->state == UROCE_QPS_ERR) {
		if (flush_sends(qp, out) || flush_receives(qp, out))
			return true;
		notice_last_receive(qp);
	}
	if (qp->state == UROCE_QPS_SQD)
		notice_drained(qp);
	/* events come after the completions that they announce (V-1) */
	return raise_events(qp, out) || (shared && raise_srq_limit(qp, out));
}

void rc_report_receive(struct rc_qp *qp, struct rc_recv_wqe *wqe, const struct wire_packet *packet, uint32_t byte_len,
		       struct rc_outbox *out)
{
	const struct wire_opcode_row *op = wire_opcode(packet->opcode);
	uint8_t opcode = op->kind == WIRE_KIND_WRITE ? UROCE_WC_RECV_RDMA_WITH_IMM : UROCE_WC_RECV;
	struct uroce_wc *wc = add_completion(qp, qp->recv_cq, wqe->wr_id, opcode, UROCE_WC_SUCCESS, out);

	wc->byte_len = byte_len;
	wc->src_qp = qp->dest_qpn;
	if (op->immdt) {
		store_be32(&wc->imm_data, packet->imm);
		wc->wc_flags |= UROCE_WC_WITH_IMM;
	}
	if (op->ieth) {
		wc->invalidated_rkey = packet->invalidate_key;
		wc->wc_flags |= UROCE_WC_WITH_INV;
	}
	if (packet->flags & WIRE_SOLICITED)
		wc->wc_flags |= UROCE_WC_SOLICITED;
	recvq_pop(&qp->recvq);
}
