/* parts.h - the structs of a host, for host.c and memory.c: its queues and their commands */
/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef NVMEPERF_PARTS_H
#define NVMEPERF_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/objects.h"
#include "nvmeperf/host_config.h"

/* A command, and where its data lies. */
struct command {
	uint8_t *sqe; /* with room for data behind the entry */
	uint8_t *data;
	uint64_t tag;
	bool busy;    /* not answered yet */
	bool leaving; /* the command's SEND is not acknowledged, though the answer may have arrived */
};

struct link {
	struct host *host;
	struct uroce_cm_id *id;
	struct uroce_qp *qp;
	uint16_t qid;
	uint32_t depth, next, under_way;
	struct command *commands;
	uint8_t *responses; /* `depth` responses of 16 bytes */
	bool established, has_alternate, over;
};

struct host {
	struct host_config config;
	struct app_objects objects;
	uint8_t *memory, *free;
	size_t memory_bytes;
	uint32_t capsule_bytes;
	struct link *links; /* that of the admin queue first */
	uint32_t link_count;
	uint16_t cntlid;
	uint32_t block_bytes;
	uint64_t kept_ns;
	bool told; /* a failure has been printed */
	/* result of the admin command being waited for */
	uint16_t admin_status;
	uint64_t admin_result;
};

#endif
