/* capture_file.c - reads the frames of a pcap or pcapng file */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/capture_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINK_ETHERNET = 1,
	CLASSIC_HEADER_BYTES = 24,
	CLASSIC_RECORD_BYTES = 16,
	BLOCK_HEADER_BYTES = 8,
	BLOCK_MIN_BYTES = 12,
	BLOCK_MAX_BYTES = 16 * 1024 * 1024,
	INTERFACES_MAX = 4096
};

/* The first word of a file, as read in the machine's byte order. */
#define MAGIC_MICROSECONDS 0xA1B2C3D4u
#define MAGIC_NANOSECONDS 0xA1B23C4Du
#define MAGIC_SECTION 0x0A0D0D0Au
#define MAGIC_BYTE_ORDER 0x1A2B3C4Du

/* Options of an interface; without OPTION_RESOLUTION its times are in 10^-6 s. */
enum { OPTION_END = 0, OPTION_RESOLUTION = 9, MICROSECONDS = 6 };

/* Types of pcapng blocks. */
enum { BLOCK_INTERFACE = 1, BLOCK_PACKET = 2, BLOCK_SIMPLE = 3, BLOCK_ENHANCED = 6 };

struct interface {
	uint16_t link;
	uint32_t snap_bytes; /* 0: no limit */
	uint8_t resolution;  /* if_tsresol: 10^-n s, or 2^-n s if bit 7 is set */
};

struct capture_file {
	FILE *stream;
	uint64_t offset; /* file offset of the next read, for error messages */
	uint64_t frames;
	bool swapped;     /* the writer's byte order differs from the machine's */
	bool blocks;      /* it is a pcapng file */
	bool nanoseconds; /* classic pcap: the second word of a record's time is in ns */
	uint8_t *buffer;
	size_t buffer_bytes;
	struct interface *interfaces; /* interfaces of the current section */
	uint32_t interface_count;
	struct capture_passed *passed;
	uint32_t passed_count;
	bool has_ethernet; /* it has an Ethernet frame */
	bool failed;
	char error[256];
};

__attribute__((format(printf, 2, 3))) static int fail(struct capture_file *file, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(file->error, sizeof(file->error), format, args);
	va_end(args);
	file->failed = true;
	return -1;
}

/* Reports that the file is damaged: the message has the cause, the offset, and what to do. Returns -1. */
__attribute__((format(printf, 2, 3))) static int damaged(struct capture_file *file, const char *format, ...)
{
	char what[128];
	va_list args;

	va_start(args, format);
	vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	return fail(file, "%s before byte %llu: the file is damaged: capture again, or copy the file again", what,
		    (unsigned long long)file->offset);
}

static uint16_t get16(const struct capture_file *file, const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return file->swapped ? __builtin_bswap16(v) : v;
}

static uint32_t get32(const struct capture_file *file, const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return file->swapped ? __builtin_bswap32(v) : v;
}

/* Returns 1 if all bytes were read, 0 if the file ends before the first of them, -1 if it ends within them. */
static int read_bytes(struct capture_file *file, void *out, size_t bytes)
{
	size_t got = fread(out, 1, bytes, file->stream);

	if (ferror(file->stream))
		return fail(file, "read error at byte %llu: %s: use a readable capture file",
			    (unsigned long long)file->offset, strerror(errno));
	if (got == 0 && bytes > 0)
		return 0;
	if (got < bytes)
		return damaged(file, "the file ends within a record of %zu bytes", bytes);
	file->offset += got;
	return 1;
}

/* As read_bytes(), but the end of the file within or before these bytes is an error. */
static int read_rest(struct capture_file *file, void *out, size_t bytes)
{
	int result = read_bytes(file, out, bytes);

	return result == 0 ? damaged(file, "the file ends within a record of %zu bytes", bytes) : result;
}

