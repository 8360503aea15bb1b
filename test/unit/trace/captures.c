/* captures.c - the trace checker on captures of two Linux kernels: nothing legal is wrong, waste is counted */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "common/capture_file.h"
#include "half.h"
#include "wire/encap.h"

static struct trace *judge_file(const char *name, uint64_t grace_ns)
{
	struct trace_options options = { .grace_ns = grace_ns, .silence_ns = 100000 };
	struct trace *trace = trace_open(&options);
	struct capture_frame frame;
	struct capture_file *file;
	char path[512];
	int result;

	snprintf(path, sizeof(path), TEST_DATA "/%s", name);
	file = capture_file_open(path);
	while ((result = capture_file_next(file, &frame)) == 1) {
		struct trace_packet packet = { .number = frame.number, .time_ns = frame.time_ns };
		struct wire_encap encap;

		if (wire_encap_parse(frame.data, frame.bytes, true, &encap) != WIRE_FRAME_ROCE)
			continue;
		cr_assert_eq(wire_packet_parse(frame.data + encap.bth_offset, encap.bth_bytes, &packet.packet),
			     WIRE_PACKET_OK);
		memcpy(packet.source, encap.source, 16);
		memcpy(packet.dest, encap.dest, 16);
		trace_add(trace, &packet);
	}
	cr_assert_eq(result, 0, "%s: %s", path, capture_file_error(file));
	capture_file_close(file);
	trace_judge(trace);
	return trace;
}

static const struct {
	const char *name;
	uint32_t halves;
} captures[] = {
	{ "bad-rkey-write.pcap", 1 },  { "linux-loss3-client.pcap", 4 }, { "linux-loss3-server.pcap", 4 },
	{ "perftest-ipv4.pcap", 5 },   { "perftest-ipv6.pcap", 4 },      { "pingpong-mtu1024.pcap", 2 },
	{ "retry-exhausted.pcap", 1 }, { "rnr-then-ok.pcap", 1 },        { "rping-cm.pcap", 2 },
	{ "nvmeof-cm.pcap", 0 },
};

Test(captures, linux_captures_contain_no_wrong_verdict)
{
	for (uint32_t i = 0; i < sizeof(captures) / sizeof(captures[0]); i++) {
		const struct trace_finding *findings;
		struct trace *trace = judge_file(captures[i].name, 10000000);
		uint32_t count = trace_findings(trace, &findings);

		for (uint32_t j = 0; j < count; j++)
			cr_expect(!trace_verdicts[findings[j].verdict].wrong, "%s, frame %lu: %s: %s", captures[i].name,
				  findings[j].number, trace_verdicts[findings[j].verdict].name, findings[j].detail);
		cr_expect_eq(trace_halves(trace), captures[i].halves, "%s: %u halves", captures[i].name,
			     trace_halves(trace));
		trace_close(trace);
	}
}

/* The two files of one run: the server received the packets sent by the client, except lost ones. */
Test(captures, captures_of_both_ends_are_consistent)
{
	struct trace *client = judge_file("linux-loss3-client.pcap", 10000000);
	struct trace *server = judge_file("linux-loss3-server.pcap", 10000000);

	for (uint32_t i = 0; i < 4; i++) {
		const struct trace_half *sent = trace_half(client, i), *came = trace_half(server, i);
		const uint64_t *a = sent->counts, *b = came->counts;
		uint64_t requests[2];

		cr_expect_eq(sent->view, TRACE_AT_REQUESTER, "half %u: %u", i, sent->view);
		cr_expect_eq(came->view, TRACE_AT_RESPONDER, "half %u: %u", i, came->view);
		requests[0] = a[COUNT_SEND] + a[COUNT_WRITE] + a[COUNT_READ] + a[COUNT_ATOMIC];
		requests[1] = b[COUNT_SEND] + b[COUNT_WRITE] + b[COUNT_READ] + b[COUNT_ATOMIC];
		cr_expect_geq(requests[0], requests[1], "half %u: more requests came than were sent", i);
		cr_expect_geq(b[COUNT_READ_RESPONSES], a[COUNT_READ_RESPONSES], "half %u", i);
		cr_expect_geq(b[COUNT_ACKS], a[COUNT_ACKS], "half %u", i);
		cr_expect_geq(b[COUNT_NAKS_SEQUENCE], a[COUNT_NAKS_SEQUENCE], "half %u", i);
		/* All got through in the end: as many different requests on both sides. */
		cr_expect_eq(requests[0] - a[COUNT_RESENT], requests[1] - b[COUNT_RESENT], "half %u", i);
		cr_expect_eq(b[COUNT_GAPS], b[COUNT_NAKS_SEQUENCE], "half %u: a NAK for each gap", i);
	}
	cr_expect_eq(trace_half(server, 0)->counts[COUNT_NAKS_SEQUENCE], 7);
	cr_expect_eq(trace_half(client, 0)->counts[COUNT_RESENT], 610, "of 770: what go-back-N costs Linux");
	cr_expect_eq(trace_half(server, 2)->counts[COUNT_READ_RESPONSES_AGAIN], 360, "of 520");
	cr_expect_gt(trace_half(client, 2)->silence_ns, 60000000, "a READ waited for its ACK timer");
	trace_close(client);
	trace_close(server);
}

Test(captures, zero_reaction_time_shows_the_late_restarts_of_linux)
{
	struct trace *trace = judge_file("linux-loss3-client.pcap", 0);

	cr_expect_eq(trace_wrong(trace), 0);
	cr_expect_eq(trace_count(trace, TRACE_ANSWER_LATE), 5);
	trace_close(trace);
}
