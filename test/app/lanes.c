/* lanes.c - a target that several lcores serve: each has its queues, and all have the namespaces */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bad_host.h"
#include "common/clock.h"
#include "nvmet/idle.h"
#include "nvmet/kind.h"
#include "nvmet/lane.h"
#include "nvmet/queue.h"
#include "nvmet/ring.h"
#include "nvmf/bytes.h"
#include "start.h"

#define LANES 2u
#define BLOCK 4096u
#define LINE_BYTES 64u /* of a cache */
#define NSID 2u
#define RUN_US 300000
#define COPIES 20000u
#define LONG_NS 30000000000ull
#define KEEP_ALIVE_MS 600u

TestSuite(lanes, .init = test_eal_start, .timeout = 100);

/* ---- queues ---- */

/* The lane of that queue of the controller that came last. */
static uint32_t lane_of_newest(const struct site *site, uint16_t qid)
{
	const struct queue *queue;

	for (uint32_t i = 0; i < LANES; i++) {
		LIST_FOREACH(queue, &site->server.lanes[i].queues, next) {
			if (queue->nvmf.controller && queue->nvmf.controller->cntlid == site->cntlid &&
			    queue->nvmf.qid == qid)
				return i;
		}
	}
	cr_assert_fail("its queue is in no lane");
	return 0;
}

static void leave(struct site *site, struct bad_queue *queue)
{
	bad_close(queue);
	bad_close(queue - 1);
	site_poll_for(site, 20);
}

/* Over a loop a connection has the same lcore at both ends, and its admin queue, too. */
static struct bad_queue *join_lane(struct site *site, uint32_t lane)
{
	struct bad_queue *queue;

	site->lcore = uroce_engine_lcore(site->server.engine, lane);
	queue = bad_join(site, 16, false);
	cr_assert_eq(lane_of_newest(site, 1), lane);
	cr_assert_eq(lane_of_newest(site, 0), lane);
	return queue;
}

static struct disk *add(struct site *site, enum store_kind kind)
{
	struct settings_disk settings = { .nsid = NSID, .kind = kind, .bytes = 1 << 20, .block_bytes = BLOCK };
	char error[STORE_ERROR_BYTES] = "";
	struct disk *disk = disks_add(&site->disks, site->subsystems[0], &settings, error);

	cr_assert(disk, "%s", error);
	return disk;
}

static void fill(struct site *site, uint8_t *sqe, uint8_t opcode)
{
	bad_fill(site, sqe, opcode, 0, 1, BLOCK);
	put_le32(sqe + SQE_NSID, NSID);
}

static bool ends_within(struct site *site, const _Atomic uint32_t *count, unsigned ms)
{
	uint64_t until_ns = app_now_ns() + ms * 1000000ull;

	while (*count && app_now_ns() < until_ns)
		site_poll(site);
	return *count == 0;
}

Test(lanes, each_lane_serves_its_queues_and_reads_data_of_the_others)
{
	struct site *site = site_open_lanes(LANES);
	struct bad_queue *queues[LANES];
	uint8_t sqe[NVME_SQE_BYTES];
	uint64_t before[LANES];

	add(site, STORE_MEMORY);
	for (uint32_t i = 0; i < LANES; i++)
		queues[i] = join_lane(site, i);
	for (uint32_t i = 0; i < LANES; i++)
		before[i] = site->server.lanes[i].counts.commands;
	for (uint32_t round = 0; round < 20; round++) {
		memset(site->memory, (int)round + 1, BLOCK);
		fill(site, sqe, NVME_WRITE);
		cr_assert_eq(bad_ask(queues[round % LANES], sqe), NVME_OK);
		memset(site->memory, 0, BLOCK);
		fill(site, sqe, NVME_READ);
		cr_assert_eq(bad_ask(queues[(round + 1) % LANES], sqe), NVME_OK);
		cr_assert_eq(site->memory[0], round + 1);
		cr_assert_eq(memcmp(site->memory, site->memory + 1, BLOCK - 1), 0);
	}
	for (uint32_t i = 0; i < LANES; i++)
		cr_expect_eq(site->server.lanes[i].counts.commands - before[i], 20);
	cr_expect_eq(server_counts(&site->server).errors, 0);
	site_close(site);
}

