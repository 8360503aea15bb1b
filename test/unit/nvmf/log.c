/* log.c - log pages at any offset and length, and discovery: who is told of what */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvmf/controller.h"
#include "nvmf/change.h"
#include "nvmf/event.h"
#include "nvmf_host.h"

#define ENTRY 1024u

static const uint8_t *get_log(struct nvmf_host *host, uint8_t log, uint64_t offset, uint32_t bytes)
{
	struct nvmf_reply reply;
	char what[60];

	snprintf(what, sizeof(what), "log %02x, %u from %lu", log, bytes, offset);
	memset(host->data, 0xEE, bytes < HOST_DATA_BYTES ? bytes + 1 : bytes);
	reply = host_expect(host, &host->admin, sqe_log(log, offset, bytes), NVME_OK, what);
	cr_expect_eq(reply.step, NVMF_GIVE, "%s", what);
	cr_expect_eq(reply.command.data_bytes, bytes, "%s: %u", what, reply.command.data_bytes);
	cr_expect(bytes == HOST_DATA_BYTES || host->data[bytes] == 0xEE, "%s: too much", what);
	return host->data;
}

/* ---- pages of an I/O controller ---- */

Test(log, health_is_good_and_counts_commands)
{
	struct nvmf_host *host = host_open(NULL);
	uint8_t wanted[512] = { 0 };

	host_login(host, HOST_DISK);
	host_put(wanted + 1, 2, 300);
	wanted[3] = 100;
	cr_expect_arr_eq(get_log(host, 2, 0, 512), wanted, 512, "nothing was done");
	host->space[0].shares[0].counts.reads = 3;
	host->space[1].shares[0].counts.reads = 4;
	host->space[0].shares[0].counts.writes = 5;
	host->space[1].shares[0].counts.writes = 0x100000000;
	host->space[0].shares[0].counts.read_bytes = 512000;
	host->space[1].shares[0].counts.read_bytes = 1; /* thousands of 512 bytes, rounded up */
	host->space[0].shares[0].counts.written_bytes = 512000 * 7 - 1;
	host->space[2].shares[0].counts.reads = host->space[2].shares[0].counts.writes =
		host->space[2].shares[0].counts.read_bytes = 1000; /* of another subsystem */
	host_put(wanted + 32, 8, 2);
	host_put(wanted + 48, 8, 7);
	host_put(wanted + 64, 8, 7);
	host_put(wanted + 80, 8, 0x100000005);
	cr_expect_arr_eq(get_log(host, 2, 0, 512), wanted, 512);
	host_close(host);
}

/* Of what was removed, too: counts of a disk never go back. */
Test(log, health_counts_survive_a_removed_namespace)
{
	struct nvmf_host *host = host_open(NULL);
	uint8_t before[512];

	host_login(host, HOST_DISK);
	host_join(host);
	host_expect(host, &host->io, sqe_blocks(NVME_READ, 2, 0, 1, 4096), NVME_OK, "Read");
	memcpy(before, get_log(host, 2, 0, 512), sizeof(before));
	cr_expect_eq(host_get(before + 64, 8), 1);
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 2), 0);
	cr_expect_arr_eq(get_log(host, 2, 0, 512), before, sizeof(before));
	host_close(host);
}

