/* admin.c - features, keep alive, abort: what is set, what is told, what is not there */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "nvmf/controller.h"
#include "nvmf_host.h"

enum { WRITE_CACHE = 0x06, QUEUES = 0x07, EVENTS = 0x0B, KEEP_ALIVE = 0x0F, BEHAVIOUR = 0x16, HOST_ID = 0x81 };

static uint64_t set(struct nvmf_host *host, uint8_t feature, uint32_t value, uint16_t status)
{
	char what[40];

	snprintf(what, sizeof(what), "set %02x to %x", feature, value);
	return host_expect(host, &host->admin, sqe_set_feature(feature, value), status, what).result;
}

static uint64_t get(struct nvmf_host *host, uint8_t feature, uint16_t status)
{
	char what[40];

	snprintf(what, sizeof(what), "get %02x", feature);
	return host_expect(host, &host->admin, sqe_get_feature(feature, 0), status, what).result;
}

Test(admin, number_of_queues_is_reported)
{
	static const struct {
		uint32_t configured, told;
	} rows[] = { { 0, 127 }, { 1, 0 }, { 2, 1 }, { 128, 127 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvmf_config config = { .io_queues = rows[i].configured };
		struct nvmf_host *host = host_open(&config);
		uint32_t both = rows[i].told | rows[i].told << 16;

		host_login(host, HOST_DISK);
		cr_expect_eq(set(host, QUEUES, 0, NVME_OK), both, "one was asked for");
		cr_expect_eq(set(host, QUEUES, 0x01FF01FF, NVME_OK), both);
		cr_expect_eq(set(host, QUEUES, 0xFFFEFFFE, NVME_OK), both);
		cr_expect_eq(get(host, QUEUES, NVME_OK), both);
		host_close(host);
	}
}

Test(admin, number_of_queues_is_set_before_any_io_queue)
{
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	set(host, QUEUES, 0, NVME_OK);
	host_join(host);
	set(host, QUEUES, 0, FINAL(NVME_COMMAND_SEQUENCE));
	get(host, QUEUES, NVME_OK);
	nvmf_queue_close(&host->io);
	set(host, QUEUES, 0, NVME_OK);
	host_close(host);
}

/* Each I/O controller has these, whatever little they change here. */
Test(admin, mandatory_features_keep_their_value_until_a_reset)
{
	static const struct {
		const char *what;
		uint8_t feature;
		uint32_t first, value, wrong; /* wrong: is refused, if not 0 */
	} rows[] = {
		{ "arbitration", 0x01, 7, 0x01020303, 0 },
		{ "power, a hint of workload", 0x02, 0, 0x20, 1 },
		{ "error recovery", 0x05, 0, 10, 1u << 16 },
		{ "write atomicity", 0x0A, 0, 1, 0 },
		{ "temperature of the whole", 0x04, 0xFFFF, 0x0157, 1u << 16 },
		{ "any temperature", 0x04, 0xFFFF, 0x0157, 2u << 20 },
	};
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(get(host, rows[i].feature, NVME_OK), rows[i].first, "%s", rows[i].what);
		set(host, rows[i].feature, rows[i].value, NVME_OK);
		if (rows[i].wrong)
			set(host, rows[i].feature, rows[i].wrong, FINAL(NVME_INVALID_FIELD));
		cr_expect_eq(get(host, rows[i].feature, NVME_OK), rows[i].value, "%s", rows[i].what);
		host_expect(host, &host->admin, sqe_property_set(0x14, 0x460000), NVME_OK, "a reset");
		host_enable(host, &host->admin);
	}
	host_close(host);
}

/* An upper and a lower limit; of all sensors means of the one there is. */
Test(admin, temperatures_have_two_thresholds)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_capsule under = sqe_get_feature(0x04, 0);

	host_login(host, HOST_DISK);
	sqe_put(&under, 44, 4, 1u << 20);
	cr_expect_eq(host_expect(host, &host->admin, under, NVME_OK, "under").result, 0);
	set(host, 0x04, 1u << 20 | 0xFu << 16 | 0x100, NVME_OK);
	cr_expect_eq(host_expect(host, &host->admin, under, NVME_OK, "under").result, 0x100);
	cr_expect_eq(get(host, 0x04, NVME_OK), 0xFFFF);
	host_close(host);
}

