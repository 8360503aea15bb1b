/* main.c - uroce-trace: judges the RC packets and the messages of connection management of a capture file */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/capture_file.h"
#include "common/option.h"
#include "rc/codes.h"
#include "trace.h"
#include "wire/bytes.h"
#include "wire/encap.h"
#include "wire/icrc.h"

enum { EXIT_CLEAN = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, EXIT_FILE = 3 };

#define SHOWN_DEFAULT 20u
#define GRACE_US_DEFAULT 10000u
#define SILENCE_US_DEFAULT 50u

static const char usage[] =
	"usage: uroce-trace [--at ADDRESS|wire] [--mtu N] [--grace-us N] [--silence-us N] [--show N] FILE.pcap[ng]\n"
	"Judges whether both ends of each RC connection kept to go-back-N, and counts what they sent; and whether\n"
	"messages of connection management answer what was asked, with its ids, and come again only with a cause.\n"
	"A connection with SACKs is counted, and not judged: uroce-perf --sack-window off has none.\n"
	"  -a, --at ADDRESS    the capture was taken at this end, before packets from it can be lost;\n"
	"                      wire: at neither end (default: found out from where losses show)\n"
	"  -m, --mtu N         path MTU of all connections (default: found out from their packets)\n"
	"  -g, --grace-us N    what an end may take to react to what has come (default 10000)\n"
	"  -s, --silence-us N  after so long without progress a resend needs no cause (default 50)\n"
	"  -n, --show N        findings to write out (default 20)\n"
	"  -h, --help          this text\n"
	"  -V, --version\n"
	"Exit: 0 nothing is wrong, 1 something is, 2 usage, 3 the file cannot be read.\n";

struct arguments {
	struct trace_options options;
	uint64_t shown;
	const char *path;
};

/* Frames with a wrong ICRC come nowhere, so they are left out. */
static bool is_sound(const struct capture_frame *frame, const struct wire_encap *encap)
{
	const uint8_t *ip = frame->data + encap->ip_offset;
	uint32_t covered = encap->bth_offset + encap->bth_bytes - WIRE_ICRC_BYTES - encap->ip_offset;

	return load_le32(ip + covered) == wire_icrc_frame(ip, covered);
}

static void add_frame(struct trace *trace, const struct capture_frame *frame, uint64_t *bad)
{
	struct trace_packet packet = { .number = frame->number, .time_ns = frame->time_ns };
	struct wire_encap encap;

	if (wire_encap_parse(frame->data, frame->bytes, true, &encap) != WIRE_FRAME_ROCE)
		return;
	if (wire_packet_parse(frame->data + encap.bth_offset, encap.bth_bytes, &packet.packet) != WIRE_PACKET_OK ||
	    !is_sound(frame, &encap)) {
		(*bad)++;
		return;
	}
	memcpy(packet.source, encap.source, 16);
	memcpy(packet.dest, encap.dest, 16);
	trace_add(trace, &packet);
}

static int judge_file(const struct arguments *arguments)
{
	struct capture_file *file = capture_file_open(arguments->path);
	struct trace *trace = trace_open(&arguments->options);
	struct capture_frame frame;
	uint64_t bad = 0;
	int code;

	while (file && capture_file_next(file, &frame) == 1)
		add_frame(trace, &frame, &bad);
	if (!file || capture_file_error(file)) {
		fprintf(stderr, "uroce-trace: %s: %s\n", arguments->path,
			file ? capture_file_error(file) : "no memory to open it: end other programs");
		code = EXIT_FILE;
	} else {
		trace_judge(trace);
		if (bad)
			printf("%" PRIu64 " frames with a wrong ICRC or version, left out\n", bad);
		trace_report(trace, arguments->shown, stdout);
		code = trace_wrong(trace) ? EXIT_WRONG : EXIT_CLEAN;
	}
	capture_file_close(file);
	trace_close(trace);
	return code;
}

static bool read_number(const char *text, uint64_t most, uint64_t *value)
{
	char *end;

	*value = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *value <= most;
}

static bool read_address(const char *text, struct trace_options *options)
{
	static const uint8_t mapped[12] = { [10] = 0xFF, 0xFF };

	if (strcmp(text, "wire") == 0) {
		options->at_wire = true;
		return true;
	}
	options->at_given = true;
	memcpy(options->at, mapped, sizeof(mapped));
	return inet_pton(AF_INET, text, options->at + 12) == 1 || inet_pton(AF_INET6, text, options->at) == 1;
}

/* -1: go on; else the exit code. */
static int read_option(int option, struct arguments *arguments)
{
	bool good = false;
	uint64_t value;

	switch (option) {
	case 'a':
		good = read_address(optarg, &arguments->options);
		break;
	case 'm':
		good = read_number(optarg, 4096, &value) && mtu_is_valid((uint32_t)value);
		arguments->options.mtu = (uint32_t)value;
		break;
	case 'g':
		good = read_number(optarg, 1000000000, &value);
		arguments->options.grace_ns = value * 1000;
		break;
	case 's':
		good = read_number(optarg, 1000000000, &value);
		arguments->options.silence_ns = value * 1000;
		break;
	case 'n':
		good = read_number(optarg, UINT32_MAX, &arguments->shown);
		break;
	case 'h':
		fputs(usage, stdout);
		return EXIT_CLEAN;
	case 'V':
		app_option_print_version("uroce-trace");
		return EXIT_CLEAN;
	default:
		break;
	}
	if (good)
		return -1;
	fprintf(stderr, "uroce-trace: an option is unknown or its value is wrong: see --help\n");
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "at", required_argument, NULL, 'a' },       { "mtu", required_argument, NULL, 'm' },
		{ "grace-us", required_argument, NULL, 'g' }, { "silence-us", required_argument, NULL, 's' },
		{ "show", required_argument, NULL, 'n' },     { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },        { 0 },
	};
	struct arguments arguments = {
		.options = { .grace_ns = GRACE_US_DEFAULT * 1000ull, .silence_ns = SILENCE_US_DEFAULT * 1000ull },
		.shown = SHOWN_DEFAULT,
	};
	int option, code;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "a:m:g:s:n:hV", longs, NULL)) != -1) {
		code = read_option(option, &arguments);
		if (code >= 0)
			return code;
	}
	if (argc - optind != 1) {
		fprintf(stderr, "uroce-trace: %d files given: give one, as in uroce-trace FILE.pcap\n", argc - optind);
		return EXIT_USAGE;
	}
	arguments.path = argv[optind];
	return judge_file(&arguments);
}
