/* scatter.c - the places of a packet whose receive or response lies in several pieces */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/scatter.h"

#include "wire/icrc_copy.h"

bool rc_scatter_find(struct rc_qp *qp, const struct uroce_sge *sges, uint32_t count, uint64_t offset, uint32_t bytes,
		     struct rc_scatter *place)
{
	place->count = 0;
	for (uint32_t i = 0; i < count && bytes > 0; i++) {
		const struct uroce_sge *sge = &sges[i];
		uint32_t piece;

		if (offset >= sge->length) {
			offset -= sge->length;
			continue;
		}
		piece = sge->length - (uint32_t)offset < bytes ? sge->length - (uint32_t)offset : bytes;
		place->why = qp_check_memory(qp, sge->lkey, sge->addr + offset, piece, UROCE_ACCESS_LOCAL_WRITE,
					     &place->places[place->count]);
		if (place->why != MR_OK)
			return false;
		place->lengths[place->count++] = piece;
		bytes -= piece;
		offset = 0;
	}
	return true;
}

uint32_t rc_scatter_copy_rest(const struct rc_scatter *place, const uint8_t *data, uint32_t crc)
{
	for (uint32_t i = 1; i < place->count; i++) {
		crc = wire_icrc_copy(crc, place->places[i], data, place->lengths[i]);
		data += place->lengths[i];
	}
	return crc;
}
