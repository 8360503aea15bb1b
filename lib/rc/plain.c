/* plain.c - the short way of the requester: plain requests, whole bursts of them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/plain.h"

#include "rc/ackreq.h"
#include "rc/credit.h"
#include "rc/message.h"
#include "rc/outbox.h"
#include "rc/retry.h"
#include "rc/work.h"

/* Where the bytes are, or NULL: the judge shall say why not. A request without bytes has them anywhere. */
static inline const uint8_t *find_bytes(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t offset,
					uint64_t bytes)
{
	uint8_t *host;

	if ((wqe->flags & UROCE_SEND_INLINE) || bytes == 0)
		return (const uint8_t *)wqe->sges + offset;
	return qp_check_memory(qp, wqe->sges[0].lkey, wqe->sges[0].addr + offset, bytes, MR_ACCESS_LOCAL, &host) ==
			       MR_OK ?
		       host :
		       NULL;
}

/* Would rc_retry_packet_sent() learn anything from a new packet: does it start the ACK timer, */
static inline bool starts_clock(const struct rc_qp *qp, psn_t psn)
{
	return qp->retry.ack_deadline_ns == RC_NEVER || psn_equal(psn, qp->win.snd_una);
}

/* is it timed, or, if it asks, the first that has an answer to come? */
static inline bool is_noted(const struct rc_qp *qp, bool asks)
{
	return rtt_wants(&qp->rtt, asks) || (asks && qp->probe.deadline_ns == RC_NEVER);
}

/* What all packets of the QP have. */
static inline void begin_packet(const struct rc_qp *qp, psn_t psn, bool asks, struct wire_packet *packet)
{
	packet->flags = qp->migration.request_flag | (asks ? WIRE_ACKREQ : 0);
	packet->pad_bytes = 0;
	packet->psn = psn.v;
	packet->dest_qpn = qp->dest_qpn;
	packet->pkey = qp->pkey;
	packet->span_count = 1;
}

/*
 * `count` packets of a message from number `index` on; payload is what the first one carries. resent: for the second
 * time; where that has caught up with the first, it asks.
 */
static inline void add_packets(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint32_t index, uint32_t count,
			       const uint8_t *payload, bool resent, uint64_t now_ns, struct rc_outbox *out)
{
	const struct message_opcodes *opcodes = &message_opcodes[wqe->opcode];
	struct wire_packet *packet = outbox_packet_slot(out);
	bool reports = (wqe->flags & UROCE_SEND_SIGNALED) || qp->win.cursor + 1 == qp->win.tail;
	uint32_t since_ackreq = qp->requester.since_ackreq;
	psn_t psn = qp->win.snd_nxt;

	out->packet_count += count;
	out->packet_room -= count;
	for (; count > 0; count--, packet++, payload += qp->mtu_bytes) {
		bool last = index + 1 == wqe->psn_count;
		bool asks = (last && reports) || since_ackreq + 1 >= ACKREQ_INTERVAL ||
			    (resent && psn_equal(psn_next(psn), qp->win.snd_max));

		packet->opcode = last ? opcodes->last : opcodes->middle;
		begin_packet(qp, psn, asks, packet);
		packet->payload_bytes = qp->mtu_bytes;
		packet->payload = payload;
		if (index == 0)
			message_begin(wqe, opcodes, last, packet);
		if (last)
			message_end(wqe, opcodes, wqe->length_bytes - (index << qp->mtu_shift), packet);
		since_ackreq = asks ? 0 : since_ackreq + 1;
		if (starts_clock(qp, psn) || is_noted(qp, asks))
			rc_retry_packet_sent(qp, psn, !resent, asks, now_ns);
		psn = psn_next(psn);
		index++;
	}
	qp->requester.since_ackreq = since_ackreq;
}

