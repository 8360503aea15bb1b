/* mbuf.c - builds frames from a path's template and a packet value */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <string.h>

#include <rte_mbuf.h>

#include "engine/mbuf.h"
#include "rc/path.h"
#include "wire/bytes.h"
#include "wire/icrc.h"
#include "wire/kernel.h"

#define UDP_BYTES 8
#define IPV6_LENGTH_OFFSET 4
#define IPV4_LENGTH_OFFSET 2
#define IPV4_CHECKSUM_OFFSET 10
#define UDP_LENGTH_OFFSET 4
#define HOP_LIMIT_DEFAULT 64

void engine_mbuf_template(struct engine_template *template, const struct uroce_path *path,
			  const struct uroce_mac *source_mac, const struct uroce_mac *dest_mac, uint32_t qpn,
			  uint32_t dest_qpn)
{
	struct wire_encap encap = {
		.ipv6 = !encap_addr_is_ipv4(path->dest.bytes),
		.traffic_class = path->traffic_class,
		.hop_limit = path->hop_limit ? path->hop_limit : HOP_LIMIT_DEFAULT,
		.flow_label = path->flow_label,
		.source_port = path_source_port(qpn, dest_qpn),
		.dest_port = WIRE_UDP_PORT,
	};

	memcpy(encap.dest_mac, dest_mac->bytes, sizeof(encap.dest_mac));
	memcpy(encap.source_mac, source_mac->bytes, sizeof(encap.source_mac));
	memcpy(encap.source, path->source.bytes, sizeof(encap.source));
	memcpy(encap.dest, path->dest.bytes, sizeof(encap.dest));
	wire_encap_build(&encap, 0, template->bytes);
	template->ip_offset = (uint8_t)encap.ip_offset;
	template->bth_offset = (uint8_t)encap.bth_offset;
	template->ipv6 = encap.ipv6;
	if (!template->ipv6) {
		uint8_t *ip = template->bytes + template->ip_offset;

		store_be16(ip + IPV4_LENGTH_OFFSET, 0);
		store_be16(ip + IPV4_CHECKSUM_OFFSET, 0);
		template->ip_sum = wire_encap_sum(0, ip, 20);
	}
}

static void patch_lengths(uint8_t *frame, const struct engine_template *template, uint32_t bth_bytes)
{
	uint8_t *ip = frame + template->ip_offset;
	uint32_t udp_bytes = bth_bytes + UDP_BYTES;

	store_be16(frame + template->bth_offset - UDP_BYTES + UDP_LENGTH_OFFSET, (uint16_t)udp_bytes);
	if (template->ipv6) {
		store_be16(ip + IPV6_LENGTH_OFFSET, (uint16_t)udp_bytes);
	} else {
		uint32_t length = udp_bytes + 20;
		uint32_t sum = template->ip_sum + length;

		sum = (sum & 0xFFFF) + (sum >> 16);
		store_be16(ip + IPV4_LENGTH_OFFSET, (uint16_t)length);
		store_be16(ip + IPV4_CHECKSUM_OFFSET, (uint16_t)~sum);
	}
}

/* Copies payload and pad to where the headers end, and puts the ICRC behind them: one pass over the payload. */
static void add_payload(uint8_t *at, const uint8_t *ip, const struct wire_packet *packet)
{
	const struct wire_span one = { .base = packet->payload, .bytes = packet->payload_bytes };
	const struct wire_span *spans = packet->span_count > 1 ? packet->spans : &one;
	uint32_t count = packet->span_count > 1 ? packet->span_count : 1;
	uint32_t crc = wire_kernel_frame(ip, (uint32_t)(at - ip), at, spans[0].base, spans[0].bytes);

	at += spans[0].bytes;
	for (uint32_t i = 1; i < count; i++) {
		crc = wire_kernel_copy(crc, at, spans[i].base, spans[i].bytes);
		at += spans[i].bytes;
	}
	if (packet->pad_bytes) {
		memset(at, 0, 3);
		crc = wire_icrc_continue(crc, at, packet->pad_bytes);
		at += packet->pad_bytes;
	}
	store_le32(at, crc);
}

void engine_mbuf_fill(struct rte_mbuf *mbuf, const struct engine_template *template, const struct wire_packet *packet)
{
	uint32_t bth_bytes = packet_bytes(packet);
	uint32_t frame_bytes = template->bth_offset + bth_bytes;
	uint8_t *frame = rte_pktmbuf_mtod(mbuf, uint8_t *);
	uint8_t *at;

	assert(frame_bytes <= rte_pktmbuf_tailroom(mbuf));
	memcpy(frame, template->bytes, sizeof(template->bytes));
	patch_lengths(frame, template, bth_bytes);
	at = frame + template->bth_offset;
	at += wire_packet_build(packet, at);
	add_payload(at, frame + template->ip_offset, packet);
	mbuf->data_len = (uint16_t)frame_bytes;
	mbuf->pkt_len = frame_bytes;
}
