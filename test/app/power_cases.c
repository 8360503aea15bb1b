/* power_cases.c - what a store in a file makes of what the kernel says, case by case */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "power.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define FUA (1u << 30)
#define DEALLOCATES (1u << 25)
#define TRIES 1000u
#define POLLS 20000u
#define PUNCH (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE)
#define ZERO_RANGE (FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE)
#define SEED 7u

static struct nvmf_capsule blocks(uint8_t opcode, uint32_t first, uint32_t count, uint32_t dw12)
{
	struct nvmf_capsule capsule =
		sqe_blocks(opcode, 1, first, count, opcode == NVME_WRITE_ZEROES ? 0 : count * POWER_BLOCK);

	sqe_put(&capsule, 48, 4, dw12 | (count - 1));
	return capsule;
}

static void fill(struct power_task *task, uint64_t word, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		power_fill(task->data + (size_t)i * POWER_BLOCK, word);
}

static void expect_block(const struct power *power, uint32_t block, uint64_t word, const char *what)
{
	uint64_t found;

	cr_expect(power_word(power_now(&power->disk, block), &found) && found == word, "%s: block %u is %lx, not %lx",
		  what, block, found, word);
}

static void work(struct power *power, struct power_task *task)
{
	for (uint32_t poll = 0; task->busy; poll++) {
		cr_assert_lt(poll, POLLS, "it does not end");
		ring_poll(&power->ring[0]);
	}
}

static uint16_t serve(struct power *power, struct nvmf_capsule capsule)
{
	power_begin(&power->task[0], capsule);
	work(power, &power->task[0]);
	return power->task[0].status;
}

static void force(struct power *power, uint32_t count, const int *results)
{
	if (count)
		memcpy(power->disk.forced, results, count * sizeof(*results));
	power->disk.forced_count = count;
	power->disk.forced_next = power->disk.history_count = 0;
}

static bool lasts(const struct power *power, uint32_t block)
{
	return power->disk.block[block].lasting == power->disk.block[block].count - 1;
}

/* They have been changed, too. */
static void expect_lasting(const struct power *power, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		cr_expect(lasts(power, i) && power->disk.block[i].count > 1, "block %u", i);
}

Test(power_cases, short_reads_and_writes_continue)
{
	static const int cuts[] = { 100, 1, 512, 700 };

	for (int fixed = 0; fixed < 2; fixed++) {
		struct power *power = power_open(SEED, 1);

		power->ring[0].fixed = fixed;
		force(power, 4, cuts);
		fill(&power->task[0], 0xA5, 4);
		cr_expect_eq(serve(power, blocks(NVME_WRITE, 3, 4, 0)), NVME_OK);
		cr_expect_eq(power->disk.history_count, 5);
		for (uint32_t i = 3; i < 7; i++)
			expect_block(power, i, 0xA5, "written");
		expect_block(power, 2, power_first_word(2), "before");
		expect_block(power, 7, power_first_word(7), "behind");
		memset(power->task[0].data, 0, POWER_BYTES);
		force(power, 4, cuts);
		cr_expect_eq(serve(power, blocks(NVME_READ, 3, 4, 0)), NVME_OK);
		for (uint32_t i = 0; i < 4 * POWER_BLOCK; i += 8)
			cr_assert_eq(host_get(power->task[0].data + i, 8), 0xA5, "byte %u", i);
		power_close(power);
	}
}

Test(power_cases, all_parts_of_a_write_with_fua_are_durable)
{
	struct power *power = power_open(SEED, 1);

	force(power, 2, (int[]){ 512, 512 });
	cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 4, FUA)), NVME_OK);
	cr_expect_eq(power->disk.history_count, 3);
	expect_lasting(power, 0, 4);
	for (uint32_t i = 0; i < 3; i++)
		cr_expect_eq(power->disk.history[i].rw_flags, RWF_DSYNC);
	power_close(power);
}

Test(power_cases, busy_kernel_is_retried_a_bounded_number_of_times)
{
	struct power *power = power_open(SEED, 1);

	force(power, 3, (int[]){ -EAGAIN, -EINTR, -EAGAIN });
	cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 1, 0)), NVME_OK);
	cr_expect_eq(power->disk.history_count, 4);
	force(power, 3, (int[]){ -EAGAIN, -EINTR, -EAGAIN });
	cr_expect_eq(serve(power, sqe_make(NVME_FLUSH, 1, 0)), NVME_OK);
	cr_expect(lasts(power, 0));
	power->disk.always = -EAGAIN;
	force(power, 0, NULL);
	cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 1, 0)), NVME_NAMESPACE_NOT_READY);
	cr_expect_eq(power->disk.history_count, TRIES);
	force(power, 0, NULL);
	cr_expect_eq(serve(power, sqe_make(NVME_FLUSH, 1, 0)), NVME_NAMESPACE_NOT_READY);
	cr_expect_eq(power->disk.history_count, TRIES);
	power_close(power);
}