static int reserve(struct capture_file *file, size_t bytes)
{
	uint8_t *bigger;

	if (bytes <= file->buffer_bytes)
		return 1;
	bigger = realloc(file->buffer, bytes);
	if (!bigger)
		return fail(file, "no memory for a record of %zu bytes at byte %llu", bytes,
			    (unsigned long long)file->offset);
	file->buffer = bigger;
	file->buffer_bytes = bytes;
	return 1;
}

static int check_link(struct capture_file *file, uint32_t link)
{
	if (link == LINK_ETHERNET)
		return 1;
	return fail(file, "link type %u is not supported (supported: 1, Ethernet): capture on an Ethernet interface",
		    link);
}

/* Counts a packet that is not looked at. */
static int pass_over(struct capture_file *file, uint32_t link)
{
	struct capture_passed *more;
	uint32_t i = 0;

	file->frames++;
	while (i < file->passed_count && file->passed[i].link != link)
		i++;
	if (i == file->passed_count) {
		more = realloc(file->passed, (i + 1) * sizeof(*more));
		if (!more)
			return fail(file, "no memory to count the packets of %u link types", i + 1);
		file->passed = more;
		more[file->passed_count++] = (struct capture_passed){ .link = link };
	}
	file->passed[i].packets++;
	return 0;
}

static int check_frame_bytes(struct capture_file *file, uint32_t bytes)
{
	if (bytes <= CAPTURE_FRAME_MAX_BYTES)
		return 1;
	return damaged(file, "a frame length of %u (up to %u)", bytes, CAPTURE_FRAME_MAX_BYTES);
}

static int open_classic(struct capture_file *file, uint32_t magic)
{
	uint8_t header[CLASSIC_HEADER_BYTES];

	file->swapped = magic != MAGIC_MICROSECONDS && magic != MAGIC_NANOSECONDS;
	file->nanoseconds = (file->swapped ? __builtin_bswap32(magic) : magic) == MAGIC_NANOSECONDS;
	if (read_rest(file, header + 4, sizeof(header) - 4) < 0)
		return -1;
	if (get16(file, header + 4) != 2)
		return fail(
			file,
			"pcap version %u.%u is not supported (supported: 2.4): convert the file with editcap -F pcap",
			get16(file, header + 4), get16(file, header + 6));
	/* The upper bits of the link type give the length of a frame check sequence. */
	return check_link(file, get32(file, header + 20) & 0xFFFF);
}

static int next_classic(struct capture_file *file, struct capture_frame *frame)
{
	uint8_t record[CLASSIC_RECORD_BYTES];
	int result = read_bytes(file, record, sizeof(record));

	if (result <= 0)
		return result;
	frame->bytes = get32(file, record + 8);
	frame->original_bytes = get32(file, record + 12);
	if (check_frame_bytes(file, frame->bytes) < 0 || reserve(file, frame->bytes) < 0)
		return -1;
	if (frame->bytes > 0 && read_rest(file, file->buffer, frame->bytes) < 0)
		return -1;
	frame->data = file->buffer;
	frame->time_ns =
		get32(file, record) * 1000000000ull + get32(file, record + 4) * (file->nanoseconds ? 1ull : 1000ull);
	return 1;
}

/*
 * Reads a block up to its second length; header has the type of the block and its first length. A section header also
 * tells the byte order, in which its own first length is written.
 */
