/* settings.c - what the target serves, and where: from the command line or an INI file */
/* SPDX-License-Identifier: BSD-3-Clause */
#include "nvmet/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uuid/uuid.h>

#include "common/number.h"
#include "common/option.h"
#include "nvmet/identity.h"
#include "nvmet/ini.h"
#include "nvmet/plan.h"

#define SERVICE 4420u
#define POOL_BYTES (64ull << 20)
#define IN_CAPSULE_BYTES 4096u
#define STORE_BYTES_MAX ((uint64_t)INT64_MAX)

/* ---- values ---- */

static int take_in_capsule(const char *where, const char *text, uint32_t *bytes)
{
	uint64_t value;

	if (!app_size_parse(text, 0, 16384, &value) || value % 16)
		return app_complain(APP_EXIT_USAGE, "%s %s: use a multiple of 16 from 0 to 16384", where, text);
	*bytes = (uint32_t)value;
	return APP_EXIT_OK;
}

static int take_max_data(const char *where, const char *text, uint32_t *bytes)
{
	uint64_t value;

	if (!app_size_parse(text, 4096, 1 << 20, &value) || (value & (value - 1)))
		return app_complain(APP_EXIT_USAGE, "%s %s: use 4k, 8k, 16k, 32k, 64k, 128k, 256k, 512k or 1M", where,
				    text);
	*bytes = (uint32_t)value;
	return APP_EXIT_OK;
}

static int take_text(const char *where, const char *text, char *out, size_t bytes)
{
	if (strlen(text) >= bytes)
		return app_complain(APP_EXIT_USAGE, "%s %s: at most %zu characters", where, text, bytes - 1);
	strcpy(out, text);
	return APP_EXIT_OK;
}

static int take_idle(const char *where, const char *text, enum uroce_idle *idle)
{
	static const char *const names[] = {
		[UROCE_IDLE_POLL] = "poll", [UROCE_IDLE_YIELD] = "yield", [UROCE_IDLE_SLEEP] = "sleep"
	};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			*idle = (enum uroce_idle)i;
			return APP_EXIT_OK;
		}
	}
	return app_complain(APP_EXIT_USAGE, "%s %s: use poll, yield or sleep", where, text);
}

static int take_flag(const char *where, const char *text, bool *flag)
{
	uint32_t value = 0;
	int code = app_number_take32(where, text, 0, 1, &value);

	*flag = value;
	return code;
}

int settings_block_parse(const char *where, const char *text, uint32_t *bytes)
{
	uint64_t value;

	if (!app_size_parse(text, 512, 4096, &value) || (value != 512 && value != 4096))
		return app_complain(APP_EXIT_USAGE, "%s %s: use 512 or 4096", where, text);
	*bytes = (uint32_t)value;
	return APP_EXIT_OK;
}

static int take_nqn(const char *where, const char *text, char out[SETTINGS_TEXT_BYTES])
{
	if (strlen(text) >= SETTINGS_TEXT_BYTES || !nvmf_nqn_is_valid(text))
		return app_complain(APP_EXIT_USAGE,
				    "%s %s: use a name such as nqn.2026-01.org.example:disk1, at most %u characters",
				    where, text, NVME_NQN_MAX);
	strcpy(out, text);
	return APP_EXIT_OK;
}

static int take_uuid(const char *where, const char *text, char out[SETTINGS_TEXT_BYTES])
{
	uuid_t uuid;

	if (uuid_parse(text, uuid) != 0)
		return app_complain(APP_EXIT_USAGE, "%s %s: use one such as 3f1b5f9c-8b5d-4b86-a2ea-3c0c7e1f6d55",
				    where, text);
	strcpy(out, text);
	return APP_EXIT_OK;
}