/* So many packets have gone out again. */
static inline void advance_again(struct rc_qp *qp, uint32_t count)
{
	qp->counters[CNT_RETRANSMITTED_PACKETS] += count;
	rc_sendwin_advance(&qp->win, psn_add(qp->win.snd_nxt, count));
	if (psn_equal(qp->win.snd_nxt, qp->win.snd_max))
		retry_caught_up(&qp->retry);
}

/* Can the request go out as one packet? */
static inline bool is_only_packet(const struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	return wqe->shape == SHAPE_PLAIN && wqe->length_bytes <= qp->mtu_bytes;
}

/* That packet, as the request begins. */
static inline void make_only_packet(const struct rc_qp *qp, struct rc_send_wqe *wqe, psn_t psn, bool asks,
				    const uint8_t *payload, struct wire_packet *packet)
{
	const struct message_opcodes *opcodes = &message_opcodes[wqe->opcode];

	wqe->first_psn = psn;
	wqe->psn_count = 1;
	begin_packet(qp, psn, asks, packet);
	packet->payload = payload;
	message_begin(wqe, opcodes, true, packet);
	message_end(wqe, opcodes, wqe->length_bytes, packet);
}

/*
 * What comes next, as far as it is plain requests of one packet each, that begin now. Returns how many. What changes
 * with each of them is written down when all are made.
 */
static inline uint32_t send_only_packets(struct rc_qp *qp, uint32_t most, uint64_t now_ns, struct rc_outbox *out)
{
	struct wire_packet *packet = outbox_packet_slot(out);
	struct rc_sendwin *win = &qp->win;
	uint32_t since_ackreq = qp->requester.since_ackreq, left = most, tail = win->tail, cursor = win->cursor;
	psn_t psn = win->snd_max;

	for (; left > 0 && cursor != tail; left--, packet++) {
		struct rc_send_wqe *wqe = sendwin_slot(win, cursor);
		const uint8_t *payload;
		bool asks;

		if (!is_only_packet(qp, wqe))
			break;
		payload = find_bytes(qp, wqe, 0, wqe->length_bytes);
		if (payload == NULL)
			break;
		cursor++;
		since_ackreq++;
		asks = (wqe->flags & UROCE_SEND_SIGNALED) || cursor == tail || since_ackreq >= ACKREQ_INTERVAL;
		make_only_packet(qp, wqe, psn, asks, payload, packet);
		if (asks)
			since_ackreq = 0;
		if ((left == most && starts_clock(qp, psn)) || is_noted(qp, asks))
			rc_retry_packet_sent(qp, psn, true, asks, now_ns);
		psn = psn_next(psn);
	}
	qp->requester.since_ackreq = since_ackreq;
	win->cursor = win->started = cursor;
	win->snd_nxt = win->snd_max = psn;
	out->packet_count += most - left;
	out->packet_room -= most - left;
	return most - left;
}

/*
 * As the loop of rc_requester_transmit() would, while only plain requests are next; it takes none that it cannot send.
 * Their memory is looked up once for all that goes out now, for a region stays for the length of a turn.
 */
static inline void send_messages(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;

	while (win->cursor != win->tail && out->packet_room > 0) {
		struct rc_send_wqe *wqe = sendwin_slot(win, win->cursor);
		bool resent = !psn_equal(win->snd_nxt, win->snd_max);
		uint32_t window = qp->requester.window - psn_distance(win->snd_nxt, win->snd_una);
		uint32_t count = out->packet_room < window ? out->packet_room : window;
		bool starts = win->cursor == win->started;
		uint32_t psn_count, index;
		const uint8_t *payload;
		uint64_t offset, bytes;

		if (wqe->shape != SHAPE_PLAIN || (int32_t)window <= 0)
			return;
		if (resent && count > psn_distance(win->snd_max, win->snd_nxt))
			count = psn_distance(win->snd_max, win->snd_nxt);
		if (starts && wqe->length_bytes <= qp->mtu_bytes) {
			if (send_only_packets(qp, count, now_ns, out) == 0)
				return;
			continue;
		}
		psn_count = starts ? qp_packets(qp, wqe->length_bytes) : wqe->psn_count;
		index = starts ? 0 : psn_distance(win->snd_nxt, wqe->first_psn);
		offset = (uint64_t)index << qp->mtu_shift;
		bytes = wqe->length_bytes - offset;
		if (psn_count - index > count)
			bytes = (uint64_t)count << qp->mtu_shift;
		else
			count = psn_count - index;
		payload = find_bytes(qp, wqe, offset, bytes);
		if (payload == NULL)
			return;
		if (starts)
			sendwin_start(win, psn_count);
		add_packets(qp, wqe, index, count, payload, resent, now_ns, out);
		if (resent)
			advance_again(qp, count);
		else
			sendwin_go_on(win, count, index + count == psn_count);
	}
}

