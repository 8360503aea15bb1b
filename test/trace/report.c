/* report.c - what was counted and found in a trace, as text */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <inttypes.h>

#include "decode/dialog.h"
#include "half.h"
#include "wire/encap.h"

static const char *const count_names[HALF_COUNTS] = {
#define COUNT(symbol, name) [COUNT_##symbol] = name,
#include "counts.def"
#undef COUNT
};

static const char *address_text(const uint8_t addr[16], char text[INET6_ADDRSTRLEN])
{
	bool ipv4 = encap_addr_is_ipv4(addr);

	return inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? addr + 12 : addr, text, INET6_ADDRSTRLEN);
}

static const char *view_text(uint32_t view)
{
	switch (view) {
	case TRACE_AT_REQUESTER:
		return "the requester";
	case TRACE_AT_RESPONDER:
		return "the responder";
	case TRACE_AT_REQUESTER | TRACE_AT_RESPONDER:
		return "both ends: nothing shows on which side packets are lost";
	}
	return "between the two";
}

static void print_half(const struct trace_half *half, FILE *out)
{
	uint64_t sent = half->counts[COUNT_SEND] + half->counts[COUNT_WRITE] + half->counts[COUNT_READ] +
			half->counts[COUNT_ATOMIC] + half->counts[COUNT_OTHER] + half->counts[COUNT_RESERVED];
	char source[INET6_ADDRSTRLEN], dest[INET6_ADDRSTRLEN];

	fprintf(out, "%u: %s", half->index + 1, address_text(half->source, source));
	if (half->source_qpn != UINT32_MAX)
		fprintf(out, " qp=0x%06x", half->source_qpn);
	fprintf(out, " > %s qp=0x%06x, MTU %u, seen from %s\n", address_text(half->dest, dest), half->dest_qpn,
		half->mtu, view_text(half->view));
	if (half->selective)
		fprintf(out, "  SACKs say what is lost: it is counted, and not judged\n");
	for (int i = 0; i < HALF_COUNTS; i++) {
		if (half->counts[i])
			fprintf(out, "  %12" PRIu64 " %s\n", half->counts[i], count_names[i]);
	}
	if (half->counts[COUNT_RESENT])
		fprintf(out, "  %12.2f request packets here for each that differs\n",
			(double)sent / (double)(sent - half->counts[COUNT_RESENT]));
	if (half->counts[COUNT_READ_RESPONSES_AGAIN])
		fprintf(out, "  %12.2f READ responses here for each that differs\n",
			(double)half->counts[COUNT_READ_RESPONSES] /
				(double)(half->counts[COUNT_READ_RESPONSES] -
					 half->counts[COUNT_READ_RESPONSES_AGAIN]));
	if (half->answer_ns)
		fprintf(out, "  %12.3f ms from lost answers that showed to restarts\n", (double)half->answer_ns / 1e6);
	if (half->silence_ns)
		fprintf(out, "  %12.3f ms of silence before restarts\n", (double)half->silence_ns / 1e6);
}

static void print_findings(const struct trace *trace, uint64_t shown, FILE *out)
{
	const struct trace_finding *findings;
	uint32_t count = trace_findings(trace, &findings);

	for (uint32_t i = 0; i < count && i < shown; i++) {
		const struct trace_verdict_row *row = &trace_verdicts[findings[i].verdict];

		fprintf(out, "%s: frame %" PRIu64 ", ", row->wrong ? "wrong" : "note", findings[i].number);
		if (findings[i].connection)
			fprintf(out, "connection %u", findings[i].connection);
		else
			fprintf(out, "half %u, psn=%u", findings[i].half + 1, findings[i].psn);
		fprintf(out, ": %s: %s\n", row->name, findings[i].detail);
	}
	if (count > shown)
		fprintf(out, "and %" PRIu64 " more\n", count - shown);
}

void trace_report(const struct trace *trace, uint64_t shown, FILE *out)
{
	const struct dialog *dialog = trace_dialog(trace);
	uint64_t wrong = trace_wrong(trace), all = 0;

	for (uint32_t i = 0; i < trace_halves(trace); i++)
		print_half(trace_half(trace, i), out);
	if (dialog->message_count > 0)
		fprintf(out, "%u messages of connection management in %u connections\n", dialog->message_count,
			dialog->connection_count);
	print_findings(trace, shown, out);
	for (int i = 0; i < TRACE_VERDICTS; i++) {
		uint64_t count = trace_count(trace, (enum trace_verdict)i);

		all += count;
		if (count)
			fprintf(out, "%8" PRIu64 " %s %s: %s\n", count, trace_verdicts[i].wrong ? "wrong" : "note ",
				trace_verdicts[i].name, trace_verdicts[i].sentence);
	}
	fprintf(out, "%u halves of connections, %" PRIu64 " wrong, %" PRIu64 " notes\n", trace_halves(trace), wrong,
		all - wrong);
}
