/* command.c - a command from its capsule to its answer: descriptors, states of the queue, the entry that goes back */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/command.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "nvmf/change.h"
#include "nvmf_host.h"

static struct nvmf_host *host_ready(void)
{
	struct nvmf_config config = { .in_capsule_bytes = 4096 };
	struct nvmf_host *host = host_open(&config);

	host_login(host, HOST_DISK);
	host_join(host);
	return host;
}

Test(command, capsule_shorter_than_an_entry_is_dropped)
{
	struct nvmf_host *host = host_ready();
	struct nvmf_command command;
	struct nvmf_capsule capsule = sqe_blocks(NVME_READ, 1, 0, 1, 512);

	for (uint32_t bytes = 0; bytes < 64; bytes += 21)
		cr_expect_eq(nvmf_command_begin(&command, &host->io, capsule.sqe, bytes, 0), NVMF_DROP, "%u", bytes);
	cr_expect_eq(nvmf_command_begin(&command, &host->io, capsule.sqe, 63, 0), NVMF_DROP);
	host_close(host);
}

Test(command, descriptor_locates_the_data)
{
	struct nvmf_host *host = host_ready();
	struct nvmf_capsule capsule = sqe_blocks(NVME_WRITE, 1, 0, 8, 0x1000);
	struct nvmf_reply reply = host_expect(host, &host->io, capsule, NVME_OK, "invalidate");

	cr_expect_eq(reply.step, NVMF_FETCH);
	cr_expect_eq(reply.command.sgl.addr, HOST_ADDR);
	cr_expect_eq(reply.command.sgl.bytes, 0x1000);
	cr_expect_eq(reply.command.sgl.key, HOST_KEY);
	cr_expect(reply.command.sgl.invalidate);
	cr_expect_not(reply.command.sgl.in_capsule);
	cr_expect_eq(reply.command.data_bytes, 0x1000);
	capsule.sqe[39] = 0x40;
	reply = host_expect(host, &host->io, capsule, NVME_OK, "keyed");
	cr_expect_not(reply.command.sgl.invalidate);
	cr_expect_eq(reply.command.sgl.key, HOST_KEY);
	sqe_in_capsule(&capsule, 0, 4096);
	reply = host_expect(host, &host->io, capsule, NVME_OK, "in capsule");
	cr_expect_eq(reply.step, NVMF_FETCH);
	cr_expect(reply.command.sgl.in_capsule);
	cr_expect_not(reply.command.sgl.invalidate);
	cr_expect_eq(reply.command.sgl.addr, 0);
	host_close(host);
}

Test(command, descriptors_of_other_types_are_refused)
{
	struct nvmf_host *host = host_ready();

	for (uint32_t type = 0; type < 256; type++) {
		struct nvmf_capsule capsule = sqe_blocks(NVME_WRITE, 1, 0, 1, 512);
		uint16_t status = type == 0x40 || type == 0x4F ? NVME_OK : FINAL(NVME_SGL_TYPE);
		char what[16];

		if (type == 0x01)
			continue;
		snprintf(what, sizeof(what), "type %02x", type);
		capsule.sqe[39] = (uint8_t)type;
		host_expect(host, &host->io, capsule, status, what);
	}
	host_close(host);
}

Test(command, in_capsule_data_lies_within_the_capsule)
{
	static const struct {
		const char *what;
		uint32_t capsule;
		uint64_t offset;
		uint32_t bytes;
		uint16_t status;
	} rows[] = {
		{ "all of it", 512, 0, 512, NVME_OK },
		{ "the end of it", 1024, 512, 512, NVME_OK },
		{ "its beginning", 1024, 0, 512, NVME_OK },
		{ "there is none", 0, 0, 512, FINAL(NVME_SGL_LENGTH) },
		{ "a byte short", 511, 0, 512, FINAL(NVME_SGL_LENGTH) },
		{ "a byte too far", 1024, 513, 512, FINAL(NVME_SGL_LENGTH) },
		{ "begins at the end", 512, 512, 512, FINAL(NVME_SGL_LENGTH) },
		{ "begins behind it", 512, 513, 512, FINAL(NVME_SGL_OFFSET) },
		{ "far away", 512, UINT64_MAX, 512, FINAL(NVME_SGL_OFFSET) },
		{ "round the end of all", 512, UINT64_MAX - 511, 512, FINAL(NVME_SGL_OFFSET) },
		{ "4 GiB", 512, 0, UINT32_MAX, FINAL(NVME_SGL_LENGTH) },
		{ "4 GiB less", 1024, 512, 0xFFFFFE00, FINAL(NVME_SGL_LENGTH) },
	};
	struct nvmf_host *host = host_ready();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvmf_capsule capsule = sqe_blocks(NVME_WRITE, 1, 0, 1, 0);

		sqe_in_capsule(&capsule, rows[i].offset, rows[i].bytes);
		capsule.bytes = 64 + rows[i].capsule;
		host_expect(host, &host->io, capsule, rows[i].status, rows[i].what);
	}
	host_close(host);
}

