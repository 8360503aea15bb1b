/* run.c - runs one case: a host reads, writes or both for a time, and compares what it reads */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmeperf/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/draw.h"
#include "common/eal.h"
#include "common/histogram.h"
#include "common/pattern.h"
#include "nvmf/command.h"

#define PATIENCE_NS 20000000000ull /* how long a target may answer nothing */

/* With --verify all places are written before a case that only reads, and read after one that writes. */
enum phase { PHASE_FILL, PHASE_MEASURE, PHASE_READ_BACK, PHASE_DRAIN };

struct command {
	uint64_t begun_ns, place;
	bool is_read;
};

struct contents {
	uint32_t version; /* the number of its last write; 0: none */
	bool busy;        /* a command is under way */
};

/* A place is a range of blocks that one command reads or writes; places do not overlap. */
struct run {
	const struct options *options;
	struct run_case which;
	struct host *host;
	struct host_namespace namespace;
	void (*poll)(void *argument);
	struct failover *failover; /* NULL: no link is cut */
	enum phase phase;
	bool mixed, reads, random; /* as the name of the case says */
	bool counts;               /* completed commands count for the result */
	uint32_t count;            /* blocks of each command */
	uint64_t places, next, seed, done, verified, wrong, failed;
	uint32_t tags;
	struct command *commands; /* under way, by their tags */
	uint32_t *free_tags, free_count;
	struct contents *contents; /* of each place, with verify */
	uint16_t status;           /* status of the first command that failed */
	struct app_histogram times;
	uint64_t now_ns, think_until_ns;
};

/* ---- choosing places ---- */

static bool reads_now(struct run *run)
{
	return run->mixed ? draw_next(&run->seed) % 100 < run->options->read_percent : run->reads;
}

static void choose_measured(struct run *run, uint64_t *place, bool *read)
{
	*read = reads_now(run);
	*place = run->random ? draw_next(&run->seed) % run->places : run->next++ % run->places;
	/* Two commands at one place could complete in either order. */
	while (run->options->verify && run->contents[*place].busy)
		*place = (*place + 1) % run->places;
}

/* false: this phase has no more work. */
static bool choose(struct run *run, uint64_t *place, bool *read)
{
	if (run->phase == PHASE_DRAIN)
		return false;
	if (run->phase == PHASE_MEASURE) {
		choose_measured(run, place, read);
		return true;
	}
	*read = run->phase == PHASE_READ_BACK;
	while (*read && run->next < run->places && run->contents[run->next].version == 0)
		run->next++;
	*place = run->next++;
	return *place < run->places;
}

/* ---- commands ---- */

/* Returns 0; -EAGAIN: the queue is full; -ENOENT: this phase has no more work. */
static int submit_one(struct run *run, uint16_t queue)
{
	uint8_t *data = host_buffer(run->host, queue);
	uint64_t place;
	uint32_t tag;
	bool read;
	int error;

	if (data == NULL || run->free_count == 0 || run->now_ns < run->think_until_ns)
		return -EAGAIN;
	if (!choose(run, &place, &read))
		return -ENOENT;
	tag = run->free_tags[run->free_count - 1];
	/* Each byte of a block tells its place and the number of the write. */
	if (run->options->verify && !read)
		app_pattern_fill(data, run->which.bytes, pattern_key(++run->contents[place].version, 0, place));
	error = host_submit(run->host, queue, read ? NVME_READ : NVME_WRITE, place * run->count, run->count, tag);
	if (error) {
		if (run->options->verify && !read)
			run->contents[place].version--; /* undone, because it was not submitted */
		return error;
	}
	run->free_count--;
	run->commands[tag] = (struct command){ run->now_ns, place, read };
	if (run->options->verify)
		run->contents[place].busy = true;
	return 0;
}

/* Submits what the queues have room for. Returns whether more could be submitted. */
static bool submit_all(struct run *run)
{
	int error = 0;

	for (uint16_t queue = 0; queue < run->options->queues && error != -ENOENT; queue++) {
		do
			error = submit_one(run, queue);
		while (error == 0);
	}
	return error != -ENOENT;
}

