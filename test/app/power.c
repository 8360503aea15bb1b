/* power.c - what a store in a file acknowledged as lasting survives a power cut at any moment */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random stories of a host: writes, some with FUA, flushes, zeroes, deallocates, compares, reads, many of them under
 * way at once, on a disk (power_disk.c) with faults. Then the power is cut behind each event of the log. What a block
 * may be then does not depend on the other blocks: its last lasting version or any later one. Each of these is
 * judged, so no subset of what was still in the cache is left out.
 * The seeds are printed; UROCE_POWER_SEED repeats one, UROCE_POWER_RUNS asks for more.
 */
#include "power.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"

#define DEEDS 90u
#define RUNS 2000u
#define POLLS 100000u
#define BLOCKS_MAX 6u
#define NEVER UINT32_MAX
#define FUA (1u << 30)
#define DEALLOCATES (1u << 25)

/* What a host asked for, and when: places in the log. */
struct deed {
	uint8_t opcode;
	bool lasting;    /* its host was promised that it lasts when it is done */
	bool matches;    /* COMPARE: its data was there when it was asked for */
	uint32_t blocks; /* bits */
	uint32_t begun, ended;
	uint16_t status;
};

struct story {
	uint64_t seed, random;
	uint32_t lcores;
	struct power *power;
	bool cache_off;
	struct deed deeds[DEEDS];
	uint32_t count, under_way;
	uint64_t judged, bound; /* contents, and those of blocks of which something has to last */
};

static struct story *told;

/* ---- what may be there ---- */

static bool changes(const struct deed *deed)
{
	return deed->opcode == NVME_WRITE || deed->opcode == NVME_WRITE_ZEROES ||
	       deed->opcode == NVME_DATASET_MANAGEMENT;
}

static uint64_t word_of(const struct story *story, uint32_t number, uint32_t block)
{
	return story->deeds[number].opcode == NVME_WRITE ? (uint64_t)(number + 1) << 8 | block : 0;
}

/* A deed that had ended before one of these (bits of deeds) began is replaced by it. */
static bool is_replaced(const struct story *story, uint32_t ended, uint32_t block, const bool done[DEEDS])
{
	for (uint32_t i = 0; i < story->count; i++) {
		if (done[i] && story->deeds[i].blocks & 1u << block && story->deeds[i].begun > ended)
			return true;
	}
	return false;
}

/* done: changes that nothing older may be found behind. What failed may have been done all the same, or in part. */
static bool may_be_there(const struct story *story, uint64_t word, uint32_t block, const bool done[DEEDS])
{
	if (word == power_first_word(block))
		return !is_replaced(story, 0, block, done);
	for (uint32_t i = 0; i < story->count; i++) {
		const struct deed *deed = &story->deeds[i];

		if (changes(deed) && deed->blocks & 1u << block && word_of(story, i, block) == word &&
		    !is_replaced(story, deed->ended, block, done))
			return true;
	}
	return false;
}

/* ---- the power cuts ---- */

/* What lasts from the end of this deed on. */
static uint32_t note_end(const struct story *story, uint32_t number, bool lasts[DEEDS])
{
	const struct deed *deed = &story->deeds[number];
	uint32_t blocks = 0;

	if (deed->status != NVME_OK)
		return 0;
	if (changes(deed) && deed->lasting) {
		lasts[number] = true;
		blocks = deed->blocks;
	}
	for (uint32_t i = 0; deed->opcode == NVME_FLUSH && i < story->count; i++) {
		const struct deed *before = &story->deeds[i];

		if (changes(before) && before->status == NVME_OK && before->ended < deed->begun) {
			lasts[i] = true;
			blocks |= before->blocks;
		}
	}
	return blocks;
}

static void judge_block(struct story *story, uint32_t number, uint32_t lasting, uint32_t count, const bool lasts[DEEDS],
			uint32_t at)
{
	const struct disk_block *block = &story->power->disk.block[number];

	for (uint32_t i = lasting; i < count; i++) {
		uint64_t word;

		cr_assert(power_word(block->versions[i], &word), "seed %lu: a block is torn", story->seed);
		cr_assert(may_be_there(story, word, number, lasts),
			  "seed %lu: the power is cut behind event %u, and block %u is %lx", story->seed, at, number,
			  word);
		story->judged++;
		story->bound += is_replaced(story, 0, number, lasts);
	}
}

