/* bad_hosts.c - hosts that flood, that are deaf, that vanish, that ask for what is not theirs: the others go on */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bad_host.h"
#include "common/clock.h"
#include "draw.h"
#include "nvmet/region.h"
#include "nvmf/bytes.h"
#include "start.h"

#define FOREIGN_BYTE 0xA5
#define BLOCKS_OF_MIB 2048u
#define LONG_BYTES (32ull << 20)
#define LONG_BLOCKS (1u << 16)
#define LONG_NSID 2u
#define SLOW_MS 1500.0 /* a good host's I/O; see site_good_work() */

TestSuite(bad_hosts, .init = test_eal_start, .timeout = 100);

/* Those of the namespace that no bad host may see. */
static void expect_foreign(struct site *site)
{
	const uint8_t *memory = site->other->store->memory;

	for (uint64_t i = 0; i < site->other->store->bytes; i++)
		cr_assert_eq(memory[i], FOREIGN_BYTE, "byte %lu of another host's namespace", i);
}

static struct site *open_site(void)
{
	struct site *site = site_open();

	memset(site->other->store->memory, FOREIGN_BYTE, site->other->store->bytes);
	return site;
}

static void expect_over(struct bad_queue *queue, unsigned seconds)
{
	for (unsigned i = 0; i < seconds * 1000 && !queue->over; i++)
		site_poll_for(queue->site, 1);
	cr_expect(queue->over, "the target keeps a bad host");
}

/* Its answers find no receive, and the data before them keep buffers: all that it can get, and only for a time. */
Test(bad_hosts, host_without_receives_leaves_buffers_and_is_disconnected)
{
	struct site *site = open_site();
	struct bad_queue *deaf = bad_join(site, 64, true);
	uint8_t sqe[NVME_SQE_BYTES];

	bad_fill(site, sqe, NVME_READ, 0, BLOCKS_OF_MIB, BAD_DATA_BYTES);
	for (int i = 0; i < 60; i++)
		cr_assert(bad_send(deaf, sqe, NVME_SQE_BYTES));
	site_poll_for(site, 300);
	cr_expect(!deaf->over);
	cr_expect_gt(server_used_bytes(&site->server), 0);
	cr_expect_lt(site_good_work(site, GOOD_NQN, 300), SLOW_MS);
	expect_over(deaf, 15);
	cr_expect_lt(site_good_work(site, GOOD_NQN, 100), SLOW_MS);
	cr_expect_eq(server_counts(&site->server).stuck_queues, 1);
	site_close(site);
}

Test(bad_hosts, several_hosts_without_receives_leave_buffers)
{
	struct site *site = open_site();
	uint8_t sqe[NVME_SQE_BYTES];

	bad_fill(site, sqe, NVME_READ, 0, 8, 4096);
	for (site->address = 0; site->address < BAD_ADDRESSES; site->address++) {
		struct bad_queue *deaf = bad_join(site, 1024, true);

		for (int i = 0; i < 1000; i++)
			cr_assert(bad_send(deaf, sqe, NVME_SQE_BYTES));
	}
	site_poll_for(site, 300);
	cr_expect_lt(site_good_work(site, GOOD_NQN, 300), SLOW_MS);
	site_close(site);
}

/* Its writes are fetched from a host that is not there any more. */
Test(bad_hosts, host_that_vanishes_in_mid_transfer_is_noticed)
{
	struct site *site = open_site();
	struct bad_queue *gone = bad_join(site, 64, false);
	uint8_t sqe[NVME_SQE_BYTES];

	bad_fill(site, sqe, NVME_WRITE, 0, BLOCKS_OF_MIB, BAD_DATA_BYTES);
	for (int i = 0; i < 60; i++)
		cr_assert(bad_send(gone, sqe, NVME_SQE_BYTES));
	while (gone->answers < 3)
		site_poll(site);
	bad_vanish(gone);
	bad_vanish(gone - 1);
	cr_expect_gt(server_used_bytes(&site->server), 0);
	cr_expect_lt(site_good_work(site, GOOD_NQN, 300), SLOW_MS);
	for (unsigned i = 0; i < 15000 && server_used_bytes(&site->server); i++)
		site_poll_for(site, 1);
	cr_expect_eq(server_used_bytes(&site->server), 0);
	site_close(site);
}

