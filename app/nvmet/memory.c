/* memory.c - a store in memory */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/*
 * One command may name 256 ranges, each as large as the namespace. So that the lcore serves other commands meanwhile,
 * it clears AT_ONCE_BYTES when the command arrives, and then STEP_BYTES, a huge page, in each poll.
 */
#define AT_ONCE_BYTES (64u << 10)
#define STEP_BYTES (2u << 20)
#define RANGE_BYTES 4096u /* a range costs as much time as clearing so many further bytes */

static void clear(struct store *store, uint64_t offset, uint64_t bytes, bool deallocate)
{
	uint64_t page = 4096, begin = (offset + page - 1) & ~(page - 1), end = (offset + bytes) & ~(page - 1);

	if (deallocate && end > begin && madvise(store->memory + begin, end - begin, MADV_DONTNEED) == 0) {
		memset(store->memory + offset, 0, begin - offset);
		memset(store->memory + end, 0, offset + bytes - end);
		return;
	}
	memset(store->memory + offset, 0, bytes);
}

static void clear_pieces(struct store *store, uint64_t offset, uint64_t bytes, bool deallocate)
{
	while (bytes > 0) {
		uint64_t piece = store_hold(store, offset, bytes);

		clear(store, offset, piece, deallocate);
		store_release(store, offset);
		offset += piece;
		bytes -= piece;
	}
}

/* Carries out a READ, WRITE or COMPARE. Returns false if the compared data differ. */
static bool move_pieces(struct store *store, enum nvmf_block_op op, uint8_t *data, uint64_t offset, uint64_t bytes)
{
	bool same = true;

	while (bytes > 0) {
		uint64_t piece = store_hold(store, offset, bytes);
		uint8_t *at = store->memory + offset;

		if (op == NVMF_BLOCK_COMPARE)
			same = same && memcmp(data, at, piece) == 0;
		else if (data != at)
			memcpy(op == NVMF_BLOCK_READ ? data : at, op == NVMF_BLOCK_READ ? at : data, piece);
		store_release(store, offset);
		data += piece;
		offset += piece;
		bytes -= piece;
	}
	return same;
}

/* ---- clearing ---- */

/*
 * Clears the next pieces of a request, less than twice most_bytes in all. The next byte is byte `moved` of range number
 * `range`. A piece ends with its range, or at a multiple of most_bytes in memory, where a huge page may end; so it has
 * whole blocks. Returns whether bytes are left to clear.
 */
static bool clear_some(struct store_request *request, uint64_t most_bytes)
{
	struct store *store = request->store;
	const struct nvmf_block *block = request->block;
	uint64_t done = 0;

	while (done < most_bytes && request->range < store_range_count(request)) {
		uint64_t offset, bytes, left, piece;

		store_range(request, &offset, &bytes);
		offset += request->moved;
		left = bytes - request->moved;
		piece = most_bytes - (uintptr_t)(store->memory + offset) % most_bytes;
		piece = piece < left ? piece : left;
		clear_pieces(store, offset, piece, block->may_deallocate || block->op == NVMF_BLOCK_DEALLOCATE);
		request->moved += piece;
		done += piece + RANGE_BYTES;
		if (request->moved == bytes) {
			request->moved = 0;
			request->range++;
		}
	}
	return request->range < store_range_count(request);
}

/* Clears the next part of a request; if the host has left, ends the request, because nobody waits for it any more. */
static bool clear_step(struct turn_work *work)
{
	struct store_request *request = store_request_of(work);

	if (!*request->left && clear_some(request, STEP_BYTES))
		return true;
	request->done(request, *request->left ? NVME_ABORTED : NVME_OK);
	return false;
}

static void begin_to_clear(struct store_request *request)
{
	request->moved = 0;
	request->range = 0;
	request->work.step = clear_step;
	if (clear_some(request, AT_ONCE_BYTES))
		turn_add(request->turns, request->turn, &request->work);
	else
		request->done(request, NVME_OK);
}

/* ---- all requests ---- */

static void submit_memory(struct store *store, struct store_request *request)
{
	const struct nvmf_block *block = request->block;
	bool same;

	switch (block->op) {
	case NVMF_BLOCK_READ:
	case NVMF_BLOCK_WRITE:
	case NVMF_BLOCK_COMPARE:
		same = move_pieces(store, block->op, request->data, block->offset, block->bytes);
		request->done(request, same ? NVME_OK : NVME_COMPARE_FAILURE | NVME_DNR);
		break;
	case NVMF_BLOCK_FLUSH:
		request->done(request, NVME_OK);
		break;
	case NVMF_BLOCK_ZERO:
	case NVMF_BLOCK_DEALLOCATE:
		begin_to_clear(request);
		break;
	}
}

static void close_memory(struct store *store)
{
	munmap(store->memory, store->bytes);
}

/* Touches all pages before the first host comes, so that no host waits for a page, and lack of memory shows now. */
static int populate(struct store *store)
{
	madvise(store->memory, store->bytes, MADV_HUGEPAGE);
	if (madvise(store->memory, store->bytes, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	memset(store->memory, 0, store->bytes); /* for Linux before 5.14 */
	return 0;
}

int memory_open(struct store *store, char error[STORE_ERROR_BYTES])
{
	static const struct store_ops ops = { submit_memory, close_memory };

	store->memory = mmap(NULL, store->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (store->memory == MAP_FAILED || populate(store) != 0) {
		store_refuse(error, "%lu bytes of memory: %s", store->bytes, strerror(errno));
		if (store->memory != MAP_FAILED)
			munmap(store->memory, store->bytes);
		return -1;
	}
	store->ops = &ops;
	return 0;
}