static void handle_done(struct run *run, const struct host_done *done)
{
	const struct command *command = &run->commands[done->tag];
	struct contents *contents = run->contents ? &run->contents[command->place] : NULL;
	bool ok = done->status == NVME_OK;

	run->free_tags[run->free_count++] = (uint32_t)done->tag;
	if (!ok && run->failed++ == 0)
		run->status = done->status;
	if (run->counts) {
		run->done++;
		run->think_until_ns = run->now_ns + (uint64_t)(1e9 * run->options->think_s);
		app_histogram_record(&run->times, run->now_ns - command->begun_ns);
	}
	if (contents == NULL)
		return;
	contents->busy = false;
	if (!ok || !command->is_read || contents->version == 0)
		return;
	if (app_pattern_count_bad(done->data, run->which.bytes, pattern_key(contents->version, 0, command->place)) == 0)
		run->verified++;
	else
		run->wrong++;
}

/* Works until the time is over, until the phase has no work left, or until the program is interrupted. */
static int work(struct run *run, enum phase phase, uint64_t ns)
{
	uint64_t heard_ns = run->now_ns = app_now_ns(), until_ns = heard_ns + ns;
	struct host_done done[32];

	run->phase = phase;
	run->next = 0;
	while ((ns == 0 || run->now_ns < until_ns) && !app_is_interrupted()) {
		bool more = submit_all(run);
		int count;

		if (!more && host_under_way(run->host) == 0)
			break;
		run->poll(NULL);
		run->now_ns = app_now_ns();
		count = host_poll(run->host, done, 32);
		if (count < 0)
			return APP_EXIT_FAILURE;
		for (int i = 0; i < count; i++)
			handle_done(run, &done[i]);
		if (count)
			heard_ns = run->now_ns;
		if (run->counts && run->failover)
			failover_poll(run->failover, run->now_ns, count > 0);
		if (run->now_ns - heard_ns > PATIENCE_NS)
			return app_complain(APP_EXIT_FAILURE, "no response from the target for %llu s",
					    PATIENCE_NS / 1000000000);
		host_keep_alive(run->host);
	}
	return app_is_interrupted() ? APP_EXIT_INTERRUPTED : APP_EXIT_OK;
}

/* ---- the case ---- */

static int make(struct run *run)
{
	const struct run_case *which = &run->which;
	uint32_t tags = run->tags = run->options->queues * (which->depth + 1);

	run->count = which->bytes / run->namespace.block_bytes;
	if (run->count == 0 || which->bytes % run->namespace.block_bytes || run->count > run->namespace.blocks)
		return app_complain(APP_EXIT_USAGE,
				    "--bs %u: use a multiple of the block size, %u bytes, up to %lu bytes",
				    which->bytes, run->namespace.block_bytes,
				    run->namespace.blocks * run->namespace.block_bytes);
	if (which->bytes > run->namespace.most_bytes)
		return app_complain(APP_EXIT_USAGE, "--bs %u: the target accepts up to %lu bytes per command",
				    which->bytes, run->namespace.most_bytes);
	run->places = run->namespace.blocks / run->count;
	if (run->options->verify && run->places < 2 * tags)
		return app_complain(
			APP_EXIT_USAGE,
			"--verify: the namespace has space for %lu commands of %u bytes, but %u outstanding commands "
			"require space for %u commands: use a larger namespace, or a smaller --iodepth or --bs",
			run->places, which->bytes, tags, 2 * tags);
	run->commands = calloc(tags, sizeof(*run->commands));
	run->free_tags = calloc(tags, sizeof(*run->free_tags));
	if (run->options->verify)
		run->contents = calloc(run->places, sizeof(*run->contents));
	if (!run->commands || !run->free_tags || (run->options->verify && !run->contents))
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for %u commands", tags);
	for (uint32_t i = 0; i < tags; i++)
		run->free_tags[run->free_count++] = i;
	return APP_EXIT_OK;
}

static void clear(struct run *run)
{
	free(run->commands);
	free(run->free_tags);
	free(run->contents);
}

