/* threads.c - several threads serve queues of one controller, while namespaces come, change and go */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "nvmf_host.h"

#include "nvmf/change.h"

#define THREADS 3u
#define TURNS 300000u
#define BLOCKS 4u
#define STATUS_BITS 0x7FFu /* type and code, without the hint when to retry */

static atomic_uint ready;

struct server {
	struct nvmf_host *host;
	struct nvmf_queue queue;
	pthread_t thread;
	uint64_t reads, writes, refused;
	bool surprised;
};

/* One command of namespace 1, which stays, or of 2, which comes and goes. */
static void serve_one(struct server *server, uint32_t turn)
{
	static const uint8_t opcodes[] = { NVME_READ, NVME_WRITE, NVME_READ };
	uint8_t opcode = opcodes[turn % 3];
	uint32_t nsid = 1 + turn % 2, block = nsid == 1 ? 512 : 4096;
	struct nvmf_capsule capsule = sqe_blocks(opcode, nsid, turn % 90, BLOCKS, BLOCKS * block);
	struct nvmf_command command;
	enum nvmf_step step = nvmf_command_begin(&command, &server->queue, capsule.sqe, capsule.bytes, HOST_S);

	if (step == NVMF_FETCH)
		step = nvmf_command_fetched(&command, NULL, HOST_S);
	if (step == NVMF_BLOCK) {
		server->surprised |= command.block.namespace->nsid != nsid || command.block.bytes != BLOCKS * block;
		nvmf_command_done(&command, NVME_OK);
		server->reads += opcode == NVME_READ;
		server->writes += opcode == NVME_WRITE;
	} else {
		/* A write is refused as well while the namespace is back and the host has not identified it yet. */
		bool waits = opcode == NVME_WRITE && (command.status & STATUS_BITS) == NVME_NAMESPACE_NOT_READY;

		server->surprised |= nsid != 2 || !(waits || command.status == FINAL(NVME_INVALID_NAMESPACE));
		server->refused++;
	}
}

static void *serve(void *argument)
{
	struct server *server = argument;

	/* What begins one after the other shows nothing. */
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < THREADS)
		sched_yield();
	for (uint32_t turn = 0; turn < TURNS; turn++)
		serve_one(server, turn);
	return NULL;
}

static void open_queues(struct nvmf_host *host, struct server servers[THREADS])
{
	host_login(host, HOST_DISK);
	for (uint32_t i = 0; i < THREADS; i++) {
		servers[i] = (struct server){ .host = host, .queue = { .thread = i } };
		cr_assert_eq(host_connect(host, &servers[i].queue, HOST_DISK, (uint16_t)(i + 1),
					  host->admin.controller->cntlid),
			     NVME_OK);
		cr_assert_eq(servers[i].queue.thread, i);
	}
}

static void change_namespaces(struct nvmf_host *host)
{
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 2), 0);
	host_expect(host, &host->admin, sqe_identify(2, 0), NVME_OK, "the host reads that it is gone");
	cr_assert_eq(nvmf_subsystem_add(&host->target, &host->disk, &host->space[1]), 0);
	host_expect(host, &host->admin, sqe_identify(0, 2), NVME_OK, "and that it is back");
	host_expect(host, &host->admin, sqe_log(2, 0, 512), NVME_OK, "SMART");
	host_expect(host, &host->admin, sqe_make(NVME_KEEP_ALIVE, 0, 0), NVME_OK, "Keep Alive");
}

Test(threads, concurrent_commands_are_all_counted)
{
	struct nvmf_host *host = host_open(NULL);
	struct server servers[THREADS];
	uint64_t reads = 0, writes = 0, refused = 0;
	struct nvmf_counts counts[2];

	open_queues(host, servers);
	for (uint32_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&servers[i].thread, NULL, serve, &servers[i]), 0);
	for (uint32_t i = 0; i < 500; i++)
		change_namespaces(host);
	for (uint32_t i = 0; i < THREADS; i++) {
		pthread_join(servers[i].thread, NULL);
		cr_expect_not(servers[i].surprised);
		reads += servers[i].reads;
		writes += servers[i].writes;
		refused += servers[i].refused;
	}
	counts[0] = nvmf_namespace_counts(&host->space[0]);
	counts[1] = nvmf_namespace_counts(&host->space[1]);
	cr_expect_eq(reads + writes + refused, THREADS * TURNS);
	cr_expect_eq(counts[0].reads + counts[1].reads, reads);
	cr_expect_eq(counts[0].writes + counts[1].writes, writes);
	cr_expect_eq(counts[0].read_bytes, counts[0].reads * BLOCKS * 512);
	cr_expect_eq(counts[1].written_bytes, counts[1].writes * BLOCKS * 4096);
	for (int i = 0; i < 2; i++)
		cr_expect_eq(nvmf_namespace_under_way(&host->space[i]), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		nvmf_queue_close(&servers[i].queue);
	host_close(host);
}

/* A command that a thread has under way is the namespace's until that thread ends it, whoever has removed it. */
Test(threads, removed_namespace_is_in_use_by_each_thread)
{
	struct nvmf_host *host = host_open(NULL);
	struct nvmf_capsule read = sqe_blocks(NVME_READ, 2, 0, 1, 4096);
	struct nvmf_command commands[THREADS];
	struct server servers[THREADS];

	open_queues(host, servers);
	for (uint32_t i = 0; i < THREADS; i++)
		cr_assert_eq(nvmf_command_begin(&commands[i], &servers[i].queue, read.sqe, read.bytes, HOST_S),
			     NVMF_BLOCK);
	cr_assert_eq(nvmf_subsystem_remove(&host->target, &host->disk, 2), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		cr_expect_eq(nvmf_namespace_under_way(&host->space[1]), THREADS - i);
		nvmf_command_done(&commands[i], NVME_OK);
	}
	cr_expect_eq(nvmf_namespace_under_way(&host->space[1]), 0);
	for (uint32_t i = 0; i < THREADS; i++)
		nvmf_queue_close(&servers[i].queue);
	host_close(host);
}
