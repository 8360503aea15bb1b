/* golden.c - what Linux has sent parses, has a right ICRC and builds again byte for byte */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/capture_file.h"
#include "frames.h"
#include "rule.h"
#include "wire/bytes.h"
#include "wire/icrc.h"
#include "wire/neighbour.h"

static const struct golden {
	const char *name;
	uint64_t frames;
	uint64_t roce;
} goldens[] = {
	{ "perftest-ipv4.pcap", 451, 260 },
	{ "perftest-ipv6.pcap", 262, 110 },
	{ "pingpong-mtu1024.pcap", 251, 238 },
	{ "rping-cm.pcap", 41, 41 },
	{ "nvmeof-cm.pcap", 13, 13 },
	{ "rnr-then-ok.pcap", 10, 9 },
	{ "bad-rkey-write.pcap", 9, 9 },
	{ "retry-exhausted.pcap", 12, 11 },
	{ "linux-loss3-client.pcap", 2330, 2159 },
	{ "linux-loss3-server.pcap", 2293, 2122 },
};

typedef void frame_check(const char *where, const struct test_frame *frame, const struct wire_encap *encap,
			 const struct wire_packet *packet);

/* Calls check for every RoCE frame of every file, each in a buffer of its own size; counts them. */
static void for_each_golden_frame(frame_check *check)
{
	struct capture_frame captured = { 0 };
	struct capture_file *file;
	enum wire_packet_fault fault;
	struct wire_packet packet;
	struct test_frame frame;
	struct wire_encap encap;
	uint64_t roce;
	char path[512], where[64];
	int result;
	size_t i;

	for (i = 0; i < sizeof(goldens) / sizeof(goldens[0]); i++) {
		snprintf(path, sizeof(path), TEST_DATA "/%s", goldens[i].name);
		file = capture_file_open(path);
		cr_assert_null(capture_file_error(file), "%s: %s", path, capture_file_error(file));
		roce = 0;
		while ((result = capture_file_next(file, &captured)) == 1) {
			frame = test_frame_copy(captured.data, captured.bytes);
			if (wire_encap_parse(frame.data, frame.bytes, true, &encap) == WIRE_FRAME_ROCE) {
				roce++;
				fault = wire_packet_parse(frame.data + encap.bth_offset, encap.bth_bytes, &packet);
				snprintf(where, sizeof(where), "%s frame %" PRIu64, goldens[i].name, captured.number);
				cr_assert_eq(fault, WIRE_PACKET_OK, "%s: fault %d", where, fault);
				check(where, &frame, &encap, &packet);
			}
			test_frame_free(&frame);
		}
		cr_assert_eq(result, 0, "%s: %s", path, capture_file_error(file));
		cr_expect_eq(captured.number, goldens[i].frames, "%s: %" PRIu64 " frames", path, captured.number);
		cr_expect_eq(roce, goldens[i].roce, "%s: %" PRIu64 " RoCE frames", path, roce);
		capture_file_close(file);
	}
}

static void check_icrc(const char *where, const struct test_frame *frame, const struct wire_encap *encap,
		       const struct wire_packet *packet)
{
	uint32_t bytes = encap->bth_offset + encap->bth_bytes - WIRE_ICRC_BYTES - encap->ip_offset;
	const uint8_t *ip = frame->data + encap->ip_offset;

	(void)packet;
	cr_assert_eq(load_le32(ip + bytes), wire_icrc_frame(ip, bytes), "%s", where);
}

Test(golden, every_frame_has_a_right_icrc)
{
	RULE("W-3");
	for_each_golden_frame(check_icrc);
}

static void check_rebuild(const char *where, const struct test_frame *frame, const struct wire_encap *encap,
			  const struct wire_packet *packet)
{
	struct test_frame built = test_frame_build(encap, packet);
	uint32_t i;

	cr_assert_eq(built.bytes, frame->bytes, "%s: %u bytes, not %u", where, built.bytes, frame->bytes);
	for (i = 0; i < built.bytes; i++)
		cr_assert_eq(built.data[i], frame->data[i], "%s byte %u: %02x, not %02x", where, i, built.data[i],
			     frame->data[i]);
	test_frame_free(&built);
}

Test(golden, every_frame_is_rebuilt_byte_for_byte)
{
	RULE("W-1");
	for_each_golden_frame(check_rebuild);
}

static void check_reserved_opcode(const char *where, const struct test_frame *frame, const struct wire_encap *encap,
				  const struct wire_packet *packet)
{
	(void)frame;
	(void)encap;
	cr_assert_neq(wire_opcode(packet->opcode)->kind, WIRE_KIND_RESERVED, "%s", where);
	cr_assert(wire_opcode(packet->opcode)->payload || packet->payload_bytes == 0, "%s", where);
	cr_assert_eq(packet->pad_bytes, packet_pad_bytes(packet->payload_bytes), "%s", where);
}

Test(golden, every_opcode_is_known_with_consistent_payload_and_pad)
{
	RULE("W-6");
	for_each_golden_frame(check_reserved_opcode);
}

/* How often Linux and the recording hosts asked and answered on the way: by kind. */
static const struct {
	const char *name;
	uint32_t requests;
	uint32_t replies;
	uint32_t echoes; /* requests, and as many replies */
} neighbours[] = {
	{ "perftest-ipv4.pcap", 1, 1, 0 },
	{ "perftest-ipv6.pcap", 2, 2, 0 },
	{ "linux-loss3-client.pcap", 3, 1, 1 },
};

Test(golden, arp_discovery_and_pings_of_linux_are_read)
{
	uint32_t counts[WIRE_NEIGHBOUR_OTHER + 1];
	struct wire_neighbour neighbour;
	struct capture_frame captured;
	struct capture_file *file;
	struct test_frame frame;
	char path[512];
	size_t i;

	RULE("W-8");
	for (i = 0; i < sizeof(neighbours) / sizeof(neighbours[0]); i++) {
		memset(counts, 0, sizeof(counts));
		snprintf(path, sizeof(path), TEST_DATA "/%s", neighbours[i].name);
		file = capture_file_open(path);
		while (capture_file_next(file, &captured) == 1) {
			frame = test_frame_copy(captured.data, captured.bytes);
			wire_neighbour_parse(frame.data, frame.bytes, &neighbour);
			counts[neighbour.kind]++;
			test_frame_free(&frame);
		}
		cr_expect_null(capture_file_error(file), "%s", path);
		cr_expect_eq(counts[WIRE_NEIGHBOUR_REQUEST], neighbours[i].requests, "%s: %u", path,
			     counts[WIRE_NEIGHBOUR_REQUEST]);
		cr_expect_eq(counts[WIRE_NEIGHBOUR_REPLY], neighbours[i].replies, "%s: %u", path,
			     counts[WIRE_NEIGHBOUR_REPLY]);
		cr_expect_eq(counts[WIRE_NEIGHBOUR_ECHO], neighbours[i].echoes, "%s: %u", path,
			     counts[WIRE_NEIGHBOUR_ECHO]);
		cr_expect_eq(counts[WIRE_NEIGHBOUR_ECHOED], neighbours[i].echoes, "%s: %u", path,
			     counts[WIRE_NEIGHBOUR_ECHOED]);
		capture_file_close(file);
	}
}