Test(log, store_errors_are_counted_and_the_latest_is_reported)
{
	struct nvmf_host *host = host_open(NULL);
	const uint8_t *page;

	host_login(host, HOST_DISK);
	host_join(host);
	host->store_status = NVME_COMPARE_FAILURE;
	host_expect(host, &host->io, sqe_blocks(NVME_COMPARE, 1, 0, 1, 512), NVME_COMPARE_FAILURE, "is no error");
	host->store_status = NVME_CAPACITY_EXCEEDED;
	host_expect(host, &host->io, sqe_blocks(NVME_WRITE, 1, 5, 1, 512), NVME_CAPACITY_EXCEEDED, "nor of the medium");
	host->store_status = NVME_READ_ERROR;
	for (uint32_t i = 0; i < NVMF_ERRORS_MAX; i++)
		host_expect(host, &host->io, sqe_blocks(NVME_READ, 2, i, 1, 4096), NVME_READ_ERROR, "Read");
	page = get_log(host, 2, 0, 512);
	cr_expect_eq(page[0], 0, "it is reliable");
	cr_expect_eq(host_get(page + 160, 8), NVMF_ERRORS_MAX, "of the medium");
	cr_expect_eq(host_get(page + 176, 8), NVMF_ERRORS_MAX + 1, "all");
	page = get_log(host, 1, 0, 64 * NVMF_ERRORS_MAX);
	for (uint32_t i = 0; i < NVMF_ERRORS_MAX; i++, page += 64) {
		cr_expect_eq(host_get(page, 8), NVMF_ERRORS_MAX + 1 - i, "number");
		cr_expect_eq(host_get(page + 8, 2), 1, "queue");
		cr_expect_eq(host_get(page + 12, 2), NVME_READ_ERROR << 1, "status");
		cr_expect_eq(host_get(page + 14, 2), 0xFFFF, "no field");
		cr_expect_eq(host_get(page + 16, 8), NVMF_ERRORS_MAX - 1 - i, "block");
		cr_expect_eq(host_get(page + 24, 4), 2, "namespace");
	}
	cr_expect_eq(host->space[0].shares[0].counts.write_errors, 1);
	cr_expect_eq(host->space[1].shares[0].counts.read_errors, NVMF_ERRORS_MAX);
	host_close(host);
}

/* A file that can be flushed no more keeps nothing for sure. */
Test(log, failed_flush_degrades_reliability_and_raises_an_event)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	struct nvmf_capsule request = sqe_make(NVME_ASYNC_EVENT, 0, 0);
	struct nvmf_command waiting;

	host_expect(host, &host->admin, sqe_set_feature(0x0B, 0xFF), NVME_OK, "events of health");
	nvmf_subsystem_degrade(&host->target, &host->disk, 1);
	cr_expect_eq(controller->events_due, NVME_EVENT_UNRELIABLE);
	cr_expect_eq(nvmf_command_begin(&waiting, &host->admin, request.sqe, request.bytes, host->now_ns), NVMF_HOLD);
	cr_assert_eq(nvmf_event_next(controller), &waiting);
	cr_expect_eq(waiting.result, 0x020001);
	cr_expect_eq(get_log(host, 2, 0, 512)[0], 4);
	nvmf_subsystem_degrade(&host->target, &host->disk, 1);
	cr_expect_eq(controller->events_due, 0, "once");
	host_close(host);
}

Test(log, error_log_is_empty_and_one_firmware_is_listed)
{
	struct nvmf_host *host = host_open(NULL);
	uint8_t wanted[512] = { 1, [8] = 'u', 'r', 'o', 'c', 'e', ' ', ' ', ' ' }, zeros[64] = { 0 };

	host_login(host, HOST_DISK);
	cr_expect_arr_eq(get_log(host, 1, 0, 64), zeros, 64);
	cr_expect_arr_eq(get_log(host, 3, 0, 512), wanted, 512);
	host_close(host);
}

Test(log, effects_list_the_supported_commands)
{
	static const uint8_t admin[] = { 0x02, 0x06, 0x08, 0x09, 0x0A, 0x0C, 0x18 };
	static const uint8_t reading[] = { 0x00, 0x02, 0x05 }, changing[] = { 0x01, 0x08, 0x09 };
	struct nvmf_host *host = host_open(NULL);
	uint8_t wanted[4096] = { 0 };

	host_login(host, HOST_DISK);
	for (size_t i = 0; i < sizeof(admin); i++)
		wanted[4 * admin[i]] = 1;
	for (size_t i = 0; i < sizeof(reading); i++)
		wanted[1024 + 4 * reading[i]] = 1;
	for (size_t i = 0; i < sizeof(changing); i++)
		wanted[1024 + 4 * changing[i]] = 3;
	cr_expect_arr_eq(get_log(host, 5, 0, 4096), wanted, 4096);
	host_close(host);
}