/* In several polls, and each chunk while no other lane copies it. */
Test(lanes, block_cleared_by_one_lane_reads_as_zeros_on_all)
{
	struct site *site = site_open_lanes(LANES);
	uint8_t *memory = add(site, STORE_MEMORY)->store->memory;
	struct bad_queue *queue = join_lane(site, 1), *other = join_lane(site, 0);
	uint8_t sqe[NVME_SQE_BYTES];

	for (uint32_t deallocate = 0; deallocate < 2; deallocate++) {
		memset(memory, 0xA5, 1 << 20);
		bad_fill(site, sqe, NVME_WRITE_ZEROES, 1, 254, 0);
		put_le32(sqe + SQE_NSID, NSID);
		put_le32(sqe + SQE_DW12, deallocate << 25 | 253);
		cr_assert_eq(bad_ask(queue, sqe), NVME_OK);
		bad_fill(site, sqe, NVME_READ, 0, 256, 1 << 20);
		put_le32(sqe + SQE_NSID, NSID);
		cr_assert_eq(bad_ask(other, sqe), NVME_OK);
		for (uint32_t i = 0; i < 1 << 20; i++)
			cr_assert_eq(site->memory[i], i < BLOCK || i >= 255 * BLOCK ? 0xA5 : 0, "byte %u", i);
	}
	site_close(site);
}

/* Queues of one controller are of several lanes: with the admin queue all of them go. */
Test(lanes, end_of_admin_queue_ends_queues_on_all_lanes)
{
	struct site *site = site_open_lanes(LANES);

	for (uint32_t i = 0; i < LANES; i++) {
		struct bad_queue *queue = join_lane(site, i);

		bad_vanish(queue); /* its end of the I/O queue says nothing */
		bad_close(queue - 1);
		cr_expect(ends_within(site, &site->server.lanes[0].queue_count, 3000));
		cr_expect(ends_within(site, &site->server.lanes[1].queue_count, 3000));
		bad_close(queue);
	}
	site_close(site);
}

static void set_keep_alive(struct bad_queue *admin, uint32_t ms)
{
	uint8_t sqe[NVME_SQE_BYTES];

	bad_fill(admin->site, sqe, NVME_SET_FEATURES, 0, 1, 0);
	put_le32(sqe + SQE_NSID, 0);
	put_le32(sqe + SQE_DW10, NVME_FEATURE_KEEP_ALIVE);
	put_le32(sqe + SQE_DW11, ms);
	cr_assert_eq(bad_ask(admin, sqe), NVME_OK);
}

/* Keep Alives that come to a lane which stands still lie unread: the other lane does not hold that against the host. */
Test(lanes, keep_alive_expires_not_while_the_lane_is_stalled)
{
	struct site *site = site_open_lanes(LANES);
	struct bad_queue *admin = join_lane(site, 1) - 1;
	uint8_t sqe[NVME_SQE_BYTES];
	uint64_t until_ns;

	set_keep_alive(admin, KEEP_ALIVE_MS);
	for (until_ns = app_now_ns() + 2 * KEEP_ALIVE_MS * 1000000ull; app_now_ns() < until_ns;)
		lane_poll(&site->server.lanes[0]);
	bad_fill(site, sqe, NVME_KEEP_ALIVE, 0, 1, 0);
	put_le32(sqe + SQE_NSID, 0);
	cr_expect_eq(bad_ask(admin, sqe), NVME_OK);
	cr_expect_eq(server_counts(&site->server).expired, 0);
	site_close(site);
}

/* A silent host is disconnected while both lanes work, whichever lane serves it. */
Test(lanes, silent_host_is_disconnected_on_any_lane)
{
	struct site *site = site_open_lanes(LANES);

	for (uint32_t i = 0; i < LANES; i++) {
		struct bad_queue *queue = join_lane(site, i);

		set_keep_alive(queue - 1, KEEP_ALIVE_MS);
		for (unsigned ms = 0; ms < 20 * KEEP_ALIVE_MS && !(queue - 1)->over; ms++)
			site_poll_for(site, 1);
		cr_expect((queue - 1)->over, "lane %u", i);
		cr_expect_eq(server_counts(&site->server).expired, i + 1);
		leave(site, queue);
	}
	site_close(site);
}

static uint32_t disks_of(const struct site *site)
{
	uint32_t count = 0;

	for (const struct disk *disk = site->disks.first; disk; disk = disk->next)
		count++;
	return count;
}

