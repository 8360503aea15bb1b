/* frame.c - libFuzzer target: any bytes as a frame, through everything that reads frames */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "exact.h"
#include "wire/encap.h"
#include "wire/icrc.h"
#include "wire/neighbour.h"
#include "wire/packet.h"
#include "wire/print.h"

/* What parsed must build again to the same headers, but for bits that the value does not keep. */
static void check_packet(const uint8_t *bth, uint32_t bytes)
{
	uint8_t built[WIRE_HEADERS_MAX_BYTES];
	char text[512];
	struct wire_packet packet, again;

	if (wire_packet_parse(bth, bytes, &packet) != WIRE_PACKET_OK)
		return;
	wire_print_packet(&packet, text, sizeof(text));
	if (packet_bytes(&packet) != bytes || wire_packet_build(&packet, built) > WIRE_HEADERS_MAX_BYTES)
		abort();
	if (packet.payload_bytes + packet.pad_bytes == 0 && bytes <= sizeof(built)) {
		memcpy(built + bytes - WIRE_ICRC_BYTES, bth + bytes - WIRE_ICRC_BYTES, WIRE_ICRC_BYTES);
		if (wire_packet_parse(built, bytes, &again) != WIRE_PACKET_OK || again.psn != packet.psn ||
		    again.opcode != packet.opcode || again.dest_qpn != packet.dest_qpn)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *frame;
	struct wire_encap encap;
	struct wire_neighbour neighbour;
	char text[256];

	if (size == 0 || size > 9000)
		return 0;
	frame = exact_take(data, size);
	check_packet(frame, (uint32_t)size);
	for (int checksums = 0; checksums < 2; checksums++) {
		enum wire_frame kind = wire_encap_parse(frame, (uint32_t)size, checksums, &encap);

		if (kind == WIRE_FRAME_ROCE) {
			wire_print_encap(&encap, text, sizeof(text));
			check_packet(frame + encap.bth_offset, encap.bth_bytes);
			if (encap.bth_bytes > WIRE_BTH_BYTES + WIRE_ICRC_BYTES)
				wire_icrc_frame(frame + encap.ip_offset,
						(uint32_t)(encap.bth_offset - encap.ip_offset) + encap.bth_bytes -
							WIRE_ICRC_BYTES);
		} else if (kind == WIRE_FRAME_ARP || kind == WIRE_FRAME_ICMP || kind == WIRE_FRAME_ICMP6) {
			if (wire_neighbour_parse(frame, (uint32_t)size, &neighbour) &&
			    neighbour.kind == WIRE_NEIGHBOUR_ECHO && checksums)
				wire_neighbour_echo_reply(frame, (uint32_t)size);
		}
	}
	exact_give_back(frame);
	return 0;
}