Test(power_cases, each_error_has_its_status)
{
	static const struct {
		const char *what;
		uint8_t opcode;
		int result;
		uint16_t status;
	} rows[] = {
		{ "no space for a write", NVME_WRITE, -ENOSPC, FINAL(NVME_CAPACITY_EXCEEDED) },
		{ "no quota for a write", NVME_WRITE, -EDQUOT, FINAL(NVME_CAPACITY_EXCEEDED) },
		{ "a write beyond what files may be", NVME_WRITE, -EFBIG, FINAL(NVME_CAPACITY_EXCEEDED) },
		{ "no space for zeroes", NVME_WRITE_ZEROES, -ENOSPC, FINAL(NVME_CAPACITY_EXCEEDED) },
		{ "a write", NVME_WRITE, -EIO, NVME_WRITE_FAULT },
		{ "a write of nothing", NVME_WRITE, POWER_NOTHING, NVME_WRITE_FAULT },
		{ "zeroes", NVME_WRITE_ZEROES, -EIO, NVME_WRITE_FAULT },
		{ "a file that may not be written", NVME_WRITE, -EPERM, FINAL(NVME_WRITE_PROTECTED) },
		{ "a file system that may not be written", NVME_WRITE, -EROFS, FINAL(NVME_WRITE_PROTECTED) },
		{ "a read", NVME_READ, -EIO, NVME_READ_ERROR },
		{ "a file that has become shorter", NVME_READ, POWER_NOTHING, NVME_READ_ERROR },
		{ "a compare", NVME_COMPARE, -EIO, NVME_READ_ERROR },
		{ "no memory", NVME_READ, -ENOMEM, NVME_NAMESPACE_NOT_READY },
	};
	struct power *power = power_open(SEED, 1);

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		force(power, 1, &rows[i].result);
		cr_expect_eq(serve(power, blocks(rows[i].opcode, 0, 2, 0)), rows[i].status, "%s: %04x", rows[i].what,
			     power->task[0].status);
	}
	fill(&power->task[0], 1, 2);
	cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 2, 0)), NVME_OK, "it goes on");
	cr_expect_eq(serve(power, sqe_make(NVME_FLUSH, 1, 0)), NVME_OK, "and so do flushes");
	power_close(power);
}

Test(power_cases, full_ring_delays_requests)
{
	static const uint8_t opcodes[] = { NVME_WRITE, NVME_READ, NVME_COMPARE, NVME_WRITE_ZEROES };
	struct power *power = power_open(SEED, 1);

	power->ring[0].full = true;
	fill(&power->task[0], power_first_word(0), 1); /* what is written */
	fill(&power->task[2], power_first_word(0), 1); /* and compared */
	for (uint32_t i = 0; i < sizeof(opcodes); i++)
		power_begin(&power->task[i], blocks(opcodes[i], i < 3 ? 0 : 1, 1, FUA));
	power_begin(&power->task[4], sqe_make(NVME_FLUSH, 1, 0));
	ring_poll(&power->ring[0]);
	for (uint32_t i = 0; i < 5; i++)
		cr_expect(power->task[i].busy, "number %u does not wait", i);
	power->ring[0].full = false;
	for (uint32_t i = 0; i < 5; i++) {
		work(power, &power->task[i]);
		cr_expect_eq(power->task[i].status, NVME_OK, "number %u: %04x", i, power->task[i].status);
	}
	power_close(power);
}

Test(power_cases, flush_completes_after_its_sync)
{
	struct power *power = power_open(SEED, 1);
	struct power_task *task = &power->task[1];

	cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 4, 0)), NVME_OK);
	cr_expect_not(lasts(power, 0));
	force(power, 0, NULL);
	power->ring[0].held = true;
	power_begin(task, sqe_make(NVME_FLUSH, 1, 0));
	ring_poll(&power->ring[0]);
	cr_expect(task->busy);
	power->ring[0].held = false;
	work(power, task);
	cr_expect_eq(task->status, NVME_OK);
	cr_expect_eq(power->disk.history_count, 1);
	cr_expect_eq(power->disk.history[0].opcode, IORING_OP_FSYNC);
	cr_expect_eq(power->disk.history[0].fsync_flags, IORING_FSYNC_DATASYNC);
	expect_lasting(power, 0, 4);
	power_close(power);
}

