/* scatter.h - where the bytes of a packet go: found when it is judged, used when it is executed */
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
	enum rc_mr_verdict why; /* why a piece may not be written; MR_OK: all may */
	uint32_t count;
	uint8_t *places[LIMIT_SGE];
	uint32_t lengths[LIMIT_SGE];
};

/* The parts of scatter_find() and scatter_copy_checking() for any number of pieces. */
bool rc_scatter_find(struct rc_qp *qp, const struct uroce_sge *sges, uint32_t count, uint64_t offset, uint32_t bytes,
		     struct rc_scatter *place);
uint32_t rc_scatter_copy_rest(const struct rc_scatter *place, const uint8_t *data, uint32_t crc);

/*
 * Finds where [offset, offset + bytes) of a message lies in the memory that `count` pieces describe. The QP must be
 * allowed to write all of it, or nothing may be written. Returns false if the QP may not; then place->why says
 * why.
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

/*
 * The next access may fault (rc/memory_fault.h): the compiler has written the state of the QP to memory before it, and
 * changes nothing ahead of it.
 */
static inline void memory_may_fault(void)
{
	__asm__ volatile("" : : : "memory");
}

/* Copies data to its places. */
static inline void scatter_copy(const struct rc_scatter *place, const uint8_t *data)
{
	uint32_t i = 0;

	memory_may_fault();
	while (__builtin_expect(i + 1 < place->count, 0)) {
		memcpy(place->places[i], data, place->lengths[i]);
		data += place->lengths[i++];
	}
	if (i < place->count)
		memcpy(place->places[i], data, place->lengths[i]);
}

/*
 * Copies the payload of a packet, at least a byte, to its places, and checks the packet's ICRC on the way. Returns
 * false if the ICRC is wrong; then what lies in those places is undefined. So it is only for memory that no application
 * may look at yet (docs/explanation/decisions/0004).
 */
static inline bool scatter_copy_checking(const struct rc_scatter *place, const struct wire_packet *packet,
					 const struct rc_origin *origin)
{
	const uint8_t *payload = packet->payload, *ip = origin->ip;
	uint32_t crc = icrc_copy_frame(ip, (uint32_t)(payload - ip), place->places[0], payload, place->lengths[0]);

	if (__builtin_expect(place->count > 1, 0))
		crc = rc_scatter_copy_rest(place, payload + place->lengths[0], crc);
	if (packet->pad_bytes)
		crc = wire_icrc_continue(crc, payload + packet->payload_bytes, packet->pad_bytes);
	return crc == load_le32(ip + origin->ip_bytes);
}

#endif
