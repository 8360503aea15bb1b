/* decode.c - the program uroce-decode: its lines, its totals, its exit codes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cm/mad.h"
#include "draw.h"
#include "frames.h"
#include "rule.h"
#include "wire/bytes.h"
#include "wire/icrc.h"

/* Runs the program with these arguments and gives its exit code; out takes both of its outputs. */
static int run(const char *arguments, char *out, size_t out_bytes)
{
	char command[1024];
	size_t used = 0, got;
	FILE *stream;
	int status;

	snprintf(command, sizeof(command), "</dev/null %s %s 2>&1", getenv("UROCE_DECODE"), arguments);
	stream = popen(command, "r");
	cr_assert_not_null(stream);
	while ((got = fread(out + used, 1, out_bytes - 1 - used, stream)) > 0)
		used += got;
	out[used] = '\0';
	status = pclose(stream);
	cr_assert(WIFEXITED(status), "%s", out);
	return WEXITSTATUS(status);
}

static void expect_run(const char *arguments, int code, const char *end)
{
	static char out[4 << 20];
	int got = run(arguments, out, sizeof(out));
	size_t bytes = strlen(out), wanted = strlen(end);

	cr_expect_eq(got, code, "%s: exit %d, not %d: %s", arguments, got, code, out);
	cr_expect(bytes >= wanted && strcmp(out + bytes - wanted, end) == 0, "%s: \"%s\" does not end with \"%s\"",
		  arguments, out, end);
}

static void expect_part(const char *arguments, const char *part)
{
	static char out[4 << 20];

	run(arguments, out, sizeof(out));
	cr_expect(strstr(out, part), "%s: \"%s\" does not have \"%s\"", arguments, out, part);
}

/*
 * A capture of these frames in a new file, whose name is written to path (a template of mkstemp). NULL: they have the
 * time 0.
 */
static void write_capture(char *path, const struct test_frame *frames, const uint32_t *times_ms, uint32_t count)
{
	static const uint32_t header[6] = { 0xA1B2C3D4, 4 << 16 | 2, 0, 0, 65535, 1 };
	FILE *stream = fdopen(mkstemp(path), "wb");
	uint32_t i;

	cr_assert_not_null(stream);
	fwrite(header, sizeof(header), 1, stream);
	for (i = 0; i < count; i++) {
		uint32_t ms = times_ms ? times_ms[i] : 0;
		uint32_t record[4] = { ms / 1000, ms % 1000 * 1000, frames[i].bytes, frames[i].bytes };

		fwrite(record, sizeof(record), 1, stream);
		fwrite(frames[i].data, 1, frames[i].bytes, stream);
	}
	cr_assert_eq(fclose(stream), 0);
}

/* Writes the frame as a capture, runs the program over it. */
static void expect_frame(const struct test_frame *frame, const char *options, int code, const char *end)
{
	char path[] = "/tmp/uroce-decode-XXXXXX", arguments[128];

	write_capture(path, frame, NULL, 1);
	snprintf(arguments, sizeof(arguments), "%s %s", options, path);
	expect_run(arguments, code, end);
	unlink(path);
}

Test(decode, golden_files_are_good_and_are_rebuilt)
{
	RULE("W-3");
	expect_run("--rebuild " TEST_DATA "/perftest-ipv4.pcap", 0, "\n451 frames, 260 RoCE, 0 bad\n");
	expect_run(TEST_DATA "/perftest-ipv6.pcap", 0, "\n262 frames, 110 RoCE, 0 bad\n");
	expect_run("--json-lines --rebuild " TEST_DATA "/rping-cm.pcap", 0,
		   "\n{\"frames\":41,\"roce\":41,\"bad\":0}\n");
}

/* Hand-made: five of UC, and a SEND, a WRITE and a READ request of XRC, whose headers do not count as payload. */
Test(decode, other_services_are_named)
{
	RULE("W-1");
	expect_run("--rebuild " TEST_DATA "/uc.pcap", 0, "\n5 frames, 5 RoCE, 0 bad\n");
	expect_run(TEST_DATA "/uc.pcap", 0,
		   "UC_SEND_ONLY_IMM qp=0x000021 psn=5 migreq imm=0x00000009 bytes=64 icrc=ok\n"
		   "5 frames, 5 RoCE, 0 bad\n");
	expect_run(TEST_DATA "/xrc.pcap", 0,
		   "XRC_READ_REQUEST qp=0x000021 psn=3 migreq va=0x1000 rkey=0x00000007 len=64 icrc=ok srq=0x000033\n"
		   "3 frames, 3 RoCE, 0 bad\n");
}

