/* identify.c - what controllers and namespaces say of themselves, byte by byte */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvmf/controller.h"
#include "nvmf/change.h"
#include "nvmf_host.h"

#define PAGE 4096u

struct field {
	const char *name;
	uint32_t at, bytes;
	uint64_t value;
	const char *text; /* instead of the value */
	char padding;
};

static const uint8_t *identify(struct nvmf_host *host, uint8_t cns, uint32_t nsid)
{
	struct nvmf_reply reply;
	char what[40];

	snprintf(what, sizeof(what), "CNS %u of %u", cns, nsid);
	memset(host->data, 0xEE, PAGE + 1);
	reply = host_expect(host, &host->admin, sqe_identify(cns, nsid), NVME_OK, what);
	cr_expect_eq(reply.step, NVMF_GIVE, "%s", what);
	cr_expect_eq(reply.command.data_bytes, PAGE, "%s", what);
	cr_expect_eq(host->data[PAGE], 0xEE, "%s: too much", what);
	return host->data;
}

/* Each field has its value, and all other bytes are zero. */
static void expect_page(const uint8_t *page, const struct field *fields)
{
	static bool known[PAGE];

	memset(known, 0, sizeof(known));
	for (const struct field *field = fields; field->name; field++) {
		uint8_t wanted[256];

		if (field->text) {
			memset(wanted, field->padding, field->bytes);
			memcpy(wanted, field->text, strlen(field->text));
		} else {
			host_put(wanted, field->bytes, field->value);
		}
		cr_expect(memcmp(page + field->at, wanted, field->bytes) == 0, "%s, at %u: %lx, not %lx", field->name,
			  field->at, host_get(page + field->at, field->bytes > 8 ? 8 : field->bytes), field->value);
		memset(known + field->at, 1, field->bytes);
	}
	for (uint32_t i = 0; i < PAGE; i++)
		cr_expect(known[i] || page[i] == 0, "byte %u is %02x", i, page[i]);
}

static void expect_zeros(const uint8_t *page, const char *what)
{
	for (uint32_t i = 0; i < PAGE; i++)
		cr_assert_eq(page[i], 0, "%s: byte %u is %02x", what, i, page[i]);
}

Test(identify, io_controller_has_each_field_at_its_offset)
{
	static const struct field fields[] = {
		{ "serial", 4, 20, 0, "D15C", ' ' },
		{ "model", 24, 40, 0, "a disk", ' ' },
		{ "firmware", 64, 8, 0, "uroce", ' ' },
		{ "CMIC: ports, controllers, no ANA", 76, 1, 3 },
		{ "MDTS: 256 KiB", 77, 1, 6 },
		{ "cntlid", 78, 2, 1 },
		{ "VER", 80, 4, 0x00010300 },
		{ "OAES: namespaces", 92, 4, 0x100 },
		{ "CTRATT: host ids of 128 bits, traffic keeps alive", 96, 4, 0x41 },
		{ "type", 111, 1, 1 },
		{ "CRDT1: 200 ms", 128, 2, 2 },
		{ "ACL", 258, 1, 3 },
		{ "AERL", 259, 1, 3 },
		{ "FRMW", 260, 1, 3 },
		{ "LPA: effects, offsets", 261, 1, 6 },
		{ "ELPE", 262, 1, NVMF_ERRORS_MAX - 1 },
		{ "WCTEMP", 266, 2, 0x157 },
		{ "CCTEMP", 268, 2, 0x175 },
		{ "KAS: 1 s", 320, 2, 10 },
		{ "SQES", 512, 1, 0x66 },
		{ "CQES", 513, 1, 0x44 },
		{ "MAXCMD", 514, 2, 64 },
		{ "NN", 516, 4, NVMF_NAMESPACES_MAX },
		{ "ONCS: compare, DSM, write zeroes", 520, 2, 0x0D },
		{ "VWC, whatever is there", 525, 1, 1 },
		{ "SGLS", 536, 4, 0x00100005 },
		{ "SUBNQN", 768, 256, 0, HOST_DISK, 0 },
		{ "IOCCSZ", 1792, 4, (64 + 8192) / 16 },
		{ "IORCSZ", 1796, 4, 1 },
		{ "ICDOFF", 1800, 2, 0 },
		{ "FCATT", 1802, 1, 0 },
		{ "MSDBD", 1803, 1, 1 },
		{ "power of state 0", 2048, 2, 0x9C4 },
		{ NULL },
	};
	struct nvmf_config config = { .queue_depth = 64, .in_capsule_bytes = 8192, .max_data_bytes = 1 << 18 };
	struct nvmf_host *host = host_open(&config);

	host_login(host, HOST_DISK);
	expect_page(identify(host, 1, 0), fields);
	host_close(host);
}

