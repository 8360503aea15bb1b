/* fabrics.c - Connect and its refusals, properties and theirs */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "nvmf/controller.h"
#include "nvmf_host.h"

#define IN_DATA 0x10000u

Test(fabrics, an_admin_connect_makes_a_controller)
{
	static const char *const names[] = { HOST_DISK, HOST_OTHER, NVME_DISCOVERY_NQN };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct nvmf_host *host = host_open(NULL);
		const struct nvmf_controller *controller;
		struct nvmf_reply reply;
		uint8_t id[16];

		memset(id, 0xAB, sizeof(id));
		host_dial(host, &host->admin, 0, 32);
		host_connect_data(host, names[i], 0xFFFF);
		reply = host_expect(host, &host->admin, sqe_connect(0, 32), NVME_OK, names[i]);
		cr_expect_eq(reply.step, NVMF_FETCH);
		cr_expect_eq(reply.command.data_bytes, 1024);
		controller = host->admin.controller;
		cr_assert_not_null(controller);
		cr_expect_eq(reply.result, controller->cntlid, "and no authentication is wanted");
		cr_expect_eq(host->target.controllers[controller->cntlid - 1], controller);
		cr_expect_eq(controller->subsystem, nvmf_target_find(&host->target, names[i]));
		cr_expect_str_eq(controller->host_nqn, HOST_NQN);
		cr_expect_arr_eq(controller->host_id, id, 16);
		cr_expect_eq(controller->keep_alive_ms, HOST_KEEP_ALIVE_MS);
		host_close(host);
	}
}

Test(fabrics, data_of_a_connect_may_be_in_the_capsule)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_capsule capsule = sqe_connect(0, 32);

	sqe_in_capsule(&capsule, 0, 1024);
	host_dial(host, &host->admin, 0, 32);
	host_connect_data(host, HOST_DISK, 0xFFFF);
	host_expect(host, &host->admin, capsule, NVME_OK, "in capsule");
	host_close(host);
}

/* A field that is changed in an entry or in the data, and what becomes of it. */
struct change {
	const char *what;
	bool in_data;
	uint32_t at, bytes;
	uint64_t value;
	uint16_t status;
	uint64_t result;
};

static void try_change(struct nvmf_host *host, const struct change *change, uint16_t qid, uint16_t cntlid)
{
	struct nvmf_queue *queue = qid == 0 ? &host->admin : &host->io;
	uint32_t commands = qid == 0 ? 32 : 16, before = host_controllers(host);
	struct nvmf_capsule capsule = sqe_connect(qid, commands);
	struct nvmf_reply reply;

	host_dial(host, queue, qid, commands);
	host_connect_data(host, HOST_DISK, cntlid);
	if (change->in_data)
		host_put(host->data + change->at, change->bytes, change->value);
	else
		sqe_put(&capsule, change->at, change->bytes, change->value);
	reply = host_expect(host, queue, capsule, change->status, change->what);
	cr_expect_eq(reply.step, change->in_data || change->status == NVME_OK ? NVMF_FETCH : NVMF_ANSWER, "%s",
		     change->what);
	if (change->status == NVME_OK) {
		cr_expect_not_null(queue->controller, "%s", change->what);
	} else {
		cr_expect_eq(reply.result, change->result, "%s: %lx", change->what, reply.result);
		cr_expect_null(queue->controller, "%s", change->what);
		cr_expect_eq(host_controllers(host), before, "%s", change->what);
	}
	nvmf_queue_close(queue);
}

Test(fabrics, invalid_admin_connect_is_refused_with_its_reason)
{
	static const struct change rows[] = {
		{ "nothing changed", false, 63, 1, 0, NVME_OK, 0 },
		{ "format 1", false, 40, 2, 1, FINAL(NVME_CONNECT_FORMAT), 0 },
		{ "format 100h", false, 40, 2, 0x100, FINAL(NVME_CONNECT_FORMAT), 0 },
		{ "qid 1", false, 42, 2, 1, FINAL(NVME_CONNECT_INVALID), 42 },
		{ "qid 100h", false, 42, 2, 0x100, FINAL(NVME_CONNECT_INVALID), 42 },
		{ "a queue of one", false, 44, 2, 0, FINAL(NVME_CONNECT_INVALID), 44 },
		{ "a queue of two", false, 44, 2, 1, NVME_OK, 0 },
		{ "33 where there are receives for 32", false, 44, 2, 32, FINAL(NVME_CONNECT_INVALID), 44 },
		{ "65536", false, 44, 2, 0xFFFF, FINAL(NVME_CONNECT_INVALID), 44 },
		{ "cntlid 1", true, 16, 2, 1, FINAL(NVME_CONNECT_INVALID), IN_DATA | 16 },
		{ "cntlid FFFEh", true, 16, 2, 0xFFFE, FINAL(NVME_CONNECT_INVALID), IN_DATA | 16 },
		{ "no subsystem", true, 256, 1, 0, FINAL(NVME_CONNECT_INVALID), IN_DATA | 256 },
		{ "no such subsystem", true, 256, 1, 'x', FINAL(NVME_CONNECT_INVALID), IN_DATA | 256 },
		{ "its name is longer", true, 256 + sizeof(HOST_DISK) - 1, 1, '2', FINAL(NVME_CONNECT_INVALID),
		  IN_DATA | 256 },
		{ "no host", true, 512, 1, 0, FINAL(NVME_CONNECT_INVALID), IN_DATA | 512 },
	};
	struct nvmf_host *host = host_open(NULL);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		try_change(host, &rows[i], 0, 0xFFFF);
	host_close(host);
}

