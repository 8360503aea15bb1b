/* io.c - commands about blocks: what lies within a namespace, what is refused, what the store is told */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nvmf/controller.h"
#include "nvmf/change.h"
#include "nvmf_host.h"

#define FUA 0x40000000u
#define LIMITED_RETRY 0x80000000u
#define DEALLOCATE 0x02000000u

static struct nvmf_host *host_ready(const struct nvmf_config *config)
{
	struct nvmf_host *host = host_open(config);

	host_login(host, HOST_DISK);
	host_join(host);
	return host;
}

/* Those with a range of blocks, and how each goes on. */
static const struct {
	const char *name;
	uint8_t opcode;
	bool data, changes;
	enum nvmf_step step;
	enum nvmf_block_op op;
} ranged[] = {
	{ "Read", 0x02, true, false, NVMF_BLOCK, NVMF_BLOCK_READ },
	{ "Write", 0x01, true, true, NVMF_FETCH, NVMF_BLOCK_WRITE },
	{ "Compare", 0x05, true, false, NVMF_FETCH, NVMF_BLOCK_COMPARE },
	{ "Write Zeroes", 0x08, false, true, NVMF_BLOCK, NVMF_BLOCK_ZERO },
};

#define RANGED (sizeof(ranged) / sizeof(ranged[0]))

static struct nvmf_capsule sqe_ranged(size_t which, uint32_t nsid, uint64_t first, uint32_t count, uint32_t block_bytes)
{
	return sqe_blocks(ranged[which].opcode, nsid, first, count, ranged[which].data ? count * block_bytes : 0);
}

Test(io, blocks_map_to_bytes_of_the_store)
{
	struct nvmf_host *host = host_ready(NULL);

	for (size_t i = 0; i < RANGED; i++) {
		for (uint32_t nsid = 1; nsid <= 2; nsid++) {
			uint32_t bytes = nsid == 1 ? 512 : 4096;
			struct nvmf_reply reply =
				host_expect(host, &host->io, sqe_ranged(i, nsid, 7, 3, bytes), NVME_OK, ranged[i].name);

			cr_expect_eq(reply.step, ranged[i].step, "%s", ranged[i].name);
			cr_expect_eq(reply.command.block.op, ranged[i].op, "%s", ranged[i].name);
			cr_expect_eq(reply.command.block.namespace, &host->space[nsid - 1], "%s", ranged[i].name);
			cr_expect_eq(reply.command.block.offset, 7 * bytes, "%s", ranged[i].name);
			cr_expect_eq(reply.command.block.bytes, 3 * bytes, "%s", ranged[i].name);
			cr_expect_eq(reply.command.data_bytes, ranged[i].data ? 3 * bytes : 0, "%s", ranged[i].name);
			cr_expect_not(reply.command.block.lasting, "%s", ranged[i].name);
			cr_expect_not(reply.command.block.may_deallocate, "%s", ranged[i].name);
			cr_expect_eq(reply.result, 0);
		}
	}
	host_close(host);
}

Test(io, blocks_out_of_range_are_refused)
{
	static const struct {
		const char *what;
		uint64_t first;
		uint32_t count;
		bool inside;
	} rows[] = {
		{ "the first", 0, 1, true },
		{ "the last", 999, 1, true },
		{ "all", 0, 1000, true },
		{ "one behind", 1000, 1, false },
		{ "two from the last", 999, 2, false },
		{ "all and one", 0, 1001, false },
		{ "all, one later", 1, 1000, false },
		{ "far away", 1ull << 40, 1, false },
		{ "2^55: bytes go round", 1ull << 55, 1, false },
		{ "the last of all", UINT64_MAX, 1, false },
		{ "round the end", UINT64_MAX, 2, false },
		{ "round the end to the first", UINT64_MAX - 9, 20, false },
		{ "the most", 0, 65536, false },
	};
	struct nvmf_host *host = host_ready(NULL);

	for (size_t i = 0; i < RANGED; i++) {
		for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
			uint32_t block_bytes = rows[n].inside ? 512 : 8; /* a descriptor has 24 bits of length */
			char what[80];

			snprintf(what, sizeof(what), "%s, %s", ranged[i].name, rows[n].what);
			host_expect(host, &host->io, sqe_ranged(i, 1, rows[n].first, rows[n].count, block_bytes),
				    rows[n].inside ? NVME_OK : FINAL(NVME_LBA_RANGE), what);
			cr_expect_eq(host->space[0].shares[0].under_way, 0, "%s", what);
		}
	}
	host_close(host);
}

