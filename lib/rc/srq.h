/* srq.h - the shared receive queue: one thread posts, any lcore takes (M-4) */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring like that of recvq.h, but a taker copies the entry and owns the copy: when a message begins that needs an
 * entry, the QP takes one into its own queue of one. Takers race for `taken` with compare-and-swap, without a lock. An
 * entry is not overwritten before `taken` has passed it, so a copy made before a successful swap is whole. Not a share
 * (share.h): it is the application that lets several QPs take from one queue, and posts as many receives as they need.
 */
#ifndef RC_SRQ_H
#define RC_SRQ_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rc/recv_wqe.h"

struct rc_srq {
	uint8_t *slots; /* mask + 1 slots of recv_wqe_slot_bytes(sge_limit) */
	uint32_t slot_bytes;
	uint32_t mask;
	uint32_t depth;
	uint32_t sge_limit;
	void *handle; /* the host's handle, returned with the limit event */

	/* written by the application */
	_Alignas(64) _Atomic uint32_t posted;

	/* written by takers */
	_Alignas(64) _Atomic uint32_t taken;
	_Atomic uint32_t limit; /* the limit event is raised when fewer entries are left; 0: not armed */
};

/* rc_srq_bytes(): bytes of a queue of `depth` entries. rc_srq_init() makes one in zeroed memory, aligned to 64. */
uint64_t rc_srq_bytes(uint32_t depth, uint32_t sge_limit);
struct rc_srq *rc_srq_init(void *memory, uint32_t depth, uint32_t sge_limit, void *handle);

/* For the application's thread, as rc_recvq_post(). */
int rc_srq_post(struct rc_srq *srq, const struct uroce_recv_wr *wr);

/*
 * Takes the oldest entry, on any lcore, and copies it to *wqe, which has room for slot_bytes. Returns false if there is
 * none.
 */
bool rc_srq_pop(struct rc_srq *srq, struct rc_recv_wqe *wqe);

/* Arms the limit. */
void rc_srq_arm(struct rc_srq *srq, uint32_t limit);

/* Is the limit armed and reached? Returns true once per arming; the caller raises the event. */
bool rc_srq_limit_reached(struct rc_srq *srq);

static inline uint32_t srq_count(const struct rc_srq *srq)
{
	/* read in this order: `posted` is then never behind `taken` */
	uint32_t taken = atomic_load(&srq->taken);

	return atomic_load(&srq->posted) - taken;
}

#endif