/* Both ends tell their users with these words. */
Test(fabrics, refused_connect_names_the_invalid_field)
{
	static const struct {
		uint16_t status;
		uint64_t result;
		const char *text;
	} rows[] = {
		{ FINAL(NVME_CONNECT_INVALID), IN_DATA | 256, "no subsystem has that NQN" },
		{ FINAL(NVME_CONNECT_INVALID), IN_DATA | 512, "the host NQN is empty or too long" },
		{ FINAL(NVME_CONNECT_INVALID), IN_DATA | 16, "this host has no controller with that controller ID" },
		{ FINAL(NVME_CONNECT_INVALID), 42, "invalid queue ID" },
		{ FINAL(NVME_CONNECT_INVALID), 44, "invalid queue size" },
		{ FINAL(NVME_CONNECT_INVALID), 7, "invalid parameter of Connect" },
		{ FINAL(NVME_CONNECT_HOST), IN_DATA | 256, "host not allowed" },
		{ NVME_OK, 5, "success" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_str_eq(nvmf_connect_text(rows[i].status, rows[i].result), rows[i].text, "row %zu", i);
}

Test(fabrics, names_end_within_223_bytes)
{
	static const struct {
		const char *what;
		uint32_t at, length;
		uint16_t status;
	} rows[] = {
		{ "a host of 223", CONNECT_HOST, 223, NVME_OK },
		{ "a host of 224", CONNECT_HOST, 224, FINAL(NVME_CONNECT_INVALID) },
		{ "a host without an end", CONNECT_HOST, 256, FINAL(NVME_CONNECT_INVALID) },
		{ "a subsystem of 224", CONNECT_SUBSYSTEM, 224, FINAL(NVME_CONNECT_INVALID) },
		{ "a subsystem without an end", CONNECT_SUBSYSTEM, 256, FINAL(NVME_CONNECT_INVALID) },
	};
	struct nvmf_host *host = host_open(NULL);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvmf_reply reply;
		size_t length;

		host_dial(host, &host->admin, 0, 32);
		host_connect_data(host, HOST_DISK, 0xFFFF);
		length = strlen((char *)host->data + rows[i].at);
		memset(host->data + rows[i].at + length, 'x', rows[i].length - length);
		memset(host->data + 768, 'y', 256); /* what is reserved does not matter */
		reply = host_expect(host, &host->admin, sqe_connect(0, 32), rows[i].status, rows[i].what);
		if (rows[i].status != NVME_OK)
			cr_expect_eq(reply.result, IN_DATA | rows[i].at, "%s: %lx", rows[i].what, reply.result);
		nvmf_queue_close(&host->admin);
	}
	host_close(host);
}

Test(fabrics, a_host_that_is_not_admitted_gets_no_controller)
{
	struct nvmf_host *host = host_open(NULL);

	strcpy(host->disk.hosts[0], "nqn.2016-06.org.example:friend");
	host->disk.host_count = 1;
	cr_expect_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), FINAL(NVME_CONNECT_HOST));
	cr_expect_eq(host_controllers(host), 0);
	cr_expect_eq(host_connect(host, &host->admin, HOST_OTHER, 0, 0xFFFF), NVME_OK);
	nvmf_queue_close(&host->admin);
	cr_expect_eq(host_connect(host, &host->admin, NVME_DISCOVERY_NQN, 0, 0xFFFF), NVME_OK);
	nvmf_queue_close(&host->admin);
	strcpy(host->disk.hosts[1], HOST_NQN);
	host->disk.host_count = 2;
	cr_expect_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), NVME_OK);
	host_close(host);
}

