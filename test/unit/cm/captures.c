/* captures.c - what two Linux kernels said to each other to connect: read, and built again byte for byte */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cm/ip.h"
#include "cm/mad.h"
#include "cm/service.h"
#include "common/capture_file.h"
#include "rule.h"
#include "wire/encap.h"
#include "wire/packet.h"

static const char *const captures[] = {
	"rping-cm.pcap", "nvmeof-cm.pcap", "rnr-then-ok.pcap", "bad-rkey-write.pcap", "retry-exhausted.pcap",
};

typedef void message_check(const char *where, const struct wire_encap *encap, const struct wire_packet *packet,
			   const struct cm_message *message);

/* Calls check for each message of a capture, or all with name NULL. Returns how many there were. */
static uint32_t for_each_message(const char *name, message_check *check)
{
	struct cm_message message;
	struct capture_frame frame;
	struct capture_file *file;
	struct wire_packet packet;
	struct wire_encap encap;
	char path[512], where[64];
	uint32_t count = 0;
	size_t i;

	for (i = 0; i < sizeof(captures) / sizeof(captures[0]); i++) {
		if (name && strcmp(name, captures[i]) != 0)
			continue;
		snprintf(path, sizeof(path), TEST_DATA "/%s", captures[i]);
		file = capture_file_open(path);
		cr_assert_null(capture_file_error(file), "%s: %s", path, capture_file_error(file));
		while (capture_file_next(file, &frame) == 1) {
			if (wire_encap_parse(frame.data, frame.bytes, true, &encap) != WIRE_FRAME_ROCE)
				continue;
			cr_assert_eq(wire_packet_parse(frame.data + encap.bth_offset, encap.bth_bytes, &packet),
				     WIRE_PACKET_OK);
			if (packet.dest_qpn != CM_QPN)
				continue;
			snprintf(where, sizeof(where), "%s frame %" PRIu64, captures[i], frame.number);
			cr_assert_eq(cm_mad_parse(packet.payload, packet.payload_bytes, &message), CM_MAD_OK, "%s",
				     where);
			check(where, &encap, &packet, &message);
			count++;
		}
		capture_file_close(file);
	}
	return count;
}

static void check_carrier(const char *where, const struct wire_encap *encap, const struct wire_packet *packet,
			  const struct cm_message *message)
{
	(void)encap;
	(void)message;
	cr_expect_eq(packet->opcode, OP_UD_SEND_ONLY, "%s", where);
	cr_expect_eq(packet->qkey, CM_QKEY, "%s: %08x", where, packet->qkey);
	cr_expect_eq(packet->source_qpn, CM_QPN, "%s: %06x", where, packet->source_qpn);
	cr_expect_eq(packet->pkey, 0xFFFF, "%s: %04x", where, packet->pkey);
	cr_expect_eq(packet->payload_bytes, CM_MAD_BYTES, "%s: %u", where, packet->payload_bytes);
}

Test(captures, each_message_is_a_datagram_from_qp_1_to_qp_1)
{
	RULE("U-1");
	cr_expect_eq(for_each_message(NULL, check_carrier), 33);
}

static void check_rebuild(const char *where, const struct wire_encap *encap, const struct wire_packet *packet,
			  const struct cm_message *message)
{
	const uint8_t *mad = packet->payload;
	uint8_t built[CM_MAD_BYTES];
	uint32_t i;

	(void)encap;
	cm_mad_build(message, built);
	for (i = 0; i < CM_MAD_BYTES; i++)
		cr_assert_eq(built[i], mad[i], "%s: byte %u is %02x, not %02x", where, i, built[i], mad[i]);
}

Test(captures, each_message_is_rebuilt_byte_for_byte)
{
	RULE("C-1");
	cr_expect_eq(for_each_message(NULL, check_rebuild), 33);
}

