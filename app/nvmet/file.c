/* file.c - a store in a file or on a block device, with io_uring */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <liburing.h>
#include <linux/falloc.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/uio.h>
#include <unistd.h>

#define ALIGNED 4096u
#define ZEROS_BYTES (1u << 20)
#define TRIES_MAX 1000u

/* Ways to make a range read as zeros, the best one first. */
enum way { WAY_PUNCH, WAY_ZERO_RANGE, WAY_WRITE };

static void proceed(struct store_request *request);

static void finish(struct store_request *request, uint16_t status)
{
	free(request->second);
	request->second = NULL;
	request->done(request, status);
}

/* A buffer of zeros, which lcores only read; it is made when the first file is opened. */
static const uint8_t *zeros(void)
{
	static uint8_t *memory;

	if (memory == NULL && (memory = aligned_alloc(ALIGNED, ZEROS_BYTES)) != NULL)
		memset(memory, 0, ZEROS_BYTES);
	return memory;
}

/* ---- submitting ---- */

static bool clears(const struct store_request *request)
{
	return request->block->op == NVMF_BLOCK_ZERO || request->block->op == NVMF_BLOCK_DEALLOCATE;
}

static bool is_sync(const struct store_request *request)
{
	return request->syncs || request->block->op == NVMF_BLOCK_FLUSH;
}

/* Skips ranges of 0 bytes. */
static void skip_empty_ranges(struct store_request *request)
{
	uint64_t offset, bytes = 0;

	while (request->range < store_range_count(request)) {
		store_range(request, &offset, &bytes);
		if (bytes > 0)
			return;
		request->range++;
	}
}

/*
 * Linux reports data that it could not write once to each open file description, so each lcore has its own; if two
 * lcores shared one, one of them might never hear of the error.
 */
static int fd_of(const struct store_request *request)
{
	return request->store->shares[request->lcore].fd;
}

static void fill_clear(struct io_uring_sqe *sqe, const struct store_request *request)
{
	uint64_t offset, bytes, left;
	int fd = fd_of(request);

	store_range(request, &offset, &bytes);
	left = bytes - request->moved;
	switch ((enum way)request->way) {
	case WAY_PUNCH:
		io_uring_prep_fallocate(sqe, fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
					(off_t)bytes);
		break;
	case WAY_ZERO_RANGE:
		io_uring_prep_fallocate(sqe, fd, FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, (off_t)offset,
					(off_t)bytes);
		break;
	case WAY_WRITE:
		io_uring_prep_write(sqe, fd, zeros(), (unsigned)(left < ZEROS_BYTES ? left : ZEROS_BYTES),
				    offset + request->moved);
		break;
	}
}

static void fill(struct io_uring_sqe *sqe, const struct store_request *request)
{
	const struct nvmf_block *block = request->block;
	int fd = fd_of(request);
	unsigned left = (unsigned)(block->bytes - request->moved);
	uint64_t at = block->offset + request->moved;
	bool fixed = ring_has_fixed_memory(request->ring);

	if (is_sync(request)) {
		io_uring_prep_fsync(sqe, fd, IORING_FSYNC_DATASYNC);
		return;
	}
	switch (block->op) {
	case NVMF_BLOCK_READ:
		io_uring_prep_rw(fixed ? IORING_OP_READ_FIXED : IORING_OP_READ, sqe, fd, request->data + request->moved,
				 left, at);
		break;
	case NVMF_BLOCK_WRITE:
		io_uring_prep_rw(fixed ? IORING_OP_WRITE_FIXED : IORING_OP_WRITE, sqe, fd,
				 request->data + request->moved, left, at);
		sqe->rw_flags = block->lasting ? RWF_DSYNC : 0;
		break;
	case NVMF_BLOCK_COMPARE:
		io_uring_prep_read(sqe, fd, request->second + request->moved, left, at);
		break;
	case NVMF_BLOCK_ZERO:
	case NVMF_BLOCK_DEALLOCATE:
		fill_clear(sqe, request);
		break;
	case NVMF_BLOCK_FLUSH:
		break;
	}
}

/* ---- completing ---- */

static void end(struct store_request *request)
{
	const struct nvmf_block *block = request->block;
	uint16_t status = NVME_OK;

	if (block->op == NVMF_BLOCK_COMPARE && memcmp(request->data, request->second, block->bytes) != 0)
		status = NVME_COMPARE_FAILURE | NVME_DNR;
	if (clears(request) && block->lasting && !request->syncs) {
		request->syncs = true;
		proceed(request);
		return;
	}
	finish(request, status);
}