Test(decode, a_frame_is_a_line)
{
	struct test_frame frame = test_frame_roce(false, true);

	RULE("W-1");
	expect_frame(&frame, "--rebuild", 0,
		     "1: 10.9.0.2 > 10.9.0.3 vlan=5 SEND_ONLY qp=0x123456 psn=16702650 ackreq bytes=5 icrc=ok\n"
		     "1 frames, 1 RoCE, 0 bad\n");
	expect_frame(&frame, "--json-lines", 0,
		     "{\"frame\":1,\"source\":\"10.9.0.2\",\"dest\":\"10.9.0.3\",\"vlan\":5,\"source_port\":49443,"
		     "\"opcode\":\"SEND_ONLY\",\"opcode_number\":4,\"qpn\":1193046,\"psn\":16702650,"
		     "\"flags\":[\"ackreq\"],\"pkey\":65535,\"payload_bytes\":5,\"pad_bytes\":3,\"icrc\":\"ok\"}\n"
		     "{\"frames\":1,\"roce\":1,\"bad\":0}\n");
	test_frame_free(&frame);
}

Test(decode, a_dash_is_standard_input)
{
	expect_run("- <" TEST_DATA "/perftest-ipv6.pcap", 0, "\n262 frames, 110 RoCE, 0 bad\n");
}

Test(decode, a_wrong_icrc_is_bad)
{
	struct test_frame frame = test_frame_roce(false, false);

	RULE("W-3");
	frame.data[frame.bytes - 1] ^= 1;
	expect_frame(&frame, "", 1, " icrc=bad\n1 frames, 1 RoCE, 1 bad\n");
	test_frame_free(&frame);
}

Test(decode, rebuild_reports_fields_that_are_not_kept)
{
	struct wire_encap encap = test_encap(false, false);
	struct wire_packet packet = test_packet(OP_SEND_ONLY, 1);
	static const uint8_t payload[4] = { 1, 0xEE, 0xEE, 0xEE };
	struct test_frame frame;

	RULE("W-6");
	/* Pad bytes that are not zero, under an ICRC that is right for them. */
	packet.payload = payload;
	packet.payload_bytes = 4;
	packet.pad_bytes = 0;
	frame = test_frame_build(&encap, &packet);
	frame.data[TEST_UDP4 + 8 + 1] = 0x30;
	store_le32(frame.data + frame.bytes - 4, wire_icrc_frame(frame.data + TEST_IP, frame.bytes - 4 - TEST_IP));
	expect_frame(&frame, "", 0, " icrc=ok\n1 frames, 1 RoCE, 0 bad\n");
	expect_frame(&frame, "--rebuild", 1, " icrc=ok differs_at=55\n1 frames, 1 RoCE, 1 bad\n");
	test_frame_free(&frame);
}

Test(decode, faults_of_frames_to_the_roce_port_are_named)
{
	struct test_frame frame = test_frame_roce(false, false);

	RULE("W-5");
	frame.bytes -= 5;
	expect_frame(&frame, "", 1, "10.9.0.2 > 10.9.0.3 fault=truncated\n1 frames, 1 RoCE, 1 bad\n");
	frame.bytes += 5;
	frame.data[TEST_UDP4 + 8 + 1] |= 1;
	expect_frame(&frame, "", 1, " icrc=bad fault=bth_version\n1 frames, 1 RoCE, 1 bad\n");
	frame.data[TEST_IP + 10] ^= 1;
	expect_frame(&frame, "", 1, " fault=ip_header\n1 frames, 1 RoCE, 1 bad\n");
	frame.data[TEST_UDP4 + 3] ^= 1;
	expect_frame(&frame, "", 0, "1 frames, 0 RoCE, 0 bad\n");
	test_frame_free(&frame);
}