/* The address of the message itself, and the way it asks for, are those of the IP header in its private data. */
static void check_ip(const char *where, const struct wire_encap *encap, const struct wire_packet *packet,
		     const struct cm_message *message)
{
	uint8_t addr[16], built[CM_IP_BYTES];
	struct cm_ip ip;

	(void)packet;
	if (message->kind != CM_REQ) {
		cr_expect_not(cm_ip_find(message, &ip), "%s", where);
		return;
	}
	cr_assert(cm_ip_find(message, &ip), "%s", where);
	cr_expect_eq(message->service_id, cm_service_id(CM_SPACE_TCP, cm_service_port(message->service_id)));
	cr_expect_eq(ip.ip_version, 4);
	cm_ip_addr(&ip, ip.source, addr);
	cr_expect_arr_eq(addr, encap->source, 16, "%s", where);
	cr_expect_arr_eq(addr, message->primary.local_gid, 16, "%s", where);
	cm_ip_addr(&ip, ip.dest, addr);
	cr_expect_arr_eq(addr, encap->dest, 16, "%s", where);
	cr_expect_arr_eq(addr, message->primary.remote_gid, 16, "%s", where);
	cr_expect_eq(message->primary.flow_label,
		     (ip.source_port * 31u + cm_service_port(message->service_id)) & 0xFFFFF, "%s", where);
	cm_ip_build(&ip, built);
	cr_expect_arr_eq(built, message->private_data, CM_IP_BYTES, "%s", where);
}

Test(captures, request_carries_addresses_and_ports_of_both_ends)
{
	RULE("C-5");
	cr_expect_eq(for_each_message(NULL, check_ip), 33);
}

/* Against values that were read by eye from the bytes. */
static void check_values(const char *where, const struct wire_encap *encap, const struct wire_packet *packet,
			 const struct cm_message *message)
{
	(void)encap;
	(void)packet;
	switch (message->kind) {
	case CM_REQ:
		cr_expect_eq(cm_service_port(message->service_id), 7174, "%s", where);
		cr_expect_eq(message->qpn, 0x00001A, "%s: %06x", where, message->qpn);
		cr_expect_eq(message->remote_response_timeout, 20);
		cr_expect_eq(message->local_response_timeout, 20);
		cr_expect_eq(message->max_cm_retries, 15);
		cr_expect_eq(message->path_mtu, 5);
		cr_expect_eq(message->retry_count, 7);
		cr_expect_eq(message->rnr_retry_count, 7);
		cr_expect_eq(message->pkey, 0xFFFF);
		cr_expect_eq(message->primary.hop_limit, 64);
		cr_expect_eq(message->primary.ack_timeout, 19);
		break;
	case CM_REP:
		cr_expect_eq(message->target_ack_delay, 15);
		cr_expect_eq(message->rnr_retry_count, 7);
		break;
	}
}

Test(captures, the_values_of_a_linux_connection_are_read)
{
	RULE("C-1");
	cr_expect_eq(for_each_message("rping-cm.pcap", check_values), 5);
}

/* What the two messages of a set-up told, and where the first request of each direction began. */
struct beginning {
	struct cm_message req, rep;
	uint8_t active[16];
	bool begun[2]; /* from the active end, to it */
};

static void follow(const char *where, const struct wire_encap *encap, const struct wire_packet *packet,
		   struct beginning *beginning)
{
	bool back = memcmp(encap->source, beginning->active, 16) != 0;
	const struct cm_message *told = back ? &beginning->req : &beginning->rep;
	struct cm_message message;

	if (packet->dest_qpn == CM_QPN) {
		cr_assert_eq(cm_mad_parse(packet->payload, packet->payload_bytes, &message), CM_MAD_OK);
		if (message.kind == CM_REQ)
			memcpy(beginning->active, encap->source, 16);
		if (message.kind == CM_REQ)
			beginning->req = message;
		if (message.kind == CM_REP)
			beginning->rep = message;
		return;
	}
	if (wire_opcode(packet->opcode)->response || beginning->begun[back])
		return;
	beginning->begun[back] = true;
	cr_expect_eq(packet->dest_qpn, told->qpn, "%s", where);
	cr_expect_eq(packet->psn, told->psn, "%s: begins with %u, and %u was told", where, packet->psn, told->psn);
}

/* Not with which it begins itself. */
Test(captures, each_end_sends_the_start_psn_of_its_peer)
{
	struct beginning beginning = { 0 };
	struct capture_frame frame;
	struct capture_file *file;
	struct wire_packet packet;
	struct wire_encap encap;
	char where[64];

	RULE("C-1");
	file = capture_file_open(TEST_DATA "/rping-cm.pcap");
	while (capture_file_next(file, &frame) == 1) {
		cr_assert_eq(wire_encap_parse(frame.data, frame.bytes, true, &encap), WIRE_FRAME_ROCE);
		cr_assert_eq(wire_packet_parse(frame.data + encap.bth_offset, encap.bth_bytes, &packet),
			     WIRE_PACKET_OK);
		snprintf(where, sizeof(where), "frame %" PRIu64, frame.number);
		follow(where, &encap, &packet, &beginning);
	}
	capture_file_close(file);
	cr_expect(beginning.begun[0] && beginning.begun[1]);
}