Test(io, largest_namespace_ends_at_the_largest_byte_offset)
{
	struct nvmf_host *host = host_ready(NULL);
	struct nvmf_namespace vast = { .nsid = 9, .block_bytes = 512, .blocks = (1ull << 55) - 1 };
	struct nvmf_reply reply;

	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &vast), 0);
	reply = host_expect(host, &host->io, sqe_blocks(NVME_READ, 9, (1ull << 55) - 2, 1, 512), NVME_OK, "the last");
	cr_expect_eq(reply.command.block.offset, UINT64_MAX - 1023);
	host_expect(host, &host->io, sqe_blocks(NVME_READ, 9, (1ull << 55) - 1, 1, 512), FINAL(NVME_LBA_RANGE),
		    "one behind");
	host_close(host);
}

Test(io, data_transfers_are_limited_and_write_zeroes_is_not)
{
	struct nvmf_config config = { .max_data_bytes = 8192 };
	struct nvmf_host *host = host_ready(&config);
	static struct nvmf_namespace large = { .nsid = 9, .block_bytes = 4096, .blocks = 100000 };

	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &large), 0);
	for (size_t i = 0; i < RANGED; i++) {
		uint16_t status = ranged[i].data ? FINAL(NVME_INVALID_FIELD) : NVME_OK;

		host_expect(host, &host->io, sqe_ranged(i, 1, 0, 16, 512), NVME_OK, ranged[i].name);
		host_expect(host, &host->io, sqe_ranged(i, 1, 0, 17, 512), status, ranged[i].name);
		host_expect(host, &host->io, sqe_ranged(i, 9, 0, 2, 4096), NVME_OK, ranged[i].name);
		host_expect(host, &host->io, sqe_ranged(i, 9, 0, 3, 4096), status, ranged[i].name);
		host_expect(host, &host->io, sqe_blocks(ranged[i].opcode, 9, 0, 65536, 8192), status, ranged[i].name);
	}
	host_close(host);
}

Test(io, missing_namespaces_are_refused)
{
	static const uint32_t none[] = { 0, 3, 128, 129, 0xFFFFFFFE, 0xFFFFFFFF };
	struct nvmf_host *host = host_ready(NULL);

	for (size_t n = 0; n < sizeof(none) / sizeof(none[0]); n++) {
		for (size_t i = 0; i < RANGED; i++)
			host_expect(host, &host->io, sqe_ranged(i, none[n], 0, 1, 512), FINAL(NVME_INVALID_NAMESPACE),
				    ranged[i].name);
		host_expect(host, &host->io, sqe_make(NVME_FLUSH, none[n], 0), FINAL(NVME_INVALID_NAMESPACE), "Flush");
		host_expect(host, &host->io, sqe_ranges(none[n], 1, true), FINAL(NVME_INVALID_NAMESPACE), "DSM");
	}
	cr_expect_eq(host->space[2].shares[0].under_way, 0, "nsid 3 is there, in another subsystem");
	host_close(host);
}

Test(io, subsystems_have_separate_namespaces_of_equal_numbers)
{
	struct nvmf_host *host = host_ready(NULL);
	struct nvmf_namespace mine = { .nsid = 3, .block_bytes = 4096, .blocks = 1 };

	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &mine), 0);
	cr_expect_eq(host_run(host, &host->io, sqe_blocks(NVME_READ, 3, 0, 1, 4096)).command.block.namespace, &mine);
	host_close(host);
}

