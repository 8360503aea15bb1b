/* finding.c - parses one frame of a capture, builds it again and compares */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "decode/finding.h"

#include <stdlib.h>
#include <string.h>

#include "common/exit.h"
#include "wire/bytes.h"
#include "wire/icrc.h"
#include "wire/print.h"

#define XRCETH_BYTES 4u

/* Builds the frame from its parsed values and compares. Ethernet padding does not count. */
static void compare_rebuilt(struct finding *finding)
{
	struct wire_encap encap = finding->encap;
	uint32_t at, covered, bytes = encap.bth_offset + encap.bth_bytes;
	uint8_t *built = calloc(1, bytes), *ip;

	if (!built)
		exit(app_complain(APP_EXIT_ENVIRONMENT, "no memory for a frame of %u bytes: end other programs",
				  bytes));
	at = wire_encap_build(&encap, encap.bth_bytes, built);
	at += wire_packet_build(&finding->packet, built + at);
	memcpy(built + at, finding->packet.payload, finding->packet.payload_bytes);
	covered = bytes - WIRE_ICRC_BYTES - encap.ip_offset;
	ip = built + encap.ip_offset;
	store_le32(ip + covered, wire_icrc_frame(ip, covered));
	finding->rebuilt = true;
	for (at = 0; at < bytes && built[at] == finding->frame->data[at]; at++)
		;
	finding->differs = at < bytes;
	finding->differs_at = at;
	free(built);
}

/* The transport service of an opcode, in its upper three bits (IBA 9.2). */
enum service { SERVICE_RC, SERVICE_UC, SERVICE_RD, SERVICE_UD, SERVICE_CNP, SERVICE_XRC };

/* UC and XRC number their operations as RC does; UC has only SENDs and WRITEs. */
static bool is_operation(enum service service, const struct wire_opcode_row *row)
{
	if (service == SERVICE_UC)
		return (row->kind == WIRE_KIND_SEND || row->kind == WIRE_KIND_WRITE) && !row->ieth;
	return service == SERVICE_XRC && row->kind != WIRE_KIND_RESERVED;
}

/* Parses a packet of UC or XRC as one of RC, after removing what XRC has between the BTH and RC's headers. */
static void examine_service(struct finding *finding, const uint8_t *bth)
{
	static uint8_t copy[CAPTURE_FRAME_MAX_BYTES];
	uint32_t bytes = finding->encap.bth_bytes, srq_at = WIRE_BTH_BYTES;
	enum service service = bth[0] >> 5;
	const struct wire_opcode_row *row = wire_opcode(bth[0] & 0x1F);
	struct wire_packet packet;

	finding->service = "";
	finding->opcode = bth[0];
	finding->is_foreign =
		(service == SERVICE_RD || service > SERVICE_XRC) && wire_opcode(bth[0])->kind == WIRE_KIND_RESERVED;
	if (!is_operation(service, row) || bytes > sizeof(copy))
		return;
	memcpy(copy, bth, bytes);
	copy[0] &= 0x1F;
	if (service == SERVICE_XRC && !row->response) {
		if (bytes < srq_at + XRCETH_BYTES + WIRE_ICRC_BYTES)
			return;
		finding->has_srq = true;
		finding->srq = load_be32(bth + srq_at) & 0xFFFFFF;
		bytes -= XRCETH_BYTES;
		memmove(copy + srq_at, copy + srq_at + XRCETH_BYTES, bytes - srq_at);
	}
	finding->service = service == SERVICE_UC ? "UC_" : "XRC_";
	if (wire_packet_parse(copy, bytes, &packet) == WIRE_PACKET_TRUNCATED)
		finding->fault = wire_print_frame(WIRE_FRAME_TRUNCATED);
	else
		finding->packet = packet;
}

static void examine_packet(struct finding *finding, const uint8_t *data, bool check)
{
	const struct wire_encap *encap = &finding->encap;
	const uint8_t *ip = data + encap->ip_offset;
	const uint8_t *bth = data + encap->bth_offset;
	uint32_t covered = encap->bth_offset + encap->bth_bytes - WIRE_ICRC_BYTES - encap->ip_offset;

	if (finding->frame->bytes < encap->bth_offset + WIRE_BTH_BYTES && finding->cut)
		return; /* not even the BTH is complete */
	switch (wire_packet_parse(bth, encap->bth_bytes, &finding->packet)) {
	case WIRE_PACKET_TRUNCATED:
		finding->fault = wire_print_frame(WIRE_FRAME_TRUNCATED);
		return;
	case WIRE_PACKET_BAD_VERSION:
		finding->fault = "bth_version";
		break;
	case WIRE_PACKET_OK:
		break;
	}
	finding->has_packet = true;
	finding->has_headers = finding->frame->bytes >= (const uint8_t *)finding->packet.payload - data;
	finding->service = "";
	finding->opcode = bth[0];
	if (finding->cut)
		return;
	finding->icrc_ok = load_le32(ip + covered) == wire_icrc_frame(ip, covered);
	if (check)
		compare_rebuilt(finding);
	if (finding->fault == NULL)
		examine_service(finding, bth);
}

/* Parses a datagram to QP 1, if the capture has all of it. */
static void examine_mad(struct finding *finding, const uint8_t *data)
{
	const struct wire_packet *packet = &finding->packet;

	if (!finding->has_packet || packet->opcode != OP_UD_SEND_ONLY || packet->dest_qpn != CM_QPN)
		return;
	finding->has_mad =
		finding->frame->bytes >= (uint64_t)((const uint8_t *)packet->payload - data) + packet->payload_bytes;
	if (finding->has_mad)
		finding->mad_fault = cm_mad_parse(packet->payload, packet->payload_bytes, &finding->message);
}

/*
 * Returns the frame; if the capture has cut it, with zeros in the place of the missing end, so that lengths and offsets
 * are as on the wire.
 */
static const uint8_t *restore_length(const struct capture_frame *frame, bool cut)
{
	static uint8_t whole[CAPTURE_FRAME_MAX_BYTES];

	if (!cut)
		return frame->data;
	memcpy(whole, frame->data, frame->bytes);
	memset(whole + frame->bytes, 0, frame->original_bytes - frame->bytes);
	return whole;
}

bool decode_finding_examine(const struct capture_frame *frame, bool check, struct finding *finding)
{
	bool cut = frame->bytes < frame->original_bytes && frame->original_bytes <= CAPTURE_FRAME_MAX_BYTES;
	const uint8_t *data = restore_length(frame, cut);
	enum wire_frame kind;

	*finding = (struct finding){ .frame = frame, .cut = cut };
	/* A UDP checksum covers the missing part, so it cannot be checked. */
	kind = wire_encap_parse(data, cut ? frame->original_bytes : frame->bytes, !cut, &finding->encap);
	if (kind == WIRE_FRAME_ROCE) {
		examine_packet(finding, data, check);
		examine_mad(finding, data);
		return true;
	}
	finding->fault = wire_print_frame(kind);
	return finding->encap.dest_port == WIRE_UDP_PORT;
}

bool decode_finding_is_bad(const struct finding *finding)
{
	return finding->fault || (!finding->icrc_ok && !finding->cut) || finding->differs;
}

const char *decode_finding_icrc(const struct finding *finding)
{
	return finding->cut ? "unknown" : finding->icrc_ok ? "ok" : "bad";
}