/*
 * It has no keep-alive time (KATO 0) and the target owes it nothing, so the target detects it by its own keep-alive.
 */
Test(bad_hosts, host_that_vanishes_while_idle_is_noticed)
{
	struct site *site = open_site();
	struct bad_queue *gone = bad_join(site, 64, false);
	uint64_t until_ns = app_now_ns() + 45000000000ull;

	site_poll_for(site, 100);
	bad_vanish(gone);
	bad_vanish(gone - 1);
	while (server_queue_count(&site->server) && app_now_ns() < until_ns)
		site_poll(site);
	cr_expect_eq(server_queue_count(&site->server), 0, "queues of a host that is no more");
	cr_expect_eq(server_counts(&site->server).hosts_gone, 1);
	site_close(site);
}

/* More commands than its queue has places, without waiting for answers: they wait in its own queue. */
Test(bad_hosts, flood_of_commands_does_not_starve_other_hosts)
{
	struct site *site = open_site();
	struct bad_queue *flood = bad_join(site, 8, false);
	uint8_t sqe[NVME_SQE_BYTES];
	uint32_t sent;

	bad_fill(site, sqe, NVME_READ, 0, 8, 4096);
	for (int round = 0; round < 20; round++) {
		while (flood->sent - flood->answers < 3000 && bad_send(flood, sqe, NVME_SQE_BYTES))
			;
		site_poll(site);
	}
	cr_expect(!flood->over);
	cr_expect_lt(site_good_work(site, GOOD_NQN, 300), SLOW_MS);
	sent = flood->sent;
	for (unsigned i = 0; i < 20000 && flood->answers < sent && !flood->over; i++)
		site_poll_for(site, 1);
	cr_expect_eq(flood->answers, sent);
	site_close(site);
}

/* Queues without a controller cost memory: they have to send a Connect command in time. */
Test(bad_hosts, queue_without_connect_command_is_closed)
{
	struct site *site = open_site();
	struct bad_queue *mute = bad_connect(site, 0, NVME_ADMIN_DEPTH, NVME_ADMIN_DEPTH);

	site_poll_for(site, 1000);
	cr_expect(!mute->over);
	expect_over(mute, 15);
	cr_expect_eq(server_counts(&site->server).mute_queues, 1);
	site_close(site);
}

/* ---- large buffers ---- */

static void wait_for_answers(struct bad_queue *queue, uint32_t answers)
{
	uint64_t until_ns = app_now_ns() + 60000000000ull;

	while (queue->answers < answers && !queue->over && app_now_ns() < until_ns)
		site_poll(queue->site);
	cr_assert_geq(queue->answers, answers);
}

/* Takes all buffers but 1 MiB, and with `bytes` so many of that. */
static void take_buffers(struct site *site, void *taken[8], uint32_t bytes)
{
	struct pool *pool = &site->server.lanes[0].pool;

	cr_assert_eq(pool->bytes, 8 * POOL_MOST_BYTES);
	for (uint32_t i = 0; i < 7; i++)
		cr_assert((taken[i] = pool_take(pool, POOL_MOST_BYTES)));
	taken[7] = bytes ? pool_take(pool, bytes) : NULL;
}

static void return_buffers(struct site *site, void *taken[8])
{
	for (uint32_t i = 0; i < 7; i++)
		pool_return(&site->server.lanes[0].pool, taken[i], POOL_MOST_BYTES);
}