Test(io, read_only_namespace_allows_read_compare_and_flush)
{
	struct nvmf_host *host = host_ready(NULL);

	host->space[0].read_only = true;
	for (size_t i = 0; i < RANGED; i++)
		host_expect(host, &host->io, sqe_ranged(i, 1, 0, 1, 512),
			    ranged[i].changes ? FINAL(NVME_WRITE_PROTECTED) : NVME_OK, ranged[i].name);
	host_expect(host, &host->io, sqe_make(NVME_FLUSH, 1, 0), NVME_OK, "Flush");
	host_expect(host, &host->io, sqe_ranges(1, 1, true), FINAL(NVME_WRITE_PROTECTED), "Deallocate");
	cr_expect_eq(host->space[0].shares[0].under_way, 0);
	host_close(host);
}

/* A reconnected host writes to the disk it knew by its number until it has identified the current one. */
Test(io, new_namespace_is_writable_only_after_identification)
{
	static const uint8_t pages[] = { 0x00, 0x03 };

	for (size_t p = 0; p < sizeof(pages); p++) {
		struct nvmf_host *host = host_ready(NULL);
		struct nvmf_controller *controller = host->admin.controller;

		host->space[0].is_new = true;
		host_expect(host, &host->admin, sqe_set_feature(0x0B, 0x100), NVME_OK, "events");
		for (int known = 0; known < 2; known++) {
			uint16_t status = known ? NVME_OK : NVME_NAMESPACE_NOT_READY;

			for (size_t i = 0; i < RANGED; i++)
				host_expect(host, &host->io, sqe_ranged(i, 1, 0, 1, 512),
					    ranged[i].changes ? status : NVME_OK, ranged[i].name);
			host_put_range(host, 0, 0, 1);
			host_expect(host, &host->io, sqe_ranges(1, 1, true), status, "Deallocate");
			host_expect(host, &host->io, sqe_make(NVME_FLUSH, 1, 0), NVME_OK, "Flush");
			cr_expect_eq(controller->events_due, known ? 0 : NVME_EVENT_NAMESPACE, "it is told to look");
			cr_expect_eq(host->space[0].shares[0].under_way, 0);
			host_expect(host, &host->admin, sqe_identify(0x08, 1), NVME_OK, "which does not say");
			host_expect(host, &host->admin, sqe_log(0x04, 0, 4096), NVME_OK, "the list");
			if (!known)
				host_expect(host, &host->admin, sqe_identify(pages[p], 1), NVME_OK, "it reads");
		}
		host_close(host);
	}
}

/* On the same path, too: a host may have two controllers there. */
Test(io, each_controller_identifies_a_new_namespace_itself)
{
	struct nvmf_host *host = host_ready(NULL);
	struct nvmf_queue second = { 0 };

	host->space[0].is_new = true;
	cr_assert_eq(host_connect(host, &second, HOST_DISK, 0, 0xFFFF), NVME_OK);
	host_enable(host, &second);
	host_expect(host, &second, sqe_identify(0, 1), NVME_OK, "the other one reads");
	host_expect(host, &host->io, sqe_blocks(NVME_WRITE, 1, 0, 1, 512), NVME_NAMESPACE_NOT_READY, "Write");
	host_expect(host, &host->admin, sqe_identify(0, 1), NVME_OK, "it reads");
	host_expect(host, &host->io, sqe_blocks(NVME_WRITE, 1, 0, 1, 512), NVME_OK, "Write");
	nvmf_queue_close(&second);
	host_close(host);
}

/* The connection is lost and made again. Linux writes again before it identifies anything. */
static void reconnect(struct nvmf_host *host)
{
	nvmf_queue_close(&host->io);
	nvmf_queue_close(&host->admin);
	cr_assert_eq(host_controllers(host), 0);
	host_login(host, HOST_DISK);
	host_join(host);
}

