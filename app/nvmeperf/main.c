/* main.c - uroce-nvme-perf: a host of an NVMe over RDMA target that measures and verifies, in fio's words */
/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/eal.h"
#include "common/number.h"
#include "nvmeperf/bare.h"
#include "nvmeperf/host.h"
#include "nvmet/disk.h"
#include "perf/histogram.h"

#define LIST_MAX 16u
#define SERVICE 4420u
#define OWN_NQN "nqn.2026-01.uroce:perf"
#define HOST_NQN "nqn.2026-01.uroce:nvme-perf"
#define HOST_ADDRESS "10.0.0.1/24"
#define TARGET_ADDRESS "10.0.0.2/24"
#define POOL_BYTES (64ull << 20)
#define KEEP_ALIVE_MS 5000u

static const char *const rw_names[] = { "read", "write", "randread", "randwrite", "rw", "randrw" };
enum { RW_COUNT = sizeof(rw_names) / sizeof(rw_names[0]) };

struct options {
	const char *connect, *nqn, *device, *ip, *gateway, *store, *json;
	uint32_t service, nsid, queues, read_percent, block_bytes;
	uint32_t sizes[LIST_MAX], size_count, depths[LIST_MAX], depth_count;
	bool rws[RW_COUNT], random, mixed, reads;
	bool verify, bare;
	uint32_t in_capsule_bytes;
	uint64_t cycles;
	double seconds;
};

static struct {
	struct options options;
	struct server server;
	struct nvmf_subsystem *subsystem;
	struct disks disks;
	struct disk *disk;
	struct uroce_engine *engine;
	struct uroce_port *port;
	struct uroce_cm_channel *channel;
	struct uroce_addr addr, target;
	json_t *results;
	uint64_t seed;
	bool local;
} all;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static void turn(void *nothing)
{
	(void)nothing;
	if (all.local)
		server_turn(&all.server);
	else
		uroce_lcore_poll(uroce_engine_lcore(all.engine, 0));
}

/* xorshift: the same places each time. */
static uint64_t draw(void)
{
	all.seed ^= all.seed << 13;
	all.seed ^= all.seed >> 7;
	all.seed ^= all.seed << 17;
	return all.seed;
}

/* ---- one case ---- */

struct run {
	const char *rw;
	uint32_t bytes, depth;
	struct host *host;
	struct host_namespace namespace;
	uint32_t count; /* blocks of a command */
	uint64_t places, next, done, bytes_moved, wrong, failed;
	uint64_t *begun_ns; /* of each command under way */
	uint32_t *free_tags, free_count;
	uint64_t *place_of; /* and where */
	uint32_t *versions; /* of each place: what was written last; 0: nothing */
	bool *busy;         /* of each place, with verify */
	bool *is_read;
	struct perf_histogram times[2]; /* reads, writes */
	uint64_t now_ns;
};

/* Each 8 bytes of a block tell where they belong and which writing it was. */
static void fill(uint8_t *data, uint32_t bytes, uint64_t place, uint32_t version)
{
	uint64_t word = place * 0x9E3779B97F4A7C15ull ^ (uint64_t)version << 32;

	for (uint32_t i = 0; i < bytes; i += 8) {
		word += 0x9E3779B97F4A7C15ull;
		memcpy(data + i, &word, 8);
	}
}

static bool is_right(const uint8_t *data, uint32_t bytes, uint64_t place, uint32_t version)
{
	uint64_t word = place * 0x9E3779B97F4A7C15ull ^ (uint64_t)version << 32;

	for (uint32_t i = 0; i < bytes; i += 8) {
		word += 0x9E3779B97F4A7C15ull;
		if (memcmp(data + i, &word, 8) != 0)
			return false;
	}
	return true;
}

static bool reads_now(const struct run *run)
{
	if (strstr(run->rw, "rw"))
		return draw() % 100 < all.options.read_percent;
	return strstr(run->rw, "read") != NULL;
}

static uint64_t next_place(struct run *run)
{
	if (strncmp(run->rw, "rand", 4) == 0)
		return draw() % run->places;
	return run->next++ % run->places;
}