Test(command, descriptor_length_must_match_the_command)
{
	static const uint32_t wrong[] = { 0, 1, 511, 513, 1024, 0xFFFFFF };
	struct nvmf_host *host = host_ready();

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct nvmf_capsule read = sqe_blocks(NVME_READ, 1, 0, 1, 512);
		struct nvmf_capsule identify = sqe_identify(1, 0), connect = sqe_connect(5, 16);
		struct nvmf_queue queue = { 0 };

		sqe_put(&read, 32, 3, wrong[i]);
		sqe_put(&identify, 32, 3, wrong[i]);
		sqe_put(&connect, 32, 3, wrong[i] == 1024 ? 1025 : wrong[i]);
		host_expect(host, &host->io, read, FINAL(NVME_SGL_LENGTH), "Read");
		host_expect(host, &host->admin, identify, FINAL(NVME_SGL_LENGTH), "Identify");
		host_dial(host, &queue, 5, 16);
		host_expect(host, &queue, connect, FINAL(NVME_SGL_LENGTH), "Connect");
	}
	cr_expect_eq(host->space[0].shares[0].under_way, 0);
	host_close(host);
}

Test(command, data_to_the_host_needs_a_keyed_descriptor)
{
	struct nvmf_host *host = host_ready();
	struct nvmf_capsule read = sqe_blocks(NVME_READ, 1, 0, 1, 512), identify = sqe_identify(1, 0);

	sqe_in_capsule(&read, 0, 512);
	sqe_in_capsule(&identify, 0, 4096);
	host_expect(host, &host->io, read, FINAL(NVME_SGL_TYPE), "Read");
	host_expect(host, &host->admin, identify, FINAL(NVME_SGL_TYPE), "Identify");
	host_close(host);
}

Test(command, fused_commands_and_prps_are_refused)
{
	static const struct {
		uint8_t flags;
		uint16_t status;
	} rows[] = {
		{ 0x40, NVME_OK },
		{ 0x80, NVME_OK },
		{ 0x00, FINAL(NVME_INVALID_FIELD) },
		{ 0xC0, FINAL(NVME_INVALID_FIELD) },
		{ 0x41, FINAL(NVME_INVALID_FIELD) },
		{ 0x42, FINAL(NVME_INVALID_FIELD) },
		{ 0x43, FINAL(NVME_INVALID_FIELD) },
	};
	struct nvmf_host *host = host_ready();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvmf_capsule capsule = sqe_blocks(NVME_READ, 1, 0, 1, 512);
		char what[16];

		snprintf(what, sizeof(what), "flags %02x", rows[i].flags);
		capsule.sqe[1] = rows[i].flags;
		host_expect(host, &host->io, capsule, rows[i].status, what);
	}
	host_close(host);
}