/* A removed namespace is released after each lane has polled and uses nothing of it. */
Test(lanes, removed_namespace_stays_until_all_lanes_release_it)
{
	struct site *site = site_open_lanes(LANES);
	struct bad_queue *queue;
	struct disk *disk = add(site, STORE_MEMORY);
	uint8_t sqe[NVME_SQE_BYTES];

	queue = join_lane(site, 1);
	fill(site, sqe, NVME_READ);
	cr_assert_eq(bad_ask(queue, sqe), NVME_OK);
	site_poll_for(site, 5);
	disks_remove(&site->disks, disk);
	disks_poll(&site->disks);
	cr_expect_eq(disks_of(site), 3, "no lane has polled");
	lane_poll(&site->server.lanes[0]);
	disks_poll(&site->disks);
	cr_expect_eq(disks_of(site), 3, "the other lane may have found it");
	store_use(disk->store, 1);
	lane_poll(&site->server.lanes[1]);
	disks_poll(&site->disks);
	cr_expect_eq(disks_of(site), 3, "it has a command of it");
	store_leave(disk->store, 1);
	disks_poll(&site->disks);
	cr_expect_eq(disks_of(site), 2);
	cr_expect_eq(bad_ask(queue, sqe), NVME_INVALID_NAMESPACE | NVME_DNR);
	site_close(site);
}

static bool share_a_line(const void *one, size_t bytes, const void *next)
{
	return ((uintptr_t)one + bytes - 1) / LINE_BYTES == (uintptr_t)next / LINE_BYTES;
}

/* What each writes to in every poll, or with every command, is in cache lines that no other one looks at. */
Test(lanes, lanes_share_no_cache_line)
{
	struct site *site = site_open_lanes(LANES);
	const struct store_share *shares = site->good->store->shares;
	const struct lane *lanes = site->server.lanes;

	for (uint32_t i = 1; i < LANES; i++) {
		cr_expect_not(share_a_line(&lanes[i - 1], sizeof(*lanes), &lanes[i]), "lanes");
		cr_expect_not(share_a_line(&shares[i - 1], sizeof(*shares), &shares[i]), "shares of a store");
	}
	site_close(site);
}

/* ---- blocks that two lcores copy ---- */

struct copier {
	struct store *store;
	uint8_t *data;
	bool writes;
	uint32_t mixed;
	_Atomic uint32_t times;
	pthread_t thread;
};

static atomic_bool copy_on;

static void nothing(struct store_request *request, uint16_t status)
{
	(void)request;
	cr_assert_eq(status, NVME_OK);
}

static void *copy(void *argument)
{
	struct copier *copier = argument;
	const struct nvmf_block block = { .op = copier->writes ? NVMF_BLOCK_WRITE : NVMF_BLOCK_READ,
					  .offset = BLOCK,
					  .bytes = BLOCK };
	struct store_request request = {
		.store = copier->store, .block = &block, .data = copier->data, .done = nothing
	};

	while (atomic_load(&copy_on)) {
		if (copier->writes)
			memset(copier->data, (int)copier->times, BLOCK);
		store_submit(&request);
		if (!copier->writes)
			copier->mixed += memcmp(copier->data, copier->data + 1, BLOCK - 1) != 0;
		copier->times++;
	}
	return NULL;
}

static void expect_whole(const struct store_config *config)
{
	char error[STORE_ERROR_BYTES];
	struct store *store = store_open(config, LANES, error);
	struct copier copiers[LANES] = { { .writes = true }, { .writes = false } };

	cr_assert(store, "%s", error);
	atomic_store(&copy_on, true);
	for (uint32_t i = 0; i < LANES; i++) {
		copiers[i].store = store;
		copiers[i].data = aligned_alloc(BLOCK, BLOCK);
		cr_assert_eq(pthread_create(&copiers[i].thread, NULL, copy, &copiers[i]), 0);
	}
	while (copiers[0].times < COPIES || copiers[1].times < COPIES)
		usleep(1000);
	atomic_store(&copy_on, false);
	for (uint32_t i = 0; i < LANES; i++) {
		pthread_join(copiers[i].thread, NULL);
		free(copiers[i].data);
	}
	cr_expect_eq(copiers[1].mixed, 0, "%u of %u reads of a block are mixtures", copiers[1].mixed, copiers[1].times);
	store_close(store);
}

Test(lanes, reader_sees_whole_blocks_of_a_writer_on_another_lcore)
{
	const struct store_config memory = { .kind = STORE_MEMORY, .bytes = 1 << 20, .block_bytes = BLOCK };
	char path[] = "/dev/shm/uroce-lanes-XXXXXX";
	const struct store_config file = {
		.kind = STORE_FILE, .path = path, .bytes = 1 << 20, .block_bytes = BLOCK, .buffered = true
	};
	int fd = mkstemp(path);

	expect_whole(&memory);
	if (fd < 0)
		cr_skip("there is no /dev/shm for a file in memory");
	expect_whole(&file);
	unlink(path);
}

/* ---- a block that is compared while another lcore writes it ---- */

