/* namespace.h - a namespace, which a host sees as a disk: its blocks, its names, its counts */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_NAMESPACE_H
#define NVMF_NAMESPACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NVMF_THREADS_MAX 16u

/* Counts since a namespace was added; the subsystem keeps the sum of the counts of removed namespaces. */
struct nvmf_counts {
	uint64_t reads, writes, flushes, read_bytes, written_bytes;
	uint64_t read_errors, write_errors, flush_errors;
	uint64_t media_errors; /* errors of the medium, which the error counts above include */
};

void nvmf_counts_add(struct nvmf_counts *sum, const struct nvmf_counts *counts);

/* The counts of one thread: no other thread writes them, so that none waits for another. */
struct nvmf_share {
	_Atomic uint32_t under_way; /* commands that use the namespace */
	struct nvmf_counts counts;
	uint8_t apart[128]; /* padding that gives the next share cache lines of its own */
};

struct nvmf_namespace {
	uint32_t nsid;
	uint32_t block_bytes; /* 512 or 4096 */
	_Atomic uint64_t blocks;
	uint8_t uuid[16], nguid[16];
	bool read_only;
	/*
	 * a host may take this nsid for an earlier namespace, and may not write before it has read which namespace has
	 * the nsid now
	 */
	bool is_new;
	void *store;                  /* for the program around this library */
	bool degraded;                /* flushes fail from now on */
	_Atomic uint64_t used_blocks; /* blocks in use of a thin store; 0: the store is not thin */
	struct nvmf_share shares[NVMF_THREADS_MAX];
};

/* How many commands of all threads use the namespace. */
uint32_t nvmf_namespace_under_way(const struct nvmf_namespace *namespace);
struct nvmf_counts nvmf_namespace_counts(const struct nvmf_namespace *namespace);

#endif