static int submit_one(struct run *run, uint16_t queue)
{
	uint64_t place = next_place(run);
	uint8_t *data = host_buffer(run->host, queue);
	bool read = reads_now(run);
	uint32_t tag;
	int error;

	if (data == NULL || run->free_count == 0)
		return -EAGAIN;
	while (all.options.verify && run->busy[place]) /* two at one place may come in any order */
		place = (place + 1) % run->places;
	tag = run->free_tags[run->free_count - 1];
	if (all.options.verify && !read)
		fill(data, run->bytes, place, ++run->versions[place]);
	error = host_submit(run->host, queue, read ? NVME_READ : NVME_WRITE, place * run->count, run->count, tag);
	if (error)
		return error;
	run->free_count--;
	run->begun_ns[tag] = run->now_ns;
	run->place_of[tag] = place;
	run->is_read[tag] = read;
	if (all.options.verify)
		run->busy[place] = true;
	return 0;
}

static void take_done(struct run *run, const struct host_done *done)
{
	uint64_t place = run->place_of[done->tag];
	bool read = run->is_read[done->tag];

	run->free_tags[run->free_count++] = (uint32_t)done->tag;
	run->done++;
	run->failed += done->status != NVME_OK;
	perf_histogram_record(&run->times[!read], run->now_ns - run->begun_ns[done->tag]);
	if (!all.options.verify)
		return;
	run->busy[place] = false;
	if (read && run->versions[place] && !is_right(done->data, run->bytes, place, run->versions[place]))
		run->wrong++;
}

/* Until the time is over; then until nothing is under way. -1: the connection is over. */
static int work(struct run *run, uint64_t until_ns, bool submit)
{
	struct host_done done[32];
	uint32_t under_way = 1;

	run->now_ns = now_ns();
	while (run->now_ns < until_ns && (submit || under_way)) {
		int count;

		for (uint16_t queue = 0; submit && queue < all.options.queues; queue++) {
			while (submit_one(run, queue) == 0)
				;
		}
		turn(NULL);
		run->now_ns = now_ns();
		count = host_poll(run->host, done, 32);
		if (count < 0)
			return -1;
		for (int i = 0; i < count; i++)
			take_done(run, &done[i]);
		host_keep_alive(run->host);
		under_way = host_under_way(run->host);
	}
	return under_way && !submit ? -1 : 0;
}

static void report(const struct run *run, double seconds)
{
	static struct perf_histogram sum;
	double rate = (double)run->done / seconds;
	const double fractions[] = { 0.5, 0.9, 0.99, 0.999 };
	double us[4];

	memset(&sum, 0, sizeof(sum));
	perf_histogram_add(&sum, &run->times[0]);
	perf_histogram_add(&sum, &run->times[1]);
	for (int i = 0; i < 4; i++)
		us[i] = (double)perf_histogram_percentile(&sum, fractions[i]) / 1e3;
	printf("%-9s %8u %6u %6u %10.0f %9.1f %8.1f %8.1f %8.1f %8.1f %8.1f%s\n", run->rw, run->bytes,
	       all.options.queues, run->depth, rate, rate * run->bytes / 1e6, perf_histogram_mean(&sum) / 1e3, us[0],
	       us[1], us[2], us[3],
	       run->wrong || run->failed ? "  WRONG" :
	       all.options.verify        ? "  verified" :
					   "");
	json_array_append_new(
		all.results,
		json_pack("{s:s, s:i, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I}", "rw", run->rw, "bs",
			  (int)run->bytes, "queues", (int)all.options.queues, "iodepth", (int)run->depth, "iops", rate,
			  "mb_per_s", rate * run->bytes / 1e6, "lat_mean_us", perf_histogram_mean(&sum) / 1e3,
			  "lat_p50_us", us[0], "lat_p90_us", us[1], "lat_p99_us", us[2], "lat_p999_us", us[3], "ios",
			  (json_int_t)run->done, "failed", (json_int_t)run->failed, "wrong", (json_int_t)run->wrong));
}

static int open_host(uint32_t depth, uint32_t bytes, struct host **host, struct host_namespace *namespace)
{
	struct host_config config = {
		.engine = all.engine,
		.device = all.port->device,
		.channel = all.channel,
		.target = all.target,
		.service = (uint16_t)all.options.service,
		.nqn = all.options.nqn,
		.host_nqn = HOST_NQN,
		.nsid = all.options.nsid,
		.queues = all.options.queues,
		.depth = depth + 1, /* of so many entries one is always free */
		.data_bytes = bytes,
		.keep_alive_ms = KEEP_ALIVE_MS,
		.in_capsule_bytes = all.options.in_capsule_bytes,
		.turn = turn,
	};

	return host_open(&config, host, namespace);
}