/* All headers, no header but the BTH, not even that; the ACK is whole. What Linux sent, with the ends cut off. */
Test(decode, cut_frame_shows_its_captured_fields)
{
	RULE("W-4");
	expect_run(
		TEST_DATA "/cut.pcap", 0,
		"1: 10.9.0.9 > 10.9.0.2 WRITE_FIRST qp=0x00001f psn=14452690 migreq va=0x7f1866f80000 "
		"rkey=0x00001e84 len=6000 bytes=1024 icrc=unknown captured=120 of=1098\n"
		"2: 10.9.0.9 > 10.9.0.2 WRITE_LAST qp=0x00001f psn=14452695 migreq ackreq bytes=880 icrc=unknown "
		"captured=120 of=938\n"
		"3: 10.9.0.2 > 10.9.0.9 ACK qp=0x50183c psn=14452695 credit=31 msn=1 icrc=ok\n"
		"4: 10.9.0.2 > 10.9.0.9 READ_RESPONSE_FIRST qp=0x50183c psn=14452696 icrc=unknown captured=56 of=1086\n"
		"5: 10.9.0.2 > 10.9.0.9 captured=50 of=1082\n"
		"5 frames, 5 RoCE, 0 bad, 4 truncated frames (ICRC not checked)\n");
	expect_run("--rebuild --json-lines " TEST_DATA "/cut.pcap", 0,
		   "\"psn\":14452696,\"flags\":[],\"pkey\":65535,\"payload_bytes\":1024,\"pad_bytes\":0,"
		   "\"icrc\":\"unknown\",\"captured_bytes\":56,\"original_bytes\":1086}\n"
		   "{\"frame\":5,\"source\":\"10.9.0.2\",\"dest\":\"10.9.0.9\",\"source_port\":61396,"
		   "\"captured_bytes\":50,\"original_bytes\":1082}\n"
		   "{\"frames\":5,\"roce\":5,\"bad\":0,\"cut\":4}\n");
}

Test(decode, largest_datagram_is_rebuilt)
{
	struct wire_encap encap = test_encap(true, false);
	struct wire_packet packet = test_packet(OP_SEND_ONLY, 65508);
	struct test_frame frame = test_frame_build(&encap, &packet);

	RULE("W-1");
	expect_frame(&frame, "--rebuild", 0, " bytes=65508 icrc=ok\n1 frames, 1 RoCE, 0 bad\n");
	test_frame_free(&frame);
}

/* What follows the packet, of the first frame only. */
Test(decode, cm_message_is_shown_with_its_fields)
{
	static char out[64 << 10];

	RULE("U-1");
	run(TEST_DATA "/rping-cm.pcap", out, sizeof(out));
	cr_expect(strstr(out, "\n3: 10.9.0.2 > 10.9.0.3 UD_SEND_ONLY qp=0x000001 psn=1 ackreq qkey=0x80010000 "
			      "source_qp=0x000001 bytes=256 icrc=ok ReadyToUse transaction_id=0x00000002ec6bc422 "
			      "local_id=0x22c46bec remote_id=0xd5d34642\n"),
		  "%s", out);
	cr_expect(strstr(out, " ConnectRequest transaction_id=0x00000002ec6bc422 local_id=0x22c46bec "
			      "service_id=0x0000000001061c06(tcp:7174) "),
		  "%s", out);
	cr_expect(strstr(out, " ip.source_port=56281 ip.source=10.9.0.2 ip.dest=10.9.0.3\n"), "%s", out);
}

Test(decode, cm_message_is_a_json_object)
{
	static char out[64 << 10];

	RULE("U-1");
	run("--json-lines " TEST_DATA "/rping-cm.pcap", out, sizeof(out));
	cr_expect(strstr(out, "\"qkey\":2147549184,\"source_qpn\":1,\"payload_bytes\":256,\"pad_bytes\":0,"
			      "\"cm\":{\"kind\":\"REQ\",\"name\":\"ConnectRequest\","
			      "\"transaction_id\":\"0x2ec6bc422\","),
		  "%s", out);
	cr_expect(strstr(out, "\"primary\":{\"local_lid\":65535,\"remote_lid\":65535,\"local_gid\":\"10.9.0.2\","
			      "\"remote_gid\":\"10.9.0.3\",\"flow_label\":703309,"),
		  "%s", out);
	cr_expect(strstr(out, "\"ip\":{\"version\":0,\"ip_version\":4,\"source_port\":56281,\"source\":\"10.9.0.2\","
			      "\"dest\":\"10.9.0.3\"},\"private_data\":\"\"},\"icrc\":\"ok\"}\n"),
		  "%s", out);
}

