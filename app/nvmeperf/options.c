/* options.c - the command line of uroce-nvme-perf */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmeperf/options.h"

#include <stdio.h>
#include <string.h>

#include "common/eal.h"
#include "common/number.h"
#include "common/option.h"
#include "nvmet/settings.h"

const char *const options_rw_names[OPTIONS_RWS] = { "read", "write", "randread", "randwrite", "rw", "randrw" };

static int parse_list(const char *option, const char *text, uint32_t low, uint32_t high, uint32_t *list,
		      uint32_t *count)
{
	char copy[256], *rest = copy, *word;

	if (strlen(text) >= sizeof(copy))
		return app_complain(APP_EXIT_USAGE, "%s %s: too long", option, text);
	strcpy(copy, text);
	*count = 0;
	while ((word = strsep(&rest, ",")) != NULL) {
		uint64_t value;

		if (!app_size_parse(word, low, high, &value))
			return app_complain(APP_EXIT_USAGE, "%s %s: use numbers from %u to %u", option, word, low,
					    high);
		if (*count == OPTIONS_LIST_MAX)
			return app_complain(APP_EXIT_USAGE, "%s %s: at most %u of them", option, text,
					    OPTIONS_LIST_MAX);
		list[(*count)++] = (uint32_t)value;
	}
	return APP_EXIT_OK;
}

static int parse_sizes(const char *option, const char *text, void *place)
{
	struct options *options = place;

	return parse_list(option, text, 512, 1 << 20, options->sizes, &options->size_count);
}

static int parse_depths(const char *option, const char *text, void *place)
{
	struct options *options = place;

	return parse_list(option, text, 1, 1023, options->depths, &options->depth_count);
}

static int parse_rw(const char *option, const char *text, void *rws)
{
	static const struct option_row names = { .kind = OPTION_NAMES,
						 .high = OPTIONS_RWS - 1,
						 .names = options_rw_names };
	char copy[256], *rest = copy, *word;
	int code = APP_EXIT_OK;

	if (strlen(text) >= sizeof(copy))
		return app_complain(APP_EXIT_USAGE, "%s %s: too long", option, text);
	strcpy(copy, text);
	memset(rws, 0, OPTIONS_RWS * sizeof(bool));
	while (code == APP_EXIT_OK && (word = strsep(&rest, ",")) != NULL)
		code = app_option_parse_value(&names, option, word, rws);
	return code;
}

#define AT(member) OPTION_AT(struct options, member)
#define WHOLE 0, sizeof(struct options)
#define SECONDS(member) OPTION_REAL, AT(member), .least = 0.01, .most = 86400, .value = "S"

static const struct options defaults = {
	.service = SETTINGS_SERVICE,
	.nsid = 1,
	.queues = 1,
	.read_percent = 50,
	.sizes = { 4096 },
	.size_count = 1,
	.depths = { 32 },
	.depth_count = 1,
	.rws = { [2] = true },
	.in_capsule_bytes = 4096,
	.port_queues = 1,
	.seconds = 1,
};

