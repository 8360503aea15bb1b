/* options.c - the command line of uroce-nvme-perf */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmeperf/options.h"

#include <stdio.h>
#include <string.h>

#include "common/eal.h"
#include "common/number.h"
#include "common/ports.h"
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
			return app_complain(APP_EXIT_USAGE,
					    "%s %s: use a comma-separated list of numbers from %u to %u", option, word,
					    low, high);
		if (*count == OPTIONS_LIST_MAX)
			return app_complain(APP_EXIT_USAGE, "%s %s: give up to %u values", option, text,
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
	static const struct option_word kinds = { .kind = OPTION_NAMES,
						  .high = OPTIONS_RWS - 1,
						  .names = options_rw_names };
	static const struct option_row names = { .word = &kinds };
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
	.timeout = 17,
	.retry_cnt = 7,
	.seconds = 1,
};

/* clang-format off */
static const struct option_row rows[] = {
	{ WORD_OF(PEER), AT(connect), .usual = "", .more = "uroce-nvmet or any other target" },
	{ WORD_OF(NQN), AT(nqn), .usual = "" },
	{ WORD_OF(DEVICE), AT(device), .usual = "", .more = "with --peer" },
	{ WORD_OF(IP), AT(ip), .usual = "", .more = "with --peer" },
	{ WORD_OF(GATEWAY), AT(gateway) },
	APP_VLAN_ROW(struct options),
	APP_NO_DAD_ROW(struct options),
	{ WORD_OF(PORT), AT(service) },
	{ WORD_OF(NSID), AT(nsid) },
	{ WORD_OF(RW), AT(rws), .parse = parse_rw, .usual = "randread" },
	{ WORD_OF(BS), WHOLE, .parse = parse_sizes, .usual = "4k" },
	{ WORD_OF(IODEPTH), WHOLE, .parse = parse_depths, .usual = "32" },
	{ WORD_OF(QUEUES), AT(queues) },
	{ WORD_OF(RWMIXREAD), AT(read_percent) },
	{ WORD_OF(PORT_QUEUES), AT(port_queues), .more = "the local target uses the same number of queue pairs" },
	{ WORD_OF(THINKTIME), AT(think_s) },
	{ WORD_OF(VERIFY), AT(verify),
	  .more = "read-only cases write the data first, write-only cases read it back at the end" },
	{ WORD_OF(DURATION), AT(seconds), .more = "per case" },
	{ WORD_OF(STORE), AT(store), .usual = "memory:16M", .more = "of the local target" },
	{ WORD_OF(BLOCK), AT(block_bytes), .usual = "512", .parse = settings_block_parse,
	  .more = "of the local target" },
	{ WORD_OF(IN_CAPSULE), AT(in_capsule_bytes) },
	{ WORD_OF(BARE), AT(bare), .more = "without --peer" },
	{ WORD_OF(FAILOVER), AT(failover_s), .usual = "", .more = "without --peer" },
	{ WORD_OF(CYCLES), AT(cycles), .usual = "" },
	{ WORD_OF(TIMEOUT), AT(timeout), .low = 1, .high = 31 },
	{ WORD_OF(RETRY_CNT), AT(retry_cnt), .low = 1, .high = 7 },
	{ WORD_OF(RECORD), AT(record) },
	{ WORD_OF(JSON), AT(json) },
	{ WORD_OF(DRY_RUN), AT(dry_run) },
};
/* clang-format on */

static const struct option_set option_set = {
	.program = "uroce-nvme-perf",
	OPTION_ROWS(rows),
	OPTION_SPELLINGS,
	.usual = &defaults,
	.head = "uroce-nvme-perf [EAL options] -- [options]\n"
		"Measures and verifies an NVMe over RDMA target; options are named as in fio. Without --peer the\n"
		"target runs in the same process, over loop ports: both ends share one core.\n\n",
	.tail = "\nExit: 0 success, 1 failed, 2 usage, 3 environment, 130 interrupted.\n",
};

/* Options for a target elsewhere and options for our own target exclude each other. */
static int check_ends(const struct options *options)
{
	struct uroce_addr addr, own;

	if (options->connect == NULL) {
		if (options->device || options->ip || options->gateway || options->nqn || options->vlan.id ||
		    options->vlan.priority)
			return app_complain(
				APP_EXIT_USAGE,
				"--device, --ip, --gateway, --vlan and --nqn require a remote target: add --peer ADDR");
		return APP_EXIT_OK;
	}
	if (uroce_addr_parse(options->connect, &addr, NULL) != 0)
		return app_complain(APP_EXIT_USAGE, "--peer %s: use an address such as 10.0.0.1", options->connect);
	if (options->nqn == NULL || options->ip == NULL)
		return app_complain(APP_EXIT_USAGE,
				    "--peer %s requires --nqn NQN, the name of the target's subsystem, and --ip "
				    "ADDR/LEN, the local address",
				    options->connect);
	if (uroce_addr_parse(options->ip, &own, NULL) == 0 && app_check_peer("--peer", &own, &addr))
		return APP_EXIT_USAGE;
	if (!nvmf_nqn_is_valid(options->nqn))
		return app_complain(APP_EXIT_USAGE,
				    "--nqn %s: use a name such as nqn.2026-01.org.example:disk1, at most %u characters",
				    options->nqn, NVME_NQN_MAX);
	if (options->bare)
		return app_complain(APP_EXIT_USAGE, "--bare runs both ends in this process: remove --peer");
	if (options->failover_s > 0)
		return app_complain(APP_EXIT_USAGE, "--failover runs both ends in this process: remove --peer");
	if (options->store || options->block_bytes)
		return app_complain(
			APP_EXIT_USAGE,
			"--store and --block apply only to the local target: remove them, or remove --peer %s",
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
			code = app_complain(APP_EXIT_USAGE, "--bs %u: use a multiple of the block size, %u",
					    options->sizes[i], disk->block_bytes);
	}
	if (code == APP_EXIT_OK && options->verify && disk->kind == STORE_NULL)
		code = app_complain(APP_EXIT_USAGE, "--verify: %s stores no data: use memory:SIZE or a file",
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
		return app_complain(APP_EXIT_USAGE, "--failover %g: must be less than --duration, %g s",
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
		return 1 + app_complain(APP_EXIT_USAGE, "\"%s\": unexpected argument: only options are allowed",
					argv[optind]);
	code = check(options);
	return code ? 1 + code : 0;
}

void options_print_plan(const struct options *options)
{
	uint32_t count = 0;

	if (options->connect)
		printf("target: subsystem %s at %s, port %u, over device %s with local address %s\n", options->nqn,
		       options->connect, options->service, options->device, options->ip);
	else
		printf("target: in this process, over loop ports, namespace %s with a block size of %u bytes\n",
		       options->store, options->disk.block_bytes);
	if (options->cycles) {
		printf("%lu connect and disconnect cycles of %u I/O queues\n", options->cycles, options->queues);
		return;
	}
	for (unsigned rw = 0; rw < OPTIONS_RWS; rw++) {
		for (uint32_t s = 0; s < options->size_count && options->rws[rw]; s++) {
			for (uint32_t d = 0; d < options->depth_count; d++, count++)
				printf("  %-9s %7u bytes, up to %u commands outstanding in each of %u queues, %g s\n",
				       options_rw_names[rw], options->sizes[s], options->depths[d], options->queues,
				       options->seconds);
		}
	}
	printf("%u cases, about %.1f s\n", count, count * options->seconds);
}
