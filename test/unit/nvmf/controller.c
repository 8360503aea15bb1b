/* controller.c - properties, ids, queues that come and go, keep alive in virtual time, events */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmf/controller.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "nvmf/change.h"
#include "nvmf/event.h"
#include "nvmf_host.h"
#include "shared_pool.h"

#define USUAL 0x00460000u
#define READY 1u

Test(controller, cap_reports_the_capabilities)
{
	static const uint32_t depths[] = { 2, 128, 1024 };

	for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]); i++) {
		struct nvmf_config config = { .queue_depth = depths[i] };
		struct nvmf_host *host = host_open(&config);
		uint64_t cap;

		cr_assert_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), NVME_OK);
		cap = host_run(host, &host->admin, sqe_property_get(0, true)).result;
		cr_expect_eq(cap & 0xFFFF, depths[i] - 1, "MQES");
		cr_expect_eq(cap >> 16 & 1, 1, "queues are contiguous");
		cr_expect_eq(cap >> 17 & 3, 0, "AMS: round robin only");
		cr_expect_gt(cap >> 24 & 0xFF, 0, "TO");
		cr_expect_eq(cap >> 32 & 0xF, 0, "DSTRD");
		cr_expect_eq(cap >> 37 & 0xFF, 1, "CSS: NVM, and bit 43 is not set");
		cr_expect_eq(cap >> 48, 0, "MPSMIN and MPSMAX 4 KiB; no CRTO, no command set independent CNS");
		host_close(host);
	}
}

/* Discovery has no I/O queues, and other hosts set them when they make one. */
Test(controller, entry_sizes_are_required_for_io_queues)
{
	static const uint32_t sizes[] = { 0, 0x00400000, 0x00450000, 0x00470000, 0x00060000, 0x00660000 };

	for (int kind = 0; kind < 2; kind++) {
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
			struct nvmf_host *host = host_open(NULL);
			const char *nqn = kind ? NVME_DISCOVERY_NQN : HOST_DISK;
			uint16_t cntlid;

			cr_assert_eq(host_connect(host, &host->admin, nqn, 0, 0xFFFF), NVME_OK);
			cntlid = host->admin.controller->cntlid;
			cr_expect_eq(host_set_cc(host, sizes[i] | 1), READY, "%x", sizes[i]);
			if (kind == 0) {
				cr_expect_eq(host_connect(host, &host->io, HOST_DISK, 1, cntlid),
					     FINAL(NVME_CONNECT_INVALID), "%x", sizes[i]);
				cr_expect_eq(host_set_cc(host, USUAL | 1), READY);
				cr_expect_eq(host_connect(host, &host->io, HOST_DISK, 1, cntlid), NVME_OK);
			}
			host_close(host);
		}
	}
}

Test(controller, reset_restores_default_features)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);

	host_expect(host, &host->admin, sqe_set_feature(0x06, 0), NVME_OK, "write cache");
	host_expect(host, &host->admin, sqe_set_feature(0x0B, 0x100), NVME_OK, "events");
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	host_set_cc(host, USUAL);
	host_enable(host, &host->admin);
	cr_expect_eq(host_run(host, &host->admin, sqe_get_feature(0x06, 0)).result, 1);
	cr_expect_eq(host_run(host, &host->admin, sqe_get_feature(0x0B, 0)).result, 0);
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	cr_expect_eq(controller->events_due, 0);
	host_close(host);
}

Test(controller, ids_are_not_reused_at_once)
{
	struct nvmf_host *host = host_open(NULL);
	static bool seen[NVME_CNTLID_MAX + 1];

	for (uint32_t i = 0; i < NVME_CNTLID_MAX; i++) {
		uint16_t cntlid;

		cr_assert_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), NVME_OK);
		cntlid = host->admin.controller->cntlid;
		cr_assert(cntlid >= 1 && cntlid <= NVME_CNTLID_MAX, "%u", cntlid);
		cr_expect_not(seen[cntlid], "%u after %u others", cntlid, i);
		seen[cntlid] = true;
		nvmf_queue_close(&host->admin);
		cr_assert_eq(host_controllers(host), 0);
	}
	host_close(host);
}