Test(log, changed_namespaces_are_listed_once)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_namespace more[3] = { { .nsid = 32, .block_bytes = 512, .blocks = 1 },
					  { .nsid = 33, .block_bytes = 512, .blocks = 1 },
					  { .nsid = 128, .block_bytes = 512, .blocks = 1 } };
	uint8_t wanted[4096] = { 0 }, zeros[4096] = { 0 };
	struct nvmf_capsule peek = sqe_log(4, 0, 4096);

	host_login(host, HOST_DISK);
	cr_expect_arr_eq(get_log(host, 4, 0, 4096), zeros, 4096, "what was there before it came is no change");
	for (int i = 2; i >= 0; i--)
		cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &more[i]), 0);
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 2), 0);
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	nvmf_subsystem_changed(&host->target, &host->other, 3);
	for (int i = 0; i < 5; i++)
		host_put(wanted + 4 * i, 4, (uint32_t[]){ 1, 2, 32, 33, 128 }[i]);
	peek.sqe[41] |= 0x80;
	memset(host->data, 0xEE, 4096);
	host_expect(host, &host->admin, peek, NVME_OK, "retained");
	cr_expect_arr_eq(host->data, wanted, 4096);
	cr_expect_arr_eq(get_log(host, 4, 0, 4096), wanted, 4096);
	cr_expect_arr_eq(get_log(host, 4, 0, 4096), zeros, 4096, "it has been read");
	host_close(host);
}

Test(log, each_controller_has_its_own_change_list)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_queue second = { 0 };

	host_login(host, HOST_DISK);
	cr_assert_eq(host_connect(host, &second, HOST_DISK, 0, 0xFFFF), NVME_OK);
	host_enable(host, &second);
	nvmf_subsystem_changed(&host->target, &host->disk, 2);
	cr_expect_eq(get_log(host, 4, 0, 4096)[0], 2);
	host_expect(host, &second, sqe_log(4, 0, 4096), NVME_OK, "the second one");
	cr_expect_eq(host->data[0], 2);
	nvmf_queue_close(&second);
	host_close(host);
}

Test(log, any_part_of_a_page_matches_the_whole)
{
	static const struct {
		uint8_t log;
		uint32_t bytes;
	} rows[] = { { 1, 64 }, { 2, 512 }, { 3, 512 }, { 5, 4096 } };
	static const uint32_t lengths[] = { 4, 8, 60, 512, 4096, 8192 };
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	host->space[0].shares[0].counts.reads = 0x123456;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t whole[4096 + 8192] = { 0 };

		memcpy(whole, get_log(host, rows[i].log, 0, rows[i].bytes), rows[i].bytes);
		for (uint32_t offset = 0; offset < rows[i].bytes; offset += 4) {
			for (size_t n = 0; n < sizeof(lengths) / sizeof(lengths[0]); n++) {
				const uint8_t *part = get_log(host, rows[i].log, offset, lengths[n]);

				cr_assert(memcmp(part, whole + offset, lengths[n]) == 0, "log %u, %u from %u",
					  rows[i].log, lengths[n], offset);
			}
		}
	}
	host_close(host);
}