/* Hosts set reserved fields to zero or to other values: they are not checked. */
Test(command, unused_fields_are_ignored)
{
	struct nvmf_host *host = host_ready();
	const struct {
		const char *what;
		struct nvmf_queue *queue;
		struct nvmf_capsule capsule;
		bool flags; /* are reserved, too */
	} rows[] = {
		{ "Property Get", &host->admin, sqe_property_get(0, true), true },
		{ "Property Set", &host->admin, sqe_property_set(0x14, 0x460001), true },
		{ "Keep Alive", &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), false },
		{ "Abort", &host->admin, sqe_make(NVME_ABORT, 0, 0), false },
		{ "Set Features", &host->admin, sqe_set_feature(0x06, 1), false },
		{ "Get Features", &host->admin, sqe_get_feature(0x06, 0), false },
		{ "Flush", &host->io, sqe_make(NVME_FLUSH, 1, 0), false },
		{ "Write Zeroes", &host->io, sqe_blocks(NVME_WRITE_ZEROES, 1, 0, 1, 0), false },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (uint32_t fill = 0; fill < 256; fill += 51) {
			struct nvmf_capsule capsule = rows[i].capsule;
			struct nvmf_reply reply;

			memset(capsule.sqe + 24, (int)fill, 16);
			capsule.sqe[1] = rows[i].flags ? (uint8_t)fill : fill & 0xC0;
			reply = host_expect(host, rows[i].queue, capsule, NVME_OK, rows[i].what);
			cr_expect_not(reply.command.sgl.invalidate, "%s", rows[i].what);
			cr_expect_eq(reply.command.sgl.key, 0);
		}
	}
	host_close(host);
}

Test(command, refused_command_still_invalidates_its_key)
{
	struct nvmf_host *host = host_ready();
	struct nvmf_reply reply = host_expect(host, &host->io, sqe_blocks(NVME_READ, 1, 1000, 1, 512),
					      FINAL(NVME_LBA_RANGE), "behind the end");

	cr_expect(reply.command.sgl.invalidate);
	cr_expect_eq(reply.command.sgl.key, HOST_KEY);
	host_close(host);
}

/* ---- the state of the queue ---- */

Test(command, first_command_is_a_connect_and_a_second_is_refused)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_queue queue = { 0 };

	host_dial(host, &host->admin, 0, 32);
	host_expect(host, &host->admin, sqe_property_get(0, true), FINAL(NVME_COMMAND_SEQUENCE), "Property Get");
	host_expect(host, &host->admin, sqe_identify(1, 0), FINAL(NVME_COMMAND_SEQUENCE), "Identify");
	host_expect(host, &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), FINAL(NVME_COMMAND_SEQUENCE), "Keep Alive");
	host_expect(host, &host->admin, sqe_make(0xFE, 0, 0), FINAL(NVME_COMMAND_SEQUENCE), "no such one");
	host_dial(host, &queue, 1, 16);
	host_expect(host, &queue, sqe_blocks(NVME_READ, 1, 0, 1, 512), FINAL(NVME_COMMAND_SEQUENCE), "Read");
	host_login(host, HOST_DISK);
	host_join(host);
	host_connect_data(host, HOST_DISK, 0xFFFF);
	host_expect(host, &host->admin, sqe_connect(0, 32), FINAL(NVME_COMMAND_SEQUENCE), "a second one");
	host_connect_data(host, HOST_DISK, host->admin.controller->cntlid);
	host_expect(host, &host->io, sqe_connect(1, 16), FINAL(NVME_COMMAND_SEQUENCE), "a second one");
	host_close(host);
}

Test(command, disabled_controller_serves_only_properties)
{
	struct nvmf_host *host = host_open(NULL);

	cr_assert_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), NVME_OK);
	for (int round = 0; round < 2; round++) {
		host_expect(host, &host->admin, sqe_identify(1, 0), FINAL(NVME_COMMAND_SEQUENCE), "Identify");
		host_expect(host, &host->admin, sqe_log(2, 0, 512), FINAL(NVME_COMMAND_SEQUENCE), "Get Log Page");
		host_expect(host, &host->admin, sqe_set_feature(7, 0), FINAL(NVME_COMMAND_SEQUENCE), "Set Features");
		host_expect(host, &host->admin, sqe_property_get(0, true), NVME_OK, "Property Get");
		host_enable(host, &host->admin);
		host_expect(host, &host->admin, sqe_identify(1, 0), NVME_OK, "Identify, ready");
		host_expect(host, &host->admin, sqe_property_set(0x14, 0x00460000), NVME_OK, "disabled");
	}
	host_close(host);
}

