/* nvmf_host.c - a host of the NVMe target, in memory: entries of commands, their data, the answers */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf_host.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "nvmf/change.h"

#define IO_COMMANDS 16u
#define CC_USUAL 0x00460000u

struct nvmf_host *host_open(const struct nvmf_config *config)
{
	struct nvmf_host *host = calloc(1, sizeof(*host));
	struct nvmf_config usual = { 0 };

	cr_assert(host);
	cr_assert_eq(nvmf_target_init(&host->target, config ? config : &usual), 0);
	strcpy(host->disk.nqn, HOST_DISK);
	strcpy(host->disk.serial, "D15C");
	strcpy(host->disk.model, "a disk");
	strcpy(host->other.nqn, HOST_OTHER);
	host->space[0] = (struct nvmf_namespace){ .nsid = 1, .block_bytes = 512, .blocks = 1000, .uuid = { 1, 2, 3 } };
	host->space[1] = (struct nvmf_namespace){ .nsid = 2, .block_bytes = 4096, .blocks = 100, .uuid = { 4, 5, 6 } };
	host->space[2] = (struct nvmf_namespace){ .nsid = 3, .block_bytes = 512, .blocks = 10, .uuid = { 7, 8, 9 } };
	cr_assert_eq(nvmf_target_add_subsystem(&host->target, &host->disk), 0);
	cr_assert_eq(nvmf_target_add_subsystem(&host->target, &host->other), 0);
	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &host->space[0]), 0);
	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &host->space[1]), 0);
	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->other, &host->space[2]), 0);
	host->now_ns = HOST_S;
	return host;
}

void host_close(struct nvmf_host *host)
{
	nvmf_queue_close(&host->io);
	nvmf_queue_close(&host->admin);
	cr_expect_eq(host_controllers(host), 0, "%u controllers are left", host_controllers(host));
	for (int i = 0; i < 3; i++)
		cr_expect_eq(nvmf_namespace_under_way(&host->space[i]), 0);
	nvmf_target_free(&host->target);
	free(host);
}

/* ---- entries ---- */

uint64_t host_get(const uint8_t *data, uint32_t bytes)
{
	uint64_t value = 0;

	while (bytes-- > 0)
		value = value << 8 | data[bytes];
	return value;
}

void host_put(uint8_t *data, uint32_t bytes, uint64_t value)
{
	for (uint32_t i = 0; i < bytes; i++)
		data[i] = (uint8_t)(value >> 8 * i);
}

void sqe_put(struct nvmf_capsule *capsule, uint32_t at, uint32_t bytes, uint64_t value)
{
	cr_assert_leq(at + bytes, NVME_SQE_BYTES);
	host_put(capsule->sqe + at, bytes, value);
}

struct nvmf_capsule sqe_make(uint8_t opcode, uint32_t nsid, uint32_t data_bytes)
{
	struct nvmf_capsule capsule = { .bytes = NVME_SQE_BYTES };

	capsule.sqe[0] = opcode;
	capsule.sqe[1] = 0x40;
	sqe_put(&capsule, 4, 4, nsid);
	capsule.sqe[39] = 0x40;
	if (data_bytes) {
		sqe_put(&capsule, 24, 8, HOST_ADDR);
		sqe_put(&capsule, 32, 3, data_bytes);
		sqe_put(&capsule, 35, 4, HOST_KEY);
		capsule.sqe[39] = 0x4F;
	}
	return capsule;
}

void sqe_in_capsule(struct nvmf_capsule *capsule, uint64_t offset, uint32_t bytes)
{
	sqe_put(capsule, 24, 8, offset);
	sqe_put(capsule, 32, 7, bytes);
	capsule->sqe[39] = 0x01;
	capsule->bytes = NVME_SQE_BYTES + bytes;
}

struct nvmf_capsule sqe_connect(uint16_t qid, uint32_t commands)
{
	struct nvmf_capsule capsule = sqe_make(0x7F, 1, 1024);

	sqe_put(&capsule, 42, 2, qid);
	sqe_put(&capsule, 44, 2, commands - 1);
	sqe_put(&capsule, 48, 4, qid == 0 ? HOST_KEEP_ALIVE_MS : 0);
	return capsule;
}

