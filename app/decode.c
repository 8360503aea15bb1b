/* decode.c - uroce-decode: a capture file as lines of text or JSON, checked */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/capture_file.h"
#include "wire/bytes.h"
#include "wire/encap.h"
#include "wire/icrc.h"
#include "wire/packet.h"
#include "wire/print.h"

enum { EXIT_OK = 0, EXIT_BAD_FRAMES = 1, EXIT_USAGE = 2, EXIT_FILE = 3 };

struct options {
	bool check;
	bool json;
	const char *path;
};

struct totals {
	uint64_t frames;
	uint64_t roce;
	uint64_t bad;
	uint64_t cut;
};

/* What is known of one RoCE frame. */
struct finding {
	const struct capture_frame *frame;
	struct wire_encap encap;
	struct wire_packet packet;
	const char *fault; /* NULL, or why it is no good packet */
	bool has_packet;
	bool cut;         /* the capture lacks its end, and so the ICRC */
	bool has_headers; /* all of the packet, not only its BTH */
	bool icrc_ok;     /* only with a packet */
	bool rebuilt;     /* compared with what building gives */
	bool differs;
	uint32_t differs_at; /* byte of the frame */
};

static const char usage[] =
	"usage: uroce-decode [--check] [--json] FILE.pcap[ng]     (-: standard input)\n"
	"Prints a line for each RoCE frame: addresses, opcode, QPN, PSN, flags, extension headers, payload\n"
	"bytes, icrc=ok or icrc=bad. The last line is: F frames, R RoCE, B bad.\n"
	"Of a frame that was cut when it was captured (snaplen) what is there is told, and icrc=unknown, for that\n"
	"covers the rest; it is not bad. The last line then counts those, too.\n"
	"  -c, --check    also build each frame anew from what was read; it must be the same byte for byte\n"
	"  -j, --json     a JSON object a line instead, the last one with the totals\n"
	"  -h, --help     this text\n"
	"  -V, --version  the version\n"
	"A frame is bad when a receiver would drop it (checksum, length, version, ICRC), and with --check\n"
	"also when it differs. Exit: 0 none is bad, 1 some are, 2 wrong usage, 3 the file cannot be read.\n";