static int make_run(struct run *run)
{
	uint32_t tags = all.options.queues * (run->depth + 1);

	run->count = run->bytes / run->namespace.block_bytes;
	if (run->count == 0 || run->bytes % run->namespace.block_bytes || run->count > run->namespace.blocks)
		return app_complain(APP_EXIT_USAGE, "--bs %u: use a multiple of the %u bytes of a block, at most %lu",
				    run->bytes, run->namespace.block_bytes,
				    run->namespace.blocks * run->namespace.block_bytes);
	run->places = run->namespace.blocks / run->count;
	run->begun_ns = calloc(tags, sizeof(*run->begun_ns));
	run->place_of = calloc(tags, sizeof(*run->place_of));
	run->is_read = calloc(tags, sizeof(*run->is_read));
	run->free_tags = calloc(tags, sizeof(*run->free_tags));
	if (all.options.verify) {
		run->versions = calloc(run->places, sizeof(*run->versions));
		run->busy = calloc(run->places, sizeof(*run->busy));
	}
	if (!run->begun_ns || !run->place_of || !run->is_read || !run->free_tags ||
	    (all.options.verify && (!run->versions || !run->busy)))
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for %u commands", tags);
	if (all.options.verify && run->places < 2 * tags)
		return app_complain(APP_EXIT_USAGE,
				    "--verify: a namespace of %lu commands is too small for %u at a time", run->places,
				    tags);
	for (uint32_t i = 0; i < tags; i++)
		run->free_tags[run->free_count++] = i;
	return APP_EXIT_OK;
}

static void free_run(struct run *run)
{
	free(run->begun_ns);
	free(run->place_of);
	free(run->is_read);
	free(run->free_tags);
	free(run->versions);
	free(run->busy);
}

static int measure(const char *rw, uint32_t bytes, uint32_t depth)
{
	static struct run run;
	uint64_t began_ns, ended_ns;
	int code;

	run = (struct run){ .rw = rw, .bytes = bytes, .depth = depth };
	code = open_host(depth, bytes, &run.host, &run.namespace);
	if (code)
		return code;
	code = make_run(&run);
	began_ns = now_ns();
	if (code == APP_EXIT_OK && work(&run, began_ns + (uint64_t)(all.options.seconds * 1e9), true) != 0)
		code = APP_EXIT_FAILURE;
	ended_ns = now_ns();
	if (code == APP_EXIT_OK) {
		uint64_t done = run.done;

		if (work(&run, ended_ns + 20000000000ull, false) != 0)
			code = app_complain(APP_EXIT_FAILURE, "commands are not answered");
		run.done = done;
		report(&run, (double)(ended_ns - began_ns) / 1e9);
	}
	host_close(run.host, code == APP_EXIT_OK);
	free_run(&run);
	return code ? code : run.wrong || run.failed ? APP_EXIT_FAILURE : APP_EXIT_OK;
}

static int measure_bare(uint32_t bytes, uint32_t depth)
{
	struct bare_config config = {
		.engine = all.engine,
		.devices = { all.port->device, all.server.ports[0].port->device },
		.addrs = { all.addr, all.target },
		.depth = depth,
		.bytes = bytes,
		.seconds = all.options.seconds,
	};
	double value = 0;
	int code = depth == 1 ? bare_reads(&config, &value) : bare_exchanges(&config, &value);

	if (code)
		return code;
	if (depth == 1)
		printf("%-9s %8u %6u %6u %10.0f %9.1f %8.1f\n", "bare READ", bytes, 1, 1, 1e9 / value,
		       1e3 / value * bytes, value / 1e3);
	else
		printf("%-9s %8u %6u %6u %10.0f %9.1f\n", "bare", bytes, 1, depth, value, value * bytes / 1e6);
	json_array_append_new(all.results,
			      json_pack("{s:s, s:i, s:i, s:f}", "rw", depth == 1 ? "bare READ" : "bare", "bs",
					(int)bytes, "iodepth", (int)depth, "iops", depth == 1 ? 1e9 / value : value));
	return APP_EXIT_OK;
}

