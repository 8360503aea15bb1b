/* options.c - the command line of uroce-nvme-perf */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmeperf/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/eal.h"
#include "common/number.h"
#include "common/option.h"
#include "nvmet/settings.h"

#define SERVICE 4420u

const char *const options_rw_names[OPTIONS_RWS] = { "read", "write", "randread", "randwrite", "rw", "randrw" };

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
	CYCLES,
	THINKTIME,
	PORT_QUEUES,
	FAILOVER,
	DRY_RUN
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
	{ "thinktime", required_argument, NULL, THINKTIME },
	{ "port-queues", required_argument, NULL, PORT_QUEUES },
	{ "failover", required_argument, NULL, FAILOVER },
	{ "cycles", required_argument, NULL, CYCLES },
	{ "json", required_argument, NULL, JSON },
	{ "dry-run", no_argument, NULL, DRY_RUN },
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
	"  --port-queues N    queue pairs of the port, 1 ... 16, and lcores of one thread: over net_memif as\n"
	"                     many as the target has; without --connect it has as many (default 1)\n"
	"  --thinktime N      microseconds without a new command after each answer, 0 ... 10000000 (default 0)\n"
	"  --verify           what is read is compared with what was written; a case that only reads writes first,\n"
	"                     one that only writes reads at the end\n"
	"  --runtime S        seconds a case, 0.01 ... 86400 (default 1)\n"
	"  -s, --store WHERE  of our own target: memory:SIZE, null:SIZE, PATH[:SIZE] (default memory:16M)\n"
	"  --block N          its blocks: 512, 4096 (default 512)\n"
	"  --in-capsule N     writes up to so many bytes travel with their command: 0 ... 16384 (default 4096)\n"
	"  --bare             without --connect: the same messages without NVMe beside each case: SEND, WRITE, SEND;\n"
	"                     with depth 1 one READ\n"
	"  --failover S       without --connect: a second link is the alternate path of each queue; the first one is\n"
	"                     cut S seconds into a case\n"
	"  --cycles N         instead: connect and disconnect all queues so often, 1 ... 10^9\n"
	"  --json FILE        writes the results there, too\n"
	"  --dry-run          print the cases that would be measured, and end\n"
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

static int take_rw(struct options *options, const char *text)
{
	char copy[256], *rest = copy, *word;

	if (strlen(text) >= sizeof(copy))
		return app_complain(APP_EXIT_USAGE, "--rw %s: too long", text);
	strcpy(copy, text);
	memset(options->rws, 0, sizeof(options->rws));
	while ((word = strsep(&rest, ",")) != NULL) {
		uint32_t i = 0;

		while (i < OPTIONS_RWS && strcmp(options_rw_names[i], word) != 0)
			i++;
		if (i == OPTIONS_RWS)
			return app_complain(APP_EXIT_USAGE,
					    "--rw %s: use read, write, randread, randwrite, rw or randrw", word);
		options->rws[i] = true;
	}
	return APP_EXIT_OK;
}

static int take_seconds(const char *option, const char *text, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	if (end == text || *end || !(*seconds >= 0.01 && *seconds <= 86400))
		return app_complain(APP_EXIT_USAGE, "%s %s: use seconds from 0.01 to 86400", option, text);
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
		return take_seconds("--runtime", text, &options->seconds);
	case 's':
		options->store = text;
		return APP_EXIT_OK;
	case BLOCK:
		return settings_block_parse("--block", text, &options->block_bytes);
	case IN_CAPSULE:
		return app_size_take32("--in-capsule", text, 0, 16384, &options->in_capsule_bytes);
	case BARE:
		options->bare = true;
		return APP_EXIT_OK;
	case PORT_QUEUES:
		return app_number_take32("--port-queues", text, 1, 16, &options->port_queues);
	case THINKTIME:
		return app_number_take32("--thinktime", text, 0, 10000000, &options->think_us);
	case FAILOVER:
		return take_seconds("--failover", text, &options->failover_s);
	case CYCLES:
		return app_number_take("--cycles", text, 1, 1000000000, &options->cycles);
	case JSON:
		options->json = text;
		return APP_EXIT_OK;
	case DRY_RUN:
		options->dry_run = true;
		return APP_EXIT_OK;
	default:
		return APP_EXIT_USAGE; /* app_option_next() has complained */
	}
}

/* What is about a target elsewhere, and what about our own. */
static int check_ends(const struct options *options)
{
	struct uroce_addr addr;

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

/* Our own target's disk: what fits it is known before it is opened. */
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
	int letter, code;

	*options = (struct options){ .service = SERVICE,
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
				     .seconds = 1 };
	while ((letter = app_option_next(argc, argv, ":d:p:b:q:s:hV", long_options)) != -1) {
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
