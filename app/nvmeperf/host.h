/* host.h - a host of an NVMe over RDMA target, for measuring and for tests */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. host_open(): connects, enables the controller, makes I/O queues, asks for the size of the namespace
 *   2. host_submit() as long as a queue has room; host_poll() returns completed commands
 *   3. host_close()
 * For one thread, which polls the lcores in `poll` whenever a call waits. Failures are complained about.
 */
#ifndef NVMEPERF_HOST_H
#define NVMEPERF_HOST_H

#include "nvmeperf/host_config.h"
#include "nvmf/nvme.h"

struct host;

struct host_namespace {
	uint64_t blocks;
	uint32_t block_bytes;
	uint64_t most_bytes; /* most bytes of a command */
};

/* A completed command. */
struct host_done {
	uint64_t tag;
	uint16_t queue, status;
	uint8_t *data; /* where the command's data is; valid until the slot is used again */
};

/* Returns APP_EXIT_OK, or the exit code. */
int host_open(const struct host_config *config, struct host **host, struct host_namespace *namespace);
/* in_order: disconnects from the target; otherwise the host just disappears. */
void host_close(struct host *host, bool in_order);

/* The buffer for the data of a queue's next command; NULL: the queue has no room. */
uint8_t *host_buffer(struct host *host, uint16_t queue);
/* Submits a command about blocks from `first` on. Returns 0; -EAGAIN: the queue is full; -ENOTCONN. */
int host_submit(struct host *host, uint16_t queue, enum nvme_io_opcode opcode, uint64_t first, uint32_t count,
		uint64_t tag);
/* Returns up to `count` completed commands; -1: the connection has ended, after a complaint. */
int host_poll(struct host *host, struct host_done *done, int count);
/* How many commands are under way. */
uint32_t host_under_way(const struct host *host);
/* To be called now and then, so that the target keeps the controller. */
void host_keep_alive(struct host *host);

/* Runs an admin command as given, with cid and flags set here. data: NVME_PAGE_BYTES or NULL. Returns the status. */
uint16_t host_admin(struct host *host, uint8_t sqe[NVME_SQE_BYTES], uint8_t *data, uint32_t bytes, uint64_t *result);

#endif
