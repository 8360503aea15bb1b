/* kind.c - opens the kind of store that a namespace asks for: memory, file or null */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/kind.h"

#include <string.h>

#include "nvmet/file.h"
#include "nvmet/memory.h"

/* ---- null: stores nothing ---- */

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

/* ---- all kinds ---- */

static int open_kind(struct store *store, char error[STORE_ERROR_BYTES])
{
	static const struct store_ops null_ops = { submit_null, close_null };

	switch (store->config.kind) {
	case STORE_NULL:
		store->ops = &null_ops;
		return 0;
	case STORE_MEMORY:
		return memory_open(store, error);
	case STORE_FILE:
		return file_open(store, error);
	}
	return -1;
}

struct store *store_open(const struct store_config *config, uint32_t lcores, char error[STORE_ERROR_BYTES])
{
	struct store *store = store_make(config, lcores);

	if (store == NULL) {
		store_refuse(error, "no memory");
		return NULL;
	}
	if (config->kind != STORE_FILE && store->bytes == 0)
		store_refuse(error, "a store of %lu bytes is smaller than one block of %u bytes", config->bytes,
			     config->block_bytes);
	else if (open_kind(store, error) == 0)
		return store;
	store_free(store);
	return NULL;
}
