/* recv_wqe.h - a posted receive request in its slot */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_RECV_WQE_H
#define RC_RECV_WQE_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

struct rc_recv_wqe {
	uint64_t wr_id;
	uint32_t total_bytes; /* length of all pieces together, at most 2^32 - 1: a greater one is stored as that */
	uint32_t sge_count;
	struct uroce_sge sges[];
};

/* Bytes of a slot with room for sge_limit pieces. */
static inline uint32_t recv_wqe_slot_bytes(uint32_t sge_limit)
{
	return (uint32_t)(sizeof(struct rc_recv_wqe) + sizeof(struct uroce_sge) * sge_limit);
}

/* Copies wr; reads each field once (M-6). Returns false if there are too many pieces, or a count without a list. */
static inline bool recv_wqe_fill(struct rc_recv_wqe *wqe, const struct uroce_recv_wr *wr, uint32_t sge_limit)
{
	uint32_t count = wr->num_sge;
	uint64_t total = 0;

	if (count > sge_limit || (count > 0 && wr->sg_list == NULL))
		return false;
	wqe->wr_id = wr->wr_id;
	wqe->sge_count = count;
	for (uint32_t i = 0; i < count; i++) {
		wqe->sges[i] = wr->sg_list[i];
		total += wqe->sges[i].length;
	}
	wqe->total_bytes = total > UINT32_MAX ? UINT32_MAX : (uint32_t)total;
	return true;
}

#endif