Test(command, queue_of_a_controller_that_is_not_ready_refuses_commands)
{
	struct nvmf_host *host = host_ready();

	host_expect(host, &host->admin, sqe_property_set(0x14, 0x00464001), NVME_OK, "CC.SHN");
	host_expect(host, &host->io, sqe_blocks(NVME_READ, 1, 0, 1, 512), FINAL(NVME_COMMAND_SEQUENCE), "Read");
	host_expect(host, &host->admin, sqe_property_set(0x14, 0x00460000), NVME_OK, "CC.EN 0");
	cr_expect_eq(host_run(host, &host->io, sqe_blocks(NVME_READ, 1, 0, 1, 512)).step, NVMF_HOLD);
	nvmf_queue_close(&host->io);
	host_enable(host, &host->admin);
	host_join(host);
	host_expect(host, &host->io, sqe_blocks(NVME_READ, 1, 0, 1, 512), NVME_OK, "Read");
	host_close(host);
}

Test(command, unknown_opcodes_are_refused)
{
	static const uint8_t admin[] = { 0x02, 0x06, 0x08, 0x09, 0x0A, 0x0C, 0x18, 0x7F };
	static const uint8_t io[] = { 0x00, 0x01, 0x02, 0x05, 0x08, 0x09, 0x7F };
	struct nvmf_host *host = host_ready();

	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		char what[16];

		snprintf(what, sizeof(what), "opcode %02x", opcode);
		if (!memchr(admin, (int)opcode, sizeof(admin)))
			host_expect(host, &host->admin, sqe_make((uint8_t)opcode, 1, 0), FINAL(NVME_INVALID_OPCODE),
				    what);
		if (!memchr(io, (int)opcode, sizeof(io)))
			host_expect(host, &host->io, sqe_make((uint8_t)opcode, 1, 0), FINAL(NVME_INVALID_OPCODE), what);
	}
	for (uint32_t type = 0; type < 256; type++) {
		struct nvmf_capsule capsule = sqe_make(0x7F, type, 0);
		char what[16];

		snprintf(what, sizeof(what), "fctype %02x", type);
		if (type != 0 && type != 1 && type != 4)
			host_expect(host, &host->admin, capsule, FINAL(NVME_INVALID_OPCODE), what);
		if (type != 1) /* properties belong to the admin queue */
			host_expect(host, &host->io, capsule, FINAL(NVME_INVALID_OPCODE), what);
	}
	host_close(host);
}

/* ---- the answer ---- */

Test(command, completion_entry_has_each_field_at_its_offset)
{
	struct nvmf_host *host = host_ready();
	struct nvmf_command command;
	struct nvmf_capsule capsule = sqe_make(NVME_FLUSH, 1, 0);
	uint8_t cqe[17],
		wanted[16] = { 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, 2, 0, 1, 0, 0xEF, 0xBE, 0x02, 0x85 };

	sqe_put(&capsule, 2, 2, 0xBEEF);
	cr_assert_eq(nvmf_command_begin(&command, &host->io, capsule.sqe, 64, 0), NVMF_BLOCK);
	nvmf_command_done(&command, NVME_OK);
	command.result = 0x1122334455667788;
	command.status = FINAL(0x281);
	memset(cqe, 0xEE, sizeof(cqe));
	nvmf_command_answer(&command, cqe);
	cr_expect_arr_eq(cqe, wanted, 16);
	cr_expect_eq(cqe[16], 0xEE);
	host_close(host);
}

Test(command, any_16_bits_are_a_command_id)
{
	struct nvmf_host *host = host_ready();

	for (uint32_t i = 0; i < 0x10000; i += 0xFFF) {
		host->next_cid = (uint16_t)i;
		host_expect(host, &host->io, sqe_make(NVME_FLUSH, 1, 0), NVME_OK, "cid");
	}
	host_close(host);
}

Test(command, queue_head_advances_by_one_per_command_and_wraps)
{
	static const uint32_t sizes[] = { 2, 3, 16 };
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct nvmf_queue queue = { 0 };
		struct nvmf_reply reply;
		uint32_t head = 1;

		host_dial(host, &queue, 1, 16);
		host_connect_data(host, HOST_DISK, controller->cntlid);
		reply = host_expect(host, &queue, sqe_connect(1, sizes[i]), NVME_OK, "Connect");
		cr_expect_eq(reply.sq_head, 1, "the Connect was the first");
		for (int n = 0; n < 40; n++) {
			struct nvmf_capsule capsule = sqe_make(n % 2 ? NVME_FLUSH : 0x66, 1, 0);

			head = (head + 1) % sizes[i];
			reply = host_run(host, &queue, capsule);
			cr_expect_eq(reply.sq_head, head, "size %u: %u, not %u", sizes[i], reply.sq_head, head);
		}
		nvmf_queue_close(&queue);
	}
	host_close(host);
}