static void expect_changes(struct nvmf_host *host, uint16_t status, const char *what)
{
	for (size_t i = 0; i < RANGED; i++)
		host_expect(host, &host->io, sqe_ranged(i, 1, 0, 1, 512), ranged[i].changes ? status : NVME_OK, what);
	host_put_range(host, 0, 0, 1);
	host_expect(host, &host->io, sqe_ranges(1, 1, true), status, what);
}

static void replace_disk(struct nvmf_host *host, struct nvmf_namespace *disk)
{
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 1), 0);
	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, disk), 0);
}

Test(io, reconnected_host_writes_to_its_identified_disk)
{
	struct nvmf_host *host = host_ready(NULL);

	host->space[0].is_new = true;
	host_expect(host, &host->admin, sqe_identify(0, 1), NVME_OK, "Identify");
	for (int i = 0; i < 3; i++) {
		reconnect(host);
		expect_changes(host, NVME_OK, "before it identifies again");
	}
	host_close(host);
}

Test(io, reenabled_controller_writes_to_its_identified_disk)
{
	struct nvmf_host *host = host_ready(NULL);

	host->space[0].is_new = true;
	host_expect(host, &host->admin, sqe_identify(0, 1), NVME_OK, "Identify");
	nvmf_queue_close(&host->io);
	host_expect(host, &host->admin, sqe_property_set(0x14, 0x00460000), NVME_OK, "CC.EN 0");
	host_enable(host, &host->admin);
	host_join(host);
	expect_changes(host, NVME_OK, "before it identifies again");
	host_close(host);
}

/* Whatever the target thinks of the other disk: that this is its number since long, or that it is new there. */
Test(io, reconnected_host_must_identify_another_disk_before_writing)
{
	for (int is_new = 0; is_new < 2; is_new++) {
		struct nvmf_host *host = host_ready(NULL);
		struct nvmf_namespace other = { .nsid = 1, .block_bytes = 512, .blocks = 1000, .uuid = { 9 } };

		other.is_new = is_new;
		host_expect(host, &host->admin, sqe_identify(0, 1), NVME_OK, "Identify");
		nvmf_queue_close(&host->io);
		nvmf_queue_close(&host->admin);
		replace_disk(host, &other);
		for (int i = 0; i < 2; i++) {
			reconnect(host);
			expect_changes(host, NVME_NAMESPACE_NOT_READY, "meant for the old disk");
			host_expect(host, &host->admin, sqe_identify(2, 0), NVME_OK, "the list names the number");
			expect_changes(host, NVME_NAMESPACE_NOT_READY, "meant for the old disk");
		}
		host_expect(host, &host->admin, sqe_identify(3, 1), NVME_OK, "Identify");
		expect_changes(host, NVME_OK, "identified");
		reconnect(host);
		expect_changes(host, NVME_OK, "identified before");
		cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 1), 0);
		host_close(host);
	}
}

/* The other paths of a host do not count: each is scanned separately. */
Test(io, host_is_remembered_per_path)
{
	static const char *const differences[] = { "host NQN", "host id", "its address", "our address", NULL };

	for (int i = 0; i < 5; i++) {
		struct nvmf_host *host = host_ready(NULL);

		host->space[0].is_new = true;
		host_expect(host, &host->admin, sqe_identify(0, 1), NVME_OK, "Identify");
		nvmf_queue_close(&host->io);
		nvmf_queue_close(&host->admin);
		host->nqn = i == 0 ? "nqn.2014-08.org.nvmexpress:uuid:another" : NULL;
		host->id = i == 1 ? 0xBA : 0;
		host->admin.peer[0] = i == 2;
		host->admin.port_id = i == 3;
		host_login(host, HOST_DISK);
		host_join(host);
		expect_changes(host, differences[i] ? NVME_NAMESPACE_NOT_READY : NVME_OK,
			       differences[i] ? differences[i] : "no difference");
		host_close(host);
	}
}