static void ask_to_read(struct bad_queue *queue, uint32_t blocks)
{
	uint8_t sqe[NVME_SQE_BYTES];

	bad_fill(queue->site, sqe, NVME_READ, 0, blocks, blocks * 512);
	cr_assert(bad_send(queue, sqe, NVME_SQE_BYTES));
	site_poll(queue->site); /* the capsule leaves before its place is used again */
}

/* Small ones come without a pause, so that never all of them have their buffers back. */
Test(bad_hosts, small_requests_do_not_starve_a_large_buffer_request)
{
	struct site *site = open_site();
	struct bad_queue *small = bad_join(site, 64, false), *large;
	uint32_t before;
	void *taken[8];

	site->address = 1;
	large = bad_join(site, 16, false);
	before = large->answers;
	take_buffers(site, taken, 0);
	for (unsigned poll = 0; poll < 4000 && large->answers == before; poll++) {
		if (small->sent - small->answers < 60)
			ask_to_read(small, 8);
		else
			site_poll(site);
		if (poll == 100)
			ask_to_read(large, BLOCKS_OF_MIB);
	}
	cr_expect_eq(large->answers, before + 1, "it waits while %u small ones are answered", small->answers);
	wait_for_answers(small, small->sent);
	return_buffers(site, taken);
	site_close(site);
}

/* An address that holds no buffers waits in order, though a smaller request finds a buffer. */
Test(bad_hosts, small_request_does_not_overtake_a_large_buffer_request)
{
	struct site *site = open_site();
	struct bad_queue *small = bad_join(site, 16, false), *large;
	uint32_t small_before = small->answers, large_before;
	void *taken[8];

	site->address = 1;
	large = bad_join(site, 16, false);
	large_before = large->answers;
	take_buffers(site, taken, POOL_LEAST_BYTES);
	ask_to_read(large, BLOCKS_OF_MIB);
	ask_to_read(small, 8);
	site_poll_for(site, 50);
	cr_expect_eq(large->answers, large_before);
	cr_expect_eq(small->answers, small_before, "it is served before the large one");
	pool_return(&site->server.lanes[0].pool, taken[7], POOL_LEAST_BYTES);
	wait_for_answers(large, large_before + 1);
	wait_for_answers(small, small_before + 1);
	return_buffers(site, taken);
	site_close(site);
}

/* Where buffers do not come back, others need not wait with it. */
Test(bad_hosts, waiting_large_buffer_request_does_not_block_others)
{
	struct site *site = open_site();
	struct bad_queue *large;
	void *taken[8];
	uint32_t before;

	site->address = 1;
	large = bad_join(site, 16, false);
	take_buffers(site, taken, POOL_LEAST_BYTES);
	before = large->answers;
	ask_to_read(large, BLOCKS_OF_MIB);
	site_poll_for(site, 50);
	cr_expect_eq(large->answers, before);
	cr_expect_lt(site_good_work(site, GOOD_NQN, 300), SLOW_MS);
	cr_expect_eq(large->answers, before);
	pool_return(&site->server.lanes[0].pool, taken[7], POOL_LEAST_BYTES);
	wait_for_answers(large, before + 1);
	return_buffers(site, taken);
	site_close(site);
}

/* ---- work of many polls ---- */

/* A namespace in memory whose blocks one WRITE ZEROES can name all. */
static uint8_t *add_long(struct site *site)
{
	struct settings_disk settings = {
		.nsid = LONG_NSID, .kind = STORE_MEMORY, .bytes = LONG_BYTES, .block_bytes = 512
	};
	char error[STORE_ERROR_BYTES] = "";
	struct disk *disk = disks_add(&site->disks, site->subsystems[0], &settings, error);

	cr_assert(disk, "%s", error);
	memset(disk->store->memory, FOREIGN_BYTE, LONG_BYTES);
	return disk->store->memory;
}

static uint64_t cleared_bytes(const uint8_t *memory)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < LONG_BYTES; i++)
		count += memory[i] == 0;
	return count;
}

