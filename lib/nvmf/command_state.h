/* command_state.h - the struct of a command: its queue, its data, its work, its answer */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMF_COMMAND_STATE_H
#define NVMF_COMMAND_STATE_H

#include "nvmf/controller.h"

#define NVMF_RANGES_MAX 256u
#define NVMF_RANGE_BYTES 16u

enum nvmf_block_op {
	NVMF_BLOCK_READ,
	NVMF_BLOCK_WRITE,
	NVMF_BLOCK_COMPARE,
	NVMF_BLOCK_FLUSH,
	NVMF_BLOCK_ZERO,      /* the blocks are to read as zeros */
	NVMF_BLOCK_DEALLOCATE /* the ranges that the data names are to read as zeros and to free their space */
};

/* The work that a namespace's store has to do. All of its blocks lie within the namespace. */
struct nvmf_block {
	enum nvmf_block_op op;
	struct nvmf_namespace *namespace;
	uint64_t offset, bytes; /* within the namespace */
	bool lasting;           /* done only when it survives a power cut */
	bool may_deallocate;    /* ZERO: the space may be freed */
	uint32_t range_count;   /* DEALLOCATE: number of ranges */
};

/* Where data lies: in the host's memory, or in the capsule. */
struct nvmf_sgl {
	uint64_t addr; /* in_capsule: the offset behind the submission queue entry */
	uint32_t bytes, key;
	bool in_capsule, invalidate;
};

struct nvmf_command {
	const uint8_t *sqe; /* valid as long as the command */
	struct nvmf_queue *queue;
	uint16_t cid, status;
	uint8_t opcode;
	uint32_t nsid;
	uint64_t result;
	struct nvmf_sgl sgl;
	uint32_t data_bytes;
	struct nvmf_block block;
	bool uses_namespace;
	bool under_way; /* counted in the queue's number */
	bool resets;    /* it has begun a reset of the controller */
};

#endif
