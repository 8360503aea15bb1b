/* store.h - where the blocks of a namespace are: memory, a file or device, or nowhere */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. store_open() (kind.h)
 *   2. store_submit() of requests, as many as one likes; each is done when its done() is called, perhaps at once
 *   3. ring_poll() (ring.h) in each poll: what was submitted to files begins, what has been carried out is told
 *   4. store_close() when none is under way
 * Several lcores may submit, each with its ring, and what is done is told where it was submitted; all else is done by
 * one thread.
 */
#ifndef NVMET_STORE_H
#define NVMET_STORE_H

#include <pthread.h>
#include <stdatomic.h>

#include "nvmet/ring.h"
#include "nvmf/command.h"
#include "common/histogram.h"

#define STORE_ERROR_BYTES 1536u

struct region;
struct store;

enum store_kind { STORE_NULL, STORE_MEMORY, STORE_FILE };

struct store_config {
	enum store_kind kind;
	const char *path;     /* FILE: a file or a block device */
	uint64_t bytes;       /* MEMORY, NULL; FILE: a file that is not there is made so large; 0: as it is */
	uint32_t block_bytes; /* 512 or 4096 */
	bool buffered;        /* FILE: through the page cache, not O_DIRECT */
	bool read_only;
};

struct store_request {
	struct store *store;
	struct ring *ring; /* FILE: where it is done */
	uint32_t lcore;    /* whose ring that is */
	const struct nvmf_block *block;
	const struct nvmf_command *command; /* for the ranges of a DEALLOCATE */
	uint8_t *data;                      /* READ: filled; WRITE, COMPARE, DEALLOCATE: what came */
	void (*done)(struct store_request *request, uint16_t status);
	/* the store's */
	struct ring_entry entry;
	uint8_t *second; /* COMPARE: what is there */
	uint64_t moved;  /* bytes of the range at hand */
	uint32_t range, way, tries;
	bool syncs; /* all is done but for what makes it last */
};

struct store_ops {
	void (*submit)(struct store *store, struct store_request *request);
	void (*close)(struct store *store);
};

/* Of one lcore, which alone writes to it; no cache line has something of two. */
struct store_share {
	_Alignas(128) _Atomic uint32_t users; /* commands that are under way, or whose host has not got all yet */
	struct app_histogram times[2];        /* of reads and writes: from capsule to the ACK of the answer, ns */
	int fd;                               /* FILE */
};

/* FILE: what the kernel said of requests that failed; told by the disk. */
struct store_failures {
	uint64_t count;
	int last_error;
	enum nvmf_block_op last_op;
	uint64_t last_offset;
};

struct store {
	const struct store_ops *ops;
	struct store_config config;
	uint64_t bytes;
	uint8_t *memory;       /* MEMORY: the blocks themselves, which hosts may be served from */
	struct region *region; /* of the memory, for ports; the server's */
	int fd;
	bool is_device;           /* FILE: a block device, with which nothing can be kept */
	bool is_blank;            /* FILE: there was nothing in it when it was opened: it is a disk that nobody knows */
	bool at_once;             /* FILE: its blocks are in memory, and are read and written in the poll */
	_Atomic bool sync_failed; /* FILE: what was said to last once may be lost */
	pthread_mutex_t lock;
	struct store_failures failures; /* under the lock */
	/* FILE: its length when it was last looked at; writes beyond would make it longer again. */
	_Atomic uint64_t there_bytes;
	struct store_share *shares;
	uint32_t share_count;
	pthread_mutex_t *chunks; /* of blocks that several lcores copy, see store_hold(); NULL: one lcore does */
};

/* What every kind begins and ends with. NULL: no memory. */
struct store *store_make(const struct store_config *config, uint32_t lcores);
void store_free(struct store *store);
void store_close(struct store *store);
/* 0; -1: error says why. What is cut off is lost; commands beyond it that are under way fail. */
int store_resize(struct store *store, uint64_t bytes, char error[STORE_ERROR_BYTES]);

/* Now and then: how long it is, and how many bytes of it the file system has allocated; 0: all. */
uint64_t store_look(struct store *store);

/*
 * For whoever copies blocks to or from where others do, too: nobody else does until store_release() of the same offset.
 * Returns how many bytes from there on, whole blocks, may be copied at a time; of one lcore that is all.
 */
uint64_t store_hold(struct store *store, uint64_t offset, uint64_t bytes);
void store_release(struct store *store, uint64_t offset);

static inline void store_use(struct store *store, uint32_t lcore)
{
	_Atomic uint32_t *users = &store->shares[lcore].users;

	atomic_store_explicit(users, atomic_load_explicit(users, memory_order_relaxed) + 1, memory_order_release);
}

static inline void store_leave(struct store *store, uint32_t lcore)
{
	_Atomic uint32_t *users = &store->shares[lcore].users;

	atomic_store_explicit(users, atomic_load_explicit(users, memory_order_relaxed) - 1, memory_order_release);
}

struct store_failures store_failures(struct store *store);

/* Of all lcores. */
uint32_t store_users(const struct store *store);

static inline void store_submit(struct store_request *request)
{
	request->store->ops->submit(request->store, request);
}

/* "memory", "null", "file". */
const char *store_kind_name(enum store_kind kind);

/* The status of a request that failed with this errno. */
uint16_t store_status(int error, enum nvmf_block_op op);

#endif
