/* power_disk.c - a simulated disk with a volatile cache, behind the functions of ring.h */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "power.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"

void power_log(struct disk *disk, enum power_event_kind kind, uint32_t number, uint32_t version)
{
	if (disk->log_count == disk->log_room) {
		disk->log_room = disk->log_room ? 2 * disk->log_room : 1024;
		disk->log = realloc(disk->log, disk->log_room * sizeof(*disk->log));
		cr_assert(disk->log);
	}
	disk->log[disk->log_count++] = (struct power_event){ kind, number, version };
}

const uint8_t *power_now(const struct disk *disk, uint32_t block)
{
	return disk->block[block].versions[disk->block[block].count - 1];
}

/* ---- what lasts ---- */

static void make_lasting(struct disk *disk, uint32_t number, uint32_t version)
{
	struct disk_block *block = &disk->block[number];

	if (version <= block->lasting)
		return;
	block->lasting = version;
	power_log(disk, DISK_LASTS, number, version);
}

/* What was told to be done when the sync was submitted, or what has taken its place meanwhile; no more than that. */
static void make_all_lasting(struct disk *disk, const struct disk_op *op)
{
	for (uint32_t i = 0; i < POWER_BLOCKS; i++) {
		const struct disk_block *block = &disk->block[i];
		uint32_t from = op->seen[i] > block->lost ? op->seen[i] : block->lost;

		if (from < block->count)
			make_lasting(disk, i, from + draw_below(&disk->random, block->count - from));
	}
}

static struct disk_file *file_of(struct disk *disk, int fd)
{
	for (uint32_t i = 0; i < disk->file_count; i++) {
		if (disk->file[i].fd == fd)
			return &disk->file[i];
	}
	cr_assert_lt(disk->file_count, POWER_LCORES);
	disk->file[disk->file_count].fd = fd;
	return &disk->file[disk->file_count++];
}

/* Is there a failure that this descriptor's syncs have not told yet? */
static bool has_news(struct disk *disk, int fd)
{
	struct disk_file *file = file_of(disk, fd);
	bool news = file->failures != disk->failures;

	file->failures = disk->failures;
	return news;
}

/* As the page cache does it: what could not be written is clean from now on, stays readable, and is not tried again. */
static void forget_some(struct disk *disk, int fd)
{
	disk->failures++;
	has_news(disk, fd);
	for (uint32_t i = 0; i < POWER_BLOCKS; i++) {
		if (draw_chance(&disk->random, 700))
			disk->block[i].lost = disk->block[i].count;
	}
}

/* ---- operations ---- */

static void write_some(struct disk *disk, struct disk_op *op, uint64_t offset, const uint8_t *data, uint64_t bytes)
{
	while (bytes) {
		uint32_t number = (uint32_t)(offset / POWER_BLOCK), at = (uint32_t)(offset % POWER_BLOCK);
		uint32_t part = bytes < POWER_BLOCK - at ? (uint32_t)bytes : POWER_BLOCK - at;
		struct disk_block *block = &disk->block[number];

		cr_assert_lt(block->count, POWER_VERSIONS);
		memcpy(block->versions[block->count], block->versions[block->count - 1], POWER_BLOCK);
		if (data)
			memcpy(block->versions[block->count] + at, data, part);
		else
			memset(block->versions[block->count] + at, 0, part);
		op->made[number] = block->count;
		power_log(disk, DISK_WROTE, number, block->count++);
		offset += part;
		data += data ? part : 0;
		bytes -= part;
	}
}

static void read_some(const struct disk *disk, uint64_t offset, uint8_t *data, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		data[i] = power_now(disk, (uint32_t)((offset + i) / POWER_BLOCK))[(offset + i) % POWER_BLOCK];
}

static uint64_t whole_blocks(struct disk *disk, uint64_t bytes)
{
	return bytes / POWER_BLOCK ? draw_below(&disk->random, (uint32_t)(bytes / POWER_BLOCK)) * POWER_BLOCK : 0;
}

static bool syncs(const struct io_uring_sqe *sqe)
{
	return sqe->opcode == IORING_OP_FSYNC || (sqe->rw_flags & RWF_DSYNC);
}