static int read_block(struct capture_file *file, const uint8_t *header, uint32_t *body_bytes)
{
	uint32_t bytes, order, type;
	bool section;

	memcpy(&type, header, sizeof(type));
	section = type == MAGIC_SECTION;
	if (reserve(file, 4) < 0 || read_rest(file, file->buffer, 4) < 0)
		return -1;
	if (section) {
		memcpy(&order, file->buffer, sizeof(order));
		file->swapped = order != MAGIC_BYTE_ORDER;
		if (get32(file, file->buffer) != MAGIC_BYTE_ORDER)
			return damaged(file, "an invalid byte-order magic, %08x,", order);
		file->interface_count = 0;
	}
	bytes = get32(file, header + 4);
	if (bytes < BLOCK_MIN_BYTES || bytes % 4 != 0 || bytes > BLOCK_MAX_BYTES ||
	    (section && bytes < BLOCK_MIN_BYTES + 16))
		return damaged(file, "an invalid block length, %u,", bytes);
	*body_bytes = bytes - BLOCK_MIN_BYTES;
	if (*body_bytes > 0) {
		if (reserve(file, *body_bytes + 4) < 0 || read_rest(file, file->buffer + 4, *body_bytes) < 0)
			return -1;
	}
	if (get32(file, file->buffer + *body_bytes) != bytes)
		return damaged(file, "pcapng block with two different lengths (%u and %u)", bytes,
			       get32(file, file->buffer + *body_bytes));
	return 1;
}

/* The unit of an interface's times: microseconds, unless its options name another unit. Stops at damaged options. */
static uint8_t find_resolution(const struct capture_file *file, uint32_t body_bytes)
{
	uint32_t at = 8, code, bytes;

	while (at + 4 <= body_bytes) {
		code = get16(file, file->buffer + at);
		bytes = get16(file, file->buffer + at + 2);
		if (code == OPTION_END || bytes > body_bytes - at - 4)
			break;
		if (code == OPTION_RESOLUTION && bytes == 1)
			return file->buffer[at + 4];
		at += 4 + (bytes + 3) / 4 * 4;
	}
	return MICROSECONDS;
}

static uint64_t to_ns(uint64_t ticks, uint8_t resolution)
{
	uint32_t power = resolution & 0x7F;
	uint64_t unit = 1;

	if (resolution & 0x80)
		return power < 64 ? (uint64_t)((unsigned __int128)ticks * 1000000000u >> power) : 0;
	for (; power < 9; power++)
		unit *= 10;
	for (; power > 9 && ticks > 0; power--)
		ticks /= 10;
	return ticks * unit;
}

static int add_interface(struct capture_file *file, uint32_t body_bytes)
{
	struct interface *more;

	if (body_bytes < 8)
		return damaged(file, "an interface block length of %u", body_bytes);
	if (file->interface_count == INTERFACES_MAX)
		return fail(file, "more than %u interfaces in one pcapng section: split the file", INTERFACES_MAX);
	more = realloc(file->interfaces, (file->interface_count + 1) * sizeof(*more));
	if (!more)
		return fail(file, "no memory for %u interfaces", file->interface_count + 1);
	file->interfaces = more;
	more[file->interface_count++] = (struct interface){
		.link = get16(file, file->buffer),
		.snap_bytes = get32(file, file->buffer + 4),
		.resolution = find_resolution(file, body_bytes),
	};
	return 1;
}

/* Returns 1, 0 if the packet is passed over, or -1. Old packet blocks have a narrower interface number. */
static int packet_block(struct capture_file *file, uint32_t type, uint32_t body_bytes, struct capture_frame *frame)
{
	uint32_t header_bytes = type == BLOCK_SIMPLE ? 4 : 20, index = 0;
	const uint8_t *body = file->buffer;

	if (body_bytes < header_bytes)
		return damaged(file, "a packet block length of %u", body_bytes);
	if (type == BLOCK_ENHANCED)
		index = get32(file, body);
	else if (type == BLOCK_PACKET)
		index = get16(file, body);
	if (index >= file->interface_count)
		return damaged(file, "packet with interface index %u, but only %u interfaces are defined", index,
			       file->interface_count);
	if (file->interfaces[index].link != LINK_ETHERNET)
		return pass_over(file, file->interfaces[index].link);
	frame->original_bytes = get32(file, body + header_bytes - 4);
	frame->time_ns = 0;
	if (type == BLOCK_SIMPLE) {
		frame->bytes = frame->original_bytes;
		if (file->interfaces[0].snap_bytes != 0 && frame->bytes > file->interfaces[0].snap_bytes)
			frame->bytes = file->interfaces[0].snap_bytes;
	} else {
		frame->bytes = get32(file, body + 12);
		frame->time_ns = to_ns((uint64_t)get32(file, body + 4) << 32 | get32(file, body + 8),
				       file->interfaces[index].resolution);
	}
	if (check_frame_bytes(file, frame->bytes) < 0)
		return -1;
	if (frame->bytes > body_bytes - header_bytes)
		return damaged(file, "packet of %u bytes that exceeds its block of %u bytes", frame->bytes, body_bytes);
	frame->data = body + header_bytes;
	return 1;
}