struct nvmf_capsule sqe_property_get(uint32_t offset, bool wide)
{
	struct nvmf_capsule capsule = sqe_make(0x7F, 4, 0);

	capsule.sqe[40] = wide;
	sqe_put(&capsule, 44, 4, offset);
	return capsule;
}

struct nvmf_capsule sqe_property_set(uint32_t offset, uint64_t value)
{
	struct nvmf_capsule capsule = sqe_make(0x7F, 0, 0);

	sqe_put(&capsule, 44, 4, offset);
	sqe_put(&capsule, 48, 8, value);
	return capsule;
}

struct nvmf_capsule sqe_identify(uint8_t cns, uint32_t nsid)
{
	struct nvmf_capsule capsule = sqe_make(0x06, nsid, 4096);

	capsule.sqe[40] = cns;
	return capsule;
}

struct nvmf_capsule sqe_log(uint8_t log, uint64_t offset, uint32_t bytes)
{
	struct nvmf_capsule capsule = sqe_make(0x02, NVME_NSID_ALL, bytes);
	uint32_t dwords = bytes / 4 - 1;

	capsule.sqe[40] = log;
	sqe_put(&capsule, 42, 2, dwords & 0xFFFF);
	sqe_put(&capsule, 44, 2, dwords >> 16);
	sqe_put(&capsule, 48, 8, offset);
	return capsule;
}

struct nvmf_capsule sqe_set_feature(uint8_t feature, uint32_t value)
{
	struct nvmf_capsule capsule = sqe_make(0x09, 0, 0);

	capsule.sqe[40] = feature;
	sqe_put(&capsule, 44, 4, value);
	return capsule;
}

struct nvmf_capsule sqe_host_behaviour(void)
{
	struct nvmf_capsule capsule = sqe_make(0x09, 0, 512);

	capsule.sqe[40] = 0x16;
	return capsule;
}

struct nvmf_capsule sqe_get_feature(uint8_t feature, uint32_t data_bytes)
{
	struct nvmf_capsule capsule = sqe_make(0x0A, 0, data_bytes);

	capsule.sqe[40] = feature;
	return capsule;
}

struct nvmf_capsule sqe_blocks(uint8_t opcode, uint32_t nsid, uint64_t first, uint32_t count, uint32_t data_bytes)
{
	struct nvmf_capsule capsule = sqe_make(opcode, nsid, data_bytes);

	sqe_put(&capsule, 40, 8, first);
	sqe_put(&capsule, 48, 2, count - 1);
	return capsule;
}

struct nvmf_capsule sqe_ranges(uint32_t nsid, uint32_t count, bool deallocate)
{
	struct nvmf_capsule capsule = sqe_make(0x09, nsid, 16 * count);

	capsule.sqe[40] = (uint8_t)(count - 1);
	capsule.sqe[44] = deallocate ? 4 : 0;
	return capsule;
}

void host_put_range(struct nvmf_host *host, uint32_t index, uint64_t first, uint32_t count)
{
	host_put(host->data + 16 * index, 4, 0);
	host_put(host->data + 16 * index + 4, 4, count);
	host_put(host->data + 16 * index + 8, 8, first);
}

void host_connect_data(struct nvmf_host *host, const char *subsystem, uint16_t cntlid)
{
	memset(host->data, 0, 1024);
	memset(host->data + CONNECT_HOST_ID, host->id ? host->id : 0xAB, 16);
	host_put(host->data + CONNECT_CNTLID, 2, cntlid);
	strcpy((char *)host->data + CONNECT_SUBSYSTEM, subsystem);
	strcpy((char *)host->data + CONNECT_HOST, host->nqn ? host->nqn : HOST_NQN);
}

/* ---- commands ---- */

struct nvmf_reply host_reply(struct nvmf_command *command, enum nvmf_step step)
{
	struct nvmf_reply reply = { .step = step, .answered = true, .command = *command };
	uint8_t cqe[NVME_CQE_BYTES];