static bool reads(const struct io_uring_sqe *sqe)
{
	return sqe->opcode == IORING_OP_READ || sqe->opcode == IORING_OP_READ_FIXED;
}

static int draw_error(struct disk *disk, const struct io_uring_sqe *sqe)
{
	const struct disk_faults *faults = &disk->faults;

	if (draw_chance(&disk->random, faults->busy))
		return draw_below(&disk->random, 2) ? -EAGAIN : -EINTR;
	if (draw_chance(&disk->random, syncs(sqe) ? faults->sync_broken : faults->broken))
		return -EIO;
	if (sqe->opcode != IORING_OP_FSYNC && !reads(sqe) && draw_chance(&disk->random, faults->no_space))
		return -ENOSPC;
	return POWER_FINE;
}

/* The number of bytes that may be moved at most, or an error. */
static int draw_result(struct disk *disk, const struct io_uring_sqe *sqe, uint64_t bytes)
{
	int result = disk->always;

	if (disk->forced_next < disk->forced_count)
		result = disk->forced[disk->forced_next++];
	if (result == 0)
		result = draw_error(disk, sqe);
	if (result == POWER_FINE && bytes > POWER_BLOCK && draw_chance(&disk->random, disk->faults.cut_short))
		return (int)(whole_blocks(disk, bytes - POWER_BLOCK) + POWER_BLOCK);
	return result;
}

static int move(struct disk *disk, struct disk_op *op, bool may_be_fixed)
{
	const struct io_uring_sqe *sqe = &op->sqe;
	bool fixed = sqe->opcode == IORING_OP_READ_FIXED || sqe->opcode == IORING_OP_WRITE_FIXED;
	uint8_t *data = (uint8_t *)(uintptr_t)sqe->addr;
	int result = draw_result(disk, sqe, sqe->len);
	uint64_t bytes = result >= 0 && (uint32_t)result < sqe->len ? (uint32_t)result : sqe->len;

	cr_assert(sqe->len > 0 && sqe->off + sqe->len <= POWER_BYTES, "%lu bytes at %lu", (uint64_t)sqe->len,
		  (uint64_t)sqe->off);
	cr_assert(!fixed || may_be_fixed, "memory that was not registered");
	if (result == POWER_NOTHING)
		return 0;
	if (reads(sqe)) {
		if (result > 0)
			read_some(disk, sqe->off, data, bytes);
		return result < 0 ? result : (int)bytes;
	}
	if (result < 0) {
		if (result != -EAGAIN && result != -EINTR)
			write_some(disk, op, sqe->off, data, whole_blocks(disk, sqe->len));
		if (result == -EIO && syncs(sqe))
			forget_some(disk, sqe->fd);
		return result;
	}
	write_some(disk, op, sqe->off, data, bytes);
	for (uint32_t i = 0; syncs(sqe) && i < POWER_BLOCKS; i++) {
		if (op->made[i])
			make_lasting(disk, i, op->made[i]);
	}
	return syncs(sqe) && has_news(disk, sqe->fd) ? -EIO : (int)bytes;
}

static int sync_all(struct disk *disk, struct disk_op *op)
{
	int result = draw_result(disk, &op->sqe, 0);

	cr_assert(op->sqe.off == 0 && op->sqe.len == 0, "the whole file is to be synced");
	cr_assert_eq(op->sqe.fsync_flags & ~IORING_FSYNC_DATASYNC, 0);
	if (result == -EIO)
		forget_some(disk, op->sqe.fd);
	if (result < 0)
		return result;
	if (has_news(disk, op->sqe.fd))
		return -EIO;
	make_all_lasting(disk, op);
	return 0;
}

/* Like all else it is in the cache until a sync. */
static int make_zero(struct disk *disk, struct disk_op *op)
{
	uint64_t offset = op->sqe.off, bytes = op->sqe.addr;
	uint32_t mode = op->sqe.len;
	int result = draw_result(disk, &op->sqe, 0);

	cr_assert(bytes > 0 && offset + bytes <= POWER_BYTES, "%lu bytes at %lu", bytes, offset);
	cr_assert(mode == (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE) ||
		  mode == (FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE));
	if (mode & FALLOC_FL_PUNCH_HOLE ? disk->faults.no_punch : disk->faults.no_zero_range)
		return -EOPNOTSUPP;
	if (result < 0) {
		if (result == -EIO || result == -ENOSPC)
			write_some(disk, op, offset, NULL, whole_blocks(disk, bytes));
		return result;
	}
	write_some(disk, op, offset, NULL, bytes);
	return 0;
}

