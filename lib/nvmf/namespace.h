/* namespace.h - what a host sees as a disk: its blocks, its names, what was read and written */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_NAMESPACE_H
#define NVMF_NAMESPACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NVMF_THREADS_MAX 16u

/* Since a namespace was added; of those that were removed the subsystem keeps them. */
struct nvmf_counts {
	uint64_t reads, writes, flushes, read_bytes, written_bytes;
	uint64_t read_errors, write_errors, flush_errors;
	uint64_t media_errors; /* those of them that the medium has to do with */
};

void nvmf_counts_add(struct nvmf_counts *sum, const struct nvmf_counts *counts);

/* What the commands of one thread add to: only that one writes, so that none waits for the others. */
struct nvmf_share {
	_Atomic uint32_t under_way; /* commands that use the namespace */
	struct nvmf_counts counts;
	uint8_t apart[128]; /* from the next one, which is in other cache lines */
};

struct nvmf_namespace {
	uint32_t nsid;
	uint32_t block_bytes; /* 512 or 4096 */
	_Atomic uint64_t blocks;
	uint8_t uuid[16], nguid[16];
	bool read_only;
	bool is_new; /* a host may know another one by its number: it changes nothing before it has read what this is */
	void *store; /* the host's */
	bool degraded;                /* no flush succeeds any more */
	_Atomic uint64_t used_blocks; /* of a thin store; 0: it is none */
	struct nvmf_share shares[NVMF_THREADS_MAX];
};

/* Commands that use it, of all threads. */
uint32_t nvmf_namespace_under_way(const struct nvmf_namespace *namespace);
struct nvmf_counts nvmf_namespace_counts(const struct nvmf_namespace *namespace);

#endif