static void send_zeroes(struct bad_queue *queue, bool deallocate)
{
	uint8_t sqe[NVME_SQE_BYTES];

	bad_fill(queue->site, sqe, NVME_WRITE_ZEROES, 0, LONG_BLOCKS, 0);
	put_le32(sqe + SQE_NSID, LONG_NSID);
	sqe[SQE_DW12 + 3] = deallocate ? 1 << 1 : 0;
	cr_assert(bad_send(queue, sqe, NVME_SQE_BYTES));
	site_poll(queue->site); /* the capsule leaves before its place is used again */
}

/* Of 256 ranges, each of which is all that there is. */
static void send_ranges(struct bad_queue *queue)
{
	uint8_t sqe[NVME_SQE_BYTES];

	for (uint32_t i = 0; i < NVMF_RANGES_MAX; i++) {
		memset(queue->site->memory + i * NVMF_RANGE_BYTES, 0, NVMF_RANGE_BYTES);
		put_le32(queue->site->memory + i * NVMF_RANGE_BYTES + 4, LONG_BLOCKS);
	}
	bad_fill(queue->site, sqe, NVME_DATASET_MANAGEMENT, 0, 1, NVMF_RANGES_MAX * NVMF_RANGE_BYTES);
	put_le32(sqe + SQE_NSID, LONG_NSID);
	put_le64(sqe + SQE_DW10, (uint64_t)1 << 34 | (NVMF_RANGES_MAX - 1));
	put_le32(sqe + SQE_DW12, 0);
	cr_assert(bad_send(queue, sqe, NVME_SQE_BYTES));
}

/* A read by another host, which is answered after a few polls. */
static void read_beside(struct bad_queue *other)
{
	uint8_t sqe[NVME_SQE_BYTES];
	uint32_t before = other->answers;

	bad_fill(other->site, sqe, NVME_READ, 0, 8, 4096);
	cr_assert(bad_send(other, sqe, NVME_SQE_BYTES));
	wait_for_answers(other, before + 1);
	cr_expect_eq(get_le16(other->last + 14) >> 1, NVME_OK);
}

Test(bad_hosts, long_memory_command_does_not_block_other_queues)
{
	struct site *site = open_site();
	uint8_t *memory = add_long(site);
	struct bad_queue *slow = bad_join(site, 16, false), *other = bad_join(site, 16, false);
	uint32_t before = slow->answers;

	for (int deallocate = 0; deallocate < 2; deallocate++, before++) {
		memset(memory, FOREIGN_BYTE, LONG_BYTES);
		send_zeroes(slow, deallocate);
		read_beside(other);
		cr_expect_eq(slow->answers, before, "all of it was cleared in one poll");
		wait_for_answers(slow, before + 1);
		cr_expect_eq(get_le16(slow->last + 14) >> 1, NVME_OK);
		cr_expect_eq(cleared_bytes(memory), LONG_BYTES);
	}
	memset(memory, FOREIGN_BYTE, LONG_BYTES);
	send_ranges(slow);
	site_poll(site);
	read_beside(other);
	cr_expect_eq(slow->answers, before, "256 ranges were cleared in one poll");
	wait_for_answers(slow, before + 1);
	cr_expect_eq(get_le16(slow->last + 14) >> 1, NVME_OK);
	cr_expect_eq(cleared_bytes(memory), LONG_BYTES);
	site_close(site);
}

/* Every second step is executed for another address, however many commands one address has. */
Test(bad_hosts, long_commands_are_served_round_robin_per_address)
{
	struct site *site = open_site();
	struct bad_queue *greedy, *other;
	uint32_t greedy_before, other_before;

	add_long(site);
	greedy = bad_join(site, 64, false);
	site->address = 1;
	other = bad_join(site, 16, false);
	greedy_before = greedy->answers;
	other_before = other->answers;
	for (int i = 0; i < 40; i++)
		send_zeroes(greedy, false);
	send_zeroes(other, false);
	wait_for_answers(other, other_before + 1);
	cr_expect_lt(greedy->answers - greedy_before, 10, "%u of 40 were before", greedy->answers - greedy_before);
	wait_for_answers(greedy, greedy_before + 40);
	site_close(site);
}