/* To QP 1 come other datagrams, too. */
Test(decode, other_datagram_to_qp_1_shows_its_fault_and_is_not_bad)
{
	struct wire_encap encap = test_encap(false, false);
	struct wire_packet packet = test_packet(OP_UD_SEND_ONLY, CM_MAD_BYTES);
	uint8_t mad[CM_MAD_BYTES] = { 1, 4 };
	struct test_frame frame;

	RULE("U-2");
	packet.dest_qpn = CM_QPN;
	packet.payload = mad;
	frame = test_frame_build(&encap, &packet);
	expect_frame(&frame, "", 0, " bytes=256 icrc=ok mad_fault=class\n1 frames, 1 RoCE, 0 bad\n");
	expect_frame(&frame, "--json-lines", 0,
		     "\"cm\":{\"fault\":\"class\"},\"icrc\":\"ok\"}\n{\"frames\":1,\"roce\":1,\"bad\":0}\n");
	expect_frame(&frame, "--cm", 0, "0 connections, 0 messages\n1 frames, 1 RoCE, 0 bad\n");
	test_frame_free(&frame);
}

Test(decode, linux_connections_are_shown_with_their_outcome)
{
	RULE("C-1");
	expect_run("--cm " TEST_DATA "/rping-cm.pcap", 0,
		   "connection 1: 10.9.0.2 -> 10.9.0.3 tcp:7174\n"
		   "  0.000000 10.9.0.2 -> 10.9.0.3 REQ id=0x22c46bec qpn=0x00001a psn=13108023 service tcp:7174 "
		   "from port 56281\n"
		   "  0.016040 10.9.0.3 -> 10.9.0.2 REP id=0xd5d34642 to=0x22c46bec qpn=0x00001a psn=3187493\n"
		   "  0.020004 10.9.0.2 -> 10.9.0.3 RTU id=0x22c46bec to=0xd5d34642\n"
		   "  0.294979 10.9.0.2 -> 10.9.0.3 DREQ id=0x22c46bec to=0xd5d34642 qpn=0x00001a\n"
		   "  0.339141 10.9.0.3 -> 10.9.0.2 DREP id=0xd5d34642 to=0x22c46bec\n"
		   "  = established after 20.004 ms, disconnected after another 319.137 ms\n"
		   "1 connections, 5 messages\n41 frames, 41 RoCE, 0 bad\n");
	expect_run("--cm " TEST_DATA "/nvmeof-cm.pcap", 0,
		   "  = established after 48.097 ms\n4 connections, 13 messages\n13 frames, 13 RoCE, 0 bad\n");
	expect_run("--cm " TEST_DATA "/pingpong-mtu1024.pcap", 0,
		   "0 connections, 0 messages\n251 frames, 238 RoCE, 0 bad\n");
	expect_run("--cm --json-lines " TEST_DATA "/rping-cm.pcap", 2, "Remove --cm\n");
}

#define SAID_MAX 300u

/* A message between the two hosts of test_encap(), the first of which connects. */
struct said {
	uint32_t at_ms;
	bool back;
	struct cm_message message;
};

static void expect_story(const struct said *said, uint32_t count, const char *end)
{
	char path[] = "/tmp/uroce-decode-XXXXXX", arguments[128];
	struct test_frame frames[SAID_MAX];
	uint8_t mad[CM_MAD_BYTES];
	uint32_t times[SAID_MAX], i;

	for (i = 0; i < count; i++) {
		struct wire_encap encap = test_encap(false, false);
		struct wire_packet packet = test_packet(OP_UD_SEND_ONLY, CM_MAD_BYTES);

		if (said[i].back) {
			memcpy(encap.source, test_encap(false, false).dest, 16);
			memcpy(encap.dest, test_encap(false, false).source, 16);
		}
		cm_mad_build(&said[i].message, mad);
		packet.dest_qpn = CM_QPN;
		packet.payload = mad;
		frames[i] = test_frame_build(&encap, &packet);
		times[i] = said[i].at_ms;
	}
	write_capture(path, frames, times, count);
	snprintf(arguments, sizeof(arguments), "--cm %s", path);
	expect_run(arguments, 0, end);
	unlink(path);
	for (i = 0; i < count; i++)
		test_frame_free(&frames[i]);
}