/* What it has read is that the number is free, so it has no disk there that a write could be meant for. */
Test(io, host_that_lists_a_free_number_forgets_its_disk)
{
	struct nvmf_host *host = host_ready(NULL);

	host_expect(host, &host->admin, sqe_identify(0, 1), NVME_OK, "Identify");
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 1), 0);
	host_expect(host, &host->admin, sqe_identify(2, 1), NVME_OK, "the list above 1");
	cr_expect_eq(nvmf_subsystem_add(&host->target, &host->disk, &host->space[0]), -EBUSY);
	host_expect(host, &host->admin, sqe_identify(2, 0), NVME_OK, "the list");
	host->space[0].is_new = true;
	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &host->space[0]), 0);
	expect_changes(host, NVME_NAMESPACE_NOT_READY, "forgotten");
	reconnect(host);
	expect_changes(host, NVME_NAMESPACE_NOT_READY, "forgotten");
	host_close(host);
}

/* It knows which numbers have changed, but goes on with the disk that it has there until it scans. */
Test(io, host_that_reads_the_change_list_keeps_the_old_disk)
{
	struct nvmf_host *host = host_ready(NULL);
	struct nvmf_namespace other = { .nsid = 1, .block_bytes = 512, .blocks = 1000, .uuid = { 9 } };

	host_expect(host, &host->admin, sqe_identify(0, 1), NVME_OK, "Identify");
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 1), 0);
	host_expect(host, &host->admin, sqe_log(0x04, 0, 4096), NVME_OK, "the list of changes");
	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &other), 0);
	expect_changes(host, NVME_NAMESPACE_NOT_READY, "meant for the old disk");
	host_expect(host, &host->admin, sqe_identify(0, 1), NVME_OK, "Identify");
	expect_changes(host, NVME_OK, "identified");
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 1), 0);
	host_close(host);
}

/* Linux retries five times, and at once unless it is given a delay. */
Test(io, host_with_retry_delay_support_receives_a_delay)
{
	struct nvmf_host *host = host_ready(NULL);

	host->space[0].is_new = true;
	expect_changes(host, NVME_NAMESPACE_NOT_READY, "a host that does not know them");
	host->data[0] = 1;
	host_expect(host, &host->admin, sqe_host_behaviour(), NVME_OK, "ACRE");
	expect_changes(host, NVME_NAMESPACE_NOT_READY | NVME_RETRY_LATER, "a host that does");
	reconnect(host);
	expect_changes(host, NVME_NAMESPACE_NOT_READY, "its next controller");
	host_close(host);
}

Test(io, write_is_durable_with_fua_or_without_cache)
{
	static const struct {
		const char *what;
		uint32_t cache, dw12;
		bool lasting;
	} rows[] = {
		{ "cache", 1, 0, false },
		{ "cache, FUA", 1, FUA, true },
		{ "cache, limited retry", 1, LIMITED_RETRY, false },
		{ "no cache", 0, 0, true },
		{ "no cache, FUA", 0, FUA, true },
		{ "cache again", 1, 0, false },
	};
	struct nvmf_host *host = host_ready(NULL);

	for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		host_expect(host, &host->admin, sqe_set_feature(0x06, rows[n].cache), NVME_OK, rows[n].what);
		for (size_t i = 0; i < RANGED; i++) {
			struct nvmf_capsule capsule = sqe_ranged(i, 1, 0, 1, 512);
			struct nvmf_reply reply;

			sqe_put(&capsule, 48, 4, rows[n].dw12);
			reply = host_expect(host, &host->io, capsule, NVME_OK, ranged[i].name);
			if (ranged[i].changes)
				cr_expect_eq(reply.command.block.lasting, rows[n].lasting, "%s, %s", ranged[i].name,
					     rows[n].what);
		}
	}
	host_close(host);
}