Test(command, without_flow_control_the_head_is_always_ffff)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_capsule connect = sqe_connect(1, 4);

	host_login(host, HOST_DISK);
	host_dial(host, &host->io, 1, 4);
	host_connect_data(host, HOST_DISK, host->admin.controller->cntlid);
	connect.sqe[46] = 0x04;
	cr_expect_eq(host_expect(host, &host->io, connect, NVME_OK, "Connect").sq_head, 0xFFFF);
	for (int i = 0; i < 10; i++)
		cr_expect_eq(host_run(host, &host->io, sqe_make(NVME_FLUSH, 1, 0)).sq_head, 0xFFFF);
	nvmf_queue_close(&host->io);
	connect.sqe[46] = 0x03; /* a priority: nothing of that */
	host_dial(host, &host->io, 1, 4);
	host_connect_data(host, HOST_DISK, host->admin.controller->cntlid);
	cr_expect_eq(host_expect(host, &host->io, connect, NVME_OK, "Connect").sq_head, 1);
	host_close(host);
}

/* ---- what is under way ---- */

static uint32_t begin(struct nvmf_host *host, struct nvmf_command *command, struct nvmf_capsule *capsule)
{
	return nvmf_command_begin(command, &host->io, capsule->sqe, capsule->bytes, host->now_ns);
}

Test(command, namespace_is_in_use_until_its_command_ends)
{
	struct nvmf_host *host = host_ready();
	struct nvmf_capsule write = sqe_blocks(NVME_WRITE, 1, 0, 1, 512), read = sqe_blocks(NVME_READ, 1, 0, 1, 512);
	struct nvmf_command commands[5];

	cr_expect_eq(begin(host, &commands[0], &write), NVMF_FETCH);
	cr_expect_eq(begin(host, &commands[1], &write), NVMF_FETCH);
	cr_expect_eq(begin(host, &commands[2], &read), NVMF_BLOCK);
	cr_expect_eq(begin(host, &commands[3], &read), NVMF_BLOCK);
	cr_expect_eq(begin(host, &commands[4], &read), NVMF_BLOCK);
	cr_expect_eq(host->space[0].shares[0].under_way, 5);
	cr_expect_eq(host->space[1].shares[0].under_way, 0);
	nvmf_command_fail(&commands[0], NVME_DATA_TRANSFER_ERROR);
	cr_expect_eq(host->space[0].shares[0].under_way, 4, "its data did not come");
	cr_expect_eq(host_reply(&commands[0], NVMF_FETCH).status, NVME_DATA_TRANSFER_ERROR);
	cr_expect_eq(nvmf_command_fetched(&commands[1], host->data, 0), NVMF_BLOCK);
	cr_expect_eq(host->space[0].shares[0].under_way, 4);
	nvmf_command_done(&commands[1], NVME_WRITE_FAULT);
	cr_expect_eq(host->space[0].shares[0].under_way, 3);
	cr_expect_eq(host_reply(&commands[1], NVMF_BLOCK).status, NVME_WRITE_FAULT);
	nvmf_command_forget(&commands[2]);
	nvmf_command_forget(&commands[2]);
	cr_expect_eq(host->space[0].shares[0].under_way, 2, "its connection has gone");
	nvmf_command_done(&commands[3], NVME_OK);
	nvmf_command_fail(&commands[3], NVME_DATA_TRANSFER_ERROR);
	cr_expect_eq(host->space[0].shares[0].under_way, 1, "done, but the host's key was wrong");
	cr_expect_eq(host_reply(&commands[3], NVMF_BLOCK).status, NVME_DATA_TRANSFER_ERROR);
	nvmf_command_done(&commands[4], NVME_OK);
	cr_expect_eq(host->space[0].shares[0].under_way, 0);
	host_close(host);
}

