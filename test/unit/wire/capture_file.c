/* capture_file.c - capture files of all forms, sound and damaged */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "common/capture_file.h"

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that is written by hand, in either byte order. */
struct draft {
	bool big_endian;
	uint32_t bytes;
	uint8_t data[2048];
};

static void put(struct draft *draft, const void *data, uint32_t bytes)
{
	cr_assert_leq(draft->bytes + bytes, sizeof(draft->data));
	if (bytes > 0)
		memcpy(draft->data + draft->bytes, data, bytes);
	draft->bytes += bytes;
}

static void put32(struct draft *draft, uint32_t value)
{
	uint8_t b[4];
	int i;

	for (i = 0; i < 4; i++)
		b[draft->big_endian ? 3 - i : i] = (uint8_t)(value >> 8 * i);
	put(draft, b, 4);
}

static void put16(struct draft *draft, uint16_t value)
{
	uint8_t b[2] = { (uint8_t)value, (uint8_t)(value >> 8) };
	uint8_t swapped[2] = { b[1], b[0] };

	put(draft, draft->big_endian ? swapped : b, 2);
}

static struct draft classic(bool big_endian, uint32_t magic, uint32_t link)
{
	struct draft draft = { .big_endian = big_endian };

	put32(&draft, magic);
	put16(&draft, 2);
	put16(&draft, 4);
	put32(&draft, 0);
	put32(&draft, 0);
	put32(&draft, 65535);
	put32(&draft, link);
	return draft;
}

static void put_record(struct draft *draft, const char *data, uint32_t bytes, uint32_t original)
{
	put32(draft, 1);
	put32(draft, 2);
	put32(draft, bytes);
	put32(draft, original);
	put(draft, data, bytes);
}

/* Begins a block; its length is known when it ends. */
static uint32_t begin_block(struct draft *draft, uint32_t type)
{
	uint32_t start = draft->bytes;

	put32(draft, type);
	put32(draft, 0);
	return start;
}

static void end_block(struct draft *draft, uint32_t start)
{
	uint32_t end;

	while (draft->bytes % 4 != 0)
		put(draft, "", 1);
	end = draft->bytes + 4;
	draft->bytes = start + 4;
	put32(draft, end - start);
	draft->bytes = end - 4;
	put32(draft, end - start);
}

static void put_section(struct draft *draft)
{
	uint32_t start = begin_block(draft, 0x0A0D0D0A);

	put32(draft, 0x1A2B3C4D);
	put16(draft, 1);
	put16(draft, 0);
	put32(draft, 0xFFFFFFFF);
	put32(draft, 0xFFFFFFFF);
	end_block(draft, start);
}

static void put_interface(struct draft *draft, uint16_t link, uint32_t snap)
{
	uint32_t start = begin_block(draft, 1);

	put16(draft, link);
	put16(draft, 0);
	put32(draft, snap);
	end_block(draft, start);
}

static void put_enhanced(struct draft *draft, uint32_t interface, const char *data, uint32_t bytes)
{
	uint32_t start = begin_block(draft, 6);

	put32(draft, interface);
	put32(draft, 1);
	put32(draft, 2);
	put32(draft, bytes);
	put32(draft, bytes + 1);
	put(draft, data, bytes);
	end_block(draft, start);
}

static void put_simple(struct draft *draft, const char *data, uint32_t bytes, uint32_t original)
{
	uint32_t start = begin_block(draft, 3);

	put32(draft, original);
	put(draft, data, bytes);
	end_block(draft, start);
}

static struct draft blocks(bool big_endian)
{
	struct draft draft = { .big_endian = big_endian };

	put_section(&draft);
	put_interface(&draft, 1, 0);
	return draft;
}

/* path: a template of mkstemp. */
static void write_file(char *path, const uint8_t *data, uint32_t bytes)
{
	int descriptor = mkstemp(path);

	cr_assert_geq(descriptor, 0);
	cr_assert_eq(write(descriptor, data, bytes), (ssize_t)bytes);
	close(descriptor);
}

/* Reads the draft as a file: each frame and a full stop, then the error if there is one. */
static const char *read_back(const uint8_t *data, uint32_t bytes, char *out, size_t out_bytes)
{
	char path[] = "/tmp/uroce-capture-XXXXXX";
	struct capture_frame frame;
	struct capture_file *file;

	write_file(path, data, bytes);
	out[0] = '\0';
	file = capture_file_open(path);
	cr_assert_not_null(file);
	while (capture_file_next(file, &frame) == 1)
		snprintf(out + strlen(out), out_bytes - strlen(out), "%.*s.", (int)frame.bytes,
			 (const char *)frame.data);
	if (capture_file_error(file))
		snprintf(out + strlen(out), out_bytes - strlen(out), "%s", capture_file_error(file));
	capture_file_close(file);
	unlink(path);
	return out;
}

