/* main.c - uroce-decode: prints a capture file as lines of text or JSON, and checks it */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cm/print.h"
#include "common/capture_file.h"
#include "common/exit.h"
#include "common/words.h"
#include "decode/finding.h"
#include "decode/json.h"
#include "decode/story.h"
#include "wire/print.h"

struct options {
	bool check;
	bool json;
	bool cm;
	bool dry;
	const char *path;
};

#define AT(member) OPTION_AT(struct options, member)

static const struct option_row rows[] = {
	{ WORD_OF(REBUILD), AT(check) },
	{ WORD_OF(JSON_LINES), AT(json) },
	{ WORD_OF(CM), AT(cm) },
	{ WORD_OF(DRY_RUN), AT(dry) },
};

static const struct option_set option_set = {
	.program = "uroce-decode",
	OPTION_ROWS(rows),
	OPTION_SPELLINGS,
	.head = "usage: uroce-decode [--rebuild] [--json-lines | --cm] FILE.pcap[ng]     (-: standard input)\n"
		"Prints a line for each RoCE frame: addresses, opcode, QPN, PSN, flags, extension headers, payload\n"
		"bytes, icrc=ok or icrc=bad. The last line is: F frames, R RoCE, B bad.\n"
		"Connection management messages (QP 1) are printed with their fields; fields not shown are 0.\n"
		"Truncated frames (snaplen) are decoded as far as possible, with icrc=unknown, and are not bad. The "
		"last\n"
		"line then also counts truncated frames, and skipped packets of link types other than "
		"Ethernet.\n",
	.tail = "A frame is bad if a receiver would drop it (checksum, length, version, ICRC) or, with --rebuild, if "
		"the\n"
		"rebuilt frame differs.\n"
		"\n"
		"Exit: 0 no bad frames, 1 bad frames, 2 usage, 3 the file cannot be "
		"read.\n",
};

/* Prints what the BTH alone tells. */
static char *print_bth(const struct wire_packet *packet, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "%s qp=0x%06" PRIx32 " psn=%" PRIu32, wire_opcode(packet->opcode)->name,
		 packet->dest_qpn, packet->psn);
	return out;
}

static void print_text(const struct finding *finding)
{
	char encap[WIRE_PRINT_MAX_BYTES], packet[WIRE_PRINT_MAX_BYTES], message[CM_PRINT_MAX_BYTES];

	printf("%" PRIu64 ": %s", finding->frame->number, wire_print_encap(&finding->encap, encap, sizeof(encap)));
	if (finding->has_packet)
		printf(" %s%s icrc=%s", finding->service,
		       finding->has_headers ? wire_print_packet(&finding->packet, packet, sizeof(packet)) :
					      print_bth(&finding->packet, packet, sizeof(packet)),
		       decode_finding_icrc(finding));
	if (finding->has_srq)
		printf(" srq=0x%06" PRIx32, finding->srq);
	if (finding->is_foreign)
		printf(" (not decoded: opcode 0x%02x belongs to another transport service; extension headers are "
		       "counted as payload)",
		       finding->opcode);
	if (finding->fault)
		printf(" fault=%s", finding->fault);
	if (finding->has_mad && finding->mad_fault == CM_MAD_OK)
		printf(" %s", cm_mad_print(&finding->message, message, sizeof(message)));
	else if (finding->has_mad)
		printf(" mad_fault=%s", cm_mad_fault_name(finding->mad_fault));
	if (finding->frame->bytes < finding->frame->original_bytes)
		printf(" captured=%u of=%u", finding->frame->bytes, finding->frame->original_bytes);
	if (finding->differs)
		printf(" differs_at=%u", finding->differs_at);
	printf("\n");
}

static void print_totals(const struct decode_totals *totals, bool json)
{
	if (json) {
		decode_json_totals(totals);
		return;
	}
	printf("%" PRIu64 " frames, %" PRIu64 " RoCE, %" PRIu64 " bad", totals->frames, totals->roce, totals->bad);
	if (totals->cut)
		printf(", %" PRIu64 " truncated frames (ICRC not checked)", totals->cut);
	for (uint32_t i = 0; i < totals->passed_count; i++)
		printf(", %" PRIu64 " packet%s of link type %" PRIu32 " not looked at", totals->passed[i].packets,
		       totals->passed[i].packets == 1 ? "" : "s", totals->passed[i].link);
	printf("\n");
}

static int decode(const struct options *options)
{
	struct capture_file *file = capture_file_open(options->path);
	struct decode_totals totals = { 0 };
	struct capture_frame frame;
	struct decode_story *story;
	struct finding finding;
	const char *error;
	int code;

	if (!file)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory to open %s: end other programs", options->path);
	story = decode_story_open();
	while (capture_file_next(file, &frame) == 1) {
		if (totals.frames++ == 0)
			decode_story_begin(story, frame.time_ns);
		if (!decode_finding_examine(&frame, options->check, &finding))
			continue;
		totals.roce++;
		totals.bad += decode_finding_is_bad(&finding);
		totals.cut += finding.cut;
		if (options->cm)
			decode_story_add(story, &finding);
		else if (options->json)
			decode_json_frame(&finding);
		else
			print_text(&finding);
	}
	error = capture_file_error(file);
	if (options->cm)
		decode_story_print(story, error != NULL);
	decode_story_close(story);
	totals.passed_count = capture_file_passed(file, &totals.passed);
	if (!error || totals.frames > 0)
		print_totals(&totals, options->json);
	code = totals.bad > 0 ? APP_EXIT_FAILURE : APP_EXIT_OK;
	if (error) {
		fflush(stdout);
		code = app_complain(APP_EXIT_ENVIRONMENT, "%s: %s", options->path, error);
	}
	capture_file_close(file);
	return code;
}

/* Returns 0 to go on, or 1 + the exit code. */
static int read_options(int argc, char **argv, struct options *options)
{
	int code = app_option_parse(&option_set, argc, argv, options);

	if (code)
		return code;
	if (options->json && options->cm)
		return 1 + app_complain(APP_EXIT_USAGE, "--json-lines and --cm cannot be combined: the output of "
							"--json-lines includes all CM messages. Remove --cm");
	if (argc - optind != 1)
		return 1 + app_complain(APP_EXIT_USAGE, "%d files given: use exactly one file: uroce-decode FILE.pcap",
					argc - optind);
	options->path = argv[optind];
	return 0;
}

static int print_plan(const struct options *options)
{
	printf("input: %s; each RoCE frame is checked%s\n",
	       strcmp(options->path, "-") == 0 ? "standard input" : options->path,
	       options->check ? ", and rebuilt" : "");
	printf("printed: %s\n", options->cm   ? "the messages of each connection" :
				options->json ? "one JSON object per frame, totals last" :
						"one line per frame, totals last");
	return APP_EXIT_OK;
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	int code;

	app_begin(argc, argv);
	code = read_options(argc, argv, &options);
	if (code)
		return code - 1;
	return options.dry ? print_plan(&options) : decode(&options);
}
