/* duplicate.h - requests that come again */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef RC_DUPLICATE_H
#define RC_DUPLICATE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "wire/packet.h"
#include "rc/qp_state.h"

/*
 * A request from the half window behind ePSN. Never draws a NAK, never disturbs a message in progress. true: the replay
 * cache knows it.
 */
bool rc_duplicate_receive(struct rc_qp *qp, const struct wire_packet *packet);

/*
 * What the ACK owed to a duplicate acknowledges (S-8): the newest that is executed, but not past a READ or atomic that
 * came after the duplicate.
 */
psn_t rc_duplicate_acknowledged(const struct rc_qp *qp);

/* The value of an ATOMIC WRITE: its bytes as they are (S-20). */
static inline uint64_t atomic_write_value(const struct wire_packet *packet)
{
	uint64_t value;

	memcpy(&value, packet->payload, sizeof(value));
	return value;
}

#endif