/* By themselves fallocate and what it changed are as volatile as a write. */
Test(power_cases, zeroes_with_fua_are_synced_behind_the_last_part)
{
	struct power *power = power_open(SEED, 1);

	power->disk.faults.no_punch = power->disk.faults.no_zero_range = true;
	force(power, 3, (int[]){ POWER_FINE, POWER_FINE, 512 });
	cr_expect_eq(serve(power, blocks(NVME_WRITE_ZEROES, 1, 3, FUA | DEALLOCATES)), NVME_OK);
	cr_expect_eq(power->disk.history_count, 5);
	cr_expect_eq(power->disk.history[4].opcode, IORING_OP_FSYNC);
	for (uint32_t i = 1; i < 4; i++) {
		expect_block(power, i, 0, "FUA");
		cr_expect(lasts(power, i), "block %u", i);
	}
	force(power, 3, (int[]){ POWER_FINE, POWER_FINE, 512 });
	cr_expect_eq(serve(power, blocks(NVME_WRITE_ZEROES, 5, 3, DEALLOCATES)), NVME_OK);
	cr_expect_eq(power->disk.history_count, 4, "no FUA, no sync");
	power_close(power);
}

Test(power_cases, without_a_write_cache_all_changes_are_durable)
{
	struct power *power = power_open(SEED, 1);

	power_set_cache(power, false);
	cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 2, 0)), NVME_OK);
	expect_lasting(power, 0, 2);
	cr_expect_eq(serve(power, blocks(NVME_WRITE_ZEROES, 2, 2, 0)), NVME_OK);
	expect_lasting(power, 2, 2);
	host_put(power->task[0].data, 4, 0);
	host_put(power->task[0].data + 4, 4, 2);
	host_put(power->task[0].data + 8, 8, 4);
	cr_expect_eq(serve(power, sqe_ranges(1, 1, true)), NVME_OK);
	expect_lasting(power, 4, 2);
	power_close(power);
}

/* ---- zeroes ---- */