/* The newest packet is the last of the outbox: it asks if a pause follows that it ought to ask before. */
static inline void ask_before_pause(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	uint32_t since_ackreq = qp->requester.since_ackreq, in_flight = psn_distance(qp->win.snd_nxt, qp->win.snd_una);
	bool first = psn_equal(qp->win.snd_nxt, qp->win.snd_max);

	if (since_ackreq == 0)
		return;
	if (!ackreq_is_due(out->packet_room == 0, in_flight >= qp->requester.window, since_ackreq - 1, in_flight - 1,
			   qp->requester.window))
		return;
	out->packets[out->packet_count - 1].flags |= WIRE_ACKREQ;
	qp->requester.since_ackreq = 0;
	if (is_noted(qp, true))
		rc_retry_packet_sent(qp, psn_previous(qp->win.snd_nxt), first, true, now_ns);
}

void rc_plain_send(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	uint32_t before = out->packet_count;

	if (qp->state != UROCE_QPS_RTS || qp->flow_control || qp->requester.resend_for_ack || qp->long_way ||
	    !outbox_has_packet_room(out))
		return;
	send_messages(qp, now_ns, out);
	if (out->packet_count != before)
		ask_before_pause(qp, now_ns, out);
}

/*
 * Has the QP nothing to do but to begin one more request? Then nothing is to be sent again either, no early question is
 * on its way out, and it does not wait for its receiver: all that goes back in the window; and a packet that was to ask
 * has left, or failed, in the call that wanted it.
 */
static inline bool has_one_request(const struct rc_qp *qp, uint32_t tail)
{
	const struct rc_sendwin *win = &qp->win;

	return tail - win->cursor == 1 && win->cursor == win->started && qp->state == UROCE_QPS_RTS &&
	       !qp_owes_answers(qp) && !qp_has_reports(qp) && !qp->probe.due &&
	       sendwin_outstanding(win) < qp->requester.window;
}

bool rc_plain_send_one(struct rc_qp *qp, uint64_t now_ns, struct rc_outbox *out)
{
	struct rc_sendwin *win = &qp->win;
	uint32_t tail = atomic_load_explicit(&win->posted, memory_order_acquire);
	struct rc_send_wqe *wqe = sendwin_slot(win, win->cursor);
	const uint8_t *payload;
	psn_t psn = win->snd_max;

	if (!has_one_request(qp, tail) || !outbox_has_packet_room(out) || !is_only_packet(qp, wqe))
		return false;
	payload = find_bytes(qp, wqe, 0, wqe->length_bytes);
	if (payload == NULL)
		return false;
	make_only_packet(qp, wqe, psn, true, payload, outbox_packet_slot(out));
	qp->requester.since_ackreq = 0;
	/* which it does whenever the packet starts the clock */
	if (is_noted(qp, true))
		rc_retry_packet_sent(qp, psn, true, true, now_ns);
	win->tail = win->cursor = win->started = tail;
	win->snd_nxt = win->snd_max = psn_next(psn);
	outbox_take_packet(out);
	loss_quota_grow(&qp->requester.loss_quota, 1);
	return true;
}
