/* store.c - what stores of all kinds share */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/store.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const char *store_kind_name(enum store_kind kind)
{
	static const char *const names[] = { [STORE_NULL] = "null", [STORE_MEMORY] = "memory", [STORE_FILE] = "file" };

	return names[kind];
}

int store_refuse(char error[STORE_ERROR_BYTES], const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error, STORE_ERROR_BYTES, format, arguments);
	va_end(arguments);
	return -1;
}

/* No DNR if another try may succeed. */
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

uint32_t store_range_count(const struct store_request *request)
{
	return request->block->op == NVMF_BLOCK_DEALLOCATE ? request->block->range_count : 1;
}

void store_range(const struct store_request *request, uint64_t *offset, uint64_t *bytes)
{
	if (request->block->op == NVMF_BLOCK_DEALLOCATE) {
		nvmf_command_range(request->command, request->data, request->range, offset, bytes);
	} else {
		*offset = request->block->offset;
		*bytes = request->block->bytes;
	}
}

/* ---- blocks that several lcores copy ---- */

#define CHUNK_BYTES 65536u
#define CHUNKS 1024u /* number of locks: chunks whose numbers differ by a multiple of it share a lock */

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

/* ---- making, resizing, closing ---- */

void store_free(struct store *store)
{
	pthread_mutex_destroy(&store->lock);
	free(store->chunks);
	free(store->shares);
	free(store);
}

struct store *store_make(const struct store_config *config, uint32_t lcores)
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
	store_free(store);
	return NULL;
}

int store_resize(struct store *store, uint64_t bytes, char error[STORE_ERROR_BYTES])
{
	bytes = bytes / store->config.block_bytes * store->config.block_bytes;
	if (bytes == 0)
		return store_refuse(error, "the size is less than one block: use %u bytes or more",
				    store->config.block_bytes);
	if (store->config.kind == STORE_MEMORY)
		return store_refuse(
			error,
			"a memory namespace cannot be resized: add another namespace, then remove this namespace");
	if (store->config.kind == STORE_FILE && ftruncate(store->fd, (off_t)bytes) != 0)
		return store_refuse(error, "%s: %s", store->config.path, strerror(errno));
	store->bytes = bytes;
	store->there_bytes = bytes;
	return 0;
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
	store_free(store);
}