/* Only what the event has changed is judged anew: all else is as it was behind the one before. */
static void cut_everywhere(struct story *story)
{
	const struct disk *disk = &story->power->disk;
	uint32_t lasting[POWER_BLOCKS] = { 0 }, count[POWER_BLOCKS];
	bool lasts[DEEDS] = { 0 };

	for (uint32_t i = 0; i < POWER_BLOCKS; i++)
		count[i] = 1;
	for (uint32_t i = 0; i < disk->log_count; i++) {
		const struct power_event *event = &disk->log[i];
		uint32_t blocks = 0;

		switch (event->kind) {
		case DISK_WROTE:
			count[event->number] = event->version + 1;
			blocks = 1u << event->number;
			break;
		case DISK_LASTS:
			lasting[event->number] = event->version;
			blocks = 1u << event->number;
			break;
		case TASK_BEGAN:
			break;
		case TASK_ENDED:
			blocks = note_end(story, event->number, lasts);
			break;
		}
		for (uint32_t b = 0; b < POWER_BLOCKS; b++) {
			if (blocks & 1u << b)
				judge_block(story, b, lasting[b], count[b], lasts, i);
		}
	}
}

/* ---- the answers ---- */

/* Changes that were acknowledged before this deed began. */
static void find_done(const struct story *story, const struct deed *deed, bool done[DEEDS])
{
	for (uint32_t i = 0; i < story->count; i++) {
		const struct deed *other = &story->deeds[i];

		done[i] = changes(other) && other->ended < deed->begun && other->status == NVME_OK;
	}
}

static void judge_data(const struct story *story, const struct deed *deed, const uint8_t *data)
{
	bool done[DEEDS];

	find_done(story, deed, done);
	for (uint32_t b = 0; b < POWER_BLOCKS; b++) {
		uint64_t word;

		if ((deed->blocks & 1u << b) == 0)
			continue;
		cr_assert(power_word(data, &word) && may_be_there(story, word, b, done),
			  "seed %lu: block %u was said to be %lx", story->seed, b, word);
		data += POWER_BLOCK;
	}
}

static bool was_disturbed(const struct story *story, const struct deed *deed)
{
	for (uint32_t i = 0; i < story->count; i++) {
		const struct deed *other = &story->deeds[i];

		if (changes(other) && other->blocks & deed->blocks && other->ended > deed->begun)
			return true;
	}
	return false;
}

static bool has_faults(const struct disk_faults *faults)
{
	return faults->broken || faults->sync_broken || faults->no_space;
}

static void ended(struct power_task *task)
{
	struct story *story = told;
	struct deed *deed = &story->deeds[task->number];

	deed->status = task->status;
	if (task->status == NVME_OK && (deed->opcode == NVME_READ || deed->opcode == NVME_COMPARE))
		judge_data(story, deed, task->data);
	if (task->status == FINAL(NVME_COMPARE_FAILURE))
		cr_assert(deed->opcode == NVME_COMPARE && (!deed->matches || was_disturbed(story, deed)),
			  "seed %lu: deed %u does not compare", story->seed, task->number);
	else if (!has_faults(&story->power->disk.faults))
		cr_assert_eq(task->status, NVME_OK, "seed %lu: deed %u: %s", story->seed, task->number,
			     nvmf_status_text(task->status));
	deed->ended = story->power->disk.log_count;
	power_log(&story->power->disk, TASK_ENDED, task->number, 0);
	story->under_way--;
}

/* ---- the deeds ---- */

static void fill_data(struct story *story, struct power_task *task, struct deed *deed, uint32_t first, uint32_t count)
{
	deed->matches = draw_below(&story->random, 4) > 0;
	for (uint32_t b = 0; b < count; b++) {
		uint8_t *data = task->data + (size_t)b * POWER_BLOCK;

		if (deed->opcode == NVME_COMPARE && deed->matches)
			memcpy(data, power_now(&story->power->disk, first + b), POWER_BLOCK);
		else
			power_fill(data, (uint64_t)(task->number + 1) << 8 | (first + b));
	}
}

/* Some ranges are empty, some of them are of the same blocks. */
static struct nvmf_capsule draw_ranges(struct story *story, struct power_task *task, struct deed *deed)
{
	uint32_t ranges = 1 + draw_below(&story->random, 4);

	for (uint32_t i = 0; i < ranges; i++) {
		uint32_t count = draw_below(&story->random, BLOCKS_MAX);
		uint32_t first = draw_below(&story->random, POWER_BLOCKS - count + 1);

		host_put(task->data + 16 * i, 4, 0);
		host_put(task->data + 16 * i + 4, 4, count);
		host_put(task->data + 16 * i + 8, 8, first);
		deed->blocks |= ((1u << count) - 1) << first;
	}
	deed->lasting = story->cache_off;
	return sqe_ranges(1, ranges, true);
}

static struct nvmf_capsule draw_blocks(struct story *story, struct power_task *task, struct deed *deed)
{
	uint32_t count = 1 + draw_below(&story->random, BLOCKS_MAX);
	uint32_t first = draw_below(&story->random, POWER_BLOCKS - count + 1);
	uint32_t bytes = deed->opcode == NVME_WRITE_ZEROES ? 0 : count * POWER_BLOCK, dw12 = count - 1;
	struct nvmf_capsule capsule = sqe_blocks(deed->opcode, 1, first, count, bytes);