bool settings_disk_text(const char *text, struct settings_disk *disk, char error[STORE_ERROR_BYTES])
{
	const char *colon = strrchr(text, ':');
	bool sized = colon && app_size_parse(colon + 1, 0, UINT64_MAX, &disk->bytes);

	error[0] = '\0';
	if (!sized)
		disk->bytes = 0;
	disk->kind = STORE_FILE;
	snprintf(disk->path, sizeof(disk->path), "%.*s", (int)(sized ? (size_t)(colon - text) : strlen(text)), text);
	if (strcmp(disk->path, "memory") == 0 || strcmp(disk->path, "null") == 0)
		disk->kind = disk->path[0] == 'm' ? STORE_MEMORY : STORE_NULL;
	if (strlen(text) >= sizeof(disk->path))
		snprintf(error, STORE_ERROR_BYTES, "%.64s...: at most %zu characters", text, sizeof(disk->path) - 1);
	else if (sized && (disk->bytes == 0 || disk->bytes > STORE_BYTES_MAX))
		snprintf(error, STORE_ERROR_BYTES, "%s: use a size such as 64k, 16M or 1G, from 512 to %lu", text,
			 STORE_BYTES_MAX);
	else if (disk->kind != STORE_FILE && disk->bytes == 0)
		snprintf(error, STORE_ERROR_BYTES, "%s: say how large, such as %s:1G", text,
			 disk->kind == STORE_NULL ? "null" : "memory");
	else if (disk->kind == STORE_FILE && strchr(disk->path, '/') == NULL)
		snprintf(error, STORE_ERROR_BYTES,
			 "%s: use memory:SIZE, null:SIZE, or a path with a / in it, such as ./disk.img:1G", text);
	return error[0] == '\0';
}

int settings_disk_parse(const char *option, const char *text, struct settings_disk *disk)
{
	char error[STORE_ERROR_BYTES];

	if (settings_disk_text(text, disk, error))
		return APP_EXIT_OK;
	return app_complain(APP_EXIT_USAGE, "%s %s", option, error);
}

int settings_disk_check(const char *where, const struct settings_disk *disk)
{
	uint64_t there = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);

	if (disk->bytes && disk->bytes < disk->block_bytes)
		return app_complain(APP_EXIT_USAGE, "%s: %lu bytes are less than a block of %u: use a larger size",
				    where, disk->bytes, disk->block_bytes);
	if (disk->bytes % disk->block_bytes)
		return app_complain(APP_EXIT_USAGE, "%s: %lu bytes are no whole blocks of %u: use %lu or %lu", where,
				    disk->bytes, disk->block_bytes, disk->bytes / disk->block_bytes * disk->block_bytes,
				    (disk->bytes / disk->block_bytes + 1) * disk->block_bytes);
	if (disk->kind == STORE_MEMORY && disk->bytes > there)
		return app_complain(APP_EXIT_ENVIRONMENT,
				    "%s: %lu bytes of memory are more than the %lu that there are: use less, or a file",
				    where, disk->bytes, there);
	return APP_EXIT_OK;
}

/* ---- the file ---- */

static int take_hosts(const char *where, const char *text, struct settings_subsystem *subsystem)
{
	char copy[1024], *rest = copy, *word;
	int code = take_text(where, text, copy, sizeof(copy));

	while (code == APP_EXIT_OK && (word = strsep(&rest, " ,")) != NULL) {
		if (*word == '\0')
			continue;
		if (subsystem->host_count == NVMF_HOSTS_MAX)
			return app_complain(APP_EXIT_USAGE, "%s: at most %u hosts", where, NVMF_HOSTS_MAX);
		code = take_nqn(where, word, subsystem->hosts[subsystem->host_count++]);
	}
	return code;
}

static int read_target(struct settings *settings, const char *where, const char *key, const char *value)
{
	if (strcmp(key, "service") == 0)
		return app_number_take32(where, value, 1, 65535, &settings->service);
	if (strcmp(key, "queue-depth") == 0)
		return app_number_take32(where, value, 2, 1024, &settings->queue_depth);
	if (strcmp(key, "io-queues") == 0)
		return app_number_take32(where, value, 1, 128, &settings->io_queues);
	if (strcmp(key, "in-capsule") == 0)
		return take_in_capsule(where, value, &settings->in_capsule_bytes);
	if (strcmp(key, "max-data") == 0)
		return take_max_data(where, value, &settings->max_data_bytes);
	if (strcmp(key, "pool") == 0)
		return app_size_take(where, value, 4 << 20, 1ull << 40, &settings->pool_bytes);
	if (strcmp(key, "record") == 0)
		return take_text(where, value, settings->record, sizeof(settings->record));
	if (strcmp(key, "idle") == 0)
		return take_idle(where, value, &settings->idle);
	if (strcmp(key, "nb-cores") == 0)
		return app_number_take32(where, value, 1, LANES_MAX, &settings->nb_cores);
	return app_complain(APP_EXIT_USAGE,
			    "%s: no such key; service, queue-depth, io-queues, in-capsule, max-data, pool, record, "
			    "idle and nb-cores are",
			    where);
}