#define EXPECT_STORY(said, end) expect_story(said, sizeof(said) / sizeof((said)[0]), end)
#define A "10.9.0.2 -> 10.9.0.3 "
#define B "10.9.0.3 -> 10.9.0.2 "

/* ---- files of which a part is not looked at ---- */

static void put_block(FILE *stream, uint32_t type, const void *head, uint32_t head_bytes, const void *data,
		      uint32_t data_bytes)
{
	uint32_t padded = (data_bytes + 3) / 4 * 4, words[2] = { type, 12 + head_bytes + padded };

	fwrite(words, sizeof(words), 1, stream);
	fwrite(head, 1, head_bytes, stream);
	fwrite(data, 1, data_bytes, stream);
	fwrite("\0\0\0", 1, padded - data_bytes, stream);
	fwrite(&words[1], 4, 1, stream);
}

/* rping-cm.pcap as pcapng, with a packet of a USB bus, of a second interface, behind its second frame. */
static void write_mixed(char *path)
{
	static const uint32_t section[4] = { 0x1A2B3C4D, 1, ~0u, ~0u }, interfaces[2][2] = { { 1, 0 }, { 220, 0 } };
	FILE *from = fopen(TEST_DATA "/rping-cm.pcap", "rb"), *to = fdopen(mkstemp(path), "wb");
	uint32_t record[4], head[5] = { 0 };
	uint8_t data[4096];

	cr_assert(from && to && fseek(from, 24, SEEK_SET) == 0);
	put_block(to, 0x0A0D0D0A, section, sizeof(section), "", 0);
	for (int i = 0; i < 2; i++)
		put_block(to, 1, interfaces[i], sizeof(interfaces[i]), "", 0);
	for (int i = 0; fread(record, sizeof(record), 1, from) == 1; i++) {
		uint64_t time_us = record[0] * 1000000ull + record[1];

		cr_assert_eq(fread(data, 1, record[2], from), record[2]);
		memcpy(head, (uint32_t[5]){ 0, time_us >> 32, (uint32_t)time_us, record[2], record[3] }, sizeof(head));
		put_block(to, 6, head, sizeof(head), data, record[2]);
		if (i == 1) {
			head[0] = 1;
			put_block(to, 6, head, sizeof(head), data, record[2]);
		}
	}
	fclose(from);
	cr_assert_eq(fclose(to), 0);
}

Test(decode, packets_of_another_link_type_are_skipped_and_counted)
{
	char path[] = "/tmp/uroce-decode-XXXXXX", arguments[128];

	write_mixed(path);
	snprintf(arguments, sizeof(arguments), "--cm %s", path);
	expect_run(arguments, 0,
		   "  = established after 20.004 ms, disconnected after another 319.137 ms\n"
		   "1 connections, 5 messages\n"
		   "41 frames, 41 RoCE, 0 bad, 1 packet of link type 220 not looked at\n");
	snprintf(arguments, sizeof(arguments), "--json-lines %s", path);
	expect_run(arguments, 0,
		   "{\"frames\":41,\"roce\":41,\"bad\":0,\"not_looked_at\":[{\"link_type\":220,\"packets\":1}]}\n");
	unlink(path);
}

/* A truncated file does not show how an open connection continued. */
Test(decode, truncated_file_yields_no_conclusion)
{
	char path[] = "/tmp/uroce-decode-XXXXXX", arguments[128];
	FILE *from = fopen(TEST_DATA "/rping-cm.pcap", "rb"), *to = fdopen(mkstemp(path), "wb");
	uint8_t data[1000];

	cr_assert(from && to && fread(data, 1, sizeof(data), from) == sizeof(data));
	fwrite(data, 1, sizeof(data), to);
	fclose(from);
	fclose(to);
	snprintf(arguments, sizeof(arguments), "--cm %s", path);
	expect_run(arguments, 3, "the file is damaged: capture again, or copy the file again\n");
	expect_part(arguments,
		    "  = outcome unknown: the rest of the file could not be read\n1 connections, 2 messages\n");
	unlink(path);
}