Test(io, deallocate_is_durable_without_cache)
{
	struct nvmf_host *host = host_ready(NULL);

	for (uint32_t cache = 0; cache < 2; cache++) {
		struct nvmf_reply reply;

		host_expect(host, &host->admin, sqe_set_feature(0x06, cache), NVME_OK, "the cache");
		host_put_range(host, 0, 0, 1);
		reply = host_expect(host, &host->io, sqe_ranges(1, 1, true), NVME_OK, "Deallocate");
		cr_expect_eq(reply.command.block.lasting, !cache);
	}
	host_close(host);
}

/* A namespace without protection information does not use the field. */
Test(io, protection_information_fields_are_ignored)
{
	struct nvmf_host *host = host_ready(NULL);

	for (size_t i = 0; i < RANGED; i++) {
		for (uint32_t bit = 26; bit < 30; bit++) {
			struct nvmf_capsule capsule = sqe_ranged(i, 1, 0, 1, 512);

			sqe_put(&capsule, 48, 4, 1u << bit);
			host_expect(host, &host->io, capsule, NVME_OK, ranged[i].name);
		}
	}
	host_close(host);
}

Test(io, only_write_zeroes_may_deallocate)
{
	struct nvmf_host *host = host_ready(NULL);

	for (size_t i = 0; i < RANGED; i++) {
		struct nvmf_capsule capsule = sqe_ranged(i, 1, 0, 1, 512);
		struct nvmf_reply reply;

		sqe_put(&capsule, 48, 4, DEALLOCATE);
		reply = host_expect(host, &host->io, capsule, NVME_OK, ranged[i].name);
		cr_expect_eq(reply.command.block.may_deallocate, ranged[i].op == NVMF_BLOCK_ZERO, "%s", ranged[i].name);
	}
	host_close(host);
}

Test(io, flush_needs_a_namespace_and_has_no_data)
{
	struct nvmf_host *host = host_ready(NULL);
	struct nvmf_reply reply = host_expect(host, &host->io, sqe_make(NVME_FLUSH, 2, 0), NVME_OK, "Flush");

	cr_expect_eq(reply.step, NVMF_BLOCK);
	cr_expect_eq(reply.command.block.op, NVMF_BLOCK_FLUSH);
	cr_expect_eq(reply.command.block.namespace, &host->space[1]);
	cr_expect_eq(reply.command.data_bytes, 0);
	host_close(host);
}

Test(io, store_status_is_the_command_status)
{
	static const uint16_t statuses[] = { NVME_OK,
					     NVME_WRITE_FAULT,
					     NVME_READ_ERROR,
					     NVME_COMPARE_FAILURE,
					     NVME_CAPACITY_EXCEEDED,
					     FINAL(NVME_INTERNAL_ERROR) };
	struct nvmf_host *host = host_ready(NULL);

	for (size_t n = 0; n < sizeof(statuses) / sizeof(statuses[0]); n++) {
		host->store_status = statuses[n];
		for (size_t i = 0; i < RANGED; i++)
			host_expect(host, &host->io, sqe_ranged(i, 1, 0, 1, 512), statuses[n], ranged[i].name);
		host_expect(host, &host->io, sqe_make(NVME_FLUSH, 1, 0), statuses[n], "Flush");
	}
	host_close(host);
}

/* ---- dataset management ---- */

Test(io, ranges_are_returned_in_bytes)
{
	static const uint32_t firsts[] = { 0, 99, 10, 100, 0 }, counts[] = { 1, 1, 0, 0, 100 };
	struct nvmf_host *host = host_ready(NULL);
	struct nvmf_reply reply;
	uint64_t offset, bytes;

	for (uint32_t i = 0; i < 5; i++)
		host_put_range(host, i, firsts[i], counts[i]);
	reply = host_expect(host, &host->io, sqe_ranges(2, 5, true), NVME_OK, "five");
	cr_expect_eq(reply.step, NVMF_FETCH);
	cr_expect_eq(reply.command.data_bytes, 80);
	cr_expect_eq(reply.command.block.op, NVMF_BLOCK_DEALLOCATE);
	cr_expect_eq(reply.command.block.range_count, 5);
	for (uint32_t i = 0; i < 5; i++) {
		nvmf_command_range(&reply.command, host->data, i, &offset, &bytes);
		cr_expect_eq(offset, firsts[i] * 4096, "%u", i);
		cr_expect_eq(bytes, counts[i] * 4096, "%u", i);
	}
	host_close(host);
}