static int next_block(struct capture_file *file, struct capture_frame *frame)
{
	uint8_t header[BLOCK_HEADER_BYTES];
	uint32_t body_bytes = 0, type;
	int result;

	for (;;) {
		result = read_bytes(file, header, sizeof(header));
		if (result <= 0)
			return result;
		if (read_block(file, header, &body_bytes) < 0)
			return -1;
		type = get32(file, header);
		switch (type) {
		case BLOCK_INTERFACE:
			if (add_interface(file, body_bytes) < 0)
				return -1;
			break;
		case BLOCK_PACKET:
		case BLOCK_SIMPLE:
		case BLOCK_ENHANCED:
			result = packet_block(file, type, body_bytes, frame);
			if (result != 0)
				return result;
			break;
		default:
			break; /* name resolution, statistics, section header: skipped */
		}
	}
}

static int read_start(struct capture_file *file)
{
	uint8_t header[BLOCK_HEADER_BYTES];
	uint32_t magic, body_bytes;
	int result = read_bytes(file, header, 4);

	if (result == 0)
		return fail(file, "the file is empty: capture again");
	if (result < 0)
		return -1;
	memcpy(&magic, header, sizeof(magic));
	if (magic == MAGIC_SECTION) {
		file->blocks = true;
		if (read_rest(file, header + 4, 4) < 0)
			return -1;
		return read_block(file, header, &body_bytes);
	}
	if (magic == MAGIC_MICROSECONDS || magic == MAGIC_NANOSECONDS ||
	    __builtin_bswap32(magic) == MAGIC_MICROSECONDS || __builtin_bswap32(magic) == MAGIC_NANOSECONDS)
		return open_classic(file, magic);
	return fail(file, "not a pcap or pcapng file (first bytes: %02x %02x %02x %02x): use a capture file", header[0],
		    header[1], header[2], header[3]);
}

struct capture_file *capture_file_open(const char *path)
{
	struct capture_file *file = calloc(1, sizeof(*file));

	if (!file)
		return NULL;
	file->stream = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	if (!file->stream)
		fail(file, "cannot open the file: %s: use a readable capture file", strerror(errno));
	else
		read_start(file);
	return file;
}

int capture_file_next(struct capture_file *file, struct capture_frame *frame)
{
	int result;

	if (file->failed)
		return -1;
	result = file->blocks ? next_block(file, frame) : next_classic(file, frame);
	if (result == 0 && file->passed_count > 0 && !file->has_ethernet)
		return check_link(file, file->passed[0].link);
	if (result == 1) {
		file->has_ethernet = true;
		frame->number = ++file->frames;
	}
	return result;
}

uint32_t capture_file_passed(const struct capture_file *file, const struct capture_passed **passed)
{
	*passed = file->passed;
	return file->passed_count;
}

const char *capture_file_error(const struct capture_file *file)
{
	return file->failed ? file->error : NULL;
}

void capture_file_close(struct capture_file *file)
{
	if (!file)
		return;
	if (file->stream && file->stream != stdin)
		fclose(file->stream);
	free(file->passed);
	free(file->interfaces);
	free(file->buffer);
	free(file);
}
