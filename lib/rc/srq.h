/* srq.h - a shared receive queue: one poster, many takers on any lcore (M-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring like that of recvq.h, but who takes copies the entry and owns it: a QP takes one when a message begins that
 * needs it, into its own queue of one. Takers race for `taken` with compare-and-swap and no lock: an entry stays as it
 * is until `taken` has passed it, so a copy made before a swap that succeeds is whole.
 */
#ifndef RC_SRQ_H
#define RC_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rc/recv_wqe.h"

struct rc_srq {
	uint8_t *slots; /* of recv_wqe_slot_bytes(sge_limit), mask + 1 of them */
	uint32_t slot_bytes;
	uint32_t mask;
	uint32_t depth;
	uint32_t sge_limit;
	void *handle; /* the host's, comes back with the limit event */

	/* application writes */
	_Alignas(64) _Atomic uint32_t posted;

	/* takers write */
	_Alignas(64) _Atomic uint32_t taken;
	_Atomic uint32_t limit; /* armed: fewer than so many left raise the event; 0: not armed */
};

/* Bytes of a queue for so many entries; and the queue in zeroed memory of that size, aligned to 64. */
uint64_t rc_srq_bytes(uint32_t depth, uint32_t sge_limit);
struct rc_srq *rc_srq_init(void *memory, uint32_t depth, uint32_t sge_limit, void *handle);

/* Application side, as rc_recvq_post(). */
int rc_srq_post(struct rc_srq *srq, const struct uroce_recv_wr *wr);

/* Any lcore: the oldest entry goes to *wqe, which has room for slot_bytes. false: there is none. */
bool rc_srq_take(struct rc_srq *srq, struct rc_recv_wqe *wqe);

/* Arms the limit. */
void rc_srq_arm(struct rc_srq *srq, uint32_t limit);

/* Is the limit armed and reached? True once per arming: the caller raises the event. */
bool rc_srq_limit_reached(struct rc_srq *srq);

static inline uint32_t srq_count(const struct rc_srq *srq)
{
	/* in this order: what is taken was posted before */
	uint32_t taken = atomic_load(&srq->taken);

	return atomic_load(&srq->posted) - taken;
}

#endif