static void expect_read(const struct draft *draft, const char *expected)
{
	char out[1024];

	read_back(draft->data, draft->bytes, out, sizeof(out));
	cr_expect_str_eq(out, expected, "got \"%s\", not \"%s\"", out, expected);
}

static void expect_error(const struct draft *draft, const char *part)
{
	char out[1024];

	read_back(draft->data, draft->bytes, out, sizeof(out));
	cr_expect(strstr(out, part), "got \"%s\", not \"%s\"", out, part);
}

Test(capture_file, classic_files_of_both_byte_orders_and_clocks_are_read)
{
	static const uint32_t magics[] = { 0xA1B2C3D4, 0xA1B23C4D };
	struct draft draft;
	size_t i;
	int big;

	for (i = 0; i < 2; i++) {
		for (big = 0; big < 2; big++) {
			draft = classic(big, magics[i], 1);
			put_record(&draft, "one", 3, 3);
			put_record(&draft, "", 0, 60);
			put_record(&draft, "three", 5, 99);
			expect_read(&draft, "one..three.");
		}
	}
}

/* The time of the last frame. */
static uint64_t read_time(const struct draft *draft)
{
	char path[] = "/tmp/uroce-capture-XXXXXX";
	int descriptor = mkstemp(path);
	struct capture_frame frame = { 0 };
	struct capture_file *file;

	cr_assert_eq(write(descriptor, draft->data, draft->bytes), (ssize_t)draft->bytes);
	close(descriptor);
	file = capture_file_open(path);
	while (capture_file_next(file, &frame) == 1)
		;
	cr_assert_null(capture_file_error(file));
	capture_file_close(file);
	unlink(path);
	return frame.time_ns;
}

/* put_record() writes 1 and 2, put_enhanced() the 64-bit number 1 << 32 | 2. */
Test(capture_file, times_are_in_nanoseconds_for_every_resolution)
{
	static const struct {
		uint8_t resolution;
		uint64_t ns;
	} rows[] = {
		{ 6, 4294967298000 }, { 9, 4294967298 },         { 0, 4294967298000000000 },
		{ 12, 4294967 },      { 0x80 | 32, 1000000000 }, { 0x80 | 64, 0 },
	};
	struct draft draft = classic(false, 0xA1B2C3D4, 1);

	put_record(&draft, "x", 1, 1);
	cr_expect_eq(read_time(&draft), 1000002000);
	draft = classic(true, 0xA1B23C4D, 1);
	put_record(&draft, "x", 1, 1);
	cr_expect_eq(read_time(&draft), 1000000002);
	draft = blocks(false);
	put_enhanced(&draft, 0, "x", 1);
	cr_expect_eq(read_time(&draft), 4294967298000, "microseconds without the option");
	put_simple(&draft, "x", 1, 1);
	cr_expect_eq(read_time(&draft), 0, "a simple block has no time");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint32_t start;

		draft = (struct draft){ 0 };
		put_section(&draft);
		start = begin_block(&draft, 1);
		put16(&draft, 1);
		put16(&draft, 0);
		put32(&draft, 0);
		put16(&draft, 2); /* a name before it */
		put16(&draft, 3);
		put(&draft, "eth\0", 4);
		put16(&draft, 9);
		put16(&draft, 1);
		put32(&draft, rows[i].resolution);
		put32(&draft, 0);
		end_block(&draft, start);
		put_enhanced(&draft, 0, "x", 1);
		cr_expect_eq(read_time(&draft), rows[i].ns, "%#x: %lu", rows[i].resolution, read_time(&draft));
	}
	/* The length of an option leads out of the block: as without. */
	draft = (struct draft){ 0 };
	put_section(&draft);
	{
		uint32_t start = begin_block(&draft, 1);

		put32(&draft, 1);
		put32(&draft, 0);
		put16(&draft, 2);
		put16(&draft, 60000);
		end_block(&draft, start);
	}
	put_enhanced(&draft, 0, "x", 1);
	cr_expect_eq(read_time(&draft), 4294967298000);
}

