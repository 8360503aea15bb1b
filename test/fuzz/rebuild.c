/* rebuild.c - fuzz target: whatever parses is built again and parses to the same value; frames by encapsulation too */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "exact.h"
#include "wire/encap.h"
#include "wire/frame.h"
#include "wire/icrc.h"
#include "wire/packet.h"

/* The packet built again in memory of exactly its length. */
static uint8_t *build_packet(const struct wire_packet *packet)
{
	uint8_t headers[WIRE_HEADERS_MAX_BYTES], *built = calloc(1, packet_bytes(packet));
	uint32_t at = wire_packet_build(packet, headers);

	MUST(built && at <= sizeof(headers) && at + packet->payload_bytes <= packet_bytes(packet));
	memcpy(built, headers, at);
	if (packet->payload_bytes)
		memcpy(built + at, packet->payload, packet->payload_bytes);
	return built;
}

/* Values are compared whole, but for where their payload lies. */
static void expect_same_packet(struct wire_packet a, struct wire_packet b)
{
	MUST(a.payload_bytes == b.payload_bytes);
	MUST(a.payload_bytes == 0 || memcmp(a.payload, b.payload, a.payload_bytes) == 0);
	a.payload = b.payload = NULL;
	MUST(memcmp(&a, &b, sizeof(a)) == 0);
}

static void check_packet(const uint8_t *bth, uint32_t bytes)
{
	struct wire_packet packet, again;
	uint8_t *built;

	memset(&packet, 0, sizeof(packet));
	memset(&again, 0, sizeof(again));
	if (wire_packet_parse(bth, bytes, &packet) != WIRE_PACKET_OK)
		return;
	MUST(packet_bytes(&packet) == bytes);
	MUST((const uint8_t *)packet.payload >= bth && packet.payload_bytes <= bytes);
	built = build_packet(&packet);
	MUST(wire_packet_parse(built, bytes, &again) == WIRE_PACKET_OK);
	expect_same_packet(packet, again);
	free(built);
}

/* Nothing of an encapsulation is lost but what a sender of ours never writes: a clear DF, a checksum that is wrong. */
static void check_encap(const struct wire_encap *encap)
{
	struct wire_encap built = *encap, again;
	uint8_t headers[WIRE_ENCAP_MAX_BYTES], *frame;
	uint32_t at;

	built.udp_checksum = 0;
	built.fragmentable = false;
	at = wire_encap_build(&built, built.bth_bytes, headers);
	MUST(at <= sizeof(headers) && at == built.bth_offset);
	frame = calloc(1, at + built.bth_bytes);
	MUST(frame);
	memcpy(frame, headers, at);
	memset(&again, 0, sizeof(again));
	MUST(wire_encap_parse(frame, at + built.bth_bytes, true, &again) == WIRE_FRAME_ROCE);
	MUST(again.bth_offset == built.bth_offset && again.bth_bytes == encap->bth_bytes);
	MUST(memcmp(again.source, encap->source, 16) == 0 && memcmp(again.dest, encap->dest, 16) == 0);
	MUST(memcmp(again.source_mac, encap->source_mac, 6) == 0 && memcmp(again.dest_mac, encap->dest_mac, 6) == 0);
	MUST(again.ipv6 == encap->ipv6 && again.vlan == encap->vlan && again.vlan_tci == encap->vlan_tci);
	MUST(again.traffic_class == encap->traffic_class && again.hop_limit == encap->hop_limit);
	MUST(again.ip_id == encap->ip_id && again.flow_label == encap->flow_label);
	MUST(again.source_port == encap->source_port && again.dest_port == encap->dest_port);
	free(frame);
}

/* The template of a path with this encapsulation gives the frame that is built header by header. */
static void check_template(const struct wire_encap *encap, const uint8_t *bth)
{
	struct wire_frame_template template;
	struct wire_encap plain = *encap;
	uint8_t headers[WIRE_ENCAP_MAX_BYTES], *built;
	struct wire_packet packet;
	uint32_t bytes, at;

	if (wire_packet_parse(bth, encap->bth_bytes, &packet) != WIRE_PACKET_OK)
		return;
	plain.udp_checksum = 0;
	plain.fragmentable = false;
	wire_frame_prepare(&template, &plain);
	bytes = frame_bytes(&template, &packet);
	built = calloc(1, bytes < 128 ? 128 : bytes);
	MUST(built);
	MUST(wire_frame_build(&template, &packet, built) == bytes);
	at = wire_encap_build(&plain, packet_bytes(&packet), headers);
	MUST(at + packet_bytes(&packet) == bytes && memcmp(built, headers, at) == 0);
	free(built);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_encap encap;
	uint8_t *frame;

	if (size == 0 || size > 9000)
		return 0;
	frame = exact_take(data, size);
	check_packet(frame, (uint32_t)size);
	memset(&encap, 0, sizeof(encap));
	if (wire_encap_parse(frame, (uint32_t)size, false, &encap) == WIRE_FRAME_ROCE) {
		MUST((uint32_t)encap.bth_offset + encap.bth_bytes <= size);
		check_packet(frame + encap.bth_offset, encap.bth_bytes);
		check_encap(&encap);
		check_template(&encap, frame + encap.bth_offset);
	}
	exact_give_back(frame);
	return 0;
}