Test(admin, invalid_number_of_queues_is_refused)
{
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	set(host, QUEUES, 0x0000FFFF, FINAL(NVME_INVALID_FIELD));
	set(host, QUEUES, 0xFFFF0000, FINAL(NVME_INVALID_FIELD));
	set(host, QUEUES, 0xFFFFFFFF, FINAL(NVME_INVALID_FIELD));
	host_close(host);
}

Test(admin, write_cache_is_enabled_by_default)
{
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	cr_expect_eq(get(host, WRITE_CACHE, NVME_OK), 1);
	set(host, WRITE_CACHE, 0, NVME_OK);
	cr_expect_eq(get(host, WRITE_CACHE, NVME_OK), 0);
	set(host, WRITE_CACHE, 0xFFFFFFFE, NVME_OK);
	cr_expect_eq(get(host, WRITE_CACHE, NVME_OK), 0, "the others are reserved");
	set(host, WRITE_CACHE, 1, NVME_OK);
	cr_expect_eq(get(host, WRITE_CACHE, NVME_OK), 1);
	host_close(host);
}

Test(admin, only_supported_events_are_enabled)
{
	static const struct {
		const char *subsystem;
		uint32_t asked, told;
	} rows[] = {
		{ HOST_DISK, 0x100, 0x100 },
		{ HOST_DISK, 0x900, 0x100 },
		{ HOST_DISK, 0x80000000, 0 },
		{ HOST_DISK, 0xFFFFFFFF, 0x104 },
		{ HOST_DISK, 0, 0 },
		{ NVME_DISCOVERY_NQN, 0x80000000, 0x80000000 },
		{ NVME_DISCOVERY_NQN, 0x100, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvmf_host *host = host_open(NULL);

		host_login(host, rows[i].subsystem);
		cr_expect_eq(get(host, EVENTS, NVME_OK), 0, "none at first");
		cr_expect_eq(set(host, EVENTS, rows[i].asked, NVME_OK), rows[i].told, "%x", rows[i].asked);
		cr_expect_eq(get(host, EVENTS, NVME_OK), rows[i].told, "%x", rows[i].asked);
		host_close(host);
	}
}

Test(admin, keep_alive_time_comes_from_connect_until_set)
{
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	cr_expect_eq(get(host, KEEP_ALIVE, NVME_OK), HOST_KEEP_ALIVE_MS);
	set(host, KEEP_ALIVE, 12345, NVME_OK);
	cr_expect_eq(get(host, KEEP_ALIVE, NVME_OK), 12345);
	host_close(host);
}

Test(admin, host_id_is_the_128_bit_id_of_connect)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_capsule capsule = sqe_get_feature(HOST_ID, 16);
	uint8_t id[17];

	memset(id, 0xAB, 16);
	id[16] = 0xEE;
	host_login(host, HOST_DISK);
	memset(host->data, 0xEE, 64);
	host_expect(host, &host->admin, capsule, FINAL(NVME_INVALID_FIELD), "64 bits");
	sqe_put(&capsule, 44, 4, 1);
	cr_expect_eq(host_expect(host, &host->admin, capsule, NVME_OK, "128 bits").step, NVMF_GIVE);
	cr_expect_arr_eq(host->data, id, 17);
	set(host, HOST_ID, 0, FINAL(NVME_INVALID_FIELD));
	host_close(host);
}

static void expect_behaviour(struct nvmf_host *host, uint8_t acre, const char *what)
{
	host->data[512] = 0xEE;
	host_expect(host, &host->admin, sqe_get_feature(BEHAVIOUR, 512), NVME_OK, what);
	cr_expect_eq(host->data[0], acre, "%s", what);
	for (int i = 1; i < 512; i++)
		cr_assert_eq(host->data[i], 0, "%s", what);
	cr_expect_eq(host->data[512], 0xEE, "%s", what);
}