/* Two targets that begin at different numbers have different ones for long. */
Test(controller, ids_start_at_the_configured_value_and_wrap)
{
	struct nvmf_config config = { .first_cntlid = NVME_CNTLID_MAX - 1 };
	static const uint16_t ids[] = { NVME_CNTLID_MAX - 1, NVME_CNTLID_MAX, 1, 2 };
	struct nvmf_host *host = host_open(&config);

	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		cr_assert_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), NVME_OK);
		cr_expect_eq(host->admin.controller->cntlid, ids[i]);
		nvmf_queue_close(&host->admin);
	}
	host_close(host);
}

Test(controller, exhausted_ids_are_refused_and_a_released_one_is_reused)
{
	struct nvmf_host *host = host_open(NULL);
	static struct nvmf_queue queues[NVMF_CONTROLLERS_MAX];
	uint16_t gone;

	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++) {
		queues[i].peer[0] = (uint8_t)i;
		cr_assert_eq(host_connect(host, &queues[i], HOST_DISK, 0, 0xFFFF), NVME_OK);
		for (uint32_t j = 0; j < i; j++)
			cr_assert_neq(queues[i].controller->cntlid, queues[j].controller->cntlid);
	}
	/* Later there may be room: trying again would help. */
	cr_expect_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), NVME_CONNECT_BUSY);
	cr_expect_null(host->admin.controller);
	host->admin.peer[1] = 1;
	cr_expect_null(nvmf_controller_create(&host->admin, &host->disk, HOST_NQN, (uint8_t[16]){ 0 }));
	gone = queues[100].controller->cntlid;
	nvmf_queue_close(&queues[100]);
	cr_expect_eq(host_connect(host, &host->admin, HOST_DISK, 0, 0xFFFF), NVME_OK);
	cr_expect_neq(host->admin.controller->cntlid, gone);
	cr_expect_eq(nvmf_controller_find(&host->target, host->admin.controller->cntlid), host->admin.controller);
	cr_expect_null(nvmf_controller_find(&host->target, gone));
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++)
		nvmf_queue_close(&queues[i]);
	host_close(host);
}

struct peers {
	struct nvmf_host *host;
	struct nvmf_queue queues[2][NVMF_CONTROLLERS_MAX + 1];
	uint32_t count[2];
};

static bool connect_peer(void *context, uint32_t peer)
{
	struct peers *peers = context;
	struct nvmf_queue *queue = &peers->queues[peer][peers->count[peer]];
	uint16_t status;

	queue->peer[NVMF_PEER_BYTES - 1] = (uint8_t)peer;
	status = host_connect(peers->host, queue, peers->count[peer] % 2 ? HOST_DISK : NVME_DISCOVERY_NQN, 0, 0xFFFF);
	if (status != NVME_OK) {
		cr_expect_eq(status, NVME_CONNECT_BUSY);
		return false;
	}
	peers->count[peer]++;
	return true;
}

static void disconnect_peer(void *context, uint32_t peer)
{
	struct peers *peers = context;

	nvmf_queue_close(&peers->queues[peer][--peers->count[peer]]);
}

/* Whatever it calls itself, and for discovery, too, to which every host is admitted. */
Test(controller, one_peer_leaves_controllers_to_others)
{
	static struct peers peers;

	peers.host = host_open(NULL);
	shared_pool_check(&(struct shared_pool){
		.context = &peers, .take = connect_peer, .give = disconnect_peer, .least = NVMF_CONTROLLERS_MAX / 4 });
	host_close(peers.host);
}