struct comparer {
	struct store_request request;
	atomic_bool done;
	pthread_t thread;
};

static void compared(struct store_request *request, uint16_t status)
{
	struct comparer *comparer = (struct comparer *)(void *)request;

	cr_assert_eq(status, NVME_OK);
	atomic_store(&comparer->done, true);
}

static void *compare(void *argument)
{
	struct comparer *comparer = argument;

	store_submit(&comparer->request);
	while (!atomic_load(&comparer->done))
		ring_poll(comparer->request.ring);
	return NULL;
}

/* Who holds it is about to write the rest: a COMPARE that saw the first half would tell of a block that never was. */
static void expect_to_wait(const struct store_config *config)
{
	const struct nvmf_block block = { .op = NVMF_BLOCK_COMPARE, .offset = BLOCK, .bytes = BLOCK };
	char error[STORE_ERROR_BYTES];
	struct store *store = store_open(config, LANES, error);
	uint8_t *data = aligned_alloc(BLOCK, BLOCK);
	struct comparer comparer = {
		.request = { .store = store, .block = &block, .data = data, .done = compared, .lcore = 1 }
	};

	cr_assert(store, "%s", error);
	memset(data, 0, BLOCK);
	comparer.request.ring = ring_open(data, BLOCK, true, error, sizeof(error));
	cr_assert(comparer.request.ring);
	store_hold(store, BLOCK, BLOCK);
	cr_assert_eq(pthread_create(&comparer.thread, NULL, compare, &comparer), 0);
	usleep(RUN_US);
	cr_expect(!atomic_load(&comparer.done), "a block was compared that another lcore had in its hands");
	store_release(store, BLOCK);
	pthread_join(comparer.thread, NULL);
	ring_close(comparer.request.ring);
	store_close(store);
	free(data);
}

Test(lanes, compare_waits_for_a_block_in_use_on_another_lcore)
{
	const struct store_config memory = { .kind = STORE_MEMORY, .bytes = 1 << 20, .block_bytes = BLOCK };
	char path[] = "/dev/shm/uroce-lanes-XXXXXX";
	const struct store_config file = {
		.kind = STORE_FILE, .path = path, .bytes = 1 << 20, .block_bytes = BLOCK, .buffered = true
	};
	int fd = mkstemp(path);

	expect_to_wait(&memory);
	if (fd < 0)
		cr_skip("there is no /dev/shm for a file in memory");
	expect_to_wait(&file);
	unlink(path);
}

/* ---- sleep ---- */

static void expect_wakes(struct lane *lane, bool threads)
{
	const struct nvmf_block block = { .op = NVMF_BLOCK_WRITE, .offset = 0, .bytes = BLOCK };
	char path[] = "/tmp/uroce-lanes-XXXXXX", error[STORE_ERROR_BYTES];
	const struct store_config config = {
		.kind = STORE_FILE, .path = path, .bytes = 1 << 20, .block_bytes = BLOCK, .buffered = true
	};
	struct comparer writer = { .request = { .block = &block, .done = compared } };
	struct idle idle = { .how = UROCE_IDLE_SLEEP };
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	close(fd);
	writer.request.store = store_open(&config, 1, error);
	unlink(path);
	cr_assert(writer.request.store, "%s", error);
	writer.request.data = aligned_alloc(BLOCK, BLOCK);
	memset(writer.request.data, 1, BLOCK);
	lane->ring = writer.request.ring = ring_open(writer.request.data, BLOCK, threads, error, sizeof(error));
	cr_assert(lane->ring);
	store_submit(&writer.request);
	while (!atomic_load(&writer.done)) {
		ring_poll(lane->ring);
		if (atomic_load(&writer.done)) /* the disk was faster */
			break;
		lane->now_ns = app_now_ns();
		idle_rest(&idle, lane, false, LONG_NS);
		cr_assert_lt(app_now_ns() - lane->now_ns, LONG_NS / 2, "the disk did not wake it");
		ring_poll(lane->ring);
	}
	ring_close(lane->ring);
	store_close(writer.request.store);
	free(writer.request.data);
}

Test(lanes, completed_disk_request_wakes_the_sleeping_lane)
{
	static struct server server = { .lane_count = 1 };
	static struct lane lane = { .server = &server };
	const struct uroce_engine_config config = { .lcore_count = 1 };
	struct uroce_engine *engine;

	cr_assert_eq(uroce_engine_create(&config, &engine), 0);
	lane.lcore = uroce_engine_lcore(engine, 0);
	expect_wakes(&lane, false);
	expect_wakes(&lane, true);
	uroce_engine_destroy(engine);
}