/* Goes on after a range has been cleared, or after `written` bytes of it have been overwritten with zeros. */
static void cleared(struct store_request *request, uint32_t written)
{
	uint64_t offset, bytes;

	store_range(request, &offset, &bytes);
	request->moved += request->way == WAY_WRITE ? written : bytes;
	if (request->moved >= bytes) {
		request->moved = 0;
		request->range++;
	}
	skip_empty_ranges(request);
	if (request->range < store_range_count(request))
		proceed(request);
	else
		end(request);
}

static bool is_unsupported(int error)
{
	return error == EOPNOTSUPP || error == ENOTTY || error == ENODEV || error == ENOSYS;
}

/*
 * May a sync have failed with this error? A write with RWF_DSYNC that failed for want of space ended before its sync.
 */
static bool may_be_of_sync(const struct store_request *request, int error)
{
	const struct nvmf_block *block = request->block;

	if (error == EAGAIN || error == EINTR)
		return false;
	return is_sync(request) ||
	       (block->op == NVMF_BLOCK_WRITE && block->lasting && store_status(error, block->op) == NVME_WRITE_FAULT);
}

/*
 * When Linux cannot write data to the disk, it reports that once, to the first caller that syncs, and then counts the
 * data as written, whoever wrote it. So a later sync proves nothing about earlier data, and no later flush may succeed,
 * even if a host tries again. A write with RWF_DSYNC still proves that its own data is written.
 */
static void distrust_syncs(struct store *store, int error)
{
	if (!store->sync_failed)
		fprintf(stderr,
			"warning: %s: a sync failed: %s; all flushes fail until this file or device is reopened\n",
			store->config.path, strerror(error));
	store->sync_failed = true;
}

static void note_failure(const struct store_request *request, int error)
{
	struct store *store = request->store;

	pthread_mutex_lock(&store->lock);
	store->failures.count++;
	store->failures.last_error = error;
	store->failures.last_op = request->block->op;
	store->failures.last_offset = request->block->offset + request->moved;
	pthread_mutex_unlock(&store->lock);
}

static void fail(struct store_request *request, int error)
{
	if ((error == EAGAIN || error == EINTR) && ++request->tries < TRIES_MAX) {
		proceed(request);
	} else if (!request->syncs && clears(request) && request->way < WAY_WRITE && is_unsupported(error)) {
		request->way++;
		proceed(request);
	} else {
		uint16_t status = store_status(error, request->block->op);

		note_failure(request, error);
		if (may_be_of_sync(request, error)) {
			distrust_syncs(request->store, error);
			status |= is_sync(request) ? NVME_DNR : 0;
		}
		finish(request, status);
	}
}

static void complete(struct ring_entry *entry, int result)
{
	struct store_request *request =
		(struct store_request *)(void *)((char *)entry - offsetof(struct store_request, entry));

	if (result < 0) {
		fail(request, -result);
	} else if (is_sync(request)) {
		finish(request, request->store->sync_failed ? NVME_WRITE_FAULT | NVME_DNR : NVME_OK);
	} else if (clears(request)) {
		if (request->way == WAY_WRITE && result == 0)
			fail(request, EIO);
		else
			cleared(request, (uint32_t)result);
	} else if (result == 0) { /* the file has become shorter */
		fail(request, EIO);
	} else {
		request->moved += (uint32_t)result;
		if (request->moved < request->block->bytes)
			proceed(request);
		else
			end(request);
	}
}

/*
 * Copies the data of a file in memory at once: io_uring would hand each of these calls to a kernel thread, which takes
 * longer than the copy.
 */
static int move_at_once(const struct store_request *request)
{
	struct store *store = request->store;
	const struct nvmf_block *block = request->block;
	uint64_t at = block->offset + request->moved;
	uint8_t *data = block->op == NVMF_BLOCK_COMPARE ? request->second : request->data;
	struct iovec piece = { data + request->moved, store_hold(store, at, block->bytes - request->moved) };
	ssize_t moved = block->op == NVMF_BLOCK_WRITE ?
				pwritev2(fd_of(request), &piece, 1, (off_t)at, block->lasting ? RWF_DSYNC : 0) :
				preadv2(fd_of(request), &piece, 1, (off_t)at, 0);
	int error = errno;

	store_release(store, at);
	return moved < 0 ? -error : (int)moved;
}