/* clang-format off */
static const struct option_row rows[] = {
	{ "connect", 0, OPTION_WORD, AT(connect), .value = "ADDR", .usual = "",
	  .help = "a target, uroce-nvmet or any other" },
	{ "nqn", 0, OPTION_WORD, AT(nqn), .value = "NQN", .help = "its subsystem", .usual = "" },
	{ "device", 'd', OPTION_WORD, AT(device), .value = "DEV", .usual = "",
	  .help = "with --connect: our port: eth1, net_memif0,..., a PCI address, or one given to EAL" },
	{ "ip", 0, OPTION_WORD, AT(ip), .value = "ADDR/LEN", .help = "with --connect: our address on it", .usual = "" },
	{ "gateway", 0, OPTION_WORD, AT(gateway), .value = "ADDR", .help = "router for a target outside of LEN" },
	{ "no-dad", 0, OPTION_FLAG, AT(no_dad), .help =
	  "--ip is used at once: the network is not asked first (0.45 s) whether another station has it" },
	{ "port", 'p', OPTION_NUMBER, AT(service), 1, 65535, "N", "where the target listens" },
	{ "nsid", 0, OPTION_NUMBER, AT(nsid), 1, NVMF_NAMESPACES_MAX, "N", "namespace" },
	{ "rw", 0, OPTION_OTHER, AT(rws), .parse = parse_rw, .value = "WHAT[,...]", .usual = "randread",
	  .help = "read, write, randread, randwrite, rw, randrw" },
	{ "bs", 'b', OPTION_OTHER, WHOLE, .parse = parse_sizes, .value = "N[,...]", .usual = "4k",
	  .help = "bytes a command: 512 ... 1M" },
	{ "iodepth", 'q', OPTION_OTHER, WHOLE, .parse = parse_depths, .value = "N[,...]", .usual = "32",
	  .help = "commands under way in each queue, 1 ... 1023" },
	{ "queues", 0, OPTION_NUMBER, AT(queues), 1, 128, "N", "I/O queues" },
	{ "rwmixread", 0, OPTION_NUMBER, AT(read_percent), 0, 100, "N", "of rw and randrw: percent of reads" },
	{ "port-queues", 0, OPTION_NUMBER, AT(port_queues), 1, 16, "N",
	  "queue pairs of the port, and lcores of one thread: over net_memif as many as the target has; without "
	  "--connect it has as many" },
	{ "thinktime", 0, OPTION_NUMBER, AT(think_us), 0, 10000000, "N",
	  "microseconds without a new command after each answer" },
	{ "verify", 0, OPTION_FLAG, AT(verify), .help = "what is read is compared with what was written; a case "
		  "that only "
	  "reads writes first, one that only writes reads at the end" },
	{ "runtime", 0, SECONDS(seconds), .help = "seconds a case" },
	{ "store", 's', OPTION_WORD, AT(store), .value = "WHERE", .usual = "memory:16M",
	  .help = "of our own target: memory:SIZE, null:SIZE, PATH[:SIZE]" },
	{ "block", 0, OPTION_OTHER, AT(block_bytes), .parse = settings_block_parse, .value = "N", .usual = "512",
	  .help = "its blocks: 512, 4096" },
	{ "in-capsule", 0, OPTION_SIZE, AT(in_capsule_bytes), 0, 16384, "N",
	  "writes up to so many bytes travel with their command" },
	{ "bare", 0, OPTION_FLAG, AT(bare), .help = "without --connect: the same messages without NVMe beside "
		  "each case: "
	  "SEND, WRITE, SEND; with depth 1 one READ" },
	{ "failover", 0, SECONDS(failover_s), .usual = "", .help = "without --connect: a second link is the alternate "
	  "path of each queue; the first one is cut S seconds into a case" },
	{ "cycles", 0, OPTION_NUMBER, AT(cycles), 1, 1000000000, "N", .usual = "",
	  .help = "instead: connect and disconnect all queues so often" },
	{ "json", 0, OPTION_WORD, AT(json), .value = "FILE", .help = "writes the results there, too" },
	{ "dry-run", 0, OPTION_FLAG, AT(dry_run), .help = "print the cases that would be measured, and end" },
};
/* clang-format on */

static const struct option_set option_set = {
	.program = "uroce-nvme-perf",
	OPTION_ROWS(rows),
	.usual = &defaults,
	.head = "uroce-nvme-perf [EAL options] -- [options]\n"
		"An NVMe over RDMA host that measures and verifies, in fio's words. Without --connect it has a target\n"
		"of its own in the same process, over loop ports: both ends on one core.\n\n",
	.tail = "\nExit: 0 all was right, 1 failed, 2 usage, 3 environment, 130 interrupted.\n",
};

