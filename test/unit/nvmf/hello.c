/* hello.c - private data of the messages that make a connection: read, written, refused */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/hello.h"

#include <criterion/criterion.h>
#include <string.h>

Test(hello, a_request_is_read_at_its_offsets)
{
	/* recfmt, qid, hrqsize, hsqsize; then what newer kernels say (a controller id) and what has no meaning */
	static const uint8_t admin[32] = { 0, 0, 0, 0, 32, 0, 31, 0, 0xFF, 0xFF };
	static const uint8_t io[56] = { 0, 0, 0x02, 0x01, 0x80, 0x04, 0xFF, 0x03, 7, 0, [31] = 9, [55] = 9 };
	struct nvmf_hello hello;

	cr_expect_eq(nvmf_hello_parse(admin, sizeof(admin), &hello), NVMF_REFUSAL_NONE);
	cr_expect_eq(hello.qid, 0);
	cr_expect_eq(hello.commands, 32);
	cr_expect_eq(hello.responses, 32);
	cr_expect_eq(nvmf_hello_parse(io, sizeof(io), &hello), NVMF_REFUSAL_NONE, "rdma_cm pads with zeros");
	cr_expect_eq(hello.qid, 0x102);
	cr_expect_eq(hello.commands, 0x400);
	cr_expect_eq(hello.responses, 0x480);
}

Test(hello, value_out_of_range_is_refused_with_its_reason)
{
	static const struct {
		const char *what;
		uint32_t bytes;
		uint16_t format, qid, responses, commands;
		enum nvmf_refusal refusal;
	} rows[] = {
		{ "all in order", 32, 0, 1, 128, 127, NVMF_REFUSAL_NONE },
		{ "nothing", 0, 0, 1, 128, 127, NVMF_REFUSAL_LENGTH },
		{ "a byte short", 31, 0, 1, 128, 127, NVMF_REFUSAL_LENGTH },
		{ "format 1", 32, 1, 1, 128, 127, NVMF_REFUSAL_FORMAT },
		{ "format 100h", 32, 0x100, 1, 128, 127, NVMF_REFUSAL_FORMAT },
		{ "a queue of one", 32, 0, 1, 128, 0, NVMF_REFUSAL_SEND_SIZE },
		{ "a queue of two", 32, 0, 1, 2, 1, NVMF_REFUSAL_NONE },
		{ "admin of 32", 32, 0, 0, 32, 31, NVMF_REFUSAL_NONE },
		{ "admin of 33", 32, 0, 0, 33, 32, NVMF_REFUSAL_SEND_SIZE },
		{ "I/O of 33", 32, 0, 1, 33, 32, NVMF_REFUSAL_NONE },
		{ "the largest", 32, 0, 1, 0xFFFF, 0xFFFF, NVMF_REFUSAL_NONE },
		{ "no responses", 32, 0, 1, 0, 127, NVMF_REFUSAL_RECEIVE_SIZE },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint16_t words[16] = { rows[i].format, rows[i].qid, rows[i].responses, rows[i].commands };
		struct nvmf_hello hello = { 0 };
		uint8_t data[32] = { 0 };
		enum nvmf_refusal refusal;

		for (int w = 0; w < 4; w++) {
			data[2 * w] = (uint8_t)words[w];
			data[2 * w + 1] = (uint8_t)(words[w] >> 8);
		}
		refusal = nvmf_hello_parse(data, rows[i].bytes, &hello);
		cr_expect_eq(refusal, rows[i].refusal, "%s: %d", rows[i].what, refusal);
		if (refusal == NVMF_REFUSAL_NONE)
			cr_expect_eq(hello.commands, rows[i].commands + 1u, "%s: %u", rows[i].what, hello.commands);
	}
}

Test(hello, built_private_data_matches_the_wire_format)
{
	static const uint8_t request[32] = { 0, 0, 0x02, 0x01, 0x80, 0x04, 0xFF, 0x03 };
	static const uint8_t accepted[32] = { 0, 0, 0x80, 0x01 }, refused[4] = { 0, 0, 6, 0 };
	struct nvmf_hello hello = { .qid = 0x102, .commands = 0x400, .responses = 0x480 };
	uint8_t out[32];

	memset(out, 0xEE, sizeof(out));
	nvmf_hello_build(&hello, out);
	cr_expect_arr_eq(out, request, sizeof(request));
	memset(out, 0xEE, sizeof(out));
	nvmf_hello_accept(0x180, out);
	cr_expect_arr_eq(out, accepted, sizeof(accepted));
	memset(out, 0xEE, sizeof(out));
	nvmf_hello_refuse(NVMF_REFUSAL_RESOURCES, out);
	cr_expect_arr_eq(out, refused, sizeof(refused));
	cr_expect_eq(out[4], 0xEE);
}

Test(hello, refusals_have_wire_codes_and_a_text_each)
{
	static const enum nvmf_refusal numbers[] = { NVMF_REFUSAL_NONE,      NVMF_REFUSAL_LENGTH,
						     NVMF_REFUSAL_FORMAT,    NVMF_REFUSAL_QID,
						     NVMF_REFUSAL_SEND_SIZE, NVMF_REFUSAL_RECEIVE_SIZE,
						     NVMF_REFUSAL_RESOURCES, NVMF_REFUSAL_READS };
	const char *unknown = nvmf_refusal_text(999);

	cr_expect_str_not_empty(unknown);
	for (uint16_t i = 0; i < 8; i++) {
		cr_expect_eq((int)numbers[i], i);
		cr_expect_str_neq(nvmf_refusal_text(i), unknown, "%u", i);
		for (uint16_t j = 0; j < i; j++)
			cr_expect_str_neq(nvmf_refusal_text(i), nvmf_refusal_text(j), "%u, %u", i, j);
	}
	cr_expect_str_eq(nvmf_refusal_text(8), unknown);
	cr_expect_str_eq(nvmf_refusal_text(0xFFFF), unknown);
}
