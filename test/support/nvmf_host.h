/* nvmf_host.h - a host of the NVMe target, in memory: entries of commands, their data, the answers */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *   1. host_open(): a target with two subsystems and three namespaces
 *   2. host_login(), host_join(): an admin queue whose controller is ready, an I/O queue
 *   3. host_run(host, queue, sqe_...()): the command from its capsule to its answer
 */
#ifndef TEST_NVMF_HOST_H
#define TEST_NVMF_HOST_H

#include "nvmf/command.h"

#define HOST_S 1000000000ull
#define HOST_DATA_BYTES (1u << 20)
#define HOST_DISK "nqn.2016-06.org.example:disk"
#define HOST_OTHER "nqn.2016-06.org.example:other"
#define HOST_NQN "nqn.2014-08.org.nvmexpress:uuid:5c0ffee0"
#define HOST_KEY 0xA1B2C3D4u
#define HOST_ADDR 0x1122334455667788ull
#define HOST_KEEP_ALIVE_MS 5000u
#define FINAL(status) ((status) | NVME_DNR)

/* Places in the data of a Connect. */
enum { CONNECT_HOST_ID = 0, CONNECT_CNTLID = 16, CONNECT_SUBSYSTEM = 256, CONNECT_HOST = 512 };

struct nvmf_capsule {
	uint8_t sqe[NVME_SQE_BYTES];
	uint32_t bytes; /* with the data behind the entry */
};

struct nvmf_reply {
	enum nvmf_step step; /* the first one */
	bool answered;
	uint64_t result;
	uint16_t sq_head, qid, cid, status;
	struct nvmf_command command; /* as it was before the answer */
};

struct nvmf_host {
	struct nvmf_target target;
	struct nvmf_subsystem disk, other;
	/* Of disk nsid 1: 1000 blocks of 512, nsid 2: 100 of 4096; of other nsid 3: 10 of 512. */
	struct nvmf_namespace space[3];
	struct nvmf_queue admin, io;
	const char *nqn; /* of the host; NULL: HOST_NQN */
	uint8_t id;      /* each byte of its id; 0: ABh */
	uint64_t now_ns;
	uint16_t next_cid, store_status; /* what the store says of each command */
	uint8_t data[HOST_DATA_BYTES];   /* what is fetched, and what was given */
};

/* config: NULL for defaults. */
struct nvmf_host *host_open(const struct nvmf_config *config);
/* Closes both queues; no controller may be left. */
void host_close(struct nvmf_host *host);

struct nvmf_capsule sqe_make(uint8_t opcode, uint32_t nsid, uint32_t data_bytes);
void sqe_put(struct nvmf_capsule *capsule, uint32_t at, uint32_t bytes, uint64_t value);
struct nvmf_capsule sqe_connect(uint16_t qid, uint32_t commands);
struct nvmf_capsule sqe_property_get(uint32_t offset, bool wide);
struct nvmf_capsule sqe_property_set(uint32_t offset, uint64_t value);
struct nvmf_capsule sqe_identify(uint8_t cns, uint32_t nsid);
struct nvmf_capsule sqe_log(uint8_t log, uint64_t offset, uint32_t bytes);
struct nvmf_capsule sqe_set_feature(uint8_t feature, uint32_t value);
/* Sets how the host behaves; the data is in host->data. */
struct nvmf_capsule sqe_host_behaviour(void);
struct nvmf_capsule sqe_get_feature(uint8_t feature, uint32_t data_bytes);
/* Of the namespace's blocks; data_bytes is what the descriptor says. */
struct nvmf_capsule sqe_blocks(uint8_t opcode, uint32_t nsid, uint64_t first, uint32_t count, uint32_t data_bytes);
struct nvmf_capsule sqe_ranges(uint32_t nsid, uint32_t count, bool deallocate);
/* The data is in the capsule, at this offset. */
void sqe_in_capsule(struct nvmf_capsule *capsule, uint64_t offset, uint32_t bytes);

uint64_t host_get(const uint8_t *data, uint32_t bytes);
void host_put(uint8_t *data, uint32_t bytes, uint64_t value);
/* Data of a Connect, into host->data. */
void host_connect_data(struct nvmf_host *host, const char *subsystem, uint16_t cntlid);
void host_put_range(struct nvmf_host *host, uint32_t index, uint64_t first, uint32_t count);

struct nvmf_reply host_run(struct nvmf_host *host, struct nvmf_queue *queue, struct nvmf_capsule capsule);
/* The same, and expects this status. what: names the case. */
struct nvmf_reply host_expect(struct nvmf_host *host, struct nvmf_queue *queue, struct nvmf_capsule capsule,
			      uint16_t status, const char *what);
struct nvmf_reply host_reply(struct nvmf_command *command, enum nvmf_step step);

void host_dial(struct nvmf_host *host, struct nvmf_queue *queue, uint16_t qid, uint32_t commands);
/* Opens a queue, and Connect: status. */
uint16_t host_connect(struct nvmf_host *host, struct nvmf_queue *queue, const char *subsystem, uint16_t qid,
		      uint16_t cntlid);
void host_enable(struct nvmf_host *host, struct nvmf_queue *admin);
/* host->admin and its controller, which is ready. */
struct nvmf_controller *host_login(struct nvmf_host *host, const char *subsystem);
/* host->io, queue 1 of the controller of host->admin. */
void host_join(struct nvmf_host *host);
/* Sets CC by host->admin, and returns CSTS. */
uint32_t host_set_cc(struct nvmf_host *host, uint32_t cc);
uint32_t host_csts(struct nvmf_host *host, struct nvmf_queue *admin);
uint32_t host_controllers(const struct nvmf_host *host);

#endif