static int read_port(struct settings_port *port, const char *where, const char *key, const char *value)
{
	if (strcmp(key, "device") == 0)
		return take_text(where, value, port->device, sizeof(port->device));
	if (strcmp(key, "ip") == 0)
		return take_text(where, value, port->ip, sizeof(port->ip));
	if (strcmp(key, "gateway") == 0)
		return take_text(where, value, port->gateway, sizeof(port->gateway));
	return app_complain(APP_EXIT_USAGE, "%s: no such key; device, ip and gateway are", where);
}

static int read_subsystem(struct settings_subsystem *subsystem, const char *where, const char *key, const char *value)
{
	if (strcmp(key, "nqn") == 0)
		return take_nqn(where, value, subsystem->nqn);
	if (strcmp(key, "serial") == 0)
		return take_text(where, value, subsystem->serial, sizeof(subsystem->serial));
	if (strcmp(key, "model") == 0)
		return take_text(where, value, subsystem->model, sizeof(subsystem->model));
	if (strcmp(key, "hosts") == 0)
		return take_hosts(where, value, subsystem);
	return app_complain(APP_EXIT_USAGE, "%s: no such key; nqn, serial, model and hosts are", where);
}

static int read_disk(struct settings_disk *disk, const char *where, const char *key, const char *value)
{
	if (strcmp(key, "subsystem") == 0)
		return take_nqn(where, value, disk->subsystem);
	if (strcmp(key, "nsid") == 0)
		return app_number_take32(where, value, 1, NVMF_NAMESPACES_MAX, &disk->nsid);
	if (strcmp(key, "store") == 0)
		return settings_disk_parse(where, value, disk);
	if (strcmp(key, "block") == 0)
		return settings_block_parse(where, value, &disk->block_bytes);
	if (strcmp(key, "uuid") == 0)
		return take_uuid(where, value, disk->uuid);
	if (strcmp(key, "buffered") == 0)
		return take_flag(where, value, &disk->buffered);
	if (strcmp(key, "read-only") == 0)
		return take_flag(where, value, &disk->read_only);
	return app_complain(APP_EXIT_USAGE,
			    "%s: no such key; subsystem, nsid, store, block, uuid, buffered and read-only are", where);
}

/* What the file says, but for what the command line has said. */
struct file {
	struct settings *settings;
	bool has_ports, has_service;
};

static int read_key(void *argument, const char *where, const char *section, const char *key, const char *value)
{
	struct file *file = argument;
	struct settings *settings = file->settings;

	if (strcmp(section, "target") == 0 && strcmp(key, "service") == 0 && file->has_service)
		return APP_EXIT_OK;
	if (strcmp(section, "target") == 0)
		return read_target(settings, where, key, value);
	if (strncmp(section, "port.", 5) == 0)
		return read_port(&settings->ports[settings->port_count - 1], where, key, value);
	if (strncmp(section, "subsystem.", 10) == 0)
		return read_subsystem(&settings->subsystems[settings->subsystem_count - 1], where, key, value);
	return read_disk(&settings->disks[settings->disk_count - 1], where, key, value);
}