static int measure_all(void)
{
	const struct options *options = &all.options;
	int code = APP_EXIT_OK;

	printf("%-9s %8s %6s %6s %10s %9s %8s %8s %8s %8s %8s\n", "rw", "bs", "queues", "depth", "IOPS", "MB/s",
	       "mean us", "p50", "p90", "p99", "p99.9");
	for (uint32_t rw = 0; rw < RW_COUNT; rw++) {
		for (uint32_t s = 0; options->rws[rw] && s < options->size_count; s++) {
			for (uint32_t d = 0; d < options->depth_count && code == APP_EXIT_OK; d++) {
				code = measure(rw_names[rw], options->sizes[s], options->depths[d]);
				if (code == APP_EXIT_OK && options->bare)
					code = measure_bare(options->sizes[s], options->depths[d]);
			}
		}
	}
	return code;
}

/* Hosts come and go. */
static int cycle(void)
{
	int code = APP_EXIT_OK;
	uint64_t began_ns = now_ns();

	for (uint64_t i = 0; i < all.options.cycles && code == APP_EXIT_OK; i++) {
		struct host_namespace namespace;
		struct host *host;

		code = open_host(all.options.depths[0], NVME_PAGE_BYTES, &host, &namespace);
		if (code == APP_EXIT_OK)
			host_close(host, i % 2 == 0);
	}
	if (code == APP_EXIT_OK)
		printf("%lu times %u queues connected and disconnected in %.2f s\n", all.options.cycles,
		       all.options.queues + 1, (double)(now_ns() - began_ns) / 1e9);
	return code;
}

/* What the target still has when all hosts have gone. */
static int count_left(void)
{
	uint64_t until_ns = now_ns() + 5000000000ull;
	uint32_t controllers = 0;

	while (all.server.queues && now_ns() < until_ns)
		server_turn(&all.server);
	for (uint32_t i = 0; i < NVMF_CONTROLLERS_MAX; i++)
		controllers += all.server.target.controllers[i] != NULL;
	printf("left at the target: %u queues, %u controllers, %lu bytes of buffers, %u commands\n",
	       all.server.queue_count, controllers, all.server.pool.used_bytes, all.disk->namespace.under_way);
	return all.server.queue_count || controllers || all.server.pool.used_bytes || all.disk->namespace.under_way ?
		       APP_EXIT_FAILURE :
		       APP_EXIT_OK;
}

/* ---- opening ---- */

static int open_target(void)
{
	struct server_config config = {
		.nvmf = { .queue_depth = 1024, .in_capsule_bytes = all.options.in_capsule_bytes },
		.devices = { "loop" },
		.addresses = { TARGET_ADDRESS },
		.port_count = 1,
		.service = (uint16_t)all.options.service,
		.pool_bytes = POOL_BYTES,
	};
	struct settings_subsystem subsystem = { .nqn = OWN_NQN };
	struct settings_disk disk;
	char error[STORE_ERROR_BYTES];
	int code = settings_disk_parse("--store", all.options.store, &disk);

	disk.block_bytes = all.options.block_bytes;
	if (code == APP_EXIT_OK)
		code = server_open(&all.server, &config);
	if (code)
		return code;
	all.subsystem = disk_make_subsystem(&subsystem);
	if (all.subsystem == NULL)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory");
	nvmf_target_add_subsystem(&all.server.target, all.subsystem);
	all.engine = all.server.engine;
	all.disks.server = &all.server;
	all.disk = disks_add(&all.disks, all.subsystem, &disk, error);
	return all.disk ? server_listen(&all.server) : app_complain(APP_EXIT_ENVIRONMENT, "%s", error);
}

