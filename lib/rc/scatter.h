/* scatter.h - where the bytes of a packet go: found while judging, used when executing */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_SCATTER_H
#define RC_SCATTER_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/wr.h>

#include "config/limits.h"
#include "rc/qp_state.h"

struct rc_origin;
struct wire_packet;

struct rc_scatter {
	enum rc_mr_verdict why; /* of the check that failed, MR_OK if none did */
	uint32_t count;
	uint8_t *places[LIMIT_SGE];
	uint32_t lengths[LIMIT_SGE];
};

/*
 * Adds [offset, offset + bytes) of what the pieces describe: all of it must be ours to write, or nothing may be
 * written. false: place->why says why not.
 */
bool rc_scatter_find(struct rc_qp *qp, const struct uroce_sge *sges, uint32_t count, uint64_t offset, uint32_t bytes,
		     struct rc_scatter *place);

/* Copies data to its places. */
void rc_scatter_copy(const struct rc_scatter *place, const uint8_t *data);

/*
 * The same for the payload of a packet whose ICRC nobody has looked at, computing it on the way. false: it is wrong,
 * and what the places hold is undefined: only for memory that nobody may look at yet.
 */
bool rc_scatter_copy_checking(const struct rc_scatter *place, const struct wire_packet *packet,
			      const struct rc_origin *origin);

#endif