/* A command without a host ends and lets its queue end. */
Test(bad_hosts, long_command_ends_with_its_host)
{
	struct site *site = open_site();
	const uint8_t *memory = add_long(site);
	struct bad_queue *slow = bad_join(site, 16, false), *admin = slow - 1;
	unsigned polls = 0;

	send_zeroes(slow, false);
	send_ranges(slow);
	while (memory[0])
		site_poll(site);
	bad_close(slow);
	bad_close(admin);
	for (; server_queue_count(&site->server) && polls < 100000; polls++)
		site_poll(site);
	cr_expect_eq(server_queue_count(&site->server), 0);
	cr_expect_lt(cleared_bytes(memory), LONG_BYTES);
	site_close(site);
}

/* ---- what is not theirs ---- */

Test(bad_hosts, host_cannot_reach_resources_of_other_hosts)
{
	struct site *site = open_site();
	struct bad_queue *admin = bad_connect(site, 0, NVME_ADMIN_DEPTH, NVME_ADMIN_DEPTH), *queue;
	uint8_t sqe[NVME_SQE_BYTES];
	uint16_t cntlid;

	cr_expect_eq(bad_login(admin, 0, NVME_CNTLID_ANY, OTHER_NQN, BAD_HOST_NQN), NVME_DNR | NVME_CONNECT_HOST);
	cr_expect_eq(bad_login(admin, 0, NVME_CNTLID_ANY, OTHER_NQN, GOOD_HOST_NQN), NVME_OK, "names are not proven");
	cntlid = site->cntlid;
	queue = bad_connect(site, 1, 16, 16);
	cr_expect_eq(bad_login(queue, 1, cntlid, GOOD_NQN, BAD_HOST_NQN), NVME_DNR | NVME_CONNECT_INVALID);
	cr_expect_eq(bad_login(queue, 1, cntlid, OTHER_NQN, BAD_HOST_NQN), NVME_DNR | NVME_CONNECT_INVALID);
	queue = bad_join(site, 16, false);
	bad_fill(site, sqe, NVME_WRITE, 0, 1, 512);
	put_le32(sqe + SQE_NSID, 2);
	cr_expect_eq(bad_ask(queue, sqe), NVME_DNR | NVME_INVALID_NAMESPACE);
	bad_fill(site, sqe, NVME_WRITE, 16u << 20 >> 9, 1, 512);
	cr_expect_eq(bad_ask(queue, sqe), NVME_DNR | NVME_LBA_RANGE);
	bad_fill(site, sqe, NVME_WRITE, UINT64_MAX, 2, 1024);
	cr_expect_eq(bad_ask(queue, sqe), NVME_DNR | NVME_LBA_RANGE);
	expect_foreign(site);
	site_close(site);
}

/* The host accesses the target's memory by RDMA, with any key. */
Test(bad_hosts, the_memory_of_the_target_is_not_open)
{
	struct site *site = open_site();
	const uint64_t places[] = { (uintptr_t)site->other->store->memory, (uintptr_t)site->server.lanes[0].pool.base,
				    0 };
	const uint32_t keys[] = { site->other->store->region->lkeys[0], site->server.lanes[0].pool_region->lkeys[0],
				  0 };

	for (int i = 0; i < 6; i++) {
		struct bad_queue *queue = bad_connect(site, 0, NVME_ADMIN_DEPTH, NVME_ADMIN_DEPTH);
		struct uroce_sge sge = { (uintptr_t)site->memory, 8, uroce_mr_lkey(site->mr) };
		struct uroce_send_wr wr = {
			.sg_list = &sge,
			.num_sge = 1,
			.opcode = i < 3 ? UROCE_WR_RDMA_WRITE : UROCE_WR_RDMA_WRITE_WITH_IMM,
			.send_flags = UROCE_SEND_SIGNALED,
			.remote_addr = places[i % 3],
			.rkey = keys[i % 3],
		};
		struct uroce_qp_attr attr;

		cr_assert_eq(uroce_qp_query(queue->qp, &attr), 0);
		cr_expect_eq(attr.max_rd_atomic, 0, "the target answers READs");
		cr_assert_eq(uroce_qp_post_send(queue->qp, &wr, NULL), 0);
		expect_over(queue, 5);
		cr_expect(queue->failed == UROCE_WC_REM_ACCESS_ERR || queue->failed == UROCE_WC_REM_INV_REQ_ERR, "%s",
			  uroce_wc_status_name(queue->failed));
		bad_close(queue);
	}
	expect_foreign(site);
	cr_expect_lt(site_good_work(site, GOOD_NQN, 100), SLOW_MS);
	site_close(site);
}

