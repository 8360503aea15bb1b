/* power_host.c - a host, its commands, and the store that they are for */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/kind.h"
#include "power.h"

#include <criterion/criterion.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "draw.h"

void power_fill(uint8_t *data, uint64_t word)
{
	for (uint32_t i = 0; i < POWER_BLOCK; i += sizeof(word))
		memcpy(data + i, &word, sizeof(word));
}

bool power_word(const uint8_t *data, uint64_t *word)
{
	memcpy(word, data, sizeof(*word));
	return memcmp(data, data + sizeof(*word), POWER_BLOCK - sizeof(*word)) == 0;
}

uint64_t power_first_word(uint32_t block)
{
	return ~0xFFull | block;
}

static void open_disk(struct power *power, uint64_t seed, uint32_t lcores)
{
	struct disk *disk = &power->disk;

	disk->random = draw_start(seed);
	disk->rings = power->ring;
	disk->ring_count = lcores;
	for (uint32_t i = 0; i < lcores; i++) {
		power->ring[i].disk = disk;
		STAILQ_INIT(&power->ring[i].waiting);
		STAILQ_INIT(&power->turn[i].works);
	}
	for (uint32_t i = 0; i < POWER_BLOCKS; i++) {
		disk->block[i].count = 1;
		power_fill(disk->block[i].versions[0], power_first_word(i));
	}
}

/* The file is there to be opened only: what is read and written is the disk's. */
static struct store *open_store(struct power *power, uint32_t lcores)
{
	char error[STORE_ERROR_BYTES] = "";
	struct store_config config = { .kind = STORE_FILE,
				       .path = power->path,
				       .bytes = POWER_BYTES,
				       .block_bytes = POWER_BLOCK,
				       .buffered = true };
	struct store *store;
	int fd;

	strcpy(power->path, "/tmp/uroce-power-XXXXXX");
	fd = mkstemp(power->path);
	cr_assert_geq(fd, 0);
	close(fd);
	store = store_open(&config, lcores, error);
	unlink(power->path);
	cr_assert(store, "%s", error);
	store->at_once = false; /* wherever the file is */
	return store;
}

struct power *power_open(uint64_t seed, uint32_t lcores)
{
	struct power *power = calloc(1, sizeof(*power));

	cr_assert(power);
	open_disk(power, seed, lcores);
	power->store = open_store(power, lcores);
	power->host = host_open(NULL);
	power->host->space[0].blocks = POWER_BLOCKS;
	power->host->space[0].store = power->store;
	host_login(power->host, HOST_DISK);
	host_join(power->host);
	for (uint32_t i = 0; i < POWER_TASKS; i++) {
		power->task[i].power = power;
		power->task[i].data = calloc(1, POWER_BYTES);
		cr_assert(power->task[i].data);
	}
	return power;
}

void power_close(struct power *power)
{
	for (uint32_t i = 0; i < POWER_TASKS; i++) {
		cr_expect_not(power->task[i].busy);
		cr_expect_null(power->task[i].request.second);
		free(power->task[i].data);
	}
	for (uint32_t i = 0; i < POWER_LCORES * POWER_OPS; i++)
		cr_expect_null(power->ring[i / POWER_OPS].op[i % POWER_OPS].entry);
	store_close(power->store);
	host_close(power->host);
	free(power->disk.log);
	free(power);
}

struct power_task *power_free_task(struct power *power)
{
	for (uint32_t i = 0; i < POWER_TASKS; i++) {
		if (!power->task[i].busy)
			return &power->task[i];
	}
	return NULL;
}

static void end(struct power_task *task, uint16_t status)
{
	cr_assert(task->busy, "it ends twice");
	task->busy = false;
	task->status = status;
	if (task->ended)
		task->ended(task);
}

static void request_done(struct store_request *request, uint16_t status)
{
	struct power_task *task = (struct power_task *)(void *)((char *)request - offsetof(struct power_task, request));

	nvmf_command_done(&task->command, status);
	end(task, status);
}

void power_begin(struct power_task *task, struct nvmf_capsule capsule)
{
	struct nvmf_host *host = task->power->host;
	struct nvmf_command *command = &task->command;
	enum nvmf_step step;

	cr_assert_not(task->busy);
	task->busy = true;
	task->capsule = capsule;
	step = nvmf_command_begin(command, &host->io, task->capsule.sqe, task->capsule.bytes, host->now_ns);
	if (step == NVMF_FETCH)
		step = nvmf_command_fetched(command, task->data, host->now_ns);
	if (step != NVMF_BLOCK) {
		cr_assert_eq(step, NVMF_ANSWER);
		end(task, command->status);
		return;
	}
	task->request = (struct store_request){ .ring = &task->power->ring[task->lcore],
						.lcore = task->lcore,
						.store = command->block.namespace->store,
						.block = &command->block,
						.command = command,
						.data = task->data,
						.turn = &task->power->turn[task->lcore],
						.left = &task->power->left,
						.done = request_done };
	store_submit(&task->request);
}

void power_set_cache(struct power *power, bool on)
{
	host_expect(power->host, &power->host->admin, sqe_set_feature(NVME_FEATURE_WRITE_CACHE, on), NVME_OK, "cache");
}