Test(log, offsets_and_lengths_have_limits)
{
	static const struct {
		const char *what;
		uint8_t log;
		uint64_t offset;
		uint32_t bytes;
		uint16_t status;
	} rows[] = {
		{ "behind the end", 2, 512, 4, FINAL(NVME_INVALID_FIELD) },
		{ "the last dword", 2, 508, 4, NVME_OK },
		{ "no multiple of four", 2, 2, 4, FINAL(NVME_INVALID_FIELD) },
		{ "nor this", 2, 511, 4, FINAL(NVME_INVALID_FIELD) },
		{ "far behind", 2, 1ull << 32, 4, FINAL(NVME_INVALID_FIELD) },
		{ "farther", 2, UINT64_MAX - 3, 4, FINAL(NVME_INVALID_FIELD) },
		{ "as much as MDTS", 5, 0, 1 << 16, NVME_OK },
		{ "more than MDTS", 5, 0, (1 << 16) + 4, FINAL(NVME_INVALID_FIELD) },
		{ "behind the errors", 1, 1024, 4, FINAL(NVME_INVALID_FIELD) },
		{ "behind the changes", 4, 4096, 4, FINAL(NVME_INVALID_FIELD) },
	};
	struct nvmf_config config = { .max_data_bytes = 1 << 16 };
	struct nvmf_host *host = host_open(&config);
	struct nvmf_capsule most = sqe_log(2, 0, 4);

	host_login(host, HOST_DISK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		host_expect(host, &host->admin, sqe_log(rows[i].log, rows[i].offset, rows[i].bytes), rows[i].status,
			    rows[i].what);
	sqe_put(&most, 42, 4, 0xFFFFFFFF); /* 2^32 dwords */
	host_expect(host, &host->admin, most, FINAL(NVME_INVALID_FIELD), "16 GiB");
	sqe_put(&most, 42, 4, 0x40000000); /* 4 GiB and 4 bytes */
	host_expect(host, &host->admin, most, FINAL(NVME_INVALID_FIELD), "4 GiB");
	host_close(host);
}

Test(log, other_pages_are_refused)
{
	static const uint8_t io[] = { 1, 2, 3, 4, 5 };
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_queue discovery = { 0 };

	host_login(host, HOST_DISK);
	cr_assert_eq(host_connect(host, &discovery, NVME_DISCOVERY_NQN, 0, 0xFFFF), NVME_OK);
	host_enable(host, &discovery);
	for (int log = 0; log < 256; log++) {
		if (!memchr(io, log, sizeof(io)))
			host_expect(host, &host->admin, sqe_log((uint8_t)log, 0, 64), FINAL(NVME_INVALID_LOG_PAGE),
				    "I/O");
		if (log != 0x70)
			host_expect(host, &discovery, sqe_log((uint8_t)log, 0, 64), FINAL(NVME_INVALID_LOG_PAGE),
				    "discovery");
	}
	nvmf_queue_close(&discovery);
	host_close(host);
}

/* ---- discovery ---- */

static const struct nvmf_address addresses[] = {
	{ NVME_FAMILY_IPV4, "10.9.0.3", "4420", 1 },
	{ NVME_FAMILY_IPV6, "fd00::3", "4421", 0x102 },
};

static void put_entry(uint8_t *entry, const char *nqn, const struct nvmf_address *address)
{
	entry[0] = 1;
	entry[1] = (uint8_t)address->family;
	entry[2] = 2;
	entry[3] = 4;
	host_put(entry + 4, 2, address->port_id);
	host_put(entry + 6, 2, 0xFFFF);
	host_put(entry + 8, 2, 32);
	strcpy((char *)entry + 32, address->service);
	strcpy((char *)entry + 256, nqn);
	strcpy((char *)entry + 512, address->address);
	entry[768] = 1;
	entry[769] = 4;
	entry[770] = 1;
}

static struct nvmf_host *host_discovering(void)
{
	struct nvmf_host *host = host_open(NULL);

	for (int i = 0; i < 2; i++)
		cr_assert_eq(nvmf_target_add_address(&host->target, &addresses[i]), 0);
	host_login(host, NVME_DISCOVERY_NQN);
	return host;
}

static void put_whole(struct nvmf_host *host, uint8_t *whole)
{
	static const char *const names[] = { HOST_DISK, HOST_OTHER };

	host_put(whole, 8, host->target.discovery_generation);
	host_put(whole + 8, 8, 4);
	for (int i = 0; i < 4; i++)
		put_entry(whole + ENTRY * (i + 1), names[i / 2], &addresses[i % 2]);
}

Test(log, discovery_has_an_entry_per_address_of_each_subsystem)
{
	struct nvmf_host *host = host_discovering();
	uint8_t wanted[6 * ENTRY] = { 0 };

	put_whole(host, wanted);
	cr_expect_arr_eq(get_log(host, 0x70, 0, ENTRY), wanted, ENTRY, "header");
	cr_expect_arr_eq(get_log(host, 0x70, 0, 5 * ENTRY), wanted, 5 * ENTRY, "all");
	cr_expect_arr_eq(get_log(host, 0x70, 0, 6 * ENTRY), wanted, 6 * ENTRY, "and zeros");
	host_close(host);
}

Test(log, any_part_of_discovery_matches_the_whole)
{
	static const uint32_t lengths[] = { 4, 8, 1020, 1024, 1028, 2052, 6144 };
	struct nvmf_host *host = host_discovering();
	uint8_t whole[16 * ENTRY] = { 0 };

	put_whole(host, whole);
	for (uint32_t offset = 0; offset < 7 * ENTRY; offset += 4) {
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			cr_assert(memcmp(get_log(host, 0x70, offset, lengths[i]), whole + offset, lengths[i]) == 0,
				  "%u from %u", lengths[i], offset);
	}
	host_expect(host, &host->admin, sqe_log(0x70, 1022, 4), FINAL(NVME_INVALID_FIELD), "no multiple of four");
	host_expect(host, &host->admin, sqe_log(0x70, UINT64_MAX - 3, 4), FINAL(NVME_INVALID_FIELD), "the end of all");
	host_close(host);
}

Test(log, discovery_shows_only_admitting_subsystems)
{
	struct nvmf_host *host = host_discovering();
	uint8_t wanted[4 * ENTRY] = { 0 };

	strcpy(host->disk.hosts[0], "nqn.2016-06.org.example:friend");
	host->disk.host_count = 1;
	host_put(wanted, 8, host->target.discovery_generation);
	host_put(wanted + 8, 8, 2);
	put_entry(wanted + ENTRY, HOST_OTHER, &addresses[0]);
	put_entry(wanted + 2 * ENTRY, HOST_OTHER, &addresses[1]);
	cr_expect_arr_eq(get_log(host, 0x70, 0, 4 * ENTRY), wanted, 4 * ENTRY);
	host_close(host);
}

Test(log, changed_discovery_has_a_new_generation)
{
	struct nvmf_host *host = host_discovering();
	static struct nvmf_subsystem third = { .nqn = "nqn.2016-06.org.example:third" };
	uint64_t before = host_get(get_log(host, 0x70, 0, 16), 8);

	cr_expect_eq(host_get(get_log(host, 0x70, 0, 16), 8), before, "reading changes nothing");
	cr_assert_eq(nvmf_target_add_subsystem(&host->target, &third), 0);
	cr_expect_eq(host_get(get_log(host, 0x70, 0, 16), 8), before + 1);
	cr_expect_eq(host_get(get_log(host, 0x70, 8, 8), 8), 6);
	cr_assert_eq(nvmf_target_add_address(&host->target, &addresses[0]), 0);
	cr_expect_eq(host_get(get_log(host, 0x70, 0, 16), 8), before + 2);
	cr_expect_eq(host_get(get_log(host, 0x70, 8, 8), 8), 9);
	host_close(host);
}

Test(log, without_addresses_discovery_is_empty)
{
	struct nvmf_host *host = host_open(NULL);
	uint8_t zeros[4 * ENTRY] = { 0 };

	host_login(host, NVME_DISCOVERY_NQN);
	cr_expect_eq(host_get(get_log(host, 0x70, 8, 8), 8), 0);
	cr_expect_arr_eq(get_log(host, 0x70, ENTRY, 4 * ENTRY), zeros, 4 * ENTRY);
	host_close(host);
}

Test(log, the_longest_texts_fill_their_fields)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_address address = { .family = NVME_FAMILY_IPV6 };
	const uint8_t *entry;

	memset(address.address, 'a', sizeof(address.address) - 1);
	memset(address.service, '9', sizeof(address.service) - 1);
	cr_assert_eq(nvmf_target_add_address(&host->target, &address), 0);
	host_login(host, NVME_DISCOVERY_NQN);
	entry = get_log(host, 0x70, ENTRY, ENTRY);
	cr_expect_eq(entry[32 + 30], '9');
	cr_expect_eq(entry[32 + 31], 0);
	cr_expect_eq(entry[512 + 62], 'a');
	cr_expect_eq(entry[512 + 63], 0);
	host_close(host);
}