static void report(const struct run *run, double rate, json_t *results)
{
	const double fractions[] = { 0.5, 0.9, 0.99, 0.999 };
	const struct run_case *which = &run->which;
	double us[4], mean_us = app_histogram_mean(&run->times) / 1e3, mb = rate * which->bytes / 1e6;
	uint32_t queues = run->options->queues;

	for (int i = 0; i < 4; i++)
		us[i] = (double)app_histogram_percentile(&run->times, fractions[i]) / 1e3;
	if (json_array_size(results) == 0)
		printf("%-9s %8s %6s %6s %10s %9s %8s %8s %8s %8s %8s\n", "rw", "bs", "queues", "depth", "IOPS", "MB/s",
		       "mean us", "p50", "p90", "p99", "p99.9");
	printf("%-9s %8u %6u %6u %10.0f %9.1f %8.1f %8.1f %8.1f %8.1f %8.1f", which->rw, which->bytes, queues,
	       which->depth, rate, mb, mean_us, us[0], us[1], us[2], us[3]);
	if (run->wrong || run->failed)
		printf("  WRONG: %lu failed (%s), %lu differ", run->failed, nvmf_status_text(run->status), run->wrong);
	else if (run->options->verify)
		printf("  %lu verified", run->verified);
	if (run->failover)
		printf("  %u queues migrated; commands completed again %.1f ms after the cut",
		       run->failover->migrations, (double)(run->failover->resumed_ns - run->failover->cut_ns) / 1e6);
	printf("\n");
	json_array_append_new(results,
			      json_pack("{s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I}",
					"rw", which->rw, "bs", (int)which->bytes, "queues", (int)queues, "iodepth",
					(int)which->depth, "iops", rate, "mb_per_s", mb, "lat_mean_us", mean_us,
					"lat_p50_us", us[0], "lat_p90_us", us[1], "lat_p99_us", us[2], "lat_p999_us",
					us[3], "ios", (json_int_t)run->done, "verified", (json_int_t)run->verified,
					"failed", (json_int_t)run->failed, "wrong", (json_int_t)run->wrong));
}

/* Writes places for at most ns. Only as many places as were written in this time are read later. */
static int fill_places(struct run *run, uint64_t ns)
{
	int code = work(run, PHASE_FILL, ns);

	if (code == APP_EXIT_OK && run->next < run->places && run->next >= 2 * run->tags)
		run->places = run->next;
	return code ? code : work(run, PHASE_DRAIN, 0);
}

static void complain(const struct run *run)
{
	const char *meaning = nvmf_status_meaning(run->status);

	app_complain(APP_EXIT_FAILURE,
		     "%s, --bs %u: %lu commands failed (%s%s%s), and %lu commands returned wrong data", run->which.rw,
		     run->which.bytes, run->failed, nvmf_status_text(run->status), meaning ? ": " : "",
		     meaning ? meaning : "", run->wrong);
}

static int measure(struct run *run, json_t *results)
{
	uint64_t ns = (uint64_t)(run->options->seconds * 1e9), began_ns, done;
	int code = run->options->verify && run->reads ? fill_places(run, ns) : APP_EXIT_OK;
	double rate;

	if (code)
		return code;
	run->counts = true;
	began_ns = app_now_ns();
	code = work(run, PHASE_MEASURE, ns);
	rate = (double)run->done * 1e9 / (double)(app_now_ns() - began_ns);
	done = run->done;
	if (code == APP_EXIT_OK)
		code = work(run, PHASE_DRAIN, 0);
	run->counts = false;
	run->done = done;
	if (code == APP_EXIT_OK && run->options->verify && !run->reads)
		code = work(run, PHASE_READ_BACK, 0);
	if (code == APP_EXIT_OK && run->failover && run->failover->resumed_ns == 0)
		code = app_complain(APP_EXIT_FAILURE,
				    "no command completed after the link was cut: use a longer --duration");
	if (code == APP_EXIT_OK || done)
		report(run, rate, results);
	if (code == APP_EXIT_OK && (run->wrong || run->failed))
		complain(run);
	return code ? code : run->wrong || run->failed ? APP_EXIT_FAILURE : APP_EXIT_OK;
}

int run_measure(const struct options *options, const struct host_config *host, const struct run_case *which,
		struct failover *failover, json_t *results)
{
	static struct run run;
	struct host_config config = *host;
	int code;

	run = (struct run){
		.options = options, .which = *which, .poll = host->poll, .failover = failover, .seed = DRAW_SEED
	};
	run.mixed = strstr(which->rw, "rw") != NULL;
	run.reads = strstr(which->rw, "read") != NULL;
	run.random = strncmp(which->rw, "rand", 4) == 0;
	/* one entry more, because a queue holds one command less than it has entries */
	config.depth = which->depth + 1;
	config.data_bytes = which->bytes;
	if (failover)
		failover_begin(failover);
	code = host_open(&config, &run.host, &run.namespace);
	if (code)
		return code;
	code = make(&run);
	if (code == APP_EXIT_OK)
		code = measure(&run, results);
	host_close(run.host, true);
	clear(&run);
	return code;
}