/* Builds the frame from its values and compares. Ethernet padding behind it is nobody's value. */
static void compare_rebuilt(struct finding *finding)
{
	struct wire_encap encap = finding->encap;
	uint32_t at, covered, bytes = encap.bth_offset + encap.bth_bytes;
	uint8_t *built = calloc(1, bytes), *ip;

	if (!built) {
		fprintf(stderr, "uroce-decode: no memory for a frame of %u bytes: free some\n", bytes);
		exit(EXIT_FILE);
	}
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

static void examine_packet(struct finding *finding, const uint8_t *data, bool check)
{
	const struct wire_encap *encap = &finding->encap;
	const uint8_t *ip = data + encap->ip_offset;
	const uint8_t *bth = data + encap->bth_offset;
	uint32_t covered = encap->bth_offset + encap->bth_bytes - WIRE_ICRC_BYTES - encap->ip_offset;

	if (finding->frame->bytes < encap->bth_offset + WIRE_BTH_BYTES && finding->cut)
		return; /* not even the BTH is there */
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
	if (finding->cut)
		return;
	finding->icrc_ok = load_le32(ip + covered) == wire_icrc_frame(ip, covered);
	if (check)
		compare_rebuilt(finding);
}

/*
 * The frame, or when the capture has cut it, one whose missing end counts as zeros, so that lengths and offsets are
 * those that were on the wire.
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

/* False: not RoCE. A frame to the RoCE port that cannot be read to its end is RoCE with a fault. */
static bool examine(const struct capture_frame *frame, bool check, struct finding *finding)
{
	bool cut = frame->bytes < frame->original_bytes && frame->original_bytes <= CAPTURE_FRAME_MAX_BYTES;
	const uint8_t *data = restore_length(frame, cut);
	enum wire_frame kind;

	*finding = (struct finding){ .frame = frame, .cut = cut };
	/* A UDP checksum covers what is missing. */
	kind = wire_encap_parse(data, cut ? frame->original_bytes : frame->bytes, !cut, &finding->encap);
	if (kind == WIRE_FRAME_ROCE) {
		examine_packet(finding, data, check);
		return true;
	}
	finding->fault = wire_print_frame(kind);
	return finding->encap.dest_port == WIRE_UDP_PORT;
}

static bool is_bad(const struct finding *finding)
{
	return finding->fault || (!finding->icrc_ok && !finding->cut) || finding->differs;
}

static const char *icrc_text(const struct finding *finding)
{
	return finding->cut ? "unknown" : finding->icrc_ok ? "ok" : "bad";
}

/* What the BTH alone tells. */
static char *print_bth(const struct wire_packet *packet, char *out, size_t out_bytes)
{
	snprintf(out, out_bytes, "%s qp=0x%06" PRIx32 " psn=%" PRIu32, wire_opcode(packet->opcode)->name,
		 packet->dest_qpn, packet->psn);
	return out;
}

static void print_text(const struct finding *finding)
{
	char encap[WIRE_PRINT_MAX_BYTES], packet[WIRE_PRINT_MAX_BYTES];

	printf("%" PRIu64 ": %s", finding->frame->number, wire_print_encap(&finding->encap, encap, sizeof(encap)));
	if (finding->has_packet)
		printf(" %s icrc=%s",
		       finding->has_headers ? wire_print_packet(&finding->packet, packet, sizeof(packet)) :
					      print_bth(&finding->packet, packet, sizeof(packet)),
		       icrc_text(finding));
	if (finding->fault)
		printf(" fault=%s", finding->fault);
	if (finding->frame->bytes < finding->frame->original_bytes)
		printf(" captured=%u of=%u", finding->frame->bytes, finding->frame->original_bytes);
	if (finding->differs)
		printf(" differs_at=%u", finding->differs_at);
	printf("\n");
}

static void set_number(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* 64-bit values do not fit a JSON number of every reader: they are hexadecimal text. */
static void set_hex(json_t *object, const char *key, uint64_t value)
{
	char text[20];

	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	json_object_set_new(object, key, json_string(text));
}

static void set_address(json_t *object, const char *key, const uint8_t addr[16])
{
	char text[INET6_ADDRSTRLEN];
	bool ipv4 = encap_addr_is_ipv4(addr);

	inet_ntop(ipv4 ? AF_INET : AF_INET6, ipv4 ? addr + 12 : addr, text, sizeof(text));
	json_object_set_new(object, key, json_string(text));
}

static json_t *flags_json(uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = { { WIRE_MIGREQ, "migreq" },
		      { WIRE_SOLICITED, "solicited" },
		      { WIRE_BECN, "becn" },
		      { WIRE_FECN, "fecn" },
		      { WIRE_ACKREQ, "ackreq" } };
	json_t *array = json_array();
	unsigned int i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (flags & names[i].flag)
			json_array_append_new(array, json_string(names[i].name));
	}
	return array;
}

static void set_extensions(json_t *object, const struct wire_packet *packet)
{
	const struct wire_opcode_row *row = wire_opcode(packet->opcode);

	if (row->deth) {
		set_number(object, "qkey", packet->qkey);
		set_number(object, "source_qpn", packet->source_qpn);
	}
	if (row->feth)
		set_number(object, "flush", packet->feth);
	if (row->reth || row->atomic) {
		set_hex(object, "va", packet->va);
		set_number(object, "rkey", packet->rkey);
	}
	if (row->reth)
		set_number(object, "dma_length", packet->dma_length);
	if (row->atomic)
		set_hex(object, "swap_add", packet->swap_add);
	if (packet->opcode == OP_COMPARE_SWAP)
		set_hex(object, "compare", packet->compare);
	if (row->aeth) {
		set_number(object, "syndrome", packet->syndrome);
		set_number(object, "msn", packet->msn);
	}
	if (row->atomic_ack)
		set_hex(object, "original", packet->original);
	if (row->immdt)
		set_number(object, "imm", packet->imm);
	if (row->ieth)
		set_number(object, "invalidate_key", packet->invalidate_key);
}

static void print_object(json_t *object)
{
	json_dumpf(object, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
	printf("\n");
	json_decref(object);
}

static void print_json(const struct finding *finding)
{
	const struct wire_packet *packet = &finding->packet;
	json_t *object = json_object();

	set_number(object, "frame", finding->frame->number);
	set_address(object, "source", finding->encap.source);
	set_address(object, "dest", finding->encap.dest);
	if (finding->encap.vlan)
		set_number(object, "vlan", finding->encap.vlan_tci & 0xFFF);
	set_number(object, "source_port", finding->encap.source_port);
	if (finding->has_packet) {
		json_object_set_new(object, "opcode", json_string(wire_opcode(packet->opcode)->name));
		set_number(object, "opcode_number", packet->opcode);
		set_number(object, "qpn", packet->dest_qpn);
		set_number(object, "psn", packet->psn);
		json_object_set_new(object, "flags", flags_json(packet->flags));
		set_number(object, "pkey", packet->pkey);
		if (finding->has_headers)
			set_extensions(object, packet);
		set_number(object, "payload_bytes", packet->payload_bytes);
		set_number(object, "pad_bytes", packet->pad_bytes);
		json_object_set_new(object, "icrc", json_string(icrc_text(finding)));
	}
	if (finding->fault)
		json_object_set_new(object, "fault", json_string(finding->fault));
	if (finding->frame->bytes < finding->frame->original_bytes) {
		set_number(object, "captured_bytes", finding->frame->bytes);
		set_number(object, "original_bytes", finding->frame->original_bytes);
	}
	if (finding->rebuilt)
		json_object_set_new(object, "rebuilds", json_boolean(!finding->differs));
	if (finding->differs)
		set_number(object, "differs_at", finding->differs_at);
	print_object(object);
}

static void print_totals(const struct totals *totals, bool json)
{
	json_t *object;

	if (!json) {
		printf("%" PRIu64 " frames, %" PRIu64 " RoCE, %" PRIu64 " bad", totals->frames, totals->roce,
		       totals->bad);
		if (totals->cut)
			printf(", %" PRIu64 " cut: their ICRC cannot be checked", totals->cut);
		printf("\n");
		return;
	}
	object = json_object();
	set_number(object, "frames", totals->frames);
	set_number(object, "roce", totals->roce);
	set_number(object, "bad", totals->bad);
	if (totals->cut)
		set_number(object, "cut", totals->cut);
	print_object(object);
}

static int decode(const struct options *options)
{
	struct capture_file *file = capture_file_open(options->path);
	struct totals totals = { 0 };
	struct capture_frame frame;
	struct finding finding;
	const char *error;
	int code;

	if (!file) {
		fprintf(stderr, "uroce-decode: no memory to open %s: free some\n", options->path);
		return EXIT_FILE;
	}
	while (capture_file_next(file, &frame) == 1) {
		totals.frames++;
		if (!examine(&frame, options->check, &finding))
			continue;
		totals.roce++;
		totals.bad += is_bad(&finding);
		totals.cut += finding.cut;
		if (options->json)
			print_json(&finding);
		else
			print_text(&finding);
	}
	error = capture_file_error(file);
	if (!error || totals.frames > 0)
		print_totals(&totals, options->json);
	code = totals.bad > 0 ? EXIT_BAD_FRAMES : EXIT_OK;
	if (error) {
		fflush(stdout);
		fprintf(stderr, "uroce-decode: %s: %s\n", options->path, error);
		code = EXIT_FILE;
	}
	capture_file_close(file);
	return code;
}

/* -1: go on; else the exit code. */
static int read_options(int argc, char **argv, struct options *options)
{
	static const struct option longs[] = {
		{ "check", no_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "cjhV", longs, NULL)) != -1) {
		switch (option) {
		case 'c':
			options->check = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_OK;
		case 'V':
			printf("uroce-decode %s\n", UROCE_VERSION);
			return EXIT_OK;
		default:
			fprintf(stderr, "uroce-decode: option %s is unknown or has a value: see --help\n",
				argv[optind - 1]);
			return EXIT_USAGE;
		}
	}
	if (argc - optind != 1) {
		fprintf(stderr, "uroce-decode: %d files given: name one, as in uroce-decode FILE.pcap\n",
			argc - optind);
		return EXIT_USAGE;
	}
	options->path = argv[optind];
	return -1;
}

int main(int argc, char **argv)
{
	struct options options = { 0 };
	int code = read_options(argc, argv, &options);

	if (code < 0)
		code = decode(&options);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		fprintf(stderr, "uroce-decode: the output cannot be written: %s: write it elsewhere\n",
			strerror(errno));
		code = EXIT_FILE;
	}
	return code;
}