Test(capture_file, frame_reports_its_number_and_truncation)
{
	struct draft draft = classic(false, 0xA1B2C3D4, 1);
	char path[] = "/tmp/uroce-capture-XXXXXX";
	int descriptor = mkstemp(path);
	struct capture_frame frame;
	struct capture_file *file;

	put_record(&draft, "one", 3, 3);
	put_record(&draft, "two", 3, 60);
	cr_assert_eq(write(descriptor, draft.data, draft.bytes), (ssize_t)draft.bytes);
	close(descriptor);
	file = capture_file_open(path);
	cr_assert_eq(capture_file_next(file, &frame), 1);
	cr_expect_eq(frame.number, 1);
	cr_assert_eq(capture_file_next(file, &frame), 1);
	cr_expect_eq(frame.number, 2);
	cr_expect_eq(frame.bytes, 3);
	cr_expect_eq(frame.original_bytes, 60);
	cr_expect_eq(capture_file_next(file, &frame), 0);
	capture_file_close(file);
	unlink(path);
}

Test(capture_file, blocks_of_both_orders_are_read_and_unknown_blocks_skipped)
{
	struct draft draft;
	uint32_t start;
	int big;

	for (big = 0; big < 2; big++) {
		draft = blocks(big);
		put_enhanced(&draft, 0, "one", 3);
		start = begin_block(&draft, 5);
		put32(&draft, 7);
		end_block(&draft, start);
		start = begin_block(&draft, 0x00000BAD);
		end_block(&draft, start);
		put_simple(&draft, "two!", 4, 4);
		start = begin_block(&draft, 2);
		put16(&draft, 0);
		put16(&draft, 0);
		put32(&draft, 1);
		put32(&draft, 2);
		put32(&draft, 5);
		put32(&draft, 5);
		put(&draft, "three", 5);
		end_block(&draft, start);
		expect_read(&draft, "one.two!.three.");
	}
}

Test(capture_file, a_simple_block_is_cut_at_the_limit_of_the_interface)
{
	struct draft draft = { 0 };

	put_section(&draft);
	put_interface(&draft, 1, 4);
	put_simple(&draft, "four", 4, 60);
	expect_read(&draft, "four.");
}

Test(capture_file, a_section_has_its_own_interfaces_and_byte_order)
{
	struct draft draft = blocks(false);

	put_interface(&draft, 1, 0);
	put_enhanced(&draft, 1, "one", 3);
	draft.big_endian = true;
	put_section(&draft);
	put_interface(&draft, 1, 0);
	put_enhanced(&draft, 0, "two", 3);
	put_enhanced(&draft, 1, "bad", 3);
	expect_error(&draft, "one.two.packet with interface index 1, but only 1 interfaces are defined before byte");
}

Test(capture_file, link_type_with_a_check_sequence_is_ethernet)
{
	struct draft draft = classic(false, 0xA1B2C3D4, 0x54000001);

	put_record(&draft, "one", 3, 3);
	expect_read(&draft, "one.");
}

Test(capture_file, other_links_are_refused_by_value)
{
	struct draft draft = classic(true, 0xA1B2C3D4, 113);

	expect_error(&draft, "link type 113 is not supported (supported: 1, Ethernet)");
	draft = (struct draft){ 0 };
	put_section(&draft);
	put_interface(&draft, 276, 0);
	put_enhanced(&draft, 0, "one", 3);
	expect_error(&draft, "link type 276 is not supported (supported: 1, Ethernet)");
}

Test(capture_file, packets_of_other_links_are_skipped_and_counted)
{
	char path[] = "/tmp/capture-file-XXXXXX";
	const struct capture_passed *passed;
	struct capture_frame frame;
	struct capture_file *file;
	struct draft draft = blocks(false);
	static const char large[900];

	put_interface(&draft, 220, 0);
	put_interface(&draft, 276, 0);
	put_enhanced(&draft, 2, "of 276", 6);
	put_enhanced(&draft, 0, "one", 3);
	put_enhanced(&draft, 1, "of 220", 6);
	put_enhanced(&draft, 2, "of 276", 6);
	put_enhanced(&draft, 0, "two", 3);
	put_enhanced(&draft, 1, large, sizeof(large));
	expect_read(&draft, "one.two.");
	write_file(path, draft.data, draft.bytes);
	file = capture_file_open(path);
	cr_assert_eq(capture_file_next(file, &frame), 1);
	cr_expect_eq(frame.number, 2, "the number that other programs show");
	cr_assert_eq(capture_file_next(file, &frame), 1);
	cr_expect_eq(frame.number, 5);
	cr_assert_eq(capture_file_next(file, &frame), 0);
	cr_assert_eq(capture_file_passed(file, &passed), 2);
	cr_expect(passed[0].link == 276 && passed[0].packets == 2);
	cr_expect(passed[1].link == 220 && passed[1].packets == 2);
	capture_file_close(file);
	unlink(path);
}