Test(controller, last_closed_queue_frees_the_controller)
{
	static const int orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 }, { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct nvmf_host *host = host_open(NULL);
		struct nvmf_queue second = { 0 }, *queues[3] = { &host->admin, &host->io, &second };
		struct nvmf_controller *controller = host_login(host, HOST_DISK);
		bool admin_gone = false;

		host_join(host);
		cr_assert_eq(host_connect(host, &second, HOST_DISK, 2, controller->cntlid), NVME_OK);
		for (int n = 0; n < 3; n++) {
			struct nvmf_queue *queue = queues[orders[i][n]];

			cr_assert_eq(host_controllers(host), 1);
			nvmf_queue_close(queue);
			cr_expect_null(queue->controller);
			admin_gone |= queue == &host->admin;
			for (int m = n + 1; m < 3 && admin_gone; m++)
				host_expect(host, queues[orders[i][m]], sqe_blocks(NVME_READ, 1, 0, 1, 512),
					    FINAL(NVME_COMMAND_SEQUENCE), "its controller is going");
			if (n < 2)
				cr_expect_not_null(nvmf_controller_queue(controller));
		}
		cr_expect_eq(host_controllers(host), 0, "order %zu", i);
		host_close(host);
	}
}

Test(controller, open_queues_are_listed)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	struct nvmf_queue many[5] = { 0 }, *queue;
	uint32_t count = 0;

	for (uint16_t i = 0; i < 5; i++)
		cr_assert_eq(host_connect(host, &many[i], HOST_DISK, i < 4 ? i + 1 : 128, controller->cntlid), NVME_OK);
	for (;;) {
		queue = nvmf_controller_queue(controller);
		cr_assert_not_null(queue);
		nvmf_queue_close(queue);
		if (++count == 6)
			break;
	}
	cr_expect_eq(host_controllers(host), 0);
	cr_expect_null(host->admin.controller);
	nvmf_queue_close(&many[0]); /* had none any more: nothing happens */
	host_close(host);
}

Test(controller, opened_queue_keeps_fields_of_its_owner)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_hello hello = { .qid = 3, .commands = 7, .responses = 9 };
	struct nvmf_queue queue;
	int context;

	memset(&queue, 0xEE, sizeof(queue));
	queue.context = &context;
	nvmf_queue_open(&queue, &host->target, &hello);
	cr_expect_eq(queue.context, &context);
	cr_expect_eq(queue.target, &host->target);
	cr_expect_eq(queue.qid, 3);
	cr_expect_eq(queue.room, 7);
	cr_expect_eq(queue.sq_head, 0);
	cr_expect_null(queue.controller);
	cr_expect_not(queue.no_flow_control);
	nvmf_queue_close(&queue); /* there was no Connect */
	host_close(host);
}

/* ---- keep alive ---- */

static void connect_with(struct nvmf_host *host, const char *subsystem, uint32_t keep_alive_ms)
{
	struct nvmf_capsule capsule = sqe_connect(0, 32);

	host_dial(host, &host->admin, 0, 32);
	host_connect_data(host, subsystem, 0xFFFF);
	sqe_put(&capsule, 48, 4, keep_alive_ms);
	host_expect(host, &host->admin, capsule, NVME_OK, "Connect");
}

