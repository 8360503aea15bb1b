/* phases.c - what a controller does after CC.EN and CC.SHN, and what CSTS says meanwhile */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "nvmf/controller.h"
#include "nvmf/event.h"
#include "nvmf_host.h"

#define USUAL 0x00460000u
#define READY 1u
#define FATAL 2u
#define SHUTTING 4u
#define SHUT 8u

Test(phases, controller_is_enabled_disabled_and_shut_down)
{
	struct nvmf_host *host = host_open(NULL);

	cr_assert_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), NVME_OK);
	cr_expect_eq(host_csts(host, &host->admin), 0);
	cr_expect_not(nvmf_controller_is_ready(host->admin.controller));
	cr_expect_eq(host_set_cc(host, USUAL), 0);
	cr_expect_eq(host_set_cc(host, USUAL | 1), READY);
	cr_expect(nvmf_controller_is_ready(host->admin.controller));
	cr_expect_eq(host_set_cc(host, USUAL | 1), READY, "said again");
	cr_expect_eq(host_set_cc(host, USUAL), 0);
	cr_expect_eq(host_set_cc(host, USUAL | 1), READY);
	cr_expect_eq(host_set_cc(host, USUAL | 0x4001), READY | SHUT, "normal");
	cr_expect_not(nvmf_controller_is_ready(host->admin.controller));
	cr_expect_eq(host_set_cc(host, USUAL | 0x4001), READY | SHUT);
	cr_expect_eq(host_set_cc(host, USUAL | 1), READY | SHUT, "it is not undone");
	host_expect(host, &host->admin, sqe_identify(1, 0), FINAL(NVME_COMMAND_SEQUENCE), "shut down");
	cr_expect_eq(host_set_cc(host, USUAL), 0, "a reset ends it");
	cr_expect_eq(host_set_cc(host, USUAL | 1), READY);
	cr_expect_eq(host_set_cc(host, USUAL | 0x8001), READY | SHUT, "abrupt");
	cr_expect_eq(host_set_cc(host, USUAL), 0, "a reset ends it");
	cr_expect_eq(host_set_cc(host, USUAL | 0x4000), SHUT, "one that is not enabled");
	cr_expect_eq(host_set_cc(host, USUAL | 0x4001), READY | SHUT, "enabled without a reset");
	cr_expect_not(nvmf_controller_is_ready(host->admin.controller));
	cr_expect_eq(host_set_cc(host, USUAL | 0x8000), SHUT, "reset and shut down by one write");
	host_close(host);
}

/* A command that goes on after it has begun: its capsule has to stay. */
struct begun {
	struct nvmf_capsule capsule;
	struct nvmf_command command;
};

static void begin(struct nvmf_host *host, struct nvmf_queue *queue, struct begun *begun, struct nvmf_capsule capsule,
		  enum nvmf_step step)
{
	begun->capsule = capsule;
	cr_assert_eq(nvmf_command_begin(&begun->command, queue, begun->capsule.sqe, capsule.bytes, host->now_ns), step);
}

Test(phases, reset_ends_when_the_io_queues_are_closed)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	struct nvmf_queue second = { 0 };
	struct begun write, late;

	host_join(host);
	begin(host, &host->io, &write, sqe_blocks(NVME_WRITE, 1, 0, 1, 512), NVMF_FETCH);
	cr_expect_eq(host_run(host, &host->admin, sqe_property_set(0x14, USUAL)).step, NVMF_RESET);
	cr_expect_eq(host_csts(host, &host->admin), READY);
	cr_expect_not(nvmf_controller_is_ready(controller));
	begin(host, &host->io, &late, sqe_blocks(NVME_WRITE, 1, 0, 1, 512), NVMF_HOLD);
	host_expect(host, &host->admin, sqe_identify(1, 0), FINAL(NVME_COMMAND_SEQUENCE), "Identify");
	host_expect(host, &host->admin, sqe_property_set(0x14, USUAL | 1), FINAL(NVME_COMMAND_SEQUENCE), "CC.EN 1");
	cr_expect_eq(host_run(host, &host->admin, sqe_property_get(0x14, false)).result, USUAL, "CC stays");
	cr_expect_eq(host_connect(host, &second, HOST_DISK, 2, controller->cntlid), FINAL(NVME_COMMAND_SEQUENCE));
	cr_expect_eq(nvmf_command_fetched(&write.command, host->data, host->now_ns), NVMF_BLOCK);
	cr_expect_eq(host_csts(host, &host->admin), READY, "the store is at work");
	nvmf_command_done(&write.command, NVME_OK);
	cr_expect_eq(host_csts(host, &host->admin), READY, "the queue is open");
	nvmf_queue_close(&host->io);
	cr_expect_eq(host_csts(host, &host->admin), 0);
	cr_expect_eq(host_set_cc(host, USUAL | 1), READY);
	host_join(host);
	host_expect(host, &host->io, sqe_blocks(NVME_READ, 1, 0, 1, 512), NVME_OK, "Read");
	host_close(host);
}