Test(fabrics, io_queue_joins_the_named_controller)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_queue second = { 0 }, last = { 0 };
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	struct nvmf_reply reply;

	host_dial(host, &host->io, 1, 16);
	host_connect_data(host, HOST_DISK, controller->cntlid);
	reply = host_expect(host, &host->io, sqe_connect(1, 16), NVME_OK, "Connect");
	cr_expect_eq(reply.result, controller->cntlid);
	cr_expect_eq(host->io.controller, controller);
	cr_expect_eq(host_connect(host, &second, HOST_DISK, 1, controller->cntlid), FINAL(NVME_COMMAND_SEQUENCE));
	cr_expect_null(second.controller, "queue 1 is there");
	cr_expect_eq(host_connect(host, &second, HOST_DISK, 2, controller->cntlid), NVME_OK);
	cr_expect_eq(host_connect(host, &last, HOST_DISK, 128, controller->cntlid), NVME_OK);
	nvmf_queue_close(&host->io);
	cr_expect_eq(host_connect(host, &host->io, HOST_DISK, 1, controller->cntlid), NVME_OK, "once more");
	nvmf_queue_close(&second);
	nvmf_queue_close(&last);
	host_close(host);
}

Test(fabrics, invalid_io_connect_is_refused_with_its_reason)
{
	static const struct change rows[] = {
		{ "nothing changed", false, 63, 1, 0, NVME_OK, 0 },
		{ "format 1", false, 40, 2, 1, FINAL(NVME_CONNECT_FORMAT), 0 },
		{ "qid 0", false, 42, 2, 0, FINAL(NVME_CONNECT_INVALID), 42 },
		{ "qid 2", false, 42, 2, 2, FINAL(NVME_CONNECT_INVALID), 42 },
		{ "a queue of one", false, 44, 2, 0, FINAL(NVME_CONNECT_INVALID), 44 },
		{ "17 where there are receives for 16", false, 44, 2, 16, FINAL(NVME_CONNECT_INVALID), 44 },
		{ "cntlid 0", true, 16, 2, 0, FINAL(NVME_CONNECT_INVALID), IN_DATA | 16 },
		{ "cntlid of none", true, 16, 2, 99, FINAL(NVME_CONNECT_INVALID), IN_DATA | 16 },
		{ "cntlid 256", true, 16, 2, 256, FINAL(NVME_CONNECT_INVALID), IN_DATA | 16 },
		{ "cntlid 257", true, 16, 2, 257, FINAL(NVME_CONNECT_INVALID), IN_DATA | 16 },
		{ "cntlid FFFFh", true, 16, 2, 0xFFFF, FINAL(NVME_CONNECT_INVALID), IN_DATA | 16 },
		{ "another subsystem", true, 256 + 24, 5, 0x726568746F, FINAL(NVME_CONNECT_INVALID), IN_DATA | 256 },
		{ "no subsystem", true, 256, 1, 0, FINAL(NVME_CONNECT_INVALID), IN_DATA | 256 },
		{ "another host", true, 512 + 20, 1, 'z', FINAL(NVME_CONNECT_INVALID), IN_DATA | 16 },
		{ "another host id", true, 15, 1, 0xAC, FINAL(NVME_CONNECT_INVALID), IN_DATA | 16 },
	};
	struct nvmf_host *host = host_open(NULL);
	uint16_t cntlid = host_login(host, HOST_DISK)->cntlid;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		try_change(host, &rows[i], 1, cntlid);
	host_close(host);
}

Test(fabrics, io_queue_size_is_limited_by_mqes)
{
	struct nvmf_config config = { .queue_depth = 16 };
	struct nvmf_host *host = host_open(&config);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	struct nvmf_reply reply;

	host_dial(host, &host->io, 1, 1024);
	host_connect_data(host, HOST_DISK, controller->cntlid);
	reply = host_expect(host, &host->io, sqe_connect(1, 17), FINAL(NVME_CONNECT_INVALID), "17");
	cr_expect_eq(reply.result, 44);
	host_expect(host, &host->io, sqe_connect(1, 16), NVME_OK, "16");
	host_close(host);
}

Test(fabrics, io_queues_are_limited_by_the_configuration)
{
	struct nvmf_config config = { .io_queues = 2 };
	struct nvmf_host *host = host_open(&config);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	static const uint16_t beyond[] = { 3, 128, 129, 0xFFFF };

	cr_expect_eq(host_connect(host, &host->io, HOST_DISK, 2, controller->cntlid), NVME_OK);
	for (size_t i = 0; i < sizeof(beyond) / sizeof(beyond[0]); i++) {
		struct nvmf_queue queue = { 0 };
		struct nvmf_reply reply;

		host_dial(host, &queue, beyond[i], 16);
		host_connect_data(host, HOST_DISK, controller->cntlid);
		reply = host_expect(host, &queue, sqe_connect(beyond[i], 16), FINAL(NVME_CONNECT_INVALID), "qid");
		cr_expect_eq(reply.result, 42, "%u", beyond[i]);
	}
	host_close(host);
}