static int open_port(void)
{
	struct uroce_port_config config = {
		.addresses = { all.local ? HOST_ADDRESS : all.options.ip },
		.gateways = { all.options.gateway },
	};
	struct uroce_error error;
	int code;

	if (!all.local && uroce_engine_create(&(struct uroce_engine_config){ .max_qps = 2048 }, &all.engine) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for an engine");
	config.engine = all.engine;
	code = uroce_port_open(all.local ? "loop" : all.options.device, &config, &all.port, &error);
	if (code)
		return app_complain(app_exit_of(code), "%s", error.text);
	uroce_addr_parse(config.addresses[0], &all.addr, NULL);
	uroce_addr_parse(all.local ? TARGET_ADDRESS : all.options.connect, &all.target, NULL);
	if (uroce_cm_channel_create(all.engine, &all.channel) != 0)
		return app_complain(APP_EXIT_ENVIRONMENT, "no memory for connections");
	uroce_lcore_poll(uroce_engine_lcore(all.engine, 0)); /* this thread turns it */
	return APP_EXIT_OK;
}

static void close_everything(void)
{
	if (all.channel)
		uroce_cm_channel_destroy(all.channel);
	if (all.port)
		uroce_port_close(all.port);
	if (!all.local && all.engine)
		uroce_engine_destroy(all.engine);
	disks_close(&all.disks);
	if (all.local && all.server.engine)
		server_close(&all.server);
	free(all.subsystem);
}

static int write_json(int code)
{
	json_t *root = json_pack("{s:s, s:o}", "store", all.local ? all.options.store : "of the target", "results",
				 all.results);

	if (all.options.json && json_dump_file(root, all.options.json, JSON_INDENT(1)) != 0)
		code = app_complain(APP_EXIT_ENVIRONMENT, "--json %s: %s", all.options.json, strerror(errno));
	json_decref(root);
	return code;
}

static int run_all(void)
{
	int code = all.local ? open_target() : APP_EXIT_OK;

	if (code == APP_EXIT_OK)
		code = open_port();
	if (code == APP_EXIT_OK)
		code = all.options.cycles ? cycle() : measure_all();
	if (code == APP_EXIT_OK && all.local)
		code = count_left();
	code = write_json(code);
	close_everything();
	return code;
}

/* ---- the command line ---- */

enum option_letter {
	CONNECT = 256,
	NQN,
	IP,
	GATEWAY,
	RW,
	MIX,
	QUEUES,
	VERIFY,
	RUNTIME,
	JSON,
	BARE,
	IN_CAPSULE,
	BLOCK,
	NSID,
	CYCLES
};

static const struct option long_options[] = {
	{ "connect", required_argument, NULL, CONNECT },
	{ "nqn", required_argument, NULL, NQN },
	{ "device", required_argument, NULL, 'd' },
	{ "ip", required_argument, NULL, IP },
	{ "gateway", required_argument, NULL, GATEWAY },
	{ "port", required_argument, NULL, 'p' },
	{ "nsid", required_argument, NULL, NSID },
	{ "rw", required_argument, NULL, RW },
	{ "bs", required_argument, NULL, 'b' },
	{ "iodepth", required_argument, NULL, 'q' },
	{ "queues", required_argument, NULL, QUEUES },
	{ "rwmixread", required_argument, NULL, MIX },
	{ "verify", no_argument, NULL, VERIFY },
	{ "runtime", required_argument, NULL, RUNTIME },
	{ "store", required_argument, NULL, 's' },
	{ "block", required_argument, NULL, BLOCK },
	{ "in-capsule", required_argument, NULL, IN_CAPSULE },
	{ "bare", no_argument, NULL, BARE },
	{ "cycles", required_argument, NULL, CYCLES },
	{ "json", required_argument, NULL, JSON },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};

static const char help_text[] =
	"uroce-nvme-perf [EAL options] -- [options]\n"
	"An NVMe over RDMA host that measures and verifies, in fio's words. Without --connect it has a target of its\n"
	"own in the same process, over loop ports: both ends on one core.\n"
	"\n"
	"  --connect ADDR     a target, uroce-nvmet or any other\n"
	"  --nqn NQN          its subsystem\n"
	"  -d, --device DEV   with --connect: our port: eth1, net_memif0,..., a PCI address, or one given to EAL\n"
	"  --ip ADDR/LEN      with --connect: our address on it\n"
	"  --gateway ADDR     router for a target outside of LEN (default none)\n"
	"  -p, --port N       where the target listens, 1 ... 65535 (default 4420)\n"
	"  --nsid N           namespace, 1 ... 128 (default 1)\n"
	"  --rw WHAT[,...]    read, write, randread, randwrite, rw, randrw (default randread)\n"
	"  -b, --bs N[,...]   bytes a command: 512 ... 1M (default 4k)\n"
	"  -q, --iodepth N[,...]  commands under way in each queue, 1 ... 1023 (default 32)\n"
	"  --queues N         I/O queues, 1 ... 128 (default 1)\n"
	"  --rwmixread N      of rw and randrw: percent of reads, 0 ... 100 (default 50)\n"
	"  --verify           what is read is compared with what was written\n"
	"  --runtime S        seconds a case, 0.01 ... 86400 (default 1)\n"
	"  -s, --store WHERE  of our own target: memory:SIZE, null:SIZE, PATH[:SIZE] (default memory:16M)\n"
	"  --block N          its blocks: 512, 4096 (default 512)\n"
	"  --in-capsule N     writes up to so many bytes travel with their command: 0 ... 16384 (default 4096)\n"
	"  --bare             without --connect: the same messages without NVMe beside each case: SEND, WRITE, SEND;\n"
	"                     with depth 1 one READ\n"
	"  --cycles N         instead: connect and disconnect all queues so often, 1 ... 10^9\n"
	"  --json FILE        writes the results there, too\n"
	"  -h, --help  -V, --version\n"
	"\n"
	"Exit: 0 all was right, 1 failed, 2 usage, 3 environment, 130 interrupted.\n";

static int take_list(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *list, uint32_t *count)
{
	char copy[256], *rest = copy, *word;

	if (strlen(text) >= sizeof(copy))
		return app_complain(APP_EXIT_USAGE, "%s %s: too long", option, text);
	strcpy(copy, text);
	*count = 0;
	while ((word = strsep(&rest, ",")) != NULL) {
		uint64_t value;

		if (!settings_size(word, &value) || value < low || value > high)
			return app_complain(APP_EXIT_USAGE, "%s %s: use numbers from %u to %u", option, word, low,
					    high);
		if (*count == LIST_MAX)
			return app_complain(APP_EXIT_USAGE, "%s %s: at most %u of them", option, text, LIST_MAX);
		list[(*count)++] = (uint32_t)value;
	}
	return APP_EXIT_OK;
}

static int take_rw(struct options *options, const char *text)
{
	char copy[256], *rest = copy, *word;

	if (strlen(text) >= sizeof(copy))
		return app_complain(APP_EXIT_USAGE, "--rw %s: too long", text);
	strcpy(copy, text);
	memset(options->rws, 0, sizeof(options->rws));
	while ((word = strsep(&rest, ",")) != NULL) {
		uint32_t i = 0;

		while (i < RW_COUNT && strcmp(rw_names[i], word) != 0)
			i++;
		if (i == RW_COUNT)
			return app_complain(APP_EXIT_USAGE,
					    "--rw %s: use read, write, randread, randwrite, rw or randrw", word);
		options->rws[i] = true;
	}
	return APP_EXIT_OK;
}

static int take_seconds(const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	if (end == text || *end || !(*seconds >= 0.01 && *seconds <= 86400))
		return app_complain(APP_EXIT_USAGE, "--runtime %s: use seconds from 0.01 to 86400", text);
	return APP_EXIT_OK;
}

static int take_option(struct options *options, int letter, const char *text)
{
	switch (letter) {
	case CONNECT:
		options->connect = text;
		return APP_EXIT_OK;
	case NQN:
		options->nqn = text;
		return APP_EXIT_OK;
	case 'd':
		options->device = text;
		return APP_EXIT_OK;
	case IP:
		options->ip = text;
		return APP_EXIT_OK;
	case GATEWAY:
		options->gateway = text;
		return APP_EXIT_OK;
	case 'p':
		return app_number_take32("--port", text, 1, 65535, &options->service);
	case NSID:
		return app_number_take32("--nsid", text, 1, NVMF_NAMESPACES_MAX, &options->nsid);
	case RW:
		return take_rw(options, text);
	case 'b':
		return take_list("--bs", text, 512, 1 << 20, options->sizes, &options->size_count);
	case 'q':
		return take_list("--iodepth", text, 1, 1023, options->depths, &options->depth_count);
	case QUEUES:
		return app_number_take32("--queues", text, 1, 128, &options->queues);
	case MIX:
		return app_number_take32("--rwmixread", text, 0, 100, &options->read_percent);
	case VERIFY:
		options->verify = true;
		return APP_EXIT_OK;
	case RUNTIME:
		return take_seconds(text, &options->seconds);
	case 's':
		options->store = text;
		return APP_EXIT_OK;
	case BLOCK:
		return app_number_take32("--block", text, 512, 4096, &options->block_bytes);
	case IN_CAPSULE:
		return app_number_take32("--in-capsule", text, 0, 16384, &options->in_capsule_bytes);
	case BARE:
		options->bare = true;
		return APP_EXIT_OK;
	case CYCLES:
		return app_number_take("--cycles", text, 1, 1000000000, &options->cycles);
	case JSON:
		options->json = text;
		return APP_EXIT_OK;
	default:
		return APP_EXIT_USAGE; /* getopt has complained */
	}
}

static int check(struct options *options)
{
	struct uroce_addr addr;

	if (options->connect && uroce_addr_parse(options->connect, &addr, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "--connect %s: use an address such as 10.0.0.1", options->connect);
	if (options->connect && (options->nqn == NULL || options->ip == NULL))
		return app_complain(APP_EXIT_USAGE,
				    "--connect %s: add --nqn NQN, the target's, and --ip ADDR/LEN, ours",
				    options->connect);
	if (options->connect == NULL && (options->device || options->ip || options->nqn))
		return app_complain(APP_EXIT_USAGE, "--device, --ip and --nqn are about a target: add --connect ADDR");
	if (options->connect && options->bare)
		return app_complain(APP_EXIT_USAGE, "--bare: both ends are in this process: leave out --connect");
	if (options->block_bytes != 512 && options->block_bytes != 4096)
		return app_complain(APP_EXIT_USAGE, "--block %u: use 512 or 4096", options->block_bytes);
	if (options->in_capsule_bytes % 16)
		return app_complain(APP_EXIT_USAGE, "--in-capsule %u: use a multiple of 16", options->in_capsule_bytes);
	return APP_EXIT_OK;
}

/* 0 to go on, or 1 + what to exit with. */
static int parse_options(struct options *options, int argc, char **argv)
{
	int letter, code;

	*options = (struct options){ .service = SERVICE,
				     .nsid = 1,
				     .queues = 1,
				     .read_percent = 50,
				     .block_bytes = 512,
				     .sizes = { 4096 },
				     .size_count = 1,
				     .depths = { 32 },
				     .depth_count = 1,
				     .rws = { [2] = true },
				     .store = "memory:16M",
				     .in_capsule_bytes = 4096,
				     .seconds = 1 };
	while ((letter = getopt_long(argc, argv, "d:p:b:q:s:hV", long_options, NULL)) != -1) {
		if (letter == 'h') {
			fputs(help_text, stdout);
			return 1 + APP_EXIT_OK;
		}
		if (letter == 'V') {
			printf("uroce-nvme-perf %s\n", uroce_version());
			return 1 + APP_EXIT_OK;
		}
		code = take_option(options, letter, optarg);
		if (code)
			return 1 + code;
	}
	if (optind < argc)
		return 1 + app_complain(APP_EXIT_USAGE, "\"%s\": every word is an option here", argv[optind]);
	code = check(options);
	return code ? 1 + code : 0;
}

int main(int argc, char **argv)
{
	struct uroce_eal_config config = { .main_is_busy = true };
	struct app_args args;
	int code;

	if (app_eal_split(argc, argv, &args) != 0)
		return APP_EXIT_INTERNAL;
	code = parse_options(&all.options, args.own_count, args.own);
	if (code)
		return code - 1;
	all.local = all.options.connect == NULL;
	all.seed = 88172645463325252ull;
	all.results = json_array();
	if (all.local)
		all.options.nqn = OWN_NQN;
	else if ((code = app_eal_choose_device(&args, &all.options.device)) != APP_EXIT_OK)
		return code;
	config.devices[0] = all.local ? "loop" : all.options.device;
	config.last_core = !all.local;
	app_end_when_interrupted();
	code = app_eal_start(&args, &config);
	if (code != APP_EXIT_OK)
		return code;
	code = run_all();
	uroce_eal_stop();
	return code;
}
