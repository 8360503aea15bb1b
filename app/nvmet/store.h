/* store.h - stores, which keep the blocks of a namespace: in memory, in a file or device, or nowhere */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. store_open() (kind.h)
 *   2. store_submit() for each request, in any number; a request is done when its done() is called, perhaps at once
 *   3. ring_poll() (ring.h) in each poll: submits what is for files, and handles what has completed; and turn_poll()
 *      (turn.h), for what takes longer than a poll in memory
 *   4. store_close() when no request is under way
 * Several lcores may submit, each with its own ring, on which the request also completes. Everything else is done by
 * one thread.
 */
#ifndef NVMET_STORE_H
#define NVMET_STORE_H

#include <pthread.h>
#include <stddef.h>
#include <stdatomic.h>

#include "nvmet/ring.h"
#include "nvmet/turn.h"
#include "nvmf/command.h"
#include "common/histogram.h"

#define STORE_ERROR_BYTES 1536u

struct region;
struct store;

enum store_kind { STORE_NULL, STORE_MEMORY, STORE_FILE };

struct store_config {
	enum store_kind kind;
	const char *path;     /* FILE: a file or a block device */
	uint64_t bytes;       /* MEMORY, NULL: size of the store; FILE: size of a new file; 0: the file's own */
	uint32_t block_bytes; /* 512 or 4096 */
	bool buffered;        /* FILE: use the page cache, no O_DIRECT */
	bool read_only;
};

struct store_request {
	struct store *store;
	struct ring *ring; /* FILE: the ring that carries it out */
	uint32_t lcore;    /* the lcore of that ring */
	const struct nvmf_block *block;
	const struct nvmf_command *command; /* with the ranges of a DEALLOCATE */
	uint8_t *data;                      /* READ: to be filled; WRITE, COMPARE, DEALLOCATE: the host's data */
	void (*done)(struct store_request *request, uint16_t status);
	struct turns *turns; /* MEMORY: where what takes long goes on */
	/* turn of the host's address: in `turns`; for FILE among the turns that wait for the ring */
	struct turn *turn;
	const bool *left; /* the command's host has left, so the rest of the request may be skipped */
	/* used by the store only */
	struct ring_entry entry;
	struct turn_work work;
	uint8_t *second; /* COMPARE: the store's data */
	uint64_t moved;  /* bytes moved of the present range */
	uint32_t range, way, tries;
	bool syncs; /* the request has written all data, and its sync is under way */
};

/* The request whose work it is. */
static inline struct store_request *store_request_of(struct turn_work *work)
{
	return (struct store_request *)(void *)((char *)work - offsetof(struct store_request, work));
}

struct store_ops {
	void (*submit)(struct store *store, struct store_request *request);
	void (*close)(struct store *store);
};

/* The part of a store that belongs to one lcore: only that lcore writes to it. The parts share no cache line. */
struct store_share {
	_Alignas(128) _Atomic uint32_t users; /* commands under way, or whose answers have not been acknowledged */
	struct app_histogram times[2];        /* latency of reads and of writes: ns from capsule to ACK of the answer */
	int fd;                               /* for FILE */
};

/* FILE: how many errors the kernel has returned, and the newest of them; disk.c prints them. */
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
	uint8_t *memory;       /* MEMORY: the blocks themselves, which hosts may access directly */
	struct region *region; /* key of `memory` for ports; owned by the server */
	int fd;
	bool is_device;           /* FILE: a block device, with which no identity can be kept */
	bool is_blank;            /* FILE: the file was empty when it was opened, so no host knows it as a disk */
	bool at_once;             /* FILE: the file is in memory, and is read and written within the poll */
	_Atomic bool sync_failed; /* FILE: a sync has failed, so data reported to last may be lost */
	pthread_mutex_t lock;
	struct store_failures failures; /* under the lock */
	/* FILE: length of the file when last looked at; writes beyond it would make the file longer again. */
	_Atomic uint64_t there_bytes;
	struct store_share *shares;
	uint32_t share_count;
	/* locks of blocks that several lcores copy, see store_hold(); NULL: only one lcore does */
	pthread_mutex_t *chunks;
};

/* Writes why something is not possible. Returns -1. */
int store_refuse(char error[STORE_ERROR_BYTES], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What opening and closing share for all kinds. NULL: no memory. */
struct store *store_make(const struct store_config *config, uint32_t lcores);
void store_free(struct store *store);
void store_close(struct store *store);
/*
 * Changes the size. Returns 0, or -1: error says why. What is cut off is lost, and commands under way beyond it fail.
 */
int store_resize(struct store *store, uint64_t bytes, char error[STORE_ERROR_BYTES]);

/* To be called now and then: reads the length, and returns how many bytes the file system has allocated; 0: all. */
uint64_t store_look(struct store *store);

/*
 * To be called before copying blocks that other lcores may be copying, too: no other lcore copies these blocks until
 * store_release() of the same offset. Returns how many bytes from the offset on, whole blocks, may be copied; if only
 * one lcore uses the store, all bytes.
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

/* Counts the users of all lcores together. */
uint32_t store_users(const struct store *store);

static inline void store_submit(struct store_request *request)
{
	request->store->ops->submit(request->store, request);
}

/*
 * store_range_count() returns the number of ranges that a ZERO (one) or a DEALLOCATE names; store_range() returns the
 * present range of the request, as offset and bytes.
 */
uint32_t store_range_count(const struct store_request *request);
void store_range(const struct store_request *request, uint64_t *offset, uint64_t *bytes);

/* "memory", "null", "file". */
const char *store_kind_name(enum store_kind kind);

/* The status of a request that failed with this errno. */
uint16_t store_status(int error, enum nvmf_block_op op);

#endif
