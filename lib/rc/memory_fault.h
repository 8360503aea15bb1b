/* memory_fault.h - a copy from or to the application's memory has faulted: the QP fails, not the process */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The core copies payload only where qp_check_memory() has allowed it, but the application may unmap, protect or
 * truncate memory after its registration. Then the host leaves the core in the middle of a copy. How to use:
 *   1. the host has called rc_qp_receive(), rc_qp_transmit() or rc_qp_respond(), and catches the fault of a copy
 *   2. rc_memory_fault_take()
 *   3. the host repeats the call with the same packet. The QP refuses it, or fails the request, as with a wrong key
 * So at each copy (memory_may_fault()) the state of the QP in memory is that before the packet, or the QP's window has
 * gone on and rc_memory_fault_take() rewinds it.
 */
#ifndef RC_MEMORY_FAULT_H
#define RC_MEMORY_FAULT_H

#include "rc/codes.h"
#include "rc/qp_state.h"

/* address: where the copy faulted. */
void rc_memory_fault_take(struct rc_qp *qp, const void *address);

/* RESET: the QP may use memory again. */
static inline void memory_fault_forget(struct rc_qp *qp)
{
	qp->lost_memory = false;
	qp->pd &= ~QP_PD_LOST;
}

/* The cause to report when a check of the QP's own keys, or of a key that the peer has sent, has failed (E-4). */
static inline enum uroce_cause qp_local_cause(const struct rc_qp *qp, enum rc_mr_verdict verdict)
{
	return qp->lost_memory ? UROCE_CAUSE_UNMAPPED : rc_codes_local_cause(verdict);
}

static inline enum uroce_cause qp_remote_cause(const struct rc_qp *qp, enum rc_mr_verdict verdict)
{
	return qp->lost_memory ? UROCE_CAUSE_UNMAPPED : rc_codes_remote_cause(verdict);
}

#endif
