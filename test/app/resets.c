/* resets.c - a host resets its controller while its commands are under way */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "bad_host.h"
#include "nvmet/queue_state.h"
#include "nvmf/bytes.h"
#include "start.h"

#define DISABLED NVME_CC_ENTRIES_USUAL
#define ENABLED (NVME_CC_ENTRIES_USUAL | NVME_CC_ENABLE)
#define BLOCKS (1u << 16) /* of 512 bytes: more than the target clears in one poll */
#define BYTES (512ull * BLOCKS)
#define NSID 2u

TestSuite(resets, .init = test_eal_start, .timeout = 100);

static uint16_t ask_property(struct bad_queue *admin, enum nvme_fabrics_type type, uint32_t property, uint32_t value)
{
	uint8_t sqe[NVME_SQE_BYTES];

	bad_fill(admin->site, sqe, NVME_FABRICS, 0, 1, 0);
	sqe[SQE_FABRICS_TYPE] = (uint8_t)type;
	put_le32(sqe + SQE_DW11, property);
	put_le32(sqe + SQE_DW12, value);
	return bad_ask(admin, sqe);
}

static uint16_t set_cc(struct bad_queue *admin, uint32_t value)
{
	return ask_property(admin, NVME_PROPERTY_SET, NVME_CC, value);
}

static uint32_t csts(struct bad_queue *admin)
{
	cr_assert_eq(ask_property(admin, NVME_PROPERTY_GET, NVME_CSTS, 0), NVME_OK);
	return get_le32(admin->last);
}

static uint8_t *add_memory(struct site *site)
{
	struct settings_disk settings = { .nsid = NSID, .kind = STORE_MEMORY, .bytes = BYTES, .block_bytes = 512 };
	char error[STORE_ERROR_BYTES] = "";
	struct disk *disk = disks_add(&site->disks, site->subsystems[0], &settings, error);

	cr_assert(disk, "%s", error);
	memset(disk->store->memory, 1, BYTES);
	return disk->store->memory;
}

static uint64_t cleared_bytes(const uint8_t *memory)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < BYTES; i++)
		count += memory[i] == 0;
	return count;
}

static void send_zeroes(struct bad_queue *queue)
{
	uint8_t sqe[NVME_SQE_BYTES];

	bad_fill(queue->site, sqe, NVME_WRITE_ZEROES, 0, BLOCKS, 0);
	put_le32(sqe + SQE_NSID, NSID);
	cr_assert(bad_send(queue, sqe, NVME_SQE_BYTES));
}

static struct bad_queue *connect_second(struct site *site)
{
	struct bad_queue *queue = bad_connect(site, 2, 16, 16);

	cr_assert_eq(bad_login(queue, 2, site->cntlid, GOOD_NQN, BAD_HOST_NQN), NVME_OK);
	return queue;
}

/* The target's queue 2. */
static struct queue *second_queue(struct site *site)
{
	for (uint32_t i = 0; i < site->server.lane_count; i++) {
		struct queue *queue;

		LIST_FOREACH(queue, &site->server.lanes[i].queues, next) {
			if (queue->nvmf.qid == 2)
				return queue;
		}
	}
	cr_assert_fail("there is no queue 2");
	return NULL;
}

/* A request that a disk has not done yet is played by the number of the queue's requests. */
static void reset_under_work(uint32_t lanes)
{
	struct site *site = site_open_lanes(lanes);
	const uint8_t *memory = add_memory(site);
	struct bad_queue *io = bad_join(site, 16, false), *admin = io - 1, *slow;
	uint64_t cleared;

	site->lcore = uroce_engine_lcore(site->server.engine, lanes - 1);
	slow = connect_second(site);
	send_zeroes(slow);
	while (memory[0])
		site_poll(site);
	cr_expect_eq(server_queue_count(&site->server), 3);
	second_queue(site)->store_requests++;
	cr_expect_eq(set_cc(admin, DISABLED), NVME_OK);
	site_poll_for(site, 50);
	cr_expect(slow->over && io->over, "I/O queues are connected");
	cr_expect_eq(slow->answers, 1, "more than the Connect is answered");
	cr_expect_eq(csts(admin), NVME_CSTS_READY, "a disk is at work");
	cr_expect_eq(set_cc(admin, ENABLED), NVME_COMMAND_SEQUENCE | NVME_DNR);
	second_queue(site)->store_requests--;
	site_poll_for(site, 50);
	cr_expect_eq(csts(admin), 0);
	cr_expect_eq(server_queue_count(&site->server), 1);
	cleared = cleared_bytes(memory);
	site_poll_for(site, 50);
	cr_expect_eq(cleared_bytes(memory), cleared, "zeroes are written after the reset");
	cr_expect_eq(set_cc(admin, ENABLED), NVME_OK);
	cr_expect_eq(csts(admin), NVME_CSTS_READY);
	bad_close(slow);
	connect_second(site);
	site_close(site);
}

Test(resets, io_queues_end_before_the_reset_completes)
{
	reset_under_work(1);
}

Test(resets, io_queues_of_another_lcore_end_before_the_reset_completes)
{
	reset_under_work(2);
}