/* Room for what a section is about. */
static int begin_section(void *argument, const char *where, const char *section)
{
	struct file *file = argument;
	struct settings *settings = file->settings;
	const struct {
		const char *prefix;
		uint32_t *count, most;
	} kinds[] = {
		{ "port.", &settings->port_count, SERVER_PORTS_MAX },
		{ "subsystem.", &settings->subsystem_count, NVMF_SUBSYSTEMS_MAX },
		{ "namespace.", &settings->disk_count, SETTINGS_DISKS_MAX },
	};
	size_t kind = 0;

	if (strcmp(section, "target") == 0)
		return APP_EXIT_OK;
	while (kind < 3 && strncmp(section, kinds[kind].prefix, strlen(kinds[kind].prefix)) != 0)
		kind++;
	if (kind == 3)
		return app_complain(APP_EXIT_USAGE,
				    "%s: no such section; [target], [port.N], [subsystem.N] and [namespace.N] are",
				    where);
	if (kind == 0 && file->has_ports)
		return app_complain(APP_EXIT_USAGE,
				    "%s: the command line has ports, too: leave out the one or the other", where);
	if (*kinds[kind].count == kinds[kind].most)
		return app_complain(APP_EXIT_USAGE, "%s: at most %u of them", where, kinds[kind].most);
	++*kinds[kind].count;
	if (kind == 0)
		return take_text(where, where, settings->ports[settings->port_count - 1].where, SETTINGS_WHERE_BYTES);
	if (kind == 1)
		return take_text(where, where, settings->subsystems[settings->subsystem_count - 1].where,
				 SETTINGS_WHERE_BYTES);
	settings->disks[settings->disk_count - 1].block_bytes = 512;
	return take_text(where, where, settings->disks[settings->disk_count - 1].where, SETTINGS_WHERE_BYTES);
}

/* ---- the command line ---- */

enum option_letter {
	IP = 256,
	GATEWAY,
	FILE_PATH,
	MEMORY,
	NQN,
	UUID,
	BLOCK,
	BUFFERED,
	READ_ONLY,
	HOST_NQN,
	CONFIG,
	DRY_RUN,
	CONTROL,
	RECORD,
	THREADS,
	IDLE,
	NB_CORES
};

/* clang-format off */
static const struct option long_options[] = {
	{ "config", required_argument, NULL, CONFIG },
	{ "device", required_argument, NULL, 'd' },
	{ "ip", required_argument, NULL, IP },
	{ "gateway", required_argument, NULL, GATEWAY },
	{ "file", required_argument, NULL, FILE_PATH },
	{ "memory", required_argument, NULL, MEMORY },
	{ "store", required_argument, NULL, 's' },
	{ "uuid", required_argument, NULL, UUID },
	{ "nqn", required_argument, NULL, NQN },
	{ "host-nqn", required_argument, NULL, HOST_NQN },
	{ "block", required_argument, NULL, BLOCK },
	{ "buffered", no_argument, NULL, BUFFERED },
	{ "read-only", no_argument, NULL, READ_ONLY },
	{ "port", required_argument, NULL, 'p' },
	{ "dry-run", no_argument, NULL, DRY_RUN },
	{ "control", required_argument, NULL, CONTROL },
	{ "record", required_argument, NULL, RECORD },
	{ "threads", no_argument, NULL, THREADS },
	{ "idle", required_argument, NULL, IDLE },
	{ "nb-cores", required_argument, NULL, NB_CORES },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'V' },
	{ NULL, 0, NULL, 0 },
};
/* clang-format on */