Test(identify, discovery_controller_has_only_its_own_fields)
{
	static const struct field fields[] = {
		{ "serial", 4, 20, 0, "0", ' ' },
		{ "model", 24, 40, 0, "uroce", ' ' },
		{ "firmware", 64, 8, 0, "uroce", ' ' },
		{ "MDTS: 64 KiB", 77, 1, 4 },
		{ "cntlid", 78, 2, 1 },
		{ "VER", 80, 4, 0x00010300 },
		{ "OAES: discovery", 92, 4, 0x80000000 },
		{ "CTRATT", 96, 4, 0x41 },
		{ "type", 111, 1, 2 },
		{ "ACL", 258, 1, 3 },
		{ "AERL", 259, 1, 3 },
		{ "FRMW", 260, 1, 3 },
		{ "LPA: offsets, and no effects", 261, 1, 4 },
		{ "MAXCMD", 514, 2, 128 },
		{ "SGLS", 536, 4, 0x00100005 },
		{ "SUBNQN", 768, 256, 0, NVME_DISCOVERY_NQN, 0 },
		{ NULL },
	};
	struct nvmf_config config = { .max_data_bytes = 1 << 16 };
	struct nvmf_host *host = host_open(&config);

	host_login(host, NVME_DISCOVERY_NQN);
	expect_page(identify(host, 1, 0), fields);
	host_close(host);
}

Test(identify, controller_fields_follow_the_target)
{
	struct nvmf_config config = { .max_data_bytes = 4096 };
	struct nvmf_host *host = host_open(&config);
	struct nvmf_queue second = { 0 };
	const uint8_t *page;

	memset(host->disk.serial, 's', 20);
	memset(host->disk.model, 'm', 40);
	host_login(host, HOST_DISK);
	page = identify(host, 1, 0);
	cr_expect_eq(page[77], 0, "MDTS: a page");
	cr_expect_eq(page[1792], 4, "IOCCSZ: no data in a capsule");
	cr_expect_eq(page[23], 's');
	cr_expect_eq(page[63], 'm');
	cr_expect_eq(page[64], 'u');
	cr_assert_eq(host_connect(host, &second, HOST_DISK, 0, 0xFFFF), NVME_OK);
	host_enable(host, &second);
	memset(host->data, 0, PAGE);
	host_expect(host, &second, sqe_identify(1, 0), NVME_OK, "the second controller");
	cr_expect_eq(host_get(host->data + 78, 2), second.controller->cntlid);
	cr_expect_neq(second.controller->cntlid, host->admin.controller->cntlid);
	nvmf_queue_close(&second);
	host_close(host);
}

/* Hosts read the page once, and go by it for as long as they are connected. */
Test(identify, controller_fields_are_constant_while_namespaces_change)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_namespace more = { .nsid = 128, .block_bytes = 4096, .blocks = 1ull << 40, .read_only = true };
	uint8_t first[PAGE];

	host_login(host, HOST_DISK);
	memcpy(first, identify(host, 1, 0), PAGE);
	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &more), 0);
	cr_expect_arr_eq(identify(host, 1, 0), first, PAGE);
	for (uint32_t nsid = 1; nsid <= 2; nsid++)
		cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, nsid), 0);
	cr_expect_arr_eq(identify(host, 1, 0), first, PAGE);
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 128), 0);
	cr_expect_arr_eq(identify(host, 1, 0), first, PAGE);
	host_close(host);
}