static bool enter_ring(struct store_request *request)
{
	struct io_uring_sqe *sqe = ring_entry(request->ring, &request->entry);

	if (sqe == NULL)
		return false;
	fill(sqe, request);
	io_uring_sqe_set_data(sqe, &request->entry);
	return true;
}

/* Goes on with a request that has waited for the ring, or ends the request if its host has left meanwhile. */
static bool enter_later(struct turn_work *work)
{
	struct store_request *request = store_request_of(work);

	if (!*request->left)
		return !enter_ring(request);
	finish(request, NVME_ABORTED);
	return false;
}

/* Begins a request, or goes on with it. If other requests wait for the ring, this request waits for its turn, too. */
static void proceed(struct store_request *request)
{
	enum nvmf_block_op op = request->block->op;

	if (request->store->at_once && !request->syncs &&
	    (op == NVMF_BLOCK_READ || op == NVMF_BLOCK_WRITE || op == NVMF_BLOCK_COMPARE)) {
		complete(&request->entry, move_at_once(request));
		return;
	}
	if (ring_is_awaited(request->ring) || !enter_ring(request)) {
		request->work.step = enter_later;
		ring_await(request->ring, request->turn, &request->work);
	}
}

static void submit(struct store *store, struct store_request *request)
{
	const struct nvmf_block *block = request->block;

	request->entry.complete = complete;
	request->second = NULL;
	request->moved = 0;
	request->range = request->tries = 0;
	request->syncs = false;
	request->way = block->op == NVMF_BLOCK_ZERO && !block->may_deallocate ? WAY_ZERO_RANGE : WAY_PUNCH;
	if (block->offset + block->bytes > store->there_bytes) { /* a write would make the file longer again */
		note_failure(request, EIO);
		finish(request, store_status(EIO, block->op));
		return;
	}
	if (block->op == NVMF_BLOCK_COMPARE) {
		request->second = aligned_alloc(ALIGNED, (block->bytes + ALIGNED - 1) / ALIGNED * ALIGNED);
		if (request->second == NULL) {
			finish(request, store_status(ENOMEM, block->op));
			return;
		}
	}
	if (clears(request))
		skip_empty_ranges(request);
	if (clears(request) && request->range == store_range_count(request))
		end(request);
	else
		proceed(request);
}

/* ---- opening ---- */

static void close_file(struct store *store)
{
	for (uint32_t i = 1; i < store->share_count; i++) {
		if (store->shares[i].fd >= 0)
			close(store->shares[i].fd);
	}
	close(store->fd);
}

static bool is_in_memory(const struct store *store)
{
	struct statfs system;

	return fstatfs(store->fd, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC);
}

static int complain(char error[STORE_ERROR_BYTES], const struct store *store, const char *what)
{
	return store_refuse(error, "%s: %s", store->config.path, what);
}

static int find_size(struct store *store, const struct stat *status, char error[STORE_ERROR_BYTES])
{
	uint64_t bytes = (uint64_t)status->st_size;

	store->is_device = S_ISBLK(status->st_mode);
	if (S_ISBLK(status->st_mode) && ioctl(store->fd, BLKGETSIZE64, &bytes) != 0)
		return complain(error, store, strerror(errno));
	if (bytes == 0 && store->config.bytes && S_ISREG(status->st_mode) && !store->config.read_only) {
		if (ftruncate(store->fd, (off_t)store->config.bytes) != 0)
			return complain(error, store, strerror(errno));
		bytes = store->config.bytes;
		store->is_blank = true;
	}
	store->bytes = bytes / store->config.block_bytes * store->config.block_bytes;
	store->there_bytes = store->bytes;
	if (store->bytes)
		return 0;
	return store_refuse(error, "%s has %lu bytes, less than one block of %u bytes; %s", store->config.path, bytes,
			    store->config.block_bytes, bytes ? "use another" : "give its size: PATH:SIZE");
}

/* Devices with blocks of 4096 bytes refuse smaller transfers with O_DIRECT. */
static int try_block(struct store *store, char error[STORE_ERROR_BYTES])
{
	uint8_t *block = aligned_alloc(ALIGNED, ALIGNED);
	ssize_t got = block ? pread(store->fd, block, store->config.block_bytes, 0) : -1;
	int reason = errno;

	free(block);
	if (got == (ssize_t)store->config.block_bytes)
		return 0;
	if (got < 0 && reason == EINVAL && store->config.block_bytes == 512)
		return complain(error, store,
				"no support for direct I/O in blocks of 512 bytes: set the block size to 4096");
	return complain(error, store, got < 0 ? strerror(reason) : "cannot be read");
}