	memset(cqe, 0xEE, sizeof(cqe));
	nvmf_command_answer(command, cqe);
	reply.result = host_get(cqe, 8);
	reply.sq_head = (uint16_t)host_get(cqe + 8, 2);
	reply.qid = (uint16_t)host_get(cqe + 10, 2);
	reply.cid = (uint16_t)host_get(cqe + 12, 2);
	reply.status = (uint16_t)(host_get(cqe + 14, 2) >> 1);
	cr_expect_eq(cqe[14] & 1, 0, "the phase tag is unused");
	return reply;
}

struct nvmf_reply host_run(struct nvmf_host *host, struct nvmf_queue *queue, struct nvmf_capsule capsule)
{
	struct nvmf_command command;
	enum nvmf_step first, step;

	sqe_put(&capsule, 2, 2, ++host->next_cid);
	first = step = nvmf_command_begin(&command, queue, capsule.sqe, capsule.bytes, host->now_ns);
	cr_assert_leq(command.data_bytes, HOST_DATA_BYTES);
	if (step == NVMF_FETCH)
		step = nvmf_command_fetched(&command, host->data, host->now_ns);
	if (step == NVMF_GIVE)
		nvmf_command_give(&command, host->data);
	if (step == NVMF_BLOCK)
		nvmf_command_done(&command, host->store_status);
	if (step == NVMF_HOLD || step == NVMF_DROP)
		return (struct nvmf_reply){ .step = first, .command = command };
	return host_reply(&command, first);
}

struct nvmf_reply host_expect(struct nvmf_host *host, struct nvmf_queue *queue, struct nvmf_capsule capsule,
			      uint16_t status, const char *what)
{
	struct nvmf_reply reply = host_run(host, queue, capsule);

	cr_expect(reply.answered, "%s: no answer", what);
	cr_expect_eq(reply.status, status, "%s: status %04x (%s), not %04x", what, reply.status,
		     nvmf_status_text(reply.status), status);
	cr_expect_eq(reply.cid, host->next_cid, "%s: cid %u", what, reply.cid);
	cr_expect_eq(reply.qid, queue->qid, "%s: qid %u", what, reply.qid);
	return reply;
}

void host_dial(struct nvmf_host *host, struct nvmf_queue *queue, uint16_t qid, uint32_t commands)
{
	struct nvmf_hello hello = { .qid = qid, .commands = commands, .responses = commands };

	nvmf_queue_open(queue, &host->target, &hello);
}

uint16_t host_connect(struct nvmf_host *host, struct nvmf_queue *queue, const char *subsystem, uint16_t qid,
		      uint16_t cntlid)
{
	uint32_t commands = qid == 0 ? NVME_ADMIN_DEPTH : IO_COMMANDS;

	host_dial(host, queue, qid, commands);
	host_connect_data(host, subsystem, cntlid);
	return host_run(host, queue, sqe_connect(qid, commands)).status;
}

void host_enable(struct nvmf_host *host, struct nvmf_queue *admin)
{
	host_expect(host, admin, sqe_property_set(0x14, CC_USUAL), NVME_OK, "CC");
	host_expect(host, admin, sqe_property_set(0x14, CC_USUAL | 1), NVME_OK, "CC.EN");
	cr_assert_eq(host_csts(host, admin), 1);
}

struct nvmf_controller *host_login(struct nvmf_host *host, const char *subsystem)
{
	cr_assert_eq(host_connect(host, &host->admin, subsystem, 0, 0xFFFF), NVME_OK);
	host_enable(host, &host->admin);
	return host->admin.controller;
}

void host_join(struct nvmf_host *host)
{
	cr_assert_eq(host_connect(host, &host->io, HOST_DISK, 1, host->admin.controller->cntlid), NVME_OK);
}

uint32_t host_csts(struct nvmf_host *host, struct nvmf_queue *admin)
{
	return (uint32_t)host_run(host, admin, sqe_property_get(0x1C, false)).result;
}

uint32_t host_set_cc(struct nvmf_host *host, uint32_t cc)
{
	host_expect(host, &host->admin, sqe_property_set(0x14, cc), NVME_OK, "CC");
	cr_expect_eq(host_run(host, &host->admin, sqe_property_get(0x14, false)).result, cc, "CC %08x", cc);
	return host_csts(host, &host->admin);
}

uint32_t host_controllers(const struct nvmf_host *host)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++)
		count += host->target.controllers[i] != NULL;
	return count;
}