Test(decode, refused_connection_shows_its_reason)
{
	static const struct said said[] = {
		{ 0, false, { .kind = CM_REQ, .transaction_id = 9, .local_id = 1, .service_id = 7 } },
		{ 2,
		  true,
		  { .kind = CM_MRA, .transaction_id = 9, .local_id = 5, .remote_id = 1, .service_timeout = 8 } },
		{ 4, true, { .kind = CM_REJ, .transaction_id = 9, .remote_id = 1, .reason = 8 } },
	};

	EXPECT_STORY(said, "connection 1: " A "0x0000000000000007\n"
			   "  0.000000 " A "REQ id=0x00000001 qpn=0x000000 psn=0 service 0x0000000000000007\n"
			   "  0.002000 " B "MRA id=0x00000005 to=0x00000001 of REQ: wait another 1.049 ms\n"
			   "  0.004000 " B "REJ id=0x00000000 to=0x00000001 of REQ: invalid_service_id (8)\n"
			   "  = rejected by 10.9.0.3: invalid_service_id after 4.000 ms\n"
			   "1 connections, 3 messages\n3 frames, 3 RoCE, 0 bad\n");
}

Test(decode, repeated_and_unanswered_messages_are_marked)
{
	static const struct said said[] = {
		{ 0, false, { .kind = CM_REQ, .transaction_id = 9, .local_id = 1, .service_id = 7 } },
		{ 5, false, { .kind = CM_REQ, .transaction_id = 10, .local_id = 2, .service_id = 7 } },
		{ 10, false, { .kind = CM_REQ, .transaction_id = 9, .local_id = 1, .service_id = 7 } },
		{ 15, true, { .kind = CM_REP, .transaction_id = 10, .local_id = 3, .remote_id = 2 } },
		{ 20, false, { .kind = CM_DREQ, .transaction_id = 11, .local_id = 8, .remote_id = 9 } },
	};

	EXPECT_STORY(said, "connection 1: " A "0x0000000000000007\n"
			   "  0.000000 " A "REQ id=0x00000001 qpn=0x000000 psn=0 service 0x0000000000000007\n"
			   "  0.010000 " A "REQ id=0x00000001 qpn=0x000000 psn=0 service 0x0000000000000007 (again)\n"
			   "  = no answer to 2 REQ\n"
			   "connection 2: " A "0x0000000000000007\n"
			   "  0.005000 " A "REQ id=0x00000002 qpn=0x000000 psn=0 service 0x0000000000000007\n"
			   "  0.015000 " B "REP id=0x00000003 to=0x00000002 qpn=0x000000 psn=0\n"
			   "  = REP after 10.000 ms, no RTU\n"
			   "connection 3: 10.9.0.2 -> 10.9.0.3\n"
			   "  0.020000 " A "DREQ id=0x00000008 to=0x00000009 qpn=0x000000\n"
			   "  = set up before the capture, DREQ not answered\n"
			   "3 connections, 5 messages\n5 frames, 5 RoCE, 0 bad\n");
}

/* An answer with unknown ids is assigned by its transaction id. */
Test(decode, unknown_ids_are_marked_and_reused_ids_are_distinguished)
{
	static const struct said said[] = {
		{ 0, false, { .kind = CM_REQ, .transaction_id = 9, .local_id = 1, .service_id = 7 } },
		{ 1, true, { .kind = CM_REP, .transaction_id = 9, .local_id = 3, .remote_id = 77 } },
		{ 2, true, { .kind = CM_REJ, .transaction_id = 9, .local_id = 3, .remote_id = 1, .reason = 28 } },
		{ 3, false, { .kind = CM_REQ, .transaction_id = 10, .local_id = 1, .service_id = 7 } },
	};

	EXPECT_STORY(said, "  0.001000 " B "REP id=0x00000003 to=0x0000004d qpn=0x000000 psn=0 (ids of no connection)\n"
			   "  0.002000 " B "REJ id=0x00000003 to=0x00000001 of REQ: consumer_reject (28)\n"
			   "  = rejected by 10.9.0.3: consumer_reject after 2.000 ms\n"
			   "connection 2: " A "0x0000000000000007\n"
			   "  0.003000 " A "REQ id=0x00000001 qpn=0x000000 psn=0 service 0x0000000000000007\n"
			   "  = no answer to 1 REQ\n"
			   "2 connections, 4 messages\n4 frames, 4 RoCE, 0 bad\n");
}