Test(capture_file, malformed_file_is_refused)
{
	struct draft draft = { 0 };
	uint32_t start;

	expect_error(&draft, "the file is empty");
	put(&draft, "PK\3\4", 4);
	expect_error(&draft, "not a pcap or pcapng file (first bytes: 50 4b 03 04)");
	draft = classic(false, 0xA1B2C3D4, 1);
	draft.data[4] = 3;
	expect_error(&draft, "pcap version 3.4");
	draft = classic(false, 0xA1B2C3D4, 1);
	put32(&draft, 0);
	put32(&draft, 0);
	put32(&draft, CAPTURE_FRAME_MAX_BYTES + 1);
	put32(&draft, 0);
	expect_error(&draft, "a frame length of 262145 (up to 262144)");
	draft = blocks(false);
	put32(&draft, 6);
	put32(&draft, 8);
	put32(&draft, 0);
	expect_error(&draft, "an invalid block length, 8,");
	draft = blocks(false);
	put32(&draft, 6);
	put32(&draft, 33);
	put32(&draft, 0);
	expect_error(&draft, "an invalid block length, 33,");
	draft = blocks(false);
	put32(&draft, 6);
	put32(&draft, 32u << 20);
	put32(&draft, 0);
	expect_error(&draft, "an invalid block length, 33554432,");
	draft = blocks(false);
	start = begin_block(&draft, 0x0A0D0D0A);
	put32(&draft, 0x1A2B3C4D);
	put32(&draft, 0);
	end_block(&draft, start);
	expect_error(&draft, "an invalid block length, 20,");
	draft = blocks(false);
	put_simple(&draft, "four", 4, 9);
	expect_error(&draft, "packet of 9 bytes that exceeds its block of 8 bytes");
	draft = blocks(false);
	put_enhanced(&draft, 0, "four", 4);
	draft.data[draft.bytes - 4] ^= 8;
	expect_error(&draft, "pcapng block with two different lengths (36 and 44)");
	draft = blocks(false);
	start = begin_block(&draft, 6);
	put32(&draft, 0);
	end_block(&draft, start);
	expect_error(&draft, "a packet block length of 4");
	draft = blocks(false);
	start = begin_block(&draft, 1);
	put32(&draft, 1);
	end_block(&draft, start);
	expect_error(&draft, "an interface block length of 4");
	draft = blocks(false);
	draft.data[8] ^= 0xFF;
	expect_error(&draft, "an invalid byte-order magic, ");
}

Test(capture_file, missing_file_is_reported)
{
	struct capture_file *file = capture_file_open("/nonexistent/file.pcap");
	struct capture_frame frame;

	cr_assert_not_null(capture_file_error(file));
	cr_expect(strstr(capture_file_error(file), "No such file"));
	cr_expect_eq(capture_file_next(file, &frame), -1);
	capture_file_close(file);
}

Test(capture_file, truncated_file_returns_the_frames_before_and_an_error)
{
	char out[1024];
	struct draft drafts[2];
	uint32_t bytes;
	int i;

	drafts[0] = classic(false, 0xA1B2C3D4, 1);
	put_record(&drafts[0], "one", 3, 3);
	drafts[1] = blocks(true);
	put_enhanced(&drafts[1], 0, "one", 3);
	for (i = 0; i < 2; i++) {
		for (bytes = 1; bytes < drafts[i].bytes; bytes++) {
			/* Between header and frame a file may end; a section may end behind its interface. */
			if ((i == 0 && bytes == 24) || (i == 1 && (bytes == 28 || bytes == 48)))
				continue;
			read_back(drafts[i].data, bytes, out, sizeof(out));
			cr_expect(strstr(out, "the file ends within a record"), "form %d, %u bytes: \"%s\"", i, bytes,
				  out);
		}
	}
}

Test(capture_file, damaged_file_does_not_crash)
{
	const unsigned int seed = 20;
	struct draft sound[2], draft;
	char out[4096];
	int round, i;

	fprintf(stderr, "seed %u\n", seed);
	srandom(seed);
	sound[0] = classic(true, 0xA1B2C3D4, 1);
	put_record(&sound[0], "one", 3, 3);
	put_record(&sound[0], "two", 3, 3);
	sound[1] = blocks(false);
	put_enhanced(&sound[1], 0, "one", 3);
	put_simple(&sound[1], "two!", 4, 4);
	for (round = 0; round < 2000; round++) {
		draft = sound[round % 2];
		for (i = 0; i < 1 + round % 4; i++)
			draft.data[(uint32_t)random() % draft.bytes] = (uint8_t)random();
		read_back(draft.data, draft.bytes, out, sizeof(out));
	}
}