Test(controller, silent_host_expires_after_its_keep_alive_time)
{
	static const struct {
		const char *subsystem;
		uint32_t ms;
		uint64_t expires; /* 0: never */
	} rows[] = {
		{ HOST_DISK, 5000, 5 * HOST_S },
		{ HOST_DISK, 1, HOST_S },
		{ HOST_DISK, 1000, HOST_S },
		{ HOST_DISK, 1001, 2 * HOST_S },
		{ HOST_DISK, 4999, 5 * HOST_S },
		{ HOST_DISK, UINT32_MAX, 4294968 * HOST_S },
		{ HOST_DISK, 0, 0 },
		{ NVME_DISCOVERY_NQN, 0, 120 * HOST_S },
		{ NVME_DISCOVERY_NQN, 30000, 30 * HOST_S },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvmf_host *host = host_open(NULL);
		uint64_t last;

		cr_expect_null(nvmf_controller_expired(&host->target, 0, UINT64_MAX / 2));
		connect_with(host, rows[i].subsystem, rows[i].ms);
		host->now_ns += HOST_S / 2;
		host_enable(host, &host->admin);
		host_expect(host, &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), NVME_OK, "Keep Alive");
		last = host->now_ns + (rows[i].expires ? rows[i].expires - 1 : 1ull << 62);
		cr_expect_null(nvmf_controller_expired(&host->target, 0, last), "%s %u ms", rows[i].subsystem,
			       rows[i].ms);
		if (rows[i].expires)
			cr_expect_eq(nvmf_controller_expired(&host->target, 0, last + 1), host->admin.controller,
				     "%s %u ms", rows[i].subsystem, rows[i].ms);
		host_close(host);
	}
}

/* Linux sends its first Keep Alive when its last queue is connected, and waits 4.3 s for each message that is lost. */
Test(controller, a_host_has_half_a_minute_to_connect_its_queues)
{
	static const struct {
		const char *subsystem;
		uint32_t ms;
		uint64_t expires; /* 0: never */
	} rows[] = {
		{ HOST_DISK, 5000, 30 * HOST_S },        { HOST_DISK, 1, 30 * HOST_S },
		{ HOST_DISK, 30001, 31 * HOST_S },       { HOST_DISK, 0, 0 },
		{ NVME_DISCOVERY_NQN, 0, 120 * HOST_S },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct nvmf_host *host = host_open(NULL);
		uint64_t last = host->now_ns + (rows[i].expires ? rows[i].expires - 1 : 1ull << 62);

		connect_with(host, rows[i].subsystem, rows[i].ms);
		cr_expect_null(nvmf_controller_expired(&host->target, 0, last), "%s %u ms", rows[i].subsystem,
			       rows[i].ms);
		if (rows[i].expires)
			cr_expect_eq(nvmf_controller_expired(&host->target, 0, last + 1), host->admin.controller,
				     "%s %u ms", rows[i].subsystem, rows[i].ms);
		host_close(host);
	}
}

Test(controller, keep_alive_and_its_feature_restart_the_time)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);

	host_expect(host, &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), NVME_OK, "the first Keep Alive");
	host->now_ns += 3 * HOST_S;
	host_expect(host, &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), NVME_OK, "Keep Alive");
	cr_expect_null(nvmf_controller_expired(&host->target, 0, host->now_ns + 5 * HOST_S - 1));
	cr_expect_eq(nvmf_controller_expired(&host->target, 0, host->now_ns + 5 * HOST_S), controller);
	host_expect(host, &host->admin, sqe_set_feature(0x0F, 7000), NVME_OK, "another time");
	cr_expect_null(nvmf_controller_expired(&host->target, 0, host->now_ns + 7 * HOST_S - 1));
	cr_expect_eq(nvmf_controller_expired(&host->target, 0, host->now_ns + 7 * HOST_S), controller);
	cr_expect_eq(host_run(host, &host->admin, sqe_get_feature(0x0F, 0)).result, 7000);
	host_expect(host, &host->admin, sqe_set_feature(0x0F, 0), NVME_OK, "none");
	cr_expect_null(nvmf_controller_expired(&host->target, 0, UINT64_MAX / 2));
	host_close(host);
}

/* Hosts that are busy send no Keep Alive. When a command came is known to a tenth of a second. */
Test(controller, traffic_on_any_queue_keeps_a_host_alive)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	uint64_t named = 5 * HOST_S, deadline = host->now_ns + named;

	host_join(host);
	host_expect(host, &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), NVME_OK, "the first Keep Alive");
	host->now_ns += 3 * HOST_S;
	host_expect(host, &host->io, sqe_blocks(NVME_READ, 1, 0, 1, 512), NVME_OK, "Read");
	cr_expect_null(nvmf_controller_expired(&host->target, 0, deadline), "a Read has come");
	host->now_ns += 4 * HOST_S;
	host_expect(host, &host->admin, sqe_identify(1, 0), NVME_OK, "Identify");
	deadline = host->now_ns + named;
	cr_expect_null(nvmf_controller_expired(&host->target, 0, deadline), "an Identify has come");
	cr_expect_eq(nvmf_controller_expired(&host->target, 0, deadline + NVMF_HEARD_STEP_NS), controller);
	host_close(host);
}

