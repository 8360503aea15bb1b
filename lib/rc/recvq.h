/* recvq.h - posted receive requests */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_RECVQ_H
#define RC_RECVQ_H

#include <stdatomic.h>
#include <stdint.h>

#include <uroce/wr.h>

struct rc_recv_wqe {
	uint64_t wr_id;
	uint32_t total_bytes; /* of all pieces, at most 2^32 - 1 counts */
	uint32_t sge_count;
	struct uroce_sge sges[];
};

struct rc_recvq {
	uint8_t *slots;
	uint32_t slot_bytes;
	uint32_t mask;
	uint32_t depth;
	uint32_t sge_limit;

	/* lcore only */
	uint32_t head, tail;

	/* application writes, lcore reads */
	_Alignas(64) _Atomic uint32_t posted;
	uint32_t posting;

	/* lcore writes, application reads */
	_Alignas(64) _Atomic uint32_t freed;
};

uint32_t rc_recvq_slot_bytes(uint32_t sge_limit);

/* Application side. 0; -ENOMEM: full; -EINVAL: sge count. */
int rc_recvq_post(struct rc_recvq *queue, const struct uroce_recv_wr *wr);

/* Forgets all entries without a completion. */
void rc_recvq_reset(struct rc_recvq *queue);

/* The oldest entry, or NULL. Stays in the queue. */
struct rc_recv_wqe *rc_recvq_peek(struct rc_recvq *queue);

/* The oldest entry is finished with: the application may post into its slot. */
void rc_recvq_pop(struct rc_recvq *queue);

#endif