/* A capsule that is too short or too long, or an invalid key, ends its queue only. */
Test(bad_hosts, malformed_capsule_ends_only_its_queue)
{
	static const uint32_t sizes[] = { 0, 1, 63, 64 + 4096 + 64 };
	struct site *site = open_site();
	uint8_t capsule[8192] = { 0 };

	for (size_t i = 0; i <= sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct bad_queue *queue = bad_join(site, 16, false), *admin = queue - 1;

		bad_fill(site, capsule, NVME_WRITE, 0, 8, 4096);
		put_le32(capsule + SQE_SGL + 11, uroce_mr_rkey(site->mr) + 1);
		cr_assert(bad_send(queue, capsule, i < 4 ? sizes[i] : NVME_SQE_BYTES));
		expect_over(queue, 5);
		bad_close(queue);
		bad_close(admin);
		cr_expect_lt(site_good_work(site, GOOD_NQN, 20), SLOW_MS);
	}
	expect_foreign(site);
	site_close(site);
}

/* Fields, descriptors and lengths by chance, from admin and I/O queues: each is answered or ends its queue. */
Test(bad_hosts, random_capsules_reach_no_foreign_memory_and_stop_no_host)
{
	const char *asked = getenv("UROCE_SEED");
	const uint64_t seed = asked ? strtoull(asked, NULL, 0) : app_now_ns();
	uint64_t random = draw_start(seed);
	struct site *site = open_site();
	struct bad_queue *queue = NULL;
	uint8_t capsule[NVME_SQE_BYTES + 4096];
	uint64_t until_ns = app_now_ns() + 1500000000ull;

	printf("# seed %lu (UROCE_SEED repeats it)\n", seed);
	fflush(stdout);
	while (app_now_ns() < until_ns) {
		uint32_t bytes = draw_below(&random, 4) ? NVME_SQE_BYTES : NVME_SQE_BYTES + draw_below(&random, 4097);
		struct bad_queue *which;

		if (queue == NULL || queue->over || queue[-1].over) {
			for (int i = 0; queue && i < 2; i++)
				bad_close(queue - i);
			queue = bad_join(site, 64, false);
		}
		which = draw_below(&random, 3) ? queue : queue - 1;
		bad_fill(site, capsule, (uint8_t)draw_below(&random, draw_below(&random, 2) ? 16 : 256),
			 draw_below(&random, 40000), 1 + draw_below(&random, 64), draw_below(&random, 65536));
		for (uint32_t i = draw_below(&random, 4); i > 0; i--)
			capsule[draw_below(&random, NVME_SQE_BYTES)] = (uint8_t)draw_below(&random, 256);
		put_le16(capsule + SQE_CID, (uint16_t)which->sent);
		bad_send(which, capsule, which == queue ? bytes : NVME_SQE_BYTES);
		site_poll_for(site, 0);
	}
	expect_foreign(site);
	cr_expect_lt(site_good_work(site, GOOD_NQN, 100), SLOW_MS);
	site_close(site);
}