Test(command, command_keeps_its_removed_namespace)
{
	struct nvmf_host *host = host_ready();
	struct nvmf_capsule write = sqe_blocks(NVME_WRITE, 1, 0, 1, 512);
	struct nvmf_namespace another = { .nsid = 1, .block_bytes = 4096, .blocks = 5 };
	struct nvmf_command command;

	cr_assert_eq(begin(host, &command, &write), NVMF_FETCH);
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 1), 0);
	host_expect(host, &host->io, write, FINAL(NVME_INVALID_NAMESPACE), "a later one");
	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &another), 0);
	cr_expect_eq(host->space[0].shares[0].under_way, 1);
	cr_expect_eq(nvmf_command_fetched(&command, host->data, 0), NVMF_BLOCK);
	cr_expect_eq(command.block.namespace, &host->space[0]);
	cr_expect_eq(command.block.bytes, 512);
	nvmf_command_done(&command, NVME_OK);
	cr_expect_eq(host->space[0].shares[0].under_way, 0);
	cr_expect_eq(another.shares[0].under_way, 0);
	cr_expect_eq(host_reply(&command, NVMF_BLOCK).status, NVME_OK);
	host_close(host);
}

Test(command, only_successful_commands_are_counted)
{
	struct nvmf_host *host = host_ready();
	struct nvmf_namespace *space = &host->space[1];

	host_expect(host, &host->io, sqe_blocks(NVME_READ, 2, 0, 3, 3 * 4096), NVME_OK, "Read");
	host_expect(host, &host->io, sqe_blocks(NVME_WRITE, 2, 0, 2, 2 * 4096), NVME_OK, "Write");
	host_expect(host, &host->io, sqe_blocks(NVME_WRITE, 2, 9, 1, 4096), NVME_OK, "Write");
	host_expect(host, &host->io, sqe_blocks(NVME_COMPARE, 2, 0, 1, 4096), NVME_OK, "Compare");
	host_expect(host, &host->io, sqe_make(NVME_FLUSH, 2, 0), NVME_OK, "Flush");
	host_expect(host, &host->io, sqe_blocks(NVME_WRITE_ZEROES, 2, 0, 1, 0), NVME_OK, "Write Zeroes");
	host->store_status = NVME_READ_ERROR;
	host_expect(host, &host->io, sqe_blocks(NVME_READ, 2, 0, 1, 4096), NVME_READ_ERROR, "Read");
	host_expect(host, &host->io, sqe_blocks(NVME_WRITE, 2, 0, 1, 4096), NVME_READ_ERROR, "Write");
	cr_expect_eq(space->shares[0].counts.reads, 1);
	cr_expect_eq(space->shares[0].counts.read_bytes, 3 * 4096);
	cr_expect_eq(space->shares[0].counts.writes, 2);
	cr_expect_eq(space->shares[0].counts.written_bytes, 3 * 4096);
	cr_expect_eq(space->shares[0].counts.flushes, 1);
	cr_expect_eq(host->space[0].shares[0].counts.reads + host->space[0].shares[0].counts.writes, 0);
	host_close(host);
}

Test(command, each_status_has_a_text)
{
	static const uint16_t statuses[] = { 0x000, 0x001, 0x002, 0x004, 0x006, 0x007, 0x00B, 0x00C, 0x00F,
					     0x011, 0x016, 0x020, 0x080, 0x081, 0x082, 0x105, 0x109, 0x10D,
					     0x180, 0x181, 0x182, 0x184, 0x280, 0x281, 0x285 };
	const char *unknown = nvmf_status_text(0x7FF);

	cr_expect_str_eq(nvmf_status_text(0x080), "LBA out of range");
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		cr_expect_str_neq(nvmf_status_text(statuses[i]), unknown, "%03x", statuses[i]);
		cr_expect_str_eq(nvmf_status_text(FINAL(statuses[i])), nvmf_status_text(statuses[i]));
		for (size_t j = 0; j < i; j++)
			cr_expect_str_neq(nvmf_status_text(statuses[i]), nvmf_status_text(statuses[j]));
	}
	cr_expect_str_eq(nvmf_status_meaning(FINAL(NVME_CAPACITY_EXCEEDED)), "the target's disk is full");
	cr_expect_null(nvmf_status_meaning(NVME_LBA_RANGE), "its text says it");
	cr_expect_null(nvmf_status_meaning(0x7FF));
}
