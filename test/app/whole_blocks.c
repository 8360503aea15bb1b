/* whole_blocks.c - of a block in memory others see what it was before a write, or what it is after, and no mixture */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "bad_host.h"
#include "common/clock.h"
#include "nvmf/bytes.h"
#include "start.h"

#define BLOCK 4096u
#define WRITTEN (64 * BLOCK) /* of a command, so that a read comes in the middle */
#define READ_AT (1u << 19)   /* in the memory of the hosts: what is read, behind what is written */
#define RUN_NS 600000000ull  /* or longer, until WRITES and READS are done */
#define WRITES 20u
#define READS 50u
#define NSID 2u

TestSuite(whole_blocks, .init = test_eal_start, .timeout = 100);

static struct disk *add_memory(struct site *site)
{
	struct settings_disk settings = { .nsid = NSID, .kind = STORE_MEMORY, .bytes = 1 << 20, .block_bytes = BLOCK };
	char error[STORE_ERROR_BYTES] = "";
	struct disk *disk = disks_add(&site->disks, site->subsystems[0], &settings, error);

	cr_assert(disk, "%s", error);
	return disk;
}

/* A write of blocks from the first one on, all bytes of which are the same, or a read of one of them. */
static void send_one(struct bad_queue *queue, uint8_t opcode, uint32_t block, uint32_t bytes, uint32_t place)
{
	struct site *site = queue->site;
	uint8_t sqe[NVME_SQE_BYTES];

	bad_fill(site, sqe, opcode, block, bytes / BLOCK, bytes);
	put_le32(sqe + SQE_NSID, NSID);
	put_le64(sqe + SQE_SGL, (uintptr_t)site->memory + place);
	cr_assert(bad_send(queue, sqe, NVME_SQE_BYTES));
	site_poll(site); /* the capsule leaves before its place is used again */
}

static bool is_mixed(const uint8_t *block)
{
	return memcmp(block, block + 1, BLOCK - 1) != 0;
}

static bool is_idle(const struct bad_queue *queue)
{
	return queue->sent == queue->answers;
}

/* Returns the number of reads. */
static uint32_t write_and_read(struct site *site, struct bad_queue *writer, struct bad_queue *reader, uint32_t *mixed)
{
	uint64_t until_ns = app_now_ns() + RUN_NS;
	uint32_t writes = 0, reads = 0;

	*mixed = 0;
	while (app_now_ns() < until_ns || writes < WRITES || reads < READS) {
		if (is_idle(writer)) {
			memset(site->memory, (int)(++writes % 251), WRITTEN);
			send_one(writer, NVME_WRITE, 0, WRITTEN, 0);
		}
		if (is_idle(reader)) {
			*mixed += reads && is_mixed(site->memory + READ_AT);
			send_one(reader, NVME_READ, ++reads % (WRITTEN / BLOCK), BLOCK, READ_AT);
		}
		site_poll(site);
	}
	while (!is_idle(writer) || !is_idle(reader))
		site_poll(site);
	return reads;
}

Test(whole_blocks, read_during_a_write_gets_whole_blocks_at_each_path_mtu)
{
	static const uint32_t mtus[] = { 256, 1024, 2048, 4096 };

	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		struct site *site = site_open();
		struct bad_queue *writer, *reader;
		uint32_t reads, mixed;

		add_memory(site);
		site->path_mtu = mtus[i];
		writer = bad_join(site, 16, false);
		reader = bad_join(site, 16, false);
		reads = write_and_read(site, writer, reader, &mixed);
		cr_expect_eq(mixed, 0, "path MTU %u: %u of %u reads are mixtures", mtus[i], mixed, reads);
		site_close(site);
	}
}

/* A block written in part by a host that disconnects is not half new. */
Test(whole_blocks, writer_that_vanishes_in_mid_write_leaves_whole_blocks)
{
	struct site *site = site_open();
	const uint8_t *memory = add_memory(site)->store->memory;
	struct bad_queue *reader;
	uint32_t mixed = 0;

	site->path_mtu = 256;
	reader = bad_join(site, 16, false);
	for (unsigned round = 1; round <= 60; round++) {
		struct bad_queue *writer = bad_join(site, 16, false);

		memset(site->memory, (int)round, WRITTEN);
		send_one(writer, NVME_WRITE, 0, WRITTEN, 0);
		for (unsigned i = 0; i < round % 20; i++) {
			/* What comes between makes bursts end within a block. */
			if (is_idle(reader))
				send_one(reader, NVME_READ, 0, BLOCK, READ_AT);
			site_poll(site);
		}
		bad_close(writer);
		bad_close(writer - 1);
		site_poll_for(site, 5);
		for (uint32_t block = 0; block < WRITTEN / BLOCK; block++)
			mixed += is_mixed(memory + block * BLOCK);
	}
	cr_expect_eq(mixed, 0, "%u blocks are half new", mixed);
	site_close(site);
}
