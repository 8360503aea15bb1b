/* mbuf.c - the template of a path between two MACs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "engine/mbuf.h"
#include "rc/path.h"

#define HOP_LIMIT_DEFAULT 64

void engine_mbuf_template(struct wire_frame_template *template, const struct uroce_path *path,
			  const struct uroce_mac *source_mac, const struct uroce_mac *dest_mac, uint32_t qpn,
			  uint32_t dest_qpn)
{
	struct wire_encap encap = {
		.ipv6 = !encap_addr_is_ipv4(path->dest.bytes),
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit ? path->hop_limit : HOP_LIMIT_DEFAULT,
		.vlan = path_vlan_tci(path) != 0,
		.vlan_tci = path_vlan_tci(path),
		.flow_label = path->flow_label,
		.source_port = path_source_port(qpn, dest_qpn),
		.dest_port = WIRE_UDP_PORT,
	};

	memcpy(encap.dest_mac, dest_mac->bytes, sizeof(encap.dest_mac));
	memcpy(encap.source_mac, source_mac->bytes, sizeof(encap.source_mac));
	memcpy(encap.source, path->source.bytes, sizeof(encap.source));
	memcpy(encap.dest, path->dest.bytes, sizeof(encap.dest));
	wire_frame_prepare(template, &encap);
}