static const char help_text[] =
	"uroce-nvmet [EAL options] -- [options]\n"
	"An NVMe over RDMA target: hosts that speak NVMe over RoCEv2, Linux among them, mount what it serves.\n"
	"\n"
	"  -d, --device DEV   port: eth1 or net_af_packet0,iface=eth1, net_memif0,..., a PCI address, or one given to\n"
	"                     EAL; once for each port (default: the first that was given to EAL)\n"
	"  --ip ADDR/LEN      our address on the last --device, IPv4 or IPv6\n"
	"  --gateway ADDR     router of that address for hosts outside of LEN (default none)\n"
	"  -p, --port N       where hosts connect, 1 ... 65535 (default 4420)\n"
	"  --file PATH[:SIZE] a namespace in a file or on a block device; SIZE makes one that is empty or not there\n"
	"  --memory SIZE      a namespace in memory: 512, 64k, 16M, 1G\n"
	"  -s, --store WHERE  a namespace: memory:SIZE, null:SIZE (keeps nothing), PATH[:SIZE]\n"
	"                     each one is another namespace of the same subsystem\n"
	"  --block N          bytes of a block of the namespaces: 512, 4096 (default 512)\n"
	"  --buffered         files go through the page cache; default: O_DIRECT\n"
	"  --threads          threads read and write files, not io_uring\n"
	"  --read-only        nothing is written\n"
	"  --uuid UUID        which disk the last --file is: of a device, always the same; files keep it themselves\n"
	"  --nqn NQN          name of the subsystem (default nqn.2026-01.uroce:UUID, of this machine)\n"
	"  --host-nqn NQN     a host that may connect; several times for several (default: any)\n"
	"  --config FILE      all that, and several subsystems, in an INI file: [target], [port.N], [subsystem.N],\n"
	"                     [namespace.N]\n"
	"  --control PATH     socket for uroce-nvmetcli, which asks and tells the target while it runs (default none)\n"
	"  --record DIR       a connection that fails leaves its last frames there, and why (default none)\n"
	"  --idle HOW         with nothing to do: poll on, for a core of its own; yield the core to others; sleep\n"
	"                     until something comes (default)\n"
	"  --nb-cores N       lcores that serve hosts, 1 ... 16: each has its connections, and a queue of each port\n"
	"                     (default 1)\n"
	"  --dry-run          print what would be served, and end\n"
	"  -h, --help  -V, --version\n"
	"\n"
	"It prints the lines to type on a Linux host. SIGTERM and ctrl-C tell the hosts and end it.\n"
	"Exit: 0 ended, 2 usage, 3 environment (no port, no file, no memory), 4 internal.\n";

static int add_disk(struct settings *settings, const char *option, const char *text)
{
	struct settings_disk *disk = &settings->disks[settings->disk_count];

	if (settings->disk_count == SETTINGS_DISKS_MAX)
		return app_complain(APP_EXIT_USAGE, "%s %s: at most %u namespaces", option, text, SETTINGS_DISKS_MAX);
	settings->disk_count++;
	snprintf(disk->where, sizeof(disk->where), "%s %.*s", option, (int)SETTINGS_TEXT_BYTES, text);
	if (strcmp(option, "--memory") != 0)
		return settings_disk_parse(option, text, disk);
	disk->kind = STORE_MEMORY;
	return app_size_take(option, text, 512, STORE_BYTES_MAX, &disk->bytes);
}

/* An address or a gateway is of the last device; without one, of the next, or the first that EAL was given. */
static struct settings_port *last_port(struct settings *settings)
{
	if (settings->port_count == 0)
		settings->port_count = 1;
	return &settings->ports[settings->port_count - 1];
}

static int take_device(struct settings *settings, const char *text)
{
	if (settings->port_count == SERVER_PORTS_MAX)
		return app_complain(APP_EXIT_USAGE, "--device %s: at most %u ports", text, SERVER_PORTS_MAX);
	if (settings->port_count != 1 || settings->ports[0].device[0])
		settings->port_count++;
	return take_text("--device", text, last_port(settings)->device, SETTINGS_TEXT_BYTES);
}

static int take_ip(struct settings *settings, const char *text)
{
	struct settings_port *port = last_port(settings);

	if (port->ip[0])
		return app_complain(APP_EXIT_USAGE, "--ip %s: port %s has %s: name the next port before, with --device",
				    text, port->device, port->ip);
	return take_text("--ip", text, port->ip, SETTINGS_TEXT_BYTES);
}

struct line {
	struct settings_disk disk; /* what is said of all */
	const char *no_config;     /* an option that --config does not go with */
	bool has_service;
};

/* What is served. */
static int take_disk_option(struct settings *settings, struct line *line, int letter, const char *text)
{
	struct settings_subsystem *subsystem = &settings->subsystems[0];

	switch (letter) {
	case FILE_PATH:
		line->no_config = "--file";
		return add_disk(settings, "--file", text);
	case MEMORY:
		line->no_config = "--memory";
		return add_disk(settings, "--memory", text);
	case 's':
		line->no_config = "--store";
		return add_disk(settings, "--store", text);
	case BLOCK:
		line->no_config = "--block";
		return settings_block_parse("--block", text, &line->disk.block_bytes);
	case BUFFERED:
		line->no_config = "--buffered";
		line->disk.buffered = true;
		return APP_EXIT_OK;
	case READ_ONLY:
		line->no_config = "--read-only";
		line->disk.read_only = true;
		return APP_EXIT_OK;
	case UUID:
		line->no_config = "--uuid";
		if (settings->disk_count == 0)
			return app_complain(APP_EXIT_USAGE, "--uuid %s: of which disk? name it before, with --file",
					    text);
		return take_uuid("--uuid", text, settings->disks[settings->disk_count - 1].uuid);
	case NQN:
		line->no_config = "--nqn";
		return take_nqn("--nqn", text, subsystem->nqn);
	case HOST_NQN:
		line->no_config = "--host-nqn";
		return take_hosts("--host-nqn", text, subsystem);
	default:
		return APP_EXIT_USAGE; /* app_option_next() has complained */
	}
}

