/* store.c - stores in memory and nowhere, and what all stores have in common */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char *store_kind_name(enum store_kind kind)
{
	static const char *const names[] = { [STORE_NULL] = "null", [STORE_MEMORY] = "memory", [STORE_FILE] = "file" };

	return names[kind];
}

/* What another try may mend has no DNR. */
uint16_t store_status(int error, enum nvmf_block_op op)
{
	switch (error) {
	case 0:
		return NVME_OK;
	case ENOSPC:
	case EDQUOT:
	case EFBIG:
		return NVME_CAPACITY_EXCEEDED | NVME_DNR;
	case EROFS:
	case EPERM:
		return NVME_WRITE_PROTECTED | NVME_DNR;
	case EAGAIN:
	case ENOMEM:
	case EBUSY:
		return NVME_NAMESPACE_NOT_READY;
	default:
		return op == NVMF_BLOCK_READ || op == NVMF_BLOCK_COMPARE ? NVME_READ_ERROR : NVME_WRITE_FAULT;
	}
}

/* ---- memory ---- */

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

static void submit_memory(struct store *store, struct store_request *request)
{
	const struct nvmf_block *block = request->block;
	uint8_t *at = store->memory + block->offset;
	uint16_t status = NVME_OK;

	switch (block->op) {
	case NVMF_BLOCK_READ:
		if (request->data != at)
			memcpy(request->data, at, block->bytes);
		break;
	case NVMF_BLOCK_WRITE:
		if (request->data != at)
			memcpy(at, request->data, block->bytes);
		break;
	case NVMF_BLOCK_COMPARE:
		if (memcmp(request->data, at, block->bytes) != 0)
			status = NVME_COMPARE_FAILURE | NVME_DNR;
		break;
	case NVMF_BLOCK_FLUSH:
		break;
	case NVMF_BLOCK_ZERO:
		clear(store, block->offset, block->bytes, block->may_deallocate);
		break;
	case NVMF_BLOCK_DEALLOCATE:
		for (uint32_t i = 0; i < block->range_count; i++) {
			uint64_t offset, bytes;

			nvmf_command_range(request->command, request->data, i, &offset, &bytes);
			clear(store, offset, bytes, true);
		}
		break;
	}
	request->done(request, status);
}

static void close_memory(struct store *store)
{
	munmap(store->memory, store->bytes);
}

/* All of it is there before the first host comes: none waits for a page later, and what there is not fails now. */
static int populate(struct store *store)
{
	madvise(store->memory, store->bytes, MADV_HUGEPAGE);
	if (madvise(store->memory, store->bytes, MADV_POPULATE_WRITE) == 0)
		return 0;
	if (errno != EINVAL)
		return -1;
	memset(store->memory, 0, store->bytes); /* Linux before 5.14 */
	return 0;
}

static int open_memory(struct store *store, char error[STORE_ERROR_BYTES])
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

/* ---- nowhere ---- */

static void submit_null(struct store *store, struct store_request *request)
{
	(void)store;
	if (request->block->op == NVMF_BLOCK_READ)
		memset(request->data, 0, request->block->bytes);
	request->done(request, NVME_OK);
}

static void close_null(struct store *store)
{
	(void)store;
}

/* ---- all ---- */

static int open_kind(struct store *store, char error[STORE_ERROR_BYTES])
{
	static const struct store_ops null_ops = { submit_null, close_null };

	switch (store->config.kind) {
	case STORE_NULL:
		store->ops = &null_ops;
		return 0;
	case STORE_MEMORY:
		return open_memory(store, error);
	case STORE_FILE:
		return store_open_file(store, error);
	}
	return -1;
}

struct store *store_open(const struct store_config *config, struct ring *ring, char error[STORE_ERROR_BYTES])
{
	struct store *store = calloc(1, sizeof(*store));

	if (store == NULL) {
		snprintf(error, STORE_ERROR_BYTES, "no memory");
		return NULL;
	}
	store->config = *config;
	store->bytes = config->bytes / config->block_bytes * config->block_bytes;
	store->ring = ring;
	store->fd = -1;
	if (config->kind != STORE_FILE && store->bytes == 0)
		snprintf(error, STORE_ERROR_BYTES, "a store of %lu bytes has no block of %u", config->bytes,
			 config->block_bytes);
	else if (open_kind(store, error) == 0)
		return store;
	free(store);
	return NULL;
}

int store_resize(struct store *store, uint64_t bytes, char error[STORE_ERROR_BYTES])
{
	bytes = bytes / store->config.block_bytes * store->config.block_bytes;
	if (bytes == 0)
		snprintf(error, STORE_ERROR_BYTES, "at least one block of %u bytes", store->config.block_bytes);
	else if (store->config.kind == STORE_MEMORY)
		snprintf(error, STORE_ERROR_BYTES, "memory keeps its size; add another namespace, and remove this one");
	else if (store->config.kind == STORE_FILE && ftruncate(store->fd, (off_t)bytes) != 0)
		snprintf(error, STORE_ERROR_BYTES, "%s: %s", store->config.path, strerror(errno));
	else {
		store->bytes = store->there_bytes = bytes;
		return 0;
	}
	return -1;
}

uint64_t store_look(struct store *store)
{
	struct stat status;

	if (store->config.kind != STORE_FILE || store->is_device || fstat(store->fd, &status) != 0)
		return 0;
	store->there_bytes = (uint64_t)status.st_size;
	return (uint64_t)status.st_blocks * 512;
}

void store_close(struct store *store)
{
	store->ops->close(store);
	free(store);
}