/*
 * Looks at the path before it is opened, because opening something other than a file or a block device may block or
 * have effects. Returns 0, with *status all zeros if the file has to be made, or -1: error says why.
 */
static int look(const struct store *store, struct stat *status, char error[STORE_ERROR_BYTES])
{
	const struct store_config *config = &store->config;

	if (stat(config->path, status) == 0)
		return S_ISREG(status->st_mode) || S_ISBLK(status->st_mode) ?
			       0 :
			       complain(error, store, "not a file or a block device");
	if (errno != ENOENT || config->read_only)
		return complain(error, store, strerror(errno));
	if (config->bytes == 0)
		return complain(error, store, "the file does not exist; to create the file, give a size: PATH:SIZE");
	memset(status, 0, sizeof(*status));
	return 0;
}

static int flags_of(const struct store_config *config)
{
	return (config->read_only ? O_RDONLY : O_RDWR) | O_CLOEXEC | (config->buffered ? 0 : O_DIRECT);
}

static int open_path(struct store *store, int flags, char error[STORE_ERROR_BYTES])
{
	const struct store_config *config = &store->config;

	store->fd = open(config->path, flags_of(config) | flags, 0600);
	if (store->fd >= 0)
		return 0;
	complain(error, store,
		 errno == EINVAL ? "the file system does not support O_DIRECT: add the option buffered" :
		 errno == EACCES && access(config->path, R_OK) == 0 ?
				   "the file is read-only for this user: add the option read-only, or change the file "
				   "permissions" :
				   strerror(errno));
	if (errno == EINVAL && flags & O_CREAT) /* the file was created even so */
		unlink(config->path);
	return -1;
}

/* Opens the file once more for each further lcore: this very file, even if another file has its name by now. */
static int open_shares(struct store *store, char error[STORE_ERROR_BYTES])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", store->fd);
	store->shares[0].fd = store->fd;
	for (uint32_t i = 1; i < store->share_count; i++) {
		store->shares[i].fd = open(path, flags_of(&store->config));
		if (store->shares[i].fd < 0)
			return complain(error, store, strerror(errno));
	}
	return 0;
}

int file_open(struct store *store, char error[STORE_ERROR_BYTES])
{
	static const struct store_ops ops = { submit, close_file };
	const struct store_config *config = &store->config;
	struct stat status;
	bool made;

	if (zeros() == NULL)
		return complain(error, store, strerror(ENOMEM));
	if (look(store, &status, error) != 0)
		return -1;
	made = status.st_mode == 0;
	if (open_path(store, made ? O_CREAT | O_EXCL : 0, error) != 0)
		return -1;
	store->ops = &ops;
	store->at_once = is_in_memory(store);
	if (flock(store->fd, (config->read_only ? LOCK_SH : LOCK_EX) | LOCK_NB) != 0)
		complain(error, store, "already in use by another process or another namespace");
	else if (fstat(store->fd, &status) != 0)
		complain(error, store, strerror(errno));
	else if (find_size(store, &status, error) == 0 && try_block(store, error) == 0 &&
		 open_shares(store, error) == 0)
		return 0;
	if (made)
		unlink(config->path);
	close_file(store);
	return -1;
}

/* Could the file be created? */
static int try_to_make(const struct store *store, char error[STORE_ERROR_BYTES])
{
	char folder[PATH_MAX];
	char *slash;

	snprintf(folder, sizeof(folder), "%s", store->config.path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	return access(slash ? folder : ".", W_OK | X_OK) == 0 ? 0 : complain(error, store, strerror(errno));
}

/* Accepts a store that is in use as well, because a user may ask whether a running target could start again. */
int file_try(const struct store_config *config, char error[STORE_ERROR_BYTES])
{
	struct store store = { .config = *config, .fd = -1 };
	struct stat status;
	int code;

	if (look(&store, &status, error) != 0)
		return -1;
	if (status.st_mode == 0)
		return try_to_make(&store, error);
	if (open_path(&store, 0, error) != 0)
		return -1;
	store.config.bytes = 0; /* an empty file stays empty */
	if (S_ISREG(status.st_mode) && status.st_size == 0 && config->bytes)
		code = 0;
	else
		code = find_size(&store, &status, error) == 0 ? try_block(&store, error) : -1;
	close(store.fd);
	return code;
}