Test(power_cases, zeros_are_written_where_holes_are_unsupported)
{
	static const struct {
		const char *what;
		uint32_t dw12;
		bool no_punch, no_zero_range;
		uint32_t modes[3], count; /* 0: a write */
	} rows[] = {
		{ "may deallocate", DEALLOCATES, false, false, { PUNCH }, 1 },
		{ "may not", 0, false, false, { ZERO_RANGE }, 1 },
		{ "no holes", DEALLOCATES, true, false, { PUNCH, ZERO_RANGE }, 2 },
		{ "neither", DEALLOCATES, true, true, { PUNCH, ZERO_RANGE, 0 }, 3 },
		{ "may not, and cannot", 0, false, true, { ZERO_RANGE, 0 }, 2 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct power *power = power_open(SEED, 1);

		power->disk.faults.no_punch = rows[i].no_punch;
		power->disk.faults.no_zero_range = rows[i].no_zero_range;
		cr_expect_eq(serve(power, blocks(NVME_WRITE_ZEROES, 2, 3, rows[i].dw12)), NVME_OK, "%s", rows[i].what);
		cr_assert_eq(power->disk.history_count, rows[i].count, "%s", rows[i].what);
		for (uint32_t n = 0; n < rows[i].count; n++) {
			const struct io_uring_sqe *sqe = &power->disk.history[n];

			cr_expect_eq(sqe->opcode, rows[i].modes[n] ? IORING_OP_FALLOCATE : IORING_OP_WRITE);
			cr_expect(rows[i].modes[n] == 0 || sqe->len == rows[i].modes[n], "%s: %u", rows[i].what, n);
		}
		for (uint32_t b = 0; b < 7; b++)
			expect_block(power, b, b >= 2 && b < 5 ? 0 : power_first_word(b), rows[i].what);
		power_close(power);
	}
}

Test(power_cases, deallocate_clears_all_its_ranges)
{
	static const uint32_t ranges[][2] = { { 0, 0 }, { 1, 2 }, { 9, 0 }, { 5, 1 }, { 14, 2 }, { 16, 0 } };

	for (int writes = 0; writes < 2; writes++) {
		struct power *power = power_open(SEED, 1);
		uint32_t zeroed = 0;

		power->disk.faults.no_punch = power->disk.faults.no_zero_range = writes;
		for (uint32_t i = 0; i < 6; i++) {
			host_put(power->task[0].data + 16 * i, 4, 0);
			host_put(power->task[0].data + 16 * i + 4, 4, ranges[i][1]);
			host_put(power->task[0].data + 16 * i + 8, 8, ranges[i][0]);
			zeroed |= ((1u << ranges[i][1]) - 1) << ranges[i][0];
		}
		cr_expect_eq(serve(power, sqe_ranges(1, 6, true)), NVME_OK);
		for (uint32_t b = 0; b < POWER_BLOCKS; b++)
			expect_block(power, b, zeroed & 1u << b ? 0 : power_first_word(b), "ranges");
		power_close(power);
	}
}

Test(power_cases, empty_deallocate_completes)
{
	struct power *power = power_open(SEED, 1);

	memset(power->task[0].data, 0, POWER_BYTES);
	cr_expect_eq(serve(power, sqe_ranges(1, 3, true)), NVME_OK, "three ranges of nothing");
	host_put(power->task[0].data + 4, 4, 2);
	cr_expect_eq(serve(power, sqe_ranges(1, 3, false)), NVME_OK, "another hint");
	cr_expect_eq(power->disk.history_count, 0);
	power_set_cache(power, false);
	cr_expect_eq(serve(power, sqe_ranges(1, 1, false)), NVME_OK, "the same without a cache");
	expect_block(power, 0, power_first_word(0), "untouched");
	power_close(power);
}

Test(power_cases, compare_reports_differing_blocks)
{
	struct power *power = power_open(SEED, 1);

	force(power, 1, (int[]){ 700 });
	fill(&power->task[0], power_first_word(4), 1);
	power_fill(power->task[0].data + POWER_BLOCK, power_first_word(5));
	cr_expect_eq(serve(power, blocks(NVME_COMPARE, 4, 2, 0)), NVME_OK);
	power->task[0].data[2 * POWER_BLOCK - 1] ^= 1;
	cr_expect_eq(serve(power, blocks(NVME_COMPARE, 4, 2, 0)), FINAL(NVME_COMPARE_FAILURE));
	cr_expect_eq(power->disk.block[4].count, 1);
	power_close(power);
}

/* ---- syncs that fail ---- */

Test(power_cases, failed_sync_is_an_error)
{
	struct power *power = power_open(SEED, 1);

	cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 1, 0)), NVME_OK);
	force(power, 1, (int[]){ -EIO });
	cr_expect_eq(serve(power, sqe_make(NVME_FLUSH, 1, 0)), FINAL(NVME_WRITE_FAULT));
	cr_expect_eq(power->disk.history_count, 1);
	power_close(power);
	power = power_open(SEED, 1);
	force(power, 1, (int[]){ -ENOSPC });
	cr_expect_eq(serve(power, sqe_make(NVME_FLUSH, 1, 0)), FINAL(NVME_CAPACITY_EXCEEDED));
	power_close(power);
	power = power_open(SEED, 1);
	force(power, 1, (int[]){ -EIO });
	cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 1, FUA)), NVME_WRITE_FAULT);
	power_close(power);
	power = power_open(SEED, 1);
	force(power, 2, (int[]){ POWER_FINE, -EIO });
	cr_expect_eq(serve(power, blocks(NVME_WRITE_ZEROES, 0, 1, FUA)), FINAL(NVME_WRITE_FAULT));
	cr_expect_eq(power->disk.history_count, 2);
	power_close(power);
}

