/* scatter.c - finding the places of a receive or a response, and copying to them */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "rc/scatter.h"

#include "wire/bytes.h"
#include "wire/icrc.h"
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

bool rc_scatter_copy_checking(const struct rc_scatter *place, const struct wire_packet *packet,
			      const struct rc_origin *origin)
{
	const uint8_t *data = packet->payload;
	uint32_t crc =
		icrc_copy_frame(origin->ip, (uint32_t)(data - origin->ip), place->places[0], data, place->lengths[0]);

	data += place->lengths[0];
	for (uint32_t i = 1; i < place->count; i++) {
		crc = wire_icrc_copy(crc, place->places[i], data, place->lengths[i]);
		data += place->lengths[i];
	}
	if (packet->pad_bytes)
		crc = wire_icrc_continue(crc, data, packet->pad_bytes);
	return crc == load_le32(data + packet->pad_bytes);
}