static int take_option(struct settings *settings, struct line *line, int letter, const char *text)
{
	switch (letter) {
	case CONFIG:
		return take_text("--config", text, settings->config, sizeof(settings->config));
	case 'd':
		return take_device(settings, text);
	case IP:
		return take_ip(settings, text);
	case GATEWAY:
		return take_text("--gateway", text, last_port(settings)->gateway, SETTINGS_TEXT_BYTES);
	case 'p':
		line->has_service = true;
		return app_number_take32("--port", text, 1, 65535, &settings->service);
	case CONTROL:
		return take_text("--control", text, settings->control, sizeof(settings->control));
	case RECORD:
		return take_text("--record", text, settings->record, sizeof(settings->record));
	case THREADS:
		settings->threads = true;
		return APP_EXIT_OK;
	case NB_CORES:
		return app_number_take32("--nb-cores", text, 1, LANES_MAX, &settings->nb_cores);
	case IDLE:
		return take_idle("--idle", text, &settings->idle);
	case DRY_RUN:
		settings->dry_run = true;
		return APP_EXIT_OK;
	default:
		return take_disk_option(settings, line, letter, text);
	}
}

static int complete(struct settings *settings, const struct line *line)
{
	struct file file = { settings, settings->port_count > 0, line->has_service };
	const struct ini_reader reader = { begin_section, read_key, &file };
	int code = APP_EXIT_OK;

	if (settings->config[0] && line->no_config)
		return app_complain(APP_EXIT_USAGE, "--config %s: what is served is said there: leave out %s",
				    settings->config, line->no_config);
	for (uint32_t i = 0; i < settings->disk_count; i++) {
		settings->disks[i].block_bytes = line->disk.block_bytes;
		settings->disks[i].buffered = line->disk.buffered;
		settings->disks[i].read_only = line->disk.read_only;
	}
	if (settings->config[0])
		code = ini_read(settings->config, &reader);
	if (settings->subsystem_count == 0) {
		settings->subsystem_count = 1;
		if (settings->subsystems[0].nqn[0] == '\0' && identity_default_nqn(settings->subsystems[0].nqn) != 0)
			return app_complain(APP_EXIT_USAGE, "--nqn is missing, the name of the subsystem: there is no "
							    "/etc/machine-id to make one of that no other machine has");
	}
	return code;
}

int settings_read(struct settings *settings, int argc, char **argv)
{
	struct line line = { .disk = { .block_bytes = 512 } };
	int letter, code;

	memset(settings, 0, sizeof(*settings));
	settings->service = SERVICE;
	settings->idle = UROCE_IDLE_SLEEP;
	settings->nb_cores = 1;
	settings->in_capsule_bytes = IN_CAPSULE_BYTES;
	settings->pool_bytes = POOL_BYTES;
	while ((letter = app_option_next(argc, argv, ":d:p:s:hV", long_options)) != -1) {
		if (letter == 'h') {
			fputs(help_text, stdout);
			return 1 + APP_EXIT_OK;
		}
		if (letter == 'V') {
			printf("uroce-nvmet %s\n", uroce_version());
			return 1 + APP_EXIT_OK;
		}
		code = take_option(settings, &line, letter, optarg);
		if (code)
			return 1 + code;
	}
	if (optind < argc)
		return 1 + app_complain(APP_EXIT_USAGE, "\"%s\": every word is an option here", argv[optind]);
	code = complete(settings, &line);
	if (code == APP_EXIT_OK)
		code = plan_check(settings);
	return code ? 1 + code : 0;
}
