/* host.h - a host of an NVMe over RDMA target: a controller with its queues, for measuring and for tests */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. host_open(): connects, enables the controller, makes I/O queues, asks for the size of the namespace
 *   2. host_submit() as long as a queue has room; host_poll() tells what is done
 *   3. host_close()
 * One thread, which polls the lcores in `poll` whenever a call waits. All that fails is complained about.
 */
#ifndef NVMEPERF_HOST_H
#define NVMEPERF_HOST_H

#include "nvmeperf/host_config.h"
#include "nvmf/nvme.h"

struct host;

struct host_namespace {
	uint64_t blocks;
	uint32_t block_bytes;
	uint64_t most_bytes; /* of a command */
};

/* One that is done. */
struct host_done {
	uint64_t tag;
	uint16_t queue, status;
	uint8_t *data; /* where the command's data were; good until the slot is used again */
};

/* APP_EXIT_OK, or what to exit with. */
int host_open(const struct host_config *config, struct host **host, struct host_namespace *namespace);
/* in_order: the target is told; else the host is just gone. */
void host_close(struct host *host, bool in_order);

/* Where the data of the next command of a queue are, or are to be; NULL: the queue has no room. */
uint8_t *host_buffer(struct host *host, uint16_t queue);
/* Of blocks from first on. 0; -EAGAIN: the queue is full; -ENOTCONN. */
int host_submit(struct host *host, uint16_t queue, enum nvme_io_opcode opcode, uint64_t first, uint32_t count,
		uint64_t tag);
/* Up to count; -1: the connection is over, and has been complained about. */
int host_poll(struct host *host, struct host_done *done, int count);
/* Commands that are under way. */
uint32_t host_under_way(const struct host *host);
/* Keeps the controller alive; to be called now and then. */
void host_keep_alive(struct host *host);

/* A command of the admin queue, as it is but for cid and flags; data: NVME_PAGE_BYTES or NULL. Returns the status. */
uint16_t host_admin(struct host *host, uint8_t sqe[NVME_SQE_BYTES], uint8_t *data, uint32_t bytes, uint64_t *result);

#endif
