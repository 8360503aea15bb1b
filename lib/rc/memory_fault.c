/* memory_fault.c - finds the request whose memory has gone, so that this request fails and no other */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/memory_fault.h"

#include "rc/ack.h"
#include "rc/kept.h"
#include "rc/loss.h"

#define PAGE_BYTES 4096u /* the smallest page of any CPU: what faults at an address lacks the rest of such a page */
#define INVALID_KEY 0u

static bool has_page(struct rc_qp *qp, const struct uroce_sge *sge, uintptr_t page)
{
	uint8_t *host;

	return sge->length > 0 &&
	       qp_check_memory(qp, sge->lkey, sge->addr, sge->length, MR_ACCESS_LOCAL, &host) == MR_OK &&
	       (uintptr_t)host < page + PAGE_BYTES && (uintptr_t)host + sge->length > page;
}

/* Takes its key from each piece of a request that has a byte of the page. Returns whether there is such a piece. */
static bool invalidate_pieces(struct rc_qp *qp, struct rc_send_wqe *wqe, uintptr_t page)
{
	bool found = false;

	for (uint32_t i = 0; i < wqe->sge_count; i++) {
		if (has_page(qp, &wqe->sges[i], page)) {
			wqe->sges[i].lkey = INVALID_KEY;
			found = true;
		}
	}
	return found;
}

/*
 * If a request that has left holds the page, the window is rewound, and the request fails when all before it have
 * completed (E-2). Otherwise the copy was for the peer, to whom the QP then gives no memory any more.
 */
void rc_memory_fault_take(struct rc_qp *qp, const void *address)
{
	uintptr_t page = (uintptr_t)address - (uintptr_t)address % PAGE_BYTES;
	bool found = false;

	qp->lost_memory = true;
	for (uint32_t slot = qp->win.acked; slot != qp->win.started; slot++)
		found |= invalidate_pieces(qp, sendwin_slot(&qp->win, slot), page);
	if (found) {
		rc_loss_go_back(qp);
		return;
	}
	qp->pd |= QP_PD_LOST;
	if (qp_keeps(qp) && rc_kept_next(qp))
		ack_sack_is_due(&qp->responder.ack); /* the kept packets are refused when the SACK is built */
}