Test(io, ranges_out_of_bounds_are_refused)
{
	static const struct {
		const char *what;
		uint64_t first;
		uint32_t count;
		uint16_t status;
	} rows[] = {
		{ "all", 0, 100, NVME_OK },
		{ "nothing at the end", 100, 0, NVME_OK },
		{ "nothing behind it", 101, 0, FINAL(NVME_LBA_RANGE) },
		{ "one behind", 100, 1, FINAL(NVME_LBA_RANGE) },
		{ "too many", 0, 101, FINAL(NVME_LBA_RANGE) },
		{ "2^32 - 1", 0, UINT32_MAX, FINAL(NVME_LBA_RANGE) },
		{ "round the end", UINT64_MAX, 2, FINAL(NVME_LBA_RANGE) },
		{ "bytes go round", 1ull << 52, 1, FINAL(NVME_LBA_RANGE) },
	};
	static const uint32_t places[] = { 0, 1, 255 };
	struct nvmf_host *host = host_ready(NULL);

	for (size_t n = 0; n < sizeof(rows) / sizeof(rows[0]); n++) {
		for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
			for (uint32_t i = 0; i < 256; i++)
				host_put_range(host, i, 5, 1);
			host_put_range(host, places[p], rows[n].first, rows[n].count);
			host_expect(host, &host->io, sqe_ranges(2, 256, true), rows[n].status, rows[n].what);
			host_expect(host, &host->io, sqe_ranges(2, places[p] + 1, true), rows[n].status, rows[n].what);
			if (places[p])
				host_expect(host, &host->io, sqe_ranges(2, places[p], true), NVME_OK,
					    "it is not among them");
			cr_expect_eq(host->space[1].shares[0].under_way, 0, "%s", rows[n].what);
		}
	}
	host_close(host);
}

Test(io, hints_other_than_deallocate_have_no_effect)
{
	struct nvmf_host *host = host_ready(NULL);
	struct nvmf_capsule capsule = sqe_ranges(1, 2, false);
	struct nvmf_reply reply;

	host_put_range(host, 0, 0, 1);
	host_put_range(host, 1, 1, 1);
	for (uint32_t hints = 0; hints < 4; hints++) {
		capsule.sqe[44] = (uint8_t)hints; /* integral dataset for read, for write */
		reply = host_expect(host, &host->io, capsule, NVME_OK, "hints");
		cr_expect_eq(reply.command.block.range_count, 0, "%u", hints);
		cr_expect_eq(reply.command.block.bytes, 0);
	}
	capsule.sqe[44] = 7;
	cr_expect_eq(host_run(host, &host->io, capsule).command.block.range_count, 2);
	host_close(host);
}

/* Linux names a page for however few there are. */
Test(io, range_list_length_covers_their_number)
{
	struct nvmf_host *host = host_ready(NULL);
	struct nvmf_capsule capsule = sqe_ranges(1, 2, true);

	sqe_put(&capsule, 32, 3, 16);
	host_expect(host, &host->io, capsule, FINAL(NVME_SGL_LENGTH), "one");
	host_put_range(host, 0, 0, 1);
	host_put_range(host, 1, 1, 1);
	sqe_put(&capsule, 32, 3, 4096);
	host_expect(host, &host->io, capsule, NVME_OK, "a page");
	sqe_in_capsule(&capsule, 0, 32);
	host_expect(host, &host->io, capsule, NVME_OK, "in capsule");
	host_close(host);
}