Test(decode, alternate_paths_and_datagram_services_have_their_own_lines)
{
	static const struct said said[] = {
		{ 0, true, { .kind = CM_REP, .transaction_id = 9, .local_id = 3, .remote_id = 1 } },
		{ 1, false, { .kind = CM_RTU, .transaction_id = 9, .local_id = 1, .remote_id = 3 } },
		{ 2, false, { .kind = CM_LAP, .transaction_id = 12, .local_id = 1, .remote_id = 3 } },
		{ 3, true, { .kind = CM_APR, .transaction_id = 12, .local_id = 3, .remote_id = 1, .status = 2 } },
		{ 4, false, { .kind = CM_SIDR_REQ, .transaction_id = 1, .local_id = 1, .service_id = 0x0111000A } },
		{ 5, true, { .kind = CM_SIDR_REP, .transaction_id = 1, .local_id = 1, .qpn = 6, .qkey = 7 } },
	};

	EXPECT_STORY(said, "  0.000000 " B "REP id=0x00000003 to=0x00000001 qpn=0x000000 psn=0\n"
			   "  0.001000 " A "RTU id=0x00000001 to=0x00000003\n"
			   "  0.002000 " A "LAP id=0x00000001 to=0x00000003 alternate path :: > ::\n"
			   "  0.003000 " B "APR id=0x00000003 to=0x00000001 not_supported (2)\n"
			   "  = connection setup began before the capture\n"
			   "connection 2: " A "udp:10\n"
			   "  0.004000 " A "SIDR_REQ id=0x00000001 service udp:10\n"
			   "  0.005000 " B "SIDR_REP id=0x00000001 valid (0) qpn=0x000006 qkey=0x00000007\n"
			   "  = answered: valid\n"
			   "2 connections, 6 messages\n6 frames, 6 RoCE, 0 bad\n");
}

/* Ids, transaction ids and all else as they come. */
Test(decode, random_messages_are_printed)
{
	struct said said[SAID_MAX];
	uint64_t state = draw_start(1);
	uint32_t i, byte;

	for (i = 0; i < SAID_MAX; i++) {
		uint8_t *bytes = (uint8_t *)&said[i].message;

		for (byte = 0; byte < sizeof(said[i].message); byte++)
			bytes[byte] = draw_chance(&state, 500) ? (uint8_t)draw_below(&state, 256) : 0;
		said[i].at_ms = draw_below(&state, 1000);
		said[i].back = draw_chance(&state, 500);
		said[i].message.kind = (uint8_t)(CM_KIND_FIRST + draw_below(&state, 11));
		said[i].message.local_id &= 3;
		said[i].message.remote_id &= 3;
		said[i].message.transaction_id &= 3;
	}
	EXPECT_STORY(said, " connections, 300 messages\n300 frames, 300 RoCE, 0 bad\n");
}

Test(decode, a_refusal_is_one_line_and_has_its_exit_code)
{
	expect_run("-", 3, "uroce-decode: -: the file is empty: capture again\n");
	expect_run("", 2, "uroce-decode: 0 files given: use exactly one file: uroce-decode FILE.pcap\n");
	expect_run("a b", 2, "uroce-decode: 2 files given: use exactly one file: uroce-decode FILE.pcap\n");
	expect_run("--chek a", 2, "uroce-decode: unrecognized option '--chek'; --help lists the options\n");
	expect_run("/nonexistent", 3,
		   "uroce-decode: /nonexistent: cannot open the file: No such file or directory: "
		   "use a readable capture file\n");
	expect_run("/", 3, "Is a directory: use a readable capture file\n");
	expect_run("/dev/null", 3, "uroce-decode: /dev/null: the file is empty: capture again\n");
}

Test(decode, help_and_version_are_written_to_standard_output)
{
	expect_run("--help", 0, "2 usage, 3 the file cannot be read.\n");
	expect_part("--version", "uroce-decode " UROCE_VERSION " (DPDK ");
}