Test(controller, controller_without_its_admin_queue_does_not_expire_again)
{
	struct nvmf_host *host = host_open(NULL);

	host_login(host, HOST_DISK);
	host_join(host);
	host_expect(host, &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), NVME_OK, "Keep Alive");
	cr_assert_not_null(nvmf_controller_expired(&host->target, 0, host->now_ns + 5 * HOST_S));
	nvmf_queue_close(&host->admin);
	cr_expect_null(nvmf_controller_expired(&host->target, 0, UINT64_MAX / 2));
	host_close(host);
}

/* ---- events ---- */

static struct nvmf_capsule waiting[NVMF_HELD_MAX + 1];
static struct nvmf_command requests[NVMF_HELD_MAX + 1];

static enum nvmf_step ask(struct nvmf_host *host, int which)
{
	waiting[which] = sqe_make(NVME_ASYNC_EVENT, 0, 0);
	sqe_put(&waiting[which], 2, 2, 0x1F + which);
	return nvmf_command_begin(&requests[which], &host->admin, waiting[which].sqe, 64, host->now_ns);
}

static void expect_told(struct nvmf_controller *controller, int which, uint64_t result, const char *what)
{
	struct nvmf_command *command = nvmf_event_next(controller);
	struct nvmf_reply reply;

	cr_assert_eq(command, &requests[which], "%s", what);
	reply = host_reply(command, NVMF_HOLD);
	cr_expect_eq(reply.status, NVME_OK, "%s", what);
	cr_expect_eq(reply.cid, 0x1F + which, "%s", what);
	cr_expect_eq(reply.result, result, "%s: %lx", what, reply.result);
	cr_expect_null(nvmf_event_next(controller), "%s: and no more", what);
}

Test(controller, event_is_reported_once_until_its_page_is_read)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	struct nvmf_capsule peek = sqe_log(NVME_LOG_CHANGED, 0, 4096);

	peek.sqe[41] |= 0x80;
	host_expect(host, &host->admin, sqe_set_feature(0x0B, 0x100), NVME_OK, "events");
	for (int i = 0; i < 4; i++)
		cr_assert_eq(ask(host, i), NVMF_HOLD);
	cr_expect_null(nvmf_event_next(controller));
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	nvmf_subsystem_changed(&host->target, &host->disk, 2);
	expect_told(controller, 0, 0x040002, "the first");
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	cr_expect_null(nvmf_event_next(controller), "not read yet");
	host_expect(host, &host->admin, peek, NVME_OK, "retained");
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	cr_expect_null(nvmf_event_next(controller), "retained is not read");
	host_expect(host, &host->admin, sqe_log(NVME_LOG_CHANGED, 0, 4096), NVME_OK, "read");
	cr_expect_null(nvmf_event_next(controller), "it has been read");
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	expect_told(controller, 1, 0x040002, "the second");
	host_close(host);
}

