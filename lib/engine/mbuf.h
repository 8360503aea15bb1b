/* mbuf.h - packet value <-> rte_mbuf */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MBUF_H
#define ENGINE_MBUF_H

#include <stdbool.h>
#include <stdint.h>

#include <uroce/qp.h>

#include "wire/encap.h"
#include "wire/packet.h"

struct rte_mbuf;
struct rte_mempool;

/* Everything in front of the BTH, ready but for the lengths: made once a path. */
struct engine_template {
	uint8_t bytes[WIRE_ENCAP_MAX_BYTES];
	uint8_t ip_offset, bth_offset;
	bool ipv6;
	uint32_t ip_sum; /* IPv4: header checksum's sum with a length of 0 */
};

/* Prepares the template of a path between two MACs. */
void engine_mbuf_template(struct engine_template *template, const struct uroce_path *path,
			  const struct uroce_mac *source_mac, const struct uroce_mac *dest_mac, uint32_t qpn,
			  uint32_t dest_qpn);

/* Fills an empty mbuf with packet as a frame, its payload copied, ICRC and all. The device's pool has the room. */
void engine_mbuf_fill(struct rte_mbuf *mbuf, const struct engine_template *template, const struct wire_packet *packet);

#endif
