/* mbuf.h - frames in mbufs */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MBUF_H
#define ENGINE_MBUF_H

#include <stdint.h>

#include <rte_mbuf.h>

#include <uroce/qp.h>

#include "wire/frame.h"

/* Prepares the template of a path between two MACs. */
void engine_mbuf_template(struct wire_frame_template *template, const struct uroce_path *path,
			  const struct uroce_mac *source_mac, const struct uroce_mac *dest_mac, uint32_t qpn,
			  uint32_t dest_qpn);

/* An mbuf of one piece has so many bytes from now on. */
static inline void mbuf_set_bytes(struct rte_mbuf *mbuf, uint32_t bytes)
{
	mbuf->data_len = (uint16_t)bytes;
	mbuf->pkt_len = bytes;
}

/* Fills an mbuf with packet as a frame, its payload copied, ICRC and all. The device's pool has the room. */
static inline void mbuf_fill(struct rte_mbuf *mbuf, const struct wire_frame_template *template,
			     const struct wire_packet *packet)
{
	mbuf_set_bytes(mbuf, wire_frame_build(template, packet, rte_pktmbuf_mtod(mbuf, uint8_t *)));
}

/* The same for an ACK. */
static inline void mbuf_fill_ack(struct rte_mbuf *mbuf, struct wire_frame_template *template,
				 const struct wire_ack *ack)
{
	mbuf_set_bytes(mbuf, wire_frame_build_ack(template, ack, rte_pktmbuf_mtod(mbuf, uint8_t *)));
}

#endif
