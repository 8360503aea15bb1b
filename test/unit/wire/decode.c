/* decode.c - the program uroce-decode: its lines, its totals, its exit codes */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* A capture of these frames in a new file, whose name is written to path (a template of mkstemp). */
static void write_capture(char *path, const struct test_frame *frames, uint32_t count)
{
	static const uint32_t header[6] = { 0xA1B2C3D4, 4 << 16 | 2, 0, 0, 65535, 1 };
	FILE *stream = fdopen(mkstemp(path), "wb");
	uint32_t i;

	cr_assert_not_null(stream);
	fwrite(header, sizeof(header), 1, stream);
	for (i = 0; i < count; i++) {
		uint32_t record[4] = { 0, 0, frames[i].bytes, frames[i].bytes };

		fwrite(record, sizeof(record), 1, stream);
		fwrite(frames[i].data, 1, frames[i].bytes, stream);
	}
	cr_assert_eq(fclose(stream), 0);
}

/* Writes the frame as a capture, runs the program over it. */
static void expect_frame(const struct test_frame *frame, const char *options, int code, const char *end)
{
	char path[] = "/tmp/uroce-decode-XXXXXX", arguments[128];

	write_capture(path, frame, 1);
	snprintf(arguments, sizeof(arguments), "%s %s", options, path);
	expect_run(arguments, code, end);
	unlink(path);
}

Test(decode, golden_files_are_good_and_build_again)
{
	RULE("W-3");
	expect_run("--check " TEST_DATA "/perftest-ipv4.pcap", 0, "\n451 frames, 260 RoCE, 0 bad\n");
	expect_run(TEST_DATA "/perftest-ipv6.pcap", 0, "\n262 frames, 110 RoCE, 0 bad\n");
	expect_run("--json --check " TEST_DATA "/rping-cm.pcap", 0, "\n{\"frames\":41,\"roce\":41,\"bad\":0}\n");
}

Test(decode, a_frame_is_a_line)
{
	struct test_frame frame = test_frame_roce(false, true);

	RULE("W-1");
	expect_frame(&frame, "--check", 0,
		     "1: 10.9.0.2 > 10.9.0.3 vlan=5 SEND_ONLY qp=0x123456 psn=16702650 ackreq bytes=5 icrc=ok\n"
		     "1 frames, 1 RoCE, 0 bad\n");
	expect_frame(&frame, "--json", 0,
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

Test(decode, what_is_not_kept_differs_only_when_checked)
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
	expect_frame(&frame, "--check", 1, " icrc=ok differs_at=55\n1 frames, 1 RoCE, 1 bad\n");
	test_frame_free(&frame);
}

Test(decode, faults_of_frames_to_the_roce_port_are_named_and_others_ignored)
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
Test(decode, a_cut_frame_tells_what_is_there)
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
		"5 frames, 5 RoCE, 0 bad, 4 cut: their ICRC cannot be checked\n");
	expect_run("--check --json " TEST_DATA "/cut.pcap", 0,
		   "\"psn\":14452696,\"flags\":[],\"pkey\":65535,\"payload_bytes\":1024,\"pad_bytes\":0,"
		   "\"icrc\":\"unknown\",\"captured_bytes\":56,\"original_bytes\":1086}\n"
		   "{\"frame\":5,\"source\":\"10.9.0.2\",\"dest\":\"10.9.0.9\",\"source_port\":61396,"
		   "\"captured_bytes\":50,\"original_bytes\":1082}\n"
		   "{\"frames\":5,\"roce\":5,\"bad\":0,\"cut\":4}\n");
}

Test(decode, the_largest_datagram_is_built_again)
{
	struct wire_encap encap = test_encap(true, false);
	struct wire_packet packet = test_packet(OP_SEND_ONLY, 65508);
	struct test_frame frame = test_frame_build(&encap, &packet);

	RULE("W-1");
	expect_frame(&frame, "--check", 0, " bytes=65508 icrc=ok\n1 frames, 1 RoCE, 0 bad\n");
	test_frame_free(&frame);
}

Test(decode, a_refusal_is_one_line_and_has_its_exit_code)
{
	expect_run("-", 3, "uroce-decode: -: the file is empty: capture again\n");
	expect_run("", 2, "uroce-decode: 0 files given: name one, as in uroce-decode FILE.pcap\n");
	expect_run("a b", 2, "uroce-decode: 2 files given: name one, as in uroce-decode FILE.pcap\n");
	expect_run("--chek a", 2, "uroce-decode: option --chek is unknown or has a value: see --help\n");
	expect_run("/nonexistent", 3,
		   "uroce-decode: /nonexistent: cannot be opened: No such file or directory: "
		   "give a capture file that can be read\n");
	expect_run("/", 3, "Is a directory: give a capture file that can be read\n");
	expect_run("/dev/null", 3, "uroce-decode: /dev/null: the file is empty: capture again\n");
}

Test(decode, help_and_version_go_to_the_output)
{
	expect_run("--help", 0, "2 wrong usage, 3 the file cannot be read.\n");
	expect_run("--version", 0, "uroce-decode " UROCE_VERSION "\n");
}