/* A sync that follows a failed sync does not write the lost data again but reports success. */
Test(power_cases, no_flush_succeeds_after_a_failed_sync)
{
	static const struct {
		const char *what;
		uint8_t opcode;
		uint32_t dw12, count;
		int results[2];
		bool believed;
	} rows[] = {
		{ "a flush", NVME_FLUSH, 0, 1, { -EIO }, false },
		{ "a flush without space", NVME_FLUSH, 0, 1, { -ENOSPC }, false },
		{ "a flush without memory", NVME_FLUSH, 0, 1, { -ENOMEM }, false },
		{ "a write with FUA", NVME_WRITE, FUA, 1, { -EIO }, false },
		{ "zeroes with FUA", NVME_WRITE_ZEROES, FUA, 2, { POWER_FINE, -EIO }, false },
		{ "a write", NVME_WRITE, 0, 1, { -EIO }, true },
		{ "a write with FUA without space", NVME_WRITE, FUA, 1, { -ENOSPC }, true },
		{ "zeroes with FUA that are not even made", NVME_WRITE_ZEROES, FUA, 1, { -EIO }, true },
		{ "a read", NVME_READ, FUA, 1, { -EIO }, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint16_t status = rows[i].believed ? NVME_OK : FINAL(NVME_WRITE_FAULT);
		struct power *power = power_open(SEED, 1);

		force(power, rows[i].count, rows[i].results);
		cr_expect_neq(serve(power, rows[i].opcode == NVME_FLUSH ? sqe_make(NVME_FLUSH, 1, 0) :
									  blocks(rows[i].opcode, 0, 1, rows[i].dw12)),
			      NVME_OK, "%s", rows[i].what);
		cr_expect_eq(serve(power, sqe_make(NVME_FLUSH, 1, 0)), status, "%s: flush", rows[i].what);
		cr_expect_eq(serve(power, sqe_make(NVME_FLUSH, 1, 0)), status, "%s: flush again", rows[i].what);
		cr_expect_eq(serve(power, blocks(NVME_WRITE_ZEROES, 0, 1, FUA)), status, "%s: zeroes", rows[i].what);
		cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 1, 0)), NVME_OK, "%s: write", rows[i].what);
		cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 1, FUA)), NVME_OK, "%s: FUA", rows[i].what);
		cr_expect_eq(serve(power, blocks(NVME_READ, 0, 1, 0)), NVME_OK, "%s: read", rows[i].what);
		power_close(power);
	}
}

Test(power_cases, concurrent_flushes_fail_after_a_failed_one)
{
	struct power *power = power_open(SEED, 1);

	cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 1, 0)), NVME_OK);
	force(power, 2, (int[]){ -EIO, POWER_FINE });
	power_begin(&power->task[1], sqe_make(NVME_FLUSH, 1, 0));
	power_begin(&power->task[2], sqe_make(NVME_FLUSH, 1, 0));
	work(power, &power->task[1]);
	work(power, &power->task[2]);
	cr_expect_eq(power->task[1].status, FINAL(NVME_WRITE_FAULT));
	cr_expect_eq(power->task[2].status, FINAL(NVME_WRITE_FAULT));
	power_close(power);
}

/* The file is one in memory, in which nothing of the disk has a part. */
static void use_memory(struct power *power)
{
	close(power->store->fd);
	power->store->fd = memfd_create("disk", MFD_ALLOW_SEALING);
	cr_assert_geq(power->store->fd, 0);
	cr_assert_eq(ftruncate(power->store->fd, POWER_BYTES), 0);
	power->store->at_once = true;
}

Test(power_cases, file_in_memory_is_accessed_synchronously)
{
	struct power *power = power_open(SEED, 1);
	struct power_task *task = &power->task[0];

	use_memory(power);
	fill(task, 0xA5, 4);
	power_begin(task, blocks(NVME_WRITE, 3, 4, 0));
	cr_expect(!task->busy && task->status == NVME_OK);
	power_begin(task, blocks(NVME_WRITE, 9, 1, FUA));
	cr_expect(!task->busy && task->status == NVME_OK);
	memset(task->data, 0, POWER_BYTES);
	power_begin(task, blocks(NVME_READ, 2, 6, 0));
	cr_expect(!task->busy && task->status == NVME_OK);
	for (uint32_t i = 0; i < 6 * POWER_BLOCK; i += 8)
		cr_assert_eq(host_get(task->data + i, 8), i >= POWER_BLOCK && i < 5 * POWER_BLOCK ? 0xA5 : 0, "byte %u",
			     i);
	cr_expect_eq(power->disk.history_count, 0);
	power_close(power);
}

Test(power_cases, the_errors_of_a_file_in_memory_have_their_statuses)
{
	struct power *power = power_open(SEED, 1);

	use_memory(power);
	cr_assert_eq(ftruncate(power->store->fd, 3 * POWER_BLOCK), 0);
	cr_expect_eq(serve(power, blocks(NVME_READ, 1, 2, 0)), NVME_OK);
	cr_expect_eq(serve(power, blocks(NVME_READ, 1, 4, 0)), NVME_READ_ERROR, "half of it is there");
	cr_expect_eq(serve(power, blocks(NVME_READ, 8, 1, 0)), NVME_READ_ERROR);
	cr_assert_eq(fcntl(power->store->fd, F_ADD_SEALS, F_SEAL_WRITE), 0);
	cr_expect_eq(serve(power, blocks(NVME_WRITE, 0, 1, 0)), FINAL(NVME_WRITE_PROTECTED));
	cr_expect_eq(serve(power, sqe_make(NVME_FLUSH, 1, 0)), NVME_OK, "a write that failed is no sync that failed");
	power_close(power);
}