Test(fabrics, queues_of_a_disabled_or_discovery_controller_are_refused)
{
	struct nvmf_host *host = host_open(NULL);
	uint16_t cntlid;

	cr_assert_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), NVME_OK);
	cntlid = host->admin.controller->cntlid;
	cr_expect_eq(host_connect(host, &host->io, HOST_DISK, 1, cntlid), FINAL(NVME_COMMAND_SEQUENCE));
	host_enable(host, &host->admin);
	host_join(host);
	nvmf_queue_close(&host->admin);
	nvmf_queue_close(&host->io);
	host_login(host, NVME_DISCOVERY_NQN);
	cntlid = host->admin.controller->cntlid;
	cr_expect_eq(host_connect(host, &host->io, NVME_DISCOVERY_NQN, 1, cntlid), FINAL(NVME_CONNECT_INVALID));
	host_close(host);
}

Test(fabrics, queue_of_a_controller_without_admin_queue_is_refused)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_queue late = { 0 };
	uint16_t cntlid = host_login(host, HOST_DISK)->cntlid;

	host_join(host);
	nvmf_queue_close(&host->admin);
	cr_expect_eq(host_connect(host, &late, HOST_DISK, 2, cntlid), FINAL(NVME_COMMAND_SEQUENCE));
	host_login(host, HOST_DISK);
	cr_expect_neq(host->admin.controller->cntlid, cntlid, "the host is back while the old one is torn down");
	cr_expect_eq(host_controllers(host), 2);
	host_close(host);
}

Test(fabrics, one_of_two_concurrent_connects_on_a_queue_counts)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_capsule capsule = sqe_connect(0, 32);
	struct nvmf_command first, second;

	host_dial(host, &host->admin, 0, 32);
	host_connect_data(host, HOST_DISK, 0xFFFF);
	cr_assert_eq(nvmf_command_begin(&first, &host->admin, capsule.sqe, 64, 0), NVMF_FETCH);
	cr_assert_eq(nvmf_command_begin(&second, &host->admin, capsule.sqe, 64, 0), NVMF_FETCH);
	cr_expect_eq(nvmf_command_fetched(&first, host->data, 0), NVMF_ANSWER);
	cr_expect_eq(nvmf_command_fetched(&second, host->data, 0), NVMF_ANSWER);
	cr_expect_eq(host_reply(&first, NVMF_FETCH).status, NVME_OK);
	cr_expect_eq(host_reply(&second, NVMF_FETCH).status, FINAL(NVME_COMMAND_SEQUENCE));
	cr_expect_eq(host_controllers(host), 1);
	host_close(host);
}

/* ---- properties ---- */

Test(fabrics, properties_are_read_at_their_offset_and_size)
{
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	for (uint32_t offset = 0; offset < 0x60; offset += 2) {
		for (uint32_t size = 0; size < 8; size++) {
			bool there = (offset == 0 && size == 1) ||
				     ((offset == 8 || offset == 0x14 || offset == 0x1C) && size == 0);
			struct nvmf_capsule capsule = sqe_property_get(offset, false);
			struct nvmf_reply reply;
			char what[40];

			capsule.sqe[40] = (uint8_t)size;
			snprintf(what, sizeof(what), "offset %x size %u", offset, size);
			reply = host_expect(host, &host->admin, capsule, there ? NVME_OK : FINAL(NVME_INVALID_FIELD),
					    what);
			if (!there)
				cr_expect_eq(reply.result, 0, "%s: %lx", what, reply.result);
		}
	}
	host_expect(host, &host->admin, sqe_property_get(0x80000000, false), FINAL(NVME_INVALID_FIELD), "far");
	host_close(host);
}

Test(fabrics, version_configuration_and_status_are_returned)
{
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	cr_expect_eq(host_run(host, &host->admin, sqe_property_get(0x08, false)).result, 0x00010300);
	cr_expect_eq(host_run(host, &host->admin, sqe_property_get(0x14, false)).result, 0x00460001);
	cr_expect_eq(host_run(host, &host->admin, sqe_property_get(0x1C, false)).result, 1);
	host_close(host);
}

Test(fabrics, only_cc_is_writable)
{
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	for (uint32_t offset = 0; offset < 0x60; offset += 2) {
		for (uint32_t size = 0; size < 8; size++) {
			struct nvmf_capsule capsule = sqe_property_set(offset, 0x00460001);
			bool there = offset == 0x14 && size == 0;
			char what[40];

			capsule.sqe[40] = (uint8_t)size;
			snprintf(what, sizeof(what), "offset %x size %u", offset, size);
			cr_expect_eq(host_expect(host, &host->admin, capsule,
						 there ? NVME_OK : FINAL(NVME_INVALID_FIELD), what)
					     .result,
				     0);
		}
	}
	cr_expect_eq(host_csts(host, &host->admin), 1);
	host_close(host);
}