static void carry_out(struct ring *ring, struct disk_op *op)
{
	struct disk *disk = ring->disk;

	cr_assert_eq((void *)(uintptr_t)op->sqe.user_data, op->entry);
	cr_assert_lt(disk->history_count, POWER_HISTORY);
	disk->history[disk->history_count++] = op->sqe;
	op->carried_out = true;
	switch (op->sqe.opcode) {
	case IORING_OP_READ:
	case IORING_OP_READ_FIXED:
	case IORING_OP_WRITE:
	case IORING_OP_WRITE_FIXED:
		op->result = move(disk, op, ring->fixed);
		break;
	case IORING_OP_FSYNC:
		op->result = sync_all(disk, op);
		break;
	case IORING_OP_FALLOCATE:
		op->result = make_zero(disk, op);
		break;
	default:
		cr_assert(false, "opcode %u", op->sqe.opcode);
	}
}

static void tell(struct disk *disk, struct disk_op *op)
{
	struct ring_entry *entry = op->entry;

	for (uint32_t i = 0; op->result >= 0 && i < POWER_BLOCKS; i++) {
		if (op->made[i] > disk->block[i].told)
			disk->block[i].told = op->made[i];
	}
	op->entry = NULL;
	entry->complete(entry, op->result);
}

/* ---- ring.h ---- */

struct io_uring_sqe *ring_entry(struct ring *ring, struct ring_entry *entry)
{
	for (uint32_t i = 0; i < POWER_OPS && !ring->full; i++) {
		struct disk_op *op = &ring->op[i];

		if (op->entry)
			continue;
		memset(op, 0, sizeof(*op));
		op->entry = entry;
		for (uint32_t b = 0; b < POWER_BLOCKS; b++)
			op->seen[b] = ring->disk->block[b].told;
		return &op->sqe;
	}
	return NULL;
}

void ring_await(struct ring *ring, struct turn *turn, struct turn_work *work)
{
	turn_add(&ring->waiting, turn, work);
}

bool ring_is_awaited(const struct ring *ring)
{
	return !STAILQ_EMPTY(&ring->waiting);
}

bool ring_has_fixed_memory(const struct ring *ring)
{
	return ring->fixed;
}

/* The disk works for all, whichever lcore polls. */
static void work(struct disk *disk)
{
	uint32_t ops = disk->ring_count * POWER_OPS, first = draw_below(&disk->random, ops);

	for (uint32_t i = 0; i < ops; i++) {
		struct ring *ring = &disk->rings[(first + i) % ops / POWER_OPS];
		struct disk_op *op = &ring->op[(first + i) % POWER_OPS];

		if (op->entry && !op->carried_out && !ring->held && draw_chance(&disk->random, 500))
			carry_out(ring, op);
	}
}

static unsigned tell_some(struct ring *ring, bool failed_syncs, uint32_t chance)
{
	uint32_t first = draw_below(&ring->disk->random, POWER_OPS);
	unsigned count = 0;

	for (uint32_t i = 0; i < POWER_OPS; i++) {
		struct disk_op *op = &ring->op[(first + i) % POWER_OPS];

		if (op->entry == NULL || !op->carried_out || !draw_chance(&ring->disk->random, chance) ||
		    (failed_syncs && (op->result >= 0 || !syncs(&op->sqe))))
			continue;
		tell(ring->disk, op);
		count++;
	}
	return count;
}

/* A sync that fails is told before any that finds nothing wrong any more; but another lcore may hear of that first. */
unsigned ring_poll(struct ring *ring)
{
	unsigned count;

	while (!ring->full && turn_poll(&ring->waiting))
		;
	if (ring->held)
		return 0;
	work(ring->disk);
	count = tell_some(ring, true, 1000);
	return count + tell_some(ring, false, 500);
}
