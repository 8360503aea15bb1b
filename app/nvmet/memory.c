/* memory.c - a store in memory */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

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

/* Carries out a READ, WRITE or COMPARE. false: the compared data differ. */
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

static void submit_memory(struct store *store, struct store_request *request)
{
	const struct nvmf_block *block = request->block;
	uint16_t status = NVME_OK;

	switch (block->op) {
	case NVMF_BLOCK_READ:
	case NVMF_BLOCK_WRITE:
	case NVMF_BLOCK_COMPARE:
		if (!move_pieces(store, block->op, request->data, block->offset, block->bytes))
			status = NVME_COMPARE_FAILURE | NVME_DNR;
		break;
	case NVMF_BLOCK_FLUSH:
		break;
	case NVMF_BLOCK_ZERO:
		clear_pieces(store, block->offset, block->bytes, block->may_deallocate);
		break;
	case NVMF_BLOCK_DEALLOCATE:
		for (uint32_t i = 0; i < block->range_count; i++) {
			uint64_t offset, bytes;

			nvmf_command_range(request->command, request->data, i, &offset, &bytes);
			clear_pieces(store, offset, bytes, true);
		}
		break;
	}
	request->done(request, status);
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
		snprintf(error, STORE_ERROR_BYTES, "%lu bytes of memory: %s", store->bytes, strerror(errno));
		if (store->memory != MAP_FAILED)
			munmap(store->memory, store->bytes);
		return -1;
	}
	store->ops = &ops;
	return 0;
}
