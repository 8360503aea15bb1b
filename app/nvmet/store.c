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

/* ---- blocks that several lcores copy ---- */

#define CHUNK_BYTES 65536u
#define CHUNKS 1024u /* chunks that are a multiple of so many apart have the same lock */

static pthread_mutex_t *lock_of(const struct store *store, uint64_t offset)
{
	return &store->chunks[offset / CHUNK_BYTES % CHUNKS];
}

uint64_t store_hold(struct store *store, uint64_t offset, uint64_t bytes)
{
	uint64_t left = CHUNK_BYTES - offset % CHUNK_BYTES;

	if (store->chunks == NULL)
		return bytes;
	pthread_mutex_lock(lock_of(store, offset));
	return bytes < left ? bytes : left;
}

void store_release(struct store *store, uint64_t offset)
{
	if (store->chunks)
		pthread_mutex_unlock(lock_of(store, offset));
}

static int make_chunks(struct store *store)
{
	store->chunks = calloc(CHUNKS, sizeof(*store->chunks));
	for (uint32_t i = 0; store->chunks && i < CHUNKS; i++)
		pthread_mutex_init(&store->chunks[i], NULL);
	return store->chunks ? 0 : -1;
}

struct store_failures store_failures(struct store *store)
{
	struct store_failures failures;

	pthread_mutex_lock(&store->lock);
	failures = store->failures;
	pthread_mutex_unlock(&store->lock);
	return failures;
}

uint32_t store_users(const struct store *store)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < store->share_count; i++)
		sum += store->shares[i].users;
	return sum;
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

/* A READ, WRITE or COMPARE. false: what is compared differs. */
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

static void free_store(struct store *store)
{
	pthread_mutex_destroy(&store->lock);
	free(store->chunks);
	free(store->shares);
	free(store);
}

static struct store *make_store(const struct store_config *config, uint32_t lcores)
{
	struct store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return NULL;
	store->config = *config;
	store->bytes = config->bytes / config->block_bytes * config->block_bytes;
	store->fd = -1;
	pthread_mutex_init(&store->lock, NULL);
	store->share_count = lcores;
	store->shares = aligned_alloc(_Alignof(struct store_share), lcores * sizeof(*store->shares));
	for (uint32_t i = 0; store->shares && i < lcores; i++)
		store->shares[i] = (struct store_share){ .fd = -1 };
	if (store->shares && (lcores == 1 || config->kind == STORE_NULL || make_chunks(store) == 0))
		return store;
	free_store(store);
	return NULL;
}

struct store *store_open(const struct store_config *config, uint32_t lcores, char error[STORE_ERROR_BYTES])
{
	struct store *store = make_store(config, lcores);

	if (store == NULL) {
		snprintf(error, STORE_ERROR_BYTES, "no memory");
		return NULL;
	}
	if (config->kind != STORE_FILE && store->bytes == 0)
		snprintf(error, STORE_ERROR_BYTES, "a store of %lu bytes has no block of %u", config->bytes,
			 config->block_bytes);
	else if (open_kind(store, error) == 0)
		return store;
	free_store(store);
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
		store->bytes = bytes;
		store->there_bytes = bytes;
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
	free_store(store);
}