Test(phases, reset_ends_when_admin_commands_are_answered)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	struct begun identify, event;

	begin(host, &host->admin, &identify, sqe_identify(1, 0), NVMF_GIVE);
	begin(host, &host->admin, &event, sqe_make(NVME_ASYNC_EVENT, 0, 0), NVMF_HOLD);
	host_expect(host, &host->admin, sqe_property_set(0x14, USUAL), NVME_OK, "CC.EN 0");
	cr_expect_eq(host_csts(host, &host->admin), READY);
	nvmf_command_give(&identify.command, host->data);
	host_reply(&identify.command, NVMF_GIVE);
	cr_expect_eq(host_csts(host, &host->admin), READY, "an event is waited for");
	cr_expect_eq(nvmf_event_next(controller), &event.command);
	cr_expect_eq(host_reply(&event.command, NVMF_HOLD).status, NVME_ABORTED);
	cr_expect_eq(host_csts(host, &host->admin), 0);
	begin(host, &host->admin, &identify, sqe_identify(1, 0), NVMF_ANSWER);
	nvmf_command_forget(&identify.command);
	cr_expect_eq(host_set_cc(host, USUAL | 1), READY);
	begin(host, &host->admin, &identify, sqe_identify(1, 0), NVMF_GIVE);
	host_expect(host, &host->admin, sqe_property_set(0x14, USUAL), NVME_OK, "CC.EN 0");
	cr_expect_eq(host_csts(host, &host->admin), READY);
	nvmf_command_forget(&identify.command);
	cr_expect_eq(host_csts(host, &host->admin), 0, "no answer is under way");
	host_close(host);
}

Test(phases, shutdown_completes_without_io_commands_in_flight)
{
	static const uint32_t notices[] = { 0x4000, 0x8000 };

	for (int i = 0; i < 2; i++) {
		struct nvmf_host *host = host_open(NULL);
		struct begun write;

		host_login(host, HOST_DISK);
		host_join(host);
		begin(host, &host->io, &write, sqe_blocks(NVME_WRITE, 1, 0, 1, 512), NVMF_FETCH);
		cr_expect_eq(host_set_cc(host, USUAL | 1 | notices[i]), READY | SHUTTING);
		host_expect(host, &host->io, sqe_make(NVME_FLUSH, 1, 0), FINAL(NVME_COMMAND_SEQUENCE), "Flush");
		cr_expect_eq(nvmf_command_fetched(&write.command, host->data, host->now_ns), NVMF_BLOCK);
		nvmf_command_done(&write.command, NVME_OK);
		cr_expect_eq(host_csts(host, &host->admin), READY | SHUTTING);
		cr_expect_eq(host_reply(&write.command, NVMF_FETCH).status, NVME_OK, "it is carried out");
		cr_expect_eq(host_csts(host, &host->admin), READY | SHUT);
		host_close(host);
	}
}

/* An I/O queue of a controller that is shut down is deleted by a reset, too. */
Test(phases, reset_after_shutdown_closes_the_queues)
{
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	host_join(host);
	cr_expect_eq(host_set_cc(host, USUAL | 0x4001), READY | SHUT);
	cr_expect_eq(host_run(host, &host->admin, sqe_property_set(0x14, USUAL)).step, NVMF_RESET);
	cr_expect_eq(host_csts(host, &host->admin), READY);
	nvmf_queue_close(&host->io);
	cr_expect_eq(host_csts(host, &host->admin), 0);
	host_close(host);
}

Test(phases, connection_survives_two_minutes_after_reset_or_shutdown)
{
	static const uint32_t values[] = { USUAL, USUAL | 0x4001 };

	for (int i = 0; i < 2; i++) {
		struct nvmf_host *host = host_open(NULL);
		struct nvmf_controller *controller = host_login(host, HOST_DISK);
		uint64_t deadline;

		host_expect(host, &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), NVME_OK, "Keep Alive");
		host_expect(host, &host->admin, sqe_property_set(0x14, values[i]), NVME_OK, "CC");
		deadline = host->now_ns + 120 * HOST_S + NVMF_HEARD_STEP_NS;
		cr_expect_null(nvmf_controller_expired(&host->target, 0, deadline - 1));
		cr_expect_eq(nvmf_controller_expired(&host->target, 0, deadline), controller);
		host_close(host);
	}
}

Test(phases, reenabled_controller_uses_its_keep_alive_time)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	uint64_t deadline = host->now_ns + 5 * HOST_S + NVMF_HEARD_STEP_NS;

	host_expect(host, &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), NVME_OK, "Keep Alive");
	host_set_cc(host, USUAL);
	host_set_cc(host, USUAL | 1);
	cr_expect_null(nvmf_controller_expired(&host->target, 0, deadline - 1));
	cr_expect_eq(nvmf_controller_expired(&host->target, 0, deadline), controller);
	host_close(host);
}

Test(phases, invalid_cc_is_fatal_until_a_reset)
{
	static const struct {
		const char *what;
		uint32_t cc;
	} rows[] = {
		{ "CSS 1", USUAL | 1 << 4 },  { "CSS 6", USUAL | 6 << 4 }, { "CSS 7", USUAL | 7 << 4 },
		{ "MPS 1", USUAL | 1 << 7 },  { "MPS 8", USUAL | 8 << 7 }, { "AMS 1", USUAL | 1 << 11 },
		{ "AMS 7", USUAL | 7 << 11 },
	};
	struct nvmf_host *host = host_open(NULL);

	cr_assert_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), NVME_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cr_expect_eq(host_set_cc(host, rows[i].cc), 0, "%s: not enabled", rows[i].what);
		cr_expect_eq(host_set_cc(host, rows[i].cc | 1), FATAL, "%s", rows[i].what);
		host_expect(host, &host->admin, sqe_identify(1, 0), FINAL(NVME_COMMAND_SEQUENCE), rows[i].what);
		cr_expect_eq(host_set_cc(host, USUAL), 0, "%s: reset", rows[i].what);
		cr_expect_eq(host_set_cc(host, USUAL | 1), READY, "%s: and well", rows[i].what);
		host_set_cc(host, USUAL);
	}
	host_close(host);
}