Test(controller, event_waits_for_a_request_unless_read_or_masked)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);

	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	host_expect(host, &host->admin, sqe_set_feature(0x0B, 0x100), NVME_OK, "events");
	cr_assert_eq(ask(host, 0), NVMF_HOLD);
	cr_expect_null(nvmf_event_next(controller), "it was masked when it came");
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	expect_told(controller, 0, 0x040002, "told");
	host_expect(host, &host->admin, sqe_log(NVME_LOG_CHANGED, 0, 4096), NVME_OK, "read");
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	cr_expect_null(nvmf_event_next(controller), "nobody asks");
	cr_assert_eq(ask(host, 1), NVMF_HOLD);
	expect_told(controller, 1, 0x040002, "waited");
	host_expect(host, &host->admin, sqe_log(NVME_LOG_CHANGED, 0, 4096), NVME_OK, "read");
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	host_expect(host, &host->admin, sqe_log(NVME_LOG_CHANGED, 0, 4096), NVME_OK, "read before it was told");
	cr_assert_eq(ask(host, 2), NVMF_HOLD);
	cr_expect_null(nvmf_event_next(controller), "there is nothing that the host does not know");
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	host_expect(host, &host->admin, sqe_set_feature(0x0B, 0), NVME_OK, "masked before it was told");
	cr_expect_null(nvmf_event_next(controller), "masked");
	host_close(host);
}

Test(controller, discovery_has_its_own_event)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, NVME_DISCOVERY_NQN);
	struct nvmf_address address = { NVME_FAMILY_IPV4, "10.9.0.3", "4420", 1 };

	host_expect(host, &host->admin, sqe_set_feature(0x0B, 0x80000000), NVME_OK, "events");
	cr_assert_eq(ask(host, 0), NVMF_HOLD);
	cr_assert_eq(ask(host, 1), NVMF_HOLD);
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	cr_expect_null(nvmf_event_next(controller));
	nvmf_target_add_address(&host->target, &address);
	expect_told(controller, 0, 0x70F002, "an address");
	nvmf_target_add_address(&host->target, &address);
	cr_expect_null(nvmf_event_next(controller), "told once");
	host_expect(host, &host->admin, sqe_log(NVME_LOG_DISCOVERY, 0, 1024), NVME_OK, "read");
	nvmf_target_add_address(&host->target, &address);
	expect_told(controller, 1, 0x70F002, "another");
	host_close(host);
}

Test(controller, held_event_requests_are_limited_and_end_with_the_queue)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);
	struct nvmf_reply reply;

	host_join(host);
	host_expect(host, &host->admin, sqe_set_feature(0x0B, 0x100), NVME_OK, "events");
	for (int i = 0; i < 4; i++)
		cr_assert_eq(ask(host, i), NVMF_HOLD, "%d", i);
	cr_expect_eq(ask(host, 4), NVMF_ANSWER);
	reply = host_reply(&requests[4], NVMF_ANSWER);
	cr_expect_eq(reply.status, FINAL(NVME_ASYNC_LIMIT), "%04x", reply.status);
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	expect_told(controller, 0, 0x040002, "the oldest");
	cr_expect_eq(ask(host, 4), NVMF_HOLD, "there is room again");
	host_expect(host, &host->admin, sqe_log(NVME_LOG_CHANGED, 0, 4096), NVME_OK, "read");
	nvmf_subsystem_changed(&host->target, &host->disk, 1);
	nvmf_queue_close(&host->admin);
	cr_expect_null(nvmf_event_next(controller));
	host_close(host);
}

/* A controller that is enabled again begins with none under way. */
Test(controller, reset_aborts_held_event_requests)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_controller *controller = host_login(host, HOST_DISK);

	for (int i = 0; i < 2; i++)
		cr_assert_eq(ask(host, i), NVMF_HOLD, "%d", i);
	cr_expect_eq(host_set_cc(host, USUAL), READY);
	for (int i = 0; i < 2; i++) {
		struct nvmf_command *command = nvmf_event_next(controller);

		cr_assert_eq(command, &requests[i], "%d", i);
		cr_expect_eq(host_reply(command, NVMF_HOLD).status, NVME_ABORTED);
	}
	cr_expect_null(nvmf_event_next(controller));
	cr_expect_eq(host_csts(host, &host->admin), 0);
	cr_expect_eq(host_set_cc(host, USUAL | 1), READY);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(ask(host, i), NVMF_HOLD, "%d", i);
	host_close(host);
}