Test(identify, namespace_has_each_field_at_its_offset)
{
	struct field fields[] = {
		{ "NSZE", 0, 8, 0x123456789A },
		{ "NCAP", 8, 8, 0x123456789A },
		{ "NUSE", 16, 8, 0x123456789A },
		{ "NSFEAT: grains", 24, 1, 0x10 },
		{ "NLBAF", 25, 1, 0 },
		{ "FLBAS", 26, 1, 0 },
		{ "NMIC: shared", 30, 1, 1 },
		{ "NSATTR", 99, 1, 0 },
		{ "NGUID", 104, 16, 0, "0123456789abcdef", 0 },
		{ "LBADS", 130, 1, 9 },
		{ "NPWG: 4 KiB", 64, 2, 7 },
		{ "NPWA", 66, 2, 7 },
		{ "NPDG", 68, 2, 7 },
		{ "NPDA", 70, 2, 7 },
		{ "NOWS", 72, 2, 7 },
		{ NULL },
	};
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	host->space[0].blocks = 0x123456789A;
	memcpy(host->space[0].nguid, "0123456789abcdef", 16);
	expect_page(identify(host, 0, 1), fields);
	fields[0].value = fields[1].value = fields[2].value = 100;
	fields[7].value = 1;
	fields[8].text = NULL;
	fields[8].bytes = 8;
	fields[9].value = 12;
	for (int i = 10; i < 15; i++)
		fields[i].value = 0; /* a block is as much */
	host->space[1].read_only = true;
	expect_page(identify(host, 0, 2), fields);
	host->space[1].used_blocks = 40;
	fields[2].value = 40;
	fields[3].value = 0x11; /* thin */
	expect_page(identify(host, 0, 2), fields);
	host->space[1].used_blocks = fields[2].value = 100;
	expect_page(identify(host, 0, 2), fields);
	host->space[1].used_blocks = 101; /* what the file system needs besides */
	expect_page(identify(host, 0, 2), fields);
	host_close(host);
}

Test(identify, missing_namespace_is_zeros_or_invalid)
{
	static const uint32_t impossible[] = { 0, NVMF_NAMESPACES_MAX + 1, 0xFFFFFFFE, 0xFFFFFFFF };
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	expect_zeros(identify(host, 0, 3), "of another subsystem");
	expect_zeros(identify(host, 0, NVMF_NAMESPACES_MAX), "the last one");
	expect_zeros(identify(host, 8, 3), "independent of the command set");
	for (size_t i = 0; i < sizeof(impossible) / sizeof(impossible[0]); i++) {
		host_expect(host, &host->admin, sqe_identify(0, impossible[i]), FINAL(NVME_INVALID_NAMESPACE), "CNS 0");
		host_expect(host, &host->admin, sqe_identify(3, impossible[i]), FINAL(NVME_INVALID_NAMESPACE), "CNS 3");
		host_expect(host, &host->admin, sqe_identify(8, impossible[i]), FINAL(NVME_INVALID_NAMESPACE), "CNS 8");
	}
	host_expect(host, &host->admin, sqe_identify(3, 3), FINAL(NVME_INVALID_NAMESPACE), "of another subsystem");
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 1), 0);
	expect_zeros(identify(host, 0, 1), "removed");
	host_expect(host, &host->admin, sqe_identify(3, 1), FINAL(NVME_INVALID_NAMESPACE), "removed");
	host_close(host);
}

Test(identify, active_list_starts_above_a_number)
{
	static const struct {
		uint32_t above, list[5];
	} rows[] = {
		{ 0, { 1, 2, 4, 128, 0 } }, { 1, { 2, 4, 128, 0 } }, { 2, { 4, 128, 0 } }, { 3, { 4, 128, 0 } },
		{ 4, { 128, 0 } },          { 127, { 128, 0 } },     { 128, { 0 } },       { 0xFFFFFFFD, { 0 } },
	};
	struct nvmf_namespace fourth = { .nsid = 4, .block_bytes = 512, .blocks = 1 };
	struct nvmf_namespace last = { .nsid = 128, .block_bytes = 512, .blocks = 1 };
	struct nvmf_host *host = host_open(NULL);

	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &fourth), 0);
	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &last), 0);
	host_login(host, HOST_DISK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const uint8_t *page = identify(host, 2, rows[i].above);

		for (uint32_t n = 0; n < PAGE / 4; n++)
			cr_assert_eq(host_get(page + 4 * n, 4), n < 5 ? rows[i].list[n] : 0, "above %u, %u",
				     rows[i].above, n);
	}
	host_expect(host, &host->admin, sqe_identify(2, 0xFFFFFFFE), FINAL(NVME_INVALID_NAMESPACE), "above all");
	host_expect(host, &host->admin, sqe_identify(2, 0xFFFFFFFF), FINAL(NVME_INVALID_NAMESPACE), "above all");
	host_close(host);
}