Test(admin, host_behaviour_keeps_acre_until_a_reset)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_reply reply;

	host_login(host, HOST_DISK);
	expect_behaviour(host, 0, "default");
	memset(host->data, 1, 512);
	reply = host_expect(host, &host->admin, sqe_host_behaviour(), NVME_OK, "set");
	cr_expect_eq(reply.step, NVMF_FETCH);
	cr_expect_eq(reply.command.data_bytes, 512);
	expect_behaviour(host, 1, "set");
	host->data[0] = 2;
	host_expect(host, &host->admin, sqe_host_behaviour(), FINAL(NVME_INVALID_FIELD), "reserved");
	expect_behaviour(host, 1, "kept");
	host_expect(host, &host->admin, sqe_property_set(0x14, 0x460000), NVME_OK, "a reset");
	host_enable(host, &host->admin);
	expect_behaviour(host, 0, "after a reset");
	host->data[0] = 0;
	host_expect(host, &host->admin, sqe_host_behaviour(), NVME_OK, "zero");
	expect_behaviour(host, 0, "zero");
	host_close(host);
}

Test(admin, unsupported_features_are_refused)
{
	static const uint8_t io[] = {
		0x01, 0x02, 0x04, 0x05, 0x0A, WRITE_CACHE, QUEUES, EVENTS, KEEP_ALIVE, BEHAVIOUR
	};
	static const uint8_t discovery[] = { EVENTS, KEEP_ALIVE };

	for (int kind = 0; kind < 2; kind++) {
		struct nvmf_host *host = host_open(NULL);

		host_login(host, kind ? NVME_DISCOVERY_NQN : HOST_DISK);
		for (int feature = 0; feature < 256; feature++) {
			bool there = kind ? memchr(discovery, feature, sizeof(discovery)) != NULL :
					    memchr(io, feature, sizeof(io)) != NULL;

			if (there)
				continue;
			set(host, (uint8_t)feature, 0, FINAL(NVME_INVALID_FIELD));
			get(host, (uint8_t)feature, FINAL(NVME_INVALID_FIELD));
		}
		host_close(host);
	}
}

Test(admin, features_are_not_saveable_and_return_only_current_values)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_capsule capsule = sqe_set_feature(WRITE_CACHE, 0);

	host_login(host, HOST_DISK);
	sqe_put(&capsule, 40, 4, 0x80000000 | WRITE_CACHE);
	host_expect(host, &host->admin, capsule, FINAL(NVME_NOT_SAVEABLE), "save");
	cr_expect_eq(get(host, WRITE_CACHE, NVME_OK), 1, "nor was it set");
	/* ONCS bit 4 is clear: neither defaults nor saved values nor what can be changed. */
	for (uint32_t select = 1; select < 8; select++) {
		capsule = sqe_get_feature(WRITE_CACHE, 0);
		sqe_put(&capsule, 41, 1, select);
		host_expect(host, &host->admin, capsule, FINAL(NVME_INVALID_FIELD), "select");
	}
	host_close(host);
}

Test(admin, keep_alive_is_answered_by_both_controller_types)
{
	static const char *const names[] = { HOST_DISK, NVME_DISCOVERY_NQN };

	for (int i = 0; i < 2; i++) {
		struct nvmf_host *host = host_open(NULL);
		struct nvmf_reply reply;

		host_login(host, names[i]);
		reply = host_expect(host, &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), NVME_OK, names[i]);
		cr_expect_eq(reply.step, NVMF_ANSWER);
		cr_expect_eq(reply.result, 0);
		host_close(host);
	}
}

Test(admin, abort_aborts_nothing)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_capsule capsule = sqe_make(NVME_ABORT, 0, 0), request = sqe_make(NVME_ASYNC_EVENT, 0, 0);
	struct nvmf_command command;

	host_login(host, HOST_DISK);
	cr_assert_eq(nvmf_command_begin(&command, &host->admin, request.sqe, 64, 0), NVMF_HOLD);
	sqe_put(&capsule, 40, 4, 0);
	cr_expect_eq(host_expect(host, &host->admin, capsule, NVME_OK, "Abort").result, 1);
	cr_expect_eq(host->admin.controller->held_count, 1);
	host_close(host);
}