	if (draw_below(&story->random, 4) == 0)
		dw12 |= FUA;
	if (deed->opcode == NVME_WRITE_ZEROES && draw_below(&story->random, 2))
		dw12 |= DEALLOCATES;
	sqe_put(&capsule, 48, 4, dw12);
	deed->blocks = ((1u << count) - 1) << first;
	deed->lasting = story->cache_off || dw12 & FUA;
	fill_data(story, task, deed, first, count);
	return capsule;
}

/* A host has queues at each lcore, and its commands are for the same blocks. */
static uint32_t draw_lcore(struct story *story)
{
	return story->lcores > 1 ? draw_below(&story->random, story->lcores) : 0;
}

static void begin(struct story *story, struct power_task *task)
{
	static const uint8_t opcodes[] = {
		NVME_WRITE,        NVME_WRITE, NVME_WRITE, NVME_WRITE,   NVME_WRITE,
		NVME_WRITE_ZEROES, NVME_READ,  NVME_FLUSH, NVME_COMPARE, NVME_DATASET_MANAGEMENT
	};
	struct deed *deed = &story->deeds[story->count];
	struct nvmf_capsule capsule;

	deed->opcode = opcodes[draw_below(&story->random, sizeof(opcodes))];
	deed->ended = NEVER;
	deed->begun = story->power->disk.log_count;
	task->number = story->count++;
	task->ended = ended;
	task->lcore = draw_lcore(story);
	if (deed->opcode == NVME_FLUSH)
		capsule = sqe_make(NVME_FLUSH, 1, 0);
	else if (deed->opcode == NVME_DATASET_MANAGEMENT)
		capsule = draw_ranges(story, task, deed);
	else
		capsule = draw_blocks(story, task, deed);
	power_log(&story->power->disk, TASK_BEGAN, task->number, 0);
	story->under_way++;
	power_begin(task, capsule);
}

static void draw_faults(struct story *story)
{
	struct disk *disk = &story->power->disk;
	uint64_t *random = &story->random;

	for (uint32_t i = 0; i < story->lcores; i++)
		story->power->ring[i].fixed = draw_below(random, 2);
	disk->faults = (struct disk_faults){
		.cut_short = draw_below(random, 2) * 300,
		.busy = draw_below(random, 2) * 100,
		.broken = draw_below(random, 3) == 0 ? 40 : 0,
		.sync_broken = draw_below(random, 3) == 0 ? 80 : 0,
		.no_space = draw_below(random, 3) == 0 ? 40 : 0,
		.no_punch = draw_below(random, 3) == 0,
		.no_zero_range = draw_below(random, 3) == 0,
	};
}

static void run(uint64_t seed, uint32_t lcores, uint64_t *judged, uint64_t *bound)
{
	struct story story = { .seed = seed, .random = draw_start(seed), .lcores = lcores };

	story.power = power_open(seed, lcores);

	told = &story;
	draw_faults(&story);
	/* Nothing may have the place of the first blocks in the log. */
	power_log(&story.power->disk, DISK_LASTS, 0, 0);
	story.cache_off = draw_below(&story.random, 4) == 0;
	power_set_cache(story.power, !story.cache_off);
	for (uint32_t poll = 0; story.count < DEEDS || story.under_way; poll++) {
		struct power_task *task = power_free_task(story.power);

		cr_assert_lt(poll, POLLS, "seed %lu: it does not end", seed);
		if (task && story.count < DEEDS && draw_below(&story.random, 2))
			begin(&story, task);
		else
			ring_poll(&story.power->ring[draw_lcore(&story)]);
	}
	cut_everywhere(&story);
	*judged += story.judged;
	*bound += story.bound;
	power_close(story.power);
}

static void run_all(uint32_t lcores)
{
	const char *given = getenv("UROCE_POWER_SEED"), *more = getenv("UROCE_POWER_RUNS");
	uint64_t first = given ? strtoull(given, NULL, 0) : 1, runs = given ? 1 : RUNS, judged = 0, bound = 0;

	if (more)
		runs = strtoull(more, NULL, 0);
	printf("# seeds %lu ... %lu\n", first, first + runs - 1);
	cr_assert(freopen("/dev/null", "w", stderr)); /* the store prints each failed sync to stderr */
	for (uint64_t seed = first; seed < first + runs; seed++)
		run(seed, lcores, &judged, &bound);
	printf("# %lu contents judged, %lu of blocks of which something has to last\n", judged, bound);
	cr_assert_gt(bound, given ? 0 : runs * 100);
}

Test(power, acknowledged_data_survives_a_power_cut_at_any_moment, .timeout = 120)
{
	run_all(1);
}

Test(power, acknowledged_data_of_two_lcores_survives_a_power_cut, .timeout = 120)
{
	run_all(2);
}