Test(identify, all_namespaces_fit_the_active_list)
{
	struct nvmf_host *host = host_open(NULL);
	static struct nvmf_namespace more[NVMF_NAMESPACES_MAX];
	const uint8_t *page;

	for (uint32_t i = 0; i < NVMF_NAMESPACES_MAX - 2; i++) {
		more[i] = (struct nvmf_namespace){ .block_bytes = 512, .blocks = 1 };
		cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &more[i]), 0);
	}
	host_login(host, HOST_DISK);
	page = identify(host, 2, 0);
	for (uint32_t i = 0; i < NVMF_NAMESPACES_MAX; i++)
		cr_expect_eq(host_get(page + 4 * i, 4), i + 1);
	cr_expect_eq(host_get(page + 4 * NVMF_NAMESPACES_MAX, 4), 0);
	host_close(host);
}

Test(identify, descriptors_list_the_identifiers_of_a_namespace)
{
	static const uint8_t command_set[8] = { 4, 1, 0, 0, 0, 0, 0, 0 };
	static const struct {
		const char *what;
		bool uuid, nguid;
	} rows[] = { { "UUID", true, false }, { "NGUID", false, true }, { "both", true, true } };
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_namespace *space = &host->space[0];

	host_login(host, HOST_DISK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t wanted[PAGE] = { 0 }, *at = wanted;
		const uint8_t *page;

		memset(space->uuid, rows[i].uuid ? 0x55 : 0, 16);
		memset(space->nguid, rows[i].nguid ? 0x66 : 0, 16);
		if (rows[i].uuid) {
			memcpy(at, (uint8_t[]){ 3, 16, 0, 0 }, 4);
			memset(at + 4, 0x55, 16);
			at += 20;
		}
		if (rows[i].nguid) {
			memcpy(at, (uint8_t[]){ 2, 16, 0, 0 }, 4);
			memset(at + 4, 0x66, 16);
			at += 20;
		}
		memcpy(at, command_set, sizeof(command_set));
		page = identify(host, 3, 1);
		cr_expect(memcmp(page, wanted, PAGE) == 0, "%s: %02x %02x at first", rows[i].what, page[0], page[1]);
	}
	host_close(host);
}

Test(identify, command_set_independent_fields_are_returned)
{
	struct field fields[] = {
		{ "NMIC: shared", 1, 1, 1 }, { "NSATTR", 8, 1, 0 }, { "NSTAT: ready", 14, 1, 1 }, { NULL }
	};
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	expect_page(identify(host, 8, 1), fields);
	host->space[0].read_only = true;
	fields[1].value = 1;
	expect_page(identify(host, 8, 1), fields);
	host_close(host);
}

Test(identify, nvm_command_set_page_is_zero_and_other_sets_are_refused)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_capsule capsule;

	host_login(host, HOST_DISK);
	expect_zeros(identify(host, 6, 0), "CNS 6");
	expect_zeros(identify(host, 5, 1), "CNS 5");
	for (uint8_t cns = 5; cns <= 6; cns++) {
		capsule = sqe_identify(cns, 1);
		capsule.sqe[47] = 2;
		host_expect(host, &host->admin, capsule, FINAL(NVME_INVALID_FIELD), "zoned");
	}
	host_close(host);
}

Test(identify, other_pages_are_refused)
{
	static const uint8_t io[] = { 0, 1, 2, 3, 5, 6, 8 };
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_queue discovery = { 0 };

	host_login(host, HOST_DISK);
	cr_assert_eq(host_connect(host, &discovery, NVME_DISCOVERY_NQN, 0, 0xFFFF), NVME_OK);
	host_enable(host, &discovery);
	for (int cns = 0; cns < 256; cns++) {
		if (!memchr(io, cns, sizeof(io)))
			host_expect(host, &host->admin, sqe_identify((uint8_t)cns, 1), FINAL(NVME_INVALID_FIELD),
				    "I/O");
		if (cns != 1)
			host_expect(host, &discovery, sqe_identify((uint8_t)cns, 1), FINAL(NVME_INVALID_FIELD),
				    "discovery");
	}
	nvmf_queue_close(&discovery);
	host_close(host);
}