/* Options for a target elsewhere and options for our own target exclude each other. */
static int check_ends(const struct options *options)
{
	struct uroce_addr addr, own;

	if (options->connect == NULL) {
		if (options->device || options->ip || options->gateway || options->nqn)
			return app_complain(APP_EXIT_USAGE,
					    "--device, --ip, --gateway and --nqn are about a target: add --connect "
					    "ADDR");
		return APP_EXIT_OK;
	}
	if (uroce_addr_parse(options->connect, &addr, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "--connect %s: use an address such as 10.0.0.1", options->connect);
	if (options->nqn == NULL || options->ip == NULL)
		return app_complain(APP_EXIT_USAGE,
				    "--connect %s: add --nqn NQN, the target's, and --ip ADDR/LEN, ours",
				    options->connect);
	if (uroce_addr_parse(options->ip, &own, NULL) == 0 && app_check_peer("--connect", &own, &addr))
		return APP_EXIT_USAGE;
	if (!nvmf_nqn_is_valid(options->nqn))
		return app_complain(APP_EXIT_USAGE,
				    "--nqn %s: use a name such as nqn.2026-01.org.example:disk1, at most %u characters",
				    options->nqn, NVME_NQN_MAX);
	if (options->bare)
		return app_complain(APP_EXIT_USAGE, "--bare: both ends are in this process: leave out --connect");
	if (options->failover_s > 0)
		return app_complain(APP_EXIT_USAGE, "--failover: both ends are in this process: leave out --connect");
	if (options->store || options->block_bytes)
		return app_complain(APP_EXIT_USAGE,
				    "--store and --block are about our own target: leave out --connect %s",
				    options->connect);
	return APP_EXIT_OK;
}

/* Checks cases against the disk of our own target before the disk is opened. */
static int check_disk(struct options *options)
{
	struct settings_disk *disk = &options->disk;
	int code;

	options->store = options->store ? options->store : "memory:16M";
	code = settings_disk_parse("--store", options->store, disk);
	if (code)
		return code;
	disk->block_bytes = options->block_bytes ? options->block_bytes : 512;
	code = settings_disk_check("--store", disk);
	for (uint32_t i = 0; i < options->size_count && code == APP_EXIT_OK; i++) {
		if (options->sizes[i] % disk->block_bytes)
			code = app_complain(APP_EXIT_USAGE, "--bs %u: use a multiple of the %u bytes of a block",
					    options->sizes[i], disk->block_bytes);
	}
	if (code == APP_EXIT_OK && options->verify && disk->kind == STORE_NULL)
		code = app_complain(APP_EXIT_USAGE, "--verify: %s keeps nothing: use memory:SIZE or a file",
				    options->store);
	return code;
}

static int check(struct options *options)
{
	int code = check_ends(options);

	if (code)
		return code;
	if (options->in_capsule_bytes % 16)
		return app_complain(APP_EXIT_USAGE, "--in-capsule %u: use a multiple of 16", options->in_capsule_bytes);
	if (options->failover_s >= options->seconds)
		return app_complain(APP_EXIT_USAGE, "--failover %g: use less than --runtime, which is %g s",
				    options->failover_s, options->seconds);
	return options->connect ? APP_EXIT_OK : check_disk(options);
}

int options_parse(struct options *options, int argc, char **argv)
{
	int code;

	*options = defaults;
	code = app_option_parse(&option_set, argc, argv, options);
	if (code)
		return code;
	if (optind < argc)
		return 1 + app_complain(APP_EXIT_USAGE, "\"%s\": every word is an option here", argv[optind]);
	code = check(options);
	return code ? 1 + code : 0;
}

void options_print_plan(const struct options *options)
{
	uint32_t count = 0;

	if (options->connect)
		printf("target: %s of %s, port %u, over %s with %s\n", options->nqn, options->connect, options->service,
		       options->device, options->ip);
	else
		printf("target: in this process, over loop ports, with %s in blocks of %u bytes\n", options->store,
		       options->disk.block_bytes);
	if (options->cycles) {
		printf("%lu times %u I/O queues are connected and disconnected\n", options->cycles, options->queues);
		return;
	}
	for (unsigned rw = 0; rw < OPTIONS_RWS; rw++) {
		for (uint32_t s = 0; s < options->size_count && options->rws[rw]; s++) {
			for (uint32_t d = 0; d < options->depth_count; d++, count++)
				printf("  %-9s %7u bytes, %u under way in each of %u queues, %g s\n",
				       options_rw_names[rw], options->sizes[s], options->depths[d], options->queues,
				       options->seconds);
		}
	}
	printf("%u cases, about %.1f s\n", count, count * options->seconds);
}
