/* credit.c - end-to-end credits */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/credit.h"

#include "rc/codes.h"

#define PROBE_NS 100000000ull /* how long a QP without an ACK timer waits before it probes */

void rc_credit_reset(struct rc_credit *credit)
{
	*credit = (struct rc_credit){ .probe_deadline_ns = RC_NEVER };
}

void rc_credit_timer(struct rc_credit *credit, uint64_t now_ns)
{
	if (credit->probe_deadline_ns > now_ns)
		return;
	credit->probe_deadline_ns = RC_NEVER;
	credit->probe = true;
}

static bool needs_receive(const struct rc_send_wqe *wqe)
{
	return wqe->needs & NEEDS_RECEIVE;
}

/*
 * How many messages have needed a receive entry, not counting the newest `behind` messages. The slots of reported
 * messages may have been used again, so a message whose slot is gone counts as one that needed an entry. That is the
 * safe side: with too few credits the requester only waits, with too many it would draw an RNR NAK (F-3).
 */
static uint32_t receives_up_to(const struct rc_qp *qp, uint32_t behind)
{
	const struct rc_sendwin *win = &qp->win;
	uint32_t receives = qp->credit.receives, known = qp->credit.receives_at_msn;

	for (uint32_t slot = win->started; behind > 0 && slot != win->head; slot--) {
		const struct rc_send_wqe *wqe = sendwin_slot(win, slot - 1);

		if (wqe_is_local(wqe))
			continue;
		receives -= needs_receive(wqe);
		behind--;
	}
	return (int32_t)(receives - behind - known) > 0 ? receives - behind : known;
}

void rc_credit_arrived(struct rc_qp *qp, uint32_t msn, uint32_t code)
{
	struct rc_credit *credit = &qp->credit;
	uint32_t ahead = (msn - credit->msn) & PSN_MASK;
	uint32_t behind = (credit->messages - msn) & PSN_MASK;

	/* an MSN older than the newest AETH's, or of a message that was never started, says nothing new */
	if (!qp->flow_control || ahead > ((credit->messages - credit->msn) & PSN_MASK))
		return;
	if (ahead > 0)
		credit->receives_at_msn = receives_up_to(qp, behind);
	credit->msn = msn;
	credit->known = true;
	credit->allowed = rc_codes_credit_count(code);
	credit->probe_deadline_ns = RC_NEVER;
}

/*
 * Returns how many messages that need an entry may still start, so that a slow receiver never has to send an RNR NAK
 * (F-5). A peer's "no limit" is never used up.
 */
static uint32_t left(const struct rc_credit *credit)
{
	uint32_t used = credit->receives - credit->receives_at_msn;
	uint32_t allowed = credit->known ? credit->allowed : 1; /* before the first AETH one message may start */

	return used >= allowed ? 0 : allowed - used;
}

bool rc_credit_allows(struct rc_qp *qp, const struct rc_send_wqe *wqe, uint64_t now_ns)
{
	struct rc_credit *credit = &qp->credit;

	if (!qp->flow_control || credit->probe || !needs_receive(wqe) || left(credit) > 0)
		return true;
	/*
	 * While the peer owes an answer no timer is needed: the answer brings credits, and if it is lost the request
	 * leaves again.
	 */
	if (credit->probe_deadline_ns == RC_NEVER && psn_equal(qp->win.snd_una, qp->win.snd_max))
		credit->probe_deadline_ns = now_ns + (qp->loss.timeout_ns ? qp->loss.timeout_ns : PROBE_NS);
	return false;
}

void rc_credit_message_started(struct rc_qp *qp, const struct rc_send_wqe *wqe)
{
	struct rc_credit *credit = &qp->credit;

	credit->messages++;
	credit->receives += needs_receive(wqe);
	if (needs_receive(wqe))
		credit->probe = false;
}

bool rc_credit_is_used_up(const struct rc_qp *qp)
{
	return qp->flow_control && left(&qp->credit) == 0;
}

bool rc_credit_may_come_unasked(const struct rc_qp *qp)
{
	return qp->flow_control && (!qp->credit.known || qp->credit.allowed == 0);
}

/* Receive entries that no message under way uses (F-2). */
static uint32_t free_entries(const struct rc_qp *qp)
{
	uint32_t posted = atomic_load_explicit(&qp->recvq.posted, memory_order_acquire);

	return posted - qp->recvq.head - (qp->responder.in_progress == WIRE_KIND_SEND);
}

uint8_t rc_credit_say(struct rc_qp *qp)
{
	struct rc_credit *credit = &qp->credit;

	if (!qp->flow_control || qp->recvq.srq) /* F-2 */
		return CREDIT_UNLIMITED;
	credit->said = true;
	credit->last_code = (uint8_t)rc_codes_credit_code(free_entries(qp));
	return credit->last_code;
}

bool rc_credit_unsolicited_due(struct rc_qp *qp)
{
	const struct rc_credit *credit = &qp->credit;
	bool waits = !credit->said || credit->last_code == 0;

	sendwin_wake_by_posts(&qp->win, waits);
	if (!waits)
		return false;
	/* C1: sets post_wakes, then counts. An entry posted in between is counted, or its post sees post_wakes. */
	atomic_thread_fence(memory_order_seq_cst);
	return free_entries(qp) > 0;
}
