/* scatter.h - where the bytes of a packet go: found while judging, used when executing */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_SCATTER_H
#define RC_SCATTER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <uroce/wr.h>

#include "config/limits.h"
#include "rc/qp_state.h"

struct rc_scatter {
	enum rc_mr_verdict why; /* of the check that failed, MR_OK if none did */
	uint32_t count;
	uint8_t *places[LIMIT_SGE];
	uint32_t lengths[LIMIT_SGE];
};

/* For scatter_find() and scatter_copy_checking(): any number of pieces. */
bool rc_scatter_find(struct rc_qp *qp, const struct uroce_sge *sges, uint32_t count, uint64_t offset, uint32_t bytes,
		     struct rc_scatter *place);
bool rc_scatter_copy_checking(const struct rc_scatter *place, const struct wire_packet *packet,
			      const struct rc_origin *origin);

/*
 * Finds [offset, offset + bytes) of what the pieces describe, which has so many: all of it must be ours to write, or
 * nothing may be written. false: place->why says why not.
 */
static inline bool scatter_find(struct rc_qp *qp, const struct uroce_sge *sges, uint32_t count, uint64_t offset,
				uint32_t bytes, struct rc_scatter *place)
{
	if (__builtin_expect(count != 1 || bytes == 0, 0))
		return rc_scatter_find(qp, sges, count, offset, bytes, place);
	place->count = 1;
	place->lengths[0] = bytes;
	place->why = qp_check_memory(qp, sges->lkey, sges->addr + offset, bytes, UROCE_ACCESS_LOCAL_WRITE,
				     &place->places[0]);
	return place->why == MR_OK;
}

/* Copies data to its places. */
static inline void scatter_copy(const struct rc_scatter *place, const uint8_t *data)
{
	uint32_t i = 0;

	while (__builtin_expect(i + 1 < place->count, 0)) {
		memcpy(place->places[i], data, place->lengths[i]);
		data += place->lengths[i++];
	}
	if (i < place->count)
		memcpy(place->places[i], data, place->lengths[i]);
}

/* Copies the payload of a packet, of at least a byte, to its places, as origin_copy_checking() does. */
static inline bool scatter_copy_checking(const struct rc_scatter *place, const struct wire_packet *packet,
					 const struct rc_origin *origin)
{
	return place->count == 1 ? origin_copy_checking(origin, packet, place->places[0]) :
				   rc_scatter_copy_checking(place, packet, origin);
}

#endif
