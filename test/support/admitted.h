/* admitted.h - a packet to a QP that it was admitted to, as lib/engine/receive.c gives it */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TEST_ADMITTED_H
#define TEST_ADMITTED_H

#include "rc/ack.h"
#include "rc/qp.h"

/* An ACK as two words when it can. As rc_qp_receive(); the packet was parsed, its BTH lies before its payload. */
static inline enum rc_counter receive_admitted(struct rc_qp *qp, const struct wire_packet *packet,
					       const struct rc_origin *origin, uint64_t now_ns, struct rc_outbox *out)
{
	const uint8_t *bth = (const uint8_t *)packet->payload - WIRE_BTH_BYTES - WIRE_AETH_BYTES;
	struct wire_ack ack;

	if (packet->opcode == OP_ACKNOWLEDGE && origin->ip && qp->state == UROCE_QPS_RTS &&
	    qp->migration.state == UROCE_PATH_MIGRATED &&
	    packet_parse_ack(bth, WIRE_ACK_BYTES + packet->payload_bytes + packet->pad_bytes, &ack) &&
	    qp_ack_is_plain(qp, &ack)) {
		if (!origin_icrc_is_right(origin, origin->ip + origin->ip_bytes))
			return CNT_PORT_RX_ICRC;
		rc_completer_handle_ack(qp, &ack, now_ns, out);
		return CNT_COUNTERS;
	}
	return rc_qp_receive(qp, packet, origin, now_ns, out);
}

#endif
